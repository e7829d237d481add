"""What the kernel of strips derives from a problem and a config, in the same words: alignment, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

from tilewright.model import SegmentedProblem
from tilewright.stencils.cuda.common import WIDEST
from tilewright.stencils.cuda.segments.needs import aligned

LANES = 32
"""Of a warp."""
LANES_M = (32, 16, 8, 4)
"""Lanes of a warp along m."""
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


def shared_bytes(p: SegmentedProblem, warps: Any, tile_n: Any) -> Any:
    """Shared memory of a block: of each warp columns of B of two tiles, and the table of groups, if there is
    one."""
    word = WIDEST // p.dtype.itemsize
    along, across = (tile_n, p.k) if p.transposed_b else (p.k, tile_n)
    columns = 2 * warps * across * (-(-along // word) * WIDEST)
    return columns + (0 if few(p) else (2 * (LANES * warps + 1) + 64) * 4)


def words(p: SegmentedProblem) -> int:
    """32-bit registers of a number: those of 16 bits are multiplied as float32."""
    return max(p.dtype.real_bits, 32) // 32 * (2 if p.dtype.is_complex else 1)


def registers(p: SegmentedProblem, rows: Any, columns: Any) -> Any:
    """32-bit registers of a thread: its rows of A, sums, numbers of B, and some for addresses."""
    return 36 + words(p) * rows * (p.k + columns) + 4 * columns
