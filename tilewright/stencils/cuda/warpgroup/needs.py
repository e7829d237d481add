"""What the kernel of warpgroup derives from a config, in the same words: slices, shared memory, tiles.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tilewright.model import Config, Problem
from tilewright.stencils.cuda.common import WIDEST, units

BLOCK = 64
"""Columns of C of one product of tensor cores, and what tiles are multiples of."""
LINE = 128
"""Bytes of a swizzle: of a slice along k, and of a column of a box of C."""
LINES = 8
"""Lines after which a swizzle repeats."""
GROUPS = 2
"""Warp groups that multiply; one more loads."""
THREADS = 128 * (GROUPS + 1)
FLAGS = 128
"""Bytes that the flags of a workspace are a multiple of; each has eight."""
MOST_LINES = 192
"""Lines of a slice that warps that load hold in registers, five words of each 16 bytes."""
MOST_SUMS = 192
"""Accumulators of a thread, which leave 48 of its 240 registers."""


def slice_of(p: Problem) -> int:
    """Elements along k that come together, and rows of a box of C: a line."""
    return LINE // p.dtype.itemsize


def loose(p: Problem) -> tuple[bool, bool, bool]:
    """Whether columns of A, B and C begin elsewhere than at multiples of 16 bytes, where no map has them."""
    a, b, c = (unit < WIDEST for unit in units(p))
    return a, b, c


def lines(p: Problem, tile_m: Any, tile_n: Any, cluster_m: Any, cluster_n: Any) -> tuple[Any, Any]:
    """Lines that a block brings of a slice of A, and of B: those of its tile, or of its half of what two
    blocks share. Of an operand that runs along k, whose lines are rows of a tile (of B: columns), none of
    those come, eight at a time, that no tile has inside: copies that cross the end of a tensor are slow."""
    of_a, of_b = tile_m // cluster_n, tile_n // cluster_m
    loose_a, loose_b, _ = loose(p)
    whole_m, whole_n = -(-p.m // LINES) * LINES, -(-p.n // LINES) * LINES
    if p.transposed_a and not loose_a:
        of_a = np.where(cluster_n == 1, np.minimum(of_a, whole_m), of_a)
    if not p.transposed_b and not loose_b:
        of_b = np.where(cluster_m == 1, np.minimum(of_b, whole_n), of_b)
    return of_a, of_b


def turned_rows(p: Problem, tile_m: Any, tile_n: Any, lanes: Any, copied: Any) -> Any:
    """Lines of a slice that are turned: of float32 operands that run across k, are not copied along it, and
    do not come by lanes."""
    if p.dtype.itemsize == 2:
        return 0 * tile_m
    a, b = (0 if p.transposed_a else 1), (1 if p.transposed_b else 0)
    return a * (lanes != 2) * (copied != 2) * tile_m + b * (lanes != 1) * (copied != 1) * tile_n


def sides(tile_m: Any, tile_n: Any, lanes: Any) -> tuple[Any, Any]:
    """Rows and columns of a tile as tensor cores have it: its columns and rows, but by lanes of A."""
    return np.where(lanes == 2, tile_m, tile_n), np.where(lanes == 2, tile_n, tile_m)


def group_rows(tile_m: Any, tile_n: Any, ping_pong: Any, lanes: Any) -> Any:
    """Rows of tensor cores of a warp group."""
    return sides(tile_m, tile_n, lanes)[0] // np.where(np.asarray(ping_pong) > 0, 1, GROUPS)


def group_sums(tile_m: Any, tile_n: Any, ping_pong: Any) -> Any:
    """Elements of a tile whose sums a warp group holds."""
    return tile_m * tile_n // np.where(np.asarray(ping_pong) > 0, 1, GROUPS)


def gathered(sums: Any) -> Any:
    """Sums of another block that each thread asks for at once, of so many that it holds."""
    return np.where(sums <= 128, 32, 8)


def at_once(sums: Any) -> Any:
    """Other blocks whose sums each thread asks for at once."""
    return np.where(sums <= 64, 4, 1)


def stage_bytes(tile_m: Any, tile_n: Any) -> Any:
    """Bytes of a slice of A and of B."""
    return (tile_m + tile_n) * LINE


SHARED = ("tile_m", "tile_n", "stages", "outs", "ping_pong", "cluster_k")
"""Parameters that shared memory hangs on."""


def shared_bytes(
    tile_m: Any, tile_n: Any, stages: Any, outs: Any, ping_pong: Any = 0, cluster_k: Any = 1
) -> Any:
    """Shared memory of a block: the ring of slices, boxes of C of each group or sums of all blocks that share
    its slices, and barriers of 8 bytes."""
    boxes = GROUPS * outs
    joined = np.where(np.asarray(cluster_k) > 1, group_sums(tile_m, tile_n, ping_pong) * 4, 0)
    places = GROUPS * np.maximum(outs * BLOCK * LINE, joined)
    return stages * stage_bytes(tile_m, tile_n) + places + 8 * (3 * stages + boxes)


def clusters(blocks: Any, cluster_m: Any, cluster_n: Any, cluster_k: Any = 1) -> Any:
    """Clusters that so many blocks are at a time: those of four blocks and more leave SMs of each part of a
    GPU idle. Of 132 blocks these are 30 clusters of four (of 32 two wait for the others, and a product takes
    twice as long), and 14 of eight."""
    over, under = (np.where(np.asarray(cluster_k) > most, 1, 0) for most in (2, 4))
    filled = np.where(under, blocks * 6 // 7, np.where(over, blocks * 10 // 11, blocks))
    return np.maximum(filled, cluster_k) // (cluster_m * cluster_n * cluster_k)


def held_sums(tile_m: Any, tile_n: Any, ping_pong: Any, cluster_k: Any) -> Any:
    """Sums of each thread, those of all blocks of a cluster that share slices added."""
    return group_sums(tile_m, tile_n, ping_pong) // 128 // cluster_k


def tiles(p: Problem, tile_m: Any, tile_n: Any, cluster_m: Any = 1, cluster_n: Any = 1) -> Any:
    """Tiles of C, or of clusters."""
    return -(-p.m // (tile_m * cluster_m)) * -(-p.n // (tile_n * cluster_n))


def cut_tiles(all_tiles: Any, places: Any, cut: Any) -> Any:
    """Tiles that are cut, of so many that so many clusters of blocks share: none where all waves are full, or
    where the last one leaves no room for a second part of each."""
    rest = all_tiles % places
    both = rest + np.where(all_tiles > places, places, 0)
    some = np.where(cut == 1, both, np.where(2 * rest <= places, rest, 0))
    return np.where((rest == 0) | (cut == 0), 0, some)


def cut_share(cut_tiles_: Any, places: Any, cut: Any, slices: int) -> Any:
    """The most slices that a cluster of blocks has of the tiles that are cut: of all, or of each."""
    some = np.maximum(cut_tiles_, 1)
    parts = np.clip(places // some, 1, np.maximum(cut, 1))
    return np.where(cut == 1, -(-some * slices // places), -(-slices // parts))


def cut_workers(cut_tiles_: Any, places: Any, cut: Any, slices: int) -> Any:
    """Clusters of blocks that share the slices of the tiles that are cut; each has one at least."""
    parts = -(-slices // cut_share(cut_tiles_, places, cut, slices))
    return np.where(cut == 1, np.minimum(places, cut_tiles_ * slices), cut_tiles_ * parts)


TOGETHER, JOINED_TOGETHER = 8, 64
"""Workers of a tile at most, if one of them adds the sums of all others; else they add in teams. Of clusters
whose blocks share slices each block has but few sums."""


def added(workers: Any, cluster_k: Any = 1) -> tuple[Any, Any]:
    """How many sums of others, where so many share a tile, those add who add the most: of their team, and
    then, by the one that has the end of the tile, of those who added others."""
    together = np.where(np.asarray(cluster_k) > 1, JOINED_TOGETHER, TOGETHER)
    team = np.where(workers <= together, workers, np.ceil(np.sqrt(workers))).astype(int)
    team = np.maximum(team, 1)
    return team - 1, (np.maximum(workers, 1) - 1) // team


class Cut(NamedTuple):
    """What is cut: all tiles of clusters behind the first ``whole``, whose slices ``workers`` clusters share.
    Each has ``share`` of them, and the first ``longer`` one more. A tile is counted as ``counted`` slices, of
    which the last of its last part may not be there."""

    whole: int
    workers: int
    share: int
    longer: int
    counted: int


def clusters_of(c: Config) -> int:
    """The clusters that the blocks of a config are at a time."""
    return int(clusters(c["blocks"], c["cluster_m"], c["cluster_n"], c.get("cluster_k", 1)))


def cut_of(p: Problem, c: Config) -> Cut:
    """The tiles that a config cuts."""
    count = int(tiles(p, c["tile_m"], c["tile_n"], c["cluster_m"], c["cluster_n"]))
    at_once, slices = clusters_of(c), -(-p.k // slice_of(p))
    some = int(cut_tiles(count, at_once, c["cut"]))
    if some == 0:
        return Cut(count, 0, 0, 0, slices)
    workers = int(cut_workers(some, at_once, c["cut"], slices))
    if c["cut"] == 1:
        return Cut(count - some, workers, *divmod(some * slices, workers), slices)
    share = int(cut_share(some, at_once, c["cut"], slices))
    return Cut(count - some, workers, share, 0, share * (workers // some))


def workspace_bytes(c: Config, workers: int) -> int:
    """Bytes of the workspace for so many workers: flags, and then sums."""
    tiles_held = workers * c["cluster_m"] * c["cluster_n"]
    parts = 1 if c["ping_pong"] else GROUPS
    # Of blocks that share slices each has its part of the sums, and flags of its own.
    flags = -(-tiles_held * c.get("cluster_k", 1) * parts * 8 // FLAGS) * FLAGS
    return int(flags + tiles_held * c["tile_m"] * c["tile_n"] * 4)
