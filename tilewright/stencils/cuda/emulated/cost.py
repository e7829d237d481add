"""The choice without a search: a cost model of the kernel of emulated.

It says how many clocks of an SM a product takes with each config of the space; the rules say which of them
may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import EMULATED, Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda import cuts
from tilewright.stencils.cuda.emulated.needs import (
    SLICE,
    TILE_N,
    slices,
    split_bytes,
    stage_bytes,
    tiles_of,
)
from tilewright.stencils.cuda.warpgroup.needs import LINE

Columns = Mapping[str, Any]
SETTLED = {"band": 2048}
"""What the kernels of like tiles were best with."""
RATE = 2048
"""Multiply-adds of an SM in a clock."""
POWER = 1.16
"""Times longer that products of random numbers take. This and all below is from 1,300 times of 116 products
of 8 us to 11 ms on an H200, in clocks of 1.98 GHz: half of them within a tenth, and what the model chooses of
six configs of each takes 1.011 times as long as the best. Fitted to either half of the products it is 1.005
and 1.024 on the other."""
BANKS = 120
"""Bytes of shared memory that an SM moves in a clock."""
ROUND = 1200
"""Clocks from a slot that has been read to the next slice in it, which few stages wait for."""
MEMORY = 1700
"""Bytes that device memory moves in a clock."""
STORED = 13
"""Bytes of C that a block stores in a clock."""
BEGUN = 11500
"""Clocks of a launch, of the counters that it clears, of the last piece, and of the first slice of a
block."""
ASKEW = 1.0
"""Times longer that slices of cut tiles take: no longer, since their places are in registers of the warp (18
other bursts; what is chosen makes 0.991 of the best of six configs in the mean)."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    found = liked(space, p, device, 1)
    if not found:
        raise AssertionError(f"no config of emulated fits {p.key}, which it accepts")
    return found[0]


def liked(space: Space, p: Problem, device: Device, count: int) -> list[Config]:
    """So many of the cheapest, as ``cuts.liked`` tells them apart."""
    return cuts.liked(space, SETTLED, lambda columns: clocks(p, device, columns), count)


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a product: splitting, and waves of tiles, each as long as its products and what
    these wait for."""
    tile_m, stages = columns["tile_m"], columns["stages"]
    terms, parts = EMULATED[p.math].terms, EMULATED[p.math].parts
    products = tile_m * TILE_N * SLICE / RATE * POWER
    # Each 64 columns read all rows of a slice, and planes come once.
    read = TILE_N / 64 * (tile_m + 64) * LINE
    moved = (terms * read + parts * stage_bytes(tile_m)) / BANKS
    slice_clocks = np.maximum(terms * products, moved)
    # What comes while the slots of a slice are read is there in time; the rest is waited for.
    slice_clocks = slice_clocks + np.maximum(ROUND - (stages - parts) * slice_clocks / parts, 0)
    slice_clocks = slice_clocks * (1 + 0.01 / (stages - parts))
    written = 4 * tile_m * TILE_N
    stored = written * (1 + (p.beta != "0")) / STORED
    count = tiles_of(p, tile_m)
    whole, joined = cuts.clocks(
        count, columns["blocks"], slices(p), columns["cut"], slice_clocks, ASKEW, stored, written
    )
    width = np.abs(np.log2(columns["band"] / 2048))
    made = (whole + joined) * (1 + 0.004 * width)
    return np.maximum(made, p.bytes / MEMORY) + split_bytes(p) / MEMORY + BEGUN
