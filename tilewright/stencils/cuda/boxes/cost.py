"""The choice without a search: a cost model of the kernel of boxes.

It says how many clocks of an SM a product takes with each config of the space; the rules say which of them
may be. Its constants, fitted to timed configs, are in ``data/boxes.json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda.boxes.needs import SLICE, result_bytes, stage_bytes, tiles
from tilewright.stencils.cuda.common import cheapest, fitted

Columns = dict[str, Any]


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    grid = np.meshgrid(*(np.array(param.values) for param in space.params), indexing="ij")
    columns = {param.name: x.ravel() for param, x in zip(space.params, grid, strict=True)}
    cost = clocks(p, device, columns, fitted("boxes", device))
    found = cheapest(space, columns, cost) or cheapest(space, columns, cost, (*HARDWARE, "hard"))
    if found is None:
        raise AssertionError(f"no config of boxes fits {p.key}, which it accepts")
    return found


def clocks(p: Problem, device: Device, columns: Columns, x: Mapping[str, float]) -> Any:
    """Clocks of an SM for a product: what memory, the second-level cache and the tensor cores take, and a
    block by itself, of which the longest counts most."""
    tile_m, tile_n, stages, kept = (columns[name] for name in ("tile_m", "tile_n", "stages", "kept"))
    per_sm = columns["blocks"] // device["sms"]
    count, slices = tiles(p, tile_m, tile_n), -(-p.k // SLICE)
    reads_c = 1 + (p.beta != "0")
    moved = 2 * (p.m * p.k + p.k * p.n + p.m * p.n * reads_c)
    stage, result = stage_bytes(p, tile_m, tile_n), result_bytes(tile_m, tile_n)
    flying = per_sm * stages * stage
    crowded = flying / (1024 * x["crowded"])
    memory = moved / x["memory"] * (1 + 1024 * x["flying"] / flying + crowded**2)
    brought = count * (slices * stage + reads_c * result) / x["brought"]
    tensor = count * slices * (SLICE / 16) * (tile_n / 64) * tile_m / 2 * x["tensor"]
    alone = x["tile"] + (x["slice"] + x["short"] / stages**2) * slices + x["keep"] * tile_m * reads_c
    # A place for C is free when the tile before has left, and then C comes, if it is read.
    alone = alone + x["leave" if p.beta == "0" else "wait"] / kept**2
    alone = count * alone + tensor
    power = x["power"]
    sides = (memory, brought, tensor, alone / per_sm)
    return sum(side**power for side in sides) ** (1 / power)
