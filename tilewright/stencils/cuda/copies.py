"""An operand that runs across k, copied along k into the workspace by the launch that multiplies it, as
``warpgroup/copies.cuh`` has it: where the copy lies, what it takes, and what spaces say.

Which operand is copied is a number: 0 none, 1 B, 2 A. Sizes are in elements of 4 bytes, places in bytes.
Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tilewright.model import Problem
from tilewright.space import Rule
from tilewright.stencils.cuda.large import mapped
from tilewright.stencils.cuda.warpgroup.needs import LINE, THREADS
from tilewright.targets.cuda.arguments import Pointer, Scalar, Struct, TensorMap

OF_A, OF_B = 2, 1
STRIP, PIECE = 32, 64
"""Lines of a copy, and elements of these along k, that a warp copies at once."""
FRONT = 128
"""Bytes that the counters in front of a workspace are a multiple of: one of four bytes for each strip, and
three."""
MOST = 2**29
"""Elements of a copy: of squares, one of 23,170 rows."""
MEMORY = 2400
"""Bytes that device memory moves in a clock: 4.3 TB/s at some 1.8 GHz."""
BEGUN = 16000
"""Clocks of clearing the counters, of taking turns, and of waiting for the last piece. This and the one above
are from complex halves of 2,048 and 4,096 rows on an H200: 17 and 40 us more than orders without a copy."""
HIDDEN = 0.45
"""Of the clocks that the bytes take, those that copying behind the first tiles saves: 12 of 28 us at 4,096,
and 56 of 113 at 8,192, in tf32 on an H200; of complex halves 14 and 7 at 4,096 and 2,048."""


class Copy(NamedTuple):
    """Where the copy begins in a workspace, and the bytes of that. What lies before it begins behind so many
    bytes of counters in ``front``, which are 0 when the kernel begins."""

    front: int
    at: int
    size: int


def length(k: int) -> int:
    """Elements from one line of a copy to the next: whole lines of 128 bytes."""
    step = LINE // 4
    return -(-k // step) * step


def elements(rows: Any, columns: Any, k: int, copied: Any) -> Any:
    """Elements that are copied for a product of so many rows and columns."""
    return (copied // OF_A * rows + copied % OF_A * columns) * length(k)


def rules(fits: Callable[..., Any], idle: Callable[..., Any]) -> Iterator[Rule]:
    """What spaces say of ``copied`` and of ``behind``; ``fits`` of the elements that are copied, ``idle`` of
    warps that can copy while others multiply."""
    yield Rule(
        "copied-overlap",
        "hard",
        "counters of copies are cleared between two kernels",
        lambda overlap, copied: (copied == 0) | (overlap == 0),
    )
    yield Rule("copied-room", "soft", "copies take 2^31 bytes at most", fits)
    yield Rule(
        "behind",
        "hard",
        "warps that turn, or leave their registers to more sums, copy nothing",
        idle,
    )


def lines(p: Problem, copied: int) -> int:
    """Rows, or columns, of the operand that is copied."""
    return {0: 0, OF_A: p.m, OF_B: p.n}[copied]


def placed(p: Problem, copied: int, sums: int) -> Copy:
    """What lies where, with so many bytes of sums between the counters and the copy."""
    if not copied:
        return Copy(0, sums, sums)
    counters = 4 * (3 + -(-lines(p, copied) // STRIP))
    front = -(-counters // FRONT) * FRONT
    return Copy(front, front + sums, front + sums + 4 * lines(p, copied) * length(p.k))


def map_of(p: Problem, operand: int, across: int, box: int, found: Copy) -> TensorMap:
    """The copy of an operand with so many lines along k, in boxes of some of them."""
    return mapped(p, operand, (p.k, across), length(p.k), box, found.at)


def argument(operand: int, leading: int | None, found: Copy) -> Struct:
    """``struct Copied``: the operand, by its number, and its copy."""
    places = (Scalar("leading", "q", leading or 0), Scalar("at", "q", found.at))
    return Struct("Copied", (Pointer("from", operand), *places))


def blocks(p: Problem, copied: int) -> int:
    """Blocks whose warps have a piece each."""
    pieces = -(-lines(p, copied) // STRIP) * -(-p.k // PIECE)
    return -(-pieces // (THREADS // 32))


def clocks(taken: Any, behind: Any) -> Any:
    """Clocks that copies of so many elements take, all of which are read and written."""
    waited = 1 - np.where(np.asarray(behind) > 0, HIDDEN, 0)
    return np.where(np.asarray(taken) > 0, 2 * 4 * taken / MEMORY * waited + BEGUN, 0)
