"""What the kernel of strips derives from a problem and a config, in the same words: alignment, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import SegmentedProblem
from tilewright.stencils.cuda.common import WIDEST
from tilewright.stencils.cuda.segments.needs import aligned


def vectors(p: SegmentedProblem) -> tuple[int, int, int]:
    """Elements, at most 16 bytes, that may be accessed together in A, B and C, wherever groups begin."""
    a, b, c = (unit // p.dtype.itemsize for unit in aligned(p))
    return a, b, c


def entries(p: SegmentedProblem) -> int:
    """Groups, and what is in front of them and behind."""
    return p.groups + p.first + 1


def shared_bytes(p: SegmentedProblem, mma: Any, warps: Any, tile_n: Any) -> Any:
    """Shared memory of a block: of each warp columns of B of two tiles, unless tensor cores multiply, and the
    table of groups."""
    word = WIDEST // p.dtype.itemsize
    along, across = (tile_n, p.k) if p.transposed_b else (p.k, tile_n)
    columns = np.where(np.equal(mma, 0), 2 * warps * across * (-(-along // word) * WIDEST), 0)
    return columns + (2 * (32 * warps + 1) + 64) * 4


def registers(p: SegmentedProblem, mma: Any, lines: Any, rows: Any, columns: Any) -> Any:
    """32-bit registers of a thread: its rows of A, sums, numbers of B, and some for addresses."""
    word, steps = p.dtype.itemsize // 4, -(-p.k // 4)
    units = 56 + word * rows * (p.k + columns) + 4 * columns
    turn = (1 + lines) * columns // 8 * steps * (2 + 2 // word % 2)
    return np.where(np.equal(mma, 0), units, 64 + 8 * rows * steps + turn)
