"""A space against the plain product of its parameters, filtered by its rules."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import ArgumentError
from tilewright.model import Config
from tilewright.space import KINDS, Param, Rule, Space

pytestmark = pytest.mark.pure


def table_rule(name: str, kind: str, reads: tuple[str, ...], allowed: set[tuple[Any, ...]]) -> Rule:
    """A rule that lets through exactly the listed values of the parameters that it reads."""

    def test(**values: Any) -> bool:
        return tuple(values[read] for read in reads) in allowed

    parameters = [inspect.Parameter(read, inspect.Parameter.KEYWORD_ONLY) for read in reads]
    test.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return Rule(name, kind, "a random table", test)


def holds(rule: Rule, point: Mapping[str, Any]) -> bool:
    return bool(rule.test(**{name: point[name] for name in rule.reads}))


def points(space: Space) -> list[Config]:
    """Every combination, the last parameter fastest, before any rule."""
    names = [param.name for param in space.params]
    values = product(*(param.values for param in space.params))
    return [Config(dict(zip(names, choice, strict=True))) for choice in values]


def valid(space: Space) -> list[Config]:
    return [point for point in points(space) if all(holds(rule, point) for rule in space.rules)]


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Up to four parameters under up to four random rules, in no particular order."""
    names = draw(st.lists(st.sampled_from("pqrs"), min_size=1, unique=True))
    values = {name: tuple(range(draw(st.integers(1, 4)))) for name in names}
    rules = []
    for number in range(draw(st.integers(0, 4))):
        reads = tuple(draw(st.lists(st.sampled_from(names), unique=True)))
        rows = list(product(*(values[read] for read in reads)))
        allowed = {row for row in rows if draw(st.integers(0, 3))}
        rules.append(table_rule(f"rule {number}", draw(st.sampled_from(KINDS)), reads, allowed))
    return Space([Param(name, values[name]) for name in names], rules)


@pytest.fixture
def tiles() -> Space:
    """Two tile sizes and an unroll factor under one rule of each of three kinds."""
    return Space(
        [Param("mr", (1, 2, 4, 8)), Param("nr", (1, 2, 3)), Param("unroll", (1, 2))],
        [
            Rule("registers", "queryable", "16 registers", lambda mr, nr: mr * nr <= 12),
            Rule("divides", "hard", "the tile is split in two", lambda mr, unroll: mr % unroll == 0),
            Rule("reuse", "guideline", "a tile of one is slow", lambda nr, mr: nr * mr > 1),
        ],
    )


@given(spaces())
def test_enumeration_is_the_filtered_product(space: Space) -> None:
    assert list(space) == valid(space)
    assert space.size == len(points(space))


@given(spaces())
def test_the_funnel_charges_each_point_to_the_first_rule_that_it_meets(space: Space) -> None:
    level = {param.name: depth for depth, param in enumerate(space.params)}
    met = sorted(space.rules, key=lambda rule: max((level[read] for read in rule.reads), default=0))
    charged = dict.fromkeys((rule.name for rule in met), 0)
    for point in points(space):
        broken = next((rule for rule in met if not holds(rule, point)), None)
        if broken:
            charged[broken.name] += 1

    first, *steps = space.funnel()

    assert (first.removed, first.left) == (0, space.size)
    assert {step.stage: step.removed for step in steps} == charged
    left = first.left
    for step in steps:
        assert step.left == left - step.removed
        left = step.left
    assert left == len(valid(space))


@given(spaces())
def test_why_names_every_broken_rule_and_only_those(space: Space) -> None:
    for point in points(space):
        broken = {rule.name for rule in space.rules if not holds(rule, point)}
        assert {rule.name for rule in space.why(point)} == broken
        assert (point in space) == (not broken)


@given(spaces())
def test_neighbours_are_the_valid_points_one_step_away(space: Space) -> None:
    for point in points(space):
        expected = {other for other in valid(space) if sum(other[n] != point[n] for n in point) == 1}
        found = space.neighbours(point)
        assert set(found) == expected
        assert len(found) == len(expected)


