"""The choice without a search: a cost model of the kernel of dmma.

It says how many clocks of an SM a product takes with each config of the space; the rules say which of them
may be. The constants are such that it foretells what configs of large products were measured to take (H200,
4096 and 8192) within one in a hundred; of small ones nothing was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda import cuts
from tilewright.stencils.cuda.dmma.needs import (
    LINE,
    WARPS,
    left_rows,
    lies_along,
    loose,
    numbers,
    right_columns,
    stage_bytes,
    tiles,
    unit,
)

Columns = Mapping[str, Any]
RATE = 128
"""Real multiply-adds of the tensor cores of an SM in a clock."""
READ = 128
"""Bytes of shared memory in a clock."""
HIDDEN, SLICE_CLOCKS = 0.02, 10
"""What products do not hide: the part of the reads of fragments, and the clocks of a slice's end."""
FEW = {1: 0.01, 2: 0.06}
"""What products of a fragment of the right operand take longer where there is but one, of real and of complex
numbers, whose signs are made in registers."""
ONE = 0.08
"""The same where each fragment of the left operand has but one: 512, in tiles of 32 x 64 and 64 x 32."""
MEMORY = 22
"""Bytes in a clock that an SM gets of the second-level cache while all of them ask."""
MOVED, TOGETHER = 0.02, {1: 1.01, 2: 1.003}
"""What bytes that are moved cost by the power that they take, and times longer that two blocks take that wait
for each other and share an operand, of real and of complex numbers."""
SMALL, CACHED = 3e7, 50
"""Bytes of a product that both halves of that cache soon have, and what it brings of its operands."""
FEW_BYTES, PAIRED = 2e7, 1500
"""Bytes of operands that are few, and clocks more that clusters take then: what they cost ``warpgroup``."""
BROUGHT, SCATTERED = 2100, 1.02
"""Bytes that device memory brings in a clock, and times longer where all blocks are at different k."""
LATENCY = {True: 150, False: 30}
"""Clocks of waits for a slice that could be on its way no earlier than its predecessor was read: of products
that both halves of the cache soon have, and of others. The first is from 2,200 configs of 76 products on an
H200."""
STORED = 28
"""Bytes of C that a block stores in a clock."""
KEEPS, WRITTEN = 40e6, 1600
"""Bytes of a C that is larger than the second-level cache, and what device memory takes of it in a clock."""
NARROW_BAND = 128
"""The band of such a real product: blocks then store whole columns of C at a time."""
SHALLOW, AHEAD, CROWDED = 128, 1.5, 0.05
"""k of a real product with such a C up to which it matters, tiles that are on their way, beyond these, and
how much longer it takes then: 8192 x 8192 x 64 took 1.05 to 1.06 times as long with slices of 1.75 tiles and
of two as with those of 1.25 and 1.5. Why stores wait for loads there is not known."""
BEGUN = 2500
"""Clocks of a launch and of the first slice of a block."""
ASKED, TURNED = 0.5, 2.0
"""Of batches: clocks for which the warps that load ask for a number, where they come one by one, and times
longer that fragments of complex numbers are read where both operands lie across k. These and the next are
from 168 defaults on an H200: the logarithms of their times over the model's differ by 0.14 (standard
deviation), and by 0.22 without."""
SINGLY, ADDED, MADE_READY = 2.0, 1.5, 4000
"""Of batches, too: times longer that C is stored where its columns begin at multiples of 8 bytes alone, what
reading it takes of the time of storing it, and clocks more of a launch."""
ASKEW = 1.01
"""Times longer that slices of cut tiles take, whose blocks are at different k."""
ACROSS, ALONG, MIXED, COMPLEX = range(4)
SLOWER: Mapping[int, Mapping[int, float]] = {
    MIXED: {8: 1.008, 16: 1.0},
    ALONG: {8: 1.006, 16: 1.0},
    ACROSS: {8: 1.01, 16: 1.0},
    COMPLEX: {8: 1.015, 16: 1.0},
}
"""Times longer by the k of a product of tensor cores, where both operands lie across k, both along it, one of
each, and of complex numbers."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    found = liked(space, p, device, 1)
    if not found:
        raise AssertionError(f"no config of dmma fits {p.key}, which it accepts")
    return found[0]


def liked(space: Space, p: Problem, device: Device, count: int) -> list[Config]:
    """So many of the cheapest, as ``cuts.liked`` tells them apart."""
    # What was best or level with the best for all tiles.
    band = NARROW_BAND if stored_most(p) else 2048
    settled = {"band": band, "backwards": 1, "overlap": 1}
    return cuts.liked(space, settled, lambda columns: clocks(p, device, columns), count)


def stored_most(p: Problem) -> bool:
    """Whether one product is real, and hardly more than stores of a C that no cache holds."""
    return (
        p.products == 1 and p.k <= SHALLOW and not p.dtype.is_complex and p.m * p.n * p.dtype.itemsize > KEEPS
    )


def form(p: Problem) -> int:
    """How the operands lie, as ``SLOWER`` has it."""
    if p.dtype.is_complex:
        return COMPLEX
    along_a, along_b = lies_along(p)
    return MIXED if along_a != along_b else ALONG if along_a else ACROSS


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a product: waves of tiles, each as long as its products and what these wait for."""
    tile_m, tile_n, depth = columns["tile_m"], columns["tile_n"], columns["depth"]
    cluster_m, cluster_n = columns["cluster_m"], columns["cluster_n"]
    shared, parts = cluster_m * cluster_n, numbers(p)
    slower = np.vectorize(SLOWER[form(p)].get, otypes=[float])(columns["mma_k"])
    products = tile_m * tile_n * depth * parts**2 / RATE * slower
    # Each warp reads the rows and the columns of its part of the tile.
    warps_m = columns["warps_m"]
    read = (tile_m * (WARPS // warps_m) + tile_n * warps_m) * LINE * (depth // unit(p)) / READ
    moved = p.footprint + p.updated
    small = moved <= SMALL
    cached = CACHED if small else MEMORY
    brought = stage_bytes(p, tile_m / cluster_n, tile_n / cluster_m, depth) / cached
    # The more products a fragment of the right operand has, the longer the next one may take.
    rows = np.maximum(left_rows(p, tile_m, tile_n, warps_m) * parts, 1)
    one = right_columns(p, tile_m, tile_n, warps_m) == 1
    busy = products * (1 + FEW[parts] / rows + ONE * one * (parts == 1)) + HIDDEN * read + SLICE_CLOCKS
    stored, begun = (1 + (p.beta != "0")) / STORED, BEGUN
    if p.products > 1:
        loose_a, loose_b, loose_c = loose(p)
        busy = np.maximum(busy, ASKED * (loose_a * tile_m + loose_b * tile_n) * depth)
        if parts > 1 and not any(lies_along(p)):
            busy = np.maximum(busy, TURNED * read)
        stored, begun = ((SINGLY if loose_c else 1) + ADDED * (p.beta != "0")) / STORED, BEGUN + MADE_READY
    slice_clocks = np.maximum(busy, brought) + MOVED * brought
    # Slices that are not there yet are waited for less often the longer the others last.
    slice_clocks = slice_clocks * (1 + LATENCY[small] / ((columns["stages"] - 1) * slice_clocks))
    slice_clocks = slice_clocks * np.where(shared > 1, TOGETHER[parts], 1.0)
    stored = stored * tile_m * tile_n * p.dtype.itemsize
    slices = -(-p.k // depth)
    order = 1 + 0.004 * np.abs(np.log2(columns["band"] / 2048)) - 0.004 * columns["backwards"]
    count, places = tiles(p, tile_m, tile_n, cluster_m, cluster_n), columns["blocks"] // shared
    sums = shared * tile_m * tile_n * p.dtype.itemsize
    cut = columns["cut"]
    made, joined = cuts.clocks(count, places, slices, cut, slice_clocks, ASKEW, stored, sums)
    result = p.products * p.m * p.n * p.dtype.itemsize
    if stored_most(p):
        order = order + CROWDED * (columns["stages"] * depth > AHEAD * p.k)
    made = made * order
    # Where memory is the limit, whatever the config, a little of the rest still tells configs apart.
    few = (p.m + p.n) * p.k * p.products * p.dtype.itemsize <= FEW_BYTES
    written = result * (1 / WRITTEN - 1 / BROUGHT) if result > KEEPS else 0
    least = (moved / BROUGHT + written) * np.where(cut == 1, SCATTERED, 1)
    return np.maximum(made, least) + made / 64 + joined + begun + PAIRED * few * (shared > 1)
