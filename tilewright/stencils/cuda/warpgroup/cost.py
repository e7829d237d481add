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
from tilewright.stencils.cuda.warpgroup.needs import LINE, SLICE, stage_bytes, tiles

Columns = Mapping[str, Any]
SETTLED = {"overlap": 0, "band": 2048, "backwards": 1}
"""What was best or level with the best for all tiles."""
RATE = 2048
"""Multiply-adds of an SM in a clock."""
BROUGHT, READ = 275, 3200
"""Bytes of slices that an SM is brought, and that its tensor cores read from shared memory, for which a clock
is counted beside that of the products: they take power, and so clocks, more than time. As the speed of ten
tiles beside each other on an H200 at 4,096, 6,144 and 8,192 says."""
STORED = 24
"""Bytes of C that a block rounds and stores in a clock; tensor cores wait unless groups take turns."""
BEGUN = 1500
"""Clocks of a launch and of the first slice of a block."""


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
    tile_m, tile_n, ping_pong = (columns[name] for name in ("tile_m", "tile_n", "ping_pong"))
    cluster_m, cluster_n = columns["cluster_m"], columns["cluster_n"]
    clusters = columns["blocks"] // (cluster_m * cluster_n)
    waves = -(-tiles(p, tile_m, tile_n, cluster_m, cluster_n) // clusters)
    slices = -(-p.k // SLICE)
    products = tile_m * tile_n * SLICE / RATE
    brought = (tile_m / cluster_n + tile_n / cluster_m) * LINE / BROUGHT
    # Tensor cores read 64 columns of B and all of the tile's rows of A for each of their products.
    read = tile_n / 64 * (tile_m + 64) * LINE / READ
    # Slices that are not there yet are waited for less often the more are on their way.
    slice_clocks = products + brought + read + 2e6 / (columns["stages"] * stage_bytes(tile_m, tile_n))
    stored = 2 * tile_m * tile_n * (1 + (p.beta != "0")) / STORED
    stored = stored * np.where(ping_pong > 0, 0.3, 1.0) / np.minimum(columns["outs"], 2) ** 0.25
    width = np.abs(np.log2(columns["band"] / 2048))
    order = 1 + 0.004 * width - 0.004 * columns["backwards"]
    return waves * (slices * slice_clocks + stored) * order + BEGUN
