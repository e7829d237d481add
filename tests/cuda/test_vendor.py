"""cuBLASLt called directly, on a GPU: right for all that it is told, in order, and never in a graph's way."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.calls import settings
from tilewright.model import DTYPES, VENDOR, Device, Plan, Problem
from tilewright.planning import dispatch
from tilewright.runtime import cublaslt, cublaslt_library, cublaslt_spaces
from tilewright.runtime.bound_cuda import Gpu
from tilewright.store.records import Records
from tilewright.targets.cuda import devices, modules
from tilewright.tuning.gemm.operands import scalars
from tilewright.tuning.tuner import Tuner

REASON = devices.missing()
pytestmark = [pytest.mark.cuda, pytest.mark.skipif(REASON is not None, reason=str(REASON))]

LETTERS = "hbsdcz"
# The k of these is long and their C small, so that algorithms divide the sum and need a workspace.
LONG = (96, 80, 60000)


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Plan]]:
    """Every plan is the vendor's, and the array library is not to multiply. The plans made."""
    if cublaslt_library.library() is None:
        pytest.skip("there is no cuBLASLt")
    made: list[Plan] = []

    def plan(problem: Problem, device: Device, **_: Any) -> Plan:
        made.append(Plan(problem, device, dispatch.regime(problem, device), VENDOR, "asked for"))
        return made[-1]

    def refuse(*_: Any) -> None:
        raise AssertionError("the array library was to multiply")

    settings.forget()
    monkeypatch.setattr(dispatch, "plan", plan)
    monkeypatch.setattr(Gpu, "multiply", refuse)
    yield made
    monkeypatch.undo()
    settings.forget()


@pytest.fixture
def torch() -> Any:
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("this PyTorch sees no GPU")
    return found


