"""What is tuned when a user names a problem, for how long, and what the demo tunes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.pure.tuning.children import DEVICE, LIMITS, MB, one
from tilewright import api
from tilewright.calls import settings
from tilewright.cli import main
from tilewright.cli.commands import demo, tuning
from tilewright.errors import ArgumentError
from tilewright.model import Device, Problem
from tilewright.planning import dispatch
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.gemm.jobs import BETAS, tuning_jobs
from tilewright.tuning.results import Progress, Result
from tilewright.tuning.search.table import SEARCHES

pytestmark = pytest.mark.pure


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
    monkeypatch.setattr(dispatch, "device", lambda kind="cpu": DEVICE)
    with pytest.raises(SystemExit):
        main.main(["tune", "d:2", "--beta", "2"])
    main.main(["tune", "d:2", "--json"])
    main.main(["tune", "d:2", "--json", "--beta", "1,any", "--regime", "cached"])
    assert [(list(each["betas"]), list(each["regimes"])) for each in seen] == [
        (["0", "1"], ["memory", "cached"]),
        (["1", "any"], ["cached"]),
    ]
    assert seen[0]["problems"] == ["d:2"]


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

    monkeypatch.setattr(demo, "tuned", tuned)
    monkeypatch.setattr(demo.runs, "settled", lambda problem, regime: problem.m == 32)
    problems = [problem for n in demo.DEMO for problem in Problem.parse(f"d:{n}")]
    demo._demo_tuned(problems, quiet=True)
    spelled = demo.PYTHON.partition('explain("')[2].partition('"')[0]
    device = replace(DEVICE, limits={**LIMITS, "l3": 1024 * MB}, ceilings={"knee.1": knee})
    for beta in ("0", "1"):
        example = one(spelled, beta=beta)
        assert dispatch.regime(example, device) == ("cached" if knee > 200 * MB else "memory")
        assert (example.key, dispatch.regime(example, device)) in jobs
    # What is settled is left alone, and the whole is as long as one regime at full length was.
    assert len(jobs) == len(set(jobs)) == 4 * (len(demo.DEMO) - 1)
    assert not [key for key, _ in jobs if "32x32x32" in key]
    assert seconds <= 6.0 * len(problems)


def test_the_part_of_a_job_that_is_done() -> None:
    state = Progress(one("d:2"), "tile", tried=30, best=None, elapsed=2.0, budget=8.0, done=0, problems=1)
    assert tuning.done_of(state, None) == 0.25
    # An exhaustive search has no end in seconds, one with a budget that of whichever comes first.
    assert tuning.done_of(state, 40) == 0.75
    assert tuning.done_of(state, 300) == 0.25
    assert tuning.done_of(replace(state, budget=float("inf")), 300) == 0.1


def test_efforts_are_checked_and_asked_for(asked: list[Any]) -> None:
    for options in ({"effort": "hard"}, {"search": "luck"}, {"tries": 0}):
        with pytest.raises(ArgumentError, match=f"{next(iter(options))}=.*accepted"):
            api.tune("d:2", **options)
    api.tune("d:2", betas="0", regimes="memory", search="climb", tries=9)
    ((_, _, options),) = asked
    assert (options["search"], options["tries"], options["budget"]) == ("climb", 9, EFFORTS["quick"].seconds)
    assert [name for _, name in EFFORTS.values() if name and name not in SEARCHES] == []
