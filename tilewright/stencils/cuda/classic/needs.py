"""Algorithm 6 of the paper piece by piece: what classic.cuh needs of an SM, and the floors that a user sets.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from tilewright.errors import ArgumentError
from tilewright.model import Config, Device, DType, Problem
from tilewright.stencils.cuda.common import WIDEST, modern

# Of the ways to read, the paper counts the 1-D texture alone (section 6.3.3).
PAPER: dict[str, tuple[Any, ...]] = {
    "read": ("tex1d",),
    "wide": (1,),
    "vec": (1,),
    "lanes": (32,),
    "buffers": (1,),
    "order": (0,),
    "split": (1,),
    "early": (0,),
    "mma": (0,),
    "min_blocks": (1,),
}
"""The parameters beyond the paper's nine, with the only values that its kernel has."""
READS = ("global", "ldg", "tex1d", "tex2d")
GRID_X, GRID_Z = 2**31 - 1, 65535
LARGEST = 2**31 - 2**17
"""Sizes up to which a size and a tile, a cluster's steps or a grid's depth add up to less than 2^31."""
UNROLLED = 2048
"""Most multiply-adds of a thread in a step, which is written out whole, and twice."""


def words(dtype: DType) -> int:
    """32-bit registers of one element (``sizeof(type) / sizeof(float)``)."""
    return dtype.itemsize // 4


def shared_bytes(
    k_blk: Any, n_blk: Any, m_blk: Any, vec: Any, buffers: Any, split: Any, mma: Any, itemsize: int
) -> Any:
    """Shared memory of a block: its stripes of A and B, skewed (``shmem_per_block``), or the tile of C that
    the blocks of a cluster exchange, whichever is larger. The skew is the paper's where vec is 1."""
    paper = (vec == 1) & (mma == 0)
    skew = vec * (mma == 0) + 32 // itemsize * (mma != 0)
    b = paper * ((k_blk + 1) * n_blk) + (1 - paper) * ((n_blk + skew) * k_blk)
    return np.maximum(((m_blk + skew) * k_blk + b) * buffers, (split > 1) * (m_blk * n_blk)) * itemsize


def registers(n_dim: Any, m_dim: Any, k_blk: Any, n_blk: Any, m_blk: Any, words: int) -> Any:
    """Registers of a block that the pipelined loop cannot do without (``regs_per_block``): for every thread
    its elements of C and one of each of its rows of A and columns of B; for the block the next stripes."""
    m_thr, n_thr = m_blk // m_dim, n_blk // n_dim
    return ((m_thr * n_thr + m_thr + n_thr) * (m_dim * n_dim) + m_blk * k_blk + k_blk * n_blk) * words


