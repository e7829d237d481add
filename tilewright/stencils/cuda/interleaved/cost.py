"""The choice without a search: how much is read more than once, and how many bytes are on their way.

Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda.common import IN_FLIGHT, cheapest
from tilewright.stencils.cuda.interleaved.needs import held, stage_bytes, tiles
from tilewright.stencils.cuda.interleaved.space import is_scattered

AGAIN = 0.15
"""What reading an element once more costs, of what it costs from memory: it comes from the nearest cache."""
TURNS = 0.9
"""The same where a thread computes several parts of C in turns."""
RING = 0.06
"""The same of an element that lies in a ring in shared memory."""
WAIT = 1.1
"""What the barriers of a ring cost, and that it begins empty."""
VECTOR = 0.03
"""What each access costs beside its bytes: fewer wide ones are better than many narrow ones."""
NAMES = ("lanes", "rows", "columns", "team", "warps", "unroll_k")


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest point by reads from memory and from the caches, and by what is on its way."""
    columns, cost = _without_ring(space, p, device)
    others, costs = _with_ring(space, p, device)
    both = {name: np.concatenate([columns[name], others[name]]) for name in columns}
    found = cheapest(space, both, np.concatenate([cost, costs]))
    if found is None:
        # Not even the C of one warp fits in shared memory.
        found = cheapest(space, {**columns, "staged": 0 * columns["staged"]}, columns["lanes"])
    assert found is not None
    return found


def _grid(space: Space, p: Problem, names: tuple[str, ...], **fixed: int) -> dict[str, Any]:
    """All combinations of the values of some parameters, the others at one value; of teams those alone that
    have all of C between them, or half."""
    known = {param.name: param.values for param in space.params}
    axes = np.meshgrid(*(known[name] for name in names), indexing="ij")
    columns = {name: axis.ravel() for name, axis in zip(names, axes, strict=True)}
    parts, teams = tiles(p, columns["rows"], columns["columns"]), np.array(known["team"])
    whole, half = (teams[np.searchsorted(teams, some, side="right") - 1] for some in (parts, -(-parts // 2)))
    left = (columns["team"] == whole) | (columns["team"] == half)
    columns = {name: column[left] for name, column in columns.items()}
    fixed = {"staged": int(is_scattered(p)), **fixed}
    return columns | {name: np.full(int(left.sum()), value) for name, value in fixed.items()}


def _without_ring(space: Space, p: Problem, device: Device) -> tuple[dict[str, Any], Any]:
    columns = _grid(space, p, NAMES, ahead=0, stages=0, depth=1)
    lanes, rows, cols, team, warps, unroll = (columns[name] for name in NAMES)
    blocks = held(p, columns, device)
    steps = np.minimum(unroll, p.k)
    flying = blocks * warps * 32 * lanes * p.dtype.itemsize * steps * (p.m + p.n)
    # Threads that go through C in turns come back to what others have driven from the cache.
    again = np.where(tiles(p, rows, cols) > team, TURNS, AGAIN)
    return columns, _cost(p, columns, again, blocks, flying)


def _with_ring(space: Space, p: Problem, device: Device) -> tuple[dict[str, Any], Any]:
    names = ("lanes", "rows", "columns", "team", "warps", "stages", "depth")
    columns = _grid(space, p, names, ahead=0, unroll_k=1)
    lanes, rows, cols, team, warps, stages, depth = (columns[name] for name in names)
    blocks = held(p, columns, device)
    flying = blocks * (stages - 1) * stage_bytes(p, lanes, warps, depth)
    again = np.where(tiles(p, rows, cols) > team, TURNS, RING)
    cost = _cost(p, columns, again, blocks, flying) * (WAIT + 0.02 / depth)
    return columns, np.where((stages > 0) & (p.k > 2), cost, np.inf)


def _cost(p: Problem, columns: dict[str, Any], again: Any, blocks: Any, flying: Any) -> Any:
    """What must be read and written, what is read again, and how little of it is on its way."""
    lanes, rows, cols, team, warps = (columns[name] for name in NAMES[:5])
    once = p.m * p.k + p.k * p.n + p.m * p.n
    # Every row of tiles reads all of B, and every column of them all of A; what overhangs is read as well.
    reads = p.k * tiles(p, rows, cols) * (rows + cols) + p.m * p.n
    starved = np.maximum(1.0, 2 * IN_FLIGHT / np.maximum(flying, 1)) ** 0.5
    cost = (once + again * (reads - once) + VECTOR * reads / lanes) * np.where(blocks > 0, starved, np.inf)
    return cost * (1 + 0.01 * abs(team * warps - 4))
