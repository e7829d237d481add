"""What a space answers without listing its points, against its points; published spaces by their counts."""

from __future__ import annotations

import operator
import random
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, cast
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import published
from tilewright import diagram
from tilewright import space as module
from tilewright.diagram import distinct
from tilewright.diagram.terms import Term, conditions, known, needed, symbol, traced
from tilewright.errors import ArgumentError
from tilewright.model import Config
from tilewright.space import Param, Rule, Space, growth

pytestmark = pytest.mark.pure

# Rules as a stencil has them: sums and products against limits, divisibility, choices, tables.
TESTS: tuple[Callable[..., Any], ...] = (
    lambda p, q: p * q <= 12,
    lambda p, q, r: (p * q * r) % 2 == 0,
    lambda q, p: q % p == 0,
    lambda p, r, s: (p + 2 * r) * (s + 2 * r) * 4 <= 200,
    lambda s, q: (s == 1) | (q > 2),
    lambda s, q, t: s - q != t - 1,
    lambda r, t: (r // t) % 2 == 0,
    lambda p, t: -p + t < 3,
    lambda p, q, r, s, t: p + q + r + s + t != 9,
    lambda t, s: t / s < 1.5,
    lambda q, r: (q & 1) != (r & 1),
    lambda p: p != 3,
    lambda p, q, r, s: (p * q != 6) & (r + s > 3) & ((p > 1) | (s > 1)),
    lambda q, t: (q & 3) & (t | 1),
    lambda p, s: np.isin(p * s, (1, 2, 4, 6, 8, 9, 12)),
    lambda t, p: np.array([True, True, False, True, True, False, True, True])[t] | (p > 1),
)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Five parameters in any order, under up to five of the tests, as arrays or one by one."""
    names = draw(st.permutations("pqrst"))
    numbers = st.lists(st.integers(1, 7), min_size=1, max_size=4, unique=True)
    params = [Param(each, tuple(draw(numbers))) for each in names]
    chosen = draw(st.lists(st.sampled_from(range(len(TESTS))), max_size=5, unique=True))
    rules = [Rule(f"rule {number}", "hard", "", TESTS[number]) for number in chosen]
    return Space(params, rules, elementwise=draw(st.booleans()))


def listed(space: Space) -> list[Config]:
    """The valid points in order, from the product of the parameters."""
    names = [param.name for param in space.params]
    points = (dict(zip(names, row, strict=True)) for row in product(*(q.values for q in space.params)))
    holds = lambda point, rule: bool(rule.test(**{read: point[read] for read in rule.reads}))  # noqa: E731
    return [Config(point) for point in points if all(holds(point, rule) for rule in space.rules)]


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    return sum(one[name] != other[name] for name in one)


@pytest.fixture(params=["diagram", "columns"])
def way(request: pytest.FixtureRequest) -> Any:
    """Both ways in which a space may answer: the diagram, and columns where a diagram is too large."""
    with mock.patch.object(module, "EDGES", 1 << 21 if request.param == "diagram" else -1):
        yield request.param


ways = pytest.mark.usefixtures("way")


def test_the_way_is_chosen_by_the_size_of_the_diagram(way: str) -> None:
    assert (published.HOTSPOT.space().diagram is None) == (way == "columns")


@pytest.mark.parametrize(("edges", "looks"), [(1 << 21, 1 << 20), (1 << 21, 0), (-1, 1 << 20)])
@given(spaces(), st.data())
def test_every_question_is_answered_as_the_list_answers_it(
    edges: int, looks: int, space: Space, data: st.DataObject
) -> None:
    with mock.patch.object(module, "EDGES", edges), mock.patch.object(module, "LOOKS", looks):
        points = listed(space)
        assert list(space) == points
        assert space.count() == len(points)
        assert [space.at(number) for number in range(len(points))] == points
        assert [space.number(point) for point in points] == list(range(len(points)))
        drawn = space.sample(7, seed=3)
        assert drawn == [points[i] for i in random.Random(3).sample(range(len(points)), min(7, len(points)))]

        here = Config({q.name: data.draw(st.sampled_from((*q.values, 99))) for q in space.params})
        assert space.neighbours(here) == [
            other
            for q in space.params
            for value in q.values
            if value != here[q.name] and (other := here.with_(**{q.name: value})) in set(points)
        ]
        nearest = space.nearest(here)
        if points:
            assert nearest in set(points)
            assert differences(nearest, here) == min(differences(point, here) for point in points)
        else:
            assert nearest is None

        names = data.draw(st.sets(st.sampled_from("pqrst")))
        held = {q.name: data.draw(st.sampled_from(q.values)) for q in space.params if q.name in names}
        inside = [point for point in points if all(point[name] == held[name] for name in held)]
        assert space.left(**held) == {
            q.name: tuple(v for v in q.values if any(point[q.name] == v for point in inside))
            for q in space.params
        }


@given(spaces(), st.data())
def test_both_ways_find_the_same_nearest(space: Space, data: st.DataObject) -> None:
    here = {q.name: data.draw(st.sampled_from((*q.values, 9))) for q in space.params}
    with mock.patch.object(module, "EDGES", -1):
        expected = Space(space.params, space.rules, space.elementwise).nearest(here)
    assert space.nearest(here) == expected


@given(spaces(), st.integers(1, 9))
def test_how_many_prefixes_are_looked_at_together_changes_nothing(space: Space, piece: int) -> None:
    with mock.patch.object(growth, "PIECE", piece):
        assert space.count() == len(listed(space))


# -- single answers ---------------------------------------------------------------------------------------
@pytest.fixture
def tiles() -> Space:
    return Space(
        [Param("mr", (1, 2, 4, 8)), Param("nr", (1, 2, 3)), Param("op", ("n",)), Param("unroll", (1, 2))],
        [
            Rule("registers", "queryable", "", lambda mr, nr: mr * nr <= 8),
            Rule("divides", "hard", "", lambda mr, unroll: mr % unroll == 0),
        ],
    )


@ways
def test_the_nearest_is_few_changes_then_few_steps_away(tiles: Space) -> None:
    def nearest(mr: int, nr: int, **more: Any) -> tuple[int, int, int]:
        found = tiles.nearest({"mr": mr, "nr": nr, **more})
        assert found is not None
        return found["mr"], found["nr"], found["unroll"]

    assert nearest(4, 2, unroll=2) == (4, 2, 2)
    # Two values of mr are as few changes away as two steps of nr, and come first.
    assert nearest(8, 3, unroll=2) == (2, 3, 2)
    assert nearest(8, 2, unroll=2) == (4, 2, 2)
    assert nearest(5, 3, unroll=1) == (2, 3, 1)
    assert nearest(1, 3) == (1, 3, 1)


@ways
def test_numbers_of_no_config_are_refused(tiles: Space) -> None:
    for number in (-1, tiles.count()):
        with pytest.raises(ArgumentError, match=rf"number={number}.*accepted: 0 <= number < {tiles.count()}"):
            tiles.at(number)
    with pytest.raises(ArgumentError, match="breaks 'registers'"):
        tiles.number({"mr": 8, "nr": 3, "op": "n", "unroll": 1})


@ways
def test_what_is_held_must_be_there(tiles: Space) -> None:
    with pytest.raises(ArgumentError, match="mr=3"):
        tiles.left(mr=3)
    with pytest.raises(ArgumentError, match="names 'nx'"):
        tiles.nearest({"nx": 1})


@ways
def test_a_neighbour_is_a_point_of_the_space(tiles: Space) -> None:
    alien = Config({"mr": 4, "nr": 2, "op": "t", "unroll": 1})
    assert tiles.neighbours(alien) == [alien.with_(op="n")]
    assert tiles.neighbours(alien.with_(mr=3)) == []
    assert tiles.neighbours(alien.with_(mr=8, nr=3)) == []


@ways
def test_walks_that_forget_what_they_kept_find_the_same(tiles: Space) -> None:
    points = tiles.sample(20, 1)
    kept = [tiles.neighbours(point) for point in points]
    with mock.patch.object(diagram, "KEPT", 3):
        assert [tiles.neighbours(point) for point in points] == kept
        assert all(point in tiles for near in kept for point in near)


def test_many_points_at_once_are_those_of_their_numbers(tiles: Space) -> None:
    numbers = [1, 0, tiles.count() - 1, 1]
    assert tiles.several(numbers) == [tiles.at(number) for number in numbers]
    with pytest.raises(ArgumentError, match="accepted: 0 <= number"):
        tiles.several([0, tiles.count()])


def test_a_config_from_another_process_is_found_by_its_values() -> None:
    config = Config({"mr": 2})
    hash(config)
    made, arguments = config.__reduce__()
    assert (made, arguments) == (Config, ({"mr": 2},)), "names have other hashes there"


def test_a_space_without_points(tiles: Space) -> None:
    none = Space(tiles.params, [Rule("none", "hard", "", lambda op: op == "t")])
    assert (none.count(), none.sample(3), none.nearest({"mr": 1})) == (0, [], None)
    assert set(none.left().values()) == {()}
    assert none.neighbours(Config({"mr": 1, "nr": 1, "op": "n", "unroll": 1})) == []


@ways
def test_a_space_of_one_point() -> None:
    one = Space([Param("p", (3,))])
    assert (one.count(), one.at(0), one.number({"p": 3})) == (1, Config({"p": 3}), 0)
    assert one.left() == {"p": (3,)}
    assert one.nearest({"p": 4}) == Config({"p": 3})


def test_numbers_outgrow_64_bits() -> None:
    params = [Param(each, tuple(range(256))) for each in "abcdefghij"]
    space = Space(params, [Rule("less", "hard", "", lambda a, b: a < b)], elementwise=True)
    total = 256 * 255 // 2 * 256**8
    assert space.count() == total
    last = space.at(total - 1)
    assert (last["a"], last["b"], last["j"]) == (254, 255, 255)
    assert space.number(last) == total - 1
    drawn = space.sample(50, seed=1)
    assert len(set(drawn)) == 50
    assert all(point["a"] < point["b"] for point in drawn)
    assert [space.at(space.number(point)) for point in drawn] == drawn


def test_a_sample_is_uniform() -> None:
    space = Space(
        [Param(each, (1, 2, 3, 4)) for each in "pqr"],
        [Rule("few", "hard", "", lambda p, q, r: p * q * r <= 12)],
        elementwise=True,
    )
    points = list(space)
    drawn = Counter(point for seed in range(4000) for point in space.sample(1, seed))
    expected = 4000 / len(points)
    chi = sum((drawn[point] - expected) ** 2 / expected for point in points)
    # A uniform draw exceeds four standard deviations above the mean once in some ten thousand times.
    freedom = len(points) - 1
    assert chi < freedom + 4 * (2 * freedom) ** 0.5


# -- published ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("given", [*published.EIGHT, *published.OTHERS], ids=lambda each: each.name)
def test_published_spaces_have_their_published_counts(given: published.Published) -> None:
    space = given.space()
    assert (space.size, space.count()) == (given.size, given.points)
    for point in space.sample(20, seed=2):
        assert point in space
        assert space.at(space.number(point)) == point


@pytest.mark.parametrize("given", [published.DEDISPERSION, published.GEMM12], ids=lambda each: each.name)
@pytest.mark.parametrize("order", [0, 1])
def test_the_order_of_parameters_is_the_order_of_points_alone(given: published.Published, order: int) -> None:
    shuffled = given.space(order)
    assert set(shuffled) == set(given.space())
    numbers = (0, 1, given.points // 2, given.points - 1)
    points = list(shuffled)
    assert [shuffled.at(number) for number in numbers] == [points[number] for number in numbers]


def test_another_order_of_parameters_is_found_where_theirs_is_poor() -> None:
    for number in range(3):
        space = published.GAUSSIAN.space(number)
        with mock.patch.object(module, "LOOKS", 1000):
            assert space.count() == published.GAUSSIAN.points
        assert space.compact is not None
        assert space.compact[1].size < 10_000
        assert set(space.left()) == {param.name for param in space.params}
    # The same order is found whatever order they are given in.
    with mock.patch.object(module, "LOOKS", 0):
        found = [published.GEMM12.space(number).compact for number in range(4)]
    orders = {tuple(param.name for param in each[0].params) for each in found if each is not None}
    assert len(orders) == 1


def test_conditions_joined_by_and_are_met_apart() -> None:
    joined, given = published.HOTSPOT.joined(), published.HOTSPOT.space()
    assert joined.count() == given.count()
    assert joined.diagram is not None
    assert given.diagram is not None
    assert joined.diagram.size == given.diagram.size
    p, q = (cast(Any, symbol(each, whole=True)) for each in "pq")
    assert len(conditions((p > 1) & ((q > 1) | (p == q)) & (q != 3))) == 3
    assert len(conditions((p & 1) & (q > 1))) == 1


def test_a_diagram_is_small_where_its_space_is_not() -> None:
    diagram = published.GAUSSIAN.space().diagram
    assert diagram is not None
    assert diagram.size < 25_000
    assert diagram.nbytes < 1 << 20


# -- parts ------------------------------------------------------------------------------------------------
def parts(term: Term, names: str) -> set[frozenset[str]]:
    return {part.names for part in needed(known(term, frozenset(names)))}


def test_a_prefix_settles_the_largest_parts_of_an_expression() -> None:
    # Operators are defined in a loop, which a type checker does not see.
    symbols: list[Any] = [*(symbol(each, whole=True) for each in "pqr"), symbol("q", whole=False)]
    p, q, r, x = symbols
    assert parts((p * 2 + q) * r <= 9, "pq") == {frozenset("pq")}
    assert parts((p * 2 + q) * r <= 9, "pr") == {frozenset("p"), frozenset("r")}
    # Products and sums of integers may be taken in any order; of others not.
    assert parts(p * q * r <= 9, "pr") == {frozenset("pr")}
    assert parts(p - q + r <= 9, "pr") == {frozenset("pr")}
    assert parts(p * x * r <= 9, "pr") == {frozenset("p"), frozenset("r")}
    # What a parameter alone tells is told by it.
    assert parts((p % 2 == 0) & (q % p == r), "p") == {frozenset("p")}


@pytest.mark.parametrize(
    "test",
    [
        lambda p: p in (1, 2),
        lambda p: bool(p),
        lambda p: (1, 2, 3)[p],
        lambda p: np.where(p > 1, p, 0) > 0,
        lambda p: np.array([1, 2]) < p,
        lambda p: p.size > 1,
        lambda p: f"{p}" == "1",
        lambda p: None,
    ],
)
def test_what_a_symbol_cannot_follow_has_no_expression(test: Callable[..., Any]) -> None:
    assert traced(test, {"p": symbol("p", whole=True)}) is None


def test_an_expression_has_the_test_s_own_values() -> None:
    test = lambda p, q: ((p - q) * 3 + abs(-p) // 2) % 5 + (~q) ** 2 - (7 - q) / p  # noqa: E731
    term = traced(test, {each: symbol(each, whole=True) for each in "pq"})
    assert term is not None
    for p, q in product(range(1, 6), range(1, 6)):
        assert term.value({"p": p, "q": q}) == pytest.approx(test(p, q))
    assert term.operation in (operator.add, operator.sub)


@given(st.lists(st.integers(0, 99)), st.sampled_from((100, 1 << 40)))
def test_distinct_keys_by_table_and_by_sorting(keys: list[int], bound: int) -> None:
    which, kinds = distinct(np.array(keys, np.int64), bound)
    assert [keys[at] for at in which] == sorted(set(keys))
    assert [keys.index(key) for key in sorted(set(keys))] == which.tolist()
    assert [sorted(set(keys))[kind] for kind in kinds] == keys


def test_a_rule_that_reads_what_its_test_does_not_depend_on() -> None:
    """It is due with the last that it reads, and prefixes that it will tell apart are not alike before."""
    params = [Param("a", (1, 2, 3, 4)), Param("b", (1, 2, 3)), Param("c", (1, 2))]
    space = Space(params, [Rule("few", "hard", "", lambda a, b, c: a * b <= 6)], elementwise=True)
    points = [dict(zip("abc", each, strict=True)) for each in product((1, 2, 3, 4), (1, 2, 3), (1, 2))]
    left = [point for point in points if point["a"] * point["b"] <= 6]
    assert space.count() == len(left) == 18
    assert sorted(map(str, space.sample(100))) == sorted(str(Config(point)) for point in left)
