"""What whole's kernel derives from a problem and a config, in the same words: parts, pieces, shared memory.

Sizes are in elements, pieces and shared memory in bytes. Functions on configs work on numbers and on NumPy
arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, units

SMALLEST, LARGEST = 33, 256
"""Extents, of which other ones were not measured, but for those of real products with one long extent."""
SHORTEST, LONGEST = 2, 4096
"""Extents of a product with one long extent: two of ``SMALL`` at most, and one above it."""
SMALL = 64
"""Of no more in each direction, where columns begin at even places, `tiny` was faster on an H200 (squares of
34, 44 and 50: 0.81 to 0.96 of a copy, and 0.63 to 0.92)."""
EVEN = 112
"""Where columns begin at even halves, no three extents are over this: of 126 cuBLAS was faster on an H200."""
STAYS = 45_000
"""Elements of an A that can stay: of one of 255 x 255 cuBLAS was faster, of 191 x 191 half as fast."""


def _rounded(count: Any) -> Any:
    return -(-count // 128) * 128


def skewed(p: Problem) -> bool:
    """Whether one extent is long and two are short, of real numbers."""
    shortest, middle, longest = sorted(p.extents)
    return not p.dtype.is_complex and shortest >= SHORTEST and middle <= SMALL < longest <= LONGEST


def numbers(p: Problem) -> int:
    """Numbers of 16 bits of an element: a complex one is a pair of rows."""
    return 2 if p.dtype.is_complex else 1


def lengths(p: Problem) -> tuple[int, int, int]:
    """Numbers of a column of A, B and C as they are stored."""
    pair = numbers(p)
    return pair * (p.k if p.transposed_a else p.m), pair * (p.n if p.transposed_b else p.k), pair * p.m


def leading(p: Problem) -> tuple[int, int, int]:
    """Numbers from one column of A, B and C to the next."""
    pair = numbers(p)
    return pair * (p.lda or 0), pair * (p.ldb or 0), pair * (p.ldc or 0)


def packed(p: Problem) -> bool:
    """Whether every matrix is one run of bytes."""
    return leading(p) == lengths(p)


def direct(p: Problem) -> bool:
    """Whether tensor cores read all columns where copies put them: they begin with words of 16 bytes."""
    return min(units(p)) == WIDEST


def boxed(p: Problem) -> tuple[bool, bool, bool]:
    """Which of A, B and C come as boxes of a tensor: where columns are multiplied from where they come, those
    of which eight neighbours would not begin in eight groups of banks, or that have padding between them."""
    a, b, c = (
        direct(p) and (ld != length or length // 8 % 2 == 0)
        for ld, length in zip(leading(p), lengths(p), strict=True)
    )
    return a, b, c


def apart(rows: Any) -> Any:
    """Elements from one column to the next where boxes put them: an odd number of words of 16 bytes."""
    return (-(-rows // 8) | 1) * 8


def parts(p: Problem, tile: Any, rows: Any, columns: Any) -> Any:
    """Parts of a tile of C, each of a warp at a time."""
    return -(-numbers(p) * p.m // rows) * -(-np.minimum(tile, p.n) // columns)


def turns(p: Problem, tile: Any, rows: Any, columns: Any, warps: Any) -> Any:
    """Parts of a tile that a warp computes one after the other."""
    return -(-parts(p, tile, rows, columns) // warps)


def stored(p: Problem, tile: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Numbers of a column, and columns, of A and of a tile of B as they are stored."""
    n, (of_a, of_b, _) = np.minimum(tile, p.n), lengths(p)
    return (of_a, p.m if p.transposed_a else p.k), (
        n if p.transposed_b else of_b,
        p.k if p.transposed_b else n,
    )


def pieces(shape: tuple[Any, Any], piece: Any) -> Any:
    """Pieces that a stored operand is cut into, by whole columns."""
    rows, cols = shape
    return -(-cols // np.maximum(1, piece // (2 * rows)))


def _slot(shape: tuple[Any, Any], piece: Any) -> Any:
    rows, cols = shape
    return _rounded(-(-cols // pieces(shape, piece)) * rows * 2 + 32)


def _operand(k_along: bool, free: Any, read: Any, k: int, spread: bool, pair: int) -> Any:
    """Bytes of an operand with its columns apart, of which tensor cores read ``read`` along m or n."""
    products = -(-k // 16) * 16
    rows, along, across = (k * pair, products * pair, read) if k_along else (free, read, products)
    column = apart(rows) if spread else rows
    return _rounded(((across - 1) * column + np.maximum(column, along)) * 2)


def shared_bytes(p: Problem, tile: Any, rows: Any, columns: Any, warps: Any, stages: Any, piece: Any) -> Any:
    """Shared memory of a block: barriers, the ring, both operands, and C where it has a place of its own."""
    slot = np.maximum(*(_slot(shape, piece) for shape in stored(p, tile)))
    barriers, (box_a, box_b, box_c) = _rounded(8 * (2 * stages + 1)), boxed(p)
    pair = numbers(p)
    m = pair * p.m
    a = _operand(p.transposed_a, m, -(-m // rows) * rows, p.k, box_a or not direct(p), pair)
    n = np.minimum(tile, p.n)
    b = _operand(not p.transposed_b, n, -(-n // columns) * columns, p.k, box_b or not direct(p), pair)
    c = _rounded((apart(m) if box_c else m) * n * 2 + 32) + (512 if units(p)[2] == WIDEST else 0)
    if direct(p):
        return barriers + stages * (a + b) + c
    ring = barriers + stages * slot
    instead = (tile >= p.n) & (turns(p, tile, rows, columns, warps) == 1) & (p.beta == "0")
    return ring + np.where(instead, np.maximum(a + b, c), a + b + c)


def registers(rows: Any, columns: Any, pair: int = 1) -> Any:
    """32-bit registers of a thread: sums, those of complex numbers twice, fragments of two products along k,
    and some for addresses."""
    return 16 + 16 * pair + pair * rows * columns // 32 + (rows + columns) // 2
