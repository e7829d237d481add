"""The space of unaligned: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.common import IN_FLIGHT
from tilewright.stencils.cuda.unaligned.needs import (
    MOST_SUMS,
    SLICE,
    group_columns,
    shared_bytes,
    stage_bytes,
)

TILE_M = (64, 128, 192, 256)
TILE_N = (128, 256)
STAGES = (2, 3, 4, 5, 6, 8)
BANDS = (1024, 2048, 4096)


def params(p: Problem, device: Device) -> list[Param]:
    return [
        Param("tile_m", TILE_M),
        Param("tile_n", TILE_N),
        Param("stages", STAGES),
        Param("band", BANDS),
        Param("blocks", (device["sms"],)),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield Rule(
        "tile-n",
        "hard",
        "a warp group multiplies 64 columns at once, and 128 at most",
        lambda tile_n: (group_columns(tile_n) == 64) | (group_columns(tile_n) == 128),
    )
    yield Rule(
        "sums",
        "hard",
        f"a warp group holds no more than {MOST_SUMS} of each thread",
        lambda tile_m, tile_n: tile_m * group_columns(tile_n) <= 128 * MOST_SUMS,
    )
    yield limits.shared_per_block(device, shared_bytes, "the ring and columns of C fit")
    yield Rule(
        "tile-in-m",
        "soft",
        "tiles are not higher than C, but for what tensor cores ask for",
        lambda tile_m: tile_m < p.m + SLICE,
    )
    yield Rule(
        "tile-in-n",
        "soft",
        "tiles are not wider than C, but for what tensor cores ask for",
        lambda tile_n: tile_n < p.n + SLICE,
    )
    yield Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory",
        lambda tile_m, tile_n, stages: (stages - 1) * stage_bytes(tile_m, tile_n) >= IN_FLIGHT,
    )
