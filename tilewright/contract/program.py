"""A contraction planned: which operands meet, in which reading, and what is copied. No element is touched.

A program depends on the equation and on how the operands lie, and is kept for all calls that agree in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from tilewright.arrays.view import contiguous
from tilewright.contract.equation import Equation, Labels, ordered
from tilewright.contract.pair import Pair, Term, pair


@dataclass(frozen=True, slots=True)
class Single:
    """Operand ``number`` on its own: a copy without gaps (``packed``), diagonals where a label stands twice
    (``diagonal``: how they lie), sums over axes ``summed`` of what is left, and axes of one element dropped
    (``shape``), in this order."""

    number: int
    packed: bool
    diagonal: Term | None
    summed: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class View:
    """An operand's or a result's memory as a kernel reads it: ``axes`` in an order (None: their own), then a
    ``shape``. ``steps``: the strides of that, in elements; None: it is copied. ``plain``: it is the array."""

    axes: tuple[int, ...] | None
    shape: tuple[int, ...]
    steps: tuple[int, ...] | None
    plain: bool

    @staticmethod
    def of(term: Term, labels: Sequence[str], shape: tuple[int, ...], copied: bool = False) -> View:
        """A term's axes in the order of ``labels``, then in a shape, in which neighbours may be one axis."""
        axes = tuple(map(term.labels.index, labels))
        here = tuple(map(term.extent, labels))
        order = None if axes == tuple(range(len(axes))) else axes
        if copied:
            return View(order, shape, None, False)
        if 0 in shape:
            return View(order, shape, (0,) * len(shape), order is None and here == shape)
        steps, left = [], list(zip(here, map(term.stride, labels), strict=True))
        for extent in shape:
            step, covered = 0, 1
            # One stride covers what becomes one axis: that of its last part.
            while covered < extent:
                part, step = left.pop(0)
                covered *= part
            steps.append(step)
        return View(order, shape, tuple(steps), order is None and here == shape)


@dataclass(frozen=True, slots=True)
class Product:
    """Operands ``left`` and ``right`` multiplied, and their product put last.

    ``made``: the shape of the result's memory; ``out`` how it is written; ``asked``: it is the caller's.
    ``terms`` are the operands.
    """

    left: int
    right: int
    a: View
    b: View
    made: tuple[int, ...]
    out: View
    asked: bool
    pair: Pair
    terms: tuple[Term, Term]

    @property
    def places(self) -> tuple[int, int]:
        """Which operands are multiplied."""
        return self.left, self.right


@dataclass(frozen=True, slots=True)
class Chain:
    """The operands at three ``places`` multiplied at once, as ``views``, and their product put last: it does
    what the ``products`` do, one after the other. ``made`` is the memory of the result, ``out`` how it is
    written, ``asked``: it is the caller's."""

    places: tuple[int, ...]
    views: tuple[View, ...]
    made: Term
    out: View
    asked: bool
    products: tuple[Product, Product]


@dataclass(frozen=True, slots=True)
class Times:
    """Operands multiplied element by element, and their product, of axes ``labels``, put last."""

    left: int
    right: int
    a: View
    b: View
    labels: Labels

    @property
    def places(self) -> tuple[int, int]:
        """Which operands are multiplied."""
        return self.left, self.right


Step = Single | Product | Chain | Times


@dataclass(frozen=True, slots=True)
class Program:
    """What is done, one step after the other; at the end one operand is left, and ``final`` is the result."""

    equation: Equation
    steps: tuple[Step, ...]
    final: View

    @property
    def written(self) -> bool:
        """Whether the last step writes to the caller's ``out``."""
        return any(step.asked for step in self.steps if isinstance(step, Product | Chain))

    @property
    def products(self) -> list[Product]:
        """The stacks of products, those of chains among them."""
        return [
            product
            for step in self.steps
            if isinstance(step, Product | Chain)
            for product in (step.products if isinstance(step, Chain) else (step,))
        ]

    @property
    def copies(self) -> int:
        """Elements that are copied for the products."""
        return sum(step.pair.copies for step in self.steps if isinstance(step, Product))


def program(
    equation: Equation,
    layouts: Sequence[tuple[tuple[int, ...], tuple[int, ...] | None]],
    optimize: Any,
    out: tuple[int, ...] | None,
) -> Program:
    """The steps for operands of some shapes and strides in elements, None where those are no whole ones.

    ``out``: the strides of a given result. ``optimize``: see ``equation.ordered``, which raises for another.
    """
    extents = {label: extent for label, extent in equation.extents.items() if extent != 1}
    wanted = tuple(label for label in equation.out if label in extents)
    target = None
    if out is not None:
        found = [step for label, step in zip(equation.out, out, strict=True) if label in extents]
        target = Term(wanted, tuple(map(extents.__getitem__, wanted)), tuple(found))
    path = ordered(equation, [shape for shape, _ in layouts], optimize)

    def planned(orders: dict[int, Labels]) -> Program:
        return _planned(equation, layouts, path, (wanted, target), orders)

    return _settled(planned)


def _settled(planned: Callable[[dict[int, Labels]], Program]) -> Program:
    """The program in which products in between lie so that the least is copied.

    Each is first made in the order that costs its own step least; where a later step has to copy it, the
    orders in which that step could read it are tried.
    """
    orders: dict[int, Labels] = {}
    found = planned(orders)
    tried = True
    while found.copies and tried:
        tried = False
        for number, order in _others(found):
            other = planned({**orders, number: order})
            if other.copies < found.copies:
                found, orders, tried = other, {**orders, number: order}, True
                break
    return found


