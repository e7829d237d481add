"""The choice without a search: a cost model of the kernel of warpgroup.

It says how many clocks of an SM a product takes with each config of the space; the rules say which of them
may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda import copies, cuts
from tilewright.stencils.cuda.warpgroup.needs import (
    LINE,
    added,
    at_once,
    clusters,
    cut_tiles,
    cut_workers,
    gathered,
    group_sums,
    held_sums,
    loose,
    sides,
    slice_of,
    stage_bytes,
    tiles,
    turned_rows,
)

Columns = Mapping[str, Any]
SETTLED = {"band": 2048, "backwards": 1}
"""What was best or level with the best for all tiles."""
SHALLOW, NARROW_BAND = 128, 256
"""k up to which little more than C is moved, and the band that is then faster: beside 2048 by 4 to 9 in a
hundred for 8192 x 8192 and k of 32 to 128 on an H200, beside 1024 by 0 to 4."""
RATE = 4096
"""Bytes of factors along k that an SM multiplies in a clock: 2,048 halves, 1,024 of tf32."""
POWER = 1.15
"""Times longer that products of random numbers take in a GPU that is busy. This and all below is from some
250 products of 3 us to 4 ms on an H200, in clocks of 1.98 GHz: half are within 6 % of what the model says."""
BANKS = 128
"""Bytes of shared memory that an SM moves in a clock."""
BUSY = 1.05
"""Times longer than the banks need."""
TURNS, FULL_TURNS, NARROW_TURNS, LANES_TURNS = 0.96, 1.15, 1.36, 1.6
"""The same of groups in turns, of which neither waits for its products: where a thread has 128 sums at most,
more, and where each group multiplies 64 rows of tensor cores; and of groups that wait, for products read what
lanes hold."""
SHARED = 42
"""Bytes that the second-level cache brings to each SM in a clock, where all ask."""
SMALL, CACHED = 8e6, 64
"""Bytes of operands that both halves of that cache soon have, and what it brings of these: 512 and 1024."""
ASTRIDE, APART = 1.54, 1.14
"""Times more of these where columns begin inside lines of memory: of blocks that share, of those that share
nothing."""
CROSSED, CROSSED_ASKEW = 12, 4.7
"""Lines of boxes that are not all inside of an operand that runs across k that all blocks get in a clock: of
columns that begin at multiples of 32 bytes, and of others. Extents of 16, 24 and 136."""
SECTOR = 32
"""Bytes that device memory brings at least."""
WEIGHED = 2000
"""Bytes brought to an SM for which a clock is counted, whatever the limit is: blocks that share are faster by
a hundredth, and need less power."""
LATENCY = 2250
"""Clocks from asking for a slice to having it."""
READ = 20000
"""Bytes that tensor cores read from shared memory for which a clock is counted: what tells tiles apart that
differ in nothing else."""
STORED = 11
"""Bytes of C that a block rounds and stores in a clock."""
BEGUN = 4900
"""Clocks of a launch and of the first slice of a block."""
BEHIND, TOGETHER = 1100, 1900
"""Clocks more where blocks do not make ready while the kernel before this one ends, and more of clusters."""
PAIRED = 1500
"""Clocks more of clusters where operands are so small: 0.7 to 1.2 us more than blocks alone took of 512 and
1024."""
BESIDE = 0.002
"""Of the time of a product, what blocks that make ready take from the kernel before them."""
MEMORY, WRITTEN = 2000, 1200
"""Bytes that device memory moves in a clock, and takes of a C that is larger than the cache."""
FARTHER = 3500
"""Bytes that come in a clock where blocks are at different k: some of it is still in the cache."""
KEEPS = 40e6
"""Bytes that the second-level cache still has when they are asked for again."""
MET = 3000
"""Bytes of sums that all blocks together store into the second-level cache, or load from it, in a clock."""
CALLED = 800
"""Clocks from asking for sums to having them."""
TOLD = 4500
"""Clocks for which a block waits that adds the sums of others. This and ``JOINED`` are from 560 configs of 45
products with few tiles on an H200: fitted to every other product, what the model chooses is within 0.6 % of
the best in the mean there, and within 0.5 % of the others."""
LOOSE_SLICE = 2200
"""Clocks of a slice that comes through registers: the next one is asked for when this one is stored. With
this the model chose well of 190 configs of 53 products; slices take some 3,000."""
JOINED = {1: 0, 2: 2000, 4: 3400, 8: 5500}
"""Clocks that a cluster of so many blocks takes longer that share the slices of a tile: to begin, and to add
their sums."""
UNSURE = 1.02
"""Times longer that a product with cut tiles is taken to last, for all that is not known of it."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    found = liked(space, p, device, 1)
    if not found:
        raise AssertionError(f"no config of warpgroup fits {p.key}, which it accepts")
    return found[0]


