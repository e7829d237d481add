"""Lists of matrices on a GPU, without one: launchers that do in NumPy what the kernels would, on host memory.

Tensors on the CPU pretend, which the library is told lie on a GPU, and objects with an interface.
"""

from __future__ import annotations

import contextlib
import ctypes
import random
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.arrays import backend as lookup
from tilewright.arrays import dlpack, numpy_, pointers, torch_
from tilewright.arrays.overlap import Placement, even_step, overlapping, shared
from tilewright.arrays.pointers import Staging
from tilewright.arrays.view import address_of
from tilewright.calls import batched, list_runs, settings
from tilewright.catalog import STENCILS
from tilewright.dtypes import narrowed, widened
from tilewright.errors import ArgumentError, DeviceError, DTypeError
from tilewright.model import Binary, Config, Device, GroupedProblem, Kernel, Launch, Problem, Record, Timing
from tilewright.planning import classes, dispatch
from tilewright.runtime import bound_cuda, build, call_cache, cublaslt, fastcall_cuda
from tilewright.stencils.cuda import args as call
from tilewright.stencils.cuda.grouped.stencil import products
from tilewright.store.records import Records
from tilewright.targets.cuda import capability, devices, driver, modules
from tilewright.tuning import timing as measure

pytestmark = pytest.mark.pure


class Memory:
    """What ``driver.allocate`` gives, in this process."""

    def __init__(self, size: int):
        self.words = np.zeros(max(1, size), np.uint8)
        self.address = self.words.ctypes.data


