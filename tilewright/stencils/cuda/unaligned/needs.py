"""What the kernel of unaligned derives from a config, in the same words: slices, shared memory, tiles.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Problem

SLICE = 64
"""Elements along k that come together, and of a line: 128 bytes of halves, a swizzle."""
LINE = 128
"""Bytes of a line."""
TOGETHER = 8
"""Columns of a matrix that are one of a tensor map: together they are whole words of 16 bytes."""
GROUPS = 2
"""Warp groups that multiply; one more loads."""
THREADS = 128 * (GROUPS + 1)
MOST_SUMS = 128
"""Accumulators of a thread, which leave room for rows in registers."""


def upright(p: Problem) -> bool:
    """Whether rows of C are what tensor cores call rows, because A comes to registers."""
    return p.transposed_a and p.transposed_b


def rows(p: Problem, tile_m: Any, tile_n: Any) -> Any:
    """The side of a tile of which both warp groups have half."""
    return tile_m if upright(p) else tile_n


def columns(p: Problem, tile_m: Any, tile_n: Any) -> Any:
    """The other side of a tile."""
    return tile_n if upright(p) else tile_m


def stage_bytes(tile_m: Any, tile_n: Any) -> Any:
    """Bytes of a slice of A and of B."""
    return (tile_m + tile_n) * LINE


def out_bytes(p: Problem, tile_m: Any) -> Any:
    """Bytes of columns of C on their way: 64 of each group, or 8 of each warp as long as a tile."""
    if upright(p):
        return np.zeros_like(tile_m) + GROUPS * 64 * (64 + 8) * p.dtype.itemsize
    return 4 * GROUPS * 8 * (tile_m + 8) * p.dtype.itemsize


def shared_bytes(p: Problem, tile_m: Any, tile_n: Any, stages: Any) -> Any:
    """Shared memory of a block: the ring of slices, columns of C, and barriers of 8 bytes."""
    return stages * stage_bytes(tile_m, tile_n) + out_bytes(p, tile_m) + 8 * 2 * stages


def tiles(p: Problem, tile_m: Any, tile_n: Any) -> Any:
    """Tiles of C."""
    return -(-p.m // tile_m) * -(-p.n // tile_n)
