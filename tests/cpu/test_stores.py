"""How results leave: whole lines through a buffer, wherever C lies, and not a byte beside it."""

from __future__ import annotations

import ctypes
import dataclasses
import random
import threading
from collections.abc import Callable

import numpy as np
import pytest

from bench import spills
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.planning import dispatch
from tilewright.space import HARDWARE
from tilewright.targets.cpu import llvm, named, processor
from tilewright.tuning.gemm.verify import Verifier

pytestmark = pytest.mark.cpu

LINE = 64
GUARD = 3 * LINE
POISON = 0xA5
Call = Callable[..., None]


def wide() -> Device:
    """This machine with the generator's 512-bit vectors: code generation cuts them up where it must."""
    host = processor.probe()
    return dataclasses.replace(
        host, limits={**host.limits, "vector_bits": 512, "vector_registers": 32, "masks": 1}
    )


def narrow() -> Device:
    """This machine without masks, in vectors of at most 256 bits."""
    host = processor.probe()
    bits = min(256, host["vector_bits"])
    return dataclasses.replace(host, limits={**host.limits, "vector_bits": bits, "masks": 0})


def compiled(stencil: str, problem: Problem, config: Config, device: Device) -> Call:
    """A kernel of a config, which breaks no rule that nobody may break."""
    written = STENCILS[stencil]
    assert not [r.name for r in written.space(problem, device).why(config) if r.kind in HARDWARE]
    kernel = llvm.load(llvm.compile(written.source(problem, config, device), device))
    call: Call = llvm.PROTOTYPE(kernel.address)
    call.keep = kernel  # type: ignore[attr-defined]
    return call


class Output:
    """Memory for a result ``shift`` bytes after the start of a cache line, with guards around it."""

    def __init__(self, size: int, shift: int):
        self.raw = np.full(size + 2 * GUARD + LINE, POISON, np.uint8)
        self.first = -self.raw.ctypes.data % LINE + GUARD + shift
        self.size = size
        self.address = self.raw.ctypes.data + self.first

    @property
    def bytes(self) -> bytes:
        return self.raw[self.first : self.first + self.size].tobytes()

    def intact(self) -> bool:
        """Whether nothing outside was written."""
        outside = np.delete(self.raw, slice(self.first, self.first + self.size))
        return bool((outside == POISON).all())


