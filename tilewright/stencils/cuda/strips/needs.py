"""What the kernel of strips derives from a problem and a config, in the same words: alignment, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from tilewright.model import SegmentedProblem
from tilewright.stencils.cuda.common import WIDEST
from tilewright.stencils.cuda.segments.needs import aligned

LANES = 32
"""Of a warp."""
LANES_M = (32, 16, 8, 4)
"""Lanes of a warp along m."""
MMA_LANES = 4
"""The same where tensor cores multiply, whose sums lie so."""
WORD = 4
"""Bytes of a register of fragments."""
MOST_ROWS = 4
"""Rows of a lane beyond which its rows of A leave too few registers for others."""
FILLED = MOST_ROWS * LANES
"""Rows of C from which on all lanes have so many."""


def vectors(p: SegmentedProblem) -> tuple[int, int, int]:
    """Elements, at most 16 bytes, that may be accessed together in A, B and C, wherever groups begin; of A no
    more than a stored column has, whose first ones are read in place of those that are not there."""
    a, b, c = (unit // p.dtype.itemsize for unit in aligned(p))
    most: int = 1 << max(p.k if p.transposed_a else p.m, 1).bit_length() - 1
    return min(a, most), b, c


def rows_of(p: SegmentedProblem) -> int:
    """Rows of C of a group, in the mean."""
    return -(-p.m // p.groups) if p.axis == "m" else p.m


def columns_of(p: SegmentedProblem) -> float:
    """Columns of C of a group, in the mean."""
    return p.n / p.groups if p.axis == "n" else p.n


def entries(p: SegmentedProblem) -> int:
    """Groups, and what is in front of them and behind."""
    return p.groups + p.first + 1


def few(p: SegmentedProblem) -> bool:
    """Whether a warp has the borders of all groups in its lanes."""
    return entries(p) <= LANES


def shared_bytes(p: SegmentedProblem, warps: Any, tile_n: Any, mma: Any = 0) -> Any:
    """Shared memory of a block: of each warp columns of B of two tiles, if they pass through it, and the
    table of groups, if there is one."""
    word = WIDEST // p.dtype.itemsize
    along, across = (tile_n, p.k) if p.transposed_b else (p.k, tile_n)
    columns = 2 * warps * across * (-(-along // word) * WIDEST)
    return columns * (1 - mma) + (0 if few(p) else (2 * (LANES * warps + 1) + 64) * 4)


def words(p: SegmentedProblem) -> int:
    """32-bit registers of a number: those of 16 bits are multiplied as float32."""
    return max(p.dtype.real_bits, 32) // 32 * (2 if p.dtype.is_complex else 1)


def halves(p: SegmentedProblem) -> bool:
    """Whether tensor cores can multiply: numbers of 16 bits."""
    return p.dtype.real_bits == 16


def singles(p: SegmentedProblem) -> tuple[bool, bool]:
    """Whether words of fragments of A and of B are put together from two numbers, which do not lie in one."""
    a, b, c = vectors(p)
    along_a, along_b = gcd(a, p.k) if p.transposed_a else min(a, c), b if p.transposed_b else gcd(b, p.k)
    return along_a * p.dtype.itemsize < WORD, along_b * p.dtype.itemsize < WORD


def depth(p: SegmentedProblem) -> int:
    """Words of a lane that hold all of k of a row or a column."""
    return -(-p.k * p.dtype.itemsize // (WORD * MMA_LANES))


def registers(p: SegmentedProblem, rows: Any, columns: Any, mma: Any = 0) -> Any:
    """32-bit registers of a thread: its rows of A, sums, numbers of B, and some for addresses. With ``mma``,
    fragments of A and of all its columns of B, and the sums of two columns."""
    plain = 36 + words(p) * rows * (p.k + columns) + 4 * columns
    blocks = rows * p.dtype.itemsize / WORD
    return np.where(mma, 24 + depth(p) * (blocks + columns) + 4 * blocks, plain)
