"""What middle's kernel derives from a problem and a config, in the same words: parts, memory, registers.

Sizes are in elements, shared memory in bytes, registers are words of 32 bits. Functions on configs work on
numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, units

TYPES = "sdcz"
"""The types that are served: those whose products are summed in their own precision."""


def wide(p: Problem) -> int:
    """Elements of the widest access."""
    return WIDEST // p.dtype.itemsize


def by_tensor_cores(p: Problem) -> bool:
    """Whether tensor cores multiply the type."""
    return p.dtype.real_bits == 64


def along_k(p: Problem) -> tuple[bool, bool]:
    """Whether neighbours in memory are neighbours along k, of A and of B."""
    return p.transposed_a, not p.transposed_b


def divided(extent: Any, piece: Any) -> Any:
    """Pieces that an extent takes."""
    return -(-extent // piece)


def parts(p: Problem, tile_m: Any, tile_n: Any, rows: Any, columns: Any) -> Any:
    """Parts of a tile, of which a thread, or a warp with tensor cores, has one each."""
    across = divided(tile_n, columns)
    beside = 1 if by_tensor_cores(p) else np.where(across == 1, 1, 2)
    return divided(tile_m, rows) * divided(across, beside) * beside


def warps(p: Problem, tile_m: Any, tile_n: Any, rows: Any, columns: Any) -> Any:
    """Warps of a block."""
    return divided(parts(p, tile_m, tile_n, rows, columns), 1 if by_tensor_cores(p) else 32)


def _apart(extent: Any, by: int) -> Any:
    return divided(extent - by, 2 * by) * 2 * by + by


def slice_bytes(p: Problem, which: int, tile: Any, depth: Any, part: Any) -> Any:
    """Bytes of a slice of A (0) or B (1), for a tile of parts so long: as it is stored, by k or along k."""
    held = divided(tile, part) * part
    if along_k(p)[which]:
        return held * _apart(depth, wide(p) if p.dtype.real_bits == 32 else 4) * p.dtype.itemsize
    return depth * _apart(held, 2 if p.dtype.is_complex else 4) * p.dtype.itemsize


def stage_bytes(p: Problem, tile_m: Any, tile_n: Any, depth: Any, rows: Any, columns: Any) -> Any:
    """Bytes of a stage: a slice of A and one of B."""
    return slice_bytes(p, 0, tile_m, depth, rows) + slice_bytes(p, 1, tile_n, depth, columns)


def exchanged(p: Problem) -> bool:
    """Whether threads exchange what they write: they have vectors of rows that C has no aligned ones of, or
    tensor cores leave it in pieces of 64 bytes."""
    if by_tensor_cores(p):
        return not p.dtype.is_complex
    n = wide(p)
    return not p.transposed_a and n > 1 and not (units(p)[2] == WIDEST and p.m % n == 0)


def exchange_bytes(p: Problem, rows: Any) -> Any:
    """Bytes that a warp exchanges parts of C through."""
    return exchanged(p) * (8 * (rows + 2) * p.dtype.itemsize if by_tensor_cores(p) else 512)


def items(p: Problem, tile_m: Any, tile_n: Any) -> Any:
    """Tiles of C in the whole batch."""
    return p.batch * divided(p.m, tile_m) * divided(p.n, tile_n)


def shared_bytes(
    p: Problem, tile_m: Any, tile_n: Any, depth: Any, rows: Any, columns: Any, stages: Any
) -> Any:
    """Shared memory of a block: the ring, and what its warps exchange results through."""
    ring = stages * stage_bytes(p, tile_m, tile_n, depth, rows, columns)
    return ring + exchange_bytes(p, rows) * warps(p, tile_m, tile_n, rows, columns)


def sums(p: Problem, rows: Any, columns: Any) -> Any:
    """Registers of a thread that hold sums."""
    words = p.dtype.itemsize // 4
    return rows * columns * words // (32 if by_tensor_cores(p) else 1)


def registers(p: Problem, rows: Any, columns: Any, deep: Any) -> Any:
    """Registers that the loop cannot do without: sums, what is multiplied, and addresses. The compiler
    refuses products of tensor cores where a thread has fewer than 64."""
    words, tensor = p.dtype.itemsize // 4, by_tensor_cores(p)
    a, b = (side * (deep if along else 1) for side, along in zip((rows, columns), along_k(p), strict=True))
    beside = 24 + 32 * (tensor and p.dtype.is_complex)
    needed = sums(p, rows, columns) + (a + b) * words // (8 if tensor else 1) + beside
    return np.maximum(needed, 64 * tensor)
