"""The choice without a search: a cost model of the kernel of cfma.

It says how many clocks of an SM a product takes with each config of the space; the rules say which of them
may be. Its constants are those of ``ffma``, whose loop is the same but for what numbers are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda import cuts
from tilewright.stencils.cuda.cfma.needs import DEPTH, lies_along, stage_bytes, tile_m, tile_n, tiles

Columns = Mapping[str, Any]
SETTLED = {"band": 2048, "overlap": 1}
"""What was level with the best in ``ffma``."""
RATE = 128
"""Multiply-adds of real numbers of an SM in a clock."""
REACHED = 0.91
"""The part of them that conflicts of banks of registers leave."""
READ = {True: 1.2, False: 1.8}
"""Multiply-adds that a read costs: of 8 bytes along k, of 16 across it. The first is a guess."""
SPILLED = 1.05
"""Times longer that products are taken to be with four rows and eight columns of a thread where neither
operand lies along k, tiles are cut and C is read: then 692 bytes of a thread spill, some of them in the loop.
With eight rows and four columns, else the same to this model, none do."""
SLICE_CLOCKS, LATENCY = 20, 300
"""Clocks of a slice's end, and of waits for one that could be on its way no earlier: guesses."""
MEMORY = 16
"""Bytes in a clock that an SM gets of the second-level cache while all of them ask."""
STORED = 16
"""Bytes of C that a block stores in a clock."""
BEGUN = 2500
"""Clocks of a launch and of the first slice of a block."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    found = liked(space, p, device, 1)
    if not found:
        raise AssertionError(f"no config of cfma fits {p.key}, which it accepts")
    return found[0]


def liked(space: Space, p: Problem, device: Device, count: int) -> list[Config]:
    """So many of the cheapest, as ``cuts.liked`` tells them apart."""
    return cuts.liked(space, SETTLED, lambda columns: clocks(p, device, columns), count)


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a product: waves of tiles, each as long as its products and what these wait for."""
    rows, across = columns["rows"], columns["columns"]
    down_tile = tile_m(rows, columns["lanes_m"], columns["warps_m"])
    across_tile = tile_n(across, columns["lanes_m"], columns["warps_m"])
    # Of each step along k: a read of each row, or of two.
    reads = sum(
        READ[along] * count / (1 if along else 2)
        for along, count in zip(lies_along(p), (rows, across), strict=True)
    )
    products = 4 * down_tile * across_tile * DEPTH / RATE / REACHED * (1 + reads / (4 * rows * across))
    if p.beta != "0" and not any(lies_along(p)):
        products = products * np.where((rows < across) & (columns["cut"] > 0), SPILLED, 1)
    brought = stage_bytes(down_tile, across_tile) / MEMORY
    slice_clocks = np.maximum(products + SLICE_CLOCKS, brought) + LATENCY / (columns["stages"] - 1)
    size = down_tile * across_tile * p.dtype.itemsize
    stored = size * (1 + (p.beta != "0")) / STORED
    made, joined = cuts.clocks(
        tiles(p, down_tile, across_tile),
        columns["blocks"],
        -(-p.k // DEPTH),
        columns["cut"],
        slice_clocks,
        1.0,
        stored,
        size,
    )
    return made + joined + BEGUN
