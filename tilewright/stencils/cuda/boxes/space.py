"""The space of boxes: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.boxes.needs import SLICE, registers, shared_bytes, stage_bytes, threads

TILE_M = (16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256)
TILE_N = (64, 128, 192, 256)
STAGES = (2, 3, 4, 5, 6, 8)
KEPT = (1, 2)
PER_SM = (1, 2, 3, 4, 5, 6, 8)


def params(p: Problem, device: Device) -> list[Param]:
    return [
        Param("tile_m", TILE_M),
        Param("tile_n", TILE_N),
        Param("stages", STAGES),
        Param("kept", KEPT),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield Rule(
        "tile-box",
        "hard",
        "a tile that others follow in m is whole boxes",
        lambda tile_m: (tile_m >= p.m) | (tile_m % SLICE == 0),
    )
    yield Rule(
        "tile-in-m",
        "soft",
        "a tile is not higher than C, but for what tensor cores ask for",
        lambda tile_m: tile_m < p.m + 16,
    )
    yield Rule(
        "tile-in-n",
        "soft",
        "a tile is not wider than C, but for what tensor cores ask for",
        lambda tile_n: tile_n < p.n + 64,
    )
    yield limits.registers_per_thread(device, registers)
    yield limits.threads_per_block(device, threads)

    def shared(tile_m: Any, tile_n: Any, stages: Any, kept: Any) -> Any:
        return shared_bytes(p, tile_m, tile_n, stages, kept)

    yield limits.shared_per_block(device, shared, "the ring and tiles of C fit")
    yield from limits.resident_rules(
        device, threads, lambda tile_m, tile_n: threads(tile_n) * registers(tile_m), shared
    )
    yield limits.scheduler_registers(
        device, lambda tile_m, tile_n: (threads(tile_n) // 32, registers(tile_m))
    )
    yield limits.in_flight(device, lambda tile_m, tile_n, stages: stages * stage_bytes(p, tile_m, tile_n))
