"""Calling ``cblas_?gemm_batch_strided``, which MKL and OpenBLAS spell alike, through ctypes."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from bench.work import Operands

ROW_MAJOR, COLUMN_MAJOR, NO_TRANS = 101, 102, 111

_REALS = {"s": ctypes.c_float, "d": ctypes.c_double}
_PARTS = {"c": ctypes.c_float, "z": ctypes.c_double}


def scalar(letter: str, value: float) -> object:
    """Alpha or beta as CBLAS wants it: real types by value, complex ones by address."""
    if letter in _REALS:
        return _REALS[letter](value)
    return (_PARTS[letter] * 2)(value, 0.0)


def strided_batch(
    function: Any, integer: type, operands: Operands, stride_unit: int = 1
) -> Callable[[], None]:
    """A call without arguments that multiplies the whole batch with a strided-batch function.

    The call is row-major, because OpenBLAS 0.3.34 leaves leading dimensions of column-major batches unset
    (OpenBLAS pull request 5979). ``stride_unit`` multiplies the batch strides.
    """
    p = operands.problem
    a, b, c = (ctypes.c_void_p(x.ctypes.data) for x in (operands.a, operands.b, operands.c))
    lda, ldb, ldc = (integer(x) for x in (p.lda, p.ldb, p.ldc))
    stride_a, stride_b, stride_c = (integer(x * stride_unit) for x in p.strides)
    alpha, beta = scalar(p.dtype.letter, 1.0), scalar(p.dtype.letter, float(operands.beta))
    order, trans = ctypes.c_int(ROW_MAJOR), ctypes.c_int(NO_TRANS)
    function.restype = None
    return functools.partial(
        function,
        *(order, trans, trans, integer(p.n), integer(p.m), integer(p.k), alpha),
        *(b, ldb, stride_b, a, lda, stride_a, beta, c, ldc, stride_c, integer(p.batch)),
    )
