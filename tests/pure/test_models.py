"""How cost models are measured: what is drawn and proposed, what a run asks and keeps, what is summed up."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import alone, lines
from bench.models import draws, summary, workers
from bench.models.run import Run
from bench.models.timing import Asked
from bench.models.tries import DRAWN, Shape, Try
from tilewright.catalog import STENCILS
from tilewright.model import Problem
from tilewright.runtime import build
from tilewright.stencils.cuda import cuts
from tilewright.targets.cuda import capability
from tilewright.tuning.workers import Answer

pytestmark = pytest.mark.pure

H200 = capability.named("h200")


def problem(text: str) -> Problem:
    return Problem.parse(text)[0]


class Pool:
    """Everything at once, in this process; programs compile but for those of some stencils."""

    def __init__(self, spills: Callable[[Try], bool] = lambda each: False):
        self.spills, self.compiled = spills, list[Try]()

    def submit(self, work: Callable[..., Any], *given: Any) -> Future[Any]:
        done: Future[Any] = Future()
        if work is workers.kept:
            _, stencil, config, _, key = given
            self.compiled.append(Try("", stencil, config, key))
            done.set_result(not self.spills(self.compiled[-1]))
        else:
            done.set_result(work(*given))
        return done


class Child:
    """A GPU on which a config takes as long as the stencil's model says, deep rings half of that; where a
    result would be wrong it says so."""

    def __init__(self, wrong: Callable[[Try], bool] = lambda each: False):
        self.wrong, self.asked = wrong, list[Asked]()

    def ask(self, asked: Asked, timeout: float) -> Answer:
        self.asked.append(asked)
        return Answer(asked, "ok", (1.0, [self.took(asked.problem, each) for each in asked.tries]))

    def took(self, p: Problem, each: Try) -> float | str:
        if self.wrong(each):
            return "differs"
        model = STENCILS[each.stencil].cost_model(p, H200)
        assert model is not None
        fast = each.config.get("tile_m") == 64
        return float(model([each.config])[0]) * 1e-9 * (0.5 if fast else 1.0)


def run(
    tmp_path: Path, child: Child, pool: Pool, products: list[str], **changes: Any
) -> tuple[Run, list[lines.Line]]:
    wanted = {"out": tmp_path / "models.jsonl", "stencils": "dmma", "drawn": 6, "near": 2, "seed": 1}
    wanted |= {"far": 1.4, "each": 1.0, "reserve": 1.0, "limit": 1e6} | changes
    shapes = [Shape(problem(each)) for each in products]
    made = Run(argparse.Namespace(**wanted), H200, shapes, lines.console(), pool, child)
    made.run()
    return made, list(lines.read(tmp_path / "models.jsonl"))


def test_products_are_those_of_alone_but_for_long_ones() -> None:
    found = list(draws.drawn("d", 40, 7, 1e-4))
    every = list(alone.drawn("d", 80, 7))
    assert found == [p for p in every if p.flops <= 1e-4 * draws.SLOW][:40]
    assert any(p.flops > 1e-4 * draws.SLOW for p in every)
    assert len(list(draws.drawn("h", 10, 7, 1e-4))) == 10


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("warpgroup", "h:nt:776x1112x1304"),
        ("dmma", "d:tn:6680x257x43"),
        ("dmma", "z:nn:200x248x128"),
        ("ffma", "s:nt:368x7504x2032"),
        ("cfma", "c:tt:5665x120x6183"),
        ("pairs", "hc:nn:512x1024x640"),
    ],
)
def test_a_search_begins_with_what_the_model_likes_of_all_the_space(name: str, text: str) -> None:
    p, own = problem(text), STENCILS[name]
    default, starts = own.default(p, H200), own.starts(p, H200)
    model, space = own.cost_model(p, H200), own.space(p, H200)
    assert model is not None
    assert len(starts) == cuts.STARTS - 1
    assert all(each in space for each in starts)
    costs = list(model([default, *starts]))
    assert costs == sorted(costs), "in the order of the model"
    kinds = {tuple(v for q, v in each.items() if q not in cuts.MINOR) for each in (default, *starts)}
    assert len(kinds) == cuts.STARTS, "no two that differ in little alone"
    # Of all that is not said by hand nothing cheaper is left out.
    settled = {q: default[q] for q in ("band", "backwards", "overlap") if q in default}
    some = space.restricted(**settled).sample(200, 3)
    known = {tuple(v for q, v in each.items() if q not in cuts.MINOR) for each in (default, *starts)}
    for config, cost in zip(some, model(some), strict=True):
        kind = tuple(v for q, v in config.items() if q not in cuts.MINOR)
        assert cost >= costs[-1] or kind in known


@pytest.mark.parametrize("count", [4, 33, 34, 99, 131, 140, 200])
def test_equal_lengths_give_sums_wherever_one_ends_inside_a_tile(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sums that meet are those of the kernel's own shares: a part of a tile for each block that has some
    of it, but for one of each tile."""
    for name in ("CALLED", "TOLD"):
        monkeypatch.setattr(cuts, name, 0)
    places, slices, size = 132, 660, 4096
    found = cuts.cut_of(count, places, slices, 1)
    tiles = count - found.whole
    ends, parts = 0, 0
    for worker in range(found.workers):
        share = tiles * slices * (worker + 1) // found.workers - ends
        parts += (ends + share - 1) // slices - ends // slices + 1
        ends += share
    assert ends == tiles * slices
    _, joined = cuts.clocks(count, places, slices, np.array([1]), 100.0, 1.0, 10.0, size)
    assert joined[0] == pytest.approx(2 * (parts - tiles) * size / cuts.MET)


