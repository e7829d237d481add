"""The space of whole: parameters, and the rules that prune them.

Sizes are in elements, pieces and shared memory in bytes. Functions on configs work on numbers and on NumPy
arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import grids, limits
from tilewright.stencils.cuda.whole.needs import direct, numbers, parts, registers, shared_bytes, turns

TILES = (8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 384, 512, 768, 1024)
ROWS = (16, 32, 48, 64, 80, 96, 112, 128)
COLUMNS = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128)
WARPS = (1, 2, 3, 4, 6, 8, 12, 16)
PIECES = (2048, 4096, 8192, 16384, 32768)
STAGES = (1, 2, 3, 4, 6, 8)
PER_SM = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)


def params(p: Problem, device: Device) -> list[Param]:
    return [
        Param("tile", TILES),
        Param("rows", ROWS),
        Param("columns", COLUMNS),
        Param("warps", WARPS),
        Param("piece", PIECES),
        Param("stages", STAGES),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
        grids.param(),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_part(p, device)
    yield from _of_the_sm(p, device)


def _of_the_part(p: Problem, device: Device) -> Iterator[Rule]:
    """What of C is computed together, how large a part a warp computes, and how many of them there are."""
    pair = numbers(p)
    yield Rule(
        "tile-of-b",
        "hard",
        "the columns of a tile are neighbours in B",
        lambda tile: (tile >= p.n) | (not p.transposed_b),
    )
    yield Rule(
        "tile-direct",
        "hard",
        "matrices that are multiplied from where they come are whole",
        lambda tile: (tile >= p.n) | (not direct(p)),
    )
    yield Rule(
        "piece-once",
        "hard",
        "where there are no pieces their size has one name",
        lambda piece: (piece == PIECES[0]) | (not direct(p)),
    )
    least = min(tile for tile in TILES if tile >= min(p.n, TILES[-1]))
    # Of a C with fewer rows or columns than a product of tensor cores all of such a product is counted.
    covered = max(pair * p.m, ROWS[0]) * max(p.n, COLUMNS[0])
    yield Rule("tile-once", "hard", "a longer tile is another name of all of C", lambda tile: tile <= least)
    yield Rule(
        "part-in-m",
        "soft",
        "a part is not higher than C, but for what tensor cores ask for",
        lambda rows: rows < pair * p.m + 16,
    )
    yield Rule(
        "part-in-n",
        "soft",
        "a part is not wider than C, but for what tensor cores ask for",
        lambda columns: columns < p.n + 8,
    )
    yield Rule(
        "sums-fit",
        "soft",
        "a thread has 128 sums at most",
        lambda rows, columns: pair * rows * columns <= 4096,
    )
    yield limits.registers_per_thread(device, lambda rows, columns: registers(rows, columns, pair))
    yield Rule(
        "busy",
        "soft",
        "three warps in four have a part, or more",
        lambda tile, rows, columns, warps: (
            4 * parts(p, tile, rows, columns) >= 3 * warps * turns(p, tile, rows, columns, warps)
        ),
    )
    yield Rule(
        "full",
        "soft",
        "C is half of what its parts cover, or more",
        lambda tile, rows, columns: (
            -(-p.n // np.minimum(tile, p.n)) * parts(p, tile, rows, columns) * rows * columns <= 2 * covered
        ),
    )


def _of_the_sm(p: Problem, device: Device) -> Iterator[Rule]:
    """What an SM holds, and what keeps it busy."""
    yield limits.threads_per_block(device, lambda warps: 32 * warps + 32)

    def shared(tile: Any, rows: Any, columns: Any, warps: Any, piece: Any, stages: Any) -> Any:
        return shared_bytes(p, tile, rows, columns, warps, stages, piece)

    yield limits.shared_per_block(device, shared, "the ring, the operands and C fit")
    yield from limits.resident_rules(
        device,
        lambda warps: 32 * warps + 32,
        lambda rows, columns, warps: (32 * warps + 32) * registers(rows, columns, numbers(p)),
        shared,
    )
    yield limits.warps_enough(device)
    yield grids.rule(p, device, lambda: p.batch)
