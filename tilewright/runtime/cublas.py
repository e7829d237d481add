"""cuBLAS's product of matrices that lie anywhere, called directly: ``cublasGemmBatchedEx``.

It is the sister of cuBLASLt and comes with it, so it is loaded from where ``cublaslt`` was. Arrays of
addresses lie on the GPU, sizes are known here, nothing is waited for, and a call may be recorded into a CUDA
graph.

**Workspace.** The library's own handle has one for all streams, which two products at once must not share: a
stream and thread are given that of ``cublaslt_spaces`` for the call. Where there is none, within a
recording above all, the library takes its own, which it then allocates as a part of the graph.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from contextlib import suppress
from typing import Any

from tilewright.errors import DeviceError
from tilewright.model import Problem
from tilewright.runtime import cublaslt, cublaslt_library, cublaslt_spaces
from tilewright.runtime.cublaslt import OPERATIONS, TYPES

DEFAULT_ALGORITHM = -1
"""CUBLAS_GEMM_DEFAULT."""

_INT, _ADDRESS = ctypes.c_int, ctypes.c_void_p
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cublasCreate_v2": (_ADDRESS,),
    "cublasSetStream_v2": (_ADDRESS, _ADDRESS),
    "cublasSetWorkspace_v2": (_ADDRESS, _ADDRESS, ctypes.c_size_t),
    "cublasGemmBatchedEx": (
        *(_ADDRESS, _INT, _INT, _INT, _INT, _INT, _ADDRESS),
        *(_ADDRESS, _INT, _INT, _ADDRESS, _INT, _INT, _ADDRESS, _ADDRESS, _INT, _INT),
        *(_INT, _INT, _INT),
    ),
}


def declared(found: Any) -> Any:
    """A library with the types of the functions that are called here.

    Raises ``AttributeError`` where it has not all of them.
    """
    return cublaslt_library.typed(found, _FUNCTIONS)


@functools.cache
def library() -> Any:
    """The library; None where there is none, or none beside cuBLASLt."""
    beside = cublaslt_library.library()
    if beside is None:
        return None
    with suppress(OSError, AttributeError):
        return declared(ctypes.CDLL(beside._name.replace("cublasLt", "cublas")))
    return None


class _Handle:
    """The library's handle for a GPU, for one call at a time."""

    def __init__(self, index: int):
        made = ctypes.c_void_p()
        cublaslt_library.check(library().cublasCreate_v2(ctypes.byref(made)), f"cublasCreate on GPU {index}")
        self.number, self.lock = made.value or 0, threading.Lock()


@functools.cache
def _handle(index: int) -> _Handle:
    return _Handle(index)


def refusal(problem: Problem) -> str | None:
    """Why the library cannot serve a batch of matrices by their addresses; None when it can."""
    if not problem.pointers:
        return "its matrices lie evenly spaced"
    if library() is None:
        return "cuBLAS is not here"
    # It sees matrices one by one, as its sister sees one.
    return cublaslt.refusal(problem.with_(pointers=False, batch=1))


class Batched:
    """A problem with ``pointers`` and its scalars, to be multiplied at any arrays of addresses on a GPU."""

    def __init__(self, problem: Problem, scalars: tuple[complex, complex], index: int):
        self.problem, self.index = problem, index
        kind, compute, _ = TYPES[problem.dtype.letter]
        wide = ctypes.c_double if problem.dtype.real_bits == 64 else ctypes.c_float
        parts = [part for value in scalars for part in (complex(value).real, complex(value).imag)]
        self._scalars = (wide * 4)(*parts)
        alpha = ctypes.addressof(self._scalars)
        beta = alpha + 2 * ctypes.sizeof(wide)
        p = problem
        letters = (p.trans_a, p.trans_b)
        if not p.dtype.is_complex:
            letters = tuple({"c": "t", "j": "n"}.get(letter, letter) for letter in letters)  # type: ignore[assignment]
        operations = [OPERATIONS[letter] for letter in letters]
        self._before = (*operations, p.m, p.n, p.k, alpha)
        self._types = ((kind, p.lda), (kind, p.ldb), (kind, p.ldc))
        self._beta, self._compute = beta, compute

    def __call__(self, a: int, b: int, c: int, stream: int) -> None:
        """C_i = alpha op(A_i) op(B_i) + beta C_i on a stream, a, b and c being the addresses of the arrays.

        Raises ``DeviceError`` when the library refuses.
        """
        found, held = library(), _handle(self.index)
        space = cublaslt_spaces.workspaces(self.index).of(stream)
        one, two, three = self._types
        with held.lock:
            code = found.cublasSetStream_v2(held.number, stream)
            if not code and space is not None:
                size = cublaslt_spaces.workspace_bytes(self.index)
                code = found.cublasSetWorkspace_v2(held.number, space, size)
            code = code or found.cublasGemmBatchedEx(
                *(held.number, *self._before, a, *one, b, *two, self._beta, c, *three),
                *(self.problem.batch, self._compute, DEFAULT_ALGORITHM),
            )
        if code:
            raise DeviceError(f"cublasGemmBatchedEx of {self.problem.spelling} failed ({code})")

    def run(self, swap: bool) -> Any:
        """The same as a function of the addresses of a, b and out: with ``swap`` the first is that of B."""

        def start(a: int, b: int, out: int, stream: int) -> None:
            self(*((b, a) if swap else (a, b)), out, stream)

        return start
