"""The space of classic.cuh: parameters, and the rules that prune them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda.classic.needs import (
    PAPER,
    READS,
    UNROLLED,
    Guidelines,
    aligned,
    registers,
    resident,
    reuse,
    shared_bytes,
    widest,
    words,
)
from tilewright.stencils.cuda.common import WIDEST, modern


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
        "m_dima": deep if p.turned_a else free,
        "n_dima": free if p.turned_a else deep,
        "m_dimb": free if p.turned_b else deep,
        "n_dimb": deep if p.turned_b else free,
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
    yield from _extras(p, device)


def _of_the_tile(p: Problem, device: Device) -> Iterator[Rule]:
    """How threads overlay the tile of C and the stripes of A and B."""
    yield Rule(
        "threads-per-block",
        "queryable",
        "a block has no more threads than the device allows",
        lambda n_dim, m_dim: m_dim * n_dim <= device["threads_per_block"],
    )
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

    yield Rule(
        "shared-per-block",
        "queryable",
        "the stripes fit in the shared memory that a block may ask for",
        lambda k_blk, n_blk, m_blk, vec, buffers, split, mma: (
            shared_bytes(k_blk, n_blk, m_blk, vec, buffers, split, mma, size)
            <= device["shared_per_block_optin"]
        ),
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
            if p.turned_a
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
            if p.turned_b
            else filled(m_dim * n_dim, k_blk, m_dimb, n_blk)
        ),
    )
    yield Rule(
        "grid-b",
        "hard",
        "reading B takes all threads of the block",
        lambda n_dim, m_dim, m_dimb, n_dimb: m_dimb * n_dimb == m_dim * n_dim,
    )


def _extras(p: Problem, device: Device) -> Iterator[Rule]:
    """What makes the parameters beyond the paper's nine right, and different from one another."""
    yield from _of_textures(p, device)
    yield from _of_wide_reads(p, device)
    # The paper numbers threads in rows of m_dim, which need not be whole warps.
    if modern(device):
        yield from _of_the_warps(p, device)
        yield from _of_resident_blocks(p, device)


def _of_textures(p: Problem, device: Device) -> Iterator[Rule]:
    """What an operand must be like to be read as a texture."""
    size = p.dtype.itemsize
    texels = max(p.lda * (p.m if p.turned_a else p.k), p.ldb * (p.k if p.turned_b else p.n))  # type: ignore[operator]
    width = max(p.k if p.turned_a else p.m, p.n if p.turned_b else p.k)
    height = max(p.m if p.turned_a else p.k, p.k if p.turned_b else p.n)
    pitches = (p.lda * size, p.ldb * size)  # type: ignore[operator]
    flat = (
        max(width, 1) <= device["texture2d_linear_width"]
        and height <= device["texture2d_linear_height"]
        and max(pitches) <= device["texture2d_linear_pitch"]
        and all(pitch % device["texture_pitch_alignment"] == 0 for pitch in pitches)
    )
    yield Rule(
        "texture-1d",
        "queryable",
        "an operand read as a 1-D texture has no more texels than one may have",
        lambda read: (read != "tex1d") | (texels <= device["texture1d_linear"]),
    )
    yield Rule(
        "texture-2d",
        "queryable",
        "an operand read as a 2-D texture has the size and the pitch of one",
        lambda read: (read != "tex2d") | flat,
    )
    yield Rule(
        "texture-single",
        "hard",
        "a texture holds one matrix, not a batch",
        lambda read: (read == "global") | (read == "ldg") | (p.batch == 1),
    )


def _of_wide_reads(p: Problem, device: Device) -> Iterator[Rule]:
    """How wide accesses to device and shared memory may be, and by which path they go."""
    size = p.dtype.itemsize
    yield Rule(
        "read-only-path",
        "tabled",
        "the device has loads through the read-only path (3.5 and above)",
        lambda read: (read != "ldg") | ("ldg" in device.supports),
    )
    yield Rule(
        "texel",
        "hard",
        "a texture read is one element",
        lambda read, wide: (read == "global") | (read == "ldg") | (wide == 1),
    )
    yield Rule(
        "access-width-global",
        "hard",
        "one access moves 16 bytes at most",
        lambda wide: wide * size <= WIDEST,
    )
    yield Rule(
        "aligned",
        "hard",
        "wide reads need addresses, columns, leading dimensions and strides of A and B that are whole reads",
        lambda wide: aligned(p, wide),
    )
    yield Rule(
        "overlay-wide-a",
        "hard",
        "the grid that reads A overlays its stripe with whole reads",
        (lambda k_blk, m_dima, wide: k_blk % (m_dima * wide) == 0)
        if p.turned_a
        else (lambda m_blk, m_dima, wide: m_blk % (m_dima * wide) == 0),
    )
    yield Rule(
        "overlay-wide-b",
        "hard",
        "the grid that reads B overlays its stripe with whole reads",
        (lambda n_blk, m_dimb, wide: n_blk % (m_dimb * wide) == 0)
        if p.turned_b
        else (lambda k_blk, m_dimb, wide: k_blk % (m_dimb * wide) == 0),
    )
    yield Rule(
        "access-width-shared",
        "hard",
        "one access moves 16 bytes at most",
        lambda vec: vec * size <= WIDEST,
    )
    yield Rule(
        "vec-divides",
        "hard",
        "groups of vec rows and columns fill a thread's tile",
        lambda n_dim, m_dim, n_blk, m_blk, vec: (m_blk % (m_dim * vec) == 0) & (n_blk % (n_dim * vec) == 0),
    )


