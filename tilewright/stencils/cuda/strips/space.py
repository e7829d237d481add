"""The space of strips: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.model import Device, SegmentedProblem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import grids, limits
from tilewright.stencils.cuda.segments.stencil import tiles
from tilewright.stencils.cuda.strips.needs import (
    FILLED,
    LANES,
    LANES_M,
    MMA_LANES,
    MOST_ROWS,
    WORD,
    entries,
    halves,
    registers,
    rows_of,
    shared_bytes,
    vectors,
    words,
)

LOOKS = 2
"""How often blocks that end look at borders, at most. With one warp and 36 to 46 entries, which take two
looks, they were as fast as any others, or faster (``bench/results/h200/segments-configs.jsonl``)."""
PER_SM = (1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32)


def params(p: SegmentedProblem, device: Device) -> list[Param]:
    return [
        Param("mma", (0, 1) if halves(p) else (0,), absent=0),
        Param("rows", (1, 2, 4, 8, 16)),
        Param("columns", (1, 2, 4, 8)),
        Param("lanes_m", LANES_M, absent=LANES),
        Param("warps", (1, 2, 3, 4, 6, 8)),
        Param("tile_n", (8, 16, 32, 64, 128, 256)),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
        grids.param(),
        Param("ahead", (0, 1), absent=0),
        Param("once", (0, 1), absent=0),
    ]


def rules(p: SegmentedProblem, device: Device) -> Iterator[Rule]:
    run, size = vectors(p)[2], p.dtype.itemsize
    yield Rule(
        "rows-whole",
        "hard",
        "a lane writes whole vectors of C",
        lambda rows: rows % np.minimum(run, rows) == 0,
    )
    yield Rule(
        "columns-whole",
        "hard",
        "a tile is made of whole turns",
        lambda tile_n, columns, lanes_m: tile_n % (columns * (LANES // lanes_m)) == 0,
    )
    yield Rule(
        "mma-lanes",
        "hard",
        "4 lanes along m have words of C, and all of a warp 16 columns",
        lambda mma, lanes_m, rows, columns: (
            (mma == 0) | ((lanes_m == MMA_LANES) & (rows * size % WORD == 0) & (columns % 2 == 0))
        ),
    )
    # Of few rows every lane has some before one has many.
    yield Rule(
        "wide-c",
        "soft",
        "the widest access that is aligned is the fastest",
        lambda rows: (rows >= min(run, MOST_ROWS // words(p))) | (rows_of(p) < FILLED),
    )

    def needed(rows: Any, columns: Any, mma: Any) -> Any:
        return registers(p, rows, columns, mma)

    def threads(warps: Any) -> Any:
        return LANES * warps

    yield limits.registers_per_thread(device, needed)

    def shared(warps: Any, tile_n: Any, mma: Any) -> Any:
        return shared_bytes(p, warps, tile_n, mma)

    yield limits.threads_per_block(device)
    yield limits.shared_per_block(device, shared, "columns of two tiles fit")
    yield from limits.resident_rules(
        device, threads, lambda rows, columns, warps, mma: LANES * warps * needed(rows, columns, mma), shared
    )
    yield limits.warps_enough(device)
    yield grids.rule(p, device, lambda rows, lanes_m, warps, tile_n: tiles(p, lanes_m * rows * warps, tile_n))
    yield Rule(
        "borders-twice",
        "soft",
        "blocks that end look at borders twice at most",
        lambda warps, per_block: (per_block == 0) | (entries(p) <= LOOKS * LANES * warps),
    )
