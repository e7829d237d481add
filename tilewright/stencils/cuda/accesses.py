"""Rules that the spaces of ``tensor`` and of ``segments`` have in common: how wide accesses to memory are,
and what products of warp groups take.

Their parameters are ``vec`` and ``vec_c``, the elements of an access to A and B and to C, ``blk_m``,
``blk_n`` and ``blk_k``, the tile and its step, ``stages`` of the ring, and ``tc``, the way to multiply.
Functions work on numbers and on NumPy arrays. Rules decide no source: a change of this file leaves the tries
that are recorded as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tilewright.model import Device, Problem, SegmentedProblem
from tilewright.space import Rule
from tilewright.stencils.cuda.common import WIDEST

WGMMA = "64x8x16"
"""The value of ``tc`` by which warp groups multiply."""


def access_width(size: int) -> Rule:
    """Accesses to A and B, of elements of ``size`` bytes."""
    return Rule("access-width", "hard", "one access moves 16 bytes at most", lambda vec: vec * size <= WIDEST)


def access_width_c(size: int) -> Rule:
    """Accesses to C."""
    return Rule(
        "access-width-c", "hard", "one access moves 16 bytes at most", lambda vec_c: vec_c * size <= WIDEST
    )


def copy_width(size: int) -> Rule:
    """Copies of A and B to shared memory, which are made where there are several stages."""
    return Rule(
        "copy-width",
        "hard",
        "copies to shared memory move 4 bytes or more",
        lambda stages, vec: (stages == 1) | (vec * size >= 4),
    )


def whole(size: int, units: tuple[int, int, int], where: str = "") -> Iterator[Rule]:
    """Accesses to A, B and C are whole where runs begin at multiples of ``units`` bytes, and no narrower than
    these allow. ``where`` is added to the reason."""
    unit_a, unit_b, unit_c = units
    unit = min(unit_a, unit_b)
    yield Rule(
        "aligned",
        "hard",
        f"addresses, leading dimensions and strides of A and B are whole reads{where}",
        lambda vec: unit % (vec * size) == 0,
    )
    yield Rule(
        "aligned-c",
        "hard",
        f"addresses, leading dimensions and strides of C are whole accesses{where}",
        lambda vec_c: unit_c % (vec_c * size) == 0,
    )
    yield Rule(
        "wide",
        "soft",
        "the widest read that is aligned is the fastest",
        lambda vec: 2 * vec * size > unit,
    )
    yield Rule(
        "wide-c",
        "soft",
        "the widest access that is aligned is the fastest",
        lambda vec_c: 2 * vec_c * size > unit_c,
    )


def stripes(p: Problem | SegmentedProblem, of: str) -> Iterator[Rule]:
    """Reads divide the stored columns of what is brought of A and B at once, ``of`` by its name."""
    why = f"stored columns of {of} are whole reads"
    yield Rule(
        "stripe-a",
        "hard",
        why,
        (lambda vec, blk_k: blk_k % vec == 0) if p.transposed_a else (lambda vec, blk_m: blk_m % vec == 0),
    )
    yield Rule(
        "stripe-b",
        "hard",
        why,
        (lambda vec, blk_n: blk_n % vec == 0) if p.transposed_b else (lambda vec, blk_k: blk_k % vec == 0),
    )


def warp_groups(
    p: Problem | SegmentedProblem,
    device: Device,
    columns: Callable[..., Any],
    *,
    words: str,
    stages: str,
) -> Iterator[Rule]:
    """What warp groups need, beside what the others do. ``columns``: the test of how many they multiply;
    ``words`` and ``stages``: why they need words of 16 bytes and three stages."""
    size = p.dtype.itemsize
    yield Rule(
        "wgmma-device",
        "hard",
        "the device has products of warp groups (9.0 alone)",
        lambda tc: np.not_equal(tc, WGMMA) | ("wgmma" in device.supports),
    )
    yield Rule(
        "wgmma-group",
        "hard",
        "four warps multiply together, one below the other",
        lambda tc, warps_m: np.not_equal(tc, WGMMA) | (warps_m % 4 == 0),
    )
    yield Rule(
        "wgmma-columns",
        "hard",
        "warp groups multiply 16 to 128 columns in sixteens, 192, or 256",
        columns,
    )
    yield Rule(
        "wgmma-step",
        "hard",
        "tensor cores read B in rows of 128 bytes along k",
        lambda tc, blk_k: np.not_equal(tc, WGMMA) | ((not p.transposed_b) & (blk_k * size == 128)),
    )
    yield Rule("wgmma-words", "hard", words, lambda tc, vec: np.not_equal(tc, WGMMA) | (vec * size == WIDEST))
    yield Rule("wgmma-stages", "hard", stages, lambda tc, stages: np.not_equal(tc, WGMMA) | (stages >= 3))


def whole_columns(n: Any) -> Any:
    """Whether a warp group multiplies ``n`` columns at once."""
    return (n % 16 == 0) & (n <= 256) & ((n <= 128) | (n % 64 == 0))
