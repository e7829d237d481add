"""OpenBLAS: ``cblas_?gemm_batch_strided`` of the scipy-openblas64 package (NumPy's BLAS, but batched)."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import scipy_openblas64

from bench import work
from bench.peers import cblas
from bench.peers.base import Peer, Unavailable
from bench.work import Operands
from tilewright.model import DType, Problem

# How builds decorate a CBLAS name, the one of today's package first; only 64-bit integers are wanted.
_SPELLINGS = ("scipy_{}64_", "scipy_{}_64_", "{}64_", "{}_64")


def _library() -> ctypes.CDLL:
    found = sorted(Path(scipy_openblas64.get_lib_dir()).glob("libscipy_openblas64_*"))
    return ctypes.CDLL(str(next(path for path in found if ".so" in path.name or ".dylib" in path.name)))


def _function(name: str) -> Any:
    library = _library()
    for spelling in _SPELLINGS:
        if hasattr(library, spelling.format(name)):
            return getattr(library, spelling.format(name))
    raise Unavailable(f"this OpenBLAS has no {name}")


def _stride_unit(function: Any, dtype: DType) -> int:
    """What a batch stride is counted in: 1 for elements, 2 where complex ones are counted in real numbers.

    OpenBLAS 0.3.34 does the latter, against its own header; a version that does not is recognised.
    """
    if not dtype.is_complex:
        return 1
    tiny = work.make(Problem(dtype, 1, 1, 1, batch=2), threads=1)
    cblas.strided_batch(function, ctypes.c_int64, tiny)()
    return 1 if np.allclose(tiny.c, tiny.b @ tiny.a) else 2


class OpenBlas(Peer):
    name = "openblas"

    def version(self) -> str:
        config = _function("openblas_get_config")
        config.restype = ctypes.c_char_p
        return f"{config().decode()} (package {scipy_openblas64.__version__})"

    def prepare(self, operands: Operands) -> None:
        dtype = operands.problem.dtype
        function = _function(f"cblas_{dtype.letter}gemm_batch_strided")
        self.run = cblas.strided_batch(function, ctypes.c_int64, operands, _stride_unit(function, dtype))
