"""What single's kernel derives from a problem and a config, in the same words: parts, shared memory, registers.

Sizes are in elements, shared memory in bytes, registers are words of 32 bits. Functions on configs work on
numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, units
from tilewright.stencils.cuda.middle.needs import along_k, by_tensor_cores, divided, wide

BARRIER = 128
"""Bytes before the first matrix."""


def stored(p: Problem) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Rows and columns of A, B and C as they are stored."""
    a = (p.k, p.m) if p.transposed_a else (p.m, p.k)
    b = (p.n, p.k) if p.transposed_b else (p.k, p.n)
    return a, b, (p.m, p.n)


def is_packed(p: Problem) -> bool:
    """Whether each product has matrices of its own, and none has gaps: bulk copies bring them as they lie."""
    leads = p.lda, p.ldb, p.ldc
    return all(
        ld == rows and (stride == rows * cols or p.batch == 1)
        for (rows, cols), ld, stride in zip(stored(p), leads, p.strides, strict=True)
    )


def _apart(extent: int, by: int) -> int:
    return -(-(extent - by) // (2 * by)) * 2 * by + by


def leading(p: Problem, which: int, pad: Any) -> Any:
    """Elements from one stored column of A (0) or B (1) to the next in shared memory."""
    length, along = stored(p)[which][0], along_k(p)[which]
    padded = length
    if units(p)[which] == WIDEST:
        if by_tensor_cores(p) and length % 4 == 0:
            padded = _apart(length, 4) if along or not p.dtype.is_complex else length + 2
        elif not by_tensor_cores(p) and along:
            padded = _apart(length, wide(p))
    return np.where(pad, padded, length)


def is_padded(p: Problem) -> bool:
    """Whether ``pad`` changes how matrices lie."""
    return any(int(leading(p, which, 1)) != stored(p)[which][0] for which in (0, 1))


def room(p: Problem, which: int, lead: Any) -> Any:
    """Bytes of A (0), B (1) or C (2) in shared memory, where columns are ``lead`` elements apart."""
    (length, count), unit, size = stored(p)[which], units(p)[which], p.dtype.itemsize
    if unit == WIDEST:
        return lead * count * size
    # It begins where in a vector of 16 bytes it begins in memory.
    return -(-(length * count * size + WIDEST - unit) // WIDEST) * WIDEST


def shared_bytes(p: Problem, rows: Any, columns: Any, pad: Any, early: Any = 0) -> Any:
    """Shared memory of a block: a barrier, C where it is read, A and B, and what parts read beyond them."""
    size = p.dtype.itemsize
    leads = [leading(p, which, pad) for which in (0, 1)]
    of_c = room(p, 2, p.m)
    at_a = BARRIER + of_c * (1 if p.beta != "0" else early)
    begins = at_a, at_a + room(p, 0, leads[0])
    last = BARRIER + of_c
    for which, (extent, part) in enumerate(((p.m, rows), (p.n, columns))):
        held, lead = divided(extent, part) * part, leads[which]
        reach = (held - 1) * lead + p.k if along_k(p)[which] else (p.k - 1) * lead + held
        skew = 0 if units(p)[which] == WIDEST else WIDEST
        last = np.maximum(last, begins[which] + reach * size + skew)
    return divided(last, BARRIER) * BARRIER
