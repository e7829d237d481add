"""The space of experts: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.model import Device, SegmentedProblem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.experts.needs import registers, shared_bytes, stage_bytes, threads

TILE_M = (64, 128, 192, 256)
TILE_N = (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256)
STAGES = (2, 3, 4, 5, 6, 8, 10, 12)
PER_SM = (1, 2, 3, 4)


def params(p: SegmentedProblem, device: Device) -> list[Param]:
    return [
        Param("tile_m", TILE_M),
        Param("tile_n", TILE_N),
        Param("stages", STAGES),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
    ]


def rules(p: SegmentedProblem, device: Device) -> Iterator[Rule]:
    yield Rule(
        "tile-in-m",
        "soft",
        "a tile is not higher than C, but for what tensor cores ask for",
        lambda tile_m: tile_m < p.m + 64,
    )
    yield Rule(
        "tile-in-n",
        "soft",
        "a tile is not wider than C, but for what tensor cores ask for",
        lambda tile_n: tile_n < p.n + 16,
    )
    yield limits.registers_per_thread(device, registers)
    yield limits.threads_per_block(device, threads)

    def shared(tile_m: Any, tile_n: Any, stages: Any) -> Any:
        return shared_bytes(p, tile_m, tile_n, stages)

    yield limits.shared_per_block(device, shared, "the ring and columns of results fit")
    yield from limits.resident_rules(
        device, threads, lambda tile_m, tile_n: threads(tile_m) * registers(tile_n), shared
    )
    yield limits.scheduler_registers(
        device, lambda tile_m, tile_n: (threads(tile_m) // 32, registers(tile_n))
    )
    yield limits.in_flight(device, lambda tile_m, tile_n, stages: stages * stage_bytes(p, tile_m, tile_n))
