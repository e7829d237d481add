"""The choice without a search: a cost model of the kernel of ffma.

It says how many clocks of an SM a product takes with each config of the space; the rules say which of them
may be. Its constants are from hand-written kernels of the same loop (H200, 4096); nothing was fitted to this
kernel yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda import cuts
from tilewright.stencils.cuda.ffma.needs import PIECE, arranged, packed_bytes, tile_m, tile_n, tiles

Columns = Mapping[str, Any]
SETTLED = {"band": 2048, "a_first": 1, "overlap": 1}
"""What was level with the best; compilers find better registers for the loop where A comes first."""
WIDE = 1.015
"""Times longer that threads take with more columns than rows, for the same reason."""
RATE = 128
"""Multiply-adds of an SM in a clock."""
REACHED = 0.91
"""The part of them that conflicts of banks of registers leave: 60.9 of 66.9 TFLOP/s without any reads."""
READ = 1.8
"""Multiply-adds that a read of 16 bytes costs: 55.8 TFLOP/s with 6 of them for 128."""
TURN, LEAN = 500, 0.18
"""Clocks that the others of a block lose while 32 x 32 numbers are turned in shared memory, for each number
that they read themselves for a multiply-add, beyond so many: 4 of threads with 16 x 8 sums, 40 with 8 x 8, 95
with 8 x 4 and 175 with 4 x 4, of 512 to 4096."""
FOUR_LANES = 1.008
"""Times longer that warps of four lanes in m take."""
SLICE_CLOCKS, LATENCY = 20, 300
"""Clocks of a slice's end, and of waits for one that could be on its way no earlier: guesses."""
MEMORY = 16
"""Bytes in a clock that an SM gets of the second-level cache while all of them ask."""
STORED = 16
"""Bytes of C that a block stores in a clock."""
TURNED, TOLD = 1500, 5000
"""Bytes that all SMs read or write in a clock while operands are turned, and clocks for which loads wait
behind the last of them: guesses."""
BEGUN = 2500
"""Clocks of a launch and of the first slice of a block."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of all configs; where the soft rules leave none, of those that the hardware can run."""
    found = liked(space, p, device, 1)
    if not found:
        raise AssertionError(f"no config of ffma fits {p.key}, which it accepts")
    return found[0]


def liked(space: Space, p: Problem, device: Device, count: int) -> list[Config]:
    """So many of the cheapest, as ``cuts.liked`` tells them apart."""
    return cuts.liked(space, SETTLED, lambda columns: clocks(p, device, columns), count)


def clocks(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a product: waves of tiles, each as long as its products and what these wait for."""
    rows, across, depth = columns["rows"], columns["columns"], columns["depth"]
    down_tile = tile_m(rows, columns["lanes_m"], columns["warps_m"])
    across_tile = tile_n(across, columns["lanes_m"], columns["warps_m"])
    reads = (rows + across) / 4 / (rows * across)
    products = down_tile * across_tile * depth / RATE / REACHED * (1 + READ * reads)
    products = products * np.where(rows < across, WIDE, 1.0)
    products = products * np.where(columns["lanes_m"] == 4, FOUR_LANES, 1.0)
    turns_a, turns_b = arranged(p)
    boxes = (down_tile * turns_a + across_tile * turns_b) / PIECE * (depth / PIECE)
    products = products + columns["turned"] * boxes * TURN * np.maximum(4 * reads - LEAN, 0.01)
    brought = (down_tile + across_tile) * depth * 4 / MEMORY
    slice_clocks = np.maximum(products + SLICE_CLOCKS, brought)
    slice_clocks = slice_clocks + LATENCY / (columns["stages"] - 1)
    stored = down_tile * across_tile * p.dtype.itemsize * (1 + (p.beta != "0")) / STORED
    count, sums = tiles(p, down_tile, across_tile), down_tile * across_tile * p.dtype.itemsize
    slices = -(-p.k // depth) * columns["products"]
    of_a, of_b = packed_bytes(p, down_tile, across_tile, depth, columns["products"], columns["turned"])
    packed = 2 * (of_a + of_b) / TURNED + np.where(of_a + of_b > 0, TOLD, 0)
    made, joined = cuts.clocks(
        count, columns["blocks"], slices, columns["cut"], slice_clocks, 1.0, stored, sums
    )
    return made + joined + BEGUN + packed
