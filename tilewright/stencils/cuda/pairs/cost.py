"""The choice without a search: a cost model of the kernel of pairs.

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
from tilewright.stencils.cuda.pairs.needs import SLICE, clusters, copied_elements, turned
from tilewright.stencils.cuda.warpgroup.needs import LINE, cut_share, cut_tiles, cut_workers, stage_bytes

Columns = Mapping[str, Any]
SETTLED = {"overlap": 0, "band": 2048, "backwards": 1, "outs": 2}
"""What changes little, as with ``warpgroup``."""
RATE = 425
"""Products of complex halves that an SM makes in a clock, of four real ones each: 0.83 of what tensor cores
could. This and ``BANKS`` are from tiles of 192, 128 and 64 rows at 4,096 on an H200, waves taken out."""
BANKS = 88
"""Bytes of shared memory that an SM moves in a clock beside them, of 128."""
STORED = 24
"""Bytes of C that a block rounds and stores in a clock, as with ``warpgroup``."""
BEGUN, TOGETHER = 5500, 1000
"""Clocks of a launch and of the first slice of a block, and more of clusters, as with ``warpgroup``."""
MEMORY = 2400
"""Bytes that device memory moves in a clock: 4.3 TB/s at some 1.8 GHz."""
ALONE = 1.01
"""Times longer that blocks take that share nothing."""
MET, CALLED, TOLD, ASKEW, UNSURE = 3000, 3200, 2500, 1.04, 1.05
"""What tiles cost that are cut, as with ``warpgroup``: bytes of sums that all blocks move in a clock, clocks
from asking for sums of another block to having them, and to knowing of them; how much longer their slices
take, and how sure all of this is."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    found = liked(space, p, device, 1)
    if not found:
        raise AssertionError(f"no config of pairs fits {p.key}, which it accepts")
    return found[0]


def liked(space: Space, p: Problem, device: Device, count: int) -> list[Config]:
    """So many of the cheapest, as ``cuts.liked`` tells them apart."""
    return cuts.liked(space, SETTLED, lambda columns: clocks(p, device, columns), count)


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a product: waves of tiles, each as long as its products and what these wait for."""
    tile_m, tile_n, exchange = columns["tile_m"], columns["tile_n"], columns["exchange"]
    shared = columns["cluster_m"] * columns["cluster_n"]
    places = columns["blocks"] // shared
    count = clusters(p, exchange, tile_m, tile_n, columns["cluster_m"], columns["cluster_n"])
    cut = cut_tiles(count, places, columns["cut"])
    waves = -(-(count - cut) // places)
    products = tile_m * tile_n * SLICE / RATE
    # Lines of A come once, and products of each 64 columns read them for re and for im; B comes and is read.
    across = turned(p, exchange)
    lines = tile_m * (1 + 2 * tile_n / 64) + 2 * tile_n + 2 * across * (1 - columns["copied"]) * tile_m
    slice_clocks = np.maximum(products, lines * LINE / BANKS)
    slice_clocks = slice_clocks * np.where(shared > 1, 1.0, ALONE)
    slice_clocks = slice_clocks + 2e6 / (columns["stages"] * stage_bytes(tile_m, tile_n))
    slice_clocks = slice_clocks + 4 / columns["steps"]
    written = p.dtype.itemsize * tile_m * tile_n * (1 + (p.beta != "0"))
    stored = written / STORED
    slices = -(-p.k // SLICE)
    whole = waves * (slices * slice_clocks + stored)
    # Who has a part of a cut tile makes its share of the slices and stores sums or, with those of others, C.
    workers = np.maximum(cut_workers(cut, places, columns["cut"], slices), 1)
    share = np.where(cut > 0, cut_share(cut, places, columns["cut"], slices), 0)
    given = np.maximum(workers - cut, 0) * np.minimum(share * workers, 1)
    met = 2 * given * shared * tile_m * tile_n * 8 / MET
    others = np.where(given > 0, -(-workers // np.maximum(cut, 1)), 0)
    part = np.where(cut > 0, share * slice_clocks * ASKEW + stored * np.maximum(1, share / slices), 0)
    joined = np.where(given > 0, met + others * CALLED + TOLD, 0)
    made = (whole + part + joined) * np.where(cut > 0, UNSURE, 1)
    made = made + copies.clocks(copied_elements(p, exchange, columns["copied"]), columns["behind"])
    # Whatever the config: what memory brings and takes. A little of the rest still tells configs apart.
    return np.maximum(made, p.bytes / MEMORY) + made / 64 + BEGUN + (shared > 1) * TOGETHER
