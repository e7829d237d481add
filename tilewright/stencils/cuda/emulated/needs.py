"""What the kernel of emulated derives from a config, in the same words: planes, slices, shared memory, tiles.

Sizes are in elements, shared memory and workspaces in bytes. Functions on configs work on numbers and on
NumPy arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright.model import DTYPES, EMULATED, Config, Problem
from tilewright.stencils.cuda import cuts
from tilewright.stencils.cuda.warpgroup.needs import Cut, tiles

SLICE = 64
"""Elements along k that come together, and rows and columns of a box: 128 bytes of bfloat16, a swizzle."""
LINE = 128
"""Bytes of a swizzle, and what divides where columns of a plane begin."""
GROUPS = 2
"""Warp groups that multiply; one more loads."""
THREADS = 128 * (GROUPS + 1)
TILE_N = 128
"""Columns of a tile of C, half of them in each group; of complex numbers half as many, each with two."""
FRONT = 128
"""Bytes of the workspace in front of all else, with the counters of pieces."""
COUNTERS = 8
"""Bytes of these, which begin with 0."""
FOUR = 4
"""Numbers of a word, which a thread splits at once."""
PIECE = {False: 4 * THREADS, True: 2 * THREADS}
"""Words that a block splits at once: of real numbers, and of complex ones."""


def real(p: Problem) -> Problem:
    """The product of real numbers that is made: that of complex ones has twice the k and twice the columns,
    of A's parts side by side along k and B's as ``split.cuh`` has them."""
    if not p.dtype.is_complex:
        return p
    trans = "nt"[p.transposed_a], "nt"[p.transposed_b]
    return Problem(DTYPES["s"], p.m, 2 * p.n, 2 * p.k, *trans, alpha=p.alpha, beta=p.beta, math=p.math)


class Planes(NamedTuple):
    """An operand in the workspace: where its planes lie one after the other, real numbers of a column of
    each, from one column to the next, and columns, and the pieces that it is split in."""

    at: int
    rows: int
    leading: int
    columns: int
    pieces: int


def planes_of(p: Problem) -> int:
    """Parts of a number."""
    return EMULATED[p.math].parts


def operands(p: Problem, front: int) -> tuple[Planes, Planes, int]:
    """Where A and B lie in a workspace that has so many bytes in front of them, and the bytes of it."""
    at, found = -(-front // LINE) * LINE, []
    for (length, columns), (rows, across) in zip(p.stored[:2], real(p).stored[:2], strict=True):
        leading = -(-rows // SLICE) * SLICE
        words = -(-length // FOUR) * columns
        found.append(Planes(at, rows, leading, across, -(-words // PIECE[p.dtype.is_complex])))
        at += planes_of(p) * leading * across * 2
    return found[0], found[1], at


def split_bytes(p: Problem) -> int:
    """Bytes that are read and written before anything is multiplied."""
    made = real(p)
    return (p.m + p.n) * p.k * p.dtype.itemsize + 2 * planes_of(p) * (made.m + made.n) * made.k


def stage_bytes(tile_m: Any) -> Any:
    """Bytes of a slice of a plane of A and of B."""
    return (tile_m + TILE_N) * LINE


def shared_bytes(tile_m: Any, stages: Any) -> Any:
    """Shared memory of a block: the ring of slices, barriers of 8 bytes, and the numbers of two pieces."""
    return stages * stage_bytes(tile_m) + 8 * 2 * stages + 8


def slices(p: Problem) -> int:
    """Slices of a tile along k."""
    return -(-real(p).k // SLICE)


def tiles_of(p: Problem, tile_m: Any) -> Any:
    """Tiles of C."""
    return tiles(real(p), tile_m, TILE_N)


def cut_of(p: Problem, c: Config) -> Cut:
    """The tiles that a config cuts."""
    return cuts.cut_of(int(tiles_of(p, c["tile_m"])), c["blocks"], slices(p), c["cut"])


def front_of(p: Problem, c: Config) -> int:
    """Bytes of the workspace in front of the planes: counters, flags and sums of cut tiles."""
    found = cut_of(p, c)
    return FRONT + (cuts.met_bytes(found, 1, c["tile_m"] * TILE_N * 4) if found.workers else 0)
