"""What segments.cuh derives from a problem and a config, in the same words: steps, shared memory, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from tilewright.model import SegmentedProblem
from tilewright.stencils.cuda.accesses import WGMMA
from tilewright.stencils.cuda.common import WIDEST

UNITS: dict[str, tuple[int, tuple[int, int, int]]] = {
    "16x8x16": (3, (16, 8, 16)),
    "8x8x4": (4, (8, 8, 4)),
    "16x8x4": (5, (16, 8, 4)),
    "16x8x8": (6, (16, 8, 8)),
    "64x8x16": (7, (16, 8, 16)),
    "fma": (8, (1, 1, 1)),
}
"""What multiplies, by name: the number that the kernel has for it; m, n and k of one product of a warp."""
HALF_UNITS = ("16x8x16", WGMMA)
DOUBLE_UNITS = ("16x8x4", "16x8x8", "8x8x4")
PLAIN_UNITS = ("fma",)


def units_of(p: SegmentedProblem) -> tuple[str, ...]:
    """What can multiply a type."""
    return {16: HALF_UNITS, 64: DOUBLE_UNITS, 32: PLAIN_UNITS}[p.dtype.real_bits]


def aligned(p: SegmentedProblem) -> tuple[int, int, int]:
    """Bytes, at most 16, that divide the addresses of stored columns of A, B and C, wherever groups begin."""
    size = p.dtype.itemsize
    along = ("k" if p.transposed_a else "m", "n" if p.transposed_b else "k", "m")
    split = {"m": "ac", "n": "bc", "k": "ab"}[p.axis]
    found = []
    for at, name in enumerate("abc"):
        # A group begins at any element of what is split.
        inside = size if along[at] == p.axis and name in split else 0
        steps = (getattr(p, f"ld{name}"), p.strides[at], p.steps[at])
        found.append(gcd(WIDEST, p.align, inside, *(step * size for step in steps)))
    a, b, c = found
    return a, b, c


def along_k(p: SegmentedProblem) -> bool:
    """Whether stored columns of A or of B run along k."""
    return p.transposed_a or not p.transposed_b


def deep(p: SegmentedProblem, tc: Any) -> Any:
    """Elements along k of one product."""
    if p.dtype.real_bits == 32:
        return WIDEST // p.dtype.itemsize if along_k(p) else 1
    found = np.select([np.equal(tc, name) for name in UNITS], [shape[2] for _, shape in UNITS.values()])
    return found // (2 if p.dtype.letter == "hc" else 1)


def _padded(along: Any, rest: int, unit: int) -> Any:
    return along + (rest + unit - along % unit) % unit


def _pitch(p: SegmentedProblem, k_along: bool, along: Any) -> Any:
    """Elements from one stored column of an operand tile to the next."""
    if p.dtype.letter == "hc":
        return _padded(along, 4, 8) if k_along else _padded(along, 8, 16)
    if p.dtype.real_bits == 16:
        return _padded(along, 8, 16)
    return _padded(along, 2, 4) if p.dtype.itemsize == 16 and not k_along else _padded(along, 4, 8)


def shared_bytes(
    p: SegmentedProblem, tc: Any, stages: Any, blk: tuple[Any, Any, Any], warps: tuple[Any, Any]
) -> Any:
    """Shared memory of a block: the operand tiles of all stages, what results are staged in, the table of
    groups. ``blk`` is (blk_m, blk_n, blk_k), ``warps`` those along m and n."""
    (blk_m, blk_n, blk_k), (warps_m, warps_n) = blk, warps
    size, k_along_b = p.dtype.itemsize, not p.transposed_b
    along_a, across_a = (blk_k, blk_m) if p.transposed_a else (blk_m, blk_k)
    along_b, across_b = (blk_k, blk_n) if k_along_b else (blk_n, blk_k)
    tile_a = across_a * _pitch(p, p.transposed_a, along_a) * size
    tile_b = across_b * _pitch(p, k_along_b, along_b) * size
    # What warp groups read is not padded, and begins at multiples of 1024 bytes.
    together = np.equal(tc, WGMMA)
    tile_a = np.where(together, -(-tile_a // 1024) * 1024, tile_a)
    tile_b = np.where(together, blk_n * blk_k * size, tile_b)
    all_warps = warps_m * warps_n
    found = stages * (tile_a + tile_b) + (2 * (32 * all_warps + 1) + 64) * 4
    if p.dtype.real_bits != 16 or p.dtype.is_complex:
        return found
    warp_m, subs_n = blk_m // warps_m, blk_n // warps_n // 8
    columns = np.where(subs_n % 2 == 1, 8, np.where(subs_n % 4 == 0, 32, 16))
    return found + all_warps * (warp_m + 8) * columns * size


def registers(
    p: SegmentedProblem, tc: Any, stages: Any, ahead: Any, blk: tuple[Any, Any, Any], warps: tuple[Any, Any]
) -> Any:
    """32-bit registers of a thread that the loop cannot do without: sums, fragments of one product along k or
    of two, what waits for the next k-tile, and some for addresses. The others are as in ``shared_bytes``."""
    (blk_m, blk_n, blk_k), (warps_m, warps_n) = blk, warps
    warp_m, warp_n = blk_m // warps_m, blk_n // warps_n
    word = p.dtype.itemsize // 4 if p.dtype.real_bits > 16 else 1 + p.dtype.is_complex
    sums = warp_m * warp_n // 32 * word
    if p.dtype.real_bits == 32:
        fragments = (warp_m // 8 + warp_n // 4) * word * 2
    else:
        parts = 2 if p.dtype.letter == "z" else 1
        fragments = (warp_m + warp_n) // 8 * parts * np.where(p.dtype.real_bits == 64, deep(p, tc) // 2, 2)
        rows = warp_m * blk_k * p.dtype.itemsize // 128 * (2 if p.dtype.is_complex else 1)
        fragments = np.where(np.equal(tc, WGMMA), rows, fragments)
    waiting = (blk_m + blk_n) * blk_k * p.dtype.itemsize // (128 * warps_m * warps_n)
    waiting = waiting * (2 if min(aligned(p)[:2]) < 4 else 1)
    return 40 + sums + fragments * (1 + ahead) + waiting * np.equal(stages, 1)
