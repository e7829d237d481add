"""What vector's kernel derives from a problem and a config, in the same words: runs, teams, tiles, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from tilewright.model import Device, Problem
from tilewright.stencils.cuda.common import WIDEST, resident, units


def is_row(p: Problem) -> bool:
    """Whether C is a row, and B the matrix; else C is a column, and A is."""
    return p.n != 1


def along(p: Problem) -> bool:
    """Whether runs, the stored columns of the matrix, lie along the sum."""
    return not p.transposed_b if is_row(p) else p.transposed_a


def runs(p: Problem) -> int:
    """Stored columns of the matrix."""
    return max(p.m, p.n) if along(p) else p.k


def length(p: Problem) -> int:
    """Elements of each of them."""
    return p.k if along(p) else max(p.m, p.n)


def word(p: Problem) -> int:
    """Elements of 16 bytes."""
    return WIDEST // p.dtype.itemsize


def unit(p: Problem) -> int:
    """Bytes, at most 16, that divide the address of every stored column of the matrix."""
    return units(p)[1 if is_row(p) else 0]


def unit_run(p: Problem) -> int:
    """A power of two that divides the elements of a run, where words of one run alone follow from it."""
    return gcd(length(p), word(p)) if unit(p) == WIDEST else 1


def strided(p: Problem) -> bool:
    """Whether the elements of a vector are no neighbours, as of one that is stored as a row of a matrix."""
    return p.lda != 1 and not p.transposed_a if is_row(p) else p.ldb != 1 and p.transposed_b


def unit_x(p: Problem) -> int:
    """Bytes, at most 16, that divide the address of every vector, where its words are those of a run."""
    which = 0 if is_row(p) else 1
    size, stride = p.dtype.itemsize, p.strides[which]
    read = along(p) and not strided(p) and unit(p) == WIDEST
    return WIDEST if read and gcd(WIDEST, p.align, stride * size) == WIDEST else size


def share(p: Problem, split: Any) -> Any:
    """The most elements of k that one of so many blocks has of a tile; where runs lie along the sum these are
    whole lines of 128 bytes."""
    grain = 8 * word(p) if along(p) else 1
    return np.where(split == 1, p.k, -(-p.k // (split * grain)) * grain)


def teams(lanes: Any, warps: Any) -> Any:
    """Teams of a block, each of which reads runs of its own."""
    return 32 * warps // lanes


def covered(p: Problem, lanes: Any, words: Any) -> Any:
    """Elements of the words that a team has at a time."""
    return lanes * words * word(p)


def held(p: Problem, lanes: Any, words: Any, split: Any) -> Any:
    """Whether the lanes of a team have all words of a run, or of a share of it, at once, and so keep what
    these meet."""
    return along(p) & (covered(p, lanes, words) - (word(p) - unit(p) // p.dtype.itemsize) >= share(p, split))


def tile(p: Problem, lanes: Any, runs: Any, words: Any, warps: Any, turns: Any) -> Any:
    """Elements of C of a block."""
    if along(p):
        return teams(lanes, warps) * runs * turns
    return covered(p, lanes, words) - (word(p) - unit(p) // p.dtype.itemsize)


def tiles(p: Problem, lanes: Any, runs: Any, words: Any, warps: Any, turns: Any) -> Any:
    """Tiles of C of the whole batch: blocks of the grid."""
    return p.batch * -(-max(p.m, p.n) // tile(p, lanes, runs, words, warps, turns))


def words_of_sum(p: Problem) -> int:
    """Registers of 32 bits of an element while it is summed."""
    return max(p.dtype.real_bits // 32, 1) * (1 + p.dtype.is_complex)


def shared_bytes(p: Problem, lanes: Any, runs: Any, words: Any, warps: Any, turns: Any, split: Any) -> Any:
    """Shared memory of a block: what the teams have of a tile where runs lie across the sum, else the tile,
    where a cluster adds it up."""
    size = 4 * words_of_sum(p)
    if along(p):
        return np.where(split > 1, tile(p, lanes, runs, words, warps, turns), 0) * size
    return teams(lanes, warps) * covered(p, lanes, words) * size


def registers(p: Problem, lanes: Any, runs: Any, words: Any, split: Any) -> Any:
    """32-bit registers of a thread: words on their way, sums, what these meet, and some for addresses."""
    numbers, wide = words_of_sum(p), word(p)
    if not along(p):
        return 52 + 4 * runs * words + numbers * (words * wide + runs)
    masked = 4 * (unit(p) < WIDEST or length(p) % wide != 0)
    opposite, asked = numbers * wide + masked, 4 if unit_x(p) == WIDEST else 8
    kept = np.where(held(p, lanes, words, split), words * opposite, opposite + words * asked)
    beside = 56 if p.dtype.real_bits == 16 else 48
    return beside + 4 * runs * words + numbers * runs + kept


def resident_blocks(
    p: Problem, device: Device, lanes: Any, runs: Any, words: Any, warps: Any, turns: Any, split: Any
) -> Any:
    """Blocks of an SM, which the compiler is asked to leave registers for. Warps stay with one of four
    schedulers, each of which has a quarter of them."""
    needed = registers(p, lanes, runs, words, split)
    of_scheduler = device["registers_per_sm"] // 4 // (32 * (-(-needed // 8) * 8))
    shared = shared_bytes(p, lanes, runs, words, warps, turns, split)
    held = resident(shared, needed, warps, device)
    return np.minimum(held, 4 * of_scheduler // warps)


def least_lanes(p: Problem) -> int:
    """The fewest lanes, a power of two up to 32, that read a run at once by one word each."""
    most = -(-(length(p) + word(p) - unit(p) // p.dtype.itemsize) // word(p))
    return int(min(32, 1 << int(np.ceil(np.log2(max(1, most))))))
