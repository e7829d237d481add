"""A search space: parameters, named rules, and what each rule removes.

What it is made of is in ``rules``, and how its points are listed in ``growth``.

What only counts or finds points (``count``, ``at``, ``number``, ``sample``, ``neighbours``, ``left``,
``nearest``) asks a decision diagram, ``tilewright.diagram``, which is grown in the same way, but of prefixes
that all pending rules see alike one is kept: a space of 10^8 points may have 10^4 of them. A space whose
diagram would have more than ``EDGES`` edges goes through its columns for these, too, some at a time.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.diagram import Diagram, build
from tilewright.diagram.merging import Merging
from tilewright.diagram.ordering import Ordering
from tilewright.diagram.terms import Term, conditions, symbol, traced
from tilewright.errors import ArgumentError
from tilewright.model import Config
from tilewright.space.growth import Columns, Growth
from tilewright.space.rules import HARDWARE, KINDS, Param, Rule, arguments, completed, same

__all__ = [
    "EDGES",
    "HARDWARE",
    "KINDS",
    "LOOKS",
    "Columns",
    "Param",
    "Rule",
    "Space",
    "Step",
    "arguments",
    "completed",
]

EDGES = 1 << 21
"""Edges of the largest diagram: some 100 MB while it is made."""
LOOKS = 400_000
"""Prefixes after which a better order of the parameters is sought, for what does not depend on it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a funnel: a stage, how many points it removed, and how many were left after it."""

    stage: str
    kind: str
    removed: int
    left: int


def _taken(points: Mapping[str, Any], which: NDArray[np.bool_]) -> dict[str, Any]:
    """Some of many points, each parameter an array of values or one value for all."""
    return {name: values[which] if np.ndim(values) else values for name, values in points.items()}


class Space(Growth):
    """All combinations of the parameters' values that every rule lets through.

    ``elementwise`` as in ``Growth``.
    """

    def only(self, kinds: Sequence[str]) -> Space:
        """The same parameters under the rules of these kinds alone."""
        return Space(self.params, [rule for rule in self.rules if rule.kind in kinds], self.elementwise)

    def restricted(self, **values: Any) -> Space:
        """The same space with some parameters held at one value.

        Raises ``ArgumentError`` for a name or a value that the space does not have.
        """
        known = {param.name: param.values for param in self.params}
        for name, value in values.items():
            if name not in known or value not in known[name]:
                raise ArgumentError(
                    f"{name}={value!r} is not in the space; accepted: "
                    + (f"{name} in {known[name]}" if name in known else ", ".join(known))
                )
        params = [replace(p, values=(values[p.name],)) if p.name in values else p for p in self.params]
        return Space(params, self.rules, self.elementwise)

    def part(self, names: Sequence[str]) -> Space:
        """These parameters alone, under the rules that read no others: what is known of a tile before the
        rest of a config is chosen."""
        rules = [rule for rule in self.rules if set(rule.reads) <= set(names)]
        return Space([param for param in self.params if param.name in names], rules, self.elementwise)

    @property
    def size(self) -> int:
        """How many combinations there are before any rule."""
        return prod(len(param.values) for param in self.params)

    def __iter__(self) -> Iterator[Config]:
        """Every valid config, the last parameter moving fastest."""
        for columns in self._pieces():
            yield from self._configs(columns)

    def count(self) -> int:
        """How many valid configs there are.

        Not ``len``, which ``list`` would ask for before it walks: twice the work.
        """
        if self.compact is not None:
            return self.compact[1].total
        return sum(columns.shape[1] for columns in self._pieces())

    def funnel(self) -> list[Step]:
        """All points, then each rule with what it removed that no rule before it had."""
        removed = {rule.name: 0 for rules in self._at for rule in rules}
        for _ in self._pieces(removed):
            pass
        left = self.size
        steps = [Step("all combinations", "", 0, left)]
        for rules in self._at:
            for rule in rules:
                left -= removed[rule.name]
                steps.append(Step(rule.name, rule.kind, removed[rule.name], left))
        return steps

    # -- single points -----------------------------------------------------------------------------------
    def why(self, config: Mapping[str, Any]) -> list[Rule]:
        """The rules that a config breaks; empty for a valid one.

        Raises ``ArgumentError`` when the config does not name every parameter that has no ``absent``.
        """
        config = completed(self.params, config)
        missing = [param.name for param in self.params if param.name not in config]
        if missing:
            raise ArgumentError(f"config={dict(config)} does not say {missing[0]!r}")
        return [r for rules in self._at for r in rules if not r.test(**{n: config[n] for n in r.reads})]

    def member(self, config: Mapping[str, Any], kinds: Sequence[str] = HARDWARE) -> str | None:
        """Why a config is no point of this space under the rules of these kinds, said of a config: ``says
        a=-1; accepted: 1, 2``; None for one that is.

        This is the question to ask of every config that comes from elsewhere (a caller, a file, the
        records of another problem) before a kernel is made of it.
        """
        names = ", ".join(param.name for param in self.params)
        known = {param.name for param in self.params}
        for name in config:
            if name not in known:
                return f"names {name!r}; accepted: {names}"
        config = completed(self.params, config)
        for param in self.params:
            if param.name not in config:
                return f"does not say {param.name!r}; accepted: {names}"
            value = config[param.name]
            # True and 1.0 are equal to 1, and are no count of anything.
            if not any(value == each and type(value) is type(each) for each in param.values):
                return f"says {param.name}={value!r}; accepted: {', '.join(map(str, param.values))}"
        broken = next((rule for rule in self.why(config) if rule.kind in kinds), None)
        return None if broken is None else f"breaks {broken.name!r}: {broken.why}"

    def __contains__(self, config: Mapping[str, Any]) -> bool:
        found = self.__dict__.get("compact")
        if found is None or config.keys() != self._names:
            return self.member(config, KINDS) is None
        # A walk through a diagram that is there anyway takes a tenth of what asking every rule does.
        if any(not same(config[name], value) for name, value in self._fixed.items()):
            return False
        space, diagram = found
        places = space._places(config)
        return -1 not in places and diagram.has(places)

    def allowed(self, columns: Mapping[str, Any], kinds: Sequence[str] = KINDS) -> NDArray[np.bool_]:
        """Which of many configs are points of this space under the rules of these kinds, all at once.

        ``columns`` holds an array of values for every parameter, all of one length, or one value for all of
        them; a parameter that has but one need not be there. This is how a cost model asks: it proposes, and
        what is allowed is said by the rules alone. Raises ``ArgumentError`` when a parameter is missing.
        """
        columns = {**self._fixed, **columns}
        missing = [param.name for param in self.params if param.name not in columns]
        if missing:
            raise ArgumentError(f"columns={sorted(columns)} does not say {missing[0]!r}")
        points = {param.name: np.atleast_1d(columns[param.name]) for param in self.params}
        alive = np.ones(np.broadcast_shapes(*(values.shape for values in points.values())), bool)
        for param in self.params:
            values, known = points[param.name], set(param.values)
            listed = values.tolist()
            if not known.issuperset(listed):
                alive &= np.array([value in known for value in listed])
            # What all have in common stays one value, which costs a test nothing.
            if len(values) == 1:
                points[param.name] = values[0]
        which, count = np.flatnonzero(alive), len(alive)
        points, alive = _taken(points, alive), alive[alive]
        with np.errstate(all="ignore"):
            for rule in (rule for rules in self._at for rule in rules if rule.kind in kinds):
                alive = alive & self._passes(rule, points, len(alive))
                if 2 * np.count_nonzero(alive) < len(alive):
                    which, points, alive = which[alive], _taken(points, alive), alive[alive]
        inside = np.zeros(count, bool)
        inside[which[alive]] = True
        return inside

    def _passes(self, rule: Rule, points: Mapping[str, Any], count: int) -> Any:
        """Whether points pass a rule, each parameter an array of values or one value for all."""
        read = {name: points[name] for name in rule.reads}
        if self.elementwise:
            return rule.test(**read)
        rows = zip(*(np.broadcast_to(values, count).tolist() for values in read.values()), strict=True)
        held = [bool(rule.test(**dict(zip(read, row, strict=True)))) for row in rows]
        return np.array(held, bool) if read else bool(rule.test())

    # -- what is counted and found without a list ----------------------------------------------------------
    @cached_property
    def diagram(self) -> Diagram | None:
        """The decision diagram of this space, in the order of its parameters; None if it has more than
        ``EDGES`` edges."""
        return self._apart._built()

    @cached_property
    def compact(self) -> tuple[Space, Diagram] | None:
        """The same space, with the parameters in an order of few edges where their own has many, and its
        diagram: for what does not depend on the order."""
        known = "diagram" in self.__dict__
        diagram = self.diagram if known else self._apart._built(LOOKS)
        if diagram is not None:
            self.__dict__["diagram"] = diagram
            return self, diagram
        space = self._apart._reordered()
        diagram = space._built()
        if diagram is not None:
            return space, diagram
        return None if self.diagram is None else (self, self.diagram)

    @cached_property
    def _apart(self) -> Space:
        """This space with each rule of several conditions as several rules, so that each is met early."""
        rules: list[Rule] = []
        for rule in self.rules:
            term = self._pending(rule)
            parts = conditions(term) if isinstance(term, Term) else []
            if len(parts) < 2:
                rules.append(rule)
                continue
            rules += [
                Rule(f"{rule.name}, condition {number}", rule.kind, rule.why, _Condition(part))
                for number, part in enumerate(parts)
            ]
        return self if len(rules) == len(self.rules) else Space(self.params, rules, self.elementwise)

    def _reordered(self) -> Space:
        sizes = {param.name: len(param.values) for param in self._free}
        order = Ordering(sizes, [self._pending(rule) for rule in self.rules]).best()
        fixed = [param.name for param in self.params if param.name in self._fixed]
        params = {param.name: param for param in self.params}
        return Space([params[name] for name in (*fixed, *order)], self.rules, self.elementwise)

    def _built(self, looks: float = float("inf")) -> Diagram | None:
        """The diagram, if it has no more than ``EDGES`` edges and takes no more than so many looks."""
        free = {param.name: param.values for param in self._free}
        start = self._start({rule.name: 0 for rule in self.rules})
        tests = [self._pending(rule) for rules in self._at[2:] for rule in rules]
        sizes = [len(values) for values in free.values()]
        return build(sizes, start, self._crossing, Merging(free, tests), EDGES, looks)

    def _pending(self, rule: Rule) -> Term | tuple[str, ...]:
        """What a rule makes of the parameters that it reads, as far as that is known."""
        free = tuple(read for read in rule.reads if read not in self._fixed)
        if not self.elementwise:
            return free
        symbols = {read: symbol(read, self._is_whole(read)) for read in free}
        term = traced(rule.test, {read: symbols.get(read, self._fixed.get(read)) for read in rule.reads})
        # A rule is due when all that it reads is known, and until then prefixes are told apart by that: an
        # expression without some of it would be taken for settled before.
        return free if term is None or term.names != frozenset(free) else term

    def _is_whole(self, parameter: str) -> bool:
        return all(type(value) is int for value in self._free[self._depth[parameter] - 1].values)

    def at(self, number: int) -> Config:
        """The valid config of this number, from 0, in the order of iteration.

        Raises ``ArgumentError`` where there are no so many.
        """
        self._there(number, number)
        if self.diagram is not None:
            return self._config(self.diagram.at(number))
        return next(self._configs(self._picked([number])))

    def _there(self, least: int, most: int) -> None:
        total = self.count()
        for number in (least, most):
            if not 0 <= number < total:
                raise ArgumentError(
                    f"number={number}; accepted: 0 <= number < {total}, the number of valid configs"
                )

    def several(self, numbers: Sequence[int]) -> list[Config]:
        """The valid configs of these numbers, each as ``at`` gives it, in a tenth of the time where they are
        many. Raises ``ArgumentError`` where there are no so many."""
        return list(self._configs(self.columns(numbers)))

    def columns(self, numbers: Sequence[int]) -> Columns:
        """The valid points of these numbers as columns: in the order of the parameters, a row for each that
        has several values, which says which of them. For who looks at thousands and makes a few configs.

        Raises ``ArgumentError`` where there are no so many.
        """
        if len(numbers):
            self._there(min(numbers), max(numbers))
        return self._picked(numbers) if self.diagram is None else self.diagram.points(numbers)

    def number(self, config: Mapping[str, Any]) -> int:
        """Where a valid config stands in the order of iteration, from 0: ``at(number(config)) == config``.

        Raises ``ArgumentError`` for one that is not valid.
        """
        reason = self.member(config, KINDS)
        if reason is not None:
            raise ArgumentError(f"config={dict(config)} {reason}")
        places = self._places(completed(self.params, config))
        if self.diagram is not None:
            found = self.diagram.number(places)
            assert found is not None
            return found
        past = 0
        for columns in self._pieces():
            here = (columns == np.array(places, np.int32)[:, None]).all(0)
            if here.any():
                return past + int(here.argmax())
            past += columns.shape[1]
        raise AssertionError("a member that is not listed")

    def sample(self, count: int, seed: int = 0) -> list[Config]:
        """Up to ``count`` different valid configs, drawn uniformly and reproducibly."""
        return list(self._configs(self.drawn(count, seed)))

    def drawn(self, count: int, seed: int = 0) -> Columns:
        """The same as columns: see ``columns``."""
        total, draw = self.count(), random.Random(seed)
        if total <= sys.maxsize:
            chosen = draw.sample(range(total), min(count, total))
        else:
            # Python samples no range of this length; two draws of so many are hardly ever the same.
            numbers: dict[int, None] = {}
            while len(numbers) < count:
                numbers[draw.randrange(total)] = None
            chosen = list(numbers)
        if self.diagram is None and self.compact is not None:
            space, diagram = self.compact
            row = {param.name: at for at, param in enumerate(space._free)}
            return diagram.points(chosen)[[row[param.name] for param in self._free]]
        return self.columns(chosen)

    def neighbours(self, config: Mapping[str, Any]) -> list[Config]:
        """Valid configs that differ in one parameter; the config itself need not be valid."""
        config = completed(self.params, config)
        wrong = [name for name, value in self._fixed.items() if not same(config[name], value)]
        if len(wrong) > 1:
            return []
        if wrong:
            right = config.with_(**{wrong[0]: self._fixed[wrong[0]]})
            return [right] if right in self else []
        if self.compact is not None:
            space, diagram = self.compact
            steps = diagram.neighbours(space._places(config))
            if space is not self:
                steps.sort(key=lambda step: (self._depth[space._free[step[0]].name], step[1]))
            free = [(param.name, param.values) for param in space._free]
            return [config.with_(**{free[at][0]: free[at][1][place]}) for at, place in steps]
        near = (
            config.with_(**{param.name: value})
            for param in self._free
            for value in param.values
            if value != config[param.name]
        )
        return [other for other in near if other in self]

    def left(self, **held: Any) -> dict[str, tuple[Any, ...]]:
        """The values that each parameter has in some valid config that has the values held; all are empty if
        there is none.

        Raises ``ArgumentError`` for a name or a value that the space does not have.
        """
        part = self.restricted(**held)
        if self.compact is None:
            return part._listed()
        space, diagram = self.compact
        free = space._free
        places = [[q.values.index(held[q.name])] if q.name in held else None for q in free]
        found = diagram.left(places)
        there = diagram.total > 0 and all(found)
        left = {q.name: tuple(q.values[i] for i in at) for q, at in zip(free, found, strict=True)}
        return {q.name: left.get(q.name, q.values if there else ()) for q in self.params}

    def nearest(self, config: Mapping[str, Any]) -> Config | None:
        """The valid config that differs from this one in the fewest parameters; None if there is none at all.

        Of several it is that whose values are the fewest steps away, of several of these the first. What the
        config leaves out is chosen freely; a value that the space does not have is as far from each as the
        number nearest to it. Raises ``ArgumentError`` for a parameter that the space does not have.
        """
        known = [param.name for param in self.params]
        for name in config:
            if name not in known:
                raise ArgumentError(f"config={dict(config)} names {name!r}; accepted: {', '.join(known)}")
        config = completed(self.params, config)
        change = 1 + sum(len(param.values) for param in self._free)
        costs = [_costs(q.values, config[q.name], change) if q.name in config else 0 for q in self._free]
        spread = [np.zeros(len(q.values), np.int64) + cost for q, cost in zip(self._free, costs, strict=True)]
        if self.diagram is not None:
            places = self.diagram.nearest(spread)
            return None if places is None else self._config(places)
        best: tuple[int, Columns] | None = None
        for columns in self._pieces():
            total = np.sum([cost[places] for cost, places in zip(spread, columns, strict=True)], axis=0)
            first = int(total.argmin())
            if best is None or total[first] < best[0]:
                best = int(total[first]), columns[:, first : first + 1]
        return None if best is None else next(self._configs(best[1]))

    def _places(self, config: Mapping[str, Any]) -> list[int]:
        """Which of its values each parameter that has several has; -1 for one that is none of them."""
        return [_place(places, config[name]) for name, places in self._place.items()]

    @cached_property
    def _place(self) -> dict[str, dict[Any, int]]:
        """By parameter and value: which of the values it is."""
        return {q.name: {(type(v), v): place for place, v in enumerate(q.values)} for q in self._free}

    def _config(self, places: Sequence[int]) -> Config:
        return next(self._configs(np.array(places, np.int32)[:, None]))

    def _picked(self, numbers: Sequence[int]) -> Columns:
        """The points of these numbers, in their order, from all columns."""
        order = np.argsort(np.array(numbers, np.int64), kind="stable")
        sought = np.array(numbers, np.int64)[order]
        points, past = [np.zeros((len(self._free), 0), np.int32)], 0
        for columns in self._pieces():
            inside = sought[(sought >= past) & (sought < past + columns.shape[1])]
            points.append(columns[:, inside - past])
            past += columns.shape[1]
        picked = np.empty((len(self._free), len(order)), np.int32)
        picked[:, order] = np.concatenate(points, axis=1)
        return picked

    def _listed(self) -> dict[str, tuple[Any, ...]]:
        """The values that each parameter has in some valid config, from all columns."""
        seen = {param.name: np.zeros(len(param.values), bool) for param in self._free}
        there = False
        for columns in self._pieces():
            there = there or columns.shape[1] > 0
            for mask, places in zip(seen.values(), columns, strict=True):
                mask[places] = True
        every = {q.name: np.full(len(q.values), there) for q in self.params} | seen
        return {
            q.name: tuple(v for v, in_ in zip(q.values, every[q.name], strict=True) if in_)
            for q in self.params
        }


class _Condition:
    """An expression as a rule's test."""

    def __init__(self, term: Term):
        self.reads, self._term = tuple(sorted(term.names)), term

    def __call__(self, **values: Any) -> Any:
        return self._term.value(values)


def _place(places: Mapping[Any, int], value: Any) -> int:
    try:
        return places.get((type(value), value), -1)
    except TypeError:
        return -1


def _costs(values: Sequence[Any], value: Any, change: int) -> NDArray[np.int64]:
    """What each value costs in place of one: nothing for itself, else a change and the steps between."""
    there = next((place for place, each in enumerate(values) if same(each, value)), None)
    costs = np.full(len(values), change, np.int64)
    numbers = all(isinstance(each, int | float) for each in (*values, value))
    near = (
        min(range(len(values)), key=lambda at: abs(values[at] - value))
        if there is None and numbers
        else there
    )
    if near is not None:
        costs += abs(np.arange(len(values)) - near)
    if there is not None:
        costs[there] = 0
    return costs
