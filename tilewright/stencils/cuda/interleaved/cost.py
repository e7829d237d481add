"""The choice without a search: how much is read more than once, and how many bytes are on their way.

Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda.common import IN_FLIGHT, WIDEST, cheapest
from tilewright.stencils.cuda.interleaved.needs import copied, held, stage_bytes, tiles
from tilewright.stencils.cuda.interleaved.space import is_scattered

# Fitted by eye to 1,000 configs of 30 types and sizes on an H200; no ring of complex numbers was measured.
AGAIN = 0.15
"""What reading an element once more costs, of what it costs from memory: it comes from the nearest cache."""
TURNS = 0.9
"""The same where a thread computes several parts of C in turns."""
RING = 0.06
"""The same of an element that lies in a ring in shared memory."""
VECTOR, SHARED = 0.03, 0.01
"""What each access to memory costs beside its bytes, and one to shared memory: few wide ones are better."""
FEW = 2.0
"""What few warps of a ring cost, which wait together: so many would take twice as long."""
LEAST = 8
"""Steps along k that a ring is worth filling for."""
WAIT, LONG, NARROW, APART = 0.86, 1.25, 1.3, 1.06
"""What a ring makes of the time, and what more it does to long and to complex numbers, to copies of less
than 16 bytes, and beside a C on its way out."""
NAMES = ("lanes", "rows", "columns", "team", "warps", "unroll_k")

_NO_PACKS = {"bulk": 0, "group": 0, "padded": 0, "blocks": 0}


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
    columns = _grid(space, p, NAMES, ahead=0, stages=0, depth=1, **_NO_PACKS)
    lanes, rows, cols, team, warps, unroll = (columns[name] for name in NAMES)
    blocks = held(p, columns, device)
    steps = np.minimum(unroll, p.k)
    flying = blocks * warps * 32 * lanes * p.dtype.itemsize * steps * (p.m + p.n)
    # Threads that go through C in turns come back to what others have driven from the cache.
    again = np.where(tiles(p, rows, cols) > team, TURNS, AGAIN)
    accesses = VECTOR * _reads(p, rows, cols) / lanes
    return columns, _cost(p, columns, again, accesses) * _starved(blocks, flying)


def _with_ring(space: Space, p: Problem, device: Device) -> tuple[dict[str, Any], Any]:
    names = ("lanes", "rows", "columns", "team", "warps", "stages", "depth")
    columns = _grid(space, p, names, ahead=0, unroll_k=1, **_NO_PACKS)
    lanes, rows, cols, team, warps, stages, depth = (columns[name] for name in names)
    blocks = held(p, columns, device)
    flying = blocks * (stages - 1) * stage_bytes(p, lanes, warps, depth)
    again = np.where(tiles(p, rows, cols) > team, TURNS, RING)
    wide = copied(p, lanes) / p.dtype.itemsize
    accesses = VECTOR * _once(p) / wide + SHARED * _reads(p, rows, cols) / lanes
    wait = (
        WAIT
        * (LONG if p.dtype.real_bits == 64 or p.dtype.is_complex else 1)
        * (APART if is_scattered(p) else 1)
    )
    wait = (
        wait
        * np.where(copied(p, lanes) < WIDEST, NARROW, 1)
        * (1 + 0.02 * (depth != 2) + 0.05 * (stages < 3))
    )
    wait = wait * (1 + FEW / np.maximum(blocks * team * warps, 1))
    cost = _cost(p, columns, again, accesses) * _starved(blocks, flying) * wait
    return columns, np.where((stages > 0) & (p.k >= LEAST), cost, np.inf)


def _once(p: Problem) -> int:
    """Elements of A, B and C."""
    return p.m * p.k + p.k * p.n + p.m * p.n


def _reads(p: Problem, rows: Any, columns: Any) -> Any:
    """Elements that threads ask for, those of C among them: every row of tiles reads all of B, and every
    column of them all of A."""
    return p.k * tiles(p, rows, columns) * (rows + columns) + p.m * p.n


def _starved(blocks: Any, flying: Any) -> Any:
    """How much longer it takes where few bytes are on their way; infinitely where no block fits."""
    slower = np.maximum(1.0, 2 * IN_FLIGHT / np.maximum(flying, 1)) ** 0.5
    return np.where(blocks > 0, slower, np.inf)


def _cost(p: Problem, columns: dict[str, Any], again: Any, accesses: Any) -> Any:
    """What must be read and written and what is read again, in elements, and what is computed outside C."""
    rows, cols, team, warps = (columns[name] for name in NAMES[1:5])
    waste = tiles(p, rows, cols) * rows * cols / (p.m * p.n)
    once = _once(p)
    cost = (once + again * (_reads(p, rows, cols) - once) + accesses) * waste
    return cost * (1 + 0.01 * abs(team * warps - 4))
