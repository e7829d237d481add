"""What the kernel of unaligned derives from a config, in the same words: slices, shared memory, copies.

Sizes are in elements, shared memory and workspaces in bytes. Functions on configs work on numbers and on
NumPy arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, units

SLICE = 64
"""Elements along k that come together, and rows and columns of a box: 128 bytes of halves, a swizzle."""
LINE = 128
"""Bytes of a swizzle, and what divides where columns of a copy begin."""
GROUPS = 2
"""Warp groups that multiply; one more loads."""
THREADS = 128 * (GROUPS + 1)
MOST_SUMS = 192
"""Accumulators of a thread, which leave 48 of its 240 registers."""
COUNTERS = 8
"""Bytes of the workspace that count pieces, and begin with 0."""
WORDS = 8 * THREADS
"""Words of 16 bytes of a part that a block copies at once."""
TURNS = 8
"""Pieces of several parts that each block has at least, so that all end at about the same time."""


class Copy(NamedTuple):
    """An operand in the workspace: where it lies, elements from column to column, and the parts of it."""

    at: int
    leading: int
    parts: int


def copied(p: Problem) -> tuple[bool, bool]:
    """Whether columns of A and of B begin elsewhere than at multiples of 16 bytes, and are copied."""
    a, b, _ = units(p)
    return a < WIDEST, b < WIDEST


def copies(p: Problem) -> tuple[tuple[Copy, Copy], int]:
    """Where A and B lie in the workspace, nowhere if they are not copied, and its bytes."""
    at, found = LINE, []
    for moves, (length, columns) in zip(copied(p), p.stored[:2], strict=True):
        if not moves:
            found.append(Copy(0, 0, 0))
            continue
        leading = -(-length // SLICE) * SLICE
        words = -(-length * p.dtype.itemsize // WIDEST) * columns
        found.append(Copy(at, leading, -(-words // WORDS)))
        at += leading * columns * p.dtype.itemsize
    return (found[0], found[1]), at


def group_columns(tile_n: Any) -> Any:
    """Columns of C of a warp group."""
    return tile_n // GROUPS


def stage_bytes(tile_m: Any, tile_n: Any) -> Any:
    """Bytes of a slice of A and of B."""
    return (tile_m + tile_n) * LINE


def shared_bytes(tile_m: Any, tile_n: Any, stages: Any) -> Any:
    """Shared memory of a block: the ring of slices, eight columns of C of each warp, barriers of 8 bytes, and
    the numbers of two pieces."""
    return stages * stage_bytes(tile_m, tile_n) + 4 * GROUPS * 8 * (tile_m + 8) * 2 + 8 * 2 * stages + 8


def tiles(p: Problem, tile_m: Any, tile_n: Any) -> Any:
    """Tiles of C."""
    return -(-p.m // tile_m) * -(-p.n // tile_n)
