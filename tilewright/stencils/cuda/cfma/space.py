"""The space of cfma: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import cuts, limits
from tilewright.stencils.cuda.cfma.needs import (
    BOX,
    DEPTH,
    MOST_SUMS,
    shared_bytes,
    stage_bytes,
    tile_m,
    tile_n,
    tiles,
)
from tilewright.stencils.cuda.common import IN_FLIGHT

SLACK = 32
"""Rows and columns that the smallest tiles may have more than C."""


def params(p: Problem, device: Device) -> list[Param]:
    return [
        Param("rows", (4, 8)),
        Param("columns", (4, 8)),
        Param("lanes_m", (4, 8)),
        Param("warps_m", (1, 2, 4, 8)),
        Param("stages", (2, 3, 4, 5, 6, 8)),
        Param("band", (1024, 2048, 4096)),
        Param("blocks", (device["sms"],)),
        Param("cut", cuts.CUTS),
        Param("overlap", (0, 1)),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield Rule(
        "sums",
        "hard",
        "a thread holds no more than 32, each as four products of parts",
        lambda rows, columns: rows * columns <= MOST_SUMS,
    )
    yield Rule(
        "box",
        "hard",
        "a box has up to 256 lines",
        lambda rows, columns, lanes_m, warps_m: (
            (tile_m(rows, lanes_m, warps_m) <= BOX) & (tile_n(columns, lanes_m, warps_m) <= BOX)
        ),
    )
    yield limits.shared_per_block(
        device,
        lambda rows, columns, lanes_m, warps_m, stages: shared_bytes(
            tile_m(rows, lanes_m, warps_m), tile_n(columns, lanes_m, warps_m), stages
        ),
        "the ring fits",
    )
    yield Rule(
        "tile-in-m",
        "soft",
        "tiles are not higher than C, but for the smallest",
        lambda rows, lanes_m, warps_m: tile_m(rows, lanes_m, warps_m) < p.m + SLACK,
    )
    yield Rule(
        "tile-in-n",
        "soft",
        "tiles are not wider than C, but for the smallest",
        lambda columns, lanes_m, warps_m: tile_n(columns, lanes_m, warps_m) < p.n + SLACK,
    )
    yield Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory",
        lambda rows, columns, lanes_m, warps_m, stages: (
            (stages - 1) * stage_bytes(tile_m(rows, lanes_m, warps_m), tile_n(columns, lanes_m, warps_m))
            >= IN_FLIGHT
        ),
    )

    def waves(rows: Any, columns: Any, lanes_m: Any, warps_m: Any, blocks: Any) -> tuple[Any, Any]:
        """Tiles of C, and how many there are at a time."""
        return tiles(p, tile_m(rows, lanes_m, warps_m), tile_n(columns, lanes_m, warps_m)), blocks

    def slices() -> Any:
        """Those of a tile along k."""
        return -(-p.k // DEPTH)

    yield from cuts.rules(waves, slices)