def resident(available: int, needed: Any, threads: Any, device: Device) -> Any:
    """Blocks on a multiprocessor (SM) that has so much of what each block needs so much of
    (``blocks_per_sm``): filtered through the most blocks, and, counted in warps, through the most warps."""
    blocks = np.minimum(available // np.maximum(needed, 1), device["blocks_per_sm"])
    warps_of_block = np.maximum(threads // device["warp_size"], 1)
    return np.minimum(blocks * warps_of_block, device["warps_per_sm"]) // warps_of_block


def reuse(n_dim: Any, m_dim: Any, n_blk: Any, m_blk: Any, is_complex: bool) -> Any:
    """Multiply-adds per load of the innermost loop (``regs_reuse``), in real ones: 4 to a complex one, whose
    operands are 2 loads each."""
    m_thr, n_thr = m_blk // m_dim, n_blk // n_dim
    ratio = m_thr * n_thr / np.maximum(m_thr + n_thr, 1)
    return 2 * ratio if is_complex else ratio


@dataclass(frozen=True, slots=True)
class Guidelines:
    """Floors that a user sets (section 6.4.2): threads and blocks of an SM, and register reuse."""

    min_threads: int = 0
    min_blocks: int = 1
    min_reuse: float = 0.0


NONE = Guidelines()
"""No floor, but one block fits on an SM."""
# Table 1. It prints 5.0 for complex single precision, which no config reaches and its own winner of table
# 2 misses with 4.0; docs/space/kurzak.md has the count.
TABLE1 = {
    "s": Guidelines(512, 2, 3.0),
    "c": Guidelines(512, 2, 4.0),
    "d": Guidelines(512, 2, 2.0),
    "z": Guidelines(512, 2, 2.0),
}
# Fewer threads than on a Fermi keep the units busy where each has up to 255 registers.
TODAY = {
    "s": Guidelines(256, 1, 4.0),
    "c": Guidelines(256, 1, 4.0),
    "d": Guidelines(256, 1, 2.0),
    "z": Guidelines(256, 1, 2.5),
}
GUIDELINES = ("default", "table1", "none")


def guidelines(name: str, problem: Problem, device: Device) -> Guidelines:
    """``table1``, ``none``, or the ``default`` of a device: table 1 below capability 8.0, and from there on
    ``TODAY``, whose reuse is asked for in proportion where a short matrix or an idle SM forbids large tiles.

    Raises ``ArgumentError`` for another name.
    """
    if name not in GUIDELINES:
        raise ArgumentError(f"guidelines={name!r}; accepted: {', '.join(GUIDELINES)}")
    letter = problem.dtype.letter
    if name == "none":
        return NONE
    if name == "table1" or not modern(device):
        return TABLE1[letter]
    asked = TODAY[letter]
    side = min(problem.m, problem.n, sqrt(problem.m * problem.n * problem.batch / device["sms"]))
    return replace(asked, min_reuse=asked.min_reuse * min(1.0, side / 128))


def widest(problem: Problem) -> int:
    """Most elements (1, 2 or 4) that one read may take: all reads of A and B are aligned and inside."""
    return max(wide for wide in (1, 2, 4) if aligned(problem, wide))


def aligned(p: Problem, wide: Any) -> Any:
    """Whether addresses, columns, leading dimensions and batch strides of A and B are whole reads."""
    size = p.dtype.itemsize
    along = (p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k)
    batch = p.strides[:2] if p.batch > 1 else ()
    fits = (wide * size <= min(WIDEST, p.align)) & (p.align % (wide * size) == 0)
    for length in (*along, p.lda, p.ldb, *batch):
        fits = fits & (length % wide == 0)
    return fits


def variants() -> Iterator[tuple[str, str, str]]:
    """The paper's 78 variants of the code (section 6.3.3): type, transpositions, and how memory is read."""
    for letter in "sdcz":
        letters = "ntc" if letter in "cz" else "nt"
        for trans in (a + b for a in letters for b in letters):
            for read in ("global", "tex1d", "tex2d"):
                yield letter, trans, read


# Table 2, but for one number: the grid that reads B in S NT is printed as 8 x 32, which overlays no stored
# 96 x 16; 32 x 8 does, and is what S TT has. Tile m x n x k, then threads that compute and read A and B.
TABLE2 = {
    "s:nn": ((96, 96, 16), (16, 16), (32, 8), (8, 32)),
    "s:nt": ((96, 96, 16), (16, 16), (32, 8), (32, 8)),
    "s:tt": ((96, 96, 16), (16, 16), (16, 16), (32, 8)),
    "s:tn": ((96, 96, 16), (16, 16), (16, 16), (16, 16)),
    "c:nn": ((64, 64, 16), (16, 16), (32, 8), (16, 16)),
    "c:nt": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "c:tt": ((64, 64, 16), (16, 16), (16, 16), (32, 8)),
    "c:tn": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "d:nn": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "d:nt": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "d:tt": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "d:tn": ((64, 64, 16), (16, 16), (16, 16), (16, 16)),
    "z:nn": ((24, 16, 8), (8, 8), (8, 8), (8, 8)),
    "z:nt": ((16, 24, 8), (8, 8), (8, 8), (8, 8)),
    "z:tt": ((16, 24, 8), (8, 8), (4, 16), (8, 8)),
    "z:tn": ((24, 16, 8), (8, 8), (8, 8), (8, 8)),
}


def winner(problem: Problem) -> Config:
    """What was fastest on the paper's Fermi for a problem's type and transpositions (table 2)."""
    trans = ("t" if problem.transposed_a else "n") + ("t" if problem.transposed_b else "n")
    (m_blk, n_blk, k_blk), (m_dim, n_dim), a, b = TABLE2[f"{problem.dtype.letter}:{trans}"]
    sizes = {"n_dim": n_dim, "m_dim": m_dim, "k_blk": k_blk, "n_blk": n_blk, "m_blk": m_blk}
    grids = {"m_dima": a[0], "n_dima": a[1], "m_dimb": b[0], "n_dimb": b[1]}
    return Config(sizes | grids | {name: values[0] for name, values in PAPER.items()})
