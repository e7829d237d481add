"""LIBXSMM: a kernel made by its assembler for the very shape, and a loop over the batch in C."""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable
from pathlib import Path

from bench.peers import native
from bench.peers.base import Peer, Unavailable
from bench.work import Operands

_DRIVER = Path(__file__).with_suffix(".c")
_LIBRARIES = ("-lxsmmext", "-lxsmm", "-lxsmmnoblas", "-lpthread", "-ldl", "-lm")

# LIBXSMM_GEMM_PREFETCH_NONE, _BL2_VIA_C, _AL2BL2_VIA_C_AHEAD: which is best depends on size and regime, and
# a user who cares tries them, so the fastest stands for the peer.
_PREFETCH, _TRIALS = (0, 4, 12), 7


def _library() -> ctypes.CDLL:
    return native.load(_DRIVER, *_LIBRARIES)


class Libxsmm(Peer):
    name = "libxsmm"

    def available(self) -> str | None:
        try:
            _library()
        except (Unavailable, OSError) as error:
            return str(error)
        return None

    def version(self) -> str:
        describe = _library().describe
        describe.restype = ctypes.c_char_p
        return str(describe().decode())

    def prepare(self, operands: Operands) -> None:
        p = operands.problem
        if p.dtype.letter not in "sd":
            raise Unavailable("libxsmm has no complex types")
        dispatch = getattr(_library(), f"dispatch_{p.dtype.letter}")
        dispatch.restype = ctypes.c_void_p
        kernels = [dispatch(p.m, p.n, p.k, operands.beta, strategy) for strategy in _PREFETCH]
        if not all(kernels):
            raise Unavailable("libxsmm makes no kernel of this size")
        arrays = (ctypes.c_void_p(x.ctypes.data) for x in (operands.a, operands.b, operands.c))
        strides = (ctypes.c_long(s * p.dtype.itemsize) for s in p.strides)
        rest = (*arrays, *strides, ctypes.c_long(p.batch), ctypes.c_int(operands.threads))
        self.run = _fastest(
            [functools.partial(_library().run, ctypes.c_void_p(kernel), *rest) for kernel in kernels]
        )


def _fastest(calls: list[Callable[[], None]]) -> Callable[[], None]:
    """The call with the shortest of a few passes, taken in turn."""
    best = [float("inf")] * len(calls)
    for _ in range(_TRIALS):
        for number, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[number] = min(best[number], time.perf_counter() - start)
    return calls[best.index(min(best))]
