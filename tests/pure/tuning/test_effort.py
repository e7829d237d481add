"""What each effort measures, and in which order, with children that only pretend."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.pure.tuning.children import DEVICE, NARROW, TUNE, Bench, Compiled, free, one, record, sized, tried
from tilewright.catalog import STENCILS
from tilewright.model import Binary, Config, Timing
from tilewright.space import HARDWARE
from tilewright.store.records import Records
from tilewright.tuning import timing as measure
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.evaluate import Candidate, FinalRound, Outcome
from tilewright.tuning.final import FINALISTS
from tilewright.tuning.workers import Answer

pytestmark = pytest.mark.pure


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