def at(address: int, shape: tuple[int, ...], steps: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Host memory as an array; strides in elements."""
    strides = tuple(step * dtype.itemsize for step in steps)
    return numpy_.memory_at(address, shape, strides, dtype)


def product(
    p: Problem,
    where: tuple[int, int, int],
    ld: tuple[int, int, int],
    size: tuple[int, int, int],
    scalars: Any,
) -> None:
    """One column-major product, as a kernel does it."""
    m, n, k = size
    dtype = p.dtype.numpy
    alpha, beta = scalars if p.dtype.is_complex else (x.real for x in scalars)

    def operand(which: int, shape: tuple[int, int], transposed: bool, conj: bool) -> np.ndarray:
        rows, columns = shape[::-1] if transposed else shape
        found = widened(at(where[which], (rows, columns), (1, ld[which]), dtype))
        found = found.T if transposed else found
        return found.conj() if conj else found

    out = at(where[2], (m, n), (1, ld[2]), dtype)
    made = np.zeros((m, n), widened(out).dtype)
    if k:
        made = alpha * (
            operand(0, (m, k), p.transposed_a, p.conj_a) @ operand(1, (k, n), p.transposed_b, p.conj_b)
        )
    out[...] = narrowed(made if beta == 0 else made + beta * widened(out), dtype)


class Log(list[tuple[str, Problem, Launch, int]]):
    """Every launch: stencil, problem, launch and stream."""

    @property
    def names(self) -> list[str]:
        return [name for name, *_ in self]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    """A machine whose GPU is this processor."""
    log = Log()

    class Launcher:
        def __init__(self, kernel: Kernel, launch: Launch, block: bytearray):
            (self.name, self.problem), self.start, self.block = kernel.owner, launch, block

        def __call__(self, stream: int = 0) -> None:
            p = self.problem
            log.append((self.name, p, self.start, stream))
            if self.name == "grouped":
                self.grouped(p)
                return
            a, b, c, lda, ldb, ldc, *steps, m, n, k, batch, ar, ai, br, bi, _, _ = call.BLOCK.unpack(
                self.block
            )
            scalars = complex(ar, ai), complex(br, bi)
            assert (m, n, k, batch) == (p.m, p.n, p.k, p.batch)
            for i in range(batch):
                where = tuple(
                    int(at(x, (batch,), (1,), np.dtype(np.int64))[i])
                    if p.pointers
                    else x + i * step * p.dtype.itemsize
                    for x, step in zip((a, b, c), steps, strict=True)
                )
                assert all(x % p.align == 0 for x in where)
                product(p, where, (lda, ldb, ldc), (m, n, k), scalars)  # type: ignore[arg-type]

        def grouped(self, p: Problem) -> None:
            start, own, ar, ai, br, bi, count, _ = struct.unpack("<2Q4d2i", self.block)
            words = at(start, (count, 16), (16, 1), np.dtype(np.uint32)).astype(np.int64)
            assert count == p.batch
            for w in words:
                where = tuple(int(w[4 * i] | w[4 * i + 1] << 32) for i in range(3))
                ld = tuple(int(np.int32(np.uint32(w[4 * i + 3]))) for i in range(3))
                m, n, k = (int(w[12] >> 8 * i & 255) for i in range(3))
                assert m <= p.m
                assert n <= p.n
                assert k <= p.k
                scalars = complex(ar, ai), complex(br, bi)
                if own:
                    x = at(own + 32 * int(w[15]), (4,), (1,), np.dtype(np.float64))
                    scalars = complex(x[0], x[1]), complex(x[2], x[3])
                assert (int(w[10]) & 8191 != 0) == (scalars[1] != 0)
                product(p, where, ld, (m, n, k), scalars)  # type: ignore[arg-type]

    class Handle:
        def __init__(self, device: int):
            self.sends: list[int] = []

        def send(self, address: int, numbers: np.ndarray, stream: int) -> None:
            self.sends.append(numbers.nbytes)
            ctypes.memmove(address, np.ascontiguousarray(numbers).ctypes.data, numbers.nbytes)

    def kernel(stencil: str, problem: Problem, config: Config, device: Device) -> Kernel:
        return Kernel(1, Binary(b"", stencil, ""), (stencil, problem))

    def copy(to: int, of: np.ndarray) -> None:
        ctypes.memmove(to, of.ctypes.data, of.nbytes)

    handle = Handle(0)
    monkeypatch.setattr(devices, "missing", lambda: None)
    monkeypatch.setattr(devices, "count", lambda: 1)
    monkeypatch.setattr(devices, "probe", lambda index=0: capability.DEVICES["h200"])
    monkeypatch.setattr(driver, "context", lambda index=0: 1)
    monkeypatch.setattr(driver, "current_device", lambda: 0)
    monkeypatch.setattr(driver, "synchronize", lambda: None)
    monkeypatch.setattr(driver, "Launcher", Launcher)
    monkeypatch.setattr(fastcall_cuda, "starting", lambda *_: None)
    monkeypatch.setattr(driver, "allocate", Memory)
    monkeypatch.setattr(driver, "upload", copy)
    monkeypatch.setattr(
        driver, "download", lambda array, address: ctypes.memmove(array.ctypes.data, address, array.nbytes)
    )
    monkeypatch.setattr(bound_cuda, "staging", lambda index: handle)
    monkeypatch.setattr(build, "kernel", kernel)
    monkeypatch.setattr(dlpack, "device_of", lambda address, name: 0)
    settings.forget()
    yield log
    settings.forget()


@pytest.fixture
def torch(gpu: Log, monkeypatch: pytest.MonkeyPatch) -> Any:
    """PyTorch, whose tensors on the CPU are taken for such of a GPU."""
    module = pytest.importorskip("torch")
    monkeypatch.setattr(torch_.Torch, "on_gpu", lambda self, value: value.device.type == "cpu")
    monkeypatch.setattr(torch_.Torch, "index", lambda self, value: 0)
    monkeypatch.setattr(torch_.Torch, "guard", lambda self, index: contextlib.nullcontext())
    found: Any = lookup.library("torch")
    monkeypatch.setattr(found, "raw_stream", lambda index: 7)
    monkeypatch.setattr(
        found, "empty", lambda shape, dtype, index: module.empty(shape, dtype=found.names[dtype])
    )
    monkeypatch.setattr(lookup, "default_library", lambda: found)
    real = torch_.Torch.real

    def seen(self: Any, array: Any) -> Any:
        if array.owner.library is None and array.size:
            view = numpy_.memory_at(address_of(array), array.shape, array.strides, array.dtype)
            tensor = module.from_numpy(view)
            return tensor.conj() if array.conj else tensor
        return real(self, array)

    monkeypatch.setattr(torch_.Torch, "real", seen)
    return module


TYPES = ["float32", "float64", "complex64", "complex128"]


def tensors(torch: Any, shapes: Any, name: str = "float64", seed: int = 0) -> list[Any]:
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=getattr(torch, name), generator=draw) for shape in shapes]


def op(x: Any, letter: str) -> Any:
    x = x if letter == "n" else x.mT
    return x.conj() if letter == "c" else x


def close(torch: Any, got: Any, want: Any) -> None:
    assert got.shape == want.shape
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


# ---- matrices of one size


def test_an_update_whose_matrices_lie_backwards(gpu: Log, torch: Any) -> None:
    """No tensor has a negative stride, so what lies evenly spaced so is copied matrix by matrix."""
    stacks = [torch.randn(5, 4, 4, dtype=torch.float64) for _ in range(3)]
    a, b, c = (list(x) for x in stacks)
    for out in (None, list(torch.zeros(5, 4, 4, dtype=torch.float64))):
        made = tw.gemm_batched(a, b, c[::-1], beta=1, out=out)
        for which in range(5):
            np.testing.assert_allclose(made[which].numpy(), (a[which] @ b[which] + c[4 - which]).numpy())


def halves(*trans: str) -> list[tuple[str, str]]:
    """Each type with half of the transpositions, the other half with the next type."""
    return [(name, each) for turn, name in enumerate(TYPES) for each in trans[turn % 2 :: 2]]


@pytest.mark.parametrize(("name", "trans"), halves("nn", "tn", "nc", "ct"))
def test_scattered_matrices_are_one_launch(gpu: Log, torch: Any, name: str, trans: str) -> None:
    m, n, k, count = 5, 7, 6, 11
    a = tensors(torch, [(m, k) if trans[0] == "n" else (k, m)] * count, name)
    b = tensors(torch, [(k, n) if trans[1] == "n" else (n, k)] * count, name, 1)
    c = tensors(torch, [(m, n)] * count, name, 2)
    random.Random(3).shuffle(a)
    want = [op(x, trans[0]) @ op(y, trans[1]) for x, y in zip(a, b, strict=True)]
    options = {"trans_a": trans[0], "trans_b": trans[1]}
    made = tw.gemm_batched(a, b, **options)
    assert gpu.names == ["tiny"]
    assert gpu[0][1].pointers
    assert gpu[0][3] == 7
    assert len({x.untyped_storage().data_ptr() for x in made}) == 1
    for got, right in zip(made, want, strict=True):
        close(torch, got, right)
    right = [2 * x + 0.5 * y for x, y in zip(want, c, strict=True)]
    before = [x.clone() for x in c]
    for got, x in zip(tw.gemm_batched(a, b, c, alpha=2, beta=0.5, **options), right, strict=True):
        close(torch, got, x)
    assert all(torch.equal(x, y) for x, y in zip(c, before, strict=True))
    assert tw.gemm_batched(a, b, c, alpha=2, beta=0.5, out=c, **options) is c
    for got, x in zip(c, right, strict=True):
        close(torch, got, x)
    assert gpu.names == ["tiny"] * 3


def test_matrices_that_lie_evenly_are_stacks(gpu: Log, torch: Any) -> None:
    stack = torch.randn(20, 6, 6, dtype=torch.float64)
    made = tw.gemm_batched(list(stack[::2]), list(stack[1::2]))
    assert [p.pointers for _, p, *_ in gpu] == [False]
    for got, x, y in zip(made, stack[::2], stack[1::2], strict=True):
        close(torch, got, x @ y)


def test_what_is_too_large_runs_one_by_one(gpu: Log, torch: Any) -> None:
    a, b = tensors(torch, [(80, 20)] * 3), tensors(torch, [(20, 70)] * 3, seed=1)
    a.insert(1, a.pop(2))
    for got, x, y in zip(tw.gemm_batched(a, b), a, b, strict=True):
        close(torch, got, x @ y)
    assert "tiny" not in gpu.names


def test_other_strides_are_copied(gpu: Log, torch: Any) -> None:
    a = tensors(torch, [(4, 5)] * 3)
    a[1] = a[1].mT.contiguous().mT
    b = [torch.randn(5, 6, dtype=torch.float64)[:, ::2] for _ in range(3)]
    out = [
        torch.empty(3, 4, dtype=torch.float64).mT if i else torch.empty(4, 3, dtype=torch.float64)
        for i in range(3)
    ]
    assert tw.gemm_batched(a, b, out=out) is out
    for got, x, y in zip(out, a, b, strict=True):
        close(torch, got, x @ y)


def test_lazily_conjugated_matrices(gpu: Log, torch: Any) -> None:
    a, b = tensors(torch, [(4, 5)] * 4, "complex64"), tensors(torch, [(5, 3)] * 4, "complex64", 1)
    a.append(a.pop(0))
    lazy = [x.conj() for x in a]
    for got, x, y in zip(tw.gemm_batched(lazy, b), a, b, strict=True):
        close(torch, got, x.conj() @ y)
    assert gpu[0][1].trans in ("jn", "nj")
    lazy[2] = lazy[2].resolve_conj()
    for got, x, y in zip(tw.gemm_batched(lazy, b), a, b, strict=True):
        close(torch, got, x.conj() @ y)


def test_pointers(gpu: Log, torch: Any) -> None:
    count = 9
    a, b = tensors(torch, [(4, 5)] * count, "float32"), tensors(torch, [(5, 3)] * count, "float32", 1)
    order = random.Random(1).sample(range(count), count)
    row = torch.tensor([a[i].data_ptr() for i in order])
    left = tw.Pointers(row, (4, 5), torch.float32)
    right = tw.Pointers([b[i].data_ptr() for i in order], (5, 3), "s")
    assert len(left) == count
    assert left.there() == row.data_ptr()
    made = tw.gemm_batched(left, right)
    for got, i in zip(made, order, strict=True):
        close(torch, got, a[i] @ b[i])
    out = tensors(torch, [(4, 3)] * count, "float32", 2)
    want = [a[i] @ b[i] + x for x, i in zip(out, order, strict=True)]
    to = tw.Pointers([x.data_ptr() for x in out], (4, 3), np.float32, ld=3)
    assert tw.gemm_batched(left, [b[i] for i in order], to, beta=1, out=to) is to
    for got, x in zip(out, want, strict=True):
        close(torch, got, x)
    # Column-major, and of a larger matrix.
    whole = torch.randn(8, 8, dtype=torch.float64)
    corner = tw.Pointers([whole[:4, :4].data_ptr(), whole[4:, 4:].data_ptr()], (4, 4), "d", ld=8, order="F")
    for got, x in zip(
        tw.gemm_batched(corner, corner, trans_b="t"), (whole[:4, :4], whole[4:, 4:]), strict=True
    ):
        close(torch, got, x.mT @ x)
    assert set(gpu.names) <= {"tiny"}


def test_batches_by_addresses_follow_new_records(
    gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = tensors(torch, [(4, 5)] * 9), tensors(torch, [(5, 3)] * 9, seed=1)
    random.Random(1).shuffle(a)
    planned = []
    real = dispatch.plan

    def spy(problem: Problem, *args: Any, **options: Any) -> Any:
        planned.append(problem.pointers)
        return real(problem, *args, **options)

    monkeypatch.setattr(dispatch, "plan", spy)
    for _ in range(2):
        tw.gemm_batched(a, b)
    assert planned == [True]
    tw.forget()
    tw.gemm_batched(a, b)
    assert planned == [True, True]
    assert gpu.names == ["tiny"] * 3


def test_without_terms(gpu: Log, torch: Any) -> None:
    a, b = [torch.empty(3, 0)] * 2, [torch.empty(0, 2)] * 2
    assert all((x == 0).all() for x in tw.gemm_batched(a, b))
    out = tensors(torch, [(3, 2)] * 2, "float32")
    want = [2 * x for x in out]
    tw.gemm_batched(a, b, beta=2, out=out)
    for got, x in zip(out, want, strict=True):
        close(torch, got, x)
    assert gpu == []


# ---- matrices of many sizes


@pytest.mark.parametrize(("name", "trans"), halves("nn", "tn", "nt", "cc"))
def test_many_sizes_are_one_launch(gpu: Log, torch: Any, name: str, trans: str) -> None:
    draw = random.Random(2)
    shapes = [tuple(draw.randrange(1, 33) for _ in range(3)) for _ in range(50)] + [
        (1, 1, 5),
        (3, 1, 1),
        (1, 4, 2),
    ]
    a = tensors(torch, [(m, k) if trans[0] == "n" else (k, m) for m, _, k in shapes], name)
    b = tensors(torch, [(k, n) if trans[1] == "n" else (n, k) for _, n, k in shapes], name, 1)
    c = tensors(torch, [(m, n) for m, n, _ in shapes], name, 2)
    want = [op(x, trans[0]) @ op(y, trans[1]) for x, y in zip(a, b, strict=True)]
    options = {"trans_a": trans[0], "trans_b": trans[1]}
    made = tw.gemm_grouped(a, b, **options)
    assert gpu.names == ["grouped"]
    assert (gpu[0][1].m, gpu[0][1].batch, gpu[0][3]) == (32, 53, 7)
    for got, right in zip(made, want, strict=True):
        close(torch, got, right)
    assert len({x.untyped_storage().data_ptr() for x in made}) == 1
    alphas = [draw.choice((0, 1, -2.0)) for _ in shapes]
    betas = [draw.choice((0, 1, 0.5)) for _ in shapes]
    right = [s * x + t * y for s, t, x, y in zip(alphas, betas, want, c, strict=True)]
    for x, s in zip(a, alphas, strict=True):
        if s == 0:
            x.fill_(float("nan"))
    for got, x in zip(tw.gemm_grouped(a, b, c, alpha=alphas, beta=betas, **options), right, strict=True):
        close(torch, got, x)
    for x, s in zip(c, betas, strict=True):
        if s == 0:
            x.fill_(float("nan"))
    tw.gemm_grouped(a, b, c, alpha=alphas, beta=betas, out=c, **options)
    for got, x in zip(c, right, strict=True):
        close(torch, got, x)
    assert gpu.names == ["grouped"] * 3


def test_layouts_that_differ_are_a_few_launches(gpu: Log, torch: Any) -> None:
    draw = random.Random(4)
    a, b, out = [], [], []
    for _ in range(60):
        m, n, k = (draw.randrange(2, 20) for _ in range(3))
        turn = [draw.random() < 0.5 for _ in range(3)]
        for into, shape, transposed in zip((a, b, out), ((m, k), (k, n), (m, n)), turn, strict=True):
            x = torch.randn(shape[::-1] if transposed else shape, dtype=torch.float64)
            into.append(x.mT if transposed else x)
    a[3] = torch.randn(9, 22, dtype=torch.float64)[::2, ::2]  # 5 x 11, without a unit stride
    b[3] = torch.randn(11, 4, dtype=torch.float64)
    out[3] = torch.empty(5, 4, dtype=torch.float64)
    tw.gemm_grouped(a, b, out=out)
    for got, x, y in zip(out, a, b, strict=True):
        close(torch, got, x @ y)
    assert set(gpu.names) == {"grouped"}
    assert 2 <= len(gpu) <= 4


def test_large_products_beside_small_ones_and_stacks(gpu: Log, torch: Any) -> None:
    a = tensors(torch, [(4, 5), (70, 8), (3, 6, 2), (0, 2), (2, 8, 8)])
    b = tensors(torch, [(5, 6), (8, 9), (3, 2, 4), (2, 3), (8, 65)], seed=1)
    plan = tw.plan_grouped(a, b)
    for _ in range(2):
        made = plan.run()
        for got, x, y in zip(made, a, b, strict=True):
            close(torch, got, x @ y)
        a[0] *= 3
        a[1] *= 3
    assert made is plan.results
    assert gpu.names.count("grouped") == 2
    # Of the stack with one second matrix both products are one batch.
    assert plan.launches == 1 + 2
    assert sorted(p.problem.batch for p in plan.plans) == [1, 2, 4]
    assert "1 products of 9x70x8 (d:nn): " in plan.explain()


def test_like_products_that_lie_evenly_spaced_are_one_batch(gpu: Log, torch: Any) -> None:
    whole = torch.randn(9, 70, 8, dtype=torch.float64)
    b = torch.randn(8, 66, dtype=torch.float64)
    out = torch.zeros(9, 70, 66, dtype=torch.float64)
    # Not in the order of memory; two of them together, one alone, one with another scalar.
    order, alphas = [6, 0, 2, 4, 1, 8], [1.0, 1.0, 1.0, 1.0, 2.0, 1.0]
    results = [out[i] for i in order]
    plan = tw.plan_grouped([whole[i] for i in order], [b] * 6, alpha=alphas, out=results)
    assert sorted(p.problem.batch for p in plan.plans) == [1, 5]
    plan()
    for i, alpha in zip(order, alphas, strict=True):
        close(torch, out[i], alpha * whole[i] @ b)
    assert not out[[3, 5, 7]].any()
    # What goes backwards is no batch of a library.
    plan = tw.plan_grouped([whole[i] for i in (5, 3, 1)], [b] * 3, out=[out[i] for i in (1, 3, 5)])
    assert [p.problem.batch for p in plan.plans] == [1, 1, 1]
    plan()
    close(torch, out[1], whole[5] @ b)


@pytest.mark.parametrize("letter", ["s", "hc"])
def test_lists_go_to_the_library_where_it_was_measured_to_be_faster(
    gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch, letter: str
) -> None:
    cells = {f"{letter}, writes C, any size": {"wins": False, "median": 0.9}}
    monkeypatch.setattr(classes, "table", lambda: {"h200": {"grouped": cells}})
    monkeypatch.setattr(cublaslt, "library", lambda: object())
    # The library is not here: whatever takes its place is asked for product by product.
    monkeypatch.setattr(cublaslt, "product", lambda *_: "not here")
    kind, more = (torch.float16, (2,)) if letter == "hc" else (torch.float32, ())
    a, b = ([torch.randn(*shape, *more).to(kind) for shape in shapes] for shapes in LISTED)
    options = {"dtype": "hc"} if letter == "hc" else {}
    plan = tw.plan_grouped(a, b, **options)
    if letter == "hc":
        # No library has complex half.
        assert [p.origin for p in plan.plans] == ["default"]
        return
    assert "grouped" not in {p.stencil for p in plan.plans}
    assert len(plan.plans) == 2
    for got, x, y in zip(plan(), a, b, strict=True):
        close(torch, got, x @ y)
    # Who forces a config wants the kernel, and where there is no library it is all that is left.
    assert tw.plan_grouped(a, b, config={}).plans[0].stencil == "grouped"
    monkeypatch.setattr(cublaslt, "library", lambda: None)
    assert tw.plan_grouped(a, b).plans[0].stencil == "grouped"


def test_a_call_on_the_same_pointers_is_planned_once(
    gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = [2, 0, 3, 1]

    def pointed(x: Any) -> tw.Pointers:
        return tw.Pointers([x[i].data_ptr() for i in order], tuple(x.shape[1:]), "d")

    a, b, out = (torch.randn(4, *shape, dtype=torch.float64) for shape in ((5, 6), (6, 7), (5, 7)))
    rows = [pointed(x) for x in (a, b, out)]
    planned: list[Any] = []
    slow = batched.run
    monkeypatch.setattr(batched, "run", lambda *given: planned.append(given) or slow(*given))

    def calls(*given: Any, **options: Any) -> int:
        before = len(planned)
        assert tw.gemm_batched(*given, out=rows[2], **options) is rows[2]
        return len(planned) - before

    assert [calls(rows[0], rows[1]) for _ in range(3)] == [1, 0, 0]
    close(torch, out, a @ b)
    a *= 2
    assert calls(rows[0], rows[1]) == 0
    close(torch, out, a @ b)
    # Scalars, and c in place, are other calls; another c is copied each time.
    assert [calls(rows[0], rows[1], alpha=3) for _ in range(2)] == [1, 0]
    assert [calls(rows[0], rows[1], rows[2], beta=1) for _ in range(2)] == [1, 0]
    close(torch, out, 5 * a @ b)
    assert [calls(rows[0], rows[1], pointed(out.clone()), beta=1) for _ in range(2)] == [1, 1]
    assert [calls(rows[0], list(b[order]), alpha=1) for _ in range(2)] == [1, 1]
    # Other objects, and those of the call cache when it is emptied.
    rows[1] = pointed(b + 1)
    assert calls(rows[0], rows[1]) == 1
    call_cache.clear()
    assert calls(rows[0], rows[1]) == 1
    # What cannot be remembered is refused as ever.
    with pytest.raises(ArgumentError, match="accepted: a number"):
        tw.gemm_batched(rows[0], rows[1], alpha=[1], out=rows[2])


@pytest.mark.parametrize("recorded", [False, True])
def test_many_products_run_on_several_streams_between_a_fork_and_a_join(
    monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    made: list[list[Any]] = []

    class Sides:
        def __init__(self, count: int):
            self.handles = [100 * (len(made) + 1) + i for i in range(count)]
            self.seen: list[Any] = []
            made.append(self.seen)

        def fork(self, stream: int) -> None:
            self.seen.append(("fork", stream))

        def join(self, stream: int) -> None:
            self.seen.append(("join", stream))

    monkeypatch.setattr(driver, "Sides", Sides)
    monkeypatch.setattr(driver, "capturing", lambda stream: recorded)
    monkeypatch.setattr(list_runs, "_held", threading.local())
    log: list[tuple[int, int]] = []
    starts = [lambda stream, i=i: log.append((i, stream)) for i in range(9)]
    if recorded:
        # No streams can be made any more, so all of it is one after the other.
        list_runs.spread(starts, 0, 7)
        assert log == [(i, 7) for i in range(9)]
        assert not made
        log.clear()
        list_runs.sides(0, recorded=True)
    list_runs.spread(starts, 0, 7)
    assert [stream for _, stream in log] == [7, 100, 101, 102, 7, 100, 101, 102, 7]
    assert made == [[("fork", 7), ("join", 7)]]
    # The same ones again, and a join also after what fails: a recording would be lost without.
    log.clear()

    def fails(stream: int) -> None:
        raise DeviceError("lost")

    with pytest.raises(DeviceError):
        list_runs.spread([*starts, fails], 0, 7)
    assert made == [[("fork", 7), ("join", 7)] * 2]
    # A few are not worth a fork.
    log.clear()
    list_runs.spread(starts[:3], 0, 7)
    assert [stream for _, stream in log] == [7, 7, 7]


LISTED = (((4, 5), (7, 8)), ((5, 6), (8, 9)))
"""Shapes of two products."""


def test_a_forced_config(gpu: Log, torch: Any) -> None:
    a, b = tensors(torch, [(4, 5), (7, 8)]), tensors(torch, [(5, 6), (8, 9)], seed=1)
    plan = tw.plan_grouped(a, b, config={"depth": 4, "warps": 2})
    assert "forced: grouped" in plan.explain()
    assert "depth=4" in plan.explain()
    with pytest.raises(ArgumentError, match="config names 'tiles'"):
        tw.plan_grouped(a, b, config={"tiles": 1})
    # As everywhere: values of the space, and rules that no device forgives.
    with pytest.raises(ArgumentError, match="config says ring=16; accepted: "):
        tw.plan_grouped(a, b, config={"ring": 16})
    with pytest.raises(ArgumentError, match="breaks 'teams'"):
        tw.plan_grouped(a, b, config={"team": 8, "warps": 6})
    with pytest.raises(ArgumentError, match="accepted: a map from names to plain values"):
        tw.plan_grouped(a, b, config={"ring": []})


def test_lists_are_planned_by_the_ladder_and_again_after_new_records(
    gpu: Log, torch: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    store = Records(tmp_path / "records.sqlite", shipped=tmp_path)
    monkeypatch.setattr(dispatch, "records", lambda: store)
    draw = random.Random(7)
    shapes = [tuple(draw.randrange(1, 33) for _ in range(3)) for _ in range(400)]
    a = tensors(torch, [(m, k) for m, _, k in shapes], "float32")
    b = tensors(torch, [(k, n) for _, n, k in shapes], "float32", 1)
    plan = tw.plan_grouped(a, b)
    (before,) = plan.plans
    assert before.origin == "default"
    asked = before.problem
    assert isinstance(asked, GroupedProblem)
    assert (asked.m, asked.batch, asked.key.split("|")[1][:7]) == (32, 400, "grouped")
    other = next(
        before.config.with_(deep=deep) for deep in (1, 2, 4) if deep != (before.config or {})["deep"]
    )
    # A list that the spelling draws, which is of the same class as this one.
    spelled = GroupedProblem.parse("s:1..32x1..32x1..32@350", align=asked.align)
    assert spelled == asked.with_(batch=350)
    timing = Timing((1e-5,), 1e-5, 1e-5, 1e-5, before.regime, 350, measure.INTERLEAVED)
    device = before.device.key
    record = Record(spelled, before.regime, "grouped", other, "ok", device, "test", timing=timing)
    store.append(replace(record, protocol=measure.INTERLEAVED))
    plan()
    assert plan.plans[0].config == before.config
    tw.forget()
    results = plan()
    (tuned,) = plan.plans
    assert (tuned.origin, tuned.config, tuned.problem) == ("tuned", other, asked)
    assert "tuned: grouped" in plan.explain()
    for got, x, y in zip(results, a, b, strict=True):
        close(torch, got, x @ y)
    tw.gemm_grouped(a, b)
    # Other scalars are another class, for which this record is one of a near problem.
    scaled = tw.plan_grouped(a, b, alpha=2)
    assert scaled.plans[0].origin == "near"
    assert scaled.plans[0].config == other
    for got, x, y in zip(scaled.run(), a, b, strict=True):
        close(torch, got, 2 * (x @ y))
    assert set(gpu.names) == {"grouped"}


@pytest.mark.parametrize("order", ["C", "F"])
def test_groups(gpu: Log, torch: Any, order: str) -> None:
    draw = random.Random(6)
    sizes = [tuple(draw.randrange(1, 12) for _ in range(3)) for _ in range(20)]
    m, n, k = (np.array([s[i] for s in sizes]) for i in range(3))

    def room(rows: np.ndarray, columns: np.ndarray) -> list[Any]:
        """Matrices with a gap of two after every row, or column."""
        made = []
        for x, y in zip(rows.tolist(), columns.tolist(), strict=True):
            high, wide = (x, y) if order == "C" else (y, x)
            whole = torch.randn(high, wide + 2, dtype=torch.float64)[:, :wide]
            made.append(whole if order == "C" else whole.mT)
        return made

    a, b, c = room(m, k), room(k, n), room(m, n)
    where = [[x.data_ptr() for x in some] for some in (a, b, c)]
    leading = (k + 2, n + 2, n + 2) if order == "C" else (m + 2, k + 2, m + 2)
    groups = tw.Groups(  # type: ignore[call-arg]
        torch.tensor(m),
        n.tolist(),
        k,
        torch.tensor(where[0]),
        *where[1:],
        *leading,
        torch.float64,
        order=order,
    )
    want = [2 * x @ y + z for x, y, z in zip(a, b, c, strict=True)]
    assert tw.gemm_grouped(groups, alpha=2, beta=1) is None
    for got, right in zip(c, want, strict=True):
        close(torch, got, right)
    assert gpu.names == ["grouped"]
    assert gpu[0][1].trans == "nn"


# ---- what is refused


def misplaced() -> Any:
    return tw.Pointers([4096, 4098], (2, 2), "s")


REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda t: tw.Pointers([4096, 0], (2, 2), "s"), ArgumentError, r"addresses\[1\]=0x0 is null"),
    (lambda t: misplaced(), ArgumentError, r"addresses\[1\]=0x1002 is no multiple of an element's 4"),
    (lambda t: tw.Pointers([-8], (2, 2), "s"), ArgumentError, "negative"),
    (lambda t: tw.Pointers([8.5], (2, 2), "s"), DTypeError, "accepted: integers"),
    (lambda t: tw.Pointers([[8]], (2, 2), "s"), ArgumentError, "one row"),
    (lambda t: tw.Pointers(t.ones(3), (2, 2), "s"), DTypeError, "64-bit integers"),
    (lambda t: tw.Pointers([64], (2, 2), "int32"), DTypeError, "dtype='int32'"),
    (lambda t: tw.Pointers([64], (2, 4), "s", ld=3), ArgumentError, "accepted: ld from 4"),
    (lambda t: tw.Pointers([64], (2, 4), "s", order="K"), ArgumentError, "order='K'"),
    (lambda t: tw.Pointers([64], 5, "s"), ArgumentError, "shape=5"),
    (lambda t: tw.Pointers([64], (2, 2), "s", device="cpu"), ArgumentError, "device='cpu'"),
    (lambda t: tw.gemm_batched([t.ones(2, 2)], [np.ones((2, 2))]), ArgumentError, r"b\[0\] .* not on a GPU"),
    (
        lambda t: tw.gemm_batched([t.ones(2, 2)] * 2, [t.ones(2, 2), np.ones((2, 2))]),
        ArgumentError,
        r"b\[1\] .* not on a GPU",
    ),
    (
        lambda t: tw.gemm_batched([t.ones(2, 2)], [t.ones(2, 2)], out=tw.Pointers([64], (2, 3), "s")),
        ArgumentError,
        r"out has matrices of shape \(2, 3\)",
    ),
    (
        lambda t: tw.gemm_batched(
            [t.ones(2, 2)] * 2, [t.ones(2, 2)] * 2, out=tw.Pointers([64, 64], (2, 2), "s")
        ),
        ArgumentError,
        r"out\[0\] and out\[1\] share memory at 0x40 \(the same address\)",
    ),
    (
        lambda t: tw.gemm_batched(
            tw.Pointers([128, 256], (2, 2), "s"), [t.ones(2, 2)] * 2, out=tw.Pointers([64, 268], (2, 2), "s")
        ),
        ArgumentError,
        r"out\[1\] shares memory with a\[1\] at 0x100",
    ),
    (
        lambda t: tw.gemm_batched([t.ones(2, 2)], [t.ones(2, 2)], tw.Pointers([64], (2, 2), "s"), beta=1),
        ArgumentError,
        "c is Pointers and out is None",
    ),
    (
        lambda t: tw.gemm_grouped(tw.Pointers([64], (2, 2), "s"), [t.ones(2, 2)]),
        ArgumentError,
        "a is Pointers, of one size",
    ),
    (lambda t: tw.Groups([1], [1], [-1], [64], [64], [64], dtype="s"), ArgumentError, r"k\[0\]=-1"),
    (lambda t: tw.Groups([1], [1], [1], [64], [0], [64], dtype="s"), ArgumentError, r"b\[0\]=0x0 is null"),
    (lambda t: tw.Groups([1, 2], [1], [1], [64], [64], [64], dtype="s"), ArgumentError, "m has 2 numbers"),
    (
        lambda t: tw.gemm_grouped(tw.Groups(1, 4, 1, [64], [64], [128], ldc=3, dtype="s")),
        ArgumentError,
        r"ldc\[0\]=3; accepted: from 4",
    ),
    (
        lambda t: tw.gemm_grouped(tw.Groups(2, 2, 2, [64, 64], [64, 64], [128, 136], dtype="s")),
        ArgumentError,
        r"c\[0\] and c\[1\] share memory",
    ),
    (
        lambda t: tw.gemm_grouped(tw.Groups(1, 1, 1, [64], [64], [99], dtype="s")),
        ArgumentError,
        "no multiple",
    ),
    (
        lambda t: tw.gemm_grouped(tw.Groups(1, 1, 1, [64], [64], [96], dtype="s"), 5),
        ArgumentError,
        "b beside Groups",
    ),
]


@pytest.mark.parametrize(("made", "error", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(torch: Any, made: Callable[[Any], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        made(torch)


# ---- what meets what


def brute(x: Placement, i: int, y: Placement, j: int) -> bool:
    def cells(p: Placement, which: int) -> set[int]:
        return {
            int(p.start[which]) + (r + q * int(p.ld[which])) * p.size
            for r in range(int(p.rows[which]))
            for q in range(int(p.columns[which]))
        }

    return bool(cells(x, i) & cells(y, j))


@pytest.mark.parametrize("seed", range(30))
def test_overlaps_are_found_and_no_others_in_blocks_of_one_matrix(seed: int) -> None:
    draw = np.random.default_rng(seed)
    ld = int(draw.integers(6, 14))

    def some(count: int) -> Placement:
        rows, columns = draw.integers(0, 5, count), draw.integers(0, 4, count)
        start = 800 + 8 * (draw.integers(0, ld - rows + 1) + ld * draw.integers(0, 30, count))
        return Placement(start, ld, rows, columns, 8)

    outputs, inputs = some(int(draw.integers(1, 9))), some(6)
    every = [(i, j) for i in range(len(outputs.start)) for j in range(i) if brute(outputs, i, outputs, j)]
    found = overlapping(outputs)
    assert (found is None) == (not every)
    assert found is None or found[::-1] in every
    every = [(i, j) for i in range(len(outputs.start)) for j in range(6) if brute(outputs, i, inputs, j)]
    met = shared(outputs, inputs)
    assert (met is None) == (not every)
    assert met is None or met in every


def test_even_steps() -> None:
    assert even_step(np.array([8, 16, 24])) == 8
    assert even_step(np.array([8, 8, 8])) == 0
    assert even_step(np.array([8, 16, 25])) is None
    assert even_step(np.array([8])) == 0


def test_pinned_memory_is_used_again_only_when_it_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece whose copy is on its way is not written to."""
    pending: set[int] = set()
    copies: list[tuple[int, int]] = []
    rooms: list[np.ndarray] = []

    class Api:
        CU_MEMHOSTALLOC_PORTABLE = 1

        class CUevent_flags:
            CU_EVENT_DISABLE_TIMING = 2

        capturing = 0

        def CUstream(self, stream: int) -> int:
            return stream

        def cuStreamIsCapturing(self, stream: int) -> tuple[int, int]:
            return 0, self.capturing

        def cuEventQuery(self, event: int) -> tuple[int]:
            return (600 if event in pending else 0,)

        def cuEventCreate(self, flags: int) -> tuple[int, int]:
            return 0, len(rooms)

        def cuEventRecord(self, event: int, stream: int) -> tuple[int]:
            pending.add(event)
            return (0,)

        def cuMemHostAlloc(self, size: int, flags: int) -> tuple[int, int]:
            rooms.append(np.zeros(size, np.uint8))
            return 0, rooms[-1].ctypes.data

        def cuMemcpyHtoDAsync(self, to: int, start: int, size: int, stream: int) -> tuple[int]:
            copies.append((start, size))
            return (0,)

    api = Api()
    monkeypatch.setattr(pointers, "bindings", lambda: api)
    monkeypatch.setattr(modules, "context", lambda: 1)
    monkeypatch.setattr(pointers, "Owned", lambda handle, *_: type("Owned", (), {"handle": handle})())
    staging = Staging()
    row = np.arange(100)
    for _ in range(3):
        staging.send(64, row, 5)
    assert len(rooms) == 3
    assert len({start for start, _ in copies}) == 3
    assert all((x[:800].view(np.int64) == row).all() for x in rooms)
    pending.clear()
    staging.send(64, row[::2], 5)
    assert len(rooms) == 3
    api.capturing = 1
    with pytest.raises(ArgumentError, match="graph cannot record"):
        staging.send(64, row, 5)


def test_the_problem_of_a_list_is_of_its_own_kind() -> None:
    p = products(Problem.parse("d:1x1x1")[0].dtype, 20, 9, 30, "nt", 1000)
    assert (p.m, p.n, p.k, p.batch) == (24, 16, 32, 1000)
    assert p.with_(batch=1).key != Problem.parse("d:nt:24x16x32")[0].key
    assert dispatch.refusal(STENCILS["grouped"], p, capability.named("h200")) is None
