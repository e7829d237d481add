"""The choice without a search: a cost model of the kernel of warpgroup.

It says how many clocks of an SM a product takes with each config of the space; the rules say which of them
may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda.common import cheapest
from tilewright.stencils.cuda.warpgroup.needs import (
    LINE,
    cut_tiles,
    cut_workers,
    gathered,
    slice_of,
    stage_bytes,
    tiles,
    turned_rows,
)

Columns = Mapping[str, Any]
SETTLED = {"overlap": 0, "band": 2048, "backwards": 1}
"""What was best or level with the best for all tiles."""
RATE = 4096
"""Bytes of factors along k that an SM multiplies in a clock: 2,048 halves, 1,024 of tf32."""
BANKS = 128
"""Bytes of shared memory that an SM moves in a clock."""
BROUGHT = (0.0091, 0.0117, 0.0156, 0.0195, 0.03)
SPEED = (1.025, 1.0, 0.75, 0.65, 0.4)
"""The speed of tiles, where every SM has one, by the elements of A and B that a block is brought for a
multiply-add: of 256 x 192, 256 x 128 and 128 x 128 from eleven shapes of 1,000 to 8,192 on an H200, waves
taken out, of smaller ones from two."""
ALONE, NARROW = 1.01, 1.05
"""Times longer that blocks take that share nothing, or the narrower of their operands. The first is measured;
of the second it is known that a product of 5,760 x 8,008 x 9,288 made 0.85 of cuBLAS so."""
READ = 20000
"""Bytes that tensor cores read from shared memory for which a clock is counted: what tells tiles apart that
differ in nothing else."""
STORED = 24
"""Bytes of C that a block rounds and stores in a clock."""
BEGUN = 1500
"""Clocks of a launch and of the first slice of a block."""
MEMORY = 2400
"""Bytes that device memory moves in a clock: 4.3 TB/s at some 1.8 GHz."""
MET = 3000
"""Bytes of sums that all blocks together store into the second-level cache, or load from it, in a clock. This
and the four below are guesses from what the cache does for other kernels, not fitted."""
CALLED = 800
"""Clocks from asking for sums to having them."""
TOLD = 2500
"""Clocks for which a block waits that adds the sums of others."""
ASKEW = 1.08
"""Times longer that slices of cut tiles take: blocks that are at different k share less in the cache."""
UNSURE = 1.03
"""Times longer that a product with cut tiles is taken to last, for all that is not known of it."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    varied = [param for param in space.params if param.name not in SETTLED]
    grid = np.meshgrid(*(np.array(param.values) for param in varied), indexing="ij")
    columns: Columns = {param.name: x.ravel() for param, x in zip(varied, grid, strict=True)} | SETTLED
    cost = clocks(p, device, columns)
    found = cheapest(space, columns, cost) or cheapest(space, columns, cost, (*HARDWARE, "hard"))
    if found is None:
        raise AssertionError(f"no config of warpgroup fits {p.key}, which it accepts")
    return found


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a product: waves of tiles, each as long as its products and what these wait for."""
    tile_m, tile_n = columns["tile_m"], columns["tile_n"]
    cluster_m, cluster_n = columns["cluster_m"], columns["cluster_n"]
    shared = cluster_m * cluster_n
    count, places = tiles(p, tile_m, tile_n, cluster_m, cluster_n), columns["blocks"] // shared
    cut = cut_tiles(count, places, columns["cut"])
    waves = -(-(count - cut) // places)
    products = tile_m * tile_n * LINE / RATE / np.interp(1 / tile_m + 1 / tile_n, BROUGHT, SPEED)
    read = tile_n / 64 * (tile_m + 64) * LINE / READ
    # Slices that are not there yet are waited for less often the more are on their way.
    wide = np.where(cluster_n > 1, tile_m >= tile_n, tile_n >= tile_m)
    slice_clocks = products * np.where(shared > 1, np.where(wide, 1.0, NARROW), ALONE) + read
    # Turning moves every line twice, beside what tensor cores read; lanes read B in their place.
    turned = turned_rows(p, tile_m, tile_n, columns["lanes"])
    moved = (tile_n / 64 * (tile_m + 64) + 2 * turned) * LINE / BANKS
    slice_clocks = np.where(turned > 0, np.maximum(slice_clocks, moved), slice_clocks)
    slice_clocks = slice_clocks + 2e6 / (columns["stages"] * stage_bytes(tile_m, tile_n))
    written = p.dtype.itemsize * tile_m * tile_n * (1 + (p.beta != "0"))
    stored = written / STORED / np.minimum(columns["outs"], 2) ** 0.25
    slices = -(-p.k // slice_of(p))
    width = np.abs(np.log2(columns["band"] / 2048))
    order = 1 + 0.004 * width - 0.004 * columns["backwards"]
    whole = waves * (slices * slice_clocks + stored)
    # Who has a part of a cut tile makes its share of the slices and stores sums or, with those of others, C.
    workers = np.maximum(cut_workers(cut, places, columns["cut"], slices), 1)
    share = -(-cut * slices // workers)
    given = np.maximum(workers - cut, 0) * np.minimum(share * workers, 1)
    met = 2 * given * shared * tile_m * tile_n * 4 / MET
    others = np.where(given > 0, -(-workers // np.maximum(cut, 1)), 0)
    called = others * CALLED * tile_m * tile_n / (256 * gathered(tile_m, tile_n, columns["ping_pong"]))
    part = np.where(cut > 0, share * slice_clocks * ASKEW + stored * np.maximum(1, share / slices), 0)
    joined = np.where(given > 0, met + called + TOLD, 0)
    made = (whole + part + joined) * order * np.where(cut > 0, UNSURE, 1)
    # Whatever the config: what memory brings and takes. A little of the rest still tells configs apart.
    return np.maximum(made, p.bytes / MEMORY) + made / 64 + BEGUN
