"""The space of tensor.cuh: parameters, and the rules that prune them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import accesses, grids, limits
from tilewright.stencils.cuda.accesses import WGMMA
from tilewright.stencils.cuda.common import WIDEST, units
from tilewright.stencils.cuda.tensor.needs import (
    DOUBLE_SHAPES,
    HALF_SHAPES,
    PER_SM,
    SPLITS,
    extent_of,
    is_wmma,
    one_of,
    registers,
    shared_bytes,
    step_of,
    tiles,
)


def params(p: Problem, device: Device) -> list[Param]:
    half = p.dtype.real_bits == 16
    widths = tuple(w for w in (8, 4, 2, 1) if w * p.dtype.itemsize <= WIDEST)
    return [
        Param("tc", HALF_SHAPES if half else DOUBLE_SHAPES),
        Param("split", SPLITS if p.dtype.is_complex else ("none",)),
        Param("stages", (1, 2, 3, 4, 6)),
        Param("ahead", (0, 1)),
        Param("early_c", (0, 1) if p.beta != "0" else (0,)),
        Param("vec", widths),
        Param("vec_c", widths),
        Param("blk_k", (8, 16, 32, 48, 64) if half else (4, 8, 16, 32)),
        Param("blk_m", (8, 16, 32, 48, 64, 96, 128, 192, 256)),
        Param("blk_n", (8, 16, 24, 32, 40, 48, 56, 64, 96, 128, 192, 256)),
        Param("dim_x", (1, 2, 4, 8, 16, 32)),
        Param("dim_y", (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256)),
        Param("group", (1, 2, 4, 8)),
        Param("warps_m", (1, 2, 3, 4, 8)),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
        grids.param(),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_product(p, device)
    yield from _of_warp_groups(p, device)
    yield from _of_the_reads(p)
    yield from _of_the_warps(p, device)
    yield from _of_the_sizes(p)


def _of_the_product(p: Problem, device: Device) -> Iterator[Rule]:
    """What tensor cores take, and how it comes into shared memory."""
    size, half, is_complex = p.dtype.itemsize, p.dtype.real_bits == 16, p.dtype.is_complex
    names = HALF_SHAPES if half else DOUBLE_SHAPES
    yield Rule(
        "tc-type",
        "hard",
        "tensor cores multiply this type in this shape",
        lambda tc: one_of(tc, names),
    )
    yield Rule(
        "mma-device",
        "tabled",
        "the device has float64 products of 16 rows (9.0 and above)",
        lambda tc: half | (tc == "8x8x4") | ("mma_f64_m16" in device.supports),
    )
    yield Rule(
        "half-rate",
        "soft",
        "float64 products of 8 rows take twice the time where there are larger ones",
        lambda tc: (tc != "8x8x4") | ("mma_f64_m16" not in device.supports) | (p.m <= 8),
    )
    yield Rule(
        "split-complex",
        "hard",
        "only pairs can be split",
        lambda split: is_complex | (split != "shared"),
    )
    yield Rule(
        "wmma-planes",
        "hard",
        "wmma takes planes, because its fragments hide what is a pair",
        lambda tc, split: np.logical_not(is_wmma(tc)) | (not is_complex) | (split == "shared"),
    )
    yield Rule(
        "planes-by-registers",
        "hard",
        "what is split passes through registers",
        lambda split, stages: (split != "shared") | (stages == 1),
    )
    yield Rule(
        "ahead-copies",
        "hard",
        "what is loaded ahead has been copied to shared memory",
        lambda stages, ahead: (ahead == 0) | (stages > 1),
    )
    yield Rule(
        "ahead-mma",
        "hard",
        "only fragments of mma are loaded ahead by choice",
        lambda tc, ahead: (ahead == 0) | np.logical_not(is_wmma(tc) | (tc == WGMMA)),
    )
    yield accesses.access_width(size)
    yield accesses.copy_width(size)
    yield Rule(
        "early-read",
        "hard",
        "nothing of C comes early where it is not read",
        lambda early_c: (early_c == 0) | (p.beta != "0"),
    )
    yield Rule(
        "early-copies",
        "hard",
        "C is copied to shared memory where the steps are",
        lambda stages, early_c: (early_c == 0) | (stages > 1),
    )
    yield Rule(
        "early-width",
        "hard",
        "copies to shared memory move 4 bytes or more",
        lambda early_c, vec_c: (early_c == 0) | (vec_c * size >= 4),
    )
    yield accesses.access_width_c(size)


def _of_warp_groups(p: Problem, device: Device) -> Iterator[Rule]:
    """What warp groups need, beside what the others do."""
    yield from accesses.warp_groups(
        p,
        device,
        lambda tc, blk_n, dim_x, dim_y, group, warps_m: (
            (tc != WGMMA)
            | accesses.whole_columns(blk_n // np.maximum(dim_x * dim_y // 32 // group // warps_m, 1))
        ),
        words="in rows of B, words of 16 bytes change places",
        stages="one step is multiplied, the next is there, others come",
    )
    yield Rule(
        "wgmma-pairs",
        "hard",
        "warp groups multiply pairs as they are",
        lambda tc, split: (tc != WGMMA) | (split != "shared"),
    )


def _of_the_reads(p: Problem) -> Iterator[Rule]:
    """How wide an access may be, and which are worth it."""
    size = p.dtype.itemsize
    yield from accesses.whole(size, units(p))
    yield Rule(
        "step-whole",
        "hard",
        "a step is made of whole products",
        lambda tc, split, blk_k: blk_k % step_of(p, tc, split) == 0,
    )
    yield from accesses.stripes(p, "a stripe")
    yield Rule(
        "wmma-aligned-a",
        "hard",
        "fragments of wmma begin at multiples of 32 bytes",
        lambda tc, blk_m: (tc != "8x32x16") | p.transposed_a | (blk_m == 8),
    )
    yield Rule(
        "wmma-aligned-b",
        "hard",
        "fragments of wmma begin at multiples of 32 bytes",
        lambda tc, blk_n: (tc != "32x8x16") | (not p.transposed_b) | (blk_n == 8),
    )
    yield Rule(
        "dim-x-used",
        "soft",
        "no stored column of a stripe has more reads than dim_x: fewer threads along it do the same",
        lambda vec, blk_k, blk_m, blk_n, dim_x: dim_x <= words_along(p, vec, blk_m, blk_n, blk_k),
    )
    yield Rule(
        "coalesced",
        "soft",
        "neighbouring threads read 32 bytes or a whole column",
        lambda vec, blk_k, blk_m, blk_n, dim_x: (
            (dim_x * vec * size >= 32) | (dim_x == words_along(p, vec, blk_m, blk_n, blk_k))
        ),
    )


def _of_the_warps(p: Problem, device: Device) -> Iterator[Rule]:
    """How the tile is dealt out, and what the device can hold."""

    def hold(dim_x: Any, dim_y: Any, group: Any, warps_m: Any) -> tuple[Any, Any, Any]:
        return np.maximum(dim_x * dim_y // 32, 1), group, warps_m

    yield limits.threads_per_block(device, lambda dim_x, dim_y: dim_x * dim_y)
    yield Rule(
        "whole-warps",
        "hard",
        "threads come in warps",
        lambda dim_x, dim_y: dim_x * dim_y % 32 == 0,
    )
    yield Rule(
        "block-size",
        "soft",
        "more than 8 warps wait too long at a barrier",
        lambda dim_x, dim_y: dim_x * dim_y <= 256,
    )
    yield Rule(
        "group-warps",
        "hard",
        "every matrix of a group has as many warps",
        lambda dim_x, dim_y, group: dim_x * dim_y // 32 % group == 0,
    )
    yield Rule(
        "group-small",
        "soft",
        "matrices share a block where a warp or two are enough for one",
        lambda blk_m, blk_n, group: (
            (group == 1) | ((blk_m >= p.m) & (blk_n >= p.n) & (blk_m * blk_n <= 2048))
        ),
    )
    yield Rule(
        "warps-dealt",
        "hard",
        "the warps of a matrix form a grid over its tile",
        lambda dim_x, dim_y, group, warps_m: (
            (dim_x * dim_y // 32 // group > 0) & (dim_x * dim_y // 32 // group % warps_m == 0)
        ),
    )
    yield Rule(
        "tile-dealt-m",
        "hard",
        "every warp has whole products along m",
        lambda tc, blk_m, warps_m: blk_m % (extent_of(tc, 0) * warps_m) == 0,
    )
    yield Rule(
        "tile-dealt-n",
        "hard",
        "every warp has whole products along n",
        lambda tc, blk_n, dim_x, dim_y, group, warps_m: (
            blk_n % (extent_of(tc, 1) * np.maximum(dim_x * dim_y // 32 // group // warps_m, 1)) == 0
        ),
    )
    yield Rule(
        "warp-shape",
        "soft",
        "a warp's part that is much longer than wide loads more for the same work",
        lambda tc, blk_m, blk_n, dim_x, dim_y, group, warps_m: (
            (tc == WGMMA) | _shapely(p, blk_m, blk_n, np.maximum(dim_x * dim_y // 32 // group, 1), warps_m)
        ),
    )
    yield Rule(
        "busy",
        "soft",
        "half of the threads have something to read, or more",
        lambda vec, blk_k, blk_m, blk_n, dim_x, dim_y, group: (
            reading(p, vec, (blk_m, blk_n, blk_k), group, dim_x, np.maximum(dim_x * dim_y, 1)) >= 0.5
        ),
    )
    yield Rule(
        "registers-per-thread",
        "tabled",
        "the registers that the loop cannot do without can be addressed",
        lambda tc, split, stages, ahead, blk_k, blk_m, blk_n, dim_x, dim_y, group, warps_m: (
            registers(p, tc, split, stages, ahead, (blk_m, blk_n, blk_k), hold(dim_x, dim_y, group, warps_m))
            <= device["registers_per_thread"]
        ),
    )
    yield Rule(
        "shared-per-block",
        "queryable",
        "the ring fits in the shared memory that a block may ask for",
        lambda tc, split, stages, early_c, blk_k, blk_m, blk_n, dim_x, dim_y, group, warps_m: (
            shared_bytes(
                *(p, tc, split, stages, early_c), (blk_m, blk_n, blk_k), hold(dim_x, dim_y, group, warps_m)
            )
            <= device["shared_per_block_optin"]
        ),
    )
    yield from limits.resident_rules(
        device,
        lambda dim_x, dim_y: dim_x * dim_y,
        lambda tc, split, stages, ahead, blk_k, blk_m, blk_n, dim_x, dim_y, group, warps_m: (
            registers(p, tc, split, stages, ahead, (blk_m, blk_n, blk_k), hold(dim_x, dim_y, group, warps_m))
            * (dim_x * dim_y)
        ),
        lambda tc, split, stages, early_c, blk_k, blk_m, blk_n, dim_x, dim_y, group, warps_m: shared_bytes(
            *(p, tc, split, stages, early_c), (blk_m, blk_n, blk_k), hold(dim_x, dim_y, group, warps_m)
        ),
        first="resident-threads",
    )
    yield Rule(
        "warps-enough",
        "soft",
        "an SM has a warp for each of its four schedulers",
        lambda dim_x, dim_y, blocks: dim_x * dim_y * (blocks // device["sms"]) >= 128,
    )
    yield grids.rule(p, device, lambda blk_m, blk_n, group: tiles(p, blk_m, blk_n, group))


def _of_the_sizes(p: Problem) -> Iterator[Rule]:
    """No tile and no step is much larger than what there is."""
    least = 16 if p.dtype.real_bits == 16 else 8
    yield Rule(
        "step-in-k",
        "soft",
        "a step beyond the end of k multiplies zeros",
        lambda blk_k: (blk_k < p.k + 16) | (blk_k <= 16),
    )
    yield Rule(
        "tile-in-m",
        "soft",
        "half of a tile that is twice as high as C is for nothing",
        lambda blk_m: (blk_m < 2 * p.m) | (blk_m <= least),
    )
    yield Rule(
        "tile-in-n",
        "soft",
        "half of a tile that is twice as wide as C is for nothing",
        lambda blk_n: (blk_n < 2 * p.n) | (blk_n <= 8),
    )
    yield Rule(
        "tile-shape",
        "soft",
        "a tile that is more than twice as long as wide reads more for the same work, unless C is as narrow",
        lambda blk_m, blk_n: (
            ((blk_m <= 2 * blk_n) | (blk_n >= p.n)) & ((blk_n <= 2 * blk_m) | (blk_m >= p.m))
        ),
    )


def words_along(p: Problem, vec: Any, blk_m: Any, blk_n: Any, blk_k: Any) -> Any:
    """Reads of the longer of the stored columns of both stripes."""
    return np.maximum(blk_k if p.transposed_a else blk_m, blk_n if p.transposed_b else blk_k) // vec


def reading(p: Problem, vec: Any, blk: tuple[Any, Any, Any], group: Any, dim_x: Any, threads: Any) -> Any:
    """The part of the threads that read the stripe that keeps fewer of them busy."""
    blk_m, blk_n, blk_k = blk
    stripes = (
        (blk_k, blk_m) if p.transposed_a else (blk_m, blk_k),
        (blk_n, blk_k) if p.transposed_b else (blk_k, blk_n),
    )
    parts = []
    for along, columns in stripes:
        across = threads // np.gcd(dim_x, np.maximum(along // vec, 1))
        turns = -(-columns * group // np.maximum(across, 1))
        parts.append(columns * group / np.maximum(turns * across, 1))
    return np.minimum(*parts)


def _shapely(p: Problem, blk_m: Any, blk_n: Any, warps: Any, warps_m: Any) -> Any:
    tall, long = blk_m // warps_m, blk_n // np.maximum(warps // warps_m, 1)
    # Halves are gathered a few columns of a warp at a time: tall parts are read and written in fewer turns.
    most = 3 if p.dtype.real_bits == 64 else 4 if p.dtype.is_complex else 8
    most = 4 if p.dtype.letter == "d" and p.k <= 32 else most
    return ((tall <= most * long) | (blk_n <= 16)) & ((long <= 3 * tall) | (blk_m <= 16))
