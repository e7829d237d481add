"""The points of a space, grown parameter by parameter.

What lists points grows them parameter by parameter, as columns: a column holds, for one parameter, the
place of every point's value among the parameter's values. A test is asked once for every combination of
the values that it reads, or, in an ``elementwise`` space, for whole arrays of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.diagram import distinct
from tilewright.errors import ArgumentError
from tilewright.model import Config
from tilewright.space.rules import Param, Rule

PIECE = 1 << 18
"""Points that are looked at together: enough to forget what a call of NumPy costs, few enough to hold."""

Columns = NDArray[np.int32]
"""Points that have some of their values: a row for a parameter, a column for a point."""


class Growth:
    """Parameters and rules in the order in which points grow: a rule is due with the last parameter that it
    reads.

    ``elementwise`` says that every test also takes NumPy arrays of values, and answers for each of
    their elements: ``&`` and ``|`` in place of ``and`` and ``or``, no ``not``, no branches.
    """

    def __init__(self, params: Sequence[Param], rules: Sequence[Rule] = (), elementwise: bool = False):
        self.params, self.rules, self.elementwise = tuple(params), tuple(rules), elementwise
        for kind, names in (("parameters", [q.name for q in params]), ("rules", [r.name for r in rules])):
            if len(set(names)) < len(names):
                twice = min(name for name in names if names.count(name) > 1)
                raise ArgumentError(f"two {kind} are named {twice!r}; accepted: each name once")
        if not params:
            raise ArgumentError("params is empty; accepted: at least one parameter")
        self._fixed = {param.name: param.values[0] for param in params if len(param.values) == 1}
        self._free = [param for param in params if param.name not in self._fixed]
        self._names = {param.name for param in params}
        # Depth of a parameter: how many columns there are once it has one.
        self._depth = dict.fromkeys(self._fixed, 0) | {q.name: d for d, q in enumerate(self._free, 1)}
        self._at: list[list[Rule]] = [[] for _ in range(len(self._free) + 1)]
        for rule in rules:
            unknown = [name for name in rule.reads if name not in self._depth]
            if unknown:
                raise ArgumentError(f"rule {rule.name!r} reads {unknown[0]!r}, which is no parameter")
            self._at[max((self._depth[name] for name in rule.reads), default=0)].append(rule)

    def _pieces(self, removed: dict[str, int] | None = None) -> Iterator[Columns]:
        """The valid points in order, some at a time; ``removed`` is counted up, rule by rule."""
        removed = {rule.name: 0 for rule in self.rules} if removed is None else removed
        return self._grown(self._start(removed), removed)

    def _start(self, removed: dict[str, int]) -> Columns:
        """The one point without values, or none where a rule that is due from the start removes it."""
        return self._sieve(np.zeros((0, 1), np.int32), self._at[0], removed)

    def _grown(self, columns: Columns, removed: dict[str, int]) -> Iterator[Columns]:
        """The valid points that begin as these do: a few of them at a time get their next value."""
        depth, count = columns.shape
        if depth == len(self._free):
            yield columns
            return
        rows = max(1, PIECE // max(1, len(self._free[depth].values)))
        for first in range(0, count, rows):
            grown = self._crossed(columns[:, first : first + rows], removed)
            if grown.shape[1]:
                yield from self._grown(grown, removed)

    def _crossed(self, columns: Columns, removed: dict[str, int]) -> Columns:
        """Points times the values of the next parameter, less what the rules remove that are due with it."""
        point, value = self._passing(columns, removed)
        return np.vstack([columns[:, point], value.astype(np.int32)])

    def _passing(
        self, columns: Columns, removed: dict[str, int]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Which point, and which of the next parameter's values, the rules due with it let through."""
        depth, count = columns.shape
        values = np.arange(len(self._free[depth].values), dtype=np.int32)
        rules = self._at[depth + 1]
        alive = np.ones((count, len(values)), bool)
        for number, rule in enumerate(rules):
            # A test of few different points of the past is settled for all their futures in one table.
            # It sees points that earlier rules removed, which only a test of arrays takes in its stride.
            which, inverse = self._distinct([n for n in rule.reads if self._depth[n] <= depth], columns)
            if (number and not self.elementwise) or (number and 2 * len(which) > count):
                rules = rules[number:]
                break
            crossed = np.vstack([columns[:, which].repeat(len(values), 1), np.tile(values, len(which))])
            left = alive & self._holds(rule, crossed).reshape(len(which), len(values))[inverse]
            self._note(rule, depth + 1, int(np.count_nonzero(alive & ~left)), removed)
            alive = left
        else:
            rules = []
        point, value = alive.nonzero()
        for rule in rules:
            left = self._holds(rule, np.vstack([columns[:, point], value.astype(np.int32)]))
            self._note(rule, depth + 1, int(len(left) - np.count_nonzero(left)), removed)
            point, value = point[left], value[left]
        return point, value

    def _crossing(self, columns: Columns) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """``_passing`` of any number of points, a few of them at a time, without counting."""
        uncounted = {rule.name: 0 for rule in self.rules}
        rows = max(1, PIECE // max(1, len(self._free[len(columns)].values)))
        pieces = []
        for first in range(0, columns.shape[1], rows):
            point, value = self._passing(columns[:, first : first + rows], uncounted)
            pieces.append((point + first, value))
        if not pieces:
            return np.zeros(0, np.intp), np.zeros(0, np.intp)
        points, values = zip(*pieces, strict=True)
        return np.concatenate(points), np.concatenate(values)

    def _sieve(self, columns: Columns, rules: Sequence[Rule], removed: dict[str, int]) -> Columns:
        """The points that every rule lets through."""
        for rule in rules:
            left = columns[:, self._holds(rule, columns)]
            self._note(rule, len(columns), columns.shape[1] - left.shape[1], removed)
            columns = left
        return columns

    def _note(self, rule: Rule, depth: int, count: int, removed: dict[str, int]) -> None:
        # Not in NumPy: the numbers outgrow 64 bits.
        removed[rule.name] += count * prod(len(param.values) for param in self._free[depth:])

    def _holds(self, rule: Rule, columns: Columns) -> NDArray[np.bool_]:
        """Whether each point passes a rule."""
        count = columns.shape[1]
        if self.elementwise:
            read = {name: self._column(name, columns) for name in rule.reads}
            with np.errstate(all="ignore"):
                return np.broadcast_to(np.asarray(rule.test(**read), bool), count)
        which, inverse = self._distinct(rule.reads, columns)
        held = [
            bool(rule.test(**{name: self._value(name, columns, at) for name in rule.reads}))
            for at in which.tolist()
        ]
        return np.array(held, bool)[inverse]

    def _distinct(self, names: Sequence[str], columns: Columns) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """One point for every combination of some parameters' values, and which of them a point is like."""
        key = np.zeros(columns.shape[1], np.int64)
        bound = 1
        for name in names:
            if name in self._fixed:
                continue
            size = len(self._free[self._depth[name] - 1].values)
            if bound * size >= 1 << 62:
                key = np.unique(key, return_inverse=True)[1].reshape(-1)
                bound = columns.shape[1]
            key = key * size + columns[self._depth[name] - 1]
            bound *= size
        if bound == 1:
            return np.zeros(min(1, len(key)), np.intp), np.zeros(len(key), np.intp)
        return distinct(key, bound)

    def _column(self, name: str, columns: Columns) -> Any:
        """The values of a parameter: an array, or the one value that it has."""
        if name in self._fixed:
            return self._fixed[name]
        depth = self._depth[name]
        return np.array(self._free[depth - 1].values)[columns[depth - 1]]

    def _value(self, name: str, columns: Columns, at: int) -> Any:
        """The value of a parameter at one point."""
        if name in self._fixed:
            return self._fixed[name]
        depth = self._depth[name]
        return self._free[depth - 1].values[columns[depth - 1, at]]

    def _configs(self, columns: Columns) -> Iterator[Config]:
        """Columns as configs, made one by one."""
        names = [param.name for param in self.params]
        chosen = {
            q.name: [q.values[i] for i in places.tolist()]
            for q, places in zip(self._free, columns, strict=True)
        }
        fixed = {name: repeat(value, columns.shape[1]) for name, value in self._fixed.items()}
        values = [(chosen | fixed)[name] for name in names]
        for point in zip(*values, strict=True):
            yield Config(dict(zip(names, point, strict=True)))
