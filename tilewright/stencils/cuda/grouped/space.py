"""The space of grouped.cuh: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from tilewright.model import Device, GroupedProblem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.common import IN_FLIGHT
from tilewright.stencils.cuda.grouped.needs import (
    LINE,
    fixed_bytes,
    largest,
    registers,
    shared_bytes,
    words_of,
)

TEAMS = (1, 2, 4, 8)
WARPS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32)
_PER_SM = (1, 2, 3, 4)
DEPTHS = (2, 4)
_FULL = 1024
"""Bytes of shared memory that the device keeps of every block."""


def _rings(p: GroupedProblem, device: Device) -> tuple[int, ...]:
    """Rings of a whole SM shared by some blocks of some teams each, and one of the largest product alone."""
    return _rings_of(largest(p), device["shared_per_sm"], device["shared_per_block_optin"])


@cache
def _rings_of(least: int, per_sm: int, per_block: int) -> tuple[int, ...]:
    found = {least * count for count in (1, *DEPTHS)}
    for blocks in _PER_SM:
        block = min(per_sm // blocks - _FULL, per_block)
        for teams in WARPS:
            found |= {int(ring_of(block, teams, depth)) for depth in DEPTHS}
    return tuple(sorted(ring for ring in found if ring >= least))


def ring_of(block: int, teams: Any, depth: Any) -> Any:
    """The largest ring of so many teams in the shared memory of a block."""
    return np.maximum(0, (block - fixed_bytes(teams, depth)) // teams // LINE * LINE)


def params(p: GroupedProblem, device: Device) -> list[Param]:
    return [
        Param("bulk", (0, 1)),
        Param("rows", (1, 2, 3, 4)),
        Param("columns", (2, 4, 6, 8)),
        Param("deep", (1, 2, 4)),
        Param("fine", (0, 1, 2)),
        Param("mma", (0, 1)),
        Param("team", TEAMS),
        Param("warps", WARPS),
        Param("depth", DEPTHS),
        Param("ring", _rings(p, device)),
        Param("blocks", tuple(count * device["sms"] for count in _PER_SM)),
    ]


def rules(p: GroupedProblem, device: Device) -> Iterator[Rule]:
    bulk_copies, sms, least, words = "bulk_copy" in device.supports, device["sms"], largest(p), words_of(p)
    yield Rule(
        "bulk-device",
        "tabled",
        "the device has bulk copies (9.0 and above)",
        lambda bulk: (bulk == 0) | bulk_copies,
    )
    yield Rule(
        "bulk-better",
        "soft",
        "where there are bulk copies, they ask for less than copies by words",
        lambda bulk: (bulk == 1) | (not bulk_copies),
    )
    yield Rule(
        "tile-in-c",
        "soft",
        "a warp's tile is not larger than the largest C",
        lambda rows, columns: ((rows - 2 + rows % 2) * 8 < p.m) & ((columns - 2) * 4 < p.n),
    )
    yield Rule(
        "square",
        "soft",
        "a warp's tile is at most twice as long as it is wide, or as C asks for",
        lambda rows, columns: (
            (16 * rows >= np.minimum(4 * columns, p.m)) & (8 * columns >= np.minimum(8 * rows, p.n))
        ),
    )
    yield Rule(
        "mma-type",
        "hard",
        "tensor cores take float64 and 16 bits",
        lambda mma: (mma == 0) | (p.dtype.real_bits != 32),
    )
    yield Rule(
        "mma-tile",
        "hard",
        "a tile is whole tensor-core products of 16 rows and 8 columns",
        lambda rows, columns, mma: (mma == 0) | ((rows % 2 == 0) & (columns % 2 == 0)),
    )
    yield Rule(
        "mma-better",
        "soft",
        "tensor cores multiply where they can, for they read less of shared memory",
        lambda mma: (mma == 1) | (p.dtype.real_bits == 32),
    )
    yield Rule(
        "halves",
        "soft",
        "whole tiles and halves are enough, but for complex64, where arithmetic sets the pace",
        lambda fine: fine == int(p.dtype.letter == "c"),
    )
    yield Rule(
        "sums-fit",
        "soft",
        "a thread has 64 registers of sums at most",
        lambda rows, columns: rows * columns * words <= 64,
    )
    yield Rule(
        "reuse",
        "soft",
        "for large products, an element that is loaded is multiplied twice or more",
        lambda rows, columns: (min(p.m, p.n) < 16) | (rows * columns >= 2 * (rows + columns) - 4),
    )
    yield limits.registers_per_thread(device, lambda rows, columns: registers(p, rows, columns))
    yield limits.threads_per_block(device)
    yield Rule(
        "teams",
        "hard",
        "all warps of a block belong to whole teams",
        lambda team, warps: warps % team == 0,
    )
    yield Rule(
        "team-barriers",
        "hard",
        "a block has fifteen barriers for its teams",
        lambda team, warps: (team == 1) | (warps // team <= 15),
    )
    yield Rule(
        "team-work",
        "soft",
        "each warp of a team has four columns or more of the largest C",
        lambda team: (team == 1) | (p.n >= 4 * team),
    )
    yield Rule(
        "ring",
        "hard",
        "a team's ring has room for the largest product",
        lambda ring: ring >= least,
    )
    yield Rule(
        "ring-deep",
        "soft",
        "a ring is not so long that it could hold the largest product more often than it has places",
        lambda depth, ring: ring <= least * depth,
    )
    yield limits.shared_per_block(device, shared_bytes, "the rings fit")
    yield from limits.resident_rules(
        device,
        lambda warps: 32 * warps,
        lambda rows, columns, warps: 32 * warps * registers(p, rows, columns),
        shared_bytes,
    )
    yield limits.mma_registers(p, device, tall=1)
    yield Rule(
        "shared-used",
        "soft",
        "rings take three quarters of the shared memory of an SM, or have room for all that they may hold",
        lambda team, warps, depth, ring, blocks: (
            (4 * shared_bytes(team, warps, ring, depth) * (blocks // sms) >= 3 * device["shared_per_sm"])
            | (ring >= least * depth)
        ),
    )
    yield Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory, or full rings",
        lambda team, warps, ring, blocks: (
            (warps // team * ring * (blocks // sms) >= IN_FLIGHT) | (ring >= least * DEPTHS[-1])
        ),
    )
    yield limits.warps_enough(device)
