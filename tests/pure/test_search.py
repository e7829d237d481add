"""What the searches ask for, what they find where the best point is known, and how they are replayed."""

from __future__ import annotations

import gzip
import importlib.util
import math
import statistics
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench import record as record_
from bench import recorded, search
from tilewright.errors import ArgumentError
from tilewright.model import Config, Record, Timing
from tilewright.space import Param, Rule, Space
from tilewright.tuning.questions import Questions
from tilewright.tuning.search import Batches, once
from tilewright.tuning.search.order import shuffled
from tilewright.tuning.search.surrogate import Surrogate, coordinates
from tilewright.tuning.search.table import SEARCHES

pytestmark = pytest.mark.pure

INSTALLED = importlib.util.find_spec("sklearn") is not None
USABLE = [name for name in SEARCHES if name != "bayes" or INSTALLED]
SPACE = Space(
    [
        Param("rows", (8, 16, 32, 48, 64, 96, 128)),
        Param("columns", (1, 2, 3, 4, 5, 6, 8)),
        Param("order", ("mn", "nm", "z")),
        Param("stages", (1, 2, 3, 4)),
        Param("fixed", (7,)),
    ],
    [Rule("area", "hard", "too much", lambda rows, columns: rows * columns <= 512)],
)
BEST = Config({"rows": 96, "columns": 4, "order": "z", "stages": 3, "fixed": 7})


def seconds(config: Config) -> float:
    """A smooth bowl around ``BEST`` with a factor for names; what has one stage and much to hold fails."""
    if config["stages"] == 1 and config["rows"] > 64:
        return math.inf
    away = abs(math.log2(config["rows"] / 96)) + abs(math.log2(config["columns"] / 4))
    return 1e-3 * (1 + away + 0.3 * abs(config["stages"] - 3) + 0.5 * "znm".index(config["order"][0]))


def record(config: Config) -> Record:
    took = seconds(config)
    timing = Timing((took,), took, took, took, "memory", 1, 1) if math.isfinite(took) else None
    return Record(None, "memory", "s", config, "ok" if timing else "crashed", "", "", timing=timing)


def asked(
    name: str, tries: int, starts: Sequence[Config] = (), seed: int = 0, **options: object
) -> list[Config]:
    """What a search asks for, in order, until it ends or has made so many tries; they come back reversed."""
    batches, found = SEARCHES[name](SPACE, list(starts), seed, **options), []
    batch = next(batches, None)
    while batch is not None and len(found) < tries:
        found += batch
        try:
            batch = batches.send([record(config) for config in reversed(batch)])
        except StopIteration:
            break
    return found


@pytest.mark.parametrize("name", USABLE)
def test_a_search_begins_with_the_starts_and_repeats_nothing(name: str) -> None:
    starts = [SPACE.at(5), SPACE.at(100)]
    found = asked(name, 60, starts, width=3)
    assert found[:2] == starts
    assert len(set(found)) == len(found)
    assert all(config in SPACE for config in found)
    assert found == asked(name, 60, starts, width=3), "the seed decides"


@pytest.mark.parametrize("name", [name for name in USABLE if name not in ("climb", "starts")])
def test_a_search_ends_with_the_whole_space_and_not_before(name: str) -> None:
    small = SPACE.restricted(stages=2, order="z")
    batches = SEARCHES[name](small, [], 1, width=4)
    found: list[Config] = []
    batch = next(batches)
    while True:
        found += batch
        try:
            batch = batches.send([record(config) for config in batch])
        except StopIteration:
            break
    assert sorted(map(repr, found)) == sorted(map(repr, small))


def late(name: str, tries: int, width: int, seed: int = 0, room: int = 1) -> tuple[list[Config], int]:
    """What a tuner asks a search for that has room for ``room`` times ``width`` tries at work, of which it is
    now the oldest and now the newest that comes back; and how many were outstanding at most."""
    found: list[Config] = []
    most, space = 0, SPACE.restricted(order="z")
    questions = Questions(SEARCHES[name](space, [SPACE.at(5)], seed, width=width))
    working: deque[Config] = deque()
    while len(found) < tries:
        config = questions.next()
        if config is not None:
            found.append(config)
            working.append(config)
        if questions.ended and not working:
            break
        if config is None or len(working) == room * width:
            assert working, "it waits for what nobody owes"
            questions.answer(record(working.pop() if len(found) % 2 else working.popleft()))
        most = max(most, len(questions.open))
    return found, most


