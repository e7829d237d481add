"""What the kernel of pairs derives from a config, in the same words: the product that it is asked for, shared
memory, parts of tiles.

What it has in common with ``warpgroup`` (the ring of slices, tiles and their parts) is said there. Sizes are
in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tilewright.model import Config, Problem
from tilewright.stencils.cuda.warpgroup.needs import BLOCK, GROUPS, LINE, Cut, cut_tiles, cut_workers, tiles

SLICE = 32
"""Elements along k that come together, and rows of a box of C: a line of 128 bytes."""


class Asked(NamedTuple):
    """The product that the kernel makes: of the problem, or of the transposes, whose operands are exchanged.
    ``first`` and ``second`` say which operand of the problem comes as its A and as its B."""

    m: int
    n: int
    first: int
    second: int
    first_along: bool
    """Whether stored columns of its A run along k."""
    second_along: bool


def asked_of(p: Problem, exchange: int) -> Asked:
    """The product that the kernel makes of a problem."""
    along = (p.transposed_a, not p.transposed_b)
    if exchange:
        return Asked(p.n, p.m, 1, 0, along[1], along[0])
    return Asked(p.m, p.n, 0, 1, along[0], along[1])


def turned(p: Problem, exchange: Any) -> Any:
    """Whether the operand in shared memory has to be turned."""
    return np.where(np.asarray(exchange) > 0, p.transposed_b, not p.transposed_a)


def group_columns(tile_n: Any, ping_pong: Any) -> Any:
    """Columns of a tile that a warp group has."""
    return tile_n // np.where(np.asarray(ping_pong) > 0, 1, GROUPS)


def stage_bytes(tile_m: Any, tile_n: Any) -> Any:
    """Bytes of a slice of A and of B."""
    return (tile_m + tile_n) * LINE


def shared_bytes(tile_m: Any, tile_n: Any, stages: Any, outs: Any) -> Any:
    """Shared memory of a block: the ring of slices, places of results of each group, and barriers."""
    places = GROUPS * outs
    return stages * stage_bytes(tile_m, tile_n) + places * BLOCK * LINE + 8 * (3 * stages + places)


def all_tiles(p: Problem, exchange: Any, tile_m: Any, tile_n: Any, cluster_m: Any, cluster_n: Any) -> Any:
    """Tiles of clusters."""
    straight = tiles(p, tile_m, tile_n, cluster_m, cluster_n)
    return np.where(np.asarray(exchange) > 0, tiles(p, tile_n, tile_m, cluster_n, cluster_m), straight)


def cut_of(p: Problem, c: Config) -> Cut:
    """The tiles that a config cuts."""
    cluster = c["cluster_m"] * c["cluster_n"]
    names = ("exchange", "tile_m", "tile_n", "cluster_m", "cluster_n")
    count = int(all_tiles(p, *(c[name] for name in names)))
    places, slices = c["blocks"] // cluster, -(-p.k // SLICE)
    some = int(cut_tiles(count, places, c["cut"]))
    if some == 0:
        return Cut(count, 0, 0, 0)
    workers = int(cut_workers(some, places, c["cut"], slices))
    return Cut(count - some, workers, *divmod(some * slices, workers))
