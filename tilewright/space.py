"""A search space: parameters, named rules, and what each rule removes.

A rule belongs to one of five kinds. The first four are the taxonomy of Kurzak, Tomov and Dongarra,
"Autotuning GEMM kernels for the Fermi GPU" (2012), section 6.4; the last is its performance floor:

==========  =====================================================================
queryable   a hardware limit that the device itself reports
tabled      a hardware limit that follows from the model of the device
hard        the code would be wrong
soft        the code would be slow
guideline   a floor set by the user: occupancy, blocks in flight, register reuse
==========  =====================================================================

A rule's test is a function whose argument names are parameter names. It runs as soon as the last of
them has a value (a parameter with one value has it from the start), so a whole branch of the space
goes at once.

What lists points grows them parameter by parameter, as columns: a column holds, for one parameter, the
place of every point's value among the parameter's values. A test is asked once for every combination of
the values that it reads, or, in an ``elementwise`` space, for whole arrays of them.

What only counts or finds points (``count``, ``at``, ``number``, ``sample``, ``neighbours``, ``left``,
``nearest``) asks a decision diagram, ``tilewright.diagram``, which is grown in the same way, but of prefixes
that all pending rules see alike one is kept: a space of 10^8 points may have 10^4 of them. A space whose
diagram would have more than ``EDGES`` edges goes through its columns for these, too, some at a time.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.diagram import Diagram, build, distinct
from tilewright.diagram.merging import Merging
from tilewright.diagram.ordering import Ordering
from tilewright.diagram.terms import Term, conditions, symbol, traced
from tilewright.errors import ArgumentError
from tilewright.model import Config

KINDS = ("queryable", "tabled", "hard", "soft", "guideline")
HARDWARE = ("queryable", "tabled", "hard")
PIECE = 1 << 18
"""Points that are looked at together: enough to forget what a call of NumPy costs, few enough to hold."""
EDGES = 1 << 21
"""Edges of the largest diagram: some 100 MB while it is made."""
LOOKS = 400_000
"""Prefixes after which a better order of the parameters is sought, for what does not depend on it."""

Columns = NDArray[np.int32]
"""Points that have some of their values: a row for a parameter, a column for a point."""


@dataclass(frozen=True, slots=True)
class Param:
    """A name and the values it may take, in the order in which they are tried.

    ``absent`` is what a config means that does not name the parameter, because it was recorded before
    there was one; None where every config must name it.
    """

    name: str
    values: tuple[Any, ...]
    absent: Any = None


def completed(params: Sequence[Param], config: Mapping[str, Any]) -> Config:
    """A config with what it leaves out as it was before there was a choice."""
    absent = {q.name: q.absent for q in params if q.absent is not None and q.name not in config}
    return Config({**config, **absent})


@dataclass(frozen=True)
class Rule:
    """A condition that every config must meet, its kind, and the reason in one line."""

    name: str
    kind: str
    why: str
    test: Callable[..., bool]
    reads: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ArgumentError(f"kind={self.kind!r} of rule {self.name!r}; accepted: {', '.join(KINDS)}")
        object.__setattr__(self, "reads", arguments(self.test))


def arguments(test: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's arguments: those that it names itself as its ``reads``, those of a plain one
    as it is compiled, for a space has dozens of tests, and their signatures take longer than all that is
    asked of them."""
    own = getattr(test, "reads", None)
    if own is not None:
        return tuple(own)
    code = getattr(test, "__code__", None)
    if code is None or test.__dict__ or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return tuple(inspect.signature(test).parameters)
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


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


class Space:
    """All combinations of the parameters' values that every rule lets through.

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

    # -- growing ---------------------------------------------------------------------------------------
    def _pieces(self, removed: dict[str, int] | None = None) -> Iterator[Columns]:
        """The valid points in order, some at a time; ``removed`` is counted up, rule by rule."""
        removed = {rule.name: 0 for rule in self.rules} if removed is None else removed
        start = self._sieve(np.zeros((0, 1), np.int32), self._at[0], removed)
        return self._grown(start, removed)

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
        if any(not _same(config[name], value) for name, value in self._fixed.items()):
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
        uncounted = {rule.name: 0 for rule in self.rules}

        def cross(columns: Columns) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
            rows = max(1, PIECE // max(1, len(self._free[len(columns)].values)))
            pieces = []
            for first in range(0, columns.shape[1], rows):
                point, value = self._passing(columns[:, first : first + rows], uncounted)
                pieces.append((point + first, value))
            if not pieces:
                return np.zeros(0, np.intp), np.zeros(0, np.intp)
            points, values = zip(*pieces, strict=True)
            return np.concatenate(points), np.concatenate(values)

        start = self._sieve(np.zeros((0, 1), np.int32), self._at[0], uncounted)
        tests = [self._pending(rule) for rules in self._at[2:] for rule in rules]
        sizes = [len(values) for values in free.values()]
        return build(sizes, start, cross, Merging(free, tests), EDGES, looks)

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
        wrong = [name for name, value in self._fixed.items() if not _same(config[name], value)]
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


def _same(value: Any, other: Any) -> bool:
    # True and 1.0 are equal to 1, and are no count of anything.
    return type(value) is type(other) and bool(value == other)


def _place(places: Mapping[Any, int], value: Any) -> int:
    try:
        return places.get((type(value), value), -1)
    except TypeError:
        return -1


def _costs(values: Sequence[Any], value: Any, change: int) -> NDArray[np.int64]:
    """What each value costs in place of one: nothing for itself, else a change and the steps between."""
    there = next((place for place, each in enumerate(values) if _same(each, value)), None)
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
