"""The space of experts: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.model import Device, SegmentedProblem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.experts.needs import (
    GROUP,
    block_registers,
    few,
    registers,
    shared_bytes,
    stage_bytes,
    threads,
    turned,
)

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
    if p.dtype.is_complex:
        yield from _of_pairs(p, device)

    def needed(tile_n: Any) -> Any:
        return registers(p, tile_n)

    def of_block(tile_m: Any) -> Any:
        return threads(p, tile_m)

    yield limits.registers_per_thread(device, needed)
    yield limits.threads_per_block(device, of_block)

    def shared(tile_m: Any, tile_n: Any, stages: Any) -> Any:
        return shared_bytes(p, tile_m, tile_n, stages)

    yield limits.shared_per_block(device, shared, "the ring and columns of results fit")
    yield from limits.resident_rules(
        device, of_block, lambda tile_m, tile_n: block_registers(p, tile_m, tile_n), shared
    )
    if not p.dtype.is_complex:
        yield limits.scheduler_registers(
            device, lambda tile_m, tile_n: (of_block(tile_m) // 32, needed(tile_n))
        )
    yield limits.in_flight(device, lambda tile_m, tile_n, stages: stages * stage_bytes(p, tile_m, tile_n))


def _of_pairs(p: SegmentedProblem, device: Device) -> Iterator[Rule]:
    """Those of complex halves, whose warp groups hand registers to each other."""
    sms = device["sms"]
    yield Rule(
        "pairs-n",
        "hard",
        "columns of complex halves come in 32, and more sums than of 160 leave no registers",
        lambda tile_n: (tile_n % 32 == 0) & (tile_n <= 160),
    )
    if turned(p):
        yield Rule(
            "turned-sums",
            "hard",
            "warps that turn take registers of sums",
            lambda tile_n: tile_n <= 128,
        )

    def given(tile_m: Any, tile_n: Any, blocks: Any) -> Any:
        begun = device["registers_per_sm"] // (threads(p, tile_m) * (blocks // sms)) // 8 * 8
        groups = tile_m // GROUP
        return registers(p, tile_n) <= np.minimum(((groups + 1) * begun - few(p)) // groups // 8 * 8, 240)

    yield Rule("sums", "tabled", "warps that load leave those that multiply registers for their sums", given)
