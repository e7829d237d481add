"""What the kernel of split derives from a problem and a config, in the same words: tiles and shared memory.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, units
from tilewright.stencils.cuda.emulated.needs import LINE, TILE_N, real
from tilewright.stencils.cuda.warpgroup.needs import tiles

GROUPS = 2
"""Warp groups that multiply."""
SPLITTERS = 256
"""Threads that read operands and split them."""
THREADS = 128 * GROUPS + SPLITTERS


def across(p: Problem) -> int:
    """Columns of the tiles of a product, of which the last ones may not be there."""
    return -(-real(p).n // TILE_N) * TILE_N


def tiles_of(p: Problem, tile_m: Any) -> Any:
    """Tiles of C in the whole batch."""
    return tiles(real(p), tile_m, TILE_N) * p.batch


def shared_bytes(tile_m: Any, stages: Any) -> Any:
    """Shared memory of a block: the ring of slices of planes, and two barriers of 8 bytes for each."""
    return stages * ((tile_m + TILE_N) * LINE + 16)


def wide(p: Problem, which: int) -> bool:
    """Whether all stored columns of A (0) or B (1) are whole words of 16 bytes, and begin at such ones."""
    return units(p)[which] == WIDEST and p.stored[which][0] * p.dtype.itemsize % WIDEST == 0
