"""The space of segments.cuh: parameters, and the rules that prune them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.model import Device, SegmentedProblem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import accesses, limits
from tilewright.stencils.cuda.accesses import WGMMA
from tilewright.stencils.cuda.common import WIDEST
from tilewright.stencils.cuda.segments.needs import (
    UNITS,
    aligned,
    deep,
    registers,
    shared_bytes,
    units_of,
)

PER_SM = (1, 2, 3, 4, 5, 6, 8)


def params(p: SegmentedProblem, device: Device) -> list[Param]:
    size, half = p.dtype.itemsize, p.dtype.real_bits == 16
    widths = tuple(w for w in (8, 4, 2, 1) if w * size <= WIDEST)
    return [
        Param("tc", units_of(p)),
        Param("stages", (1, 2, 3, 4, 6, 8)),
        Param("ahead", (0, 1)),
        Param("vec", widths),
        Param("vec_c", widths),
        Param("blk_k", (16, 32, 64) if half else (4, 8, 16, 32)),
        Param("blk_m", (8, 16, 32, 64, 96, 128, 192, 256)),
        Param("blk_n", (8, 16, 32, 64, 96, 128, 192, 256)),
        Param("warps_m", (1, 2, 4, 8)),
        Param("warps_n", (1, 2, 4, 8)),
        Param("lanes_m", (8, 32, 16) if p.dtype.real_bits == 32 else (8,)),
        Param("dim_x", (4, 8, 16, 32)),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
    ]


def _extent(tc: Any, axis: int) -> Any:
    return np.select([np.equal(tc, name) for name in UNITS], [shape[axis] for _, shape in UNITS.values()])


def rules(p: SegmentedProblem, device: Device) -> Iterator[Rule]:
    yield from _of_the_product(p, device)
    yield from _of_warp_groups(p, device)
    yield from _of_the_accesses(p)
    yield from _of_the_block(p, device)


def _of_the_product(p: SegmentedProblem, device: Device) -> Iterator[Rule]:
    """How the tile is dealt out to what multiplies."""
    plain = p.dtype.real_bits == 32

    def whole_m(tc: Any, blk_m: Any, warps_m: Any, lanes_m: Any) -> Any:
        return blk_m % ((lanes_m if plain else _extent(tc, 0)) * warps_m) == 0

    def whole_n(tc: Any, blk_n: Any, warps_n: Any, lanes_m: Any) -> Any:
        return blk_n % ((32 // lanes_m if plain else _extent(tc, 1)) * warps_n) == 0

    def known(tc: Any) -> Any:
        return np.isin(tc, units_of(p))

    yield Rule("tc-type", "hard", "this type is multiplied in this way", known)
    yield Rule(
        "mma-device",
        "tabled",
        "the device has float64 products of 16 rows (9.0 and above)",
        lambda tc: (p.dtype.real_bits != 64) | np.equal(tc, "8x8x4") | ("mma_f64_m16" in device.supports),
    )
    yield Rule("tile-dealt-m", "hard", "every warp has whole products along m", whole_m)
    yield Rule("tile-dealt-n", "hard", "every warp has whole products along n", whole_n)
    yield Rule(
        "step-whole",
        "hard",
        "a k-tile is made of whole products",
        lambda tc, blk_k: blk_k % deep(p, tc) == 0,
    )
    yield Rule(
        "ahead-copies",
        "hard",
        "fragment prefetch needs the next k-tile in shared memory",
        lambda stages, ahead: (ahead == 0) | (stages > 1),
    )
    yield Rule(
        "ahead-mma",
        "hard",
        "only fragments of mma are prefetched by choice",
        lambda tc, ahead: (ahead == 0) | np.logical_not(np.equal(tc, WGMMA) | plain),
    )


def _of_warp_groups(p: SegmentedProblem, device: Device) -> Iterator[Rule]:
    """What warp groups need, beside what the others do."""
    yield from accesses.warp_groups(
        p,
        device,
        lambda tc, blk_n, warps_n: np.not_equal(tc, WGMMA) | accesses.whole_columns(blk_n // warps_n),
        words="B uses the 128-byte swizzle, which permutes vectors of 16 bytes",
        stages="one k-tile is multiplied, the next has arrived, others are on their way",
    )


def _of_the_accesses(p: SegmentedProblem) -> Iterator[Rule]:
    """How wide an access may be, and which are worth it."""
    size = p.dtype.itemsize
    yield accesses.access_width(size)
    yield accesses.access_width_c(size)
    yield accesses.copy_width(size)
    yield from accesses.whole(size, aligned(p), ", wherever a group begins")
    yield from accesses.stripes(p, "an operand tile")


def _of_the_block(p: SegmentedProblem, device: Device) -> Iterator[Rule]:
    """What the device can hold."""

    def held(stages: Any, blk_m: Any, blk_n: Any, blk_k: Any, warps_m: Any, warps_n: Any, tc: Any) -> Any:
        return shared_bytes(p, tc, stages, (blk_m, blk_n, blk_k), (warps_m, warps_n))

    def needed(
        tc: Any, stages: Any, ahead: Any, blk_m: Any, blk_n: Any, blk_k: Any, warps_m: Any, warps_n: Any
    ) -> Any:
        return registers(p, tc, stages, ahead, (blk_m, blk_n, blk_k), (warps_m, warps_n))

    yield limits.threads_per_block(device, lambda warps_m, warps_n: 32 * warps_m * warps_n)
    yield limits.shared_per_block(device, held, "the stages fit")
    yield limits.registers_per_thread(device, needed)
    yield from limits.resident_rules(
        device,
        lambda warps_m, warps_n: 32 * warps_m * warps_n,
        lambda tc, stages, ahead, blk_m, blk_n, blk_k, warps_m, warps_n: (
            32 * warps_m * warps_n * needed(tc, stages, ahead, blk_m, blk_n, blk_k, warps_m, warps_n)
        ),
        held,
    )
