"""Which half of a sweep is taken: each word of its cases, and as many pairs of them as fit."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests.covering import covering, words
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure


def test_spellings_configs_and_devices_are_taken_apart() -> None:
    case = {"text": "s:nt:3x4x5@7", "fixed": {"cut": 1}, "device": named("h200"), "sizes": [3, 4]}
    assert words(case) == {
        ("text", 0, "s"),
        ("text", 1, "nt"),
        ("text", 2, "3x4x5"),
        ("text", 3, "7"),
        ("fixed", "cut", 1),
        ("device", 0, "h200"),
    }


def test_half_of_all_combinations_has_every_pair_that_fits() -> None:
    cases = [{"letter": a, "trans": b, "n": n} for a, b, n in product("sdcz", ("nn", "tt"), (8, 16))]
    taken = covering(cases)
    assert len(taken) == len(cases) / 2
    assert taken == sorted(set(taken))
    said = [set(combinations(sorted(words(case)), 2)) for case in cases]
    assert set().union(*(said[place] for place in taken)) == set().union(*said)


def test_half_of_a_long_sweep_is_spread_over_its_values() -> None:
    cases = [{"n": n, "form": form, "beta": beta} for n, form, beta in product(range(3), "abcdef", "01")]
    taken = [cases[place] for place in covering(cases)]
    assert len(taken) == 18
    assert all(5 <= sum(case["n"] == n for case in taken) <= 7 for n in range(3))


def test_more_than_half_is_taken_where_a_word_would_be_missing() -> None:
    cases = [{"letter": letter, "beta": "0"} for letter in "sdczh"] + [{"letter": "h", "beta": "1"}]
    assert covering(cases) == [0, 1, 2, 3, 5]


def test_what_each_case_has_for_itself_keeps_none() -> None:
    assert covering([{"seed": seed} for seed in range(6)]) == [0, 1, 2]
    assert covering([]) == []