def tensor(torch: Any, letter: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    draw = np.random.default_rng((seed, *shape))
    values = draw.uniform(-1, 1, shape)
    if DTYPES[letter].is_complex:
        values = values + 1j * draw.uniform(-1, 1, shape)
    return torch.from_numpy(values).cuda().to(getattr(torch, DTYPES[letter].name))


def wide(torch: Any, x: Any) -> Any:
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


def op(x: Any, letter: str) -> Any:
    return x if letter == "n" else x.mT if letter == "t" else x.mH


def right(torch: Any, got: Any, want: Any, letter: str, k: int) -> None:
    dtype = DTYPES[letter]
    # Twice rounded to 16 bits: the product, and after C is added.
    allowed = 8 * (k + 2) * dtype.unit_roundoff + 4 * dtype.storage_roundoff
    scale = max(1.0, float(want.abs().max())) if k else 1.0
    assert got.shape == want.shape
    assert float((wide(torch, got) - want).abs().max()) <= allowed * max(scale, k**0.5)


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("trans", ["nn", "nt", "tn", "tt", "nc", "cn", "cc", "tc"])
def test_the_formula(direct: list[Plan], torch: Any, letter: str, trans: str) -> None:
    m, n, k = 37, 29, 41
    shapes = ((m, k) if trans[0] == "n" else (k, m)), ((k, n) if trans[1] == "n" else (n, k))
    for batch in ((), (5,), (2, 3)):
        for lead_a, lead_b in ((batch, batch), ((), batch), (batch, ())):
            a = tensor(torch, letter, (*lead_a, *shapes[0]), 1)
            b = tensor(torch, letter, (*lead_b, *shapes[1]), 2)
            c = tensor(torch, letter, (*batch, m, n), 3)
            product = op(wide(torch, a), trans[0]) @ op(wide(torch, b), trans[1])
            for alpha, beta in ((1, 0), (2.5, 0), (1, 1), (-0.5, 0.25)):
                want = alpha * product + (beta * wide(torch, c) if beta else 0)
                for _ in range(3):
                    out = torch.full_like(c, float("nan")) if beta == 0 else c.clone()
                    made = tw.gemm(
                        a, b, out, alpha=alpha, beta=beta, trans_a=trans[0], trans_b=trans[1], out=out
                    )
                    assert made is out
                    right(torch, out, want, letter, k)
    assert direct


@pytest.mark.parametrize("letter", LETTERS)
def test_layouts(direct: list[Plan], torch: Any, letter: str) -> None:
    """Padding, gaps, addresses of odd elements, results by columns, vectors, new results."""
    whole_a, whole_b = tensor(torch, letter, (4, 70, 90)), tensor(torch, letter, (4, 90, 80), 1)
    cases = [
        (whole_a[0, 1:34, 3:60], whole_b[0, 2:59, 5:43]),
        (whole_a[:, 1:34, 3:60], whole_b[:, 2:59, 5:43]),
        (whole_a[::2, :33, :57].mT, whole_b[::2, :33, :57]),
        (whole_a[0], whole_b[0, :, 0]),
        (whole_a[0, 0], whole_b[0]),
        (whole_a[:2, None], whole_b[None, :3]),
    ]
    for a, b in cases:
        want = torch.matmul(wide(torch, a), wide(torch, b))
        for _ in range(3):
            right(torch, tw.matmul(a, b), want, letter, a.shape[-1])
        if want.dim() >= 2:
            columns = torch.empty(want.mT.shape, dtype=a.dtype, device="cuda").mT
            for _ in range(3):
                tw.matmul(a, b, out=columns.zero_())
                right(torch, columns, want, letter, a.shape[-1])


def test_what_the_library_does_not_describe_is_the_array_librarys(torch: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(
        dispatch, "plan", lambda problem, device, **_: Plan(problem, device, "cached", VENDOR, "asked for")
    )
    settings.forget()
    a, b = tensor(torch, "c", (33, 41)), tensor(torch, "c", (41, 29), 1)
    want = wide(torch, a).conj() @ wide(torch, b)
    for _ in range(3):
        right(torch, tw.matmul(a.conj(), b), want, "c", 41)
    transposed = tensor(torch, "c", (41, 33), 2)
    for _ in range(3):
        right(torch, tw.matmul(transposed.mH, b), wide(torch, transposed).mH @ wide(torch, b), "c", 41)
    stretched = tensor(torch, "s", (1, 41), 3).expand(33, 41)
    right(
        torch,
        tw.matmul(stretched, tensor(torch, "s", (41, 7))),
        wide(torch, stretched) @ wide(torch, tensor(torch, "s", (41, 7))),
        "s",
        41,
    )
    monkeypatch.undo()
    settings.forget()


def test_the_second_call_is_one_compiled_call(
    direct: list[Plan], torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow: list[int] = []
    call = cublaslt.Product.__call__

    def noted(self: cublaslt.Product, *arguments: int) -> None:
        slow.append(1)
        call(self, *arguments)

    monkeypatch.setattr(cublaslt.Product, "__call__", noted)
    for m, n, k in ((64, 64, 64), LONG):
        a, b = tensor(torch, "s", (m, k)), tensor(torch, "s", (k, n), 1)
        out = torch.empty(m, n, device="cuda")
        tw.matmul(a, b, out=out)
        slow.clear()
        for _ in range(5):
            tw.matmul(a, b, out=out)
            tw.matmul(a, b)
        assert slow == []
        assert len(direct) in (1, 2)


@pytest.mark.parametrize("letter", "hsd")
def test_graphs(direct: list[Plan], torch: Any, letter: str) -> None:
    for m, n, k in ((128, 96, 64), LONG):
        a, b = tensor(torch, letter, (m, k)), tensor(torch, letter, (k, n), 1)
        out = torch.empty(m, n, dtype=a.dtype, device="cuda")
        tw.matmul(a, b, out=out)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            tw.matmul(a, b, out=out)
            tw.matmul(a, b, out=out)
        a.copy_(tensor(torch, letter, (m, k), 9))
        out.zero_()
        graph.replay()
        torch.cuda.synchronize()
        right(torch, out, wide(torch, a) @ wide(torch, b), letter, k)


def test_streams_and_threads(direct: list[Plan], torch: Any) -> None:
    """Two streams at once, and two threads on each, with a workspace: every result is bit for bit that of a
    call alone."""
    m, n, k = LONG
    pairs = [(tensor(torch, "s", (m, k), i), tensor(torch, "s", (k, n), 9 + i)) for i in range(4)]
    alone = [tw.matmul(a, b).clone() for a, b in pairs]
    for (a, b), got in zip(pairs, alone, strict=True):
        right(torch, got, wide(torch, a) @ wide(torch, b), "s", k)
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    wrong: list[int] = []

    def work(number: int) -> None:
        a, b = pairs[number]
        out = torch.empty(m, n, device="cuda")
        with torch.cuda.stream(streams[number % 2]):
            for _ in range(200):
                tw.matmul(a, b, out=out)
            streams[number % 2].synchronize()
            if not torch.equal(out, alone[number]):
                wrong.append(number)

    for together in ((0, 1, 2, 3), (0, 2), (1, 2)):
        threads = [threading.Thread(target=work, args=(number,)) for number in together]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    assert wrong == []
    found = cublaslt_spaces.workspaces(0)
    assert found.table[0] >= 1, "no algorithm needed a workspace: this test says nothing"


def test_a_stream_that_is_not_the_default(direct: list[Plan], torch: Any) -> None:
    a, b = tensor(torch, "s", (300, 2000)), tensor(torch, "s", (2000, 300), 1)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        x = a * 2
        for _ in range(3):
            got = tw.matmul(x, b)
    stream.synchronize()
    right(torch, got, 2 * wide(torch, a) @ wide(torch, b), "s", 4000)


ALONE = """
import sys
import cupy, numpy as np
import tilewright as tw
from tilewright.planning import dispatch
from tilewright.runtime.bound_cuda import Gpu
from tilewright.model import Plan
from tilewright.runtime import cublaslt_library
dispatch.plan = lambda p, d, **_: Plan(p, d, "cached", "vendor", "asked for")
def refuse(*_):
    raise AssertionError("the array library was to multiply")
Gpu.multiply = refuse
draw = np.random.default_rng(0)
for name in ("float16", "float32", "float64", "complex64", "complex128"):
    for m, n, k in ((33, 29, 41), (96, 80, 60000)):
        a, b = (draw.uniform(-1, 1, shape).astype(name) for shape in ((m, k), (k, n)))
        x, y = cupy.asarray(a), cupy.asarray(b)
        wide = "complex128" if a.dtype.kind == "c" else "float64"
        want = a.astype(wide) @ b.astype(wide)
        out = cupy.empty((m, n), name)
        allowed = {"float16": 2e-3, "float32": 1e-4, "complex64": 1e-4}.get(name, 1e-10)
        for _ in range(3):
            for got in (tw.matmul(x, y), tw.matmul(x, y, out=out)):
                assert abs(cupy.asnumpy(got).astype(wide) - want).max() <= allowed * abs(want).max(), name
        with cupy.cuda.Stream(non_blocking=True) as stream:
            got = tw.matmul(x, y)
            stream.synchronize()
        assert abs(cupy.asnumpy(got).astype(wide) - want).max() <= allowed * abs(want).max(), name
assert "torch" not in sys.modules
print("right", cublaslt_library.version())
"""


def test_cupy_alone(direct: list[Plan]) -> None:
    pytest.importorskip("cupy")
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("right")


@pytest.mark.parametrize(
    "spelling", ["s:nn:512x512x512", "h:tn:300x200x4000", "z:cn:96x96x96@7", "b:64x64x64@99"]
)
def test_all_algorithms_are_right_and_come_back_from_their_configs(torch: Any, spelling: str) -> None:
    (problem,) = Problem.parse(spelling)
    alpha, beta, _ = scalars(problem)
    letter, batch = problem.dtype.letter, problem.batch
    a = tensor(
        torch,
        letter,
        (batch, problem.k, problem.m) if problem.transposed_a else (batch, problem.m, problem.k),
    )
    b = tensor(torch, letter, (batch, problem.k, problem.n), 1)
    # By columns, as the library has them.
    stored_a, stored_b = a.mT.contiguous(), b.mT.contiguous()
    want = op(wide(torch, a), problem.trans_a) @ wide(torch, b)
    modules.context()
    found = cublaslt.candidates(problem, (alpha, beta), 0, 8)
    assert not isinstance(found, str), found
    assert found
    for config, made in found:
        same = made.operation.named(config)
        assert same is not None
        assert same.code == made.best.code
        assert {"id", "tile", "algorithm", "version"} <= set(config)
        again = cublaslt.product(problem, (alpha, beta), 0, config)
        assert isinstance(again, cublaslt.Product)
        out = torch.full((batch, problem.n, problem.m), float("nan"), dtype=a.dtype, device="cuda")
        again.starting(False)(stored_a.data_ptr(), stored_b.data_ptr(), out.data_ptr(), 0)
        torch.cuda.synchronize()
        right(torch, out.mT, want, letter, problem.k)
    other = config.with_(version=1)
    assert made.operation.named(other) is None


def test_the_tuner_records_the_fastest_algorithm(tmp_path: Any) -> None:
    records = Records(tmp_path / "records.sqlite")
    (problem,) = Problem.parse("s:nn:1024x512x768")
    with Tuner(devices.probe(), records) as tuner:
        result = tuner.tune(problem, "memory", search="sample", budget=5.0, stencils=("classic",))
    records.close()
    assert result.missing == ""
    assert result.vendor is not None
    config = result.vendor.config
    assert "algorithm" in config or config["by"] == "library"
    assert result.vendor.toolchain.startswith("cublas by ")
