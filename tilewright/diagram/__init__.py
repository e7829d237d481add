"""The points of a product of finite sets that pass tests, as a decision diagram: counted and found unlisted.

A level for every parameter, in order. A node stands for all prefixes whose futures are alike; its edges are
the values that the next parameter may take, in order, each with the number of points beyond it. What is asked
costs a walk from the top, or one look at every edge, and never depends on how many points there are.

This is a multi-valued decision diagram that is built from the top and merges prefixes by what is pending
(D. Bergman, A. Cire, W.-J. van Hoeve, J. Hooker, "Decision Diagrams for Optimization" (2016), section 3),
with counts on its edges as in D. Knuth, "The Art of Computer Programming" 4A, section 7.1.4, algorithm C.

Points are rows of places: which of its parameter's values each is, counted from 0.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int32]
"""Points or prefixes: a row for a parameter, a column for a point."""
Crossed = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Which prefix, and which value of the next parameter, of all that pass; in order."""
Merged = tuple[NDArray[np.intp], NDArray[np.intp]]
"""One prefix of each kind, and of which kind every prefix is."""

EXACT = 2.0**62
"""Sums below this stay in NumPy's integers; larger ones are Python's."""
KEPT = 1 << 16
"""Edges that walks keep in dictionaries, some 100 bytes each; beyond them they begin anew."""


def distinct(key: NDArray[np.int64], bound: int) -> Merged:
    """The first of each kind in order of the keys, which lie in 0 <= key < bound, and every key's kind."""
    if bound > 65536 + 8 * len(key):
        _, which, kinds = np.unique(key, return_index=True, return_inverse=True)
        return which, kinds.reshape(-1)
    # With few possible keys a table is some ten times as fast as sorting.
    number = np.zeros(bound, np.intp)
    number[key] = 1
    there = number.nonzero()[0]
    number[there] = np.arange(len(there))
    kinds = number[key]
    which = np.empty(len(there), np.intp)
    which[kinds[::-1]] = np.arange(len(key) - 1, -1, -1)
    return which, kinds


@dataclass(frozen=True, slots=True)
class Level:
    """The edges from the nodes of one level, by node, then by value; only those that lead to a point.

    ``first``: where each node's edges begin, and where the last ones end. ``before``: how many points the
    edges before one lead to, and all.
    """

    first: NDArray[np.int64]
    value: NDArray[np.int32]
    child: NDArray[np.int32]
    before: NDArray[Any]

    @staticmethod
    def of(nodes: int, edges: Sequence[NDArray[Any]], counts: NDArray[Any]) -> Level:
        """From edges (node, value, child) in order and the number of points below each child."""
        node, value, child = edges
        points = counts[child]
        if points.dtype != object and float(points.sum(dtype=float)) >= EXACT:
            points = points.astype(object)
        if not points.all():
            alive = points.astype(bool)
            node, value, child, points = node[alive], value[alive], child[alive], points[alive]
        before = np.zeros(len(points) + 1, points.dtype)
        np.cumsum(points, out=before[1:])
        first = np.zeros(nodes + 1, np.int64)
        np.cumsum(np.bincount(node, minlength=nodes), out=first[1:])
        return Level(first, value.astype(np.int32), child.astype(np.int32), before)

    @property
    def counts(self) -> NDArray[Any]:
        """How many points each node leads to."""
        ends = self.before[self.first]
        counts: NDArray[Any] = ends[1:] - ends[:-1]
        return counts

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(each.nbytes for each in (self.first, self.value, self.child, self.before))

    def edge(self, node: int, value: int) -> int | None:
        """The edge of one node that has this value."""
        at = bisect_left(self.value, value, int(self.first[node]), end := int(self.first[node + 1]))
        return at if at < end and self.value[at] == value else None