def liked(space: Space, p: Problem, device: Device, count: int) -> list[Config]:
    """So many of the cheapest, as ``cuts.liked`` tells them apart."""
    settled = SETTLED | ({"band": NARROW_BAND} if p.k <= SHALLOW else {})
    return cuts.liked(space, settled, lambda columns: clocks(p, device, columns), count)


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a product: waves of tiles, each as long as its products and what these wait for."""
    tile_m, tile_n = columns["tile_m"], columns["tile_n"]
    cluster_m, cluster_n, overlap = columns["cluster_m"], columns["cluster_n"], columns["overlap"]
    shared = cluster_m * cluster_n
    joined = columns["cluster_k"]
    count = tiles(p, tile_m, tile_n, cluster_m, cluster_n)
    places = clusters(columns["blocks"], cluster_m, cluster_n, joined)
    cut = cut_tiles(count, places, columns["cut"])
    slices = -(-p.k // slice_of(p))
    workers = np.maximum(cut_workers(cut, places, columns["cut"], slices), 1)
    active = np.minimum(np.maximum(count, workers) * shared * joined, columns["blocks"])
    slice_clocks = _of_slice(p, columns, count * shared, active)
    stored = p.dtype.itemsize * tile_m * tile_n * (1 + (p.beta != "0")) / STORED
    stored = stored / np.minimum(columns["outs"], 2) ** 0.25
    width = np.abs(np.log2(columns["band"] / 2048))
    order = 1 + 0.004 * width - 0.004 * columns["backwards"]
    # One group stores while the other one multiplies, all tiles but the last.
    waves = -(-(count - cut) // places)
    turns = columns["ping_pong"] > 0
    whole = (
        waves * -(-slices // joined) * slice_clocks + np.where(turns, np.minimum(waves, 1), waves) * stored
    )
    # Who has a part of a cut tile makes its share of the slices and stores sums or, with those of others, C.
    share = -(-cut * slices // workers)
    fronts = np.where(
        columns["cut"] == 1, _fronts(cut, workers), np.maximum(workers // np.maximum(cut, 1), 1)
    )
    rows, across = _touched(p, columns, cut * shared * tile_m * tile_n)
    scattered = np.minimum(
        fronts * (rows + across), workers * shared * (tile_m / cluster_n + tile_n / cluster_m)
    )
    far = scattered * LINE / FARTHER if (p.m + p.n) * p.k * p.dtype.itemsize > KEEPS else 0 * scattered
    part = np.where(
        cut > 0,
        -(-share // joined) * np.maximum(slice_clocks, far) + stored * np.maximum(1, share / slices),
        0,
    )
    # All shares but those that end with a tile are for others at their ends.
    ended = np.where(columns["cut"] == 1, np.gcd(np.asarray(cut, int), np.asarray(workers, int)), cut)
    given = np.where(cut > 0, workers - ended, 0)
    met = 2 * given * shared * tile_m * tile_n * 4 / MET
    # So many turns of loads, each for some sums of each thread and of some blocks.
    near, far = added(np.where(given > 0, -(-workers // np.maximum(cut, 1)), 1), joined)
    sums = group_sums(tile_m, tile_n, columns["ping_pong"]) // 128
    held = held_sums(tile_m, tile_n, columns["ping_pong"], joined)
    loads = np.where(
        joined > 1,
        -(-np.maximum(near + far, 1) * held // 64),
        sums // gathered(sums) * -(-np.maximum(near + far, 1) // at_once(sums)),
    )
    added_up = np.where(given > 0, met + loads * CALLED + np.where(far > 0, 2, 1) * TOLD, 0)
    added_up = added_up + np.select([joined == blocks for blocks in JOINED], list(JOINED.values()))
    made = (whole + part) * order * (1 + BESIDE * overlap) * np.where(cut > 0, UNSURE, 1)
    made = made + copies.clocks(copies.elements(p.m, p.n, p.k, columns["copied"]), columns["behind"])
    small = is_small(p)
    began = BEGUN + (1 - overlap) * (BEHIND + (shared > 1) * TOGETHER) + (shared > 1) * PAIRED * small
    # Whatever the config: what memory brings and takes. A little of the rest still tells configs apart.
    result = p.m * p.n * p.dtype.itemsize
    least = max(p.bytes / MEMORY, result / WRITTEN if result > KEEPS else 0)
    # Sums meet when all has come.
    return np.maximum(made, least) + made / 64 + added_up + began


def is_small(p: Problem) -> bool:
    """Whether the second-level cache soon has both operands, wherever they are asked for."""
    return (p.m + p.n) * p.k * p.dtype.itemsize <= SMALL


def _of_slice(p: Problem, columns: Columns, count: Any, active: Any) -> Any:
    """Clocks of a slice of a tile: of its products, of the banks of shared memory, of the second-level cache,
    or of waiting for it, whatever is longest, with so many tiles and while so many blocks are active."""
    tile_m, tile_n = columns["tile_m"], columns["tile_n"]
    products = tile_m * tile_n * LINE / RATE * POWER
    rows, width = sides(tile_m, tile_n, columns["lanes"])
    read = rows / 64 * (width + 64)
    # Turning moves every line twice, beside what tensor cores read; lanes read in their place.
    turned = turned_rows(p, tile_m, tile_n, columns["lanes"], columns["copied"])
    moved = (read + tile_m + tile_n + 2 * turned) * LINE / BANKS
    # Groups that have a tile each meet.
    both = (columns["ping_pong"] > 0) & (active < count)
    turns = np.where(rows == 64, NARROW_TURNS, np.where(tile_m * tile_n > 128 * 128, FULL_TURNS, TURNS))
    turns = np.where(columns["lanes"] > 0, LANES_TURNS, turns)
    moved = moved * np.where(both, turns, BUSY)
    pair = columns["cluster_m"] * columns["cluster_n"] > 1
    astride = [
        np.where(pair, ASTRIDE, APART) if (ld or 0) * p.dtype.itemsize % LINE else 1.0
        for ld in (p.lda, p.ldb)
    ]
    brought = LINE * (tile_m / columns["cluster_n"] * astride[0] + tile_n / columns["cluster_m"] * astride[1])
    cached = CACHED if is_small(p) else SHARED
    longest = np.maximum(np.maximum(products, moved), brought * active / columns["blocks"] / cached)
    longest = np.maximum(longest, LATENCY / (columns["stages"] - 1))
    if any(loose(p)[:2]):
        longest = np.maximum(longest, LOOSE_SLICE)
    for across, ld, inside, tile, which in (
        (not p.transposed_a, p.lda, p.m, tile_m, copies.OF_A),
        (p.transposed_b, p.ldb, p.n, tile_n, copies.OF_B),
    ):
        if across:
            rate = CROSSED_ASKEW if (ld or 0) * p.dtype.itemsize % SECTOR else CROSSED
            # Of all tiles in this direction those boxes that are not inside, as many in each on average.
            along, box = -(-inside // tile), slice_of(p)
            outside = (along * tile // box - inside // box) / along * (columns["copied"] & which == 0)
            longest = np.maximum(longest, outside * box * active / rate)
    # Of tiles that are alike those whose blocks share B were faster.
    weighed = LINE * (tile_m / columns["cluster_n"] + 1.05 * tile_n / columns["cluster_m"]) / WEIGHED
    # Slices that are not there yet are waited for less often the more are on their way.
    longest = longest + read * LINE / READ + weighed
    return longest + 2e6 / (columns["stages"] * stage_bytes(tile_m, tile_n))


def _touched(p: Problem, columns: Columns, area: Any) -> tuple[Any, Any]:
    """Rows and columns of C that cut tiles of so many elements have, in their order."""
    width = np.minimum(columns["band"], p.n)
    return np.minimum(p.m, area / width), np.minimum(p.n, np.maximum(width, area / p.m))


def _fronts(cut: Any, workers: Any) -> Any:
    """At how many places along k blocks are at a time that share cut tiles in equal lengths: two where each
    has a whole tile and more, whatever is over; else as many as shares begin at."""
    return np.where(workers <= cut, 2, workers // np.gcd(np.asarray(cut, int), np.asarray(workers, int)))
