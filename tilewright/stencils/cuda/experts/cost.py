"""The choice without a search of experts.cuh, by the mean length of a group: the host knows no other.

Groups of few rows are a stream of what each of them has for itself: narrow tiles, many slices on their way.
Long groups get tiles in which what is loaded is multiplied often. The tiles are those that were fastest of 30
on an H200 for twenty shapes of 1 to 2,048 rows a group (``bench.segments`` has half of them); no model stands
behind them. Those of complex halves were not timed: they go by what shared memory moved beside tensor cores
for tiles of ``pairs``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from tilewright.model import Config, Device, SegmentedProblem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda.experts.needs import slice_of, turned

Choice = tuple[int, int, int, int]
"""tile_m, tile_n, stages and resident blocks of an SM."""
SHORT = 256
"""A k up to which results are stored about as long as they are multiplied, so that another block helps."""
LAST: tuple[Choice, ...] = ((64, 16, 2, 1), (64, 32, 2, 1))


def best(space: Space, p: SegmentedProblem, device: Device) -> Config:
    """The first of the choices, in the order of preference, that all rules allow, else the hardware."""
    configs = [_config(choice, device) for choice in (*_fitting(p, device), *LAST)]
    for kinds in (None, (*HARDWARE, "hard")):
        for config in configs:
            if not any(kinds is None or rule.kind in kinds for rule in space.why(config)):
                return config
    raise AssertionError(f"no config for {p.key}")


def _config(choice: Choice, device: Device) -> Config:
    tile_m, tile_n, stages, blocks = choice
    return Config({"tile_m": tile_m, "tile_n": tile_n, "stages": stages, "blocks": blocks * device["sms"]})


def _fitting(p: SegmentedProblem, device: Device) -> Iterator[Choice]:
    """The choices, each with fewer stages and then fewer blocks behind it."""
    for tile_m, tile_n, stages, blocks in (_of_pairs if p.dtype.is_complex else _choices)(p, device):
        for count in range(blocks, 0, -1):
            for depth in (x for x in (12, 10, 8, 6, 5, 4, 3, 2) if x <= stages):
                yield tile_m, tile_n, depth, count


def _choices(p: SegmentedProblem, device: Device) -> Iterator[Choice]:
    """The preferred first."""
    mean = p.length / p.groups
    n = mean if p.axis == "n" else p.n
    if p.axis == "k":
        if mean <= slice_of(p):
            # A tile is one slice: another block multiplies while this one stores.
            yield 128, 128, 2, 2
        elif _tiles(p, 128, 128) >= device["sms"]:
            yield 128, 256, 4, 1
        yield 128, 64, 8, 1
    elif n <= 5:
        yield 64, 16, 8, 2
    elif n <= 18:
        yield 64, 32, 6, 2
    elif n <= 64:
        if _tiles(p, 128, 64) >= 4 * device["sms"]:
            yield 128, 64, 3, 2
        yield 64, 64 if n > 24 else 32, 4, 2
    elif n <= 256 or p.k <= SHORT:
        if _tiles(p, 128, 96) >= device["sms"]:
            yield 128, 96, 3, 2
    elif n <= 1024:
        if _tiles(p, 128, 128) >= device["sms"]:
            yield 128, 128, 6, 1
    elif _tiles(p, 128, 192) >= device["sms"]:
        yield 128, 192, 4, 1
    yield 64, 64, 4, 2


def _of_pairs(p: SegmentedProblem, device: Device) -> Iterator[Choice]:
    """Those of complex halves: what shared memory moves paces them, which wide tiles ask least of."""
    mean = p.length / p.groups
    n = mean if p.axis == "n" else p.n
    if n > 256 and not turned(p) and _tiles(p, 128, 160) >= device["sms"]:
        yield 128, 160, 5, 1
    if n > 64 and _tiles(p, 128, 128) >= device["sms"]:
        yield 128, 128, 5, 1
    if n > 16:
        if _tiles(p, 128, 64) >= device["sms"]:
            yield 128, 64, 6, 1
        yield 64, 64, 4, 2
    if _tiles(p, 128, 32) >= device["sms"]:
        yield 128, 32, 8, 1
    yield 64, 32, 4, 2


def _tiles(p: SegmentedProblem, tile_m: int, tile_n: int) -> int:
    """Tiles of all groups, if they were of equal length."""
    mean = p.length / p.groups
    m, n = (mean if p.axis == "m" else p.m), (mean if p.axis == "n" else p.n)
    return ceil(m / tile_m) * ceil(n / tile_n) * p.groups
