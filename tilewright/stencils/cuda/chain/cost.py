"""The choice without a search: a cost model of chain.cuh.

It proposes tiles and rings and says what each costs; the rules of the space say which of them may be. Its
constants are in ``data/chain.json``. Sizes are in elements, shared memory in bytes. Functions on configs work
on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import ChainProblem, Config, Device
from tilewright.space import Space
from tilewright.stencils.cuda.chain.banks import wavefronts
from tilewright.stencils.cuda.chain.needs import (
    busy,
    registers,
    registers_of,
    shared_bytes,
    stage_bytes,
    words_of_sum,
    work,
)
from tilewright.stencils.cuda.chain.space import PER_SM, groups, sides
from tilewright.stencils.cuda.common import cheapest, fitted, resident

Columns = dict[str, Any]
_WARPS, _STAGES = np.array((1, 2, 4, 6, 8)), np.array((2, 3, 4))


def best(space: Space, p: ChainProblem, device: Device) -> Config:
    """The best of many rings and tiles by how busy they keep memory and threads; with bulk copies where the
    rules allow one."""
    x = fitted("chain", device)
    for path in ("bulk", "async"):
        columns = _candidates(p, device, path, x)
        found = cheapest(space.restricted(path=path), columns, _cost(p, device, path, columns, x))
        if found is not None:
            return found
    # No ring that keeps memory and schedulers busy: a small one.
    plain = {"path": "async", "mma": 0, "rows": 1, "columns": 1, "warps": 4, "group": 1, "stages": 2}
    return Config(plain | {"blocks": device["sms"]})


def _candidates(p: ChainProblem, device: Device, path: str, x: Mapping[str, Any]) -> Columns:
    """Every tile with every ring, in as many blocks as an SM holds."""
    (row_sides, column_sides), sizes = _sides(p, x), groups(p)
    mesh = np.meshgrid(row_sides, column_sides, _WARPS, np.array(sizes), _STAGES, indexing="ij")
    most = x["sums_halves" if p.dtype.real_bits == 16 else "sums"]
    few = mesh[0] * mesh[1] * words_of_sum(p) <= most
    rows, columns, warps, group, stages = (axis[few] for axis in mesh)
    # The compiler takes more registers than the loop needs, for reads ahead.
    needed = (x["registers"] * registers(p, 0, rows, columns)).astype(int) + x["registers_beside"]
    held = np.minimum(resident(shared_bytes(p, path, 0, group, stages), needed, warps, device), x["blocks"])
    blocks = np.zeros(len(rows), int)
    for per_sm in PER_SM:
        fits = (per_sm <= held) & (registers_of(device, warps, per_sm) >= needed)
        blocks[fits] = per_sm * device["sms"]
    names = ("rows", "columns", "warps", "group", "stages", "blocks")
    return dict(zip(names, (rows, columns, warps, group, stages, blocks), strict=True)) | {
        "path": path,
        "mma": 0,
    }


def _sides(p: ChainProblem, x: Mapping[str, Any]) -> tuple[Any, Any]:
    """Rows and columns of tiles that are worth a thought."""
    rows, columns = (sides(tuple(product[axis] for product in p.products)) for axis in (0, 1))
    most = x["side"]
    return np.array([r for r in rows if r <= most]), np.array([c for c in columns if c <= most])


def _cost(p: ChainProblem, device: Device, path: str, columns: Columns, x: Mapping[str, Any]) -> Any:
    """Clocks of an SM for a matrix: what memory takes for its bytes or multiplying takes, whichever is
    longer, and something for where they get in each other's way."""
    rows, cols, warps, group = (columns[name] for name in ("rows", "columns", "warps", "group"))
    per_sm = np.maximum(columns["blocks"] // device["sms"], 1)
    stage = stage_bytes(p, group)
    flying = np.minimum(1.0, per_sm * columns["stages"] * stage / (x["flying"] * 1024))
    memory = p.bytes / x["bytes"] / flying ** x["flying_power"]
    running = np.minimum(1.0, per_sm * warps / x["movers"])
    used = busy(p, 0, rows, cols, warps, group)
    computing = _multiplying(p, rows, cols, x) / (running * used ** x["used_power"])
    # Barriers of a group, which other blocks fill in part.
    waiting = x["barrier"] / (group * per_sm)
    # The last round leaves part of the SMs idle.
    rounds = p.batch / (group * per_sm * device["sms"])
    power = x["power"]
    return ((memory**power + computing**power) ** (1 / power) + waiting) * (rounds + x["last"]) / rounds


def _multiplying(p: ChainProblem, rows: Any, columns: Any, x: Mapping[str, Any]) -> Any:
    """Clocks of an SM for the products of one matrix: multiply-adds, loads, and what banks make of them."""
    done = work(p, rows, columns)
    each = (4 if p.dtype.is_complex else 1) * (2 if p.dtype.real_bits == 64 else 1)
    # Halves are converted as they are read.
    loads = done * (1 / rows + 1 / columns) * (2 if p.dtype.real_bits == 16 else 1)
    tiles, where = np.unique(np.stack([rows, columns]), axis=1, return_inverse=True)
    passes = np.array([wavefronts(p, int(high), int(wide)) for high, wide in tiles.T])[where.ravel()]
    return done * each / x["units"] + loads / x["loads"] + passes / x["passes"]
