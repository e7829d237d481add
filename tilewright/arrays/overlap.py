"""What shares memory with what: two arrays by the bytes that they reach, lists of matrices by their blocks.

``overlapping`` and ``shared`` find outputs that meet one another or an input. They go by the extents that
are known, exactly where matrices have one leading dimension, as blocks of one matrix do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.arrays.view import Layout, address_of, conjugated

Integers = NDArray[np.int64]


# ---- two arrays


def bounds(array: Layout) -> tuple[int, int]:
    """First byte and one past the last byte that an array reaches, relative to its data pointer."""
    if array.size == 0:
        return 0, 0
    reach = [(extent - 1) * step for extent, step in zip(array.shape, array.strides, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + array.itemsize


def may_share(one: Layout, other: Layout) -> bool:
    """Whether the bytes that two arrays reach from first to last meet: they may, then, share an element."""
    if one.size == 0 or other.size == 0:
        return False
    (low, high), (from_, to) = bounds(one), bounds(other)
    start, begin = address_of(one), address_of(other)
    return start + low < begin + to and begin + from_ < start + high


def same(one: Layout, other: Layout) -> bool:
    """Whether two views are the same elements in the same order."""
    return (
        address_of(one) == address_of(other)
        and (one.shape, one.strides, one.dtype) == (other.shape, other.strides, other.dtype)
        and conjugated(one) == conjugated(other)
    )


# ---- lists of matrices


def _spans(
    start: Integers, ld: Integers, rows: Integers, columns: Integers, size: int
) -> tuple[Integers, Integers]:
    """First byte and one past the last byte of column-major matrices."""
    reach = np.maximum(columns - 1, 0) * ld * size
    some = (rows > 0) & (columns > 0)
    low = start + np.minimum(reach, 0)
    high = np.where(some, start + np.maximum(reach, 0) + rows * size, low)
    return low, high


class Placement:
    """Where column-major matrices lie: addresses, leading dimensions, rows, columns; all of one length."""

    def __init__(self, start: Integers, ld: Any, rows: Any, columns: Any, size: int):
        shape = start.shape
        self.start, self.size = start, size
        self.ld, self.rows, self.columns = (np.broadcast_to(x, shape) for x in (ld, rows, columns))
        self.low, self.high = _spans(start, self.ld, self.rows, self.columns, size)

    def meets(self, mine: Integers, other: Placement, theirs: Integers) -> NDArray[np.bool_]:
        """Whether matrices share an element, pair by pair; their spans of bytes are known to."""
        # The one that begins first, of each pair.
        swap = self.start[mine] > other.start[theirs]

        def pick(x: Any, y: Any) -> Any:
            return np.where(swap, y, x), np.where(swap, x, y)

        first, second = pick(self.start[mine], other.start[theirs])
        rows, rows_later = pick(self.rows[mine], other.rows[theirs])
        columns, _ = pick(self.columns[mine], other.columns[theirs])
        ld, ld_later = pick(self.ld[mine], other.ld[theirs])
        ld_safe = np.maximum(ld, 1)
        apart, left = (second - first) // self.size, (second - first) % self.size
        over, down = apart // ld_safe, apart % ld_safe
        exact = (ld == ld_later) & (ld >= np.maximum(rows, rows_later)) & (left == 0)
        same = (down < rows) & (over < columns)
        around = (ld - down < rows_later) & (over + 1 < columns)
        found: NDArray[np.bool_] = ~exact | same | around
        return found


def overlapping(outputs: Placement) -> tuple[int, int] | None:
    """Two outputs that share an element; None where no two do."""
    order = np.argsort(outputs.low, kind="stable")
    order = order[outputs.high[order] > outputs.low[order]]
    low, high = outputs.low[order], outputs.high[order]
    for lag in range(1, len(order)):
        near = np.flatnonzero(low[lag:] < np.maximum.accumulate(high)[:-lag])
        if not near.size:
            return None
        near = near[low[near + lag] < high[near]]
        met = outputs.meets(order[near], outputs, order[near + lag])
        if met.any():
            one = int(near[met.argmax()])
            first, second = sorted((int(order[one]), int(order[one + lag])))
            return first, second
    return None


def shared(outputs: Placement, inputs: Placement) -> tuple[int, int] | None:
    """An output and an input that share an element; None where there are none."""
    order = np.argsort(outputs.low, kind="stable")
    order = order[outputs.high[order] > outputs.low[order]]
    low, high = outputs.low[order], outputs.high[order]
    top = np.maximum.accumulate(high)
    which = np.flatnonzero(inputs.high > inputs.low)
    last = np.searchsorted(low, inputs.high[which]) - 1
    while which.size:
        there = last >= 0
        which, last = which[there], last[there]
        there = top[last] > inputs.low[which]
        which, last = which[there], last[there]
        if not which.size:
            return None
        near = high[last] > inputs.low[which]
        met = outputs.meets(order[last[near]], inputs, which[near])
        if met.any():
            one = int(met.argmax())
            return int(order[last[near][one]]), int(which[near][one])
        last = last - 1
    return None


def even_step(addresses: Integers) -> int | None:
    """Bytes from each address to the next; None where they differ."""
    if len(addresses) < 2:
        return 0
    steps = np.diff(addresses)
    return int(steps[0]) if (steps == steps[0]).all() else None
