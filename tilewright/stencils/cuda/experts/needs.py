"""What the kernel of experts derives from a config, in the same words: slices, shared memory, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from tilewright.model import SegmentedProblem
from tilewright.stencils.cuda.common import WIDEST

SLICE = 64
"""Elements along k that come together, and rows or columns of a box: 128 bytes of halves, a swizzle."""
LINE = 128
"""Bytes of a swizzle."""


def stage_bytes(p: SegmentedProblem, tile_m: Any, tile_n: Any) -> Any:
    """Bytes of a slice of A and of B. Boxes that lie across k are whole."""
    of_b = -(-tile_n // SLICE) * SLICE if p.transposed_b else tile_n
    return (tile_m + of_b) * LINE


def shared_bytes(p: SegmentedProblem, tile_m: Any, tile_n: Any, stages: Any) -> Any:
    """Shared memory of a block: the ring of slices, columns of results, barriers, and the table of groups."""
    columns = np.where(tile_n % 64 == 0, 64, np.where(tile_n % 32 == 0, 32, 16))
    out = tile_m // 64 * columns * (64 + 8) * 2
    table = (2 * (threads(tile_m) + 1) + 64) * 4
    return stages * stage_bytes(p, tile_m, tile_n) + out + 16 * stages + table


def threads(tile_m: Any) -> Any:
    """Threads of a block: a warp group for 64 rows, and a warp that loads."""
    return 2 * tile_m + 32


def registers(tile_n: Any) -> Any:
    """32-bit registers of a thread: sums, and some for addresses."""
    return 48 + tile_n // 2


def width(p: SegmentedProblem) -> int:
    """Bytes, at most 16, that divide the addresses of stored columns of C, wherever groups begin."""
    size = p.dtype.itemsize
    inside = size if p.axis == "m" else 0
    return gcd(WIDEST, p.align, inside, p.ldc * size, p.steps[2] * size)
