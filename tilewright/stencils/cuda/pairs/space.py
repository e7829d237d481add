"""The space of pairs: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import copies, cuts, limits
from tilewright.stencils.cuda.common import IN_FLIGHT
from tilewright.stencils.cuda.pairs.needs import (
    SLICE,
    clusters,
    copied_elements,
    group_columns,
    shared_bytes,
    turned,
)
from tilewright.stencils.cuda.warpgroup.needs import BLOCK, stage_bytes

TILE_M = (64, 128, 192)
TILE_N = (64, 128)
STAGES = (2, 3, 4, 5, 6, 8)
OUTS = (1, 2, 3)
BANDS = (1024, 2048, 4096)
CUTS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 22, 33)


def params(p: Problem, device: Device) -> list[Param]:
    return [
        Param("exchange", (0, 1)),
        Param("tile_m", TILE_M),
        Param("tile_n", TILE_N),
        Param("ping_pong", (0, 1)),
        Param("copied", (0, 1), absent=0),
        Param("behind", (0, 1), absent=0),
        Param("steps", (1, 2)),
        Param("cluster_m", (1, 2)),
        Param("cluster_n", (1, 2)),
        Param("stages", STAGES),
        Param("outs", OUTS),
        Param("overlap", (0, 1)),
        Param("band", BANDS),
        Param("backwards", (0, 1)),
        Param("blocks", (device["sms"],)),
        Param("cut", CUTS),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield Rule(
        "tile-n",
        "hard",
        "a warp group multiplies 64 columns",
        lambda tile_n, ping_pong: group_columns(tile_n, ping_pong) == 64,
    )
    yield Rule(
        "steps-sums",
        "hard",
        "fragments take registers of sums",
        lambda tile_m, steps: (tile_m <= 128) | (steps == 1),
    )
    yield Rule(
        "cluster",
        "hard",
        "two blocks share one operand",
        lambda cluster_m, cluster_n: cluster_m * cluster_n <= 2,
    )
    yield Rule(
        "turned-sums",
        "hard",
        "warps that turn take registers of sums",
        lambda exchange, tile_m, copied: (turned(p, exchange) == 0) | (copied == 1) | (tile_m <= 128),
    )
    yield Rule(
        "copied-across",
        "hard",
        "what runs along k comes as it lies",
        lambda exchange, copied: (copied == 0) | (turned(p, exchange) > 0),
    )
    yield limits.shared_per_block(device, shared_bytes, "the ring and places of C fit")
    yield from copies.rules(
        lambda exchange, copied: copied_elements(p, exchange, copied) <= copies.MOST,
        lambda copied, behind, tile_m: (behind == 0) | ((copied == 1) & (tile_m <= 128)),
    )
    least = min(int(turned(p, 0)), int(turned(p, 1)))
    yield Rule(
        "exchange-turned",
        "soft",
        "what need not be turned in shared memory is not",
        lambda exchange: turned(p, exchange) <= least,
    )

    def extents(exchange: Any) -> tuple[Any, Any]:
        """Rows and columns of the product that the kernel makes."""
        return p.m + exchange * (p.n - p.m), p.n + exchange * (p.m - p.n)

    yield Rule(
        "tile-in-m",
        "soft",
        "tiles of a cluster are not higher than C, but for what tensor cores ask for",
        lambda exchange, tile_m, cluster_m: tile_m * cluster_m < extents(exchange)[0] + BLOCK,
    )
    yield Rule(
        "tile-in-n",
        "soft",
        "tiles of a cluster are not wider than C, but for what tensor cores ask for",
        lambda exchange, tile_n, cluster_n: tile_n * cluster_n < extents(exchange)[1] + BLOCK,
    )
    yield Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory",
        lambda tile_m, tile_n, stages: (stages - 1) * stage_bytes(tile_m, tile_n) >= IN_FLIGHT,
    )
    slices = -(-p.k // SLICE)

    def waves(
        exchange: Any, tile_m: Any, tile_n: Any, cluster_m: Any, cluster_n: Any, blocks: Any
    ) -> tuple[Any, Any]:
        """Tiles of clusters, and how many there are at a time."""
        return clusters(p, exchange, tile_m, tile_n, cluster_m, cluster_n), blocks // (cluster_m * cluster_n)

    yield from cuts.rules(waves, lambda: slices)
