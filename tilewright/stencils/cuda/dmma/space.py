"""The space of dmma: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import cuts, limits
from tilewright.stencils.cuda.common import IN_FLIGHT
from tilewright.stencils.cuda.dmma.needs import (
    MOST_SUMS,
    WARPS,
    left_is_a,
    left_right,
    left_rows,
    lies_along,
    loose,
    most_registers,
    numbers,
    registers,
    right_columns,
    shared_bytes,
    stage_bytes,
    tiles,
    unit,
)

TILES = (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256)
"""Some of them fill waves that powers of 2 leave empty."""
TALL = 3
"""Products of 16 rows, times the blocks of a cluster: with four ptxas of CUDA 13.0 spills."""
STAGES = (2, 3, 4, 5, 6, 7, 8)
FEW_SLICES, LOOSE_SLICES, COMPLEX_SLICES = 16, 32, 24
"""Slices of a tile from which on equal lengths for all blocks pay, of real numbers; where these come one by
one; of complex numbers. With fewer real defaults that cut so made 0.84 to 0.97 of cuBLAS (81 products on an
H200), and those that cut nothing 0.99 to 1.53 (86 products); complex ones made 0.75 to 1.86, in the mean
1.12, and 1.38 by the best config that cuts nothing so (24 products, of which 20 gained)."""
BANDS = (128, 1024, 2048, 4096)


def params(p: Problem, device: Device) -> list[Param]:
    # What comes number by number comes to one block.
    shared = (1,) if any(loose(p)[:2]) else (1, 2)
    return [
        Param("tile_m", TILES),
        Param("tile_n", TILES),
        Param("warps_m", (1, 2, 4, 8)),
        Param("mma_k", (8, 16)),
        Param("depth", (unit(p), 2 * unit(p))),
        Param("stages", STAGES),
        Param("cluster_m", shared),
        Param("cluster_n", shared),
        Param("band", BANDS),
        Param("backwards", (0, 1)),
        Param("blocks", (device["sms"],)),
        Param("cut", cuts.CUTS if p.batch == 1 else (0,)),
        Param("overlap", (0, 1), absent=0),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    parts, most = numbers(p), most_registers(p)
    down, across = left_right(p) if left_is_a(p) else left_right(p)[::-1]
    yield Rule(
        "sums",
        "hard",
        "a thread holds no more than 64",
        lambda tile_m, tile_n: tile_m * tile_n * parts <= MOST_SUMS * 32 * WARPS,
    )
    yield Rule(
        "warp-tile",
        "hard",
        "a warp has whole products of 16 rows and 8 columns",
        lambda tile_m, tile_n, warps_m: (
            (tile_m % (down * warps_m) == 0) & (tile_n % (across * (WARPS // warps_m)) == 0)
        ),
    )
    yield Rule(
        "steps",
        "hard",
        "fragments are in two places by turns, so a slice has two products along k",
        lambda mma_k, depth: depth * parts >= 2 * mma_k,
    )
    yield Rule(
        "cluster",
        "hard",
        "two blocks share one operand",
        lambda cluster_m, cluster_n: cluster_m * cluster_n <= 2,
    )
    yield Rule(
        "shares",
        "hard",
        "blocks of a cluster bring 16 lines at a time",
        lambda tile_m, tile_n, cluster_m, cluster_n: (
            (tile_m % (16 * cluster_n) == 0) & (tile_n % (16 * cluster_m) == 0)
        ),
    )
    yield Rule(
        "registers",
        "tabled",
        "sums and fragments fit in the registers that a thread gets of the warps that load",
        lambda tile_m, tile_n, warps_m, mma_k: registers(p, tile_m, tile_n, warps_m, mma_k) <= most,
    )
    yield limits.shared_per_block(
        device,
        lambda tile_m, tile_n, depth, stages: shared_bytes(p, tile_m, tile_n, depth, stages),
        "the ring fits",
    )
    yield Rule(
        "tile-in-m",
        "soft",
        "tiles of a cluster are not higher than C, but for the smallest",
        lambda tile_m, cluster_m: tile_m * cluster_m < p.m + TILES[0],
    )
    yield Rule(
        "tile-in-n",
        "soft",
        "tiles of a cluster are not wider than C, but for the smallest",
        lambda tile_n, cluster_n: tile_n * cluster_n < p.n + TILES[0],
    )
    # Complex numbers of which both operands lie across k leave a register less where sums meet.
    low = TALL - (parts > 1 and lies_along(p) == (False, False))
    yield Rule(
        "tall",
        "soft",
        "a warp with products of 8 columns alone has few of 16 rows, or the compiler finds no registers",
        lambda tile_m, tile_n, warps_m, cluster_m, cluster_n, cut: (
            (right_columns(p, tile_m, tile_n, warps_m) > 1)
            | (
                left_rows(p, tile_m, tile_n, warps_m) * cluster_m * cluster_n
                <= TALL * (cut == 0) + low * (cut > 0)
            )
        ),
    )
    yield Rule(
        "seven",
        "soft",
        "a warp whose numbers come one by one has no seven products of 8 columns and one of 16 rows of tiles "
        "that are cut, or the compiler finds no registers",
        lambda tile_m, tile_n, warps_m, cut: (
            (cut == 0)
            | (not any(loose(p)[:2]))
            | (right_columns(p, tile_m, tile_n, warps_m) != 7)
            | (left_rows(p, tile_m, tile_n, warps_m) != 1)
        ),
    )
    yield Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory",
        lambda tile_m, tile_n, depth, stages: (
            (stages - 1) * stage_bytes(p, tile_m, tile_n, depth) >= IN_FLIGHT
        ),
    )

    def waves(tile_m: Any, tile_n: Any, cluster_m: Any, cluster_n: Any, blocks: Any) -> tuple[Any, Any]:
        """Tiles of clusters, and how many there are at a time."""
        return tiles(p, tile_m, tile_n, cluster_m, cluster_n), blocks // (cluster_m * cluster_n)

    yield from cuts.rules(waves, lambda depth: -(-p.k // depth))
    few = COMPLEX_SLICES if parts > 1 else LOOSE_SLICES if any(loose(p)[:2]) else FEW_SLICES
    yield Rule(
        "cut-equal",
        "soft",
        f"tiles that are cut in equal lengths have {few} slices or more",
        lambda cut, depth: (cut != 1) | (-(-p.k // depth) >= few),
    )
