"""Classes of lists and chains, what was measured near a batch, and which default runs by it."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import classes as bench
from bench import lists
from bench.batches.classes import SHAPES, shape_of
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, GroupedProblem, Problem
from tilewright.planning import candidates, classes, dispatch, neighbours
from tilewright.planning.neighbours import Point
from tilewright.targets.cuda.capability import DEVICES

pytestmark = pytest.mark.pure

H200 = DEVICES["h200"]


def test_a_point_tells_how_the_operands_lie() -> None:
    one = Problem(DTYPES["s"], 9, 7, 5, batch=10**6)
    packed = neighbours.point(one, "memory")
    assert packed == Point(9, 7, 5, "nn", "0", "", False, "memory")
    assert neighbours.point(one.with_(stride_a=0), "memory").shared == "A"
    assert neighbours.point(one.with_(lda=12), "memory").gaps
    assert neighbours.point(one.with_(stride_b=100), "memory").gaps
    assert neighbours.point(one.with_(lda=12, stride_a=0), "memory") == packed._replace(shared="A", gaps=True)
    # How well addresses are aligned is no matter of where a problem lies, but of the part that is asked.
    assert neighbours.point(replace(one, align=4), "memory") == packed
    assert neighbours.point(replace(one, beta="any"), "cached") == packed._replace(beta="any", where="cached")
    # A batch that takes no longer than its launch is neither from memory nor from a cache.
    assert neighbours.point(one.with_(batch=10), "cached").where == "few"


def test_what_is_alike_lies_together() -> None:
    here = Point(9, 7, 5, "nn", "0", "", False, "memory")

    def away(letter: str = "s", part: str = "tiny", **changes: Any) -> float:
        there = (part, letter, here._replace(**changes))
        both = neighbours.coordinates([("tiny", "s", here), there])
        return float(np.linalg.norm(both[0] - both[1]))

    assert away() == 0
    assert away(m=10) < away(m=18) < away(m=72)
    assert away(trans="tn") < away(beta="any") < away(where="few")
    assert away(trans="jn") == 0
    assert away(part="tiny unaligned") < away(part="tiny by pointers")
    assert away("h") < away("z")
    assert away("c") < away("z")
    # An odd number of rows is another matter than an even one where an access is wider than an element.
    assert away(m=11) < away(m=12)


def test_where_a_problem_lies_does_not_depend_on_the_others() -> None:
    row = Point(1, 700, 90, "nc", "any", "B", False, "memory")
    column = Point(700, 1, 90, "jt", "any", "A", False, "memory")
    points = [
        row,
        column,
        Point(3, 4, 0, "nn", "0", "", True, "few"),
        Point(65, 9, 300, "tt", "0", "", False, "alone"),
    ]
    placed = [
        (part, letter, at) for at in points for part in ("inner", "inner unaligned") for letter in DTYPES
    ]
    together = neighbours.coordinates(placed)
    assert np.isfinite(together).all()
    for one, where in zip(placed, together, strict=True):
        assert np.array_equal(neighbours.coordinates([one])[0], where)
    # A C of one row is turned, and its matrix with it.
    assert np.array_equal(together[: len(placed) // 4], together[len(placed) // 4 : len(placed) // 2])


def test_a_stencil_of_vectors_alone_may_gain_little_for_sure() -> None:
    """Where all around gain a seventh it is counted on, and nothing is where others lie."""
    sizes = [(2**e, 2**f) for e in range(6, 13) for f in range(6, 13)]
    rows = [[m, 1, k, "tn", "0", "", False, "memory", 1.15] for m, k in sizes]
    known = neighbours.OfVectors("d", [(Point(*row[:-1]), row[-1]) for row in rows])
    here = Point(700, 1, 900, "tn", "0", "", False, "memory")
    assert known.foretold(here)[0] > 1
    turned = here._replace(m=1, n=700, trans="nn")
    assert known.foretold(turned) == known.foretold(here)
    for other in (here._replace(trans="nn"), here._replace(where="cached"), here._replace(where="alone")):
        assert known.foretold(other)[0] < 1
    # A stencil that serves others, too, goes by what is nearest.
    matrix = [70, 70, 70, "nn", "0", "", False, "memory", 1.15]
    device = neighbours.Known({"vector": {"d": rows}, "inner": {"d": [*rows, [70, *rows[0][1:]], matrix]}})
    assert device.foretold("vector", "d", here) == known.foretold(here)
    assert device.foretold("inner", "d", here) != known.foretold(here)
    assert device.foretold("vector", "s", here) is None


def test_a_long_product_alone_lies_apart() -> None:
    one = Problem(DTYPES["s"], 3, 3, 10**7)
    assert neighbours.point(one, "memory").where == "alone"
    assert neighbours.point(one.with_(k=10**4, batch=10**3), "memory").where == "memory"
    # Large products are what libraries are made for, one or many.
    assert neighbours.point(Problem(DTYPES["s"], 4096, 4096, 4096), "memory").where == "memory"


def listed(count: int, top: int, letter: str = "s", beta: str = "0") -> GroupedProblem:
    sizes = np.full(count, top, np.int64)
    return GroupedProblem.of(DTYPES[letter], "nn", (sizes, sizes, sizes), beta=beta)


def test_lists_have_classes_of_their_own() -> None:
    assert classes.of_list(listed(3, 5)) == "s, writes C, to 8, of 4"
    assert classes.of_list(listed(5, 64, "z", "any")) == "z, updates C, to 64, of 16"
    assert classes.of_list(listed(1024, 4)).endswith("of 1024")
    assert classes.of_list(listed(1025, 4)).endswith("of many")
    assert classes.wider("s, writes C, to 8, of 4")[1:] == (
        *("s, writes C, to 8", "s, writes C, any size"),
        "s, all",
    )


def test_where_matrices_lie_is_a_part_of_what_was_measured() -> None:
    one = Problem(DTYPES["s"], 9, 7, 5, batch=10**6)
    assert neighbours.part("tiny", one) == "tiny"
    assert neighbours.part("tiny", replace(one, align=8)) == "tiny unaligned"
    # By addresses, however they are aligned.
    assert neighbours.part("tiny", replace(one, align=4, pointers=True)) == "tiny by pointers"


def test_each_part_counts_from_the_most_similar_device_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(DTYPES["s"], 9, 7, 5, batch=10**6)
    row = [9, 7, 5, "nn", "0", "", False, "memory"]
    held = {
        "h200": {"tiny": {"s": [[*row, 2.0]]}},
        "h100": {"tiny": {"s": [[*row, 0.5]]}, "tiny unaligned": {"s": [[*row, 0.25]]}},
    }
    pretend(monkeypatch, held)
    assert standing("tiny", problem) == (True, pytest.approx(2.0, rel=0.05))
    assert standing("tiny", replace(problem, align=4)) == (False, pytest.approx(0.3, rel=0.1))
    assert standing("tiny", replace(problem, pointers=True)) is None
    # Of another type nothing is known.
    assert standing("tiny", replace(problem, dtype=DTYPES["z"])) == (False, 0.0)
    monkeypatch.setattr(classes, "table", dict)
    assert classes.wins("grouped", listed(3, 5), "memory", H200) is None


def pretend(monkeypatch: pytest.MonkeyPatch, held: dict[str, Any]) -> None:
    """Take this for what was measured."""
    monkeypatch.setattr(neighbours, "table", lambda: held)
    neighbours.measured.cache_clear()
    monkeypatch.setattr(dispatch, "records", lambda: Empty())
    dispatch._near.cache_clear()


@pytest.fixture(autouse=True)
def forget() -> Any:
    """What was foretold of pretended measurements is of no use to other tests."""
    yield
    neighbours.measured.cache_clear()


def standing(stencil: str, problem: Problem, device: str = "h200") -> tuple[bool, float] | None:
    found = neighbours.standing(stencil, problem, "memory", DEVICES[device])
    return found and (found[0], round(found[1], 3))


def test_batches_alone_promise_nothing_of_products_that_are_alone() -> None:
    """Batches that gain are the nearest points, but a slow product that is alone has its say, too."""
    batch = Point(56, 1455, 35, "tt", "0", "", False, "memory")
    alone = batch._replace(where="alone")
    gains = [(("panel", "h", batch._replace(m=m)), 8.0) for m in range(50, 60)]
    found = neighbours.Measured([*gains, (("panel", "h", alone._replace(m=40)), 0.5)])
    sure, gain = found.foretold("panel", "h", alone)
    assert sure < 1
    assert gain < 1
    assert found.foretold("panel", "h", batch)[0] > 1


def test_gains_are_doubted_where_they_differ_and_far_away() -> None:
    here = Point(16, 16, 16, "nn", "0", "", False, "memory")

    def sure(*gains: float, at: Point = here) -> float:
        return known(*gains).foretold("tiny", "s", at)[0]

    def known(*gains: float) -> neighbours.Measured:
        return neighbours.Measured([(("tiny", "s", here), gain) for gain in gains])

    assert 1.1 < sure(1.5, 1.5) < 1.5
    assert sure(1.5, 1.5, at=here._replace(m=32)) < 1.5
    # Their mean is a gain, and so is what is expected, but it cannot be counted on.
    assert sure(2.0, 0.8) < 1 < known(2.0, 0.8).foretold("tiny", "s", here)[1]
    # Whether it gains much or very much is no doubt.
    assert sure(5.0, 50.0) > 2
    # Of a batch that is no more than its launch gains are less, and surer.
    few = here._replace(where="few")
    one = neighbours.Measured([(("tiny", "s", few), 1.25)])
    assert one.foretold("tiny", "s", few)[0] > 1 > sure(1.25)


def test_types_and_parts_of_a_stencil_have_their_say() -> None:
    row = [9, 7, 5, "nn", "0", "", False, "memory"]
    here = Point(9, 7, 5, "nn", "0", "", False, "memory")
    one = {"tiny": {"s": [[*row, 1.3]]}}
    two = {"tiny": {"s": [[*row, 1.3]], "d": [[*row, 3.0]], "c": [[*row, 3.0]]}}
    assert foretold(two, "tiny", "s", here)[0] > foretold(one, "tiny", "s", here)[0]
    # Of complex halves it is another library.
    assert foretold({"tiny": one["tiny"] | {"hc": [[*row, 9.0]]}}, "tiny", "s", here) == foretold(
        one, "tiny", "s", here
    )
    lying = {"tiny": one["tiny"], "tiny unaligned": {"s": [[*row, 0.5]]}}
    assert foretold(lying, "tiny", "s", here)[0] < foretold(one, "tiny", "s", here)[0]
    # What another stencil did says nothing.
    assert foretold(one | {"panel": {"s": [[*row, 0.1]]}}, "tiny", "s", here) == foretold(
        one, "tiny", "s", here
    )
    # Either type of 16 bits speaks for the other, and no other type for one that was never measured.
    halves = neighbours.Known({"tiny": {"h": [[*row, 2.0]]}})
    assert halves.foretold("tiny", "b", here) is not None
    assert halves.foretold("tiny", "s", here) is None


def foretold(parts: dict[str, Any], part: str, letter: str, at: Point) -> tuple[float, float]:
    found = neighbours.Known(parts).foretold(part, letter, at)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", ["lists", "pointers", "unaligned"])
def test_what_the_bench_of_lists_draws_is_of_the_classes_that_it_fills(kind: str) -> None:
    draws = lists.lists(H200, 1, 3, "s"), lists.batches(H200, 1, 3, "s", kind, 1e6)
    found = list(draws[kind != "lists"])
    names = {classes.of_list(x.plan.problem) for x in found} if kind == "lists" else None
    assert names is None or len(names) >= len(lists.LISTED)
    if kind != "lists":
        parts = {neighbours.part(x.plan.stencil or "", x.plan.problem).partition(" ")[2] for x in found}
        assert parts == {{"pointers": "by pointers", "unaligned": "unaligned"}[kind]}
    for drawn in found:
        assert candidates.refusal(STENCILS[drawn.plan.stencil or ""], drawn.plan.problem, H200) is None
    # Another seed draws others, and of a type that is as wide as any access nothing is unaligned.
    again = [x.plan.problem for x in lists.batches(H200, 1, 4, "s", "pointers", 1e6)]
    assert again != [x.plan.problem for x in lists.batches(H200, 1, 3, "s", "pointers", 1e6)]
    assert not list(lists.batches(H200, 1, 3, "z", "unaligned", 1e6))


def test_what_is_measured_is_made_data_and_the_rest_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = [3, 3, 3, "nn", "0", "", False, "memory", 2.0]
    for name, part in (("classes", {"s, writes C": {"wins": True}}), ("neighbours", {"s": [row]})):
        text = json.dumps({"about": "", "devices": {"h200": {"other": part}}})
        (tmp_path / f"{name}.json").write_text(text)
    name = classes.of_list(listed(3, 5))
    told = {"stencil": "grouped", "class": name, "origin": "default", "against_cublas": 2.0, "problem": "s:|"}
    found = [*[told] * 3, line(Problem(DTYPES["d"], 9, 300, 5, batch=10**6), "panel", 1.23456)]
    measured = tmp_path / "lists.jsonl"
    measured.write_text("".join(json.dumps(each | {"device": "h200"}) + "\n" for each in found))
    monkeypatch.setattr(bench, "DATA", tmp_path)
    monkeypatch.setattr(sys, "argv", ["bench.classes", str(measured)])
    bench.main()
    made, points = (
        json.loads((tmp_path / f"{name}.json").read_text())["devices"]["h200"]
        for name in ("classes", "neighbours")
    )
    assert set(made) == {"other", "grouped"}
    assert made["grouped"][name] == {"shapes": 3, "least": 2.0, "median": 2.0, "wins": True}
    assert points == {
        "other": {"s": [row]},
        "panel": {"d": [[9, 300, 5, "nn", "0", "", False, "memory", 1.235]]},
    }


def test_a_class_is_won_by_its_worst_problem() -> None:
    told = {"stencil": "grouped", "class": "s, writes C, to 8, of 4", "problem": "s:|"}
    cells = bench.celled([("h200", told | {"against_cublas": gain}) for gain in (1.2, 0.99, 3.0)])
    assert cells["h200"]["grouped"]["s, writes C, to 8"]["wins"] is True
    cells = bench.celled([("h200", told | {"against_cublas": gain}) for gain in (1.2, 0.9, 3.0)])
    assert cells["h200"]["grouped"]["s, writes C, to 8"]["wins"] is False
    # One problem says nothing.
    assert bench.celled([("h200", told | {"against_cublas": 2.0})]) == {}


def line(problem: Problem, stencil: str, ratio: float) -> dict[str, Any]:
    return {
        "problem": problem.spelling,
        "layout": problem.layout,
        "beta": problem.beta,
        "regime": "memory",
        "stencil": stencil,
        "origin": "default",
        "against_cublas": ratio,
    }


class Empty:
    """Records that hold nothing."""

    def best(self, *_: Any, **__: Any) -> None:
        return None

    def predicted(self, *_: Any) -> None:
        return None

    def near(self, *_: Any, **__: Any) -> list[Any]:
        return []

    def devices(self) -> list[str]:
        return []


SMALL, WIDE = (9, 7, 5), (9, 300, 5)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Measurements of a shape that is won, and of one that is won in the mean alone."""
    small, wide = (Problem(DTYPES["s"], *extents, batch=10**6) for extents in (SMALL, WIDE))
    found = bench.gathered(
        [
            *(("h200", line(small, "tiny", ratio)) for ratio in (2.3, 2.25, 2.4)),
            *(
                ("h200", line(wide, name, ratio))
                for name in ("classic", "panel")
                for ratio in (1.2, 0.6, 3.0)
            ),
        ]
    )
    pretend(monkeypatch, found)
    return found


