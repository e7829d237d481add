"""A space against the plain product of its parameters, filtered by its rules."""

from __future__ import annotations

import inspect
import random
from collections.abc import Mapping
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import ArgumentError
from tilewright.model import Config
from tilewright.space import KINDS, Param, Rule, Space, growth
from tilewright.stencils.cuda.common import cheapest

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


@st.composite
def array_spaces(draw: st.DrawFn) -> Space:
    """The same with rules that take arrays, too: each looks its answers up in an array."""
    names = draw(st.lists(st.sampled_from("pqrst"), min_size=1, unique=True))
    counts = {name: draw(st.integers(1, 5)) for name in names}
    rules = []
    for number in range(draw(st.integers(0, 5))):
        reads = tuple(draw(st.lists(st.sampled_from(names), unique=True)))
        shape = tuple(counts[read] for read in reads)
        answers = np.random.default_rng(draw(st.integers(0, 99))).random(shape) < 0.8

        def test(*, _reads: tuple[str, ...] = reads, _answers: Any = answers, **values: Any) -> Any:
            return _answers[tuple(values[read] for read in _reads)]

        parameters = [inspect.Parameter(read, inspect.Parameter.KEYWORD_ONLY) for read in reads]
        test.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        rules.append(Rule(f"rule {number}", draw(st.sampled_from(KINDS)), "a random array", test))
    return Space([Param(name, tuple(range(counts[name]))) for name in names], rules, elementwise=True)


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
    # A parameter with one value has it before the first step.
    level = {q.name: depth if len(q.values) > 1 else -1 for depth, q in enumerate(space.params)}
    met = sorted(space.rules, key=lambda rule: max((level[read] for read in rule.reads), default=-1))
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


@given(array_spaces(), st.sampled_from((1, 7, 1 << 18)))
def test_rules_of_arrays_give_the_same_space(space: Space, piece: int) -> None:
    one_by_one = Space(space.params, space.rules)
    with mock.patch.object(growth, "PIECE", piece):
        assert list(space) == valid(one_by_one)
        assert space.count() == len(valid(one_by_one))
        assert space.funnel() == one_by_one.funnel()
        assert space.sample(5, seed=1) == one_by_one.sample(5, seed=1)
        assert list(space.only(("hard", "soft"))) == list(one_by_one.only(("hard", "soft")))


@given(spaces(), st.integers(1, 9))
def test_how_many_points_are_looked_at_together_changes_nothing(space: Space, piece: int) -> None:
    expected, steps = list(space), space.funnel()
    with mock.patch.object(growth, "PIECE", piece):
        assert list(space) == expected
        assert space.funnel() == steps
        assert space.count() == len(expected)


def test_the_kind_of_space_is_kept() -> None:
    space = Space([Param("p", (1, 2))], elementwise=True)
    assert space.only(("hard",)).elementwise
    assert space.restricted(p=2).elementwise


def test_counts_outgrow_64_bits() -> None:
    params = [Param(name, tuple(range(256))) for name in "abcdefghij"]
    none = Space(params, [Rule("none", "hard", "", lambda a: a < 0)], elementwise=True)
    assert none.funnel()[1].removed == 256**10 == none.size


def test_rules_of_arrays_read_words_and_numbers() -> None:
    space = Space(
        [Param("read", ("plain", "texture")), Param("wide", (1, 2, 4)), Param("half", (0.5,))],
        [Rule("texel", "hard", "", lambda read, wide, half: (read == "plain") | (wide * half < 1))],
        elementwise=True,
    )
    assert [(c["read"], c["wide"]) for c in space] == [
        ("plain", 1),
        ("plain", 2),
        ("plain", 4),
        ("texture", 1),
    ]
    assert all(type(c["wide"]) is int for c in space)


def test_what_has_one_value_is_known_from_the_start() -> None:
    calls = []

    def first(p: int, last: int) -> bool:
        calls.append(p)
        return p > last

    space = Space(
        [Param("p", (1, 2, 3)), Param("q", tuple(range(50))), Param("last", (2,))],
        [Rule("later", "soft", "", lambda q: q > 0), Rule("first", "hard", "", first)],
    )
    assert [step.stage for step in space.funnel()] == ["all combinations", "first", "later"]
    assert calls == [1, 2, 3]


def test_a_rule_never_sees_what_an_earlier_one_removed() -> None:
    def divides(p: int, q: int) -> bool:
        return q % p == 0

    space = Space(
        [Param("q", (4, 6)), Param("p", (0, 1, 2, 3))],
        [Rule("some", "hard", "", lambda p: p > 0), Rule("divides", "hard", "", divides)],
    )
    assert [(c["q"], c["p"]) for c in space] == [(4, 1), (4, 2), (6, 1), (6, 2), (6, 3)]


def test_a_space_is_walked_no_further_than_it_is_read() -> None:
    # Some 10^18 points: only a walk in pieces gets to the first of them.
    params = [Param(name, tuple(range(64))) for name in "abcdefghij"]
    space = Space(params, [Rule("even", "hard", "", lambda j: j % 2 == 0)], elementwise=True)
    assert next(iter(space))["j"] == 0


