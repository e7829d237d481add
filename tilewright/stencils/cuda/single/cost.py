"""The choice without a search: a cost model of single's kernel.

It says how many clocks of an SM a product takes with each config; the rules of the space say which of them
may be. Its constants, fitted to timed configs, are in ``data/single.json``. Sizes are in elements, shared
memory in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.common import cheapest, fitted, resident
from tilewright.stencils.cuda.middle.needs import along_k, by_tensor_cores, divided, registers
from tilewright.stencils.cuda.single.needs import shared_bytes, vectors, warps
from tilewright.stencils.cuda.single.space import PER_SM

Columns = Mapping[str, Any]


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    columns = candidates(space, p, device)
    cost = clocks(p, device, columns)
    found = cheapest(space, columns, cost) or cheapest(space, columns, cost, (*HARDWARE, "hard"))
    if found is None:
        raise AssertionError(f"no config of single fits {p.key}, which it accepts")
    return found


def candidates(space: Space, p: Problem, device: Device) -> dict[str, Any]:
    """Every part, with as many blocks as an SM holds by the registers that the compiler takes."""
    x = fitted("single", device)
    of_grid = ("blocks", "per_block")
    values = {param.name: np.array(param.values) for param in space.params if param.name not in of_grid}
    grid = np.meshgrid(*values.values(), indexing="ij")
    found = {name: axis.ravel() for name, axis in zip(values, grid, strict=True)}
    part = found["rows"], found["columns"]
    loop = registers(p, *part, found["deep"])
    needed = (x["registers"] * loop).astype(int) + x["registers_beside"]
    of_block = warps(p, *part)
    held = resident(shared_bytes(p, *part, found["early"]), needed, of_block, device)
    # Each of the four schedulers has a quarter of the registers for its warps.
    of_scheduler = device["registers_per_sm"] // 4 // (32 * (divided(needed, 8) * 8))
    held = np.minimum(held, 4 * of_scheduler // of_block)
    found["blocks"] = np.array((0, *PER_SM))[np.searchsorted(PER_SM, held, side="right")] * device["sms"]
    some = (found["blocks"] > 0) & (needed <= device["registers_per_thread"])
    return {name: column[some] for name, column in found.items()}


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for one product, in the mean of the batch: what memory takes, what multiplying takes,
    and what a product takes from its coming to its leaving, which the blocks of an SM share. The longest of
    them counts most."""
    x: Mapping[str, float] = fitted("single", device)[p.dtype.letter]
    sms, part = device["sms"], (columns["rows"], columns["columns"])
    of_block = warps(p, *part)
    per_sm = np.minimum(columns["blocks"] // sms, divided(p.batch, sms))
    memory = p.bytes / x["bytes"]
    issued, busy_units, reads = (_tensor if by_tensor_cores(p) else _fma)(p, columns, of_block, x)
    kept = of_block * part[0] * part[1] * x["kept"] / (32 if by_tensor_cores(p) else 1)
    kept = kept * (1 if p.beta == "0" else 2)
    # Of warps that four schedulers do not share evenly some wait for the others.
    uneven = divided(per_sm * of_block, 4) * 4 / (per_sm * of_block)
    power = x["power"]
    busy = ((issued + kept) * uneven) ** power + (busy_units * uneven) ** power + reads**power
    busy = busy ** (1 / power) * (1 + x["few"] / (per_sm * of_block))
    # A product alone: its warps, of which each k keeps waiting for shared memory, and what it waits for.
    alone = x["latency"] * (1 - x["early"] * columns["early"]) + p.k * x["wait"] / np.where(
        by_tensor_cores(p), 4, columns["deep"]
    )
    alone = alone + p.bytes / x["bytes"] + (issued + kept) * 4 / of_block * divided(of_block, 4)
    rounds = divided(p.batch, sms * per_sm) * sms * per_sm / p.batch
    return (memory**power + busy**power + (alone / per_sm) ** power) ** (1 / power) * rounds


def _fma(p: Problem, columns: Columns, of_block: Any, x: Mapping[str, float]) -> tuple[Any, Any, Any]:
    """Clocks of a product that issuing instructions, multiply-add units and shared memory take."""
    rows, cols, deep = columns["rows"], columns["columns"], columns["deep"]
    sums = rows * cols * (4 if p.dtype.is_complex else 1)
    down = np.minimum(divided(p.m, rows), 32)
    loads, turns = 0.0, 0.0
    for which, side, lanes in ((0, rows, down), (1, cols, divided(32, down))):
        one = deep if along_k(p)[which] else vectors(p, which, side)
        loads = loads + side / one
        turns = turns + side / one * _turns(p, which, one, lanes)
    issued = of_block * p.k * (sums + loads + x["step"] / deep) / 4
    return issued, of_block * p.k * sums / 4, of_block * p.k * turns * x["reads"]


def _turns(p: Problem, which: int, one: Any, lanes: Any) -> Any:
    """Turns of shared memory for a read of a warp in which so many lanes have vectors of their own: by their
    bytes, and where they are of different columns, by the banks that these begin in."""
    turns = np.maximum(1.0, lanes * one * p.dtype.itemsize / 128)
    if along_k(p)[which]:
        step = p.stored[which][0] * p.dtype.itemsize
        turns = np.maximum(turns, lanes / (128 // gcd(128, step)))
    return turns


def _tensor(p: Problem, columns: Columns, of_block: Any, x: Mapping[str, float]) -> tuple[Any, Any, Any]:
    """The same by tensor cores."""
    rows, cols = columns["rows"], columns["columns"]
    pairs, steps = 1 + p.dtype.is_complex, divided(p.k, 4)
    products = rows * cols / 128 * pairs**2
    loads = (rows + cols) / 8
    issued = of_block * steps * (2 * products + loads * pairs + x["step"]) / 4
    busy = of_block * steps * products * 4 * 16 / columns["mma"]
    return issued, busy, of_block * steps * loads * pairs * x["reads"]


def cost(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for one product, also by blocks that end."""
    return clocks(p, device, columns) * grids.slower(p, device, columns, p.batch, grids.FEWEST)
