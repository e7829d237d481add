"""What the kernel of ffma derives from a config, in the same words: tiles, shared memory, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Problem

WARPS = 8
"""Warps that multiply; four more load, one of them alone."""
THREADS = 32 * WARPS + 128
REGISTERS = 240
"""Of a thread that multiplies, when the warps that load have given theirs away."""
MOST_SUMS = 128
"""Numbers that a thread sums, of a register each."""
OTHER = 24
"""Registers of addresses, of places in the ring and of the tile."""
PIECE = 32
"""Rows of a tile that a warp turns at once, where it packs in a square of shared memory with one more column;
and numbers along k that are turned at once."""
IN_FRONT = 128
"""Bytes of the workspace that say how far the turning has come."""
BOX = 256
"""Numbers of a line of a box."""


def tile_m(rows: Any, lanes_m: Any, warps_m: Any) -> Any:
    """Rows of a tile of C."""
    return rows * lanes_m * warps_m


def tile_n(columns: Any, lanes_m: Any, warps_m: Any) -> Any:
    """Columns of a tile of C."""
    return columns * (32 // lanes_m) * (WARPS // warps_m)


def arranged(p: Problem) -> tuple[bool, bool]:
    """Whether A, and B, are packed or turned before they are multiplied: those that lie along k, and complex
    ones."""
    return p.transposed_a or p.dtype.is_complex, not p.transposed_b or p.dtype.is_complex


def planes(products: Any) -> tuple[Any, Any]:
    """Planes of real numbers that A, and B, are packed as, for so many real products."""
    return np.minimum(products, 3) - (products == 4), np.minimum(products, 3)


def packed_bytes(
    p: Problem, down: Any, across: Any, depth: Any, products: Any, turned: Any
) -> tuple[Any, Any]:
    """Bytes of A, and of B, when they are packed: planes of whole tiles of whole slices, none where they are
    turned in shared memory."""
    along = -(-p.k // depth) * depth * 4 * (1 - turned)
    rows = -(-p.m // down) * down, -(-p.n // across) * across
    of_a, of_b = planes(products)
    return rows[0] * along * of_a * arranged(p)[0], rows[1] * along * of_b * arranged(p)[1]


def registers(rows: Any, columns: Any) -> Any:
    """Registers of a thread that multiplies: sums, and what it reads of both operands in two places each."""
    return rows * columns + 2 * (rows + columns) + OTHER


def kept_bytes(p: Problem, blocks: int, down: int, across: int) -> int:
    """Bytes of parts of complex tiles that blocks keep while they sum the other part: two places for each."""
    return 2 * blocks * down * across * 4 if p.dtype.is_complex else 0


def shared_bytes(down: Any, across: Any, depth: Any, stages: Any) -> Any:
    """Shared memory of a block with tiles of so many rows and columns: slices, and three barriers of each."""
    return stages * ((down + across) * depth * 4 + 3 * 8)


def tiles(p: Problem, down: Any, across: Any) -> Any:
    """Tiles of all C."""
    return -(-p.m // down) * -(-p.n // across) * p.batch
