"""How the tuner decides, and where a search begins, with children that only pretend."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pure.tuning.children import DEVICE, NARROW, Bench, one, record, sized, tried
from tilewright.catalog import STENCILS
from tilewright.model import Config, Problem
from tilewright.space import HARDWARE, Space
from tilewright.store.records import Records
from tilewright.tuning import timing as measure
from tilewright.tuning.final import FINALISTS
from tilewright.tuning.search.table import SEARCHES
from tilewright.tuning.tuner import Tuner

pytestmark = pytest.mark.pure


# ---- how the tuner decides


def test_what_fuses_fewer_multiply_adds_than_it_should_is_not_timed(tuner: Any, store: Records) -> None:
    fused = {1: 3, 2: 4, 3: 5, 6: 0}
    bench = Bench(lambda config: 1.0)
    tried(tuner(bench, lambda c: {"fma": fused[c["blk_n"]], "fma_expected": 4}), NARROW, "blk_n")
    rows = {row.config["blk_n"]: row for row in store.all() if row.protocol == measure.ALONE}
    assert {width: row.status for width, row in rows.items()} == {
        1: "rejected",
        2: "ok",
        3: "ok",
        6: "rejected",
    }
    assert rows[1].detail == "3 multiply-adds of 4"
    assert len(bench.limits) == 2


def test_what_takes_too_long_is_given_up_early(tuner: Any) -> None:
    seconds = {1: 8.0, 2: 4.0, 3: 6.0, 6: 2.0}
    bench = Bench(lambda config: seconds[config["blk_n"]])
    tried(tuner(bench), NARROW, "blk_n")
    # The first has nothing to be compared with; then 1.5 times the best pass over the batch so far.
    best = [min(bench.passes[:number], default=float("inf")) for number in range(4)]
    assert bench.limits == pytest.approx([1.5 * each for each in best])


def test_figures_of_the_final_round_outrank_the_first_ones(tuner: Any, store: Records) -> None:
    bench = Bench(lambda config: float(config["blk_n"]))
    made = tuner(bench)
    result = tried(made, NARROW, "blk_n")
    assert result.best is not None
    known = made._known(sized(NARROW, "memory", DEVICE), "memory", "tile")
    assert {row.protocol for row in known.values()} == {measure.INTERLEAVED, measure.DECIDED}
    assert [config for config, row in known.items() if row.protocol == measure.DECIDED] == [
        result.best.config
    ]


def test_where_no_finalist_stands_the_next_best_are_asked(tuner: Any) -> None:
    problem = one("d:4x24x8")
    order = sorted

    def seconds(config: Config) -> float:
        return 1.0 + config["blk_n"] + 100.0 * config["blk_k"]

    bench = Bench(seconds)
    first = tried(tuner(bench), problem, "blk_n", "blk_k")
    assert first.best is not None
    assert len(bench.rounds) == 1, "one round is enough where somebody stands"
    best = bench.rounds[0]
    assert len(best) == FINALISTS
    assert [seconds(c) for c in best] == order(map(seconds, best))
    # Now the same six are wrong.
    again = Bench(seconds, wrong=lambda config: config in best)
    second = tried(tuner(again), problem, "blk_n", "blk_k")
    assert second.best is not None
    assert second.best.config not in best
    assert [len(each) for each in again.rounds][:1] == [FINALISTS]
    assert len(again.rounds) == 2
    assert not set(again.rounds[0]) & set(again.rounds[1])


@pytest.mark.parametrize(("alone", "last", "kept"), [(0.25, 0.75, 0.75), (0.75, 0.25, 0.75)])
def test_the_largest_error_that_was_seen_stays(
    tuner: Any, store: Records, alone: float, last: float, kept: float
) -> None:
    tried(tuner(Bench(lambda config: 1.0, error=alone, final_error=last)), NARROW, "blk_n")
    last_rows = [row for row in store.all() if row.protocol == measure.INTERLEAVED]
    assert last_rows
    assert {row.error for row in last_rows} == {kept}


# ---- where a search begins


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """Where the search ``spy`` was told to begin."""
    found: list[Config] = []

    def spy(space: Space, begin: Any, seed: int, **_: Any) -> Any:
        found.extend(begin)
        yield [begin[0]]

    monkeypatch.setitem(SEARCHES, "spy", spy)
    return found


def searched(tuner: Tuner, problem: Problem) -> None:
    tuner.tune(
        problem, "memory", search="spy", budget=9.0, stencils=("tile",), spaces=lambda s: s.only(HARDWARE)
    )


def test_a_search_begins_with_what_won_nearby(tuner: Any, store: Records, starts: list[Config]) -> None:
    problem = one("d:8x8x8@7")
    default = STENCILS["tile"].default(problem, DEVICE)
    other = default.with_(prefetch=4)
    store.append(record(problem, other, "cached"))
    store.append(record(one("d:8x8x8@7", alpha="any"), default.with_(prefetch=1)))
    # What is no point of this space is no beginning.
    store.append(record(one("d:8x9x8@7"), default.with_(blk_n=9)))
    searched(tuner(Bench(lambda config: 1.0)), problem)
    assert starts == [default, other, default.with_(prefetch=1)]


def test_what_won_with_beta_0_is_where_beta_1_begins(
    tuner: Any, store: Records, starts: list[Config]
) -> None:
    first = one("d:8x8x8@7")
    second = first.with_(beta="1")
    default = STENCILS["tile"].default(second, DEVICE)
    winner = default.with_(store="stream", prefetch=4)
    space = STENCILS["tile"].space(second, DEVICE).only(HARDWARE)
    assert space.why(winner), "what streams its stores cannot read C"
    store.append(record(first, winner))
    searched(tuner(Bench(lambda config: 1.0)), second)
    assert starts == [default, default.with_(prefetch=4)]
