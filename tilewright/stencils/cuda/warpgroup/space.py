"""The space of warpgroup: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import copies, cuts, limits
from tilewright.stencils.cuda.common import IN_FLIGHT
from tilewright.stencils.cuda.warpgroup.needs import (
    BLOCK,
    MOST_LINES,
    MOST_SUMS,
    clusters,
    group_rows,
    group_sums,
    loose,
    shared_bytes,
    slice_of,
    stage_bytes,
    tiles,
)

TILE_M = (64, 128, 192, 256)
TILE_N = (64, 128, 256)
STAGES = (2, 3, 4, 5, 6, 8)
OUTS = (1, 2, 3)
BANDS = (256, 1024, 2048, 2560, 4096)
CUTS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 22, 33, 66, 132)


def params(p: Problem, device: Device) -> list[Param]:
    # What comes by threads comes to one block.
    shared = (1,) if any(loose(p)) else (1, 2)
    return [
        Param("tile_m", TILE_M),
        Param("tile_n", TILE_N),
        Param("ping_pong", (0, 1)),
        Param("cluster_m", shared),
        Param("cluster_n", shared),
        Param("cluster_k", (1, 2, 4, 8) if p.dtype.itemsize == 2 else (1,), absent=1),
        Param("stages", STAGES),
        Param("outs", OUTS),
        Param("overlap", (0, 1)),
        Param("band", BANDS),
        Param("backwards", (0, 1)),
        Param("blocks", (device["sms"],)),
        Param("cut", CUTS, absent=0),
        Param("lanes", (0, *by_lanes(p)), absent=0),
        Param("copied", (0, *by_lanes(p)), absent=0),
        Param("behind", (0, 1) if by_lanes(p) else (0,), absent=0),
    ]


def by_lanes(p: Problem) -> tuple[int, ...]:
    """Values of ``lanes`` and of ``copied`` for the operands of float32 that run across k: 1 is B, 2 is A."""
    if p.math != "tf32":
        return ()
    return (1,) * p.transposed_b + (2,) * (not p.transposed_a)


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield Rule(
        "rows",
        "hard",
        "a warp group multiplies 64 rows of tensor cores at once, and 128 at most",
        lambda tile_m, tile_n, ping_pong, lanes: (
            (group_rows(tile_m, tile_n, ping_pong, lanes) == 64)
            | (group_rows(tile_m, tile_n, ping_pong, lanes) == 128)
        ),
    )
    yield Rule(
        "sums",
        "hard",
        "a warp group holds no more than 192 of each thread",
        lambda tile_m, tile_n, ping_pong: group_sums(tile_m, tile_n, ping_pong) <= 128 * MOST_SUMS,
    )
    yield Rule(
        "cluster",
        "hard",
        "two blocks share one operand",
        lambda cluster_m, cluster_n: cluster_m * cluster_n <= 2,
    )

    def once(tile_m: Any, tile_n: Any, cluster_k: Any, blocks: Any, cut: Any) -> Any:
        fit = tiles(p, tile_m, tile_n) <= clusters(blocks, 1, 1, cluster_k)
        return (cluster_k == 1) | (fit & (cut != 1))

    yield Rule(
        "joined",
        "hard",
        "blocks that share the slices of a tile share no operand",
        lambda cluster_m, cluster_n, cluster_k: (cluster_k == 1) | (cluster_m * cluster_n == 1),
    )
    yield Rule(
        "joined-sums",
        "hard",
        "a warp group holds no more than 64 sums of each thread that other blocks add",
        lambda tile_m, tile_n, ping_pong, cluster_k: (
            (cluster_k == 1) | (group_sums(tile_m, tile_n, ping_pong) <= 64 * 128)
        ),
    )
    yield Rule(
        "loose-sums",
        "hard",
        "a warp group holds no more than 64 sums of each thread that threads store",
        lambda tile_m, tile_n, ping_pong: (
            (not any(loose(p))) | (group_sums(tile_m, tile_n, ping_pong) <= 64 * 128)
        ),
    )
    loose_a, loose_b, _ = loose(p)
    yield Rule(
        "loose-lines",
        "hard",
        "warps that load hold no more than 192 lines of a slice",
        lambda tile_m, tile_n: loose_a * tile_m + loose_b * tile_n <= MOST_LINES,
    )
    yield Rule(
        "joined-once",
        "queryable",
        "each cluster whose blocks share slices has a part of one tile",
        once,
    )
    yield Rule(
        "halves",
        "hard",
        "each block brings whole boxes",
        lambda tile_m, tile_n, cluster_m, cluster_n: (
            (tile_m % (BLOCK * cluster_n) == 0) & (tile_n % (BLOCK * cluster_m) == 0)
        ),
    )
    yield Rule(
        "lanes-sums",
        "hard",
        "fragments take registers of sums",
        lambda tile_m, tile_n, ping_pong, lanes: (
            (lanes == 0) | (group_sums(tile_m, tile_n, ping_pong) <= 128 * 128)
        ),
    )
    yield Rule(
        "copied-lanes",
        "hard",
        "what comes into registers is not copied",
        lambda lanes, copied: (lanes == 0) | (lanes != copied),
    )
    across = (copies.OF_A,) * (not p.transposed_a) + (copies.OF_B,) * p.transposed_b

    def idle(tile_m: Any, tile_n: Any, ping_pong: Any, lanes: Any, copied: Any, behind: Any) -> Any:
        found = (copied > 0) & (group_sums(tile_m, tile_n, ping_pong) <= 128 * 128)
        for operand in across:
            found = found & ((lanes == operand) | (copied == operand))
        return (behind == 0) | found

    yield from copies.rules(lambda copied: copies.elements(p.m, p.n, p.k, copied) <= copies.MOST, idle)
    yield limits.shared_per_block(device, shared_bytes, "the ring and boxes of C fit")
    yield Rule(
        "tile-in-m",
        "soft",
        "tiles of a cluster are not higher than C, but for what tensor cores ask for",
        lambda tile_m, cluster_m: tile_m * cluster_m < p.m + BLOCK,
    )
    yield Rule(
        "tile-in-n",
        "soft",
        "tiles of a cluster are not wider than C, but for what tensor cores ask for",
        lambda tile_n, cluster_n: tile_n * cluster_n < p.n + BLOCK,
    )
    yield Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory",
        lambda tile_m, tile_n, stages: (stages - 1) * stage_bytes(tile_m, tile_n) >= IN_FLIGHT,
    )
    yield Rule(
        "band-tile",
        "soft",
        "a band has whole tiles of clusters",
        lambda tile_n, cluster_n, band: band % (tile_n * cluster_n) == 0,
    )
    slices = -(-p.k // slice_of(p))

    def waves(
        tile_m: Any, tile_n: Any, cluster_m: Any, cluster_n: Any, cluster_k: Any, blocks: Any
    ) -> tuple[Any, Any]:
        """Tiles of clusters, and how many there are at a time."""
        at_once = clusters(blocks, cluster_m, cluster_n, cluster_k)
        return tiles(p, tile_m, tile_n, cluster_m, cluster_n), at_once

    yield from cuts.rules(waves, lambda: slices)