@pytest.mark.parametrize(("width", "room"), [(8, 1), (8, 4), (1, 14)])
@pytest.mark.parametrize("name", USABLE)
def test_a_search_goes_on_while_answers_are_outstanding(name: str, width: int, room: int) -> None:
    # With more room it is asked again before anything has come back.
    found, most = late(name, 40, width, room=room)
    assert len(set(found)) == len(found)
    assert len(found) == (1 if name == "starts" else 40)
    if name in ("model", "evolve"):
        # The first batch may be larger; from then on as many as are compiled at once.
        assert most <= 17


def test_a_search_that_looks_at_records_finds_the_best_though_they_come_late() -> None:
    best = min(map(seconds, SPACE.restricted(order="z")))
    for name in ("model", "evolve"):
        found = [min(map(seconds, late(name, 60, width=8, seed=seed)[0])) for seed in range(3)]
        assert statistics.mean(found) <= 1.1 * best


def test_a_search_that_waits_for_what_nobody_owes_has_ended() -> None:
    def stubborn() -> Batches:
        yield [BEST]
        while True:
            yield []

    questions = Questions(stubborn(), frozenset([BEST]))
    assert questions.next() == BEST
    assert (questions.next(), questions.waited, questions.ended) == (None, True, False)
    questions.answer(record(BEST))
    questions.answer(record(BEST))
    assert (questions.next(), questions.waited, questions.ended) == (None, False, True)


def test_what_is_sure_to_be_tried_comes_first() -> None:
    batch = [SPACE.at(0), SPACE.at(1), BEST]
    questions = Questions(once(batch), frozenset([BEST]))
    assert [questions.next() for _ in range(3)] == [BEST, *batch[:2]]
    assert not questions.ended, "it is asked when somebody is free"
    assert questions.next() is None
    assert questions.ended


@pytest.mark.parametrize("name", ["model", "evolve"])
def test_a_search_is_better_than_a_sample(name: str) -> None:
    def ends(name: str) -> float:
        return statistics.mean(min(map(seconds, asked(name, 40, seed=seed)[:40])) for seed in range(3))

    assert ends(name) < ends("sample")


def test_the_model_finds_the_best_of_many() -> None:
    for seed in range(3):
        assert BEST in asked("model", 60, seed=seed)[:60]


def test_the_model_begins_with_what_the_cost_model_likes() -> None:
    found = asked("model", 8, width=8, estimate=lambda configs: np.array(list(map(seconds, configs))))
    best = sorted(map(seconds, SPACE))
    assert sum(seconds(config) <= best[8] for config in found) >= 3


def test_the_model_learns_where_all_fails() -> None:
    batches = SEARCHES["model"](SPACE, [], 0)
    found = list(next(batches))
    for _ in range(5):
        failed = [Record(None, "memory", "s", config, "wrong", "", "") for config in found[-1:]]
        found += batches.send(failed)
    assert len(set(found)) == len(found)


def test_a_start_that_is_no_point_teaches_the_model_nothing() -> None:
    stranger = BEST.with_(rows=24)
    assert asked("model", 20, [stranger])[0] == stranger


def test_a_large_space_is_searched_by_its_neighbourhoods() -> None:
    names = [f"p{number}" for number in range(12)]
    space = Space([Param(name, (1, 2, 4, 8)) for name in names])
    batches = SEARCHES["model"](space, [], 0, width=8)
    batch, best = next(batches), math.inf
    for _ in range(8):
        rows = [Record(None, "memory", "s", c, "ok", "", "", timing=_sum(c, names)) for c in batch]
        best = min(best, *(row.timing.median for row in rows))
        batch = batches.send(rows)
    drawn = min(_sum(config, names).median for config in space.sample(2000, 3))
    assert best < drawn, "64 tries of a model are better than 2,000 at random"