class Diagram:
    """Points in lexicographic order of their places, the last parameter moving fastest."""

    def __init__(self, levels: Sequence[Level], total: int):
        self.levels, self.total = tuple(levels), total
        self._seen: list[dict[int, dict[int, int]]] = [{} for _ in self.levels]
        self._held = 0

    @property
    def size(self) -> int:
        """How many edges there are."""
        return sum(len(level.value) for level in self.levels)

    @property
    def nbytes(self) -> int:
        """Bytes of all levels."""
        return sum(level.nbytes for level in self.levels)

    def at(self, number: int) -> list[int]:
        """The point of this number, 0 <= number < total."""
        node, places = 0, []
        for level in self.levels:
            begin, end = int(level.first[node]), int(level.first[node + 1])
            number += int(level.before[begin])
            edge = bisect_right(level.before, number, begin, end) - 1
            number -= int(level.before[edge])
            places.append(int(level.value[edge]))
            node = int(level.child[edge])
        return places

    def points(self, numbers: Sequence[int]) -> Places:
        """The points of these numbers."""
        left = np.array(numbers, np.int64 if self.total < EXACT else object)
        node = np.zeros(len(left), np.intp)
        places = np.empty((len(self.levels), len(left)), np.int32)
        for row, level in zip(places, self.levels, strict=True):
            left = left + level.before[level.first[node]]
            edge = level.before.searchsorted(left, "right") - 1
            left = left - level.before[edge]
            row[:] = level.value[edge]
            node = level.child[edge]
        return places

    def _out(self, depth: int, node: int) -> dict[int, int]:
        """Where the values of one node lead. Kept, for one dictionary is asked in a tenth of the time that
        arrays take, and walks meet the same nodes again."""
        found = self._seen[depth].get(node)
        if found is None:
            level = self.levels[depth]
            begin, end = int(level.first[node]), int(level.first[node + 1])
            found = dict(zip(level.value[begin:end].tolist(), level.child[begin:end].tolist(), strict=True))
            if self._held > KEPT:
                self._seen, self._held = [{} for _ in self.levels], 0
            self._seen[depth][node] = found
            self._held += end - begin
        return found

    def has(self, places: Sequence[int]) -> bool:
        """Whether these places are a point."""
        node: int | None = 0 if self.total else None
        for depth, place in enumerate(places):
            if node is None:
                return False
            node = self._out(depth, node).get(place)
        return node is not None

    def number(self, places: Sequence[int]) -> int | None:
        """How many points come before this one; None where it is no point."""
        if not self.total:
            return None
        node, number = 0, 0
        for level, place in zip(self.levels, places, strict=True):
            edge = level.edge(node, place)
            if edge is None:
                return None
            number += int(level.before[edge]) - int(level.before[level.first[node]])
            node = int(level.child[edge])
        return number

    def neighbours(self, places: Sequence[int]) -> list[tuple[int, int]]:
        """Which parameters may have which other values, one at a time; -1 is a place that does not exist."""
        if not self.total:
            return []
        node: int | None = 0
        # Every step off the path is an alternative; those that meet in a node go on together.
        steps: dict[int, list[tuple[int, int]]] = {}
        for depth, place in enumerate(places):
            on: dict[int, list[tuple[int, int]]] = {}
            seen = self._seen[depth]
            for end, some in steps.items():
                child = (seen.get(end) or self._out(depth, end)).get(place)
                if child is None:
                    continue
                if child in on:
                    on[child] += some
                else:
                    on[child] = some
            if node is not None:
                out = self._out(depth, node)
                for value, child in out.items():
                    if value != place:
                        on.setdefault(child, []).append((depth, value))
                node = out.get(place)
            steps = on
        return sorted(step for some in steps.values() for step in some)

    def left(self, held: Sequence[Sequence[int] | None]) -> list[list[int]]:
        """The values of each parameter that some point has whose other places are among those held (None:
        any)."""
        if not self.total or not self.levels:
            return [[] for _ in self.levels]
        through = []
        reached = np.ones(1, bool)
        nodes = [len(level.first) - 1 for level in self.levels[1:]] + [1]
        for level, places, below in zip(self.levels, held, nodes, strict=True):
            edges = np.repeat(reached, np.diff(level.first))
            if places is not None:
                edges &= np.isin(level.value, places)
            through.append(edges)
            reached = np.zeros(below, bool)
            reached[level.child[edges]] = True
        useful = np.ones(1, bool)
        values: list[list[int]] = []
        for level, edges in zip(reversed(self.levels), reversed(through), strict=True):
            edges &= useful[level.child]
            values.append(np.flatnonzero(np.bincount(level.value[edges], minlength=1)).tolist())
            useful = np.zeros(len(level.first) - 1, bool)
            useful[_nodes(level)[edges]] = True
        return values[::-1]

    def nearest(self, costs: Sequence[NDArray[np.int64]]) -> list[int] | None:
        """The first point of the least cost, which is a sum: of each parameter's value what it costs."""
        if not self.total:
            return None
        below = np.zeros(1, np.int64)
        weights = []
        for level, cost in zip(reversed(self.levels), reversed(costs), strict=True):
            edge = cost[level.value] + below[level.child]
            weights.append(edge)
            below = np.full(len(level.first) - 1, np.iinfo(np.int64).max // 2)
            np.minimum.at(below, _nodes(level), edge)
        node, places = 0, []
        for level, edge in zip(self.levels, reversed(weights), strict=True):
            begin, end = int(level.first[node]), int(level.first[node + 1])
            best = begin + int(edge[begin:end].argmin())
            places.append(int(level.value[best]))
            node = int(level.child[best])
        return places


def _nodes(level: Level) -> NDArray[np.intp]:
    """The node of every edge of a level."""
    return np.repeat(np.arange(len(level.first) - 1), np.diff(level.first))


def build(
    sizes: Sequence[int],
    start: Places,
    cross: Callable[[Places], Crossed],
    merge: Callable[[Places], Merged | None],
    most: int,
    looks: float = float("inf"),
) -> Diagram | None:
    """The diagram of parameters with so many values each; None if it has more than ``most`` edges, or if more
    than ``looks`` prefixes would be looked at.

    ``start`` is the empty prefix, if it passes. ``cross`` gives prefixes their next value and says which
    pass, ``merge`` which prefixes are alike (None: no two are known to be).
    """
    if not sizes:
        return Diagram([], start.shape[1])
    prefixes, nodes, count, edges = start, [start.shape[1]], 0, []
    for depth, size in enumerate(sizes, 1):
        looks -= prefixes.shape[1] * size
        if looks < 0:
            return None
        node, value = cross(prefixes)
        count += len(node)
        if count > most:
            return None
        child = np.zeros(len(node), np.intp)
        if depth < len(sizes):
            prefixes = np.vstack([prefixes[:, node], value.astype(np.int32)])
            merged = merge(prefixes)
            which, child = merged or (slice(None), np.arange(len(node)))
            prefixes = prefixes[:, which]
            nodes.append(prefixes.shape[1])
        edges.append((node, value, child))
    counts: NDArray[Any] = np.ones(1, np.int64)
    levels: list[Level] = []
    for above, lines in zip(reversed(nodes), reversed(edges), strict=True):
        levels.append(Level.of(above, lines, counts))
        counts = levels[-1].counts
    return Diagram(levels[::-1], int(counts[0]) if nodes[0] else 0)
