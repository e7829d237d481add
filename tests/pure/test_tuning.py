"""What is tuned when a user names a problem, and how the tuner decides, with children that only pretend."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright import api
from tilewright.calls import explain, settings
from tilewright.catalog import STENCILS
from tilewright.cli import main, render
from tilewright.errors import ArgumentError
from tilewright.model import Binary, Config, Device, Problem, Record, Timing, Verdict
from tilewright.planning import dispatch
from tilewright.runtime import call_cache
from tilewright.space import HARDWARE, Space
from tilewright.store.records import Records
from tilewright.tuning import farm, final, pipeline
from tilewright.tuning import timing as measure
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.evaluate import Candidate, FinalRound, Kind, Outcome
from tilewright.tuning.final import FINALISTS
from tilewright.tuning.gemm.jobs import BETAS, tuning_jobs
from tilewright.tuning.search.table import SEARCHES
from tilewright.tuning.tuner import Progress, Result, Tuner
from tilewright.tuning.workers import Answer

pytestmark = pytest.mark.pure

# The package has a function of the name of that module.
TUNE = sys.modules[Tuner.__module__]
MB = 1 << 20
LIMITS = {
    "vector_bits": 512,
    "vector_registers": 32,
    "masks": 1,
    "cores": 1,
    "l1d": 48 << 10,
    "l2": 2 * MB,
    "l3": 32 * MB,
}
DEVICE = Device("cpu", "A processor", "made-up-avx512", LIMITS, "x86_64/made-up +fma")


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


# ---- what a spelling means


def test_a_spelling_means_both_betas_and_both_regimes() -> None:
    jobs = tuning_jobs(["d:2..3", one("s:4x4x4", beta="any")], BETAS, ("memory", "cached"))
    assert [(job.problem.m, job.problem.beta, job.regime, job.part) for job in jobs] == [
        (2, "0", "memory", 0.5),
        (2, "1", "memory", 0.5),
        (2, "0", "cached", 0.5),
        (2, "1", "cached", 0.5),
        (3, "0", "memory", 0.5),
        (3, "1", "memory", 0.5),
        (3, "0", "cached", 0.5),
        (3, "1", "cached", 0.5),
        (4, "any", "memory", 1),
        (4, "any", "cached", 1),
    ]
    alone = tuning_jobs("d:8x8x8", "1", "cached")
    assert [(job.problem.beta, job.regime, job.part) for job in alone] == [("1", "cached", 1)]


@dataclass
class FakeTuner:
    """In place of the tuner: what it was asked for."""

    asked: list[tuple[Problem, str, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, *_: Any, **__: Any) -> FakeTuner:
        return self

    def __enter__(self) -> FakeTuner:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def tune(self, problem: Problem, regime: str, **options: Any) -> Result:
        self.asked.append((problem, regime, options))
        return Result(problem, regime, None, None)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Problem, str, dict[str, Any]]]:
    fake = FakeTuner()
    monkeypatch.setattr("tilewright.tuning.tuner.Tuner", fake)
    monkeypatch.setattr(settings, "forget", lambda: None)
    monkeypatch.setattr(api, "dispatch", _Dispatch)
    return fake.asked


class _Dispatch:
    """What ``tune`` needs of the dispatcher."""

    @staticmethod
    def device(kind: str) -> Device:
        return DEVICE

    @staticmethod
    def records() -> None:
        return None


def test_a_budget_is_that_of_the_whole_run(asked: list[Any]) -> None:
    api.tune(["d:2", "d:3"], budget=10.0, betas="0", regimes="memory")
    assert [options["budget"] for _, _, options in asked] == [5.0, 5.0]
    assert [options["place"] for _, _, options in asked] == [(0, 2), (1, 2)]
    asked.clear()
    api.tune("d:2", budget=10.0)
    assert [options["budget"] for _, _, options in asked] == [2.5] * 4


def test_betas_share_the_seconds_of_an_effort(asked: list[Any]) -> None:
    api.tune("d:2", betas=("0",))
    (first, second) = [options["budget"] for _, _, options in asked]
    asked.clear()
    api.tune("d:2")
    assert sum(options["budget"] for _, _, options in asked) == pytest.approx(first + second)
    assert [(problem.beta, regime) for problem, regime, _ in asked] == [
        ("0", "memory"),
        ("1", "memory"),
        ("0", "cached"),
        ("1", "cached"),
    ]
    asked.clear()
    api.tune(one("d:2", beta="1"), regimes="cached")
    assert [options["budget"] for _, _, options in asked] == [first]


def test_nothing_to_tune_is_no_error(asked: list[Any]) -> None:
    assert api.tune([], budget=1.0) == []


def test_the_command_narrows_what_is_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def tune(problems: Any, **options: Any) -> list[Result]:
        seen.append(options | {"problems": problems})
        return []

    monkeypatch.setattr(api, "tune", tune)
    monkeypatch.setattr(main.dispatch, "device", lambda kind="cpu": DEVICE)
    with pytest.raises(SystemExit):
        main.main(["tune", "d:2", "--beta", "2"])
    main.main(["tune", "d:2", "--json"])
    main.main(["tune", "d:2", "--json", "--beta", "1,any", "--regime", "cached"])
    assert [(list(each["betas"]), list(each["regimes"])) for each in seen] == [
        (["0", "1"], ["memory", "cached"]),
        (["1", "any"], ["cached"]),
    ]
    assert seen[0]["problems"] == ["d:2"]


# ---- the demo


@pytest.mark.parametrize("knee", [1.0 * MB, 1024.0 * MB])
def test_the_demo_tunes_what_its_own_example_runs(monkeypatch: pytest.MonkeyPatch, knee: float) -> None:
    """Whatever regime this machine has the example in, and with a beta of 1 too."""
    jobs: list[tuple[str, str]] = []
    seconds = 0.0

    def tuned(problems: Any, effort: str, budget: float, regimes: Any, quiet: bool) -> list[Result]:
        nonlocal seconds
        seconds += budget
        jobs.extend((problem.key, regime) for problem in problems for regime in regimes)
        return []

    monkeypatch.setattr(main, "tuned", tuned)
    monkeypatch.setattr(main.queries, "settled", lambda problem, regime: problem.m == 32)
    problems = [problem for n in main.DEMO for problem in Problem.parse(f"d:{n}")]
    main._demo_tuned(problems, quiet=True)
    spelled = main.PYTHON.partition('explain("')[2].partition('"')[0]
    device = replace(DEVICE, limits={**LIMITS, "l3": 1024 * MB}, ceilings={"knee.1": knee})
    for beta in ("0", "1"):
        example = one(spelled, beta=beta)
        assert dispatch.regime(example, device) == ("cached" if knee > 200 * MB else "memory")
        assert (example.key, dispatch.regime(example, device)) in jobs
    # What is settled is left alone, and the whole is as long as one regime at full length was.
    assert len(jobs) == len(set(jobs)) == 4 * (len(main.DEMO) - 1)
    assert not [key for key, _ in jobs if "32x32x32" in key]
    assert seconds <= 6.0 * len(problems)


def test_the_part_of_a_job_that_is_done() -> None:
    state = Progress(one("d:2"), "tile", tried=30, best=None, elapsed=2.0, budget=8.0, done=0, problems=1)
    assert main.done_of(state, None) == 0.25
    # An exhaustive search has no end in seconds, one with a budget that of whichever comes first.
    assert main.done_of(state, 40) == 0.75
    assert main.done_of(state, 300) == 0.25
    assert main.done_of(replace(state, budget=float("inf")), 300) == 0.1


# ---- how the tuner decides


@dataclass
class Bench:
    """A timing child that has no device: ``seconds`` by config, which are ``wrong`` in the final round."""

    seconds: Callable[[Config], float]
    wrong: Callable[[Config], bool] = lambda config: False
    error: float = 0.25
    final_error: float = 0.0
    limits: list[float] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)
    rounds: list[list[Config]] = field(default_factory=list)
    alive: bool = True
    batch: int = 0

    pipe: None = None
    request: Any = None

    __hash__ = object.__hash__  # type: ignore[assignment]

    def stop(self) -> None:
        pass

    @property
    def busy(self) -> bool:
        return self.request is not None

    @property
    def free(self) -> bool:
        return not self.busy

    def prepare(self, request: Any, timeout: float | None = None) -> None:
        self.batch = request[1].batch

    def send(self, request: Any, timeout: float | None = None) -> None:
        self.request = request

    def receive(self) -> Answer:
        request, self.request = self.request, None
        return self.ask(request)

    def ask(self, request: Any, timeout: float | None = None) -> Answer:
        name, *rest = request
        return Answer(request, "ok", None if name == "prepare" else getattr(self, name)(*rest))

    def timing(self, config: Config, protocol: int) -> Timing:
        seconds = self.seconds(config)
        return Timing((seconds,), seconds, seconds, seconds, "memory", self.batch, protocol)

    def attempt(self, candidate: Candidate, least: int, budget: float, limit: float) -> Outcome:
        self.limits.append(limit)
        self.passes.append(self.seconds(candidate.config))
        return Outcome(Verdict(True, self.error), self.timing(candidate.config, measure.ALONE))

    def final(self, candidates: list[Candidate], rounds: int) -> FinalRound:
        self.rounds.append([candidate.config for candidate in candidates])
        verdicts = [Verdict(not self.wrong(c.config), self.final_error, "said so") for c in candidates]
        timings = [self.timing(c.config, measure.INTERLEAVED) for c in candidates]
        return FinalRound([Outcome(*pair) for pair in zip(verdicts, timings, strict=True)], None)


class Compiled:
    """A stream of compilers that are at once done."""

    def __init__(self, facts: Callable[[Config], dict[str, int]], requests: Iterable[Any]):
        self.answers = (
            r if r is None or isinstance(r, Answer) else self.made(r, facts(r[2])) for r in requests
        )
        self.done = False

    def made(self, request: Any, facts: dict[str, int]) -> Answer:
        return Answer(request, "ok", Binary(b"", "k", "digest", facts))

    def __iter__(self) -> Iterator[Answer]:
        return self

    def __next__(self) -> Answer:
        return next(self.answers)

    def poll(self) -> Answer | None:
        try:
            return None if self.done else next(self.answers)
        except StopIteration:
            self.done = True
            return None

    def advance(self) -> None:
        pass

    def pipes(self) -> list[Any]:
        return []

    def drop(self, patience: float = 0.0) -> None:
        self.done = True


@pytest.fixture(autouse=True)
def _nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children here answer at once, and have no pipes that could say so."""
    monkeypatch.setattr(pipeline, "wait", lambda *_, **__: [])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Records]:
    made = Records(tmp_path / "records.sqlite", shipped=tmp_path)
    yield made
    made.close()


