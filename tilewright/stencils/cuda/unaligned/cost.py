"""The choice without a search: a cost model of the kernel of unaligned.

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
from tilewright.stencils.cuda.unaligned.needs import SLICE, copies, stage_bytes, tiles

Columns = Mapping[str, Any]
SETTLED = {"band": 2048}
"""What the kernel for aligned columns was best with."""
RATE = 2048
"""Multiply-adds of an SM in a clock."""
BROUGHT = (0.0091, 0.0117, 0.0156, 0.0234)
SPEED = (1.025, 1.0, 0.75, 0.5)
"""The speed of tiles by the elements of A and B that a block is brought for a multiply-add: those of
``warpgroup``."""
COPIED = 8
"""Bytes of operands that an SM reads and writes again in a clock, while all do."""
STORED = 16
"""Bytes of C that a block puts together and stores in a clock."""
BEGUN = 5000
"""Clocks of a launch, of the counters that it clears, and of the first slice of a block."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    varied = [param for param in space.params if param.name not in SETTLED]
    grid = np.meshgrid(*(np.array(param.values) for param in varied), indexing="ij")
    columns: Columns = {param.name: x.ravel() for param, x in zip(varied, grid, strict=True)} | SETTLED
    cost = clocks(p, device, columns)
    found = cheapest(space, columns, cost) or cheapest(space, columns, cost, (*HARDWARE, "hard"))
    if found is None:
        raise AssertionError(f"no config of unaligned fits {p.key}, which it accepts")
    return found


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a product: waves of tiles, each as long as its products and what these wait for."""
    tile_m, tile_n = columns["tile_m"], columns["tile_n"]
    waves = -(-tiles(p, tile_m, tile_n) // columns["blocks"])
    products = tile_m * tile_n * SLICE / RATE / np.interp(1 / tile_m + 1 / tile_n, BROUGHT, SPEED)
    # Slices that are not there yet are waited for less often the more are on their way.
    slice_clocks = products + 2e6 / (columns["stages"] * stage_bytes(tile_m, tile_n))
    stored = 2 * tile_m * tile_n * (1 + (p.beta != "0")) / STORED
    width = np.abs(np.log2(columns["band"] / 2048))
    copy = copies(p)[1] / COPIED / device["sms"]
    return waves * (-(-p.k // SLICE) * slice_clocks + stored) * (1 + 0.004 * width) + copy + BEGUN