@pytest.mark.parametrize(
    ("stencil", "text"),
    [
        ("ffma", "s:nn:4112x416x176"),
        ("cfma", "c:nt:7366x124x55"),
        ("cfma", "c:nt:726x2260x31"),
        ("cfma", "c:nn:9094x2609x20"),
    ],
)
def test_tiles_of_few_slices_are_not_cut_in_equal_lengths(stencil: str, text: str) -> None:
    """On an H200 these took 1.11 to 1.29 times as long where they were."""
    assert STENCILS[stencil].default(problem(text), H200)["cut"] != 1


def test_what_is_proposed_begins_with_the_default_and_has_no_config_twice() -> None:
    p = problem("s:nn:301x500x700")
    for name in ("classic", "ffma") if not STENCILS["ffma"].accepts(p, H200) else ("classic",):
        found = draws.proposals(p, name, H200, 16, 1)
        assert found[0] == STENCILS[name].default(p, H200)
        assert len(set(found)) == len(found) == 16
    model = STENCILS["classic"].cost_model(p, H200)
    assert model is not None
    costs = list(model(draws.proposals(p, "classic", H200, 16, 1)[1:]))
    assert costs == sorted(costs)


def test_a_program_serves_other_products_with_other_cuts(tmp_path: Path) -> None:
    p, other = problem("d:nn:640x640x8192"), problem("d:nn:320x520x9000")
    own = STENCILS["dmma"]
    cut = [each for each in own.space(p, H200).sample(300, 1) if each["cut"] > 1][:20]
    found = workers.served(other, "dmma", H200, cut)
    assert found
    assert all(each.config in own.space(other, H200) for each in found)
    assert {each.key for each in found} <= {build.key("dmma", p, each, H200) for each in cut}
    assert len({each.config["cut"] for each in found}) > 1
    assert all(each.config["cut"] for each in found), "a program that cuts nothing is another one"


def test_a_run_times_all_that_is_right_and_finds_what_the_model_does_not_know(tmp_path: Path) -> None:
    def is_wrong(each: Try) -> bool:
        return bool(each.config.get("depth") == 32 and each.origin == DRAWN)

    def spills(each: Try) -> bool:
        return bool(each.config["mma_k"] == 8 and each.config["tile_n"] == 112)

    child, pool = Child(is_wrong), Pool(spills)
    products = ["d:nn:2000x2000x2000", "d:nn:1500x2500x1800", "d:tn:700x300x400"]
    made, found = run(tmp_path, child, pool, products)
    judged = {line["problem"]: line for line in found if line["kind"] == "models"}
    assert set(judged) == {problem(each).spelling for each in products}
    assert not made.failed
    for line in judged.values():
        assert line["best_us"] <= line["first_us"] <= line["default_us"]
        assert line["tried"] > 16 + 3
        assert line["cublas_us"] == 1e6
    tries = [line for line in found if line["kind"] == "tries"]
    origins = {row[0] for line in tries for row in line["rows"]}
    assert origins == {"default", "first", "drawn", "other", "near"}
    assert all(line["rows"] == sorted(line["rows"], key=lambda row: row[1]) for line in tries)
    refused = {json.dumps(row[1:]) for line in tries for row in line["wrong"]}
    timed = {json.dumps(row[2:]) for line in tries for row in line["rows"] if row[0] == "drawn"}
    assert refused
    assert not refused & timed, "what is wrong counts for nothing"
    keys = [each.key for each in pool.compiled]
    assert len(set(keys)) == len(keys), "no program is compiled twice"
    spilled = {each.key for each in pool.compiled if spills(each)}
    assert spilled
    assert not any(each.key in spilled for asked in child.asked for each in asked.tries)
    # Half the time of one tile is something that no model says: the pool finds it where there is any.
    assert any(dict(line["best"])["tile_m"] == 64 for line in judged.values())


