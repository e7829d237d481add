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
them has a value, so a whole branch of the space goes at once.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tilewright.errors import ArgumentError
from tilewright.model import Config

KINDS = ("queryable", "tabled", "hard", "soft", "guideline")
HARDWARE = ("queryable", "tabled", "hard")


@dataclass(frozen=True, slots=True)
class Param:
    """A name and the values it may take, in the order in which they are tried."""

    name: str
    values: tuple[Any, ...]


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
        object.__setattr__(self, "reads", tuple(inspect.signature(self.test).parameters))


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a funnel: a stage, how many points it removed, and how many were left after it."""

    stage: str
    kind: str
    removed: int
    left: int


class Space:
    """All combinations of the parameters' values that every rule lets through."""

    def __init__(self, params: Sequence[Param], rules: Sequence[Rule] = ()):
        self.params, self.rules = tuple(params), tuple(rules)
        level = {param.name: depth for depth, param in enumerate(params)}
        for kind, names in (("parameters", [q.name for q in params]), ("rules", [r.name for r in rules])):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ArgumentError(f"two {kind} are named {twice[0]!r}; accepted: each name once")
        if not params:
            raise ArgumentError("params is empty; accepted: at least one parameter")
        self._at: list[list[Rule]] = [[] for _ in params]
        for rule in rules:
            unknown = [name for name in rule.reads if name not in level]
            if unknown:
                raise ArgumentError(f"rule {rule.name!r} reads {unknown[0]!r}, which is no parameter")
            self._at[max((level[name] for name in rule.reads), default=0)].append(rule)

    def only(self, kinds: Sequence[str]) -> Space:
        """The same parameters under the rules of these kinds alone."""
        return Space(self.params, [rule for rule in self.rules if rule.kind in kinds])

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
        params = [Param(p.name, (values[p.name],) if p.name in values else p.values) for p in self.params]
        return Space(params, self.rules)

    @property
    def size(self) -> int:
        """How many combinations there are before any rule."""
        return prod(len(param.values) for param in self.params)

    def __iter__(self) -> Iterator[Config]:
        """Every valid config, the last parameter moving fastest."""
        return self._walk({}, 0, None)

    def _walk(self, values: dict[str, Any], depth: int, removed: dict[str, int] | None) -> Iterator[Config]:
        if depth == len(self.params):
            yield Config(values)
            return
        param = self.params[depth]
        for value in param.values:
            values[param.name] = value
            failed = next(
                (r for r in self._at[depth] if not r.test(**{name: values[name] for name in r.reads})), None
            )
            if failed is None:
                yield from self._walk(values, depth + 1, removed)
            elif removed is not None:
                removed[failed.name] += prod(len(p.values) for p in self.params[depth + 1 :])
        values.pop(param.name, None)

    def funnel(self) -> list[Step]:
        """All points, then each rule with what it removed that no rule before it had."""
        removed = {rule.name: 0 for rules in self._at for rule in rules}
        for _ in self._walk({}, 0, removed):
            pass
        left = self.size
        steps = [Step("all combinations", "", 0, left)]
        for rules in self._at:
            for rule in rules:
                left -= removed[rule.name]
                steps.append(Step(rule.name, rule.kind, removed[rule.name], left))
        return steps

    def why(self, config: Mapping[str, Any]) -> list[Rule]:
        """The rules that a config breaks; empty for a valid one.

        Raises ``ArgumentError`` when the config does not name every parameter.
        """
        missing = [param.name for param in self.params if param.name not in config]
        if missing:
            raise ArgumentError(f"config={dict(config)} does not say {missing[0]!r}")
        return [r for rules in self._at for r in rules if not r.test(**{n: config[n] for n in r.reads})]

    def __contains__(self, config: Mapping[str, Any]) -> bool:
        return (
            set(config) == {param.name for param in self.params}
            and all(config[param.name] in param.values for param in self.params)
            and not self.why(config)
        )

    def neighbours(self, config: Config) -> list[Config]:
        """Valid configs that differ in one parameter."""
        near = (
            config.with_(**{param.name: value})
            for param in self.params
            for value in param.values
            if value != config[param.name]
        )
        return [c for c in near if not self.why(c)]

    def sample(self, count: int, seed: int = 0) -> list[Config]:
        """Up to ``count`` different valid configs, drawn uniformly and reproducibly."""
        points = list(self)
        return random.Random(seed).sample(points, min(count, len(points)))
