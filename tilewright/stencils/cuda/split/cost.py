"""The choice without a search: a cost model of the kernel of split.

It says how many clocks of an SM a batch takes with each config; the rules of the space say which of them may
be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda import cuts
from tilewright.stencils.cuda.emulated.needs import planes_of, slices
from tilewright.stencils.cuda.split.needs import tiles_of

Columns = Mapping[str, Any]
SETTLED = {"band": 2048}
"""What the kernels of like tiles were best with."""
PLANE, ROW = 570, 10.5
"""Clocks of a plane of a slice, which warps that split set the pace of, and more of each row of its tile.
These and all below are from 84 times of 21 batches on an H200, in clocks of 1.9 GHz."""
STORED = 3000
"""Clocks from the last product of a tile to the first of the next one."""
MEMORY = 16
"""Bytes of device memory that an SM moves in a clock."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    found = cuts.liked(space, SETTLED, lambda columns: clocks(p, device, columns), 1)
    if not found:
        raise AssertionError(f"no config of split fits {p.key}, which it accepts")
    return found[0]


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a batch: waves of tiles, each as long as splitting its slices takes, or what memory
    takes. A longer ring is no slower."""
    tile_m, planes = columns["tile_m"], planes_of(p)
    waves = -(-tiles_of(p, tile_m) // columns["blocks"])
    made = waves * (slices(p) * planes * (PLANE + ROW * tile_m) + STORED * (1 + 0.3 * (p.beta != "0")))
    moved = p.bytes * p.batch / (MEMORY * device["sms"])
    ring = 1 - 0.001 * columns["stages"]
    width = 1 + 0.001 * np.abs(np.log2(columns["band"] / 2048))
    return (made**4 + moved**4) ** 0.25 * ring * width
