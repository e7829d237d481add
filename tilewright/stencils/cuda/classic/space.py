"""The space of classic.cuh: its parameters, and the rules of the paper on the first nine of them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.classic.extras import extras
from tilewright.stencils.cuda.classic.needs import (
    PAPER,
    READS,
    Guidelines,
    registers,
    resident,
    reuse,
    shared_bytes,
    words,
)
from tilewright.stencils.cuda.common import modern


def params(p: Problem, device: Device) -> list[Param]:
    """The paper's nine in the order of algorithm 5, then those of later devices."""
    choices: dict[str, tuple[Any, ...]]
    if not modern(device):
        dims = blks = tuple(range(1, 257))
        steps = tuple(range(1, 65))
        # A read grid is no longer than the stripe that it overlays.
        free, deep = blks, steps
        choices = PAPER
    else:
        dims = steps = (4, 8, 16, 32, 64)
        blks = (16, 32, 48, 64, 96, 128, 192, 256)
        free, deep = (1, 2, 4, 8, 16, 32, 64, 128, 256), (1, 2, 4, 8, 16, 32, 64)
        choices = {
            "read": READS,
            "wide": (1, 2, 4),
            "vec": (1, 2, 4),
            "lanes": (4, 8, 16, 32),
            "buffers": (1, 2),
        }
        choices |= {
            "order": (0, 1, 2),
            "split": (1, 2, 4, 8),
            "early": (0, 1),
            "mma": (0, 1),
            "min_blocks": (1, 2, 3, 4),
        }
    grids = {
        "m_dima": deep if p.transposed_a else free,
        "n_dima": free if p.transposed_a else deep,
        "m_dimb": free if p.transposed_b else deep,
        "n_dimb": deep if p.transposed_b else free,
    }
    sizes = {"n_dim": dims, "m_dim": dims, "k_blk": steps, "n_blk": blks, "m_blk": blks}
    return [Param(name, values) for name, values in (sizes | grids | choices).items()]


def general_rules(p: Problem, device: Device, floors: Guidelines) -> Iterator[Rule]:
    """What every device asks for: algorithm 6 in its order, then the read grids of algorithm 5, then the
    rules that the other parameters bring with them."""
    yield from _of_the_tile(p, device)
    yield from _of_registers(p, device, floors)
    yield from _of_shared_memory(p, device, floors)
    yield from _grids(p)
    yield from extras(p, device)


def _of_the_tile(p: Problem, device: Device) -> Iterator[Rule]:
    """How threads overlay the tile of C and the stripes of A and B."""
    yield limits.threads_per_block(device, lambda n_dim, m_dim: m_dim * n_dim)
    yield Rule(
        "whole-warps",
        "hard",
        "threads come in warps, and the tile is dealt out to whole ones",
        lambda n_dim, m_dim: m_dim * n_dim % device["warp_size"] == 0,
    )
    yield Rule(
        "tile-overlaid-n",
        "hard",
        "the thread grid overlays the tile of C: n_blk goes in steps of n_dim",
        lambda n_dim, n_blk: n_blk % n_dim == 0,
    )
    yield Rule(
        "busy-b",
        "soft",
        "reading a stripe of B leaves no thread idle, whatever the shape of the grid",
        lambda n_dim, m_dim, k_blk, n_blk: k_blk * n_blk % (m_dim * n_dim) == 0,
    )
    yield Rule(
        "tile-overlaid-m",
        "hard",
        "the thread grid overlays the tile of C: m_blk goes in steps of m_dim",
        lambda m_dim, m_blk: m_blk % m_dim == 0,
    )
    yield Rule(
        "busy-a",
        "soft",
        "reading a stripe of A leaves no thread idle, whatever the shape of the grid",
        lambda n_dim, m_dim, k_blk, m_blk: m_blk * k_blk % (m_dim * n_dim) == 0,
    )


