"""The choice without a search: a cost model of whole's kernel.

It proposes parts, pieces and rings and says how many clocks of an SM a product takes with each; the rules of
the space say which of them may be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda.common import cheapest, resident
from tilewright.stencils.cuda.whole.needs import parts, registers, shared_bytes, turns
from tilewright.stencils.cuda.whole.space import COLUMNS, PER_SM, PIECES, ROWS, STAGES, TILES, WARPS

Columns = dict[str, Any]
_NAMES = ("tile", "rows", "columns", "warps", "piece", "stages")


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    columns = candidates(p, device)
    cost = clocks(p, device, columns)
    found = cheapest(space, columns, cost) or cheapest(space, columns, cost, (*HARDWARE, "hard"))
    if found is None:
        raise AssertionError(f"no config of whole fits {p.key}, which it accepts")
    return found


def candidates(p: Problem, device: Device) -> Columns:
    """Columns of all configs, each with as many resident blocks as the SM holds."""
    least = min(tile for tile in TILES if tile >= min(p.n, TILES[-1]))
    tiles = (least,) if p.transposed_b else tuple(tile for tile in TILES if tile <= least)
    grid = np.meshgrid(*map(np.array, (tiles, ROWS, COLUMNS, WARPS, PIECES, STAGES)), indexing="ij")
    found = dict(zip(_NAMES, (x.ravel() for x in grid), strict=True))
    tile, rows, columns, warps = (found[name] for name in _NAMES[:4])
    some = (rows * columns <= 4096) & (rows < p.m + 16) & (columns < np.minimum(tile, p.n) + 8)
    some &= parts(p, tile, rows, columns) > warps // 2
    found = {name: x[some] for name, x in found.items()}
    tile, rows, columns, warps, piece, stages = found.values()
    shared = shared_bytes(p, tile, rows, columns, warps, stages, piece)
    held = np.maximum(1, resident(shared, registers(rows, columns) + 16, warps + 1, device))
    found["blocks"] = np.array((0, *PER_SM))[np.searchsorted(PER_SM, held, side="right")] * device["sms"]
    return found


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a product."""
    rows, cols, warps = columns["rows"], columns["columns"], columns["warps"]
    per_sm = columns["blocks"] // device["sms"]
    tiles = -(-p.n // np.minimum(columns["tile"], p.n))
    waves = tiles * turns(p, columns["tile"], rows, cols, warps)
    covered = waves * warps * rows * cols
    flying = np.minimum(per_sm * columns["stages"] * columns["piece"], 65536)
    products = -(-p.k // 16)
    reads = waves * warps * (rows + cols) * products * 32 / 128
    busy = covered * products / 128 * 8 / 4 + reads + p.m * p.n / 16
    moved = 2 * (p.m * p.k + p.k * p.n + p.m * p.n * (1 + (p.beta != "0")))
    alone = 1000 + 1000 * tiles + busy * np.maximum(1, 8 / warps)
    return moved / 17 * (1 + 4096 / flying) + busy / 4 + alone / per_sm / 2
