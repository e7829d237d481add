"""What tensor.cuh derives from a problem and a config, in the same words: steps, shared memory, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Problem
from tilewright.stencils.cuda.accesses import WGMMA
from tilewright.stencils.cuda.common import units

SHAPES: dict[str, tuple[int, int, int]] = {
    "16x16x16": (16, 16, 16),
    "32x8x16": (32, 8, 16),
    "8x32x16": (8, 32, 16),
    "16x8x16": (16, 8, 16),
    "8x8x4": (8, 8, 4),
    "16x8x4": (16, 8, 4),
    "16x8x8": (16, 8, 8),
    "64x8x16": (16, 8, 16),
}
"""Products of tensor cores by name, in the order in which the kernel counts them; m of one warp."""
WMMA = ("16x16x16", "32x8x16", "8x32x16")
HALF_SHAPES = ("16x8x16", *WMMA, WGMMA)
DOUBLE_SHAPES = ("16x8x4", "16x8x8", "16x8x16", "8x8x4")
SPLITS = ("registers", "shared")
LARGEST = 1024
"""Extent up to which the kernel is offered; it is meant for 8 to 256."""
PER_SM = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
MARGIN = 24
"""Registers beyond those that are counted that the compiler is left with, so that it spills none."""
MARGIN_AHEAD = 16
"""The same where fragments of two products are counted: one of them gives way to addresses in turns."""


def _padded(along: Any, rest: int, unit: int) -> Any:
    return along + (rest + unit - along % unit) % unit


def _pitch(p: Problem, tc: Any, planes: Any, k_along: bool, along: Any) -> Any:
    """Elements from one stored column of a stripe to the next."""
    if p.dtype.real_bits == 16:
        pairs = _padded(along, 4, 8) if k_along else _padded(along, 8, 16)
        halves = np.where(is_wmma(tc), _padded(along, 16, 32), _padded(along, 8, 16))
        return np.where(np.logical_not(planes), pairs, halves) if p.dtype.is_complex else halves
    plain = _padded(along, 4, 8)
    if p.dtype.is_complex and not k_along:
        return np.where(planes, plain, _padded(along, 2, 4))
    return plain


def one_of(tc: Any, names: tuple[str, ...]) -> Any:
    return np.isin(tc, names)


def is_wmma(tc: Any) -> Any:
    return one_of(tc, WMMA)


def extent_of(tc: Any, axis: int) -> Any:
    """m, n or k (0, 1, 2) of a product, by its name or by an array of names."""
    if isinstance(tc, str):
        return SHAPES[tc][axis]
    return np.select([tc == name for name in SHAPES], [shape[axis] for shape in SHAPES.values()])


def step_of(p: Problem, tc: Any, split: Any) -> Any:
    """Elements along k of one product: half as many where a pair is two neighbours in k."""
    pairs = (split == "registers") & (p.dtype.real_bits == 16)
    return extent_of(tc, 2) // (1 + 1 * pairs)


def tiles(p: Problem, blk_m: Any, blk_n: Any, group: Any) -> Any:
    """Tiles of C of the whole batch, of so many products each."""
    return -(-p.m // blk_m) * -(-p.n // blk_n) * -(-p.batch // group)


def shared_bytes(
    p: Problem,
    tc: Any,
    split: Any,
    stages: Any,
    early_c: Any,
    blk: tuple[Any, Any, Any],
    warps: tuple[Any, Any, Any],
) -> Any:
    """Shared memory of a block: the ring of stripes, what results are gathered in, C where it comes early.

    ``blk`` is (blk_m, blk_n, blk_k), ``warps`` is (warps of the block, group, warps_m).
    """
    blk_m, blk_n, blk_k = blk
    all_warps, group, warps_m = warps
    planes = split == "shared"
    along_a, across_a = (blk_k, blk_m) if p.transposed_a else (blk_m, blk_k)
    along_b, across_b = (blk_n, blk_k) if p.transposed_b else (blk_k, blk_n)
    stripe_a = group * across_a * _pitch(p, tc, planes, p.transposed_a, along_a) * p.dtype.itemsize
    stripe_b = group * across_b * _pitch(p, tc, planes, not p.transposed_b, along_b) * p.dtype.itemsize
    # What warp groups read is not padded, and begins at multiples of 1024 bytes.
    groups = np.equal(tc, WGMMA)
    stripe_a = np.where(groups, -(-stripe_a // 1024) * 1024, stripe_a)
    stripe_b = np.where(groups, group * blk_n * 128, stripe_b)
    ring = stages * (stripe_a + stripe_b) + early_c * blk_m * blk_n * group * p.dtype.itemsize
    if p.dtype.real_bits == 64:
        return ring
    wmma = is_wmma(tc)
    warps_n = np.maximum(all_warps // group // warps_m, 1)
    warp_m, warp_n = blk_m // warps_m, blk_n // warps_n
    # By mma alone, what nothing is added to is gathered as halves.
    halves = np.logical_not(wmma) & (p.beta == "0")
    most = np.where(halves & (warp_n % 32 == 0), 32, 16)
    columns = np.where(wmma, extent_of(tc, 1), np.where(warp_n % 16 == 0, most, 8))
    column = np.where(halves, (warp_m + 8) * 2, (warp_m + 4 + 4 * wmma) * 4)
    out = all_warps * (2 if p.dtype.is_complex else 1) * column * columns
    return ring + out * (wmma | (not p.dtype.is_complex))


def registers(
    p: Problem,
    tc: Any,
    split: Any,
    stages: Any,
    ahead: Any,
    blk: tuple[Any, Any, Any],
    warps: tuple[Any, Any, Any],
) -> Any:
    """32-bit registers of a thread that the loop cannot do without: sums, fragments of one product along k or
    of two, what waits for the next step, and some for addresses. The others are as in ``shared_bytes``."""
    blk_m, blk_n, blk_k = blk
    all_warps, group, warps_m = warps
    warps_n = np.maximum(all_warps // group // warps_m, 1)
    warp_m, warp_n = blk_m // warps_m, blk_n // warps_n
    word = p.dtype.real_bits // 64 + 1
    sums = warp_m * warp_n // 32 * (2 if p.dtype.is_complex else 1) * word
    parts = 1 + 1 * (p.dtype.is_complex & ((split == "shared") | (p.dtype.real_bits == 64)))
    fragments = (warp_m + warp_n) // 8 * parts * np.where(p.dtype.real_bits == 64, extent_of(tc, 2) // 2, 2)
    # Warp groups have the rows of a whole step, and columns of none.
    rows = warp_m * blk_k * p.dtype.itemsize // 128 * (2 if p.dtype.is_complex else 1)
    fragments = np.where(np.equal(tc, WGMMA), rows, fragments)
    waiting = (blk_m + blk_n) * blk_k * group * p.dtype.itemsize // (128 * all_warps)
    # A single half takes a register of its own.
    waiting = waiting * (2 if min(units(p)[:2]) < 4 else 1)
    # Scalars of two words, and columns of B with their signs turned.
    turned = 16 if p.dtype.letter == "z" else 0
    return 40 + sums + fragments * (1 + ahead) + waiting * (stages == 1) + turned


SPELLED = ("h", "b", "hc", "d", "z")
"""The types that are accepted, by their letters."""
