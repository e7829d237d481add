"""The space of emulated: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import cuts, limits
from tilewright.stencils.cuda.emulated.needs import (
    SLICE,
    planes_of,
    shared_bytes,
    slices,
    tiles_of,
)

TILE_M = (64, 128, 192)
STAGES = (3, 4, 5, 6, 7, 8, 9)
BANDS = (1024, 2048, 4096)


def params(p: Problem, device: Device) -> list[Param]:
    return [
        Param("tile_m", TILE_M),
        Param("stages", STAGES),
        Param("band", BANDS),
        Param("blocks", (device["sms"],)),
        Param("cut", cuts.CUTS),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield Rule(
        "ring",
        "hard",
        "planes of a slice are there together while the next one comes",
        lambda stages: stages > planes_of(p),
    )
    yield limits.shared_per_block(device, shared_bytes, "the ring fits")
    yield Rule(
        "tile-in-m",
        "soft",
        "tiles are not higher than C, but for what tensor cores ask for",
        lambda tile_m: tile_m < p.m + SLICE,
    )

    def waves(tile_m: Any, blocks: Any) -> tuple[Any, Any]:
        """Tiles, and how many there are at a time."""
        return tiles_of(p, tile_m), blocks

    yield from cuts.rules(waves, lambda: slices(p))
