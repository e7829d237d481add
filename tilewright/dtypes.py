"""Numbers of 16 bits as NumPy has them: two types that it lacks, and the way to float32 and back.

========  ====================  ===========================================================
letter    NumPy                 what it is
========  ====================  ===========================================================
h         ``float16``           IEEE 754 binary16
b         ``BFLOAT16``          bfloat16, the upper half of a float32: ``ml_dtypes.bfloat16``
hc        ``COMPLEX_HALF``      complex half, two float16 side by side: a record of re and im
========  ====================  ===========================================================

Sums of such numbers are kept in float32 (complex64 for complex half) and rounded once, when a result is
stored: what is multiplied here is widened first. NumPy's own product of float16 does the same, without
the speed of BLAS.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

FLOAT16 = np.dtype(np.float16)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
COMPLEX_HALF = np.dtype([("re", np.float16), ("im", np.float16)])
WIDE: dict[np.dtype[Any], np.dtype[Any]] = {
    FLOAT16: np.dtype(np.float32),
    BFLOAT16: np.dtype(np.float32),
    COMPLEX_HALF: np.dtype(np.complex64),
}
"""The type that numbers of 16 bits are computed in."""


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of a type have 16 bits and are widened to be computed with."""
    return dtype in WIDE


def is_complex(dtype: np.dtype[Any]) -> bool:
    """Whether elements of a type have two parts. NumPy's own kind of ``COMPLEX_HALF`` is that of records."""
    return dtype.kind == "c" or dtype == COMPLEX_HALF


def widened(array: Array) -> Array:
    """The same numbers in the type that is computed in: a copy of 16-bit ones, others as they are."""
    if array.dtype == COMPLEX_HALF:
        wide = np.empty(array.shape, np.complex64)
        wide.real, wide.imag = array["re"], array["im"]
        return wide
    return array.astype(WIDE[array.dtype]) if array.dtype in WIDE else array


def narrowed(array: Array, dtype: np.dtype[Any]) -> Array:
    """Each number rounded once to a type, to the nearest one; what is too large becomes infinite."""
    # NumPy warns of that, and the kernels do not.
    with np.errstate(over="ignore"):
        if dtype != COMPLEX_HALF:
            return array.astype(dtype)
        made = np.empty(array.shape, dtype)
        made["re"], made["im"] = array.real, array.imag
        return made


def paired(array: Array) -> Array:
    """Float16 pairs (..., 2), their parts side by side in memory, as complex half (...): the same memory."""
    return array.view(COMPLEX_HALF).squeeze(-1)


def unpaired(array: Array) -> Array:
    """Complex half (...) as float16 pairs (..., 2): the same memory."""
    return array[..., None].view(FLOAT16)
