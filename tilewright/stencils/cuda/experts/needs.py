"""What the kernel of experts derives from a config, in the same words: slices, shared memory, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import SegmentedProblem

GROUP = 64
"""Rows of a warp group."""
LINE = 128
"""Bytes of a swizzle."""


def slice_of(p: SegmentedProblem) -> int:
    """Elements along k that come together, and rows or columns of a box: 128 bytes, a swizzle."""
    return LINE // p.dtype.itemsize


def turned(p: SegmentedProblem) -> bool:
    """Whether B is turned in shared memory: complex halves are read along k there."""
    return p.dtype.is_complex and p.transposed_b


def few(p: SegmentedProblem) -> int:
    """Registers of a thread that loads or turns, where groups of warps hand them to each other."""
    return 72 if turned(p) else 40


def stage_bytes(p: SegmentedProblem, tile_m: Any, tile_n: Any) -> Any:
    """Bytes of a slice of A and of B. Boxes that lie across k are whole."""
    unit = slice_of(p)
    of_b = -(-tile_n // unit) * unit if p.transposed_b else tile_n
    return (tile_m + of_b) * LINE


def shared_bytes(p: SegmentedProblem, tile_m: Any, tile_n: Any, stages: Any) -> Any:
    """Shared memory of a block: the ring of slices, columns of results, barriers, and the table of groups."""
    out = tile_m // GROUP * 2 * columns_on_their_way(p, tile_n) * GROUP * p.dtype.itemsize
    table = (2 * (threads(p, tile_m) + 1) + 64) * 4
    barriers = (24 if turned(p) else 16) * stages
    return stages * stage_bytes(p, tile_m, tile_n) + out + barriers + table


def columns_on_their_way(p: SegmentedProblem, tile_n: Any) -> Any:
    """Columns of a warp group's results that are stored together."""
    widest = 32 if p.dtype.is_complex else 64
    return np.select([tile_n % widest == 0, tile_n % 32 == 0], [widest, 32], 16)


def threads(p: SegmentedProblem, tile_m: Any) -> Any:
    """Threads of a block: a warp group for 64 rows, and a warp that loads, or a group of them."""
    return 2 * tile_m + (128 if p.dtype.is_complex else 32)


def registers(p: SegmentedProblem, tile_n: Any) -> Any:
    """32-bit registers of a thread that multiplies: sums, fragments, and some for addresses."""
    if p.dtype.is_complex:
        return 32 + tile_n + 16 * np.where(tile_n <= 128, 2, 1)
    return 40 + tile_n // 2


def block_registers(p: SegmentedProblem, tile_m: Any, tile_n: Any) -> Any:
    """Registers of all threads of a block together."""
    if p.dtype.is_complex:
        return 2 * tile_m * registers(p, tile_n) + 128 * few(p)
    return threads(p, tile_m) * registers(p, tile_n)