@pytest.mark.parametrize(
    ("extents", "runs"),
    [
        (SMALL, "tiny"),
        ((10, 8, 5), "tiny"),
        (WIDE, "vendor"),
        ((9, 400, 4), "vendor"),
        ((2, 2, 60), "vendor"),
    ],
)
def test_an_untuned_call_runs_what_won_near_it(
    table: dict[str, Any], extents: tuple[int, int, int], runs: str
) -> None:
    problem = Problem(DTYPES["s"], *extents, batch=10**6)
    plan = dispatch.plan(problem, H200)
    assert (plan.stencil or plan.origin) == runs
    # Who wants no library gets the default.
    assert dispatch.plan(problem, H200, vendor=False).origin == "default"


@pytest.mark.parametrize(
    ("panel", "classic", "runs", "alone"),
    [
        ((1.5, 1.5), (1.2, 1.2), "panel", "panel"),
        ((1.2, 1.2), (1.5, 1.5), "classic", "classic"),
        # What gains more in the mean, and may lose.
        ((0.4, 9.0), (1.3, 1.3), "classic", "classic"),
        ((0.4, 9.0), (0.7, 1.2), "vendor", "panel"),
    ],
)
def test_of_several_that_win_the_one_that_gains_most_runs(
    monkeypatch: pytest.MonkeyPatch,
    panel: tuple[float, ...],
    classic: tuple[float, ...],
    runs: str,
    alone: str,
) -> None:
    problem = Problem(DTYPES["s"], *WIDE, batch=10**6)
    found = [
        ("h200", line(problem, name, gain))
        for name, gains in (("panel", panel), ("classic", classic))
        for gain in gains
    ]
    pretend(monkeypatch, bench.gathered(found))
    plan = dispatch.plan(problem, H200)
    assert (plan.stencil or plan.origin) == runs
    assert dispatch.plan(problem, H200, vendor=False).stencil == alone


