"""The choice without a search: a cost model of middle's kernel.

It proposes tiles, parts and rings and says how many clocks of an SM a tile of C takes with each; the rules of
the space say which of them may be. Its constants, fitted to timed configs, are in ``data/middle.json``. Sizes
are in elements, shared memory in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.common import WIDEST, cheapest, fitted, resident, units
from tilewright.stencils.cuda.middle.needs import (
    along_k,
    by_tensor_cores,
    divided,
    exchanged,
    items,
    registers,
    shared_bytes,
    warps,
    wide,
)
from tilewright.stencils.cuda.middle.space import PER_SM

Columns = Mapping[str, Any]
SMALL, LASTING = 64, 8
"""Extents up to which blocks end, and lives of all blocks that a batch lasts for then: no larger ones were
timed. Of 36 defaults that move 700 MB two lost 2 or 3 % by it (1.04 in the geometric mean, timed on an H200
once, not kept); of five that move 130 MB four did, 5 to 11 %."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of many configs; where no ring keeps memory busy, of those that the hardware can run."""
    columns = candidates(space, p, device)
    cost = clocks(p, device, columns)
    found = cheapest(space, columns, cost) or cheapest(space, columns, cost, (*HARDWARE, "hard"))
    if found is None:
        raise AssertionError(f"no config of middle fits {p.key}, which it accepts")
    return found


