"""cuBLAS's product over arrays of addresses, without a GPU: C functions in its place multiply on the host."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tilewright.arrays import numpy_
from tilewright.arrays.layout import Job
from tilewright.dtypes import narrowed, widened
from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import DTYPES, Plan, Problem
from tilewright.planning import dispatch, neighbours
from tilewright.runtime import bound_cuda, cublas, cublaslt, cublaslt_spaces
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

H200 = named("h200")
KINDS = {kind: DTYPES[letter] for letter, (kind, _, _) in cublaslt.TYPES.items()}
HANDLE, ROOM = 77, 4096


class Library:
    """The library, as far as it is called; what it is told is in ``calls``."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.status = 0
        functions: dict[str, Callable[..., int]] = {
            "cublasCreate_v2": self.create,
            "cublasSetStream_v2": lambda handle, stream: self.told("stream", handle, stream),
            "cublasSetWorkspace_v2": lambda handle, *room: self.told("workspace", handle, *room),
            "cublasGemmBatchedEx": self.multiply,
        }
        # Addresses as numbers, also where they are NULL.
        plain = {ctypes.c_void_p: ctypes.c_size_t}
        made = {
            name: ctypes.CFUNCTYPE(ctypes.c_int, *(plain.get(t, t) for t in cublas._FUNCTIONS[name]))(run)
            for name, run in functions.items()
        }
        self.library = cublas.declared(SimpleNamespace(**made))

    def create(self, into: int) -> int:
        ctypes.c_uint64.from_address(into).value = HANDLE
        return 0

    def told(self, *what: Any) -> int:
        self.calls.append(what)
        return 0

    def multiply(self, handle: int, *given: int) -> int:
        trans_a, trans_b, m, n, k, alpha, a, kind, lda, b, kind_b, ldb, beta, c, kind_c, ldc, *rest = given
        batch, compute, algorithm = rest
        assert kind == kind_b == kind_c
        assert algorithm == -1
        dtype = KINDS[kind]
        assert (compute, handle) == (cublaslt.TYPES[dtype.letter][1], HANDLE)
        self.calls.append(("multiply", batch))
        if self.status:
            return self.status
        scale = np.dtype(np.float64 if dtype.real_bits == 64 else np.float32)
        factors = []
        for at in (alpha, beta):
            parts = numpy_.memory_at(at, (2 if dtype.is_complex else 1,), (scale.itemsize,), scale)
            factors.append(complex(*parts) if dtype.is_complex else float(parts[0]))

        def matrix(start: int, rows: int, columns: int, ld: int) -> np.ndarray[Any, Any]:
            size = dtype.itemsize
            return numpy_.memory_at(start, (rows, columns), (size, ld * size), dtype.numpy)

        def operand(start: int, rows: int, columns: int, ld: int, how: int) -> np.ndarray[Any, Any]:
            if how == 0:
                return widened(matrix(start, rows, columns, ld))
            found = widened(matrix(start, columns, rows, ld)).T
            return found.conj() if how == 2 else found

        rows = [numpy_.memory_at(at, (batch,), (8,), np.dtype(np.int64)) for at in (a, b, c)]
        for x, y, z in zip(*rows, strict=True):
            out = matrix(int(z), m, n, ldc)
            product = operand(int(x), m, k, lda, trans_a) @ operand(int(y), k, n, ldb, trans_b)
            made = factors[0] * product
            out[...] = narrowed(made if factors[1] == 0 else made + factors[1] * widened(out), dtype.numpy)
        return 0


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setattr(cublas, "library", lambda: made.library)
    spaces = SimpleNamespace(of=lambda stream: None if stream == 9 else ROOM)
    monkeypatch.setattr(cublaslt_spaces, "workspaces", lambda index: spaces)
    monkeypatch.setattr(cublaslt_spaces, "workspace_bytes", lambda index: 1 << 20)
    cublas._handle.cache_clear()
    return made