@pytest.fixture
def tuner(store: Records, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tuner]:
    """Makes a tuner over a timing child that pretends."""

    def make(bench: Bench, facts: Callable[[Config], dict[str, int]] = lambda config: {}) -> Tuner:
        kind = Kind(
            lambda device: lambda request: None, sized, lambda device: 1, {"memory": 1.0}, early_stop=1.5
        )
        monkeypatch.setitem(TUNE.EVALUATIONS, "cpu", kind)
        monkeypatch.setattr(farm, "Worker", lambda *_, **__: bench)
        for module in (TUNE, final):
            monkeypatch.setattr(module, "stream", lambda workers, requests, ahead: Compiled(facts, requests))
        return Tuner(DEVICE, store)

    return make


def sized(problem: Problem, regime: str, device: Device) -> Problem:
    return problem.with_(batch=7)


def free(problem: Problem, *names: str) -> Callable[[Space], Space]:
    """The tile stencil's space with nothing left to choose but these parameters."""
    default = STENCILS["tile"].default(problem, DEVICE)
    held = {name: value for name, value in default.items() if name not in names} | {"roll": 0}
    return lambda space: space.only(HARDWARE).restricted(**held)


def tried(tuner: Tuner, problem: Problem, *names: str, search: str = "exhaustive") -> Result:
    options: dict[str, Any] = {"search": search, "budget": 60.0, "stencils": ("tile",)}
    return tuner.tune(problem, "memory", spaces=free(problem, *names), **options)


