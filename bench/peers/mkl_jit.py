"""oneMKL's just-in-time kernels: ``mkl_jit_create_?gemm`` and a loop over the batch in C."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

from bench.peers import cblas, mkl, native
from bench.peers.base import Peer, Unavailable
from bench.work import Operands

_DRIVER = Path(__file__).with_suffix(".c")
_MADE, _NO_JIT = 0, 1


class MklJit(Peer):
    name = "mkl_jit"

    def available(self) -> str | None:
        # The batch is split by the driver, so MKL itself must not thread.
        os.environ["MKL_THREADING_LAYER"] = "SEQUENTIAL"
        return mkl.Mkl().available() or native.missing_compiler(_DRIVER)

    def version(self) -> str:
        return mkl.version(ctypes.CDLL(mkl.find()))

    def prepare(self, operands: Operands) -> None:
        p, library = operands.problem, ctypes.CDLL(mkl.find())
        letter, jitter = p.dtype.letter, ctypes.c_void_p()
        status = getattr(library, f"mkl_cblas_jit_create_{letter}gemm")(
            *(ctypes.byref(jitter), cblas.COLUMN_MAJOR, cblas.NO_TRANS, cblas.NO_TRANS),
            *(p.m, p.n, p.k, cblas.scalar(letter, 1.0), p.lda, p.ldb),
            *(cblas.scalar(letter, float(operands.beta)), p.ldc),
        )
        if status != _MADE:
            raise Unavailable(
                "MKL makes no JIT kernel for this size on this processor"
                if status == _NO_JIT
                else "MKL JIT failed"
            )
        get = getattr(library, f"mkl_jit_get_{letter}gemm_ptr")
        get.restype = ctypes.c_void_p
        kernel = ctypes.c_void_p(get(jitter))
        arrays = (ctypes.c_void_p(x.ctypes.data) for x in (operands.a, operands.b, operands.c))
        strides = (ctypes.c_long(s * p.dtype.itemsize) for s in p.strides)
        self.run = functools.partial(
            native.load(_DRIVER).run,
            *(kernel, jitter, *arrays, *strides, ctypes.c_long(p.batch), ctypes.c_int(operands.threads)),
        )
