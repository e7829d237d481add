"""Products of a list that no kernel of lists serves: those of one size together, each bound once.

A list of many sizes often has products that are alike and lie evenly spaced: the matrices of a stack, or of
groups with the same number of rows. They are one strided batch, which the ladder plans as it plans any
other; what is left is planned one by one. What a run costs after that is its launches, in the order of the
caller's stream: nothing is looked up, copied or waited for, so it may be recorded into a CUDA graph.

One product of a list seldom fills a GPU. Many of them are dealt to several streams, the largest first,
between a fork from the caller's stream and a join with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tilewright.arrays.overlap import Integers
from tilewright.arrays.tables import Table
from tilewright.arrays.view import Layout, address_of
from tilewright.calls import product, product_plans
from tilewright.calls.spec import ProductSpec
from tilewright.catalog import STENCILS
from tilewright.errors import RoomError
from tilewright.model import Plan
from tilewright.runtime.backend import Backend
from tilewright.targets.cuda import driver


def even_runs(
    tables: tuple[Table, Table, Table], scalars: tuple[Any, Any], which: Integers
) -> Iterator[Integers]:
    """Some products of a list in groups of like ones, A, B and C of which lie evenly spaced, C ascending.

    Like ones have one size, one layout of each operand, and the same scalars.
    """
    fields = [getattr(table, name)[which] for table in tables for name in _LIKE]
    fields += [part[which] for row in scalars for part in (row.real, row.imag)]
    _, kinds = np.unique(np.stack(fields).astype(np.float64), axis=1, return_inverse=True)
    kinds = kinds.reshape(-1)
    order = np.lexsort((tables[2].address[which], kinds))
    which, kinds = which[order], kinds[order]
    steps = np.stack([np.diff(table.address[which]) for table in tables])
    # An operand that goes backwards is for nobody's library.
    joins = (kinds[1:] == kinds[:-1]) & (steps >= 0).all(0)
    for table, row in zip(tables, steps, strict=True):
        joins &= row % table.size == 0
    first, count = 0, len(which)
    while first < count:
        last = first
        while last + 1 < count and joins[last] and (steps[:, last] == steps[:, first]).all():
            last += 1
        yield which[first : last + 1]
        first = last + 1


_LIKE = ("rows", "columns", "row", "column", "lazy")


def stacked(table: Table, which: Integers) -> Layout:
    """Matrices that lie evenly spaced as one stack, a single one as a matrix."""
    one = table.of(int(which[0]))
    if len(which) == 1:
        return one
    step = int(table.address[which[1]] - table.address[which[0]])
    return table.backend.at(
        address_of(one),
        (len(which), *one.shape),
        (step, *one.strides),
        table.dtype,
        keep=table.keep,
        conj=bool(table.lazy[which[0]]),
    )


LANES = 4
"""Streams that many products run on, the caller's among them."""
MANY = 8
"""Products from which on a fork and a join, some 15 us of this process, are worth while."""
_held = threading.local()


def sides(index: int, recorded: bool, make: bool = True) -> Any:
    """The streams beside a caller's of this thread on the current GPU. A recording has its own: what else the
    thread starts meanwhile must not be drawn into it. ``make``: where there are none; within a recording it
    is too late for that, and the answer is None."""
    known: dict[tuple[int, bool], Any] = _held.__dict__.setdefault("sides", {})
    if make and (index, recorded) not in known:
        known[index, recorded] = driver.Sides(LANES - 1)
    return known.get((index, recorded))


def spread(starts: Sequence[Callable[[int], None]], index: int, stream: int) -> None:
    """Start products that depend on none of one another, several at once where they are many."""
    recorded = len(starts) >= MANY and driver.capturing(stream)
    beside = sides(index, recorded, make=not recorded) if len(starts) >= MANY else None
    if beside is None:
        for start in starts:
            start(stream)
        return
    lanes = (stream, *beside.handles)
    beside.fork(stream)
    try:
        for number, start in enumerate(starts):
            start(lanes[number % LANES])
    finally:
        beside.join(stream)


class Run:
    """One product or strided batch of a list, planned and bound for its very memory."""

    def __init__(self, backend: Backend, spec: ProductSpec, out: Layout):
        self.spec, self.out = spec, out
        self.renew(backend)

    @property
    def count(self) -> int:
        """Its products."""
        return int(self.plan.problem.batch)

    def renew(self, backend: Backend) -> None:
        """Plan, by the records as they are now."""
        spec = self.spec
        # Copies that may be needed are made in each run, and imagined here.
        found = product_plans.plan(
            backend, spec.options, spec.left, spec.right, self.out, fresh=True, imagine=True
        )
        self.plan: Plan = found.plan
        as_they_are = found.a is spec.left and found.b is spec.right and found.out is self.out
        plainly = as_they_are and spec.options.alpha != 0
        self._bound = found.bound if plainly and backend.kind == "cpu" else None
        bound = found.bound if plainly and backend.kind == "cuda" else None
        # A texture may be refused over certain addresses, and the library then has to take over.
        if bound is not None and self.plan.stencil is not None and self.plan.config is not None:
            launch = STENCILS[self.plan.stencil].launch(self.plan.problem, self.plan.config)
            bound = None if launch.reading else bound
        self._start = None if bound is None else bound.run
        self._where = address_of(found.a), address_of(found.b), address_of(found.out)

    def launcher(self, backend: Backend) -> Callable[[int], None] | None:
        """What starts it on a stream; None where the product has to be looked at, copied or scaled anew."""
        start, where = self._start, self._where
        if start is None:
            return None

        def run(stream: int) -> None:
            try:
                start(*where, stream)
            except RoomError:
                # On the caller's stream, which what is dealt to others is in order with.
                with backend.current():
                    self.slowly(backend.here())

        return run

    def slowly(self, backend: Backend) -> None:
        """The product on the backend's stream, in this process by its kernel where that takes the arrays as
        they are, else with all its looks and copies."""
        if self._bound is not None:
            backend.run(self._bound, self.spec.left, self.spec.right, self.out)
            return
        product.run(backend, self.spec, self.out, fresh=True)