NARROW = one("d:4x6x4")


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


def record(problem: Problem, config: Config, regime: str = "memory") -> Record:
    timing = Timing((1e-3,), 1e-3, 1e-3, 1e-3, regime, 7, 2)
    return Record(
        problem,
        regime,
        "tile",
        config,
        "ok",
        DEVICE.key,
        "1",
        timing=timing,
        seconds=1e-3,
        protocol=2,
        when="2026-01-01",
    )


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


# ---- the ladder of effort


def test_what_won_before_is_a_finalist_however_its_first_try_came_out(tuner: Any, store: Records) -> None:
    """More configs are faster at first sight than there are finalists."""
    space = free(NARROW, "blk_n", "blk_k", "inner")(STENCILS["tile"].space(NARROW, DEVICE))
    winner = max(space, key=lambda config: (config["blk_n"], repr(config)))
    assert space.count() > FINALISTS
    store.append(replace(record(sized(NARROW, "memory", DEVICE), winner), problem=NARROW.with_(batch=7)))
    bench = Bench(lambda config: 1.0 if config == winner else 1e-3 * config["blk_n"])
    tried(tuner(bench), NARROW, "blk_n", "blk_k", "inner")
    assert winner in bench.rounds[0]


@pytest.mark.parametrize("first_try", [1.0, 1e-6])
def test_a_quick_run_never_ends_slower_than_the_shipped_record(
    tuner: Any, store: Records, tmp_path: Path, first_try: float
) -> None:
    """With no time to search, whatever the shipped winner's first try says, and whatever won here before."""
    space = free(NARROW, "blk_n", "blk_k", "inner")(STENCILS["tile"].space(NARROW, DEVICE))
    problem = sized(NARROW, "memory", DEVICE)
    shipped, *others = sorted(space, key=repr)
    source = Records(tmp_path / "elsewhere.sqlite", shipped=tmp_path)
    source.append(record(problem, shipped))
    source.export(tmp_path / f"{DEVICE.key}.jsonl")
    source.close()
    for each in others:
        store.append(record(problem, each))

    class Clock(Bench):
        def seconds_of(self, config: Config) -> float:
            return 1e-3 if config == shipped else 2e-3

        def attempt(self, candidate: Candidate, least: int, budget: float, limit: float) -> Outcome:
            outcome = super().attempt(candidate, least, budget, limit)
            alone = Timing((first_try,), first_try, first_try, first_try, "memory", self.batch, measure.ALONE)
            return outcome._replace(timing=alone) if candidate.config == shipped else outcome

    bench = Clock(lambda config: bench.seconds_of(config))
    result = tuner(bench).tune(
        NARROW, "memory", search="starts", budget=0.0, stencils=("tile",),
        spaces=free(NARROW, "blk_n", "blk_k", "inner"),
    )  # fmt: skip
    assert shipped in bench.rounds[0]
    assert (result.best.config, result.best.timing.median) == (shipped, 1e-3)


