"""Products of groups that share an axis: which shapes go together, and arrays as the problem of one launch.

The layout of one group is that of a single product, which ``layout`` finds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.arrays.layout import broadcast, problem_of
from tilewright.arrays.view import Array, ArrayView, Layout
from tilewright.errors import ArgumentError
from tilewright.model import AXES, SegmentedProblem

SWAPPED = {"m": "n", "n": "m", "k": "k"}
"""The axis that is split where A and B are swapped."""
NAMES = ("a", "b", "out")
STACKED = {"m": 1, "n": 0, "k": 2}
"""Which of a, b and out has one matrix for each group, by the axis that is split."""


@dataclass(frozen=True, slots=True)
class SegmentShapes:
    """What goes together: the result's shape, the batch in front of its matrices, and the extents.

    ``length`` is the extent of the axis that is split."""

    out: tuple[int, ...]
    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    groups: int
    length: int


def shapes_of(a: tuple[int, ...], b: tuple[int, ...], borders: int, axis: str) -> SegmentShapes:
    """The shapes of a product split along ``axis``; see ``calls.segments.segment_matmul``.

    ``borders``: how many there are, of which one may be in front of the first group where a stack says how
    many groups there are. Raises ``ArgumentError`` for shapes that do not go together.
    """
    if axis not in AXES:
        raise ArgumentError(f"split={axis!r}; accepted: {', '.join(map(repr, AXES))}")
    least = {"m": (2, 3), "n": (3, 2), "k": (2, 2)}[axis]
    for name, shape, axes in (("a", a, least[0]), ("b", b, least[1])):
        if len(shape) < axes:
            raise ArgumentError(
                f"{name} has shape {shape}; accepted with split={axis!r}: {axes} or more axes"
            )
    groups = {"m": b[0], "n": a[0], "k": borders}[axis]
    if axis != "k" and borders not in (groups, groups + 1):
        raise ArgumentError(
            f"offsets has {borders} elements and {'ba'[axis == 'n']} {groups} matrices; accepted: {groups}, "
            f"where each group ends, or {groups + 1}, where the first one begins in front of them"
        )
    left, right = a[axis == "n" :], b[axis == "m" :]
    if left[-1] != right[-2]:
        raise ArgumentError(
            f"a has shape {a} and b {b}: {left[-1]} columns do not meet {right[-2]} rows (split={axis!r})"
        )
    try:
        batch = broadcast(left[:-2], right[:-2])
    except ValueError as error:
        raise ArgumentError(
            f"the leading axes of a {left[:-2]} and b {right[:-2]} do not broadcast (split={axis!r})"
        ) from error
    m, k, n = left[-2], left[-1], right[-1]
    out = (*batch, m, n) if axis != "k" else (groups, *batch, m, n)
    return SegmentShapes(out, batch, m, n, k, groups, {"m": m, "n": n, "k": k}[axis])


@dataclass(frozen=True, slots=True)
class SegmentJob:
    """Groups as the kernel sees them: the problem of one launch, and the launches that cover all batches.

    As ``layout.Job``: ``swap`` where the kernel's A is the caller's b, ``outer`` the extents of batch axes
    that one stride cannot cover, ``outer_steps`` their byte strides for (a, b, out).
    """

    problem: SegmentedProblem
    swap: bool
    outer: tuple[int, ...]
    outer_steps: tuple[tuple[int, int, int], ...]


def one_of(array: Layout, index: int) -> Layout:
    """One element along the first axis: the same memory."""
    if not isinstance(array, ArrayView):
        found: Array = array[index]
        return found
    address = array.address + index * array.strides[0]
    return replace(array, address=address, shape=array.shape[1:], strides=array.strides[1:])


def segments_of(
    arrays: tuple[Layout, Layout, Layout],
    shapes: SegmentShapes,
    axis: str,
    borders: tuple[np.dtype[Any], bool, bool],
    conj: tuple[bool, bool],
) -> SegmentJob | str:
    """The job of groups, or which of "a", "b" and "out" must be copied first.

    ``arrays``: a, b and out of one supported type on a GPU, with elements in all of them. ``borders``: the
    type of the offsets, whether the first one is where the first group begins, and whether they are sizes.
    """
    size, stacked = arrays[2].itemsize, STACKED[axis]
    # Without the groups it is a product like any: one group that has all of the axis.
    one = [one_of(array, 0) if at == stacked else array for at, array in enumerate(arrays)]
    found = problem_of(*one, conj_a=conj[0], conj_b=conj[1], alpha="1", beta="0", gpu=True)
    if isinstance(found, str):
        return found
    # The kernel knows one batch axis.
    found = found.looped()
    steps = [array.strides[0] if at == stacked else 0 for at, array in enumerate(arrays)]
    if steps[stacked] % size:
        return NAMES[stacked]
    p, order = found.problem, ((1, 0, 2) if found.swap else (0, 1, 2))
    kind, first, sizes = borders
    problem = SegmentedProblem(
        p.dtype,
        SWAPPED[axis] if found.swap else axis,
        p.m,
        p.n,
        p.k,
        shapes.groups,
        p.trans_a,
        p.trans_b,
        batch=p.batch,
        lda=p.lda or 0,
        ldb=p.ldb or 0,
        ldc=p.ldc or 0,
        strides=p.strides if p.batch > 1 else (0, 0, 0),
        steps=(steps[order[0]] // size, steps[order[1]] // size, steps[2] // size),
        wide=kind.itemsize == 8,
        first=first,
        sizes=sizes,
        align=p.align,
    )
    return SegmentJob(problem, found.swap, found.outer, found.outer_steps)
