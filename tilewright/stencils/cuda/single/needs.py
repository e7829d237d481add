"""What single's kernel derives from a problem and a config, in the same words: parts and shared memory.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, units
from tilewright.stencils.cuda.middle.needs import along_k, by_tensor_cores, divided

BARRIER = 128
"""Bytes before the first matrix."""


def is_packed(p: Problem) -> bool:
    """Whether each product has matrices of its own, and none has gaps: bulk copies bring them as they lie."""
    leads = p.lda, p.ldb, p.ldc
    return all(
        ld == rows and (stride == rows * cols or p.batch == 1)
        for (rows, cols), ld, stride in zip(p.stored, leads, p.strides, strict=True)
    )


def parts(p: Problem, rows: Any, columns: Any) -> Any:
    """Parts of C, of which a thread, or a warp with tensor cores, has one each."""
    return divided(p.m, rows) * divided(p.n, columns)


def warps(p: Problem, rows: Any, columns: Any) -> Any:
    """Warps of a block."""
    return divided(parts(p, rows, columns), 1 if by_tensor_cores(p) else 32)


def vectors(p: Problem, which: int, part: Any) -> Any:
    """Elements of the vectors that a part of A (0) or B (1) is read by, across k."""
    return np.gcd(units(p)[which] // p.dtype.itemsize, part)


def room(p: Problem, which: int) -> int:
    """Bytes of A (0), B (1) or C (2), which begins where in a vector of 16 bytes it begins in memory."""
    (length, count), unit = p.stored[which], units(p)[which]
    return -(-(length * count * p.dtype.itemsize + WIDEST - unit) // WIDEST) * WIDEST


def shared_bytes(p: Problem, rows: Any, columns: Any, early: Any = 0) -> Any:
    """Shared memory of a block: a barrier, C where it has a place of its own, A and B, and what parts read
    beyond them."""
    size, of_c = p.dtype.itemsize, room(p, 2)
    at_a = BARRIER + of_c * (1 if p.beta != "0" else early)
    last = BARRIER + of_c
    for which, (extent, part, begin) in enumerate(((p.m, rows, at_a), (p.n, columns, at_a + room(p, 0)))):
        held, lead = divided(extent, part) * part, p.stored[which][0]
        reach = (held - 1) * lead + p.k if along_k(p)[which] else (p.k - 1) * lead + held
        last = np.maximum(last, begin + reach * size + WIDEST - units(p)[which])
    return divided(last, BARRIER) * BARRIER