def test_a_budget_of_tries_counts_what_is_measured(tuner: Any, store: Records) -> None:
    bench = Bench(lambda config: 1e-3 * config["blk_n"])
    made, options = tuner(bench), {"search": "exhaustive", "budget": 60.0, "stencils": ("tile",)}
    spaces = free(NARROW, "blk_n", "blk_k")
    first = made.tune(NARROW, "memory", spaces=spaces, tries=3, **options)
    assert (first.tried, len(bench.passes)) == (3, 3)
    again = made.tune(NARROW, "memory", spaces=spaces, tries=2, **options)
    assert len(bench.passes) == 5, "what is known is not counted"
    assert again.tried > 2


def test_estimate_measures_the_starts_and_searches_nothing(tuner: Any, store: Records) -> None:
    problem = one("d:8x8x8@7")
    default = STENCILS["tile"].default(problem, DEVICE)
    near = default.with_(prefetch=1)
    store.append(record(one("d:8x8x8@7", alpha="any"), near))
    bench = Bench(lambda config: 1e-3)
    effort = EFFORTS["estimate"]
    result = tuner(bench).tune(
        problem, "memory", search=effort.search, budget=effort.seconds, stencils=("tile",),
        spaces=lambda space: space.only(HARDWARE),
    )  # fmt: skip
    assert result.tried == 2
    assert set(bench.rounds[0]) == {default, near}


def test_records_only_measures_nothing(tuner: Any, store: Records) -> None:
    problem = one("d:8x8x8")
    bench = Bench(lambda config: 1.0)
    made = tuner(bench)
    assert made.recorded(problem, "memory").best is None
    config = STENCILS["tile"].default(problem, DEVICE)
    store.append(record(problem.with_(batch=7), config))
    result = made.recorded(problem, "memory")
    assert (result.best.config, result.tried, bench.rounds) == (config, 0, [])
    assert (result.vendor, result.missing) == (None, "none is recorded")


