"""Two operands with labelled axes as one stack of products, without moving an element if that can be.

Labels in both operands and the result count the stack, those in both alone are k, those in one are m or n.
A group of several labels is one axis of a matrix where one stride covers it; of m and n what is not covered
counts the stack too, where the other operand stands still. This is how tensor contractions become batches of
small products (Masliah et al., figure 1). Only where no such reading exists is an operand copied.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewright.arrays.view import contiguous
from tilewright.contract.equation import Labels

SMALL = 32
"""Rows and columns of matrices that kernels take element beside element."""


@dataclass(frozen=True, slots=True)
class Term:
    """An operand or a result: its labels, each once, and the extent and the stride, in elements, of each."""

    labels: Labels
    extents: tuple[int, ...]
    strides: tuple[int, ...]

    @staticmethod
    def packed(labels: Labels, extents: dict[str, int]) -> Term:
        """A new array, its last label first in memory."""
        shape = tuple(extents[label] for label in labels)
        return Term(labels, shape, contiguous(shape, 1))

    def extent(self, label: str) -> int:
        """How long an axis is."""
        return self.extents[self.labels.index(label)]

    def stride(self, label: str) -> int:
        """Elements from one to the next along an axis."""
        return self.strides[self.labels.index(label)]

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.extents)

    def along(self, labels: Sequence[str]) -> Labels:
        """Labels by how far apart their elements lie, the closest last."""
        # Of equal ones those first that stand first: axes of a packed array with one element.
        return tuple(sorted(labels, key=lambda label: -abs(self.stride(label))))

    def merges(self, labels: Sequence[str]) -> bool:
        """Whether one stride covers some axes, in this order."""
        return all(
            self.stride(outer) == self.stride(inner) * self.extent(inner) for outer, inner in pairwise(labels)
        )

    def unit(self, labels: Sequence[str]) -> bool:
        """Whether elements are side by side along a group of axes, the last of them the closest."""
        return not labels or self.stride(labels[-1]) == 1 or math.prod(map(self.extent, labels)) == 1


@dataclass(frozen=True, slots=True)
class Reading:
    """How an array enters a stack of products: its axes in the order of ``labels``, then as ``shape``.

    ``copied``: put into that order first.
    """

    labels: Labels
    shape: tuple[int, ...]
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """A stack of products. ``batch``, ``m``, ``n`` and ``k`` are the labels of each kind; ``made`` is the
    memory of the result, ``out`` how it is written."""

    batch: Labels
    m: Labels
    n: Labels
    k: Labels
    a: Reading
    b: Reading
    made: Term
    out: Reading
    copies: int
    """Elements that are copied first."""
    apart: int
    """Products that one stride for m and one for n would have made one."""

    @property
    def cost(self) -> tuple[int, int, int]:
        """Less is better: what is copied, how many the products are, and how many axes count them."""
        return self.copies, self.apart, len(self.batch)


def pair(a: Term, b: Term, keep: Collection[str], out: Term | None = None, wanted: Labels = ()) -> Pair:
    """The stack of products that sums a and b over every label that is not in ``keep``.

    Each label of a alone or of b alone is in ``keep``. ``out``: the memory of the result; None: it is new,
    and what costs least says in which order it lies, ``wanted`` where that costs no more.
    """
    extents = {label: x.extent(label) for x in (b, a) for label in x.labels}
    shared = [label for label in a.labels if label in b.labels]
    batch = tuple(label for label in shared if label in keep)
    k = tuple(label for label in shared if label not in keep)
    m = tuple(label for label in a.labels if label not in b.labels)
    n = tuple(label for label in b.labels if label not in a.labels)
    if out is not None:
        return _best(a, b, [out], batch, m, n, k)
    orders: list[Labels] = [wanted] if len(wanted) == len(extents) - len(k) else []
    by_a, by_b, of_batch = a.along(m), b.along(n), a.along(batch)
    orders += [(*of_batch, *by_a, *by_b), (*of_batch, *by_b, *by_a)]
    # Elements of a batch side by side, as in both operands.
    last = of_batch[-1:]
    orders += [(*of_batch[:-1], *by_a, *by_b, *last), (*by_a, *of_batch, *by_b)]
    return _best(a, b, [Term.packed(order, extents) for order in orders], batch, m, n, k)


def _best(a: Term, b: Term, outs: list[Term], batch: Labels, m: Labels, n: Labels, k: Labels) -> Pair:
    """The reading that costs least; of equal ones the first."""
    found: Pair | None = None
    for out in outs:
        made = _read(a, b, out, batch, m, n, k)
        if found is None or made.cost < found.cost:
            found = made
    assert found is not None
    return found


def _read(a: Term, b: Term, out: Term, batch: Labels, m: Labels, n: Labels, k: Labels) -> Pair:
    """The product into one memory of the result."""
    copied_a, copied_b = False, False
    orders = [x.along(k) for x in (a, b)]
    summed = next((order for order in orders if a.merges(order) and b.merges(order)), None)
    if summed is None:
        # One of them is put into the order of the other, the smaller one if either will do.
        stands = [order for x, order in zip((a, b), orders, strict=True) if x.merges(order)]
        if len(stands) == 2:
            copied_a, copied_b = a.size <= b.size, a.size > b.size
            summed = orders[1] if copied_a else orders[0]
        elif stands:
            copied_a, copied_b = not a.merges(orders[0]), a.merges(orders[0])
            summed = stands[0]
        else:
            copied_a, copied_b, summed = True, True, orders[0]
    # Small matrices that lie element beside element in all three are taken as they lie.
    small = all(math.prod(a.extent(x) for x in labels) <= SMALL for labels in (m, k))
    small = small and math.prod(b.extent(x) for x in n) <= SMALL
    beside = small and bool(batch) and all(_beside(x, batch) for x in (a, b, out))
    if not beside:
        copied_a = copied_a or not _reads(a, m, summed)
        copied_b = copied_b or not _reads(b, n, summed)
    left = Term.packed((*batch, *out.along(m), *summed), _extents(a)) if copied_a else a
    right = Term.packed((*batch, *summed, *out.along(n)), _extents(b)) if copied_b else b
    rows, columns = (
        _run(x, out, labels, None if x.unit(summed) or beside else 1) for x, labels in ((left, m), (right, n))
    )
    size = {**_extents(a), **_extents(b)}
    apart = math.prod(size[label] for label in (*m, *n) if label not in (*rows, *columns))
    # Of results in which neither axis has unit stride each is made elsewhere and copied.
    copies = (a.size if copied_a else 0) + (b.size if copied_b else 0)
    lined = (rows and out.unit(rows)) or (columns and out.unit(columns)) or not (m or n)
    if not (beside or lined):
        copies += out.size
    stack = (*batch, *(x for x in out.along((*m, *n)) if x not in rows and x not in columns))

    def extent(labels: Sequence[str]) -> int:
        return math.prod(size[label] for label in labels)

    def reading(x: Term, one: Labels, other: Labels, copied: bool = False) -> Reading:
        counted = tuple(size[label] if label in x.labels else 1 for label in stack)
        labels = (*(label for label in stack if label in x.labels), *one, *other)
        return Reading(labels, (*counted, extent(one), extent(other)), copied)

    return Pair(
        *(stack, rows, columns, summed),
        *(reading(a, rows, summed, copied_a), reading(b, summed, columns, copied_b)),
        *(out, reading(out, rows, columns)),
        *(copies, apart),
    )


def _extents(x: Term) -> dict[str, int]:
    return dict(zip(x.labels, x.extents, strict=True))


def _beside(x: Term, batch: Labels) -> bool:
    """Whether matrices lie element beside element, or are one for all."""
    steps = [x.stride(label) for label in x.along(batch)]
    return steps[-1] == 1 or not any(steps)


def _reads(x: Term, labels: Labels, summed: Labels) -> bool:
    """Whether some group of axes that are m or n, or k, has unit stride."""
    return x.unit(summed) or any(x.stride(label) == 1 for label in labels) or x.size <= 1


def _run(x: Term, out: Term, labels: Labels, unit: int | None) -> Labels:
    """The longest run of some axes that one stride covers in an operand and in the result alike.

    ``unit``: the run has to end with the axis of this stride in the operand.
    """
    order = out.along(labels)
    runs: list[list[str]] = []
    for label in order:
        if runs and x.merges((runs[-1][-1], label)) and out.merges((runs[-1][-1], label)):
            runs[-1].append(label)
        else:
            runs.append([label])
    if not runs:
        return ()
    fit: list[list[str]] = [run for run in runs if unit is None or x.stride(run[-1]) == unit] or runs

    def reach(run: Sequence[str]) -> tuple[bool, int]:
        # Where it lies closest in the result C is written in whole lines.
        return out.stride(run[-1]) == 1, math.prod(out.extent(label) for label in run)

    return tuple(sorted(fit, key=reach)[-1])
