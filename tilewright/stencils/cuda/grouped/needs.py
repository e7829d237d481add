"""What grouped.cuh derives from a list and a config, in the same words: shared memory, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

from tilewright.model import GroupedProblem
from tilewright.stencils.cuda.common import WIDEST

LARGEST = 64
"""Extent up to which whole matrices are kept in shared memory."""
LINE = WIDEST
"""Bytes that the places of operands in shared memory are multiples of."""
BEYOND = 32
"""Elements that a warp may read beyond an operand, for tiles are at most so much larger than a product."""


def largest(p: GroupedProblem) -> int:
    """Bytes of shared memory that a product of the largest extents takes, wherever its operands begin."""
    size = p.dtype.itemsize
    read = p.stored[:2] if p.beta == "0" else p.stored
    taken = [-(-(LINE - 1 + (rows + LINE // size) * cols * size) // LINE) * LINE for rows, cols in read]
    return int(max(sum(taken), *reach(taken, size, p.transposed_a, p.transposed_b)))


def reach(taken: Any, size: int, transposed_a: bool, transposed_b: bool) -> list[Any]:
    """Bytes of a product that are read, with what is looked at and not used: lanes of rows beyond the last
    one of A and of columns beyond the last one of B, fewer than ``BEYOND`` of them."""
    more = BEYOND * size
    return [taken[0] + (0 if transposed_a else more), taken[0] + taken[1] + (more if transposed_b else 0)]


def fixed_bytes(teams: Any, depth: Any) -> Any:
    """Shared memory before the rings: barriers, descriptors, what hands out products."""
    queue = -(-8 * teams * depth // LINE) * LINE
    return -(-(queue + 64 * teams * depth + 16 + 8 * teams) // 128) * 128


def shared_bytes(team: Any, warps: Any, ring: Any, depth: Any) -> Any:
    """Shared memory of a block."""
    teams = warps // team
    return fixed_bytes(teams, depth) + teams * ring


def registers(p: GroupedProblem, rows: Any, columns: Any) -> Any:
    """32-bit registers of a thread that its loop cannot do without: sums, one element of each of its rows
    and columns, and addresses."""
    return 40 + words_of(p) * (rows * columns + rows + columns)


def words_of(p: GroupedProblem) -> int:
    """Registers of an element that is computed with."""
    return (2 if p.dtype.real_bits == 64 else 1) * (2 if p.dtype.is_complex else 1)
