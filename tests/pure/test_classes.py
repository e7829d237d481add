"""Classes of problems, and the table of those in which a default beats the library."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench import classes as bench
from tilewright.model import DTYPES, Problem
from tilewright.planning import classes, dispatch
from tilewright.targets.cuda.capability import DEVICES

pytestmark = pytest.mark.pure

H200 = DEVICES["h200"]


@pytest.mark.parametrize(
    ("extents", "expected"),
    [
        ((1, 4, 2), "to 4"),
        ((5, 4, 2), "to 8"),
        ((33, 2, 2), "to 64"),
        ((64, 64, 64), "to 64"),
        ((65, 9, 3), "long m by 16"),
        ((9, 4096, 9), "long n by 16"),
        ((2, 2, 65), "long k by 4"),
        ((65, 65, 2), "to 128"),
        ((129, 65, 200), "to 256"),
        ((257, 65, 300), "large"),
        ((257, 65, 8), "large by 8"),
    ],
)
def test_shapes_fall_into_classes(extents: tuple[int, int, int], expected: str) -> None:
    assert classes.shape(*extents) == expected


def test_a_class_tells_how_the_operands_lie() -> None:
    one = Problem(DTYPES["s"], 9, 7, 5, batch=10**6)
    assert classes.of(one, "memory") == "s, writes C, to 16, packed, memory"
    assert classes.structure(one.with_(stride_a=0)) == "packed sharedA"
    assert classes.structure(one.with_(lda=12)) == "gaps"
    assert classes.structure(one.with_(stride_b=100)) == "gaps"
    assert classes.structure(one.with_(lda=12, stride_a=0)) == "gaps sharedA"
    # How well addresses are aligned is no structure.
    assert classes.structure(replace(one, align=4)) == "packed"
    assert classes.of(replace(one, beta="any"), "cached").endswith("updates C, to 16, packed, cached")
    # A batch that takes no longer than its launch is neither from memory nor from a cache.
    assert classes.of(one.with_(batch=10), "cached").endswith(", few")


def line(problem: Problem, stencil: str, ratio: float) -> dict[str, Any]:
    return {
        "problem": problem.spelling,
        "stencil": stencil,
        "class": classes.of(problem, "memory"),
        "origin": "default",
        "against_cublas": ratio,
    }


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A table of three classes: one won, one lost by one of its problems, one of a single problem."""
    small, long, odd = (Problem(DTYPES["s"], *e, batch=10**6) for e in ((9, 7, 5), (9, 300, 5), (3, 3, 3)))
    found = [
        *(("h200", line(small, "tiny", ratio)) for ratio in (1.2, 0.99, 3.0)),
        *(("h200", line(long, "classic", ratio)) for ratio in (1.2, 0.6, 3.0)),
        # Too few for a cell.
        *(("h200", line(odd, "tiny", ratio)) for ratio in (5.0, 6.0)),
    ]
    cells = bench.made(found)
    monkeypatch.setattr(classes, "table", lambda: cells)
    monkeypatch.setattr(dispatch, "records", lambda: Empty())
    dispatch._near.cache_clear()
    return cells


class Empty:
    """Records that hold nothing."""

    def best(self, *_: Any, **__: Any) -> None:
        return None

    def near(self, *_: Any, **__: Any) -> list[Any]:
        return []

    def devices(self) -> list[str]:
        return []


def test_a_class_is_won_by_its_worst_problem(table: dict[str, Any]) -> None:
    cells = table["h200"]
    assert cells["tiny"]["s, writes C, to 16, packed, memory"] == {
        "shapes": 3,
        "least": 0.99,
        "median": 1.2,
        "wins": True,
    }
    assert cells["classic"]["s, writes C, long n by 16, packed, memory"]["wins"] is False
    assert cells["tiny"]["s, writes C, to 16"] == cells["tiny"]["s, writes C, to 16, packed, memory"]


@pytest.mark.parametrize(
    ("extents", "runs"),
    [
        ((9, 7, 5), "tiny"),
        ((16, 2, 16), "tiny"),
        ((9, 300, 5), "vendor"),
        ((3, 3, 3), "tiny"),
        ((9, 400, 2), "vendor"),
    ],
)
def test_an_untuned_call_runs_what_won_its_class(
    table: dict[str, Any], extents: tuple[int, int, int], runs: str
) -> None:
    problem = Problem(DTYPES["s"], *extents, batch=10**6)
    plan = dispatch.plan(problem, H200)
    assert (plan.stencil or plan.origin) == runs
    # Who wants no library gets the default.
    assert dispatch.plan(problem, H200, vendor=False).origin == "default"


def test_too_few_of_a_class_are_judged_by_all_that_are_like_them(table: dict[str, Any]) -> None:
    won, lost, odd = (
        Problem(DTYPES["s"], *e, batch=10**6, stride_a=0) for e in ((9, 7, 5), (9, 300, 5), (3, 3, 3))
    )
    assert classes.wins("tiny", won, "memory", H200) is True
    assert classes.wins("classic", lost, "memory", H200) is False
    # One problem says nothing, but all of any shape were won, and of another type nothing is known.
    assert classes.wins("tiny", odd, "memory", H200) is True
    assert classes.wins("tiny", replace(odd, dtype=DTYPES["z"]), "memory", H200) is False


def test_lines_that_tell_no_class_are_put_into_one() -> None:
    told = {"problem": "z:nn:3x3x3@100000", "beta": "1", "layout": "ld4,5,6", "regime": "memory"}
    assert bench.class_of(told) == "z, updates C, to 4, gaps, memory"


def test_what_was_measured_counts_on_devices_that_are_alike(table: dict[str, Any]) -> None:
    problem = Problem(DTYPES["s"], 9, 300, 5, batch=10**6)
    assert classes.wins("classic", problem, "memory", DEVICES["h100"]) is False
    assert classes.wins("classic", problem, "memory", DEVICES["a100"]) is None


def test_complex_half_has_no_library_to_go_to(table: dict[str, Any]) -> None:
    problem = Problem(DTYPES["hc"], 9, 9, 9, batch=10**6)
    assert dispatch.plan(problem, H200).origin == "default"