def test_a_default_that_spills_is_said_and_its_stencil_left(tmp_path: Path) -> None:
    p = "d:nn:2000x2000x2000"
    default = STENCILS["dmma"].default(problem(p), H200)
    pool = Pool(lambda each: each.config == default)
    made, found = run(tmp_path, Child(), pool, [p, "d:nn:1500x2500x1800"])
    assert made.failed == 1
    assert [line["why"] for line in found if line["kind"] == "failed"] == [
        "dmma: the default does not compile without spills"
    ]
    assert {line["problem"] for line in found if line["kind"] == "models"} == {"d:nn:1500x2500x1800@1"}


def test_a_run_that_has_no_time_says_what_it_has(tmp_path: Path) -> None:
    _, found = run(tmp_path, Child(), Pool(), ["d:nn:2000x2000x2000"], limit=0.0)
    assert not [line for line in found if line["kind"] == "models"]


def test_a_kernel_that_hangs_costs_its_product_alone(tmp_path: Path) -> None:
    class Hangs(Child):
        def ask(self, asked: Asked, timeout: float) -> Answer:
            if asked.problem.m == 700 and len(asked.tries) > 1:
                return Answer(asked, "timeout", detail="no answer")
            return super().ask(asked, timeout)

    made, found = run(tmp_path, Hangs(), Pool(), ["d:tn:700x300x400", "d:nn:1500x2500x1800"])
    assert made.failed
    assert {line["problem"] for line in found if line["kind"] == "failed"} == {"d:tn:700x300x400@1"}
    assert any(line["problem"] == "d:nn:1500x2500x1800@1" for line in found if line["kind"] == "models")


def line(p: str, stencil: str, *us: float) -> lines.Line:
    default, first, best, cublas = us
    of = {"default_us": default, "first_us": first, "best_us": best, "cublas_us": cublas}
    return {"kind": "models", "problem": p, "stencil": stencil} | of


def test_shares_are_of_the_stencil_itself_and_of_all_of_a_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "chosen", lambda p, device: "dmma")
    found = [
        line("d:nn:8x8x8@1", "dmma", 20, 12, 10, 30),
        line("d:nn:8x8x8@1", "classic", 16, 8, 8, 30),
        line("d:nn:9x9x9@1", "dmma", 99, 99, 99, 30),
        line("d:nn:9x9x9@1", "dmma", 10, 10, 10, 30),
        {"kind": "tries", "problem": "d:nn:9x9x9@1", "stencil": "dmma"},
    ]
    shares = summary.shares(summary.newest(found), H200)
    assert [(s.default, s.first) for s in shares["d", "dmma"]] == [(0.5, 10 / 12), (1, 1)]
    assert [(s.default, s.first) for s in shares["d", "classic"]] == [(0.5, 1)]
    assert [(s.default, s.first) for s in shares["d", "any"]] == [(0.4, 8 / 12), (1, 1)]
    assert [s.gain for s in shares["d", "any"]] == [1.5, 3]
    table = summary.summary(shares)
    cells = {column.header: list(column.cells) for column in table.columns}
    at = list(zip(cells["type"], cells["stencil"], strict=True)).index(("d", "any"))
    assert cells["default"][at] == f"{math.sqrt(0.4):.3f}"
    assert cells[">= 0.85"][at] == "1"
    assert cells["products"][at] == "2"
    assert any("d dmma: d:nn:8x8x8@1 0.50" in text for text in summary.worst(shares, 1))