def candidates(space: Space, p: Problem, device: Device) -> dict[str, Any]:
    """Every tile and part with rings that are worth a thought, each with as many blocks as an SM holds."""
    x = fitted("middle", device)
    values = {param.name: np.array(param.values) for param in space.params}
    values["stages"] = np.array(x["stages"])
    if by_tensor_cores(p):
        values["mma"] = np.array([16 if "mma_f64_m16" in device.supports else 8])
    names = [name for name in values if name not in ("blocks", "per_block")]
    grid = np.meshgrid(*(values[name] for name in names), indexing="ij")
    found = {name: axis.ravel() for name, axis in zip(names, grid, strict=True)}
    tile, part = (found["tile_m"], found["tile_n"]), (found["rows"], found["columns"])
    # The compiler takes more registers than the loop needs, for reads ahead.
    loop = registers(p, *part, found["deep"])
    needed = (x["registers"] * loop).astype(int) + x["registers_beside"]
    shared = shared_bytes(p, *tile, found["depth"], *part, found["stages"])
    of_block = warps(p, *tile, *part)
    held = resident(shared, needed, of_block, device)
    # Each of the four schedulers has a quarter of the registers for its warps.
    of_scheduler = device["registers_per_sm"] // 4 // (32 * (divided(needed, 8) * 8))
    held = np.minimum(held, 4 * of_scheduler // of_block)
    found["blocks"] = np.array((0, *PER_SM))[np.searchsorted(PER_SM, held, side="right")] * device["sms"]
    some = (found["blocks"] > 0) & (needed <= device["registers_per_thread"])
    return {name: column[some] for name, column in found.items()}


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for one product, in the mean of the batch: what memory takes, and what its warps do, of
    which the longer counts most; and the latency of the turns of the ring, which the blocks of an SM share.
    Blocks without a tile wait for those that have one: few products are cut into many tiles."""
    x: Mapping[str, float] = fitted("middle", device)[p.dtype.letter]
    tile_m, tile_n, depth = columns["tile_m"], columns["tile_n"], columns["depth"]
    tiles_m, tiles_n = divided(p.m, tile_m), divided(p.n, tile_n)
    tiles, slices, size = tiles_m * tiles_n, divided(p.k, depth), p.dtype.itemsize
    sms, count, of_block = device["sms"], p.batch * tiles, warps(p, tile_m, tile_n, *_part(columns))
    per_sm = np.minimum(columns["blocks"] // sms, divided(count, sms))
    again = (p.m * (tiles_n - 1) + p.n * (tiles_m - 1)) * p.k * size
    memory = p.bytes / x["bytes"] + again / x["bytes_again"]
    issued, busy_units, reads = (_tensor if by_tensor_cores(p) else _fma)(p, columns, of_block, x)
    # Of warps that four schedulers do not share evenly some wait for the others.
    uneven = divided(per_sm * of_block, 4) * 4 / (per_sm * of_block)
    issued, busy_units = issued * uneven, busy_units * uneven
    copied = sum(_copied(p, columns, which, x) for which in (0, 1)) * slices
    kept = of_block * _kept(p, columns) * x["kept"] * (1 if p.beta == "0" else 2)
    power = x["power"]
    busy = (issued**power + busy_units**power + (reads + copied) ** power) ** (1 / power) + kept / 4
    # Few warps leave a scheduler nothing to issue while they wait for each other.
    busy = tiles * busy * (1 + x["few"] / (per_sm * of_block))
    # A slice waits for memory as long as the others of the ring do not cover it.
    waits = x["slice"] / (columns["stages"] - 1) + x["barrier"]
    latency = tiles * (x["turn"] + slices * waits) / per_sm
    rounds = divided(count, sms * per_sm) * sms * per_sm / count
    return ((memory**power + busy**power) ** (1 / power) + latency) * rounds


def cost(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for one product, also by blocks that end."""
    count = items(p, columns["tile_m"], columns["tile_n"])
    return clocks(p, device, columns) * grids.slower(p, device, columns, count, _least(p, device))


def ended(p: Problem, device: Device, config: Config) -> Config:
    """A config with the tiles of a block, where blocks had better end."""
    return grids.ended(
        p, device, config, int(items(p, config["tile_m"], config["tile_n"])), _least(p, device)
    )


def _least(p: Problem, device: Device) -> int:
    """Blocks on an SM from which on they may end."""
    pays = max(p.extents) <= SMALL and grids.lasts(p, device, LASTING)
    return grids.FEWEST if pays else device["blocks_per_sm"] + 1


def _part(columns: Columns) -> tuple[Any, Any]:
    return columns["rows"], columns["columns"]


def _copied(p: Problem, columns: Columns, which: int, x: Mapping[str, float]) -> Any:
    """Clocks that the instructions take which copy a slice of A (0) or B (1), run after run."""
    tile, depth = columns["tile_m" if which == 0 else "tile_n"], columns["depth"]
    size, extent, along = p.dtype.itemsize, (p.m, p.n)[which], along_k(p)[which]
    length, count, whole = (depth, tile, p.k) if along else (tile, depth, extent)
    # Runs that begin anywhere move by elements.
    words = np.gcd(units(p)[which], np.where(length < whole, length * size, WIDEST)) // size
    each = divided(length, words)
    across = np.where(each <= 4, 4, np.where(each <= 8, 8, np.where(each <= 16, 16, 32)))
    return x["copied"] * divided(count, 32 // across) * divided(each, across)


def _kept(p: Problem, columns: Columns) -> Any:
    """Instructions that write the part of a warp."""
    rows, cols = _part(columns)
    if by_tensor_cores(p):
        return rows * cols / 32
    return rows * cols * (2.25 if exchanged(p) else p.dtype.itemsize / WIDEST)


def _fma(p: Problem, columns: Columns, of_block: Any, x: Mapping[str, float]) -> tuple[Any, Any, Any]:
    """Clocks of a tile that issuing instructions, multiply-add units and shared memory take."""
    rows, cols = _part(columns)
    sums = rows * cols * (4 if p.dtype.is_complex else 1)
    one = [columns["deep"] if along else wide(p) for along in along_k(p)]
    loads = rows / one[0] + cols / one[1]
    issued = of_block * p.k * (sums + loads + x["step"]) / 4
    return issued, of_block * p.k * sums / 4, of_block * p.k * loads * x["reads"]


def _tensor(p: Problem, columns: Columns, of_block: Any, x: Mapping[str, float]) -> tuple[Any, Any, Any]:
    """The same by tensor cores."""
    rows, cols = _part(columns)
    pairs, steps = 1 + p.dtype.is_complex, divided(p.k, 4)
    products = rows * cols / 128 * pairs**2
    loads = (rows + cols) / 8
    issued = of_block * steps * (2 * products + loads * pairs + x["step"]) / 4
    busy = of_block * steps * products * 4 * 16 / columns["mma"]
    return issued, busy, of_block * steps * loads * pairs * x["reads"]
