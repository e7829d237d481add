"""What is slow on the devices that run classic.cuh: the soft rules of later devices, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.model import Device, Problem
from tilewright.space import Rule
from tilewright.stencils.cuda.classic.needs import UNROLLED, widest
from tilewright.stencils.cuda.common import WIDEST


def rules_of_today(p: Problem, device: Device) -> Iterator[Rule]:
    """What is slow on devices that run the kernel."""
    yield from _of_shapes(p)
    yield from _of_narrow_reads(p)
    yield from of_idle_sms(p, device)


def _of_shapes(p: Problem) -> Iterator[Rule]:
    """Blocks, steps, tiles and parts of a thread that share too little or are mostly outside."""
    fma = 4 if p.dtype.is_complex else 1
    yield Rule(
        "block-size",
        "soft",
        "fewer than 64 threads share too little, and more than 256 wait too long at a barrier",
        lambda n_dim, m_dim: (m_dim * n_dim <= 256) & (m_dim * n_dim >= min(64, max(32, p.m * p.n // 8))),
    )
    yield Rule(
        "step-worth",
        "soft",
        "a step of less than 8 real numbers along k is mostly barriers",
        lambda k_blk: k_blk * (2 if p.dtype.is_complex else 1) >= 8,
    )
    yield Rule(
        "step-in-k",
        "soft",
        "a step beyond the end of k multiplies zeros",
        lambda k_blk: (k_blk < 2 * p.k) | (k_blk == (4 if p.dtype.is_complex else 8)),
    )
    yield Rule(
        "tile-in-n",
        "soft",
        "half of a tile that is twice as wide as C is for nothing",
        lambda n_blk: (n_blk < 2 * p.n) | (n_blk == 16),
    )
    yield Rule(
        "tile-in-m",
        "soft",
        "half of a tile that is twice as high as C is for nothing",
        lambda m_blk: (m_blk < 2 * p.m) | (m_blk == 16),
    )
    yield Rule(
        "tile-shape",
        "soft",
        "a tile that is more than twice as long as wide reads more for the same work, unless C is as narrow",
        lambda n_blk, m_blk: (
            ((m_blk <= 2 * n_blk) | (n_blk >= p.n)) & ((n_blk <= 2 * m_blk) | (m_blk >= p.m))
        ),
    )
    yield Rule(
        "thread-shape",
        "soft",
        "a thread's part that is more than twice as long as wide loads more for the same work",
        lambda n_dim, m_dim, n_blk, m_blk: (
            ((m_blk // m_dim <= 2 * (n_blk // n_dim)) | (n_blk >= p.n))
            & ((n_blk // n_dim <= 2 * (m_blk // m_dim)) | (m_blk >= p.m))
        ),
    )
    yield Rule(
        "code-size",
        "soft",
        "the loop and the step after it hold a step each: beyond 2048 multiply-adds they crowd the caches",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk: (
            (m_blk // m_dim) * (n_blk // n_dim) * k_blk * fma <= UNROLLED
        ),
    )


def _of_narrow_reads(p: Problem) -> Iterator[Rule]:
    """Reads that take more instructions, or more lines of memory, than they need."""
    size, most = p.dtype.itemsize, widest(p)
    yield Rule(
        "texture-path",
        "soft",
        "loads and textures share a cache since compute capability 7.0, and a texture reads less at once",
        lambda read: (read == "global") | (read == "ldg"),
    )
    yield Rule(
        "wide-enough",
        "soft",
        "narrower reads than type and alignment allow are more instructions for the same bytes",
        lambda wide: wide == most,
    )
    yield Rule(
        "rows-a",
        "soft",
        "rows of less than 16 elements in the grid that reads A take parts of many lines, if there is more",
        (lambda k_blk, m_dima, wide: m_dima * wide >= np.minimum(k_blk, 16))
        if p.transposed_a
        else (lambda m_blk, m_dima, wide: m_dima * wide >= np.minimum(m_blk, 16)),
    )
    yield Rule(
        "rows-b",
        "soft",
        "rows of less than 16 elements in the grid that reads B take parts of many lines, if there is more",
        (lambda n_blk, m_dimb, wide: m_dimb * wide >= np.minimum(n_blk, 16))
        if p.transposed_b
        else (lambda k_blk, m_dimb, wide: m_dimb * wide >= np.minimum(k_blk, 16)),
    )
    yield Rule(
        "vec-enough",
        "soft",
        "narrower reads from shared memory than a thread's tile allows are more instructions",
        lambda n_dim, m_dim, n_blk, m_blk, vec: (
            (2 * vec * size > WIDEST) | (m_blk % (2 * vec * m_dim) != 0) | (n_blk % (2 * vec * n_dim) != 0)
        ),
    )
    yield Rule(
        "warp-shape",
        "soft",
        "a warp that is as high as wide reads least from shared memory",
        lambda lanes: (lanes >= 4) & (lanes <= 16),
    )


def of_idle_sms(p: Problem, device: Device) -> Iterator[Rule]:
    """When blocks share a tile, and k."""

    def tiles(n_blk: Any, m_blk: Any) -> Any:
        return -(-p.m // m_blk) * -(-p.n // n_blk) * p.batch

    yield Rule(
        "split-idle",
        "soft",
        "a tile is shared where there are fewer tiles than SMs",
        lambda n_blk, m_blk, split: (split == 1) | (tiles(n_blk, m_blk) * split <= 2 * device["sms"]),
    )
    yield Rule(
        "split-long",
        "soft",
        "a block's share of k is worth more than the exchange of sums",
        lambda k_blk, split: (split == 1) | (p.k >= 4 * k_blk * split),
    )