def _sum(config: Config, names: Sequence[str]) -> Timing:
    took = 1e-3 * (1 + sum(math.log2(config[name]) for name in names))
    return Timing((took,), took, took, took, "memory", 1, 1)


@pytest.mark.skipif(INSTALLED, reason="scikit-learn is installed")
def test_a_search_says_which_library_it_lacks() -> None:
    with pytest.raises(ArgumentError, match="scikit-learn"):
        next(SEARCHES["bayes"](SPACE, [], 0))


def test_points_come_in_random_order_each_once() -> None:
    assert sorted(map(repr, shuffled(SPACE, 1))) == sorted(map(repr, SPACE))
    space = Space([Param("a", (0, 1, 2)), Param("b", (0, 1))])
    first = [repr(next(shuffled(space, seed))) for seed in range(600)]
    assert min(first.count(repr(point)) for point in space) > 60


# ---- the surrogate


def test_coordinates_see_rank_size_and_divisibility() -> None:
    assert [len(coordinates(values)) for values in ((0, 1), (1, 2, 4, 8), ("a", "b", "c"))] == [1, 1, 3]
    assert len(coordinates((96, 104, 112, 120, 128))) == 2, "rank and logarithm are nearly alike"
    assert len(coordinates((1, 2, 3, 4, 8, 64))) == 3


def test_a_surrogate_knows_what_it_was_told_and_doubts_the_rest() -> None:
    values = [(1, 2, 3, 4, 5, 6, 7, 8), (0, 1)]
    places = np.array([[a, b] for a in range(8) for b in range(2)], np.int32).T
    told = Surrogate(values, places)
    costs = []
    for chosen in (0, 4, 8, 12, 15, 3):
        told.add(chosen)
        costs.append(float(places[0, chosen]) + 2.0 * places[1, chosen])
    told.fit((np.array(costs) - np.mean(costs)) / np.std(costs), range(len(costs)))
    mean, deviation = told.expected(np.array(costs))
    assert np.abs(mean[told.known] - costs).max() < 0.5
    assert deviation[told.known].max() < deviation[[1, 7, 11]].min()
    assert abs(mean[13] - 8.0) < 1.5, "the other value of 12 costs 2 more"


def test_one_measurement_at_a_time_says_what_all_at_once_say() -> None:
    places = np.array([[a, b] for a in range(6) for b in range(4)], np.int32).T
    values = [(1, 2, 3, 4, 5, 6), (1, 2, 4, 8)]
    told = Surrogate(values, places)
    chosen, costs = [3, 9, 20, 14], np.array([0.5, -1.0, 0.2, 1.1])
    for each in chosen:
        told.add(each)
    rows = told._with(chosen)
    square = rows[:, chosen] + (math.exp(told._state[-1]) + 1e-6) * np.eye(4)
    one = np.linalg.solve(square, np.ones(4))
    level = one @ costs / one.sum()
    expected = level + rows.T @ np.linalg.solve(square, costs - level)
    np.testing.assert_allclose(told.expected(costs)[0], expected, atol=1e-4)


def test_what_was_added_in_turns_is_as_if_added_at_once() -> None:
    places = np.array([[a, b] for a in range(12) for b in range(8)], np.int32).T
    values = [tuple(range(1, 13)), (1, 2, 4, 8, 16, 32, 64, 128)]
    chosen, costs = range(70), np.sin(np.arange(70.0))
    turns, once = Surrogate(values, places), Surrogate(values, places)
    for number, each in enumerate(chosen, 1):
        turns.add(each)
        once.add(each)
        turns.expected(costs[:number])
    # More than there is room for at first.
    for one, other in zip(turns.expected(costs), once.expected(costs), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)


def test_a_hint_that_times_follow_leads_to_the_best_sooner() -> None:
    def tries(hint: float) -> int:
        def estimate(configs: Sequence[Config]) -> np.ndarray:
            return np.array([hint * min(seconds(config), 1.0) for config in configs])

        found = [asked("model", 24, seed=seed, estimate=estimate)[:24] for seed in range(4)]
        return sum(each.index(min(each, key=seconds)) for each in found)

    assert 3 * tries(1.0) < 2 * tries(0.0)


