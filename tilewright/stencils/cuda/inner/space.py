"""The space of inner: parameters, and the rules that prune them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.common import WIDEST
from tilewright.stencils.cuda.inner.needs import (
    GRAIN,
    PATHS,
    inside,
    long,
    parts,
    registers,
    shared_bytes,
    stage_bytes,
    team,
    tiles,
    words_of_sum,
)
from tilewright.stencils.cuda.tiny.space import sides

TILES = (32, 64, 128, 256)
"""Rows or columns of a tile where C is long."""
DEPTHS = (8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
PER_SM = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
SPREADS = (1, 2, 3, 4, 6, 8, 12, 14, 16, 24, 28, 32, 48, 56, 64, 96, 128)
"""Clusters that share a tile through a workspace."""
SPLITS = (1, 2, 4, 8)
"""Blocks of a cluster: as many as every device with clusters runs."""
MOST = 8
"""Rows or columns of a part of a long vector."""
OF_LONG = (1, 2, 4, MOST, 16, 32, 64)
"""Rows (columns) of a part where C has several columns (rows), and is long."""


def params(p: Problem, device: Device) -> list[Param]:
    of_long = OF_LONG[: OF_LONG.index(MOST) + 1] if min(p.m, p.n) == 1 else OF_LONG
    return [
        Param("path", PATHS),
        Param("mma", (0, 8, 16)),
        Param("tile", TILES if long(p) else (0,)),
        Param("depth", DEPTHS),
        Param("rows", of_long if long(p) == 1 else sides(p.m)),
        Param("columns", of_long if long(p) == 2 else sides(p.n)),
        Param("warps", (1, 2, 3, 4, 6, 8)),
        Param("stages", (2, 3, 4, 6, 8)),
        Param("split", SPLITS),
        Param("spread", SPREADS, absent=1),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_path(device)
    yield from _of_the_part(p, device)
    yield from _of_the_slab(p)
    yield from _of_the_sm(p, device)


def _of_the_path(device: Device) -> Iterator[Rule]:
    """How slabs come into shared memory, and of how many blocks."""
    yield limits.bulk_device(device)
    yield limits.clusters(device)


def _of_the_part(p: Problem, device: Device) -> Iterator[Rule]:
    """What tensor cores take, and how large a part of a tile a thread or a warp computes."""
    words = words_of_sum(p)
    yield from limits.tensor_cores(p, device)
    yield Rule(
        "mma-matrix",
        "soft",
        "tensor cores multiply matrices, not vectors",
        lambda mma: (mma == 0) | (min(p.m, p.n) > 1),
    )
    yield Rule(
        "sums-fit",
        "soft",
        "a thread has 128 registers of sums at most",
        lambda mma, rows, columns: rows * columns * words <= 128 * (1 + 31 * (mma != 0)),
    )
    yield limits.registers_per_thread(device, lambda mma, rows, columns: registers(p, mma, rows, columns))
    yield Rule(
        "teams",
        "hard",
        "a block is whole teams of warps, each of which has all of a tile",
        lambda mma, tile, rows, columns, warps: warps % team(p, mma, tile, rows, columns) == 0,
    )
    yield Rule(
        "busy",
        "soft",
        "three lanes in four have a part",
        lambda mma, tile, rows, columns: (mma != 0) | (_lanes(p, mma, tile, rows, columns) >= 0.75),
    )


def _lanes(p: Problem, mma: Any, tile: Any, rows: Any, columns: Any) -> Any:
    """The part of the lanes of a team that have something to do."""
    whole = 32 * team(p, mma, tile, rows, columns)
    return parts(p, tile, rows, columns) * inside(p, mma, tile, rows, columns) / whole


def _of_the_slab(p: Problem) -> Iterator[Rule]:
    """How deep a slab is."""
    size = p.dtype.itemsize
    enough = min(depth for depth in DEPTHS if depth >= min(p.k, DEPTHS[-1]))
    yield Rule(
        "whole-words",
        "hard",
        "pieces of k are whole words of 16 bytes",
        lambda depth: (depth < GRAIN) * (depth * size % WIDEST) == 0,
    )
    yield Rule(
        "split-in-k",
        "soft",
        "every block that shares a tile has slabs, as many as the ring has stages",
        lambda depth, stages, split, spread: (split * spread == 1) | (depth * stages * split * spread <= p.k),
    )
    yield Rule(
        "spread-idle",
        "soft",
        "clusters share a tile where the blocks of the grid have one part of a tile each, or none",
        lambda tile, split, spread, blocks: (spread == 1) | (tiles(p, tile) * split * spread <= blocks),
    )
    yield Rule("depth-in-k", "soft", "a slab is not deeper than k", lambda depth: depth <= enough)
    yield Rule(
        "mma-depth",
        "soft",
        "a slab has whole steps of tensor cores of 16 bits",
        lambda mma, depth: (mma == 0) | (depth % 16 == 0) | (size > 4),
    )


def _of_the_sm(p: Problem, device: Device) -> Iterator[Rule]:
    """What an SM holds, and what keeps its memory and its schedulers busy."""

    def shared(
        path: Any, mma: Any, tile: Any, depth: Any, rows: Any, columns: Any, warps: Any, stages: Any
    ) -> Any:
        return shared_bytes(p, path, mma, tile, depth, rows, columns, warps, stages)

    yield limits.threads_per_block(device)
    yield limits.shared_per_block(device, shared, "the ring and the sums fit")
    yield from limits.resident_rules(
        device,
        lambda warps: 32 * warps,
        lambda mma, rows, columns, warps: 32 * warps * registers(p, mma, rows, columns),
        shared,
    )
    yield limits.mma_registers(p, device)
    yield limits.in_flight(
        device,
        lambda mma, tile, depth, rows, columns, stages: (
            stage_bytes(p, mma, tile, depth, rows, columns) * (stages - 1)
        ),
    )
    yield limits.warps_enough(device)
