"""An order of parameters in which a diagram is small: what tests read together stands together.

How many nodes a level has is estimated by what pending tests still see of a prefix, as if all values could
occur together. Parameters that no test connects come one group after the other; within a group each parameter
is tried as the first, and then the one that adds least is next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log2

from tilewright.diagram.terms import Term, known, needed

Test = Term | Sequence[str]
SHRINKS = 0.75
"""A part of an expression has fewer values than its parameters together: this share of their bits."""


class Ordering:
    """Parameters by how many values they have, and tests, as ``Merging`` has them."""

    def __init__(self, sizes: Mapping[str, int], tests: Sequence[Test]):
        self._bits = {name: log2(max(1, size)) for name, size in sizes.items()}
        self._tests = [(frozenset(test.names if isinstance(test, Term) else test), test) for test in tests]
        self._widths: dict[frozenset[str], float] = {}

    def cost(self, order: Sequence[str]) -> float:
        """The estimated nodes of all levels in this order."""
        return sum(2 ** self._width(frozenset(order[:depth])) for depth in range(1, len(order) + 1))

    def best(self) -> list[str]:
        """The order of least cost that was found; the same whatever order the parameters are given in."""
        order: list[str] = []
        for group in self._groups():
            best: list[str] = min((self._from(first, group) for first in sorted(group)), key=self.cost)
            order += best
        return order

    def _from(self, first: str, group: frozenset[str]) -> list[str]:
        order, rest = [first], set(group - {first})
        while rest:
            taken = frozenset(order)
            order.append(min(sorted(rest), key=lambda name: self._width(taken | {name})))
            rest.remove(order[-1])
        return order

    def _groups(self) -> list[frozenset[str]]:
        groups = [frozenset((name,)) for name in sorted(self._bits)]
        for reads, _ in self._tests:
            joined = [group for group in groups if group & reads]
            groups = [group for group in groups if not group & reads]
            groups += [frozenset().union(*joined)] if joined else []
        return sorted(groups, key=sorted)

    def _width(self, names: frozenset[str]) -> float:
        """Bits of what pending tests see of a prefix of these parameters."""
        if names not in self._widths:
            self._widths[names] = sum(self._seen(part) for part in needed(self._parts(names)))
        return self._widths[names]

    def _parts(self, names: frozenset[str]) -> Iterable[Term]:
        for reads, test in self._tests:
            if reads & names and not reads <= names:
                if isinstance(test, Term):
                    yield from known(test, names)
                else:
                    yield from (Term(name, (), False) for name in sorted(reads & names))

    def _seen(self, part: Term) -> float:
        bits = sum(self._bits[name] for name in part.names)
        return bits if isinstance(part.operation, str) else SHRINKS * bits
