"""The choice without a search of segments.cuh, by the mean length of a group: the host knows no other.

Groups of few rows (or columns) are read faster than they can be multiplied: their tiles are no longer than a
group, and many of them are on their way. Long groups get tiles in which what is loaded is multiplied often.
The tiles are those that were fastest of 10 to 100 on an H200, without spills, for each of fifteen shapes
of public programs (``bench.segments`` and ``bench.gallery`` have them). No model stands behind them; complex
half, columns of C that begin anywhere, and other shapes have tiles that were not measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from tilewright.model import Config, Device, SegmentedProblem
from tilewright.space import Space
from tilewright.stencils.cuda.accesses import WGMMA
from tilewright.stencils.cuda.common import WIDEST
from tilewright.stencils.cuda.segments.needs import aligned

STAGES = (8, 6, 4, 3, 2)
"""Stages of a ring, the deepest first."""
FEW = 16
"""Rows of C up to which a tile is no higher, where columns are split: what is read of B sets the pace."""
SHORT = 32
"""A k up to which a tile is one or two k-tiles, so that what is written of C sets the pace."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What multiplies, a tile (blk_m, blk_n, blk_k), its warps along m and n, stages, resident blocks of an
    SM, lanes along m of multiply-add units, and whether fragments are prefetched."""

    tc: str
    tile: tuple[int, int, int]
    warps: tuple[int, int]
    stages: int = 3
    blocks: int = 2
    lanes: int = 8
    ahead: int = 0


def best(space: Space, p: SegmentedProblem, device: Device) -> Config:
    """The first of the choices, in the order of preference, that all rules allow, else the hardware.

    Of a choice that does not fit, fewer blocks come before fewer stages.
    """
    configs = [_config(p, choice, device) for choice in _fitting(p, device)]
    for kinds in (None, ("hard", "queryable", "tabled")):
        for config in configs:
            if not any(kinds is None or rule.kind in kinds for rule in space.why(config)):
                return config
    raise AssertionError(f"no config for {p.key}")


def _config(p: SegmentedProblem, choice: Choice, device: Device) -> Config:
    size = p.dtype.itemsize
    unit_a, unit_b, unit_c = aligned(p)
    vec = min(unit_a, unit_b) // size
    values: dict[str, Any] = {
        "tc": choice.tc,
        "stages": choice.stages,
        "ahead": choice.ahead,
        "vec": min(vec, *choice.tile),
        "vec_c": unit_c // size,
        "blk_m": choice.tile[0],
        "blk_n": choice.tile[1],
        "blk_k": choice.tile[2],
        "warps_m": choice.warps[0],
        "warps_n": choice.warps[1],
        "lanes_m": choice.lanes,
        # Narrow reads are those of a whole warp along a stored column.
        "dim_x": 8 if vec * size == WIDEST else 32,
        "blocks": choice.blocks * device["sms"],
    }
    return Config(values)


def _fitting(p: SegmentedProblem, device: Device) -> Iterator[Choice]:
    """The choices, each with fewer blocks and stages behind it. What is narrower than a copy to shared memory
    passes through registers."""
    narrow = min(aligned(p)[:2]) < 4
    for choice in _choices(p, device):
        most = _deeper(p, choice, device)
        for stages in (1,) if narrow else (count for count in STAGES if count <= most.stages):
            for blocks in range(most.blocks, 0, -1):
                found = replace(choice, stages=stages, blocks=blocks)
                yield replace(found, ahead=0) if stages == 1 else found


def _deeper(p: SegmentedProblem, choice: Choice, device: Device) -> Choice:
    """The same with more stages in place of the resident blocks for which there are no tiles, so that as much
    is on its way; as many as k has k-tiles."""
    blocks = max(min(choice.blocks, ceil(_tiles(p, *choice.tile[:2]) / device["sms"])), 1)
    k = p.length / max(p.groups, 1) if p.axis == "k" else p.k
    stages = min(choice.stages * choice.blocks // blocks, ceil(k / choice.tile[2]))
    return replace(choice, stages=max(choice.stages, stages), blocks=blocks)


def _tiles(p: SegmentedProblem, blk_m: int, blk_n: int) -> int:
    """Tiles of all groups, if they were of equal length."""
    mean = p.length / max(p.groups, 1)
    m, n = (mean if p.axis == "m" else p.m), (mean if p.axis == "n" else p.n)
    return ceil(m / blk_m) * ceil(n / blk_n) * p.groups * p.batch


def _choices(p: SegmentedProblem, device: Device) -> Iterator[Choice]:
    """The preferred first, the last for any device."""
    mean = p.length / max(p.groups, 1)
    m, n = (mean if p.axis == "m" else p.m), (mean if p.axis == "n" else p.n)
    if p.dtype.real_bits == 16:
        yield from _halves(p, m, n, device)
    elif p.dtype.real_bits == 64:
        yield from _doubles(p, n, device)
    else:
        yield from _singles(p, n)


def _halves(p: SegmentedProblem, m: float, n: float, device: Device) -> Iterator[Choice]:
    deep = 128 // p.dtype.itemsize
    if p.dtype.is_complex:
        # Twice the accumulators leave no registers for larger tiles.
        yield Choice("16x8x16", (64, 64 if n > 24 else 16, 32), (2, 2) if n > 24 else (4, 1), 3, 2)
    elif p.axis == "k" or p.k > SHORT:
        if n <= 8 or m < 96 or (n <= 48 and _tiles(p, 128, 32) < device["sms"]):
            yield Choice(WGMMA, (64, 16 if n <= 8 else 32, deep), (4, 1), 3, 5)
        elif n <= 48:
            yield Choice(WGMMA, (128, 32, deep), (4, 1), 3, 3)
        elif n <= 256:
            yield Choice(WGMMA, (128, 96, deep), (8, 1), 3, 2)
        else:
            yield Choice(WGMMA, (256, 96, deep), (8, 1), 4, 1)
    if min(m, n) >= 64 and not p.dtype.is_complex:
        if _tiles(p, 128, 128) < device["sms"]:
            yield Choice("16x8x16", (64, 64, 32), (2, 2), 3, 4, ahead=1)
        yield Choice("16x8x16", (128, 128, 32), (2, 2), 3, 2, ahead=1)
        yield Choice("16x8x16", (128, 64, 32), (2, 2), 3, 3, ahead=1)
    yield Choice("16x8x16", (64, 8 if n <= 8 else 16 if n <= 24 else 32, min(deep, 32)), (4, 1), 4, 4)
    yield Choice("16x8x16", (32, 8, 16), (1, 1))


def _doubles(p: SegmentedProblem, n: float, device: Device) -> Iterator[Choice]:
    tall = "mma_f64_m16" in device.supports
    if p.dtype.is_complex:
        yield Choice("16x8x4" if tall else "8x8x4", (32, 32 if n > 16 else 16, 16), (2, 2), 3, 3)
    else:
        if p.axis == "n" and p.m <= FEW and p.k > SHORT and n >= 64:
            yield Choice("16x8x4" if tall else "8x8x4", (16, 64, 16), (1, 1), 2, 8)
        tile = (64, 8, 16) if n <= 8 else (64, 32 if n > 16 else 16, 16)
        yield Choice("16x8x8" if tall else "8x8x4", tile, (2, 1 if n <= 8 else 2), 3, 4)
    yield Choice("16x8x4" if tall else "8x8x4", (32, 16, 8), (2, 1), 2, 1)


def _singles(p: SegmentedProblem, n: float) -> Iterator[Choice]:
    if p.dtype.is_complex:
        yield Choice("fma", (64, 32, 16) if n > 16 else (64, 16, 16), (1, 4), 3, 4)
    elif p.axis != "k" and p.k <= SHORT and aligned(p)[2] < WIDEST:
        # Lines of C that begin anywhere are written by whole warps.
        yield Choice("fma", (128, 64, 16), (1, 4), 4, 2, lanes=32)
    elif p.axis != "k" and p.k <= SHORT:
        yield Choice("fma", (128, 64, 16), (2, 2), 2, 3)
    elif p.axis == "n" and p.m <= FEW and n >= 64:
        yield Choice("fma", (16, 64, 32), (2, 2), 3, 5)
    elif n <= 40:
        yield Choice("fma", (64, 16, 16), (2, 1), 3, 8)
    else:
        yield Choice("fma", (128, 32, 16), (4, 1), 3, 4)
    yield Choice("fma", (32, 16, 8), (1, 2), 2, 1)
