"""The space of whole: parameters, and the rules that prune them.

Sizes are in elements, pieces and shared memory in bytes. Functions on configs work on numbers and on NumPy
arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.whole.needs import parts, registers, shared_bytes, turns

TILES = (32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256)
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
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_part(p, device)
    yield from _of_the_sm(p, device)


def _of_the_part(p: Problem, device: Device) -> Iterator[Rule]:
    """What of C is computed together, how large a part a warp computes, and how many of them there are."""
    yield Rule(
        "tile-of-b",
        "hard",
        "the columns of a tile are neighbours in B",
        lambda tile: (tile >= p.n) | (not p.transposed_b),
    )
    least = min(tile for tile in TILES if tile >= min(p.n, TILES[-1]))
    yield Rule("tile-once", "hard", "a longer tile is another name of all of C", lambda tile: tile <= least)
    yield Rule(
        "part-in-m",
        "soft",
        "a part is not higher than C, but for what tensor cores ask for",
        lambda rows: rows < p.m + 16,
    )
    yield Rule(
        "part-in-n",
        "soft",
        "a part is not wider than C, but for what tensor cores ask for",
        lambda columns: columns < p.n + 8,
    )
    yield Rule(
        "sums-fit", "soft", "a thread has 128 sums at most", lambda rows, columns: rows * columns <= 4096
    )
    yield Rule(
        "registers-per-thread",
        "tabled",
        "the registers that the loop cannot do without can be addressed",
        lambda rows, columns: registers(rows, columns) <= device["registers_per_thread"],
    )
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
            -(-p.n // np.minimum(tile, p.n)) * parts(p, tile, rows, columns) * rows * columns <= 2 * p.m * p.n
        ),
    )


def _of_the_sm(p: Problem, device: Device) -> Iterator[Rule]:
    """What an SM holds, and what keeps it busy."""
    yield Rule(
        "threads-per-block",
        "queryable",
        "a block has no more threads than the device allows",
        lambda warps: 32 * warps + 32 <= device["threads_per_block"],
    )
    yield Rule(
        "shared-per-block",
        "queryable",
        "the ring, the operands and C fit in the shared memory that a block may ask for",
        lambda tile, rows, columns, warps, piece, stages: (
            shared_bytes(p, tile, rows, columns, warps, stages, piece) <= device["shared_per_block_optin"]
        ),
    )
    yield from limits.resident_rules(
        device,
        lambda warps: 32 * warps + 32,
        lambda rows, columns, warps: (32 * warps + 32) * registers(rows, columns),
        lambda tile, rows, columns, warps, piece, stages: shared_bytes(
            p, tile, rows, columns, warps, stages, piece
        ),
    )
    yield Rule(
        "warps-enough",
        "soft",
        "an SM has a warp for each of its four schedulers",
        lambda warps, blocks: warps * (blocks // device["sms"]) >= 4,
    )
