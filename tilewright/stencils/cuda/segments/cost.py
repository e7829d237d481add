"""The choice without a search of segments.cuh, by the mean length of a group: the host knows no other.

Groups of few rows (or columns) are read faster than they can be multiplied: their tiles are no longer than a
group, and many of them are on their way. Long groups get tiles in which what is loaded is multiplied often.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.model import Config, Device, SegmentedProblem
from tilewright.space import Space
from tilewright.stencils.cuda.segments.needs import WGMMA, aligned, units_of

Tile = tuple[int, int, int, int, int]
"""blk_m, blk_n, blk_k, warps_m, warps_n."""


def _up(extent: float, least: int, most: int) -> int:
    """The first doubling of ``least`` that is not below an extent, up to ``most``."""
    found = least
    while found < extent and found < most:
        found *= 2
    return found


def best(space: Space, p: SegmentedProblem, device: Device) -> Config:
    """The first of the candidates, in the order of preference, that all rules allow, else the hardware."""
    candidates = [Config(values) for values in _candidates(p, device)]
    for kinds in (None, ("hard", "queryable", "tabled")):
        for config in candidates:
            broken = space.why(config)
            if not any(kinds is None or rule.kind in kinds for rule in broken):
                return config
    raise AssertionError(f"no config for {p.key}")


def _candidates(p: SegmentedProblem, device: Device) -> Iterator[dict[str, Any]]:
    size = p.dtype.itemsize
    unit_a, unit_b, unit_c = aligned(p)
    vec, vec_c = min(unit_a, unit_b) // size, unit_c // size
    mean = p.length / max(p.groups, 1)
    m, n = (mean if p.axis == "m" else p.m), (mean if p.axis == "n" else p.n)
    for tc, (blk_m, blk_n, blk_k, warps_m, warps_n), lanes in _tiles(p, m, n, device):
        for stages in (6, 4, 3, 2) if vec * size >= 4 else (1,):
            for per_sm in (4, 3, 2, 1):
                yield {
                    "tc": tc,
                    "stages": stages,
                    "ahead": 0,
                    "vec": min(vec, blk_m, blk_n, blk_k),
                    "vec_c": vec_c,
                    "blk_k": blk_k,
                    "blk_m": blk_m,
                    "blk_n": blk_n,
                    "warps_m": warps_m,
                    "warps_n": warps_n,
                    "lanes_m": lanes,
                    "dim_x": 8,
                    "blocks": per_sm * device["sms"],
                }


def _tiles(p: SegmentedProblem, m: float, n: float, device: Device) -> Iterator[tuple[str, Tile, int]]:
    """What multiplies, tiles, and lanes along m: the preferred first, the last for any device."""
    letter, names = p.dtype.letter, units_of(p)
    if p.dtype.real_bits == 32:
        lanes = 32 if aligned(p)[2] < 16 and m >= 64 else 8
        wide, deep = (64, 16) if letter == "c" else (128, 16)
        blk_m, blk_n = _up(m, 32, wide), _up(n, 16, 64)
        if min(m, n) >= 96 and letter == "s" and lanes == 8:
            yield "fma", (128, 128, deep, 2, 4), lanes
        yield (
            "fma",
            (blk_m, blk_n, deep, 1 if blk_m < 64 or lanes == 32 else 2, 2 if blk_m < 64 else 4),
            lanes,
        )
        yield "fma", (64, 16, deep, 1, 4), lanes
        yield "fma", (32, 16, 8, 1, 2), 8
        return
    if p.dtype.real_bits == 64:
        tall = names[0] if "mma_f64_m16" in device.supports else "8x8x4"
        wide = 64 if letter == "d" else 32
        yield tall, (_up(m, 32, wide), _up(n, 8, wide), 16, 2, 1 if n <= 8 else 2), 8
        yield tall, (32, 16, 8, 2, 1), 8
        return
    blk_k = 128 // p.dtype.itemsize if p.k >= 64 or p.axis == "k" else 32
    if min(m, n) >= 64:
        yield WGMMA, (128, 128, blk_k, 8, 1), 8
        yield names[0], (128, 128, 32, 2, 4), 8
    blk_m, blk_n = _up(m, 32, 64), _up(n, 8, 64)
    yield names[0], (blk_m, blk_n, blk_k, 2 if blk_m < 64 else 4, 1), 8
    yield names[0], (32, 16, 32, 2, 1), 8
    yield names[0], (32, 8, 16, 1, 1), 8
