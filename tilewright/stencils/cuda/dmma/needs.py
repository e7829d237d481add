"""What the kernel of dmma derives from a config, in the same words: slices, shared memory, tiles.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, units

LINE = 128
"""Bytes of a swizzle: what of a row comes along k, or what comes of neighbouring rows at one k."""
WARPS = 8
"""Warps that multiply; four more load, one of them alone."""
THREADS = 32 * WARPS + 128
REGISTERS, LOOSE_REGISTERS, BATCH_REGISTERS = 240, 232, 224
"""Of a thread that multiplies, when the warps that load have given theirs away; where numbers come one by
one, for which these keep some more; and where they do so of a batch."""
MOST_SUMS = 64
"""Accumulators of a thread, of 2 registers each."""
OTHER = 24
"""Registers of addresses, of places in the ring and of the tile."""


def loose(p: Problem) -> tuple[bool, bool, bool]:
    """Whether columns of A, B and C begin at multiples of 8 bytes alone, which no tensor map has."""
    a, b, c = (unit < WIDEST for unit in units(p))
    return a, b, c


def most_registers(p: Problem) -> int:
    """Registers of a thread that multiplies."""
    if not any(loose(p)[:2]):
        return REGISTERS
    return LOOSE_REGISTERS if p.batch == 1 else BATCH_REGISTERS


def numbers(p: Problem) -> int:
    """Real numbers of an element."""
    return 2 if p.dtype.is_complex else 1


def unit(p: Problem) -> int:
    """Elements of a line."""
    return LINE // p.dtype.itemsize


def stage_bytes(p: Problem, tile_m: Any, tile_n: Any, depth: Any) -> Any:
    """Bytes of a slice of A and of B."""
    return (tile_m + tile_n) * LINE * (depth // unit(p))


def shared_bytes(p: Problem, tile_m: Any, tile_n: Any, depth: Any, stages: Any) -> Any:
    """Shared memory of a block: the ring of slices, and two barriers of 8 bytes for each."""
    return stages * (stage_bytes(p, tile_m, tile_n, depth) + 2 * 8)


def tiles(p: Problem, tile_m: Any, tile_n: Any, cluster_m: Any = 1, cluster_n: Any = 1) -> Any:
    """Tiles of all C, or of clusters."""
    return -(-p.m // (tile_m * cluster_m)) * -(-p.n // (tile_n * cluster_n)) * p.batch


def lies_along(p: Problem) -> tuple[bool, bool]:
    """Whether stored columns of A, and of B, run along k."""
    return p.transposed_a, not p.transposed_b


def left_is_a(p: Problem) -> bool:
    """Whether the operand of 16 rows of tensor cores is A; else it is B."""
    return p.dtype.is_complex or not p.transposed_a


def left_rows(p: Problem, tile_m: Any, tile_n: Any, warps_m: Any) -> Any:
    """Products of 16 rows of a warp, of the left operand."""
    return tile_m // warps_m // 16 if left_is_a(p) else tile_n * warps_m // WARPS // 16


def right_columns(p: Problem, tile_m: Any, tile_n: Any, warps_m: Any) -> Any:
    """Products of 8 columns of a warp, of the right operand."""
    return tile_n * warps_m // WARPS // 8 if left_is_a(p) else tile_m // warps_m // 8


def left_right(p: Problem) -> tuple[int, int]:
    """Rows of the left operand, and columns of the right one, that a warp has whole: of real numbers that lie
    across k a line has 16 columns."""
    across = p.transposed_b if left_is_a(p) else not p.transposed_a
    return 16, 16 if across and not p.dtype.is_complex else 8


def registers(p: Problem, tile_m: Any, tile_n: Any, warps_m: Any, mma_k: Any) -> Any:
    """Registers of a thread that multiplies: sums, and fragments of both operands in two places each, whose
    numbers are of 2 registers."""
    places = 2 + 2 * (mma_k // 16)
    sums = tile_m * tile_n * numbers(p) // (32 * WARPS)
    return 2 * (sums + 2 * places * (2 * left_rows(p, tile_m, tile_n, warps_m) + 1)) + OTHER