def inputs(problem: Problem, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Random reals for A and B."""
    rng = np.random.default_rng(batch)
    reals = 2 if problem.dtype.is_complex else 1
    kind = f"f{problem.dtype.real_bits // 8}"
    sizes = (max(1, batch) * problem.m * problem.k, max(1, batch) * problem.k * problem.n)
    a, b = (rng.standard_normal(size * reals).astype(kind) for size in sizes)
    return a, b


SCALARS = np.array([1.0, 0.0, 0.0, 0.0])

CASES = [
    ("lanes", "d:3x3x3"),
    ("lanes", "s:2x5x3"),
    ("lanes", "z:1x1x2"),
    ("tile", "d:9x9x9"),
    ("tile", "d:13x7x5"),
    ("tile", "s:1x1x1"),
    ("tile", "c:3x5x2"),
    ("tile", "z:7x3x4"),
    ("tile", "s:17x19x4"),
    ("tile", "d:16x16x3"),
]


def past_the_caches(stencil: str, spelling: str) -> str:
    """The value of ``store`` whose results leave in whole lines wherever they begin. What may be written
    straight to memory is, but for bases that are not aligned."""
    return "stream" if stencil == "lanes" or spelling == "d:16x16x3" else "staged"


@pytest.mark.parametrize("device", [wide, narrow])
@pytest.mark.parametrize(("stencil", "spelling"), CASES)
def test_staged_results_are_those_of_plain_stores_at_every_base(
    stencil: str, spelling: str, device: Callable[[], Device]
) -> None:
    here = device()
    (problem,) = Problem.parse(spelling)
    config = STENCILS[stencil].default(problem, here)
    stores = ("plain", past_the_caches(stencil, spelling))
    plain, staged = (compiled(stencil, problem, config.with_(store=store), here) for store in stores)
    one = problem.m * problem.n * problem.dtype.itemsize
    # Enough products of a small matrix to fill the buffer several times.
    for batch in (*range(10), 3 + 5000 // one):
        a, b = inputs(problem, batch)
        arguments = (*problem.strides, batch, SCALARS.ctypes.data)
        want = Output(one * batch, 0)
        plain(a.ctypes.data, b.ctypes.data, want.address, *arguments)
        for shift in range(0, LINE, problem.dtype.real_bits // 8):
            got = Output(one * batch, shift)
            staged(a.ctypes.data, b.ctypes.data, got.address, *arguments)
            assert got.bytes == want.bytes, (batch, shift)
            assert got.intact(), (batch, shift)


@pytest.mark.parametrize("trans", ["tn", "nt", "cc"])
@pytest.mark.parametrize("letter", "sdcz")
def test_staged_results_are_right(letter: str, trans: str) -> None:
    device = processor.probe()
    problem = Problem(DTYPES[letter], 11, 6, 7, *trans, alpha="any")
    config = STENCILS["tile"].default(problem, device).with_(store="staged", prefetch=2, spread=1)
    call = compiled("tile", problem, config, device)
    verdict = Verifier(problem, 3).check(lambda made: call(*made.arguments))
    assert verdict.ok, verdict.why


@pytest.mark.parametrize("blk_k", [1, 2, 4, 16])
@pytest.mark.parametrize("roll", [0, 1])
def test_prefetches_of_all_operands_change_no_result(blk_k: int, roll: int) -> None:
    device = processor.probe()
    for beta in "01":
        problem = Problem(DTYPES["d"], 12, 16, 16, beta=beta)
        default = STENCILS["tile"].default(problem, device)
        for prefetch in (1, 2, 4):
            changes = {"blk_n": 2, "blk_k": blk_k, "roll": roll, "prefetch": prefetch, "spread": 1}
            call = compiled("tile", problem, default.with_(**changes), device)
            verdict = Verifier(problem, 5).check(lambda made, call=call: call(*made.arguments))
            assert verdict.ok, verdict.why


@pytest.mark.parametrize("store", ["stream", "staged"])
def test_matrices_that_lie_apart_are_left_apart(store: str) -> None:
    """The batch stride is a run-time argument: a kernel for packed results must look at it."""
    device = processor.probe()
    problem = Problem(DTYPES["d"], 8, 8, 8)
    config = STENCILS["tile"].default(problem, device).with_(store=store, tail="mask")
    call = compiled("tile", problem, config, device)
    a, b = inputs(problem, 3)
    for apart in (65, 72):
        out = Output(8 * (2 * apart + 64), 0)
        call(a.ctypes.data, b.ctypes.data, out.address, 64, 64, apart, 3, SCALARS.ctypes.data)
        got = np.frombuffer(out.bytes)
        for number in range(3):
            left, right = (x.reshape(3, 8, 8)[number] for x in (a, b))
            found = got[number * apart : number * apart + 64].reshape(8, 8)
            np.testing.assert_allclose(found, right @ left, rtol=1e-12, atol=1e-12)
        gaps = [got[n * apart + 64 : (n + 1) * apart].tobytes() for n in range(2)]
        assert all(set(gap) == {POISON} for gap in gaps)
        assert out.intact()


@pytest.mark.parametrize(("stencil", "spelling"), [("tile", "d:9x9x9"), ("lanes", "s:3x3x3")])
def test_cores_that_share_a_line_leave_each_others_part(stencil: str, spelling: str) -> None:
    """Shares of a batch meet inside of a cache line, and all cores work at the same time."""
    device = processor.probe()
    (problem,) = Problem.parse(spelling)
    config = STENCILS[stencil].default(problem, device)
    stores = ("plain", past_the_caches(stencil, spelling))
    plain, staged = (compiled(stencil, problem, config.with_(store=store), device) for store in stores)
    size, item = problem.m * problem.n, problem.dtype.itemsize
    shares, each = 4, 25
    batch = shares * each
    a, b = inputs(problem, batch)
    want = Output(size * item * batch, 0)
    plain(a.ctypes.data, b.ctypes.data, want.address, *problem.strides, batch, SCALARS.ctypes.data)
    out = Output(size * item * batch, 2 * item)
    assert all((out.address + size * item * each * share) % LINE for share in range(1, shares))
    gate = threading.Barrier(shares)

    def work(share: int) -> None:
        skip = share * each * item
        bases = [
            base + skip * stride
            for base, stride in zip((a.ctypes.data, b.ctypes.data, out.address), problem.strides, strict=True)
        ]
        for _ in range(200):
            gate.wait()
            staged(*bases, *problem.strides, each, SCALARS.ctypes.data)
            gate.wait()
            if share == 0:
                right.append(out.bytes == want.bytes and out.intact())
                ctypes.memset(out.address, POISON, out.size)
            gate.wait()

    right: list[bool] = []
    team = [threading.Thread(target=work, args=(share,)) for share in range(shares)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert right == [True] * 200


@pytest.mark.parametrize("name", ["haswell", "sapphirerapids"])
def test_results_in_memory_are_streamed_at_any_size_and_alignment(name: str) -> None:
    """With beta 0; but for a C that is larger than half of the first cache."""
    device, draw = spills.processor(name), random.Random(name)
    for letter in DTYPES:
        if letter in ("h", "hc"):
            device = dataclasses.replace(device, supports=frozenset({"half"}))
        n = draw.randint(2, 12)
        problem = Problem(DTYPES[letter], n, n, n)
        problem = problem.with_(batch=16 * device.knee() // problem.footprint)
        stencil = next(
            each for each in map(STENCILS.get, ("lanes", "tile")) if not each.accepts(problem, device)
        )
        config = stencil.default(problem, device)
        assert config["store"] in ("stream", "staged"), problem.key
        # The function for a C that begins anywhere streams as well, whole lines at a time.
        text = llvm.assembly(stencil.source(problem, config, device), device)
        staged = text.partition("tilewright_kernel_staged:")[2].partition(".cfi_endproc")[0]
        streams = [line for line in staged.splitlines() if line.startswith(("\tvmovnt", "\tmovnt"))]
        assert len(streams) >= 512 // device["vector_bits"], problem.key
    large = Problem(DTYPES["d"], 61, 61, 61)
    large = large.with_(batch=16 * device.knee() // large.footprint)
    assert STENCILS["tile"].default(large, device)["store"] == "plain"


@pytest.mark.parametrize(
    ("name", "stores"), [("cascadelake", {"plain"}), ("sapphirerapids", {"stream", "staged"})]
)
def test_a_generation_says_how_results_leave(name: str, stores: set[str]) -> None:
    """Where ordinary stores are as fast they are the default, with C asked for early; interleaved matrices
    were not compared."""
    device = named.device(name)
    for spelling in ("d:5", "s:13", "d:16", "d:16@1/all"):
        (problem,) = Problem.parse(spelling)
        problem = problem.with_(batch=16 * device.knee() // problem.footprint)
        apart = problem.interleaved is None
        names = ("lanes", "tile") if apart else ("compact",)
        stencil = next(each for each in map(STENCILS.get, names) if not each.accepts(problem, device))
        config = stencil.default(problem, device)
        assert config["store"] in (stores if apart else {"staged"})
        assert config["prefetch"] == 2 or not apart


@pytest.mark.usefixtures("new_home")  # Records of this machine would serve one that is like it.
def test_numbers_of_16_bits_are_left_to_tiles_where_that_was_measured() -> None:
    """Whole columns are converted at once; what is in several matrices' lanes is not."""

    def runs(name: str, letter: str, n: int) -> str | None:
        device = dataclasses.replace(named.device(name), supports=frozenset({"half"}))
        return dispatch.plan(Problem(DTYPES[letter], n, n, n, batch=100), device, vendor=False).stencil

    assert [runs("cascadelake", "h", n) for n in (3, 4, 5, 8)] == ["lanes", "lanes", "tile", "tile"]
    assert [runs("cascadelake", "b", n) for n in (4, 6, 8)] == ["lanes", "lanes", "tile"]
    assert [runs("cascadelake", "hc", n) for n in (2, 3)] == ["lanes", "tile"]
    assert [runs("haswell", "b", n) for n in (4, 8)] == ["lanes", "tile"]
    assert runs("cascadelake", "s", 8) == "lanes"
