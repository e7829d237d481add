"""The space of ffma: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import cuts, limits
from tilewright.stencils.cuda.common import IN_FLIGHT
from tilewright.stencils.cuda.ffma.needs import (
    BOX,
    MOST_SUMS,
    PIECE,
    REGISTERS,
    THREADS,
    arranged,
    registers,
    shared_bytes,
    tile_m,
    tile_n,
    tiles,
)

UNROLLED = 2048
"""Multiply-adds of a loop that the instruction cache holds: of hand-written kernels on an H200 those with
4,096 made 37 TFLOP/s where those with 2,048 made 55, so loops over longer slices are written out in parts."""
SLACK = 64
"""Rows and columns that the smallest tiles may have more than C."""

SHORT = 144
"""k from which on equal lengths for all blocks pay. Of 24 products on an H200 the best config that cuts
nothing so was 1.22 times as fast up to a k of 128 (nine, all faster), and 0.93 times beyond (fifteen)."""


def params(p: Problem, device: Device) -> list[Param]:
    # Of a batch nothing is packed, for each product would be read and written once more.
    turned = (0,) if p.dtype.is_complex or not any(arranged(p)) else (0, 1) if p.batch == 1 else (1,)
    return [
        Param("rows", (4, 8, 16)),
        Param("columns", (4, 8, 16)),
        Param("lanes_m", (4, 8)),
        Param("warps_m", (1, 2, 4, 8)),
        Param("depth", (8, 16, 32)),
        Param("stages", (2, 3, 4, 5, 6, 8)),
        Param("band", (1024, 2048, 4096)),
        Param("blocks", (device["sms"],)),
        Param("cut", (0,) if p.dtype.is_complex or p.batch > 1 else cuts.CUTS),
        Param("a_first", (0, 1)),
        Param("products", (4, 3) if p.dtype.is_complex else (1,)),
        Param("overlap", (0, 1), absent=0),
        Param("turned", turned, absent=0),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield Rule(
        "sums",
        "hard",
        "a thread holds no more than 128",
        lambda rows, columns: rows * columns <= MOST_SUMS,
    )
    yield Rule(
        "box",
        "hard",
        "a line of a box has up to 256 numbers",
        lambda rows, columns, lanes_m, warps_m: (
            (tile_m(rows, lanes_m, warps_m) <= BOX) & (tile_n(columns, lanes_m, warps_m) <= BOX)
        ),
    )
    yield Rule(
        "packs",
        "hard",
        "a warp packs or turns 32 rows of a tile",
        lambda rows, columns, lanes_m, warps_m: (
            (tile_m(rows, lanes_m, warps_m) % (PIECE if arranged(p)[0] else 1) == 0)
            & (tile_n(columns, lanes_m, warps_m) % (PIECE if arranged(p)[1] else 1) == 0)
        ),
    )
    yield Rule(
        "room",
        "hard",
        "each warp packs a piece in the ring",
        lambda rows, columns, lanes_m, warps_m, depth, stages, turned: (
            (not any(arranged(p)))
            | (turned > 0)
            | (
                stages * depth * (tile_m(rows, lanes_m, warps_m) + tile_n(columns, lanes_m, warps_m))
                >= THREADS // 32 * PIECE * (PIECE + 1)
            )
        ),
    )
    yield Rule(
        "turned",
        "hard",
        "real numbers are turned 32 along k at once",
        lambda depth, turned: (turned == 0) | (depth == PIECE),
    )
    yield Rule(
        "registers",
        "tabled",
        "sums and what they are made of fit in the registers that a thread gets of the warps that load",
        lambda rows, columns: registers(rows, columns) <= REGISTERS,
    )
    yield limits.shared_per_block(
        device,
        lambda rows, columns, lanes_m, warps_m, depth, stages: shared_bytes(
            tile_m(rows, lanes_m, warps_m), tile_n(columns, lanes_m, warps_m), depth, stages
        ),
        "the ring fits",
    )
    yield Rule(
        "unrolled",
        "soft",
        "a slice that is no longer than it has to be is no more than 2,048 multiply-adds of a thread",
        lambda rows, columns, depth, turned: (turned > 0) | (rows * columns * depth <= UNROLLED),
    )
    yield Rule(
        "three",
        "soft",
        "three products for four round parts of a number by what the other part has: who asks for it has it",
        lambda products: products != 3,
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
        lambda rows, columns, lanes_m, warps_m, depth, stages: (
            shared_bytes(tile_m(rows, lanes_m, warps_m), tile_n(columns, lanes_m, warps_m), depth, stages - 1)
            >= IN_FLIGHT
        ),
    )

    def waves(rows: Any, columns: Any, lanes_m: Any, warps_m: Any, blocks: Any) -> tuple[Any, Any]:
        """Tiles of C, and how many there are at a time."""
        return tiles(p, tile_m(rows, lanes_m, warps_m), tile_n(columns, lanes_m, warps_m)), blocks

    yield from cuts.rules(waves, lambda depth: -(-p.k // depth))
    yield Rule(
        "cut-equal",
        "soft",
        f"tiles that are cut in equal lengths have a k of {SHORT} or more",
        lambda cut: (cut != 1) | (p.k >= SHORT),
    )