# -- members -----------------------------------------------------------------------------------------
MEMBERS = Space(
    [Param("a", (1, 2, 4)), Param("b", ("x", "y")), Param("c", (0, 1))],
    [
        Rule("no-4x", "hard", "four of x is wrong", lambda a, b: not (a == 4 and b == "x")),
        Rule("slow-2", "soft", "two is slow", lambda a: a != 2),
    ],
)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"a": 1, "b": "x", "c": 0}, None),
        ({"a": 2, "b": "x", "c": 0}, None),
        ({"a": 4, "b": "x", "c": 0}, "breaks 'no-4x': four of x is wrong"),
        ({"a": -1, "b": "x", "c": 0}, "says a=-1; accepted: 1, 2, 4"),
        ({"a": 1, "b": "z", "c": 0}, "says b='z'; accepted: x, y"),
        ({"a": True, "b": "x", "c": 0}, "says a=True; accepted: 1, 2, 4"),
        ({"a": 1.0, "b": "x", "c": 0}, "says a=1.0; accepted: 1, 2, 4"),
        ({"a": (1, 2), "b": "x", "c": 0}, "says a=(1, 2); accepted: 1, 2, 4"),
        ({"a": 1, "b": "x"}, "does not say 'c'; accepted: a, b, c"),
        ({"a": 1, "b": "x", "c": 0, "d": 0}, "names 'd'; accepted: a, b, c"),
        ({}, "does not say 'a'; accepted: a, b, c"),
    ],
)
def test_a_config_that_is_no_member_is_told_why(config: dict[str, Any], reason: str | None) -> None:
    assert MEMBERS.member(Config(config)) == reason


def test_which_rules_a_member_must_keep_can_be_said() -> None:
    slow = Config({"a": 2, "b": "x", "c": 0})
    assert MEMBERS.member(slow) is None
    assert MEMBERS.member(slow, KINDS) == "breaks 'slow-2': two is slow"
    assert slow not in MEMBERS


@given(st.one_of(spaces(), array_spaces()), st.sets(st.sampled_from(KINDS)))
def test_columns_of_configs_are_held_against_the_same_rules(space: Space, kinds: set[str]) -> None:
    # One value more than the space has, for each parameter.
    every = list(product(*((*param.values, 99) for param in space.params)))
    names = [param.name for param in space.params]
    columns = {name: np.array([row[i] for row in every]) for i, name in enumerate(names)}
    expected = [space.member(dict(zip(names, row, strict=True)), tuple(kinds)) is None for row in every]
    assert space.allowed(columns, tuple(kinds)).tolist() == expected
    # One value for all of them is as good as a column.
    columns[names[0]] = every[0][0]
    expected = [
        space.member(dict(zip(names, (every[0][0], *row[1:]), strict=True)), tuple(kinds)) is None
        for row in every
    ]
    if len(names) > 1:
        assert space.allowed(columns, tuple(kinds)).tolist() == expected


@given(st.one_of(spaces(), array_spaces()), st.data())
def test_a_part_of_a_space_has_the_rules_that_read_no_more(space: Space, data: st.DataObject) -> None:
    names = data.draw(st.sets(st.sampled_from([param.name for param in space.params]), min_size=1))
    part = space.part(tuple(names))
    assert [param.name for param in part.params] == [q.name for q in space.params if q.name in names]
    assert list(part.rules) == [rule for rule in space.rules if names.issuperset(rule.reads)]
    # What a part refuses the whole refuses.
    assert {tuple(point[name] for name in part_names(part)) for point in space} <= {
        tuple(point.values()) for point in part
    }


def part_names(part: Space) -> list[str]:
    return [param.name for param in part.params]


@given(st.one_of(spaces(), array_spaces()), st.sets(st.sampled_from(KINDS)), st.randoms())
def test_the_cheapest_is_the_first_of_the_cheapest_that_are_allowed(
    space: Space, kinds: set[str], rng: random.Random
) -> None:
    every = list(product(*(param.values for param in space.params))) * 2
    rng.shuffle(every)
    cost = np.array([rng.choice((1.0, 2.0, 3.0, np.inf)) for _ in every])
    columns = {param.name: np.array([row[i] for row in every]) for i, param in enumerate(space.params)}
    expected = [
        (cost[at], at) for at in np.flatnonzero(space.allowed(columns, tuple(kinds))) if np.isfinite(cost[at])
    ]
    # A parameter that has one value need not be said.
    said = {q.name: columns[q.name] for q in space.params if len(q.values) > 1}
    found = cheapest(space, said, cost, tuple(kinds))
    names = [param.name for param in space.params]
    assert found == (Config(zip(names, every[min(expected)[1]], strict=True)) if expected else None)


def test_columns_must_name_every_parameter(tiles: Space) -> None:
    with pytest.raises(ArgumentError, match="does not say 'nr'"):
        tiles.allowed({"mr": np.array([1])})


@given(spaces())
def test_the_members_are_the_points(space: Space) -> None:
    found = [point for point in points(space) if space.member(point, KINDS) is None]
    assert found == list(space) == [point for point in points(space) if point in space]


def test_a_rule_may_read_more_values_than_a_number_of_64_bits_can_tell_apart() -> None:
    """65 parameters of two values: what stands for a combination of 64 of them must not wrap around."""
    names = [f"p{number}" for number in range(65)]

    def test(**values: Any) -> bool:
        return sum(values.values()) == 1 and values["p0"] == 1

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    test.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    space = Space(
        [Param(name, (0, 1)) for name in names],
        [
            # At most one of the many is set, so that few points are left to be told apart.
            *(
                table_rule(f"{left} or {right}", "hard", (left, right), {(0, 0), (0, 1), (1, 0)})
                for number, left in enumerate(names)
                for right in names[number + 1 :]
            ),
            Rule("all", "hard", "reads everything", test),
        ],
    )
    assert list(space) == [Config({name: int(name == "p0") for name in names})]
