"""The rules that the parameters beyond the paper's nine bring with them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.model import Device, Problem
from tilewright.space import Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.classic.needs import aligned, registers, shared_bytes, words
from tilewright.stencils.cuda.common import WIDEST, modern


def extras(p: Problem, device: Device) -> Iterator[Rule]:
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
    texels = max(p.lda * (p.m if p.transposed_a else p.k), p.ldb * (p.k if p.transposed_b else p.n))  # type: ignore[operator]
    width = max(p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k)
    height = max(p.m if p.transposed_a else p.k, p.k if p.transposed_b else p.n)
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
        if p.transposed_a
        else (lambda m_blk, m_dima, wide: m_blk % (m_dima * wide) == 0),
    )
    yield Rule(
        "overlay-wide-b",
        "hard",
        "the grid that reads B overlays its stripe with whole reads",
        (lambda n_blk, m_dimb, wide: n_blk % (m_dimb * wide) == 0)
        if p.transposed_b
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
    yield limits.clusters(device)
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
        "resident-matters",
        "hard",
        "a number of resident blocks that leaves a thread all registers that it can address changes nothing",
        lambda n_dim, m_dim, min_blocks: (
            (min_blocks == 1)
            | (min_blocks * m_dim * n_dim * device["registers_per_thread"] > device["registers_per_sm"])
        ),
    )
    yield Rule(
        "resident-threads",
        "tabled",
        "the threads of the resident blocks fit on an SM",
        lambda n_dim, m_dim, min_blocks: min_blocks * m_dim * n_dim <= device["threads_per_sm"],
    )
    yield Rule(
        "resident-registers",
        "tabled",
        "the resident blocks leave each other the registers that the loop needs",
        lambda n_dim, m_dim, k_blk, n_blk, m_blk, min_blocks: (
            min_blocks * registers(n_dim, m_dim, k_blk, n_blk, m_blk, word) <= device["registers_per_sm"]
        ),
    )
    yield Rule(
        "resident-shared",
        "tabled",
        "the resident blocks leave each other the shared memory that they need",
        lambda k_blk, n_blk, m_blk, vec, buffers, split, mma, min_blocks: (
            min_blocks
            * (shared_bytes(k_blk, n_blk, m_blk, vec, buffers, split, mma, size) + device["shared_reserved"])
            <= device["shared_per_sm"]
        ),
    )