def test_efforts_are_checked_and_asked_for(asked: list[Any]) -> None:
    for options in ({"effort": "hard"}, {"search": "luck"}, {"tries": 0}):
        with pytest.raises(ArgumentError, match=f"{next(iter(options))}=.*accepted"):
            api.tune("d:2", **options)
    api.tune("d:2", betas="0", regimes="memory", search="climb", tries=9)
    ((_, _, options),) = asked
    assert (options["search"], options["tries"], options["budget"]) == ("climb", 9, EFFORTS["quick"].seconds)
    assert [name for _, name in EFFORTS.values() if name and name not in SEARCHES] == []


def test_who_is_tied_and_what_disturbed_them_is_said(tuner: Any, store: Records) -> None:
    def seconds(config: Config) -> float:
        return 1e-3 if config["blk_n"] in (2, 3) else 2e-3

    class Turns(Bench):
        def timing(self, config: Config, protocol: int) -> Timing:
            taken = seconds(config) * np.array([1.0, 1.001] * 10)
            return Timing(tuple(taken), taken[0], taken[0], taken[1], "memory", self.batch, protocol)

        def final(self, candidates: list[Candidate], rounds: int) -> FinalRound:
            return super().final(candidates, rounds)._replace(note="a storm")

    result = tried(tuner(Turns(seconds)), NARROW, "blk_n")
    assert result.best.config["blk_n"] == 2, "the first in order"
    assert [row.config["blk_n"] for row in result.tied] == [3]
    assert result.note == "a storm"
    found = store.best(result.best.problem.key, "memory", DEVICE.key)
    assert (found.config, found.protocol) == (result.best.config, measure.DECIDED)
    assert found.detail == "tied with another; a storm"


def test_a_program_that_several_problems_have_is_compiled_once(
    tuner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Config] = []

    class Shared(Compiled):
        def made(self, request: Any, facts: dict[str, int]) -> Answer:
            name, problem, config = request
            compiled.append(config)
            digest = STENCILS[name].source(problem, config, DEVICE).digest
            return Answer(request, "ok", Binary(b"", "k", digest, facts))

    made = tuner(Bench(lambda config: 1e-3 * config["blk_n"]))
    monkeypatch.setattr(TUNE, "stream", lambda _, requests, __: Shared(lambda config: {}, requests))
    made.kind = replace(made.kind, shared=True, budgets={"memory": 1.0, "cached": 1.0})
    options: dict[str, Any] = {"search": "exhaustive", "budget": 60.0, "stencils": ("tile",)}
    found = [
        made.tune(NARROW, regime, spaces=free(NARROW, "blk_n"), **options) for regime in ("memory", "cached")
    ]
    assert found[0].tried == found[1].tried == len(compiled) > 1
    monkeypatch.setattr(TUNE, "KEPT", 1)
    made.tune(NARROW.with_(beta="1"), "memory", spaces=free(NARROW, "blk_n"), **options)
    assert len(made._programs) == 1


def test_the_next_stencil_is_searched_while_tries_of_the_one_before_are_at_work(tuner: Any) -> None:
    @dataclass(eq=False)
    class Late(Bench):
        """It answers nothing after the first try before it has tries of two stencils, for a while."""

        held: deque[Any] = field(default_factory=deque)
        seen: set[str] = field(default_factory=set)
        looks: int = 0

        @property
        def free(self) -> bool:
            return True

        @property
        def busy(self) -> bool:
            return bool(self.held)

        def send(self, request: Any, timeout: float | None = None) -> None:
            self.held.append(request)
            if request[0] == "attempt":
                self.seen.add(request[1].stencil)

        def receive(self) -> Answer | None:
            self.looks += 1
            if self.passes and len(self.seen) < 2 and self.looks < 1000:
                return None
            return self.ask(self.held.popleft())

    bench = Late(lambda config: 1e-3)
    problem = one("d:4x4x4")
    result = tuner(bench).tune(
        problem, "memory", search="sample", budget=60.0, tries=4, stencils=["tile", "lanes"]
    )
    assert bench.looks < 1000
    assert result.statuses == {"ok": 4}
    assert result.best is not None


