"""The space of middle: parameters, and the rules that prune them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import grids, limits
from tilewright.stencils.cuda.middle.needs import (
    along_k,
    by_tensor_cores,
    divided,
    items,
    parts,
    registers,
    shared_bytes,
    stage_bytes,
    sums,
    warps,
    wide,
)

LARGEST = 160
"""The longest extent but one, which may have any length."""
OF_LONG = (32, 48, 64, 80, 96, 128, LARGEST)
"""The longest tiles of a longer extent."""
PER_SM = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)


def tiles(p: Problem, extent: int) -> list[int]:
    """Tiles of an extent: all of it, or nearly equal pieces of whole vectors; some of many."""
    n = wide(p)
    if extent > LARGEST:
        counts = [divided(extent, longest) for longest in OF_LONG]
    else:
        counts = [1, *range(2, divided(extent, 32) + 1)]
    pieces = {divided(divided(extent, count), n) * n if count > 1 else extent for count in counts}
    return sorted(pieces)


def depths(p: Problem) -> list[int]:
    """Depths of a slice: all of k, or nearly equal pieces, of whole products of tensor cores."""
    unit = 4 if by_tensor_cores(p) else 1
    pieces = (divided(divided(p.k, count), unit) * unit for count in range(1, divided(p.k, 8) + 1))
    return sorted(set(pieces))


def params(p: Problem, device: Device) -> list[Param]:
    unit = 8 if by_tensor_cores(p) else wide(p)
    counts = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16) if by_tensor_cores(p) else range(1, 16 // unit + 1)
    sides = tuple(unit * count for count in counts)
    return [
        Param("tile_m", tuple(tiles(p, p.m))),
        Param("tile_n", tuple(tiles(p, p.n))),
        Param("depth", tuple(depths(p))),
        Param("mma", (8, 16) if by_tensor_cores(p) else (0,)),
        Param("rows", sides),
        Param("columns", sides),
        Param("deep", (1,) if by_tensor_cores(p) or not any(along_k(p)) else (1, 2, 4)[: wide(p) // 2 + 1]),
        Param("stages", (2, 3, 4, 6, 8)),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
        grids.param(),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_part(p, device)
    yield from _of_the_sm(p, device)


def _of_the_part(p: Problem, device: Device) -> Iterator[Rule]:
    """What tensor cores take, and how large a part of a tile a thread or a warp computes."""
    tensor = by_tensor_cores(p)
    yield Rule(
        "mma-device",
        "tabled",
        "the device has float64 products of 16 rows (9.0 and above); all have those of 8",
        lambda mma: (mma <= 8) | ("mma_f64_m16" in device.supports),
    )
    yield Rule(
        "part",
        "hard",
        "whole tensor-core products of 8 columns, or whole vectors of 16 bytes",
        lambda mma, rows: (mma == 0) | (rows % (mma + (mma == 0)) == 0),
    )
    yield Rule(
        "part-in-tile",
        "soft",
        "a part is not longer than its tile, but for what tensor cores ask for",
        lambda tile_m, tile_n, rows, columns: (
            (rows < tile_m + (16 if tensor else wide(p))) & (columns < tile_n + (8 if tensor else wide(p)))
        ),
    )
    yield Rule(
        "sums-fit",
        "soft",
        "a thread has 144 registers of sums at most",
        lambda rows, columns: sums(p, rows, columns) <= 144,
    )
    yield limits.registers_per_thread(device, lambda rows, columns, deep: registers(p, rows, columns, deep))
    yield Rule(
        "full",
        "soft",
        "half of what parts compute lies in their tiles, or more",
        lambda tile_m, tile_n, rows, columns: (
            2 * tile_m * tile_n >= parts(p, tile_m, tile_n, rows, columns) * rows * columns
        ),
    )


def _of_the_sm(p: Problem, device: Device) -> Iterator[Rule]:
    """What an SM holds, and what keeps its memory and its schedulers busy."""
    sms = device["sms"]
    yield limits.threads_per_block(
        device, lambda tile_m, tile_n, rows, columns: 32 * warps(p, tile_m, tile_n, rows, columns)
    )

    def shared(tile_m: Any, tile_n: Any, depth: Any, rows: Any, columns: Any, stages: Any) -> Any:
        return shared_bytes(p, tile_m, tile_n, depth, rows, columns, stages)

    yield limits.shared_per_block(device, shared)
    yield from limits.resident_rules(
        device,
        lambda tile_m, tile_n, rows, columns: 32 * warps(p, tile_m, tile_n, rows, columns),
        lambda tile_m, tile_n, rows, columns, deep: (
            32 * warps(p, tile_m, tile_n, rows, columns) * registers(p, rows, columns, deep)
        ),
        shared,
    )
    yield limits.in_flight(
        device,
        lambda tile_m, tile_n, depth, rows, columns, stages: (
            stage_bytes(p, tile_m, tile_n, depth, rows, columns) * (stages - 1)
        ),
    )
    yield Rule(
        "warps-enough",
        "soft",
        "an SM has a warp for each of its four schedulers",
        lambda tile_m, tile_n, rows, columns, blocks: (
            warps(p, tile_m, tile_n, rows, columns) * (blocks // sms) >= 4
        ),
    )
    yield grids.rule(p, device, lambda tile_m, tile_n: items(p, tile_m, tile_n))
