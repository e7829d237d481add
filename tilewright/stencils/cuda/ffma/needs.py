"""What the kernel of ffma derives from a config, in the same words: tiles, shared memory, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

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
"""Rows of a tile that a warp turns at once, in a square of shared memory with one more column."""
IN_FRONT = 128
"""Bytes of the workspace that say how far the turning has come."""
BOX = 256
"""Numbers of a line of a box."""


def numbers(p: Problem) -> int:
    """Real numbers of an element."""
    return 2 if p.dtype.is_complex else 1


def tile_m(rows: Any, lanes_m: Any, warps_m: Any) -> Any:
    """Rows of a tile of C."""
    return rows * lanes_m * warps_m


def tile_n(columns: Any, lanes_m: Any, warps_m: Any) -> Any:
    """Columns of a tile of C."""
    return columns * (32 // lanes_m) * (WARPS // warps_m)


def packs(p: Problem) -> tuple[bool, bool]:
    """Whether A, and B, lie along k and are turned before they are multiplied."""
    return p.transposed_a, not p.transposed_b


def packed_bytes(p: Problem, down: Any, across: Any, depth: Any) -> tuple[Any, Any]:
    """Bytes of A, and of B, when they are turned: whole tiles of whole slices."""
    along = -(-p.k // depth) * depth * p.dtype.itemsize
    rows = -(-p.m // down) * down, -(-p.n // across) * across
    return rows[0] * along * packs(p)[0], rows[1] * along * packs(p)[1]


def registers(p: Problem, rows: Any, columns: Any) -> Any:
    """Registers of a thread that multiplies: sums, and what it reads of both operands in two places each."""
    return numbers(p) * (rows * columns + 2 * (rows + columns)) + OTHER


def shared_bytes(p: Problem, down: Any, across: Any, depth: Any, stages: Any) -> Any:
    """Shared memory of a block with tiles of so many rows and columns: slices, and two barriers for each."""
    return stages * ((down + across) * depth * p.dtype.itemsize + 2 * 8)


def tiles(p: Problem, down: Any, across: Any) -> Any:
    """Tiles of C."""
    return -(-p.m // down) * -(-p.n // across)
