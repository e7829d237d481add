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

The points are grown parameter by parameter, as columns: a column holds, for one parameter, the place
of every point's value among the parameter's values. A test is asked once for every combination of
the values that it reads, or, in an ``elementwise`` space, for whole arrays of them.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.model import Config

KINDS = ("queryable", "tabled", "hard", "soft", "guideline")
HARDWARE = ("queryable", "tabled", "hard")
PIECE = 1 << 18
"""Points that are looked at together: enough to forget what a call of NumPy costs, few enough to hold."""

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
        return self._sieve(np.vstack([columns[:, point], value.astype(np.int32)]), rules, removed)

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
        _, which, inverse = np.unique(key, return_index=True, return_inverse=True)
        return which, inverse.reshape(-1)

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
        return self.member(config, KINDS) is None

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

    def neighbours(self, config: Config) -> list[Config]:
        """Valid configs that differ in one parameter."""
        config = completed(self.params, config)
        near = (
            config.with_(**{param.name: value})
            for param in self.params
            for value in param.values
            if value != config[param.name]
        )
        return [c for c in near if not self.why(c)]

    def sample(self, count: int, seed: int = 0) -> list[Config]:
        """Up to ``count`` different valid configs, drawn uniformly and reproducibly."""
        points = np.concatenate([np.zeros((len(self._free), 0), np.int32), *self._pieces()], axis=1)
        total = points.shape[1]
        chosen = random.Random(seed).sample(range(total), min(count, total))
        return list(self._configs(points[:, chosen]))