@given(spaces(), st.data())
def test_restricting_is_filtering(space: Space, data: st.DataObject) -> None:
    param = data.draw(st.sampled_from(space.params))
    value = data.draw(st.sampled_from(param.values))
    assert list(space.restricted(**{param.name: value})) == [c for c in space if c[param.name] == value]


@given(spaces(), st.sets(st.sampled_from(KINDS)))
def test_only_keeps_the_rules_of_the_kinds(space: Space, kinds: set[str]) -> None:
    rules = [rule for rule in space.rules if rule.kind in kinds]
    assert list(space.only(sorted(kinds))) == valid(Space(space.params, rules))


@given(spaces(), st.integers(0, 300), st.integers(0, 5))
def test_a_sample_is_of_different_valid_points_and_repeats(space: Space, count: int, seed: int) -> None:
    drawn = space.sample(count, seed)
    assert len(drawn) == min(count, len(valid(space)))
    assert len(set(drawn)) == len(drawn)
    assert set(drawn) <= set(valid(space))
    assert space.sample(count, seed) == drawn


def test_another_seed_draws_another_sample() -> None:
    space = Space([Param("p", tuple(range(1000)))])
    assert space.sample(20, seed=1) != space.sample(20, seed=2)


def test_a_funnel_worked_by_hand(tiles: Space) -> None:
    lines = [(step.stage, step.kind, step.removed, step.left) for step in tiles.funnel()]
    assert lines == [
        ("all combinations", "", 0, 24),
        ("registers", "queryable", 4, 20),  # 8x2 and 8x3, with both unrolls
        ("reuse", "guideline", 2, 18),  # 1x1: nr, the second parameter, settles it before unroll has a value
        ("divides", "hard", 2, 16),  # 1x2 and 1x3 with unroll 2; 1x1 is gone already
    ]


def test_a_rule_cuts_the_branch_as_soon_as_it_can() -> None:
    calls = []

    def even(p: int) -> bool:
        calls.append(p)
        return p % 2 == 0

    space = Space([Param("p", (1, 2, 3)), Param("q", tuple(range(50)))], [Rule("even", "hard", "", even)])
    assert len(list(space)) == 50
    assert calls == [1, 2, 3]


def test_membership_needs_exactly_the_parameters_and_their_values(tiles: Space) -> None:
    inside = Config({"mr": 4, "nr": 2, "unroll": 2})
    assert inside in tiles
    assert inside.with_(mr=6) not in tiles
    assert inside.with_(extra=1) not in tiles
    assert Config({"mr": 4, "nr": 2}) not in tiles


def test_why_gives_the_rule_with_its_reason(tiles: Space) -> None:
    (rule,) = tiles.why(Config({"mr": 8, "nr": 3, "unroll": 1}))
    assert (rule.name, rule.kind, rule.why) == ("registers", "queryable", "16 registers")


def test_why_refuses_a_config_that_leaves_something_open(tiles: Space) -> None:
    with pytest.raises(ArgumentError, match="unroll"):
        tiles.why({"mr": 1, "nr": 1})


def test_a_rule_of_unknown_kind_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"'cosy'.*queryable, tabled, hard, soft, guideline"):
        Rule("x", "cosy", "", lambda p: True)


def test_a_rule_that_reads_no_parameter_of_the_space_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"'tall'.*'height'"):
        Space([Param("p", (1,))], [Rule("tall", "hard", "", lambda p, height: True)])


@pytest.mark.parametrize(
    ("fixed", "told"), [({"mr": 3}, r"mr=3.*1, 2, 4, 8"), ({"width": 1}, r"width=1.*mr, nr, unroll")]
)
def test_restricting_to_what_is_not_there_is_refused(tiles: Space, fixed: dict[str, int], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        tiles.restricted(**fixed)