def test_kernels_are_timed_in_turns_as_in_a_final_round(tuner: Any, store: Records) -> None:
    space = free(NARROW, "blk_n")(STENCILS["tile"].space(NARROW, DEVICE))
    kernels = [("tile", config) for config in list(space)[:3]]
    bench = Bench(lambda config: 1e-3 * config["blk_n"])
    found = tuner(bench).in_turns(NARROW, "memory", kernels)
    assert list(found) == kernels
    assert bench.rounds == [[config for _, config in kernels]]
    assert {each[1]["blk_n"]: row.timing.median for each, row in found.items()} == {
        config["blk_n"]: 1e-3 * config["blk_n"] for _, config in kernels
    }
    assert [row.protocol for row in found.values()] == [measure.DECIDED, *[measure.INTERLEAVED] * 2]
    assert [row.protocol for row in store.all()] == [row.protocol for row in found.values()]

    class Dead(Bench):
        def ask(self, request: Any, timeout: float | None = None, meanwhile: Any = None) -> Answer:
            return Answer(request, "ok" if request[0] == "prepare" else "crashed")

    assert tuner(Dead(lambda config: 1.0)).in_turns(NARROW, "memory", kernels) == {}


# ---- what is said of it


def test_the_speed_of_a_tuned_plan_is_of_all_its_products(
    store: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = one("d:16x16x16@1000")
    ceilings = {"peak.d.1": 100e9, "knee.1": 2.0**40, "price_unit_bits": 256.0}
    device = replace(DEVICE, ceilings=ceilings)
    config = STENCILS["tile"].default(problem, device)
    timing = Timing((2e-3,), 2e-3, 2e-3, 2e-3, "cached", 4000, 2)
    store.append(replace(record(problem, config, "cached"), timing=timing))
    call_cache.clear()
    monkeypatch.setattr(dispatch, "records", lambda: store)
    monkeypatch.setattr(dispatch.records, "cache_clear", lambda: None, raising=False)
    try:
        lines = explain.explain_plan(dispatch.plan(problem, device)).splitlines()
    finally:
        call_cache.clear()
    # 4000 products of 8192 operations in 2 ms.
    assert lines[1].startswith("  runs   tuned: tile, ")
    assert lines[-2:] == [
        "  bound  100.0 GF/s on one core, by peak",
        "  speed  16.4 GF/s when it was tuned, 16 % of the bound",
    ]


@pytest.mark.parametrize(
    ("batch", "grain", "cores", "used"),
    [
        (100, 50, 8, 2),
        (99, 50, 8, 1),
        (149, 50, 8, 2),
        (1000, 50, 8, 8),
        (3, 50, 8, 1),
        (0, 1, 8, 1),
        (5, 0, 8, 5),
    ],
)
def test_every_core_gets_its_grain(batch: int, grain: int, cores: int, used: int) -> None:
    assert dispatch.threads(one(f"d:8x8x8@{batch}"), grain, cores) == used


def test_a_funnel_says_what_was_removed_and_what_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = {"rule": "registers", "kind": "hard", "removed": 40, "left": 60, "why": "there are no more"}
    data = {"problem": "d:nn:8x8x8@1", "beta": "0", "regime": "memory", "stencil": "tile", "device": "x"}
    render.spaces([data | {"all": 100, "left": 60, "funnel": [step], "tried": {"ok": 3}}])
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["rule", "kind", "removed", "left"] in [line[:4] for line in words]
    assert ["registers", "hard", "40", "60"] in [line[:4] for line in words]


@pytest.mark.parametrize(
    ("percent", "remark"), [(100.0, False), (105.0, False), (105.1, True), (None, False)]
)
def test_a_remark_says_that_a_bound_is_too_low(
    percent: float | None, remark: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "problem": "d:nn:8x8x8@1",
        "beta": "0",
        "regime": "memory",
        "kind": "cpu",
        "cores": 1,
        "gflops": 1.0,
        "percent_of_bound": percent,
        "ratios": {"numpy": 2.0},
        "origin": "tuned",
        "stencil": "tile",
        "missing": [],
    }
    render.comparison([row])
    assert ("measured in a slower moment" in capsys.readouterr().out) == remark