def _others(plan: Program) -> list[tuple[int, Labels]]:
    """Other orders for products in between that a step copies, by the number of what made them."""
    found = []
    # What each operand at this step was made by, counted from 0; None for those that were given.
    made: list[int | None] = [None] * len(plan.equation.terms)
    for number, step in enumerate(step for step in plan.steps if not isinstance(step, Single)):
        if isinstance(step, Product):
            of, one = step.pair, (step.pair.a, step.pair.b)
            for at, reading in zip((step.left, step.right), one, strict=True):
                source = made[at]
                if source is not None and reading.copied:
                    shared = [label for label in reading.labels if label in of.batch]
                    own = [label for label in reading.labels if label not in (*shared, *of.k)]
                    groups = permutations((tuple(shared), tuple(own), of.k))
                    found += [(source, tuple(x for group in order for x in group)) for order in groups]
        made = [x for at, x in enumerate(made) if at not in step.places] + [number]
    return found


def _planned(
    equation: Equation,
    layouts: Sequence[tuple[tuple[int, ...], tuple[int, ...] | None]],
    path: Sequence[tuple[int, ...]],
    result: tuple[Labels, Term | None],
    orders: dict[int, Labels],
) -> Program:
    """The steps along a path. ``result``: its labels, and its memory where that is given; ``orders``: those
    of products in between, by their numbers, where it is not the step itself that chooses."""
    wanted, target = result
    steps: list[Step] = []
    terms: list[Term] = []
    for number, (labels, (shape, strides)) in enumerate(zip(equation.terms, layouts, strict=True)):
        others = {label for at, term in enumerate(equation.terms) if at != number for label in term}
        step, term = _single(number, labels, shape, strides, {*others, *equation.out})
        steps += [] if step is None else [step]
        terms.append(term)
    count = 0
    for group in path:
        # What ``opt_einsum`` leaves together is multiplied from left to right.
        chosen = list(group)
        while len(chosen) > 1:
            left, right = chosen[:2]
            rest = [term for at, term in enumerate(terms) if at not in (left, right)]
            keep = {*wanted, *(label for term in rest for label in term.labels)}
            last = () if rest else wanted
            found_steps, term = _meet(
                (left, right), terms, keep, None if rest else target, last, orders.get(count)
            )
            steps += found_steps
            terms = [*rest, term]
            count += 1
            # Those that stood behind move up, and the product is the first of what is left.
            moved = [at - (at > left) - (at > right) for at in chosen[2:]]
            chosen = [len(terms) - 1, *moved]
    (found,) = terms
    return Program(equation, tuple(steps), View.of(found, wanted, equation.shape))


def _single(
    number: int, labels: Labels, shape: tuple[int, ...], strides: tuple[int, ...] | None, needed: set[str]
) -> tuple[Step | None, Term]:
    """What is done to one operand before it meets another, and how it lies then. Labels that are not
    ``needed`` are summed."""
    packed = strides is None
    steps = contiguous(shape, 1) if strides is None else strides
    places: dict[str, tuple[int, int]] = {}
    axes = [axis for axis in zip(labels, shape, steps, strict=True) if axis[1] != 1]
    for label, extent, step in axes:
        places[label] = extent, places.get(label, (extent, 0))[1] + step
    whole = Term(tuple(places), *(tuple(axis[at] for axis in places.values()) for at in (0, 1)))
    diagonal = whole if len(axes) > len(places) else None
    summed = tuple(at for at, label in enumerate(whole.labels) if label not in needed)
    left = _without(whole, summed)
    if not packed and diagonal is None and not summed and len(axes) == len(labels):
        return None, whole
    return Single(number, packed, diagonal, summed, left.extents), left


def _without(term: Term, summed: tuple[int, ...]) -> Term:
    """What is left of an operand whose sums along some axes were taken."""
    if not summed:
        return term
    labels = tuple(label for at, label in enumerate(term.labels) if at not in summed)
    return Term.packed(labels, {label: term.extent(label) for label in labels})


def _meet(
    numbers: tuple[int, int],
    terms: Sequence[Term],
    keep: set[str],
    target: Term | None,
    wanted: Labels,
    order: Labels | None,
) -> tuple[list[Step], Term]:
    """The steps by which two operands become one, and how that lies: in an ``order``, if there is one."""
    steps: list[Step] = []
    met: list[Term] = []
    for number, other in (numbers, numbers[::-1]):
        x, known = terms[number], {*keep, *terms[other].labels}
        summed = tuple(at for at, label in enumerate(x.labels) if label not in known)
        met.append(_without(x, summed))
        if summed:
            steps.append(Single(number, False, None, summed, met[-1].extents))
    a, b = met
    if all(label in keep for label in a.labels if label in b.labels):
        labels = order or tuple(dict.fromkeys(x for x in (*wanted, *a.labels, *b.labels)))
        views = []
        for x in (a, b):
            shape = tuple(x.extent(label) if label in x.labels else 1 for label in labels)
            views.append(View.of(x, [label for label in labels if label in x.labels], shape))
        extents = {label: x.extent(label) for x in met for label in x.labels}
        return [*steps, Times(*numbers, views[0], views[1], labels)], Term.packed(labels, extents)
    between = None
    if order is not None:
        between = Term.packed(order, {label: x.extent(label) for x in met for label in x.labels})
    found = pair(a, b, keep, target or between, wanted)
    if target is not None and found.copies:
        # A new result may do with fewer, and is put into the given one afterwards.
        free = pair(a, b, keep, None, wanted)
        if free.copies + target.size < found.copies:
            found, target = free, None
    views = [
        View.of(x, reading.labels, reading.shape, reading.copied)
        for x, reading in ((a, found.a), (b, found.b), (found.made, found.out))
    ]
    made = found.made.extents
    product = Product(*numbers, views[0], views[1], made, views[2], target is not None, found, (a, b))
    return [*steps, product], found.made
