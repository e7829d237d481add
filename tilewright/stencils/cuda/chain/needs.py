"""What chain.cuh derives from a chain and a config, in the same words: shared memory, registers, tiles.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from tilewright.model import ChainProblem, Device, Factor, Stored
from tilewright.stencils.cuda.common import WIDEST

PATHS = ("bulk", "async")
LARGEST = 32
"""Extent up to which whole chains are kept in shared memory."""
_PARTS = 4
"""Schedulers of an SM, each with its own registers."""
MOST_INPUTS = 4
"""Distinct operands that a chain can have: three factors, and what is added."""


def _rounded(count: Any) -> Any:
    return -(-count // 128) * 128


def unit(p: ChainProblem, stored: Stored) -> int:
    """Bytes, at most 16, that divide the address of every column, or of every matrix without gaps."""
    size = p.dtype.itemsize
    column = 0 if stored.ld == stored.rows and (stored.packed or not stored.stride) else stored.ld
    return gcd(WIDEST, p.align, column * size, stored.stride * size)


def dense(stored: Stored) -> bool:
    """Whether there are no gaps between columns, nor between matrices if there are several."""
    return stored.packed or (stored.ld == stored.rows and stored.stride == 0)


def is_stream(p: ChainProblem) -> bool:
    """Whether C and every operand is one stream of bytes, or one matrix for the whole batch."""
    return p.out.packed and all(x.packed or x.stride == 0 for x in p.operands)


def whole(p: ChainProblem) -> int:
    """Fewest matrices that are a multiple of 16 bytes of C and of each operand that is not shared."""
    streams = [x.size for x in p.operands if x.stride] + [p.out.size]
    return max(WIDEST // gcd(WIDEST, size * p.dtype.itemsize) for size in streams)


def vector(size: int, *extents: int) -> int:
    """Elements of so many bytes in the widest vector that divides some extents."""
    v = WIDEST // size
    while any(extent % v for extent in extents):
        v //= 2
    return v


def stage_bytes(p: ChainProblem, group: Any) -> Any:
    """Bytes of a stage: a group of every operand that is not shared."""
    return sum(_rounded(group * x.size * p.dtype.itemsize) for x in p.operands if x.stride)


def placed(p: ChainProblem) -> bool:
    """Whether an element of C may take the place of what is added to it, which no other thread reads."""
    if p.add is None or p.add.transposed or not p.operands[p.add.operand].stride:
        return False
    return all(factor.operand != p.add.operand for factor in p.factors)


def shared_bytes(p: ChainProblem, path: Any, mma: Any, group: Any, stages: Any, in_place: Any) -> Any:
    """Shared memory of a block: barriers, what the batch shares, the ring, products in between unless they
    stay in the registers of warps, and results on their way out unless they take the place of what is
    added."""
    size, bulk = p.dtype.itemsize, 1 * (path == "bulk")
    once = sum(_rounded(x.size * size) for x in p.operands if not x.stride)
    m, n, _ = p.products[0]
    # Sums of 16-bit types are twice as wide as what is stored.
    between = _rounded(group * m * n * max(size, 4 * words_of_sum(p))) * (len(p.factors) == 3) * (mma == 0)
    out = _rounded(group * p.out.size * size) * (1 + bulk) * (in_place == 0)
    return _rounded(8 * stages) * bulk + once + stages * stage_bytes(p, group) + between + out


def words_of_sum(p: ChainProblem) -> int:
    """32-bit registers of a sum."""
    return max(p.dtype.real_bits // 32, 1) * (2 if p.dtype.is_complex else 1)


def is_turned(p: ChainProblem, mma: Any) -> Any:
    """Whether warps with tensor cores compute rows of the transpose of C."""
    if len(p.factors) == 3:
        return bool(p.first) & (mma >= 0)
    m, _, n = p.sizes
    return filled(n, m, mma) < filled(m, n, mma)


def filled(rows: Any, columns: Any, mma: Any) -> Any:
    """Elements of the fragments that hold a matrix, 8 columns each."""
    high = np.maximum(mma, 1)
    return -(-rows // high) * high * -(-columns // 8)


def strips(p: ChainProblem, mma: Any) -> Any:
    """Parts of one C of so many rows, each of which is a warp's."""
    (m, *_, n), high = p.sizes, np.maximum(mma, 1)
    return np.where(is_turned(p, mma), -(-n // high), -(-m // high))


def reads_once(p: ChainProblem, mma: int) -> bool:
    """Whether the left factor of a strip is the right one's transpose, and the strip all of it: its fragments
    then serve twice."""
    if len(p.factors) < 3 or int(strips(p, mma)) > 1:
        return False
    one, _, other = p.factors
    return one.operand == other.operand and one.transposed != other.transposed


def _of_strips(p: ChainProblem, mma: Any) -> Any:
    """Registers of a lane of tensor cores: a strip of C and one of the product in between."""
    m, *_, n = p.sizes
    wide = np.where(is_turned(p, mma), m, n)
    if len(p.factors) == 3:
        between = p.products[0][0 if p.first else 1]
        wide = wide + -(-between // 8) * 8
    return 40 + words_of_sum(p) * mma * -(-wide // 8) * 8 // 32


def registers(p: ChainProblem, mma: Any, rows: Any, columns: Any) -> Any:
    """32-bit registers of a thread that its loop cannot do without: sums, one element of each of its rows and
    columns, vectors of them where they are stored along k, and some for addresses."""
    return np.where(mma > 0, _of_strips(p, mma), _of_tiles(p, rows, columns))


def _of_tiles(p: ChainProblem, rows: Any, columns: Any) -> Any:
    """Registers of a thread with tiles of so many rows and columns."""
    most: Any = 0
    for (m, n, k), (left, right) in zip(p.products, factors_of(p), strict=True):
        high, wide = np.minimum(rows, m), np.minimum(columns, n)
        # Words of a vector along k, beyond the one that every element takes.
        along = min(WIDEST // p.dtype.itemsize, k & -k) * p.dtype.itemsize // 4
        ahead = (along if left.transposed else 0) * high + (0 if right.transposed else along) * wide
        most = np.maximum(most, words_of_sum(p) * (high * wide + high + wide) + ahead)
    return 32 + most


def factors_of(p: ChainProblem) -> list[tuple[Factor, Factor]]:
    """The factors of each product, in the order in which they are made; the product in between is number
    -1."""
    if len(p.factors) == 2:
        return [(p.factors[0], p.factors[1])]
    x_1, x_2, x_3 = p.factors
    between = Factor(-1)
    return [(x_2, x_3), (x_1, between)] if p.first else [(x_1, x_2), (between, x_3)]


def registers_of(device: Device, warps: Any, per_sm: Any) -> Any:
    """Registers that each thread of so many blocks of an SM can have: each of its four parts has a fourth of
    them, and a fourth of the warps, rounded up. They are given out in eights."""
    warps_of_part = -(-warps * per_sm // _PARTS)
    return device["registers_per_sm"] // _PARTS // (32 * warps_of_part) // 8 * 8


def tiles(p: ChainProblem, rows: Any, columns: Any) -> list[Any]:
    """Tiles of one matrix, of each product in turn."""
    return [-(-m // np.minimum(rows, m)) * -(-n // np.minimum(columns, n)) for m, n, _ in p.products]


def work(p: ChainProblem, rows: Any, columns: Any) -> Any:
    """Multiply-adds of one matrix, with those of tiles that lie outside."""
    return sum(
        -(-m // np.minimum(rows, m)) * np.minimum(rows, m)
        * -(-n // np.minimum(columns, n)) * np.minimum(columns, n) * k
        for m, n, k in p.products
    )  # fmt: skip


def items(p: ChainProblem, mma: Any, rows: Any, columns: Any, warps: Any, group: Any) -> list[Any]:
    """How often a thread, or a warp with tensor cores, has work while a group is multiplied, of each product
    in turn."""
    by_warps = -(-group * strips(p, mma) // warps)
    return [
        np.where(mma > 0, by_warps, -(-group * count // (32 * warps))) for count in tiles(p, rows, columns)
    ]


def busy(p: ChainProblem, mma: Any, rows: Any, columns: Any, warps: Any, group: Any) -> Any:
    """The part of the threads that have a tile (of the warps that have a strip) while a group is multiplied,
    in the product where it is less."""
    turns = items(p, mma, rows, columns, warps, group)
    of_warps = group * strips(p, mma) / (turns[0] * warps)
    least: Any = 1.0
    for count, turn in zip(tiles(p, rows, columns), turns, strict=True):
        least = np.minimum(least, group * count / (turn * 32 * warps))
    return np.where(mma > 0, of_warps, least)
