"""Classes of problems, and the table of those in which a default beats the library."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import classes as bench
from bench import lists
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, GroupedProblem, Problem
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


def test_a_long_product_alone_has_a_class_of_its_own() -> None:
    one = Problem(DTYPES["s"], 3, 3, 10**7)
    assert classes.of(one, "memory") == "s, writes C, long k by 4 alone, packed, memory"
    assert classes.of(one.with_(k=10**4, batch=10**3), "memory") == "s, writes C, long k by 4, packed, memory"
    assert (
        classes.of(Problem(DTYPES["s"], 4096, 4096, 4096), "memory") == "s, writes C, large, packed, memory"
    )
    name = "s, writes C, long k by 4 alone, packed, memory"
    assert classes.wider(name)[1:] == ("s, writes C, long k by 4 alone", "s, writes C, long alone")
    # What was measured of products alone counts, and of batches where there is none.
    batches = {"s, writes C, long k by 4": {"wins": True}}
    assert classes.won(batches, name)
    assert not classes.won(batches | {"s, writes C, long alone": {"wins": False}}, name)


def listed(count: int, top: int, letter: str = "s", beta: str = "0") -> GroupedProblem:
    sizes = np.full(count, top, np.int64)
    return GroupedProblem.of(DTYPES[letter], "nn", (sizes, sizes, sizes), beta=beta)


def test_lists_have_classes_of_their_own() -> None:
    assert classes.of_list(listed(3, 5)) == "s, writes C, to 8, of 4"
    assert classes.of_list(listed(5, 64, "z", "any")) == "z, updates C, to 64, of 16"
    assert classes.of_list(listed(1024, 4)).endswith("of 1024")
    assert classes.of_list(listed(1025, 4)).endswith("of many")
    # They are widened as others are.
    assert classes.wider("s, writes C, to 8, of 4")[1:] == ("s, writes C, to 8", "s, writes C, to")


def test_where_matrices_lie_is_a_part_of_the_table() -> None:
    one = Problem(DTYPES["s"], 9, 7, 5, batch=10**6)
    assert classes.part("tiny", one) == "tiny"
    assert classes.part("tiny", replace(one, align=8)) == "tiny unaligned"
    # By addresses, however they are aligned.
    assert classes.part("tiny", replace(one, align=4, pointers=True)) == "tiny by pointers"
    assert classes.part("grouped", listed(3, 5)) == "grouped"


def test_each_part_counts_from_the_most_similar_device_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(DTYPES["s"], 9, 7, 5, batch=10**6)
    name = classes.of(problem, "memory")
    lost = {"wins": False, "median": 1.0}
    cells = {
        "h200": {"tiny": {name: {"wins": True, "median": 1.0}}},
        "h100": {"tiny": {name: lost}, "tiny unaligned": {name: lost}},
    }
    monkeypatch.setattr(classes, "table", lambda: cells)
    assert classes.wins("tiny", problem, "memory", H200) is True
    assert classes.wins("tiny", replace(problem, align=4), "memory", H200) is False
    assert classes.wins("tiny", replace(problem, pointers=True), "memory", H200) is None
    assert classes.wins("grouped", listed(3, 5), "memory", H200) is None


@pytest.mark.parametrize("kind", ["lists", "pointers", "unaligned"])
def test_what_the_bench_of_lists_draws_is_of_the_classes_that_it_fills(kind: str) -> None:
    draws = lists.lists(H200, 1, 3, "s"), lists.batches(H200, 1, 3, "s", kind, 1e6)
    found = list(draws[kind != "lists"])
    names = {classes.of_list(x.plan.problem) for x in found} if kind == "lists" else None
    assert names is None or len(names) >= len(lists.LISTED)
    parts = {classes.part(x.plan.stencil or "", x.plan.problem).partition(" ")[2] for x in found}
    assert parts == {{"lists": "", "pointers": "by pointers", "unaligned": "unaligned"}[kind]}
    for drawn in found:
        assert dispatch.refusal(STENCILS[drawn.plan.stencil or ""], drawn.plan.problem, H200) is None
    # Another seed draws others, and of a type that is as wide as any access nothing is unaligned.
    again = [x.plan.problem for x in lists.batches(H200, 1, 4, "s", "pointers", 1e6)]
    assert again != [x.plan.problem for x in lists.batches(H200, 1, 3, "s", "pointers", 1e6)]
    assert not list(lists.batches(H200, 1, 3, "z", "unaligned", 1e6))


def test_a_part_of_the_table_is_made_and_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, measured = tmp_path / "classes.json", tmp_path / "lists.jsonl"
    where.write_text(
        json.dumps({"devices": {"h200": {"tiny": {"s, writes C": {"wins": True, "median": 1.0}}}}})
    )
    name = classes.of_list(listed(3, 5))
    told = {"stencil": "grouped", "class": name, "origin": "default", "against_cublas": 2.0, "problem": "s:"}
    measured.write_text("".join(json.dumps(told | {"device": "h200"}) + "\n" for _ in range(3)))
    monkeypatch.setattr(bench, "DATA", where)
    monkeypatch.setattr(sys, "argv", ["bench.classes", str(measured)])
    bench.main()
    made = json.loads(where.read_text())["devices"]["h200"]
    assert set(made) == {"tiny", "grouped"}
    assert made["grouped"][name]["wins"] is True


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
        *(("h200", line(long, name, ratio)) for name in ("classic", "panel") for ratio in (1.2, 0.6, 3.0)),
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


def test_of_several_that_win_a_class_the_one_that_gains_most_runs(
    table: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(DTYPES["s"], 9, 300, 5, batch=10**6)
    name = "s, writes C, long n by 16, packed, memory"
    for gains, runs in (
        ({"panel": (True, 1.5), "classic": (True, 1.2)}, "panel"),
        ({"panel": (True, 1.2), "classic": (True, 1.5)}, "classic"),
        ({"panel": (False, 1.5), "classic": (True, 1.2)}, "classic"),
        ({"panel": (False, 1.5), "classic": (False, 1.2)}, "vendor"),
    ):
        for stencil, (wins, median) in gains.items():
            cell = {"shapes": 3, "least": 0.5, "median": median, "wins": wins}
            monkeypatch.setitem(table["h200"], stencil, {name: cell})
        plan = dispatch.plan(problem, H200)
        assert (plan.stencil or plan.origin) == runs


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