def test_lines_of_older_commands_become_points() -> None:
    told = {"problem": "z:nn:3x3x3@100000", "beta": "1", "layout": "ld4,5,6", "regime": "memory"}
    assert bench.point_of(told) == Point(3, 3, 3, "nn", "any", "", True, "memory")
    told = {"problem": "z:nt:3x3x3@10", "beta": "0", "class": "z, writes C, to 4, packed, cached"}
    assert bench.point_of(told) == Point(3, 3, 3, "nt", "0", "", False, "few")
    told = {"problem": "z:nt:3x3x3@100000", "beta": "0", "layout": "packed+gaps+sharedB", "regime": "cached"}
    assert bench.point_of(told) == Point(3, 3, 3, "nt", "0", "B", True, "cached")


def test_a_judge_says_what_the_planner_says(table: dict[str, Any]) -> None:
    judge = bench.Judge(table, {})
    for stencil in ("panel", "tiny", "classic"):
        problem = Problem(DTYPES["s"], 9, 200, 6, batch=10**6)
        found = neighbours.standing(stencil, problem, "memory", H200)
        assert judge.standing("h200", line(problem, stencil, 1.0)) == found
    wide = line(Problem(DTYPES["s"], *WIDE, batch=10**6), "panel", 0.6)
    small = line(Problem(DTYPES["s"], *SMALL, batch=10**6), "tiny", 1.3)
    verdicts = list(bench.verdicts([("h200", wide), ("h200", small)], judge))
    assert verdicts == [("s", 0.6, False), ("s", 1.3, True)]


def test_what_was_measured_counts_on_devices_that_are_alike(table: dict[str, Any]) -> None:
    problem = Problem(DTYPES["s"], *SMALL, batch=10**6)
    assert standing("tiny", problem, "h100") == standing("tiny", problem)
    assert standing("tiny", problem, "a100") is None


def test_a_processor_does_not_wait_for_what_was_measured_of_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "table", lambda: pytest.fail("the file was read"))
    host = replace(H200, key="zen4", kind="cpu")
    assert neighbours.standing("tile", Problem(DTYPES["d"], 9, 9, 9, batch=10), "memory", host) is None


def test_complex_half_has_no_library_to_go_to(table: dict[str, Any]) -> None:
    problem = Problem(DTYPES["hc"], 9, 9, 9, batch=10**6)
    assert dispatch.plan(problem, H200).origin == "default"


def test_draws_fall_into_the_bins_that_they_are_of() -> None:
    draw = random.Random(1)
    for kind, top in SHAPES:
        extents = sorted(shape_of(draw, kind, top))
        assert extents[1 if "long" in kind else 2] <= top, (kind, top)
        assert not kind.startswith("long") or extents[2] > neighbours.LONG
