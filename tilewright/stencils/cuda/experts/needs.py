"""What the kernel of experts derives from a config, in the same words: slices, shared memory, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import SegmentedProblem

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
    out = tile_m // 64 * 2 * columns_on_their_way(tile_n) * LINE
    table = (2 * (threads(tile_m) + 1) + 64) * 4
    return stages * stage_bytes(p, tile_m, tile_n) + out + 16 * stages + table


def columns_on_their_way(tile_n: Any) -> Any:
    """Columns of a warp group's results that are stored together."""
    return np.select([tile_n % 64 == 0, tile_n % 32 == 0], [64, 32], 16)


def threads(tile_m: Any) -> Any:
    """Threads of a block: a warp group for 64 rows, and a warp that loads."""
    return 2 * tile_m + 32


def registers(tile_n: Any) -> Any:
    """32-bit registers of a thread: sums, and some for addresses."""
    return 40 + tile_n // 2
