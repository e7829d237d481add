"""Eigen: fixed-size products, compiled for each type and shape that is asked for."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

from bench.peers import native
from bench.peers.base import Peer, Unavailable
from bench.work import Operands

_DRIVER = Path(__file__).with_suffix(".cpp")
_SCALARS = {"s": "float", "d": "double", "c": "std::complex<float>", "z": "std::complex<double>"}
# The compiler's default complex product branches on NaN for C99's sake; no BLAS does.
_FLAGS = ("-std=c++17", "-fcx-limited-range", "-I/usr/include/eigen3", "-I/usr/local/include/eigen3")
_LARGEST = 64


def _library(letter: str, m: int, n: int, k: int) -> ctypes.CDLL:
    shape = (f"-DSIZE_M={m}", f"-DSIZE_N={n}", f"-DSIZE_K={k}")
    return native.load(_DRIVER, *_FLAGS, f"-DSCALAR={_SCALARS[letter]}", *shape)


class Eigen(Peer):
    name = "eigen"

    def available(self) -> str | None:
        try:
            _library("d", 2, 2, 2)
        except (Unavailable, OSError) as error:
            return str(error)
        return None

    def version(self) -> str:
        describe = _library("d", 2, 2, 2).describe
        describe.restype = ctypes.c_char_p
        return str(describe().decode())

    def prepare(self, operands: Operands) -> None:
        p = operands.problem
        if max(p.m, p.n, p.k) > _LARGEST:
            raise Unavailable(f"fixed-size templates are compiled up to {_LARGEST} only")
        arrays = (ctypes.c_void_p(x.ctypes.data) for x in (operands.a, operands.b, operands.c))
        self.run = functools.partial(
            _library(p.dtype.letter, p.m, p.n, p.k).run,
            *(*arrays, ctypes.c_long(p.batch), ctypes.c_int(operands.beta), ctypes.c_int(operands.threads)),
        )