def _of_registers(p: Problem, device: Device, floors: Guidelines) -> Iterator[Rule]:
    """What the loop needs of them, and how many blocks and threads that leaves on an SM."""
    word = words(p.dtype)

    def by_registers(n_dim: Any, m_dim: Any, k_blk: Any, n_blk: Any, m_blk: Any) -> Any:
        needed = registers(n_dim, m_dim, k_blk, n_blk, m_blk, word)
        return resident(device["registers_per_sm"], needed, m_dim * n_dim, device)

    yield Rule(
        "registers-per-block",
        "queryable",
        "the loop's registers fit in what a block may have",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk: (
            registers(n_dim, m_dim, k_blk, n_blk, m_blk, word) <= device["registers_per_block"]
        ),
    )
    if modern(device):
        # Not for a Fermi's 63: three of the four kernels that won there need 64 by this estimate, and the
        # paper leaves their spills to the first cache.
        yield Rule(
            "registers-per-thread",
            "tabled",
            "the loop's registers of one thread can be addressed",
            lambda n_dim, m_dim, k_blk, n_blk, m_blk: (
                registers(n_dim, m_dim, k_blk, n_blk, m_blk, word)
                <= device["registers_per_thread"] * m_dim * n_dim
            ),
        )
    yield Rule(
        "blocks-by-registers",
        "guideline",
        f"the registers of an SM let {floors.min_blocks} or more blocks run",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk: (
            by_registers(n_dim, m_dim, k_blk, n_blk, m_blk) >= floors.min_blocks
        ),
    )
    yield Rule(
        "threads-by-registers",
        "guideline",
        f"the registers of an SM let {floors.min_threads} or more threads run",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk: (
            by_registers(n_dim, m_dim, k_blk, n_blk, m_blk) * (m_dim * n_dim) >= floors.min_threads
        ),
    )
    yield Rule(
        "reuse",
        "guideline",
        f"{floors.min_reuse:.3g} or more multiply-adds for each load from shared memory",
        lambda n_dim, m_dim, n_blk, m_blk: (
            reuse(n_dim, m_dim, n_blk, m_blk, p.dtype.is_complex) >= floors.min_reuse
        ),
    )


def _of_shared_memory(p: Problem, device: Device, floors: Guidelines) -> Iterator[Rule]:
    """What the stripes need of it, and how many blocks and threads that leaves on an SM."""
    size = p.dtype.itemsize

    def by_shared(threads: Any, k_blk: Any, n_blk: Any, m_blk: Any, *rest: Any) -> Any:
        vec, buffers, split, mma = rest
        needed = shared_bytes(k_blk, n_blk, m_blk, vec, buffers, split, mma, size)
        return resident(device["shared_per_sm"], needed + device["shared_reserved"], threads, device)

    yield limits.shared_per_block(
        device,
        lambda k_blk, n_blk, m_blk, vec, buffers, split, mma: shared_bytes(
            k_blk, n_blk, m_blk, vec, buffers, split, mma, size
        ),
        "the stripes fit",
    )
    yield Rule(
        "blocks-by-shared",
        "guideline",
        f"the shared memory of an SM lets {floors.min_blocks} or more blocks run",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk, vec, buffers, split, mma: (
            by_shared(m_dim * n_dim, k_blk, n_blk, m_blk, vec, buffers, split, mma) >= floors.min_blocks
        ),
    )
    yield Rule(
        "threads-by-shared",
        "guideline",
        f"the shared memory of an SM lets {floors.min_threads} or more threads run",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk, vec, buffers, split, mma: (
            by_shared(m_dim * n_dim, k_blk, n_blk, m_blk, vec, buffers, split, mma) * (m_dim * n_dim)
            >= floors.min_threads
        ),
    )


def _grids(p: Problem) -> Iterator[Rule]:
    """The thread grids that read A and B, laid over the stripes as they are stored. Algorithm 5 prints these
    remainders the wrong way round."""

    def filled(threads: Any, along: Any, m_dim: Any, across: Any) -> Any:
        return (along % m_dim == 0) & (across % np.maximum(threads // m_dim, 1) == 0)

    yield Rule(
        "grid-a-divides",
        "hard",
        "reading A takes all threads of the block",
        lambda n_dim, m_dim, m_dima: m_dim * n_dim % m_dima == 0,
    )
    yield Rule(
        "overlay-a",
        "hard",
        "the grid that reads A overlays its stripe",
        lambda n_dim, m_dim, k_blk, m_blk, m_dima: (
            filled(m_dim * n_dim, k_blk, m_dima, m_blk)
            if p.transposed_a
            else filled(m_dim * n_dim, m_blk, m_dima, k_blk)
        ),
    )
    yield Rule(
        "grid-a",
        "hard",
        "reading A takes all threads of the block",
        lambda n_dim, m_dim, m_dima, n_dima: m_dima * n_dima == m_dim * n_dim,
    )
    yield Rule(
        "grid-b-divides",
        "hard",
        "reading B takes all threads of the block",
        lambda n_dim, m_dim, m_dimb: m_dim * n_dim % m_dimb == 0,
    )
    yield Rule(
        "overlay-b",
        "hard",
        "the grid that reads B overlays its stripe",
        lambda n_dim, m_dim, k_blk, n_blk, m_dimb: (
            filled(m_dim * n_dim, n_blk, m_dimb, k_blk)
            if p.transposed_b
            else filled(m_dim * n_dim, k_blk, m_dimb, n_blk)
        ),
    )
    yield Rule(
        "grid-b",
        "hard",
        "reading B takes all threads of the block",
        lambda n_dim, m_dim, m_dimb, n_dimb: m_dimb * n_dimb == m_dim * n_dim,
    )
