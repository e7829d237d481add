"""What the kernel of cfma derives from a config, in the same words: tiles and shared memory.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, units

WARPS = 8
"""Warps that multiply; four more load."""
THREADS = 32 * WARPS + 128
MOST_SUMS = 32
"""Complex numbers that a thread sums, of four registers each: the products of their parts."""
LINE = 128
"""Bytes of a swizzle."""
DEPTH = LINE // 8
"""Elements along k of a slice: a line."""
BOX = 256
"""Lines of a box."""


def loose(p: Problem) -> tuple[bool, bool, bool]:
    """Whether columns of A, B and C begin at multiples of 8 bytes alone, which no tensor map has."""
    a, b, c = (unit < WIDEST for unit in units(p))
    return a, b, c


def lies_along(p: Problem) -> tuple[bool, bool]:
    """Whether stored columns of A, and of B, run along k."""
    return p.transposed_a, not p.transposed_b


def tile_m(rows: Any, lanes_m: Any, warps_m: Any) -> Any:
    """Rows of a tile of C."""
    return rows * lanes_m * warps_m


def tile_n(columns: Any, lanes_m: Any, warps_m: Any) -> Any:
    """Columns of a tile of C."""
    return columns * (32 // lanes_m) * (WARPS // warps_m)


def stage_bytes(down: Any, across: Any) -> Any:
    """Bytes of a slice of a tile of so many rows and columns."""
    return (down + across) * LINE


def shared_bytes(down: Any, across: Any, stages: Any) -> Any:
    """Shared memory of a block: the ring of slices, and two barriers of 8 bytes for each."""
    return stages * (stage_bytes(down, across) + 2 * 8)


def tiles(p: Problem, down: Any, across: Any) -> Any:
    """Tiles of C."""
    return -(-p.m // down) * -(-p.n // across)