# ---- replays


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = ["rows,columns,order,stages,fixed,time_ms,compile_ms,benchmark_ms"]
    for config in SPACE:
        took = seconds(config)
        time = f"{1e3 * took:.6f}" if math.isfinite(took) else ""
        rows.append(",".join(map(str, [*config.values(), time, 100, 20])))
    path = tmp_path / "bowl.csv.gz"
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    return path


def test_a_recorded_space_is_what_was_recorded(table: Path) -> None:
    given = recorded.read(table)
    assert given.name == "bowl"
    assert given.space().count() == SPACE.count() == len(given.times)
    assert given.best == pytest.approx(1.0)
    assert given.records[BEST].timing.median == pytest.approx(1e-3)
    assert given.seconds[BEST] == pytest.approx(0.12)
    failed = next(config for config, time in given.times.items() if math.isinf(time))
    assert given.records[failed].status == "crashed"


def test_a_space_of_ones_own_knows_its_default_and_its_cost_model() -> None:
    for path in (found for name in ("lanes", "middle", "tile") for found in record_.FOLDER.glob(f"{name}-*")):
        given = recorded.read(path)
        starts, estimate = record_.told(path, given)
        some = list(given.times)[:3]
        assert all(start in given.times for start in starts), path
        assert estimate is None or np.isfinite(estimate(some)).all(), path
        assert estimate is not None or path.name.startswith("lanes"), "which has no model"


def test_a_table_is_written_as_it_is_read(tmp_path: Path) -> None:
    costs = {"compile_ms": 300, "benchmark_ms": 12, "why": ""}
    lines = [
        {"a": 1, "path": "bulk", "time_ms": "0.25", **costs},
        {"a": 2, "path": "bulk", "time_ms": "", **costs},
    ]
    path = tmp_path / "some-h200.csv.gz"
    path.write_bytes(record_.written(lines))
    given = recorded.read(path)
    assert given.times == {Config({"a": 1, "path": "bulk"}): 0.25, Config({"a": 2, "path": "bulk"}): math.inf}
    assert record_.told(path, given) == ([], None)


def test_a_table_without_costs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("a,time_ms\n1,2\n")
    with pytest.raises(SystemExit, match="compile_ms"):
        recorded.read(path)


def test_the_expectation_of_random_search_is_exact() -> None:
    times = (4.0, 1.0, 3.0, math.inf, 2.0)
    expected = search.expectation(times, 5)
    # Failures count as the slowest: of 1, 2, 3, 4, 4.
    assert expected[0] == pytest.approx(14 / 5)
    pairs = [min(a, b) for n, a in enumerate((1, 2, 3, 4, 4)) for b in (1, 2, 3, 4, 4)[n + 1 :]]
    assert expected[1] == pytest.approx(statistics.mean(pairs))
    assert expected[4] == pytest.approx(1.0)


def test_the_score_is_0_for_random_search_and_1_for_the_optimum_at_once(table: Path) -> None:
    given = recorded.read(table)
    tries = search.horizon(given)
    assert 1 < tries < SPACE.count()
    at_once = search.Trace([given.best] * tries, [1e-9] * tries, 0.0)
    assert search.scores(given, [at_once], tries, by_seconds=True)[0] == pytest.approx(1.0)
    space = given.space()
    runs = [search.played(given, space, "sample", seed, tries) for seed in range(24)]
    assert abs(search.scores(given, runs, tries, by_seconds=False).mean()) < 0.25


def test_the_command_says_it_in_lines(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = recorded.read(table)
    runs = [search.played(given, given.space(), "model", seed, 30) for seed in range(4)]
    line = search.line(given, "model", runs, 30)
    assert set(line["found"]) == {"16", "25"}
    mean, low, high = line["found"]["25"]
    assert 0 < low <= mean <= high <= 1
    other = {"search": "other", "found": {"25": [0.5, 0.4, 0.7]}}
    against = search.compared([line], [other])["against"]
    assert set(against) == {"25"}, "where both have a figure"
    assert against["25"]["rival"] == "other"
    difference, least, most = against["25"]["model"]
    assert difference == pytest.approx(mean - 0.5, abs=1e-4)
    assert least < difference < most
    assert difference - least >= 0.199, "no surer than the other is"