def problem(letter: str, trans: str = "nn", **fields: Any) -> Problem:
    rows = {"lda": 11, "ldb": 13, "ldc": 9} | fields
    return Problem(DTYPES[letter], 7, 6, 5, trans[0], trans[1], batch=4, pointers=True, **rows)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(
    ("letter", "trans"),
    [("s", "nn"), ("d", "tn"), ("c", "ct"), ("z", "nc"), ("h", "tt"), ("b", "nt"), ("s", "cj")],
)
def test_matrices_that_lie_anywhere_are_multiplied(
    library: Library, letter: str, trans: str, swap: bool
) -> None:
    p = problem(letter, trans)
    draw = np.random.default_rng(0)
    complex_ = p.dtype.is_complex
    alpha, beta = (0.5 - 1j, 2j) if complex_ else (0.5, -2.0)

    def some(rows: int, columns: int) -> np.ndarray[Any, Any]:
        values = draw.standard_normal((4, columns, rows)) + 1j * draw.standard_normal((4, columns, rows))
        return narrowed(values if complex_ else values.real, p.dtype.numpy)

    a, b, c = (some(ld or 0, 7) for ld in (p.lda, p.ldb, p.ldc))
    order = [2, 0, 3, 1]
    lists = [np.array([x[i].ctypes.data for i in order]) for x in (a, b, c)]

    def op(x: np.ndarray[Any, Any], rows: int, columns: int, letter: str) -> np.ndarray[Any, Any]:
        x = widened(x)
        if letter in "nj":
            return x[:, :columns, :rows].swapaxes(1, 2)
        found = x[:, :rows, :columns]
        return found.conj() if letter == "c" and complex_ else found

    before = widened(c[:, :6, :7].swapaxes(1, 2)).copy()
    want = alpha * op(a, 7, 5, trans[0]) @ op(b, 5, 6, trans[1]) + beta * before
    where = [int(row.ctypes.data) for row in lists]
    plan = Plan(p, H200, "memory", "vendor", "")
    run = bound_cuda.Listed(Job(p, swap, (), ()), plan, (alpha, beta), 0).run
    left, right = (where[1], where[0]) if swap else (where[0], where[1])
    run(left, right, where[2], 3)
    close = 2e-2 if p.dtype.real_bits == 16 else 1e-5
    np.testing.assert_allclose(widened(c[:, :6, :7].swapaxes(1, 2)), want, rtol=close, atol=10 * close)
    # The stream first, which takes the workspace away, and a workspace of the stream's own.
    assert library.calls == [
        ("stream", HANDLE, 3),
        ("workspace", HANDLE, ROOM, 1 << 20),
        ("multiply", 4),
    ]


def test_where_there_is_no_workspace_the_library_takes_its_own(library: Library) -> None:
    p = problem("s")
    none = np.zeros(4, np.int64)
    library.status = 13
    with pytest.raises(DeviceError, match=r"cublasGemmBatchedEx of .*7x6x5@4 failed \(13\)"):
        cublas.Batched(p, (1, 0), 0)(*3 * (none.ctypes.data,), 9)
    assert [call[0] for call in library.calls] == ["stream", "multiply"]


def test_what_the_library_cannot_do(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cublas.refusal(problem("z", "ct")) is None
    assert "evenly spaced" in str(cublas.refusal(replace(problem("z"), pointers=False)))
    assert "no type hc" in str(cublas.refusal(problem("hc")))
    assert "conjugates only" in str(cublas.refusal(problem("c", "jn")))
    assert cublas.refusal(problem("s", "jn")) is None
    assert "less than 7 rows" in str(cublas.refusal(problem("s", ldc=3)))
    monkeypatch.setattr(cublas, "library", lambda: None)
    assert cublas.refusal(problem("s")) == "cuBLAS is not here"


def test_a_batch_by_addresses_that_no_kernel_takes_is_the_librarys() -> None:
    p = replace(problem("s"), m=70, lda=70, ldc=70)
    assert dispatch.plan(p, H200).origin == "vendor"
    with pytest.raises(ArgumentError, match="no stencil accepts it"):
        dispatch.plan(p, H200, vendor=False)


@pytest.mark.parametrize(("wins", "runs"), [(True, "tiny"), (False, None)])
def test_a_batch_by_addresses_was_measured_for_itself(
    monkeypatch: pytest.MonkeyPatch, wins: bool, runs: str | None
) -> None:
    p = problem("s")
    row = neighbours.point(p, "cached")
    parts = {
        "tiny": {"s": [[*row, 0.5 if wins else 2.0]]},
        "tiny by pointers": {"s": [[*row, 2.0 if wins else 0.5]]},
    }
    monkeypatch.setattr(neighbours, "table", lambda: {"h200": parts})
    neighbours.measured.cache_clear()
    assert dispatch.plan(p, H200).stencil == runs
    assert dispatch.plan(p, H200, vendor=False).stencil == "tiny"
    # Nothing measured: the kernel, as before anything was.
    del parts["tiny by pointers"]
    assert dispatch.plan(p, H200).stencil == "tiny"
    neighbours.measured.cache_clear()
