"""What inner's kernel derives from a problem and a config, in the same words: slabs, teams, shared memory.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, units

PATHS = ("async", "bulk")
LARGEST = 64
"""Extent of C up to which it is no longer than a tile, and above which it is, and k is long."""
GRAIN = 16
"""Most elements of k that pieces of it are multiples of."""


def long(p: Problem) -> int:
    """Which extent of C is no constant: 0 for none, 1 for m (C is a long column, or a few), 2 for n."""
    return 0 if max(p.m, p.n) <= LARGEST else 1 if p.m > p.n else 2


def length(p: Problem) -> int:
    """The longer extent of C."""
    return max(p.m, p.n)


def extents(p: Problem, tile: Any) -> tuple[Any, Any]:
    """Rows and columns of a tile of C; ``tile`` of them where an extent is no constant."""
    return (tile if long(p) == 1 else p.m), (tile if long(p) == 2 else p.n)


def tiles(p: Problem, tile: Any) -> Any:
    """Tiles of C of the whole batch."""
    return p.batch * -(-length(p) // tile) if long(p) else p.batch + 0 * tile


def workspace_bytes(p: Problem, tile: Any, split: Any, spread: Any) -> tuple[Any, Any]:
    """Bytes of device memory where clusters that share tiles meet, and how many of them are 0 before: the
    counters."""
    m, n = extents(p, tile)
    count = tiles(p, tile)
    counters = -(-4 * count * split // 16) * 16
    return counters + count * spread * m * n * 4 * words_of_sum(p), counters


def along(p: Problem) -> tuple[bool, bool]:
    """Whether neighbours in memory are neighbours in k, of A and of B."""
    return p.transposed_a, not p.transposed_b


def streams(p: Problem) -> tuple[bool, bool]:
    """Whether slabs of A and of B have no padding: those that lie across k and are whole."""
    is_along = along(p)
    return (
        not is_along[0] and p.lda == p.m and long(p) != 1,
        not is_along[1] and p.ldb == p.n and long(p) != 2,
    )


def unit_k(p: Problem) -> int:
    """A power of two that divides k, where vectors along k may use it."""
    deepest = WIDEST // p.dtype.itemsize if any(along(p)) else 1
    return min(p.k & -p.k, deepest)


def vector(p: Problem, unit: int, extent: Any, part: Any) -> Any:
    """Elements of the widest vector that divides an alignment in bytes, an extent and a part of it."""
    found = np.ones_like(extent * part)
    width = 2
    while width * p.dtype.itemsize <= min(WIDEST, unit):
        found = np.where((extent % width == 0) & (part % width == 0), width, found)
        width *= 2
    return found


def pitch(p: Problem, which: int, mma: Any, tile: Any, depth: Any, rows: Any, columns: Any) -> Any:
    """Elements from a run along k to the next in shared memory."""
    size = p.dtype.itemsize
    across = -(-extents(p, tile)[which] // (rows, columns)[which])
    of_mma = 16 // size if p.dtype.real_bits == 16 else 4
    lanes = size * np.where(mma == 0, inside(p, mma, tile, rows, columns), of_mma)
    apart = np.where((across == 1) | (lanes >= 128), WIDEST, -(-lanes // WIDEST) * WIDEST)
    least = depth * size + WIDEST
    most = least + (apart - least) % 128
    return np.where(4 * most <= 5 * least, most, least) // size


def slab_bytes(p: Problem, which: int, mma: Any, tile: Any, depth: Any, rows: Any, columns: Any) -> Any:
    """Bytes of a slab of A (0) or of B (1)."""
    size, word = p.dtype.itemsize, WIDEST // p.dtype.itemsize
    extent = extents(p, tile)[which]
    if along(p)[which]:
        count = extent * pitch(p, which, mma, tile, depth, rows, columns)
    elif streams(p)[which]:
        count = extent * depth + word
    else:
        anywhere = units(p)[which] < WIDEST
        count = depth * (-(-(extent + anywhere * (word - 1)) // word) * word)
    return _rounded(count * size)


def stage_bytes(p: Problem, mma: Any, tile: Any, depth: Any, rows: Any, columns: Any) -> Any:
    """Bytes of a stage: a slab of each operand."""
    a, b = (slab_bytes(p, which, mma, tile, depth, rows, columns) for which in (0, 1))
    return a + b


def shared_bytes(
    p: Problem, path: Any, mma: Any, tile: Any, depth: Any, rows: Any, columns: Any, warps: Any, stages: Any
) -> Any:
    """Shared memory of a block: barriers, the ring, a tile of sums for each group of warps, and a word."""
    m, n = extents(p, tile)
    groups = np.maximum(warps // team(p, mma, tile, rows, columns), 1)
    bits = max(p.dtype.real_bits, 32) * (1 + p.dtype.is_complex)
    sums = groups * m * n * (bits // 8) + WIDEST
    return (
        _rounded(8 * stages) * (1 * (path == "bulk"))
        + stages * stage_bytes(p, mma, tile, depth, rows, columns)
        + sums
    )


def parts(p: Problem, tile: Any, rows: Any, columns: Any) -> Any:
    """Parts of a tile of C, of a thread (or a warp with tensor cores) each."""
    m, n = extents(p, tile)
    return -(-m // rows) * -(-n // columns)


def team(p: Problem, mma: Any, tile: Any, rows: Any, columns: Any) -> Any:
    """Warps that have all parts of a tile between them."""
    count = parts(p, tile, rows, columns)
    return np.where(mma == 0, -(-count // 32), count)


def inside(p: Problem, mma: Any, tile: Any, rows: Any, columns: Any) -> Any:
    """How often the lanes of a warp have each part, for other k."""
    count = parts(p, tile, rows, columns)
    return np.where((mma == 0) & (count < 32), 32 // count, 1)


def words_of_sum(p: Problem) -> int:
    """Registers of 32 bits of an element of C while it is summed."""
    return max(p.dtype.real_bits // 32, 1) * (1 + p.dtype.is_complex)


def deep(p: Problem, mma: Any, rows: Any, columns: Any) -> Any:
    """Elements of the vectors along k that a thread reads at once."""
    is_along, unit = along(p), units(p)
    size = max(p.dtype.real_bits, 32) // 8 * (1 + p.dtype.is_complex)
    word = WIDEST // p.dtype.itemsize
    widest = word if any(is_along) else 1
    for which in (0, 1):
        if is_along[which]:
            widest = min(widest, int(vector(p, unit[which], unit_k(p), unit_k(p))))
    held = (is_along[0] * rows + is_along[1] * columns) * size
    found = np.full_like(held, widest)
    while (some := (found > 1) & (found * held > 4 * 64)).any():
        found = np.where(some, found // 2, found)
    return np.where(mma == 0, found, 1)


def registers(p: Problem, mma: Any, rows: Any, columns: Any) -> Any:
    """32-bit registers of a thread that its loop cannot do without: sums, one vector of each of its rows and
    columns, or its share of a warp's, and a few for addresses."""
    words, is_along = words_of_sum(p), along(p)
    vk = deep(p, mma, rows, columns)
    kept = rows * (vk if is_along[0] else 1) + columns * (vk if is_along[1] else 1)
    fma = words * (rows * columns + kept)
    if p.dtype.real_bits == 16:
        tensor = words * rows * columns // 32 + (rows + columns) // 4
    else:
        # Fragments of two steps.
        tensor = words * (rows * columns // 32 + (rows + columns) // 4)
    return 32 + np.where(mma == 0, fma, tensor)


def _rounded(count: Any) -> Any:
    return -(-count // 128) * 128
