"""The search space of a kernel that was handed in, and what is wrong with its rules.

Three slips are found before anything is compiled: a rule that raises, rules that leave nothing (the ones that
contradict are named), and a rule that removes nothing, which is most often a misspelled one.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from tilewright.custom.definition import Definition
from tilewright.custom.expressions import evaluated, function
from tilewright.errors import ArgumentError
from tilewright.model import Device, Launch
from tilewright.space import Rule, Space

LOOKED = 1 << 20
"""The most combinations of values that a rule is looked at for whether it ever fires."""
LAUNCH = "launch"
"""The name of the rule that a device can hold what the launch asks for."""


class Held:
    """A rule's test with the sizes put in: a function of parameters alone that says its name when it
    fails."""

    def __init__(self, rule: Rule, sizes: Mapping[str, int]):
        self.rule = rule
        self.sizes = {name: sizes[name] for name in rule.reads if name in sizes}
        self.reads = tuple(name for name in rule.reads if name not in sizes)

    def __call__(self, **values: Any) -> bool:
        return bool(evaluated(self.rule.test, {**self.sizes, **values}, f"rule {self.rule.name!r}"))


class Fits:
    """Whether a device can hold a launch, as a test of a rule."""

    def __init__(self, definition: Definition, sizes: Mapping[str, int], device: Device):
        self.definition, self.sizes, self.device = definition, sizes, device
        self.reads = definition.reads_of_launch()

    def __call__(self, **values: Any) -> bool:
        return too_much(self.definition.launched(values, self.sizes), self.device) is None


def too_much(launch: Launch, device: Device) -> str | None:
    """What a launch asks for that a GPU does not have, in words; None when it has all of it."""
    threads = prod(launch.block)
    shared = device["shared_per_block_optin"]
    if not 1 <= threads <= device["threads_per_block"]:
        return (
            f"block={launch.block} is {threads} threads; {device.name} has 1 to {device['threads_per_block']}"
        )
    if launch.shared > shared:
        return f"shared={launch.shared} bytes; a block of {device.name} has up to {shared}"
    if launch.block[2] > 64:
        return f"block={launch.block}: z is {launch.block[2]}; a block has up to 64"
    most = (2**31 - 1, 65535, 65535)
    for name, extent, limit in zip("xyz", launch.grid, most, strict=True):
        if not 1 <= extent <= limit:
            return f"grid={launch.grid}: {name} is {extent}; a grid has 1 to {limit}"
    return None


def space(definition: Definition, sizes: Mapping[str, int], device: Device | None) -> Space:
    """All configs for some sizes on a device; without one, whatever the device can hold."""
    rules = [Rule(rule.name, rule.kind, rule.why, Held(rule, sizes)) for rule in definition.rules]
    if definition.launch is not None and device is not None:
        why = "the device holds the block, its shared memory and the grid"
        rules.append(Rule(LAUNCH, "queryable", why, Fits(definition, sizes, device)))
    return Space(definition.params, rules)


def check(made: Space, *, idle: bool = True) -> None:
    """Raises ``ArgumentError`` for a space without a point, naming the rules that contradict, and, with
    ``idle``, for a rule of parameters that removes nothing."""
    if made.count() == 0:
        raise ArgumentError(_nothing(made))
    if idle:
        for rule in idle_rules(made):
            raise ArgumentError(
                f"rule {rule.name!r} removes nothing, whatever its parameters are; accepted: a rule "
                "that some "
                "combination breaks: see whether it is spelled as it is meant, or leave it out"
            )


def idle_rules(made: Space) -> list[Rule]:
    """The rules that let every combination of the values that they read through. One that reads sizes may
    remove something for others, and one that reads very many combinations is not looked at."""
    found = []
    for rule in made.rules:
        held = getattr(rule.test, "sizes", {})
        if rule.name == LAUNCH or held or not rule.reads:
            continue
        params = [param for param in made.params if param.name in rule.reads]
        alone = Space(params, [rule])
        if alone.size <= LOOKED and alone.count() == alone.size:
            found.append(rule)
    return found


def _nothing(made: Space) -> str:
    """Why a space has no point: the fewest rules that leave nothing, found by leaving out one after
    another."""

    def empty(rules: list[Rule]) -> bool:
        return Space(made.params, rules).count() == 0

    guilty = list(made.rules)
    for rule in made.rules:
        rest = [other for other in guilty if other is not rule]
        if empty(rest):
            guilty = rest
    names = " and ".join(repr(rule.name) for rule in guilty)
    if len(guilty) == 1:
        said = f"rule {names} lets no config through"
        test = guilty[0].test
        if isinstance(test, Fits):
            first = next(iter(Space(made.params)))
            said += f": {too_much(test.definition.launched(first, test.sizes), test.device)} at {first}"
    else:
        said = f"rules {names} contradict: no config passes them together"
    return (
        f"the space of {made.size} combinations is empty: {said}; accepted: rules that leave a config: "
        "change one"
    )


def listed(made: Space, limit: int) -> list[Any]:
    """All configs. Raises ``ArgumentError`` where there are more than ``limit``."""
    count = made.count()
    if count > limit:
        raise ArgumentError(
            f"the space has {count} configs, more than limit={limit}; accepted: a larger limit, or "
            "space.sample(n), space.at(k) and space.neighbours(config), which list nothing"
        )
    return list(made)


def named_rules(rules: Any) -> tuple[Rule, ...]:
    """Rules as a user gives them: expressions or functions in a list, or by name in a mapping; ``Rule`` as it
    is.

    Raises ``ArgumentError`` for what is neither.
    """
    pairs = rules.items() if isinstance(rules, Mapping) else ((None, rule) for rule in rules)
    found: list[Rule] = []
    for name, rule in pairs:
        if isinstance(rule, Rule):
            found.append(rule)
            continue
        if not isinstance(rule, str) and not callable(rule):
            raise ArgumentError(
                f"rule {rule!r}; accepted: an expression, a function of parameters, or a Rule"
            )
        said = rule if isinstance(rule, str) else getattr(rule, "__name__", "rule")
        own = name or (f"rule {len(found) + 1}" if said == "<lambda>" else said)
        doc = (getattr(rule, "__doc__", None) or str(said)).strip().splitlines()[0]
        found.append(Rule(own, "soft", doc if not isinstance(rule, str) else rule, function(rule)))
    return tuple(found)
