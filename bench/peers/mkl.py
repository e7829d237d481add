"""oneMKL: ``cblas_?gemm_batch_strided``."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from pathlib import Path

from bench.peers import cblas
from bench.peers.base import Peer
from bench.work import Operands


def find() -> str | None:
    """Path or name of the library, None if it is not installed."""
    here = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
    return str(here[-1]) if here else ctypes.util.find_library("mkl_rt")


def version(library: ctypes.CDLL) -> str:
    """MKL's own words, which name the instruction set that it has chosen."""
    text = ctypes.create_string_buffer(200)
    library.mkl_get_version_string(text, len(text))
    return " ".join(text.value.decode().split())


class Mkl(Peer):
    name = "mkl"

    def available(self) -> str | None:
        return None if find() else "libmkl_rt is not installed (pip package mkl)"

    def version(self) -> str:
        return version(ctypes.CDLL(find()))

    def prepare(self, operands: Operands) -> None:
        function = getattr(ctypes.CDLL(find()), f"cblas_{operands.problem.dtype.letter}gemm_batch_strided")
        self.run = cblas.strided_batch(function, ctypes.c_int, operands)
