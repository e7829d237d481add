"""What whole's kernel derives from a problem and a config, in the same words: parts, pieces, shared memory.

Sizes are in elements, pieces and shared memory in bytes. Functions on configs work on numbers and on NumPy
arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Problem

SMALLEST, LARGEST = 33, 256
"""The largest extent of a product lies in this range: smaller ones are for the stencil of tiny matrices."""
LONG = 64
"""Where one extent alone is over this, the product is a panel; where none is, all are at least half of it."""


def _rounded(count: Any) -> Any:
    return -(-count // 128) * 128


def packed(p: Problem) -> bool:
    """Whether every matrix is one run of bytes, and runs do not go back in memory."""
    rows = (p.k if p.transposed_a else p.m), (p.n if p.transposed_b else p.k), p.m
    return (p.lda, p.ldb, p.ldc) == rows and min(p.strides) >= 0


def thick(p: Problem) -> bool:
    """Whether two extents are long, or none is and all are alike: others have little to multiply."""
    sizes = sorted((p.m, p.n, p.k))
    return sizes[1] > LONG or (sizes[2] <= LONG and sizes[0] >= LONG // 2)


def parts(p: Problem, tile: Any, rows: Any, columns: Any) -> Any:
    """Parts of a tile of C, each of a warp at a time."""
    return -(-p.m // rows) * -(-np.minimum(tile, p.n) // columns)


def turns(p: Problem, tile: Any, rows: Any, columns: Any, warps: Any) -> Any:
    """Parts of a tile that a warp computes one after the other."""
    return -(-parts(p, tile, rows, columns) // warps)


def stored(p: Problem, tile: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Rows and columns of A and of a tile of B as they are stored."""
    n = np.minimum(tile, p.n)
    return ((p.k, p.m) if p.transposed_a else (p.m, p.k)), ((n, p.k) if p.transposed_b else (p.k, n))


def pieces(shape: tuple[Any, Any], piece: Any) -> Any:
    """Pieces that a stored operand is cut into, by whole columns."""
    rows, cols = shape
    return -(-cols // np.maximum(1, piece // (2 * rows)))


def _slot(shape: tuple[Any, Any], piece: Any) -> Any:
    rows, cols = shape
    return _rounded(-(-cols // pieces(shape, piece)) * rows * 2 + 32)


def _operand(k_along: bool, free: Any, read: Any, k: int) -> Any:
    """Bytes of an operand with its columns apart, of which tensor cores read ``read`` along m or n."""
    products = -(-k // 16) * 16
    rows, along, across = (k, products, read) if k_along else (free, read, products)
    leading = (-(-rows // 8) | 1) * 8
    return _rounded(((across - 1) * leading + np.maximum(leading, along)) * 2)


def shared_bytes(p: Problem, tile: Any, rows: Any, columns: Any, warps: Any, stages: Any, piece: Any) -> Any:
    """Shared memory of a block: barriers, the ring, both operands, and C where it has a place of its own."""
    slot = np.maximum(*(_slot(shape, piece) for shape in stored(p, tile)))
    ring = _rounded(8 * (2 * stages + 1)) + stages * slot
    a = _operand(p.transposed_a, p.m, -(-p.m // rows) * rows, p.k)
    n = np.minimum(tile, p.n)
    b = _operand(not p.transposed_b, n, -(-n // columns) * columns, p.k)
    c = _rounded(p.m * n * 2 + 32)
    instead = (tile >= p.n) & (turns(p, tile, rows, columns, warps) == 1) & (p.beta == "0")
    return ring + np.where(instead, np.maximum(a + b, c), a + b + c)


def registers(rows: Any, columns: Any) -> Any:
    """32-bit registers of a thread: sums, fragments of two products along k, and some for addresses."""
    return 32 + rows * columns // 32 + (rows + columns) // 2
