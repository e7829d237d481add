"""Operands that run across k, copied along k into the workspace by the launch that multiplies them, as
``warpgroup/copies.cuh`` has it: which these are, where the copies lie, what they take, and what spaces say.

Which operands are copied is a number of two bits: 1 is B, 2 is A. Sizes are in elements of 4 bytes, places in
bytes. Functions on configs work on numbers and on NumPy arrays.
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
IN_FRONT = 128
"""Bytes of the workspace that count pieces; they begin with 0, and all else comes behind them."""
ACROSS, ALONG = 32, 64
"""Elements of a piece, which a warp copies at once."""
MOST = 2**29
"""Elements of copies: of squares, one of 23,170 rows."""
MEMORY = 2400
"""Bytes that device memory moves in a clock: 4.3 TB/s at some 1.8 GHz."""
BEGUN = 6000
"""Clocks of clearing the counters and of waiting for the last piece."""


class Copies(NamedTuple):
    """Where the copies of A and of B begin in a workspace, -1 where there is none, and its bytes."""

    a: int
    b: int
    size: int


def length(k: int) -> int:
    """Elements from one line of a copy to the next: whole lines of 128 bytes."""
    step = LINE // 4
    return -(-k // step) * step


def elements(rows: Any, columns: Any, k: int, copied: Any) -> Any:
    """Elements that are copied for a product of so many rows and columns."""
    return (copied // OF_A * rows + copied % OF_A * columns) * length(k)


def rules(fits: Callable[..., Any]) -> Iterator[Rule]:
    """What spaces say of ``copied``; ``fits`` of the elements that are copied."""
    yield Rule(
        "copied-overlap",
        "hard",
        "counters of copies are cleared between two kernels",
        lambda overlap, copied: (copied == 0) | (overlap == 0),
    )
    yield Rule("copied-room", "soft", "copies take 2^31 bytes at most", fits)


def placed(p: Problem, copied: int, behind: int) -> Copies:
    """Where copies lie, behind so many bytes of others."""
    if not copied:
        return Copies(-1, -1, behind)
    of_a = int(elements(p.m, p.n, p.k, copied & OF_A)) * 4
    of_b = int(elements(p.m, p.n, p.k, copied & OF_B)) * 4
    return Copies(
        behind if copied & OF_A else -1, behind + of_a if copied & OF_B else -1, behind + of_a + of_b
    )


def map_of(p: Problem, operand: int, across: int, lines: int, at: int) -> TensorMap:
    """The copy of an operand that lies at a place of the workspace, in boxes of so many lines along k."""
    return mapped(p, operand, (p.k, across), length(p.k), lines, at)


def argument(p: Problem, found: Copies, operands: tuple[int, int]) -> Struct:
    """``struct Copied`` of the product that a kernel makes, of operands by their numbers."""
    places = {"lda": p.lda or 0, "ldb": p.ldb or 0, "at_a": max(0, found.a), "at_b": max(0, found.b)}
    addresses = (Pointer(name, operand) for name, operand in zip("ab", operands, strict=True))
    return Struct("Copied", (*addresses, *(Scalar(name, "q", value) for name, value in places.items())))


def blocks(p: Problem, copied: int) -> int:
    """Blocks whose warps have a piece each."""
    along = -(-p.k // ALONG)
    pieces = sum(-(-extent // ACROSS) * along for bit, extent in ((OF_A, p.m), (OF_B, p.n)) if copied & bit)
    return -(-pieces // (THREADS // 32))


def clocks(taken: Any) -> Any:
    """Clocks that copies of so many elements take: all of it is read and written."""
    return np.where(np.asarray(taken) > 0, 2 * 4 * taken / MEMORY + BEGUN, 0)
