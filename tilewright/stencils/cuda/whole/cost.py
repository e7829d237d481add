"""The choice without a search: a cost model of whole's kernel.

It proposes parts, pieces and rings and says how many clocks of an SM a product takes with each; the rules of
the space say which of them may be. Its constants, fitted to timed configs, are in ``data/whole.json``. Sizes
are in elements, pieces in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.common import WIDEST, cheapest, fitted, resident, units
from tilewright.stencils.cuda.whole.needs import (
    LARGEST,
    direct,
    numbers,
    parts,
    pieces,
    registers,
    shared_bytes,
    skewed,
    stored,
    turns,
)
from tilewright.stencils.cuda.whole.space import COLUMNS, PER_SM, PIECES, ROWS, TILES, WARPS

Columns = dict[str, Any]
RINGS = (4096, 8192, 16384, 32768), (1, 2, 3, 4)
"""Pieces and stages that are proposed."""
_NAMES = ("tile", "rows", "columns", "warps", "piece", "stages")


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    x = fitted("whole", device)
    for every in (False, True):
        columns = candidates(p, device, every)
        cost = clocks(p, device, columns, x)
        found = cheapest(space, columns, cost) or cheapest(space, columns, cost, (*HARDWARE, "hard"))
        if found is not None:
            return found
    raise AssertionError(f"no config of whole fits {p.key}, which it accepts")


def candidates(p: Problem, device: Device, every: bool = False) -> Columns:
    """Columns of configs worth a thought, each with as many resident blocks as the SM holds. ``every``: also
    shorter tiles and smaller parts, which fit where a long k leaves room for few columns."""
    # The shortest tiles of which one, two, three or four are all of C, and many of one with long rows.
    counts: tuple[int, ...] = (1,) if p.transposed_b else (1, 2, 3, 4)
    if p.n > LARGEST and not p.transposed_b:
        counts += (6, 8, 12, 16, 32)
    shortest = TILES[0] if skewed(p) else 32
    covering = ([tile for tile in TILES if tile >= max(shortest, -(-p.n // count))] for count in counts)
    tiles = sorted({min(some) for some in covering if some} | ({TILES[0]} if every else set()))
    grid = np.meshgrid(*map(np.array, (tiles, ROWS, COLUMNS, WARPS, *RINGS)), indexing="ij")
    found = dict(zip(_NAMES, (x.ravel() for x in grid), strict=True))
    tile, rows, columns, warps = (found[name] for name in _NAMES[:4])
    pair = numbers(p)
    some = (
        (every | (rows * columns >= min(256, p.m * p.n)))
        & (pair * rows * columns <= 4096)
        & (rows < pair * p.m + 16)
        & (pair * warps <= 24)
        & (columns < np.minimum(tile, p.n) + 8)
    )
    if direct(p):
        some &= (found["piece"] == RINGS[0][0]) & (tile >= p.n)
        found["piece"] = np.full_like(tile, PIECES[0])
    some &= parts(p, tile, rows, columns) > warps // 2
    found = {name: x[some] for name, x in found.items()}
    tile, rows, columns, warps, piece, stages = found.values()
    shared = shared_bytes(p, tile, rows, columns, warps, stages, piece)
    held = np.maximum(1, resident(shared, registers(rows, columns, pair) + 16, warps + 1, device))
    found["blocks"] = np.array((0, *PER_SM))[np.searchsorted(PER_SM, held, side="right")] * device["sms"]
    return found


def clocks(p: Problem, device: Device, columns: Columns, x: Mapping[str, float]) -> Any:
    """Clocks of an SM for a product: what memory, the schedulers and shared memory take, and a block by
    itself, of which the longest counts most."""
    tile, rows, cols, warps = (columns[name] for name in _NAMES[:4])
    per_sm = columns["blocks"] // device["sms"]
    tiles = -(-p.n // np.minimum(tile, p.n))
    waves, steps = tiles * turns(p, tile, rows, cols, warps), -(-p.k // 16)
    reads_c = 1 + (p.beta != "0")
    own_a, own_b = (stride != 0 for stride in p.strides[:2])
    pair = numbers(p)
    moved = 2 * pair * (p.m * p.k * own_a + p.k * p.n * own_b + p.m * p.n * reads_c)
    # Matrices that are multiplied from where they come do so whole.
    together = 2 * pair * (p.m + p.n) * p.k if direct(p) else columns["piece"]
    flying = per_sm * columns["stages"] * together
    # Of a warp: words of 16 bytes that are put in place, products of tensor cores, reads of their operands,
    # and results.
    words = sum(
        count * -(-length // 8) / 32 * (x["shifted"] if unit == 2 else WIDEST // unit)
        for (length, count), unit in zip(stored(p, p.n), units(p), strict=False)
        if not direct(p)
    )
    products = pair * waves * warps * rows * cols * steps / 128
    operands = waves * warps * (rows + cols) * steps / 8
    kept = waves * warps * rows * cols * reads_c / 32
    of_a, of_b = (1 if direct(p) else pieces(shape, columns["piece"]) for shape in stored(p, tile))
    memory = moved / x["memory"] * (1 + 1024 * x["flying"] / flying)
    issued = x["word"] * words + x["product"] * products + x["operand"] * operands
    issued = issued + x["keep"] * (x["wide"] if units(p)[2] == WIDEST else 1) * kept
    banks = x["word_banks"] * words + x["operand_banks"] * operands + moved / 128
    alone = x["tile"] * tiles + x["piece"] * (of_a + tiles * of_b) + (x["turn"] + x["step"] * steps) * waves
    alone = alone + (x["word_wait"] * words + x["keep_wait"] * kept + x["product_wait"] * products) / warps
    power = x["power"]
    sides = (memory, issued / 4, banks, alone / per_sm)
    return sum(side**power for side in sides) ** (1 / power)


def cost(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a product, with the constants of the device."""
    found = clocks(p, device, columns, fitted("whole", device))
    return found * grids.slower(p, device, columns, p.batch)
