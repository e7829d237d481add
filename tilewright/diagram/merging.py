"""Which prefixes are alike: those in which all pending tests see the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.diagram import Merged, Places, distinct
from tilewright.diagram.terms import Term, known, needed, symbol

BOUND = 1 << 62
GRID = 4096
"""What depends on parameters with so few combinations is looked up in a table of all of them."""


class Merging:
    """Parameters with their values, and tests, each as an expression or as the parameters that it reads.

    The tests must be of arrays if any has an expression: the parts of it that a prefix settles are computed.
    """

    def __init__(self, values: Mapping[str, Sequence[Any]], tests: Sequence[Term | Sequence[str]]):
        self._names = list(values)
        self._depth = {parameter: depth for depth, parameter in enumerate(values)}
        self._sizes = [len(each) for each in values.values()]
        self._arrays: dict[str, NDArray[Any]] = {p: np.array(each) for p, each in values.items()}
        self._tests = tests
        self._tables: dict[Any, tuple[NDArray[np.int64], int]] = {}
        self._before: set[Any] = set()

    def __call__(self, prefixes: Places) -> Merged | None:
        """One prefix of each kind, and the kind of each; None where none are known to be alike."""
        names = frozenset(self._names[: len(prefixes)])
        parts: list[Term] = []
        for test in self._tests:
            if isinstance(test, Term):
                parts += () if test.names <= names else known(test, names)
            elif not names.issuperset(test):
                parts += [symbol(each, False) for each in test if each in names]
        parts = needed(parts)
        seen = {part.key for part in parts}
        last = (self._names[len(prefixes) - 1],)
        before, self._before = self._before, seen
        if last in seen and seen >= before:
            return None
        key, bound = np.zeros(prefixes.shape[1], np.int64), 1
        for part in parts:
            kind, kinds = self._kinds(part, prefixes)
            if bound * kinds >= BOUND:
                key = distinct(key, bound)[1].astype(np.int64)
                bound = len(key)
            key = key * kinds + kind
            bound *= kinds
        return distinct(key, bound)

    def _kinds(self, part: Term, prefixes: Places) -> tuple[NDArray[Any], int]:
        """A number for what a part is in each prefix, and a bound of these numbers."""
        if isinstance(part.operation, str):
            depth = self._depth[part.operation]
            return prefixes[depth], self._sizes[depth]
        rows = sorted(self._depth[each] for each in part.names)
        sizes = [self._sizes[row] for row in rows]
        if prod(sizes) > max(GRID, 2 * prefixes.shape[1]):
            return _numbered(self._value(part, rows, list(prefixes[rows])))
        if part.key not in self._tables:
            grid = [each.reshape(-1) for each in np.indices(sizes)]
            self._tables[part.key] = _numbered(self._value(part, rows, grid))
        table, kinds = self._tables[part.key]
        return table[np.ravel_multi_index(list(prefixes[rows]), sizes)], kinds

    def _value(self, part: Term, rows: Sequence[int], places: Sequence[NDArray[Any]]) -> NDArray[Any]:
        names = [self._names[row] for row in rows]
        with np.errstate(all="ignore"):
            value = part.value({n: self._arrays[n][at] for n, at in zip(names, places, strict=True)})
        return np.asarray(value)


def _numbered(values: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Equal values by equal numbers, and how many numbers there may be."""
    if values.dtype.kind in "bi" and values.size:
        low, high = int(values.min()), int(values.max())
        if high - low < 65536 + 8 * values.size:
            return values.astype(np.int64) - low, high - low + 1
    _, kinds = np.unique(values, return_inverse=True)
    return kinds.reshape(-1).astype(np.int64), int(kinds.max(initial=0)) + 1
