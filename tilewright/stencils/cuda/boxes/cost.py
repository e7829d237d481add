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
from tilewright.stencils.cuda.boxes.needs import LINE, SLICE, result_bytes, stage_bytes, tiles
from tilewright.stencils.cuda.common import cheapest, fitted

Columns = dict[str, Any]
SECTOR = 16
"""Elements of the 32 bytes that memory is read by."""


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
    own_a, own_b = (stride != 0 for stride in p.strides[:2])
    moved = 2 * (p.m * p.k * own_a + p.k * p.n * own_b + p.m * p.n * reads_c)
    stage, result = stage_bytes(p, tile_m, tile_n), result_bytes(tile_m, tile_n)
    flying, kept_bytes = per_sm * stages * stage / 1024, per_sm * kept * result / 1024
    waits = (flying / x["crowded"]) ** 2 + kept_bytes / x["burst"] + x["large"] * tile_m * tile_n / 16384
    memory = moved / x["memory"] * (1 + waits)
    of_b = tile_n * LINE
    lines_a, lines_b, lines_c = (_lines(ld or 0, x) for ld in (p.lda, p.ldb, p.ldc))
    brought = count * (slices * ((stage - of_b) * lines_a + of_b * lines_b) + reads_c * result * lines_c)
    brought = brought / x["brought"]
    tensor = count * slices * (SLICE / 16) * (tile_n / 64) * tile_m / 2 * x["tensor"]
    alone = x["tile"] + (x["slice"] + x["short"] / stages**2) * slices + x["keep"] * tile_m * reads_c
    # A place for C is free when the tile before has left, and then C comes, if it is read.
    alone = alone + x["leave" if p.beta == "0" else "wait"] / kept**2
    alone = count * alone + tensor
    power = x["power"]
    sides = (memory, brought, tensor, alone / per_sm)
    return sum(side**power for side in sides) ** (1 / power)


def _lines(ld: int, x: Mapping[str, float]) -> float:
    """What a line of a box counts for: more where it begins inside a line of memory, or inside a sector."""
    return 1 + x["split"] * ((ld % SLICE != 0) + x["odd"] * (ld % SECTOR != 0))