def _of_the_warps(p: Problem, device: Device) -> Iterator[Rule]:
    """How warps overlay the tile, share it with other blocks and multiply by tensor cores."""
    columns, vec_of_mma = (2, 1) if p.dtype.is_complex else (4, 2)
    yield Rule(
        "lanes-divide",
        "hard",
        "warps overlay the thread grid",
        lambda n_dim, m_dim, lanes: (m_dim % lanes == 0) & (n_dim % (32 // lanes) == 0),
    )
    yield Rule(
        "cluster",
        "tabled",
        "blocks share a tile through clusters, which the device has (9.0 and above)",
        lambda split: (split == 1) | ("clusters" in device.supports),
    )
    yield Rule(
        "early-c",
        "hard",
        "there is a C to read, and one block reads it",
        lambda split, early: (early == 0) | ((split == 1) & (p.beta != "0")),
    )
    yield Rule(
        "mma-device",
        "tabled",
        "the device has float64 products of 16 x 8 x 4 on tensor cores (9.0 and above)",
        lambda mma: (mma == 0) | ("mma_f64_m16" in device.supports),
    )
    yield Rule(
        "mma-type",
        "hard",
        "tensor cores take float64, in warps of 8 x 4 threads",
        lambda lanes, mma: (mma == 0) | ((p.dtype.real_bits == 64) & (lanes == 8)),
    )
    yield Rule(
        "mma-tile",
        "hard",
        "a tensor-core product is 16 x 8 x 4",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk, vec, mma: (
            (mma == 0)
            | (
                (m_blk // m_dim % 2 == 0)
                & (n_blk // n_dim % columns == 0)
                & (k_blk % 4 == 0)
                & (vec == vec_of_mma)
            )
        ),
    )


def _of_resident_blocks(p: Problem, device: Device) -> Iterator[Rule]:
    """What the blocks that the compiler is told to leave room for leave each other."""
    size, word = p.dtype.itemsize, words(p.dtype)
    yield Rule(
        "promise-matters",
        "hard",
        "a promise that leaves a thread all registers that it can address changes nothing",
        lambda n_dim, m_dim, min_blocks: (
            (min_blocks == 1)
            | (min_blocks * m_dim * n_dim * device["registers_per_thread"] > device["registers_per_sm"])
        ),
    )
    yield Rule(
        "promise-threads",
        "tabled",
        "the threads of the promised blocks fit on an SM",
        lambda n_dim, m_dim, min_blocks: min_blocks * m_dim * n_dim <= device["threads_per_sm"],
    )
    yield Rule(
        "promise-registers",
        "tabled",
        "the promised blocks leave each other the registers that the loop needs",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk, min_blocks: (
            min_blocks * registers(n_dim, m_dim, k_blk, n_blk, m_blk, word) <= device["registers_per_sm"]
        ),
    )
    yield Rule(
        "promise-shared",
        "tabled",
        "the promised blocks leave each other the shared memory that they need",
        lambda k_blk, n_blk, m_blk, vec, buffers, split, mma, min_blocks: (
            min_blocks
            * (shared_bytes(k_blk, n_blk, m_blk, vec, buffers, split, mma, size) + device["shared_reserved"])
            <= device["shared_per_sm"]
        ),
    )


def rules_of_today(p: Problem, device: Device) -> Iterator[Rule]:
    """What is slow on devices that run the kernel."""
    yield from _of_shapes(p)
    yield from _of_narrow_reads(p)
    yield from _of_idle_sms(p, device)


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
        if p.turned_a
        else (lambda m_blk, m_dima, wide: m_dima * wide >= np.minimum(m_blk, 16)),
    )
    yield Rule(
        "rows-b",
        "soft",
        "rows of less than 16 elements in the grid that reads B take parts of many lines, if there is more",
        (lambda n_blk, m_dimb, wide: m_dimb * wide >= np.minimum(n_blk, 16))
        if p.turned_b
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


def _of_idle_sms(p: Problem, device: Device) -> Iterator[Rule]:
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
