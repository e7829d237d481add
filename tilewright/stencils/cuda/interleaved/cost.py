"""The choice without a search: how much is read more than once, and how many bytes are on their way.

Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda.common import IN_FLIGHT, cheapest, resident
from tilewright.stencils.cuda.interleaved.needs import registers, shared_bytes, tiles
from tilewright.stencils.cuda.interleaved.space import is_scattered

AGAIN = 0.15
"""What reading an element once more costs, of what it costs from memory: it comes from the nearest cache."""
TURNS = 0.9
"""The same where a thread computes several parts of C in turns."""
VECTOR = 0.03
"""What each access costs beside its bytes: fewer wide ones are better than many narrow ones."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest point by reads from memory and from the caches, and by what is on its way of a thread."""
    known = {param.name: param.values for param in space.params}
    names = ("lanes", "rows", "columns", "team", "warps", "unroll_k")
    columns = dict(zip(names, np.array(list(product(*(known[name] for name in names)))).T, strict=True))
    lanes, rows, cols, team, warps, unroll = (columns[name] for name in names)
    parts, area = tiles(p, rows, cols), p.m * p.n
    once = p.m * p.k + p.k * p.n + area
    # Every row of tiles reads all of B, and every column of them all of A; what overhangs is read as well.
    reads = p.k * parts * (rows + cols) + area
    # Threads that go through C in turns come back to what others have driven from the cache.
    again = np.where(parts > team, TURNS, AGAIN)
    staged = int(is_scattered(p))
    needed = registers(p, lanes, rows, cols, unroll)
    blocks = resident(shared_bytes(p, lanes, warps, staged), needed, team * warps, device)
    steps = np.minimum(unroll, p.k)
    flying = blocks * warps * 32 * lanes * p.dtype.itemsize * steps * (p.m + p.n)
    starved = np.maximum(1.0, 2 * IN_FLIGHT / np.maximum(flying, 1)) ** 0.5
    cost = (once + again * (reads - once) + VECTOR * reads / lanes) * np.where(blocks > 0, starved, np.inf)
    cost = cost * (1 + 0.01 * abs(team * warps - 4))
    columns["staged"] = np.full(len(lanes), staged)
    found = cheapest(space, columns, cost)
    if found is None:
        # Not even the C of one warp fits in shared memory.
        found = cheapest(
            space, {**columns, "staged": np.zeros(len(lanes), int)}, np.where(blocks > 0, cost, reads)
        )
    assert found is not None
    return found
