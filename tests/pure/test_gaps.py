"""Calls without a record: which are counted, how the file adds them up, and what is tuned first."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import api
from tilewright.calls import gaps as opened
from tilewright.calls import settings
from tilewright.errors import ArgumentError, RecordsError
from tilewright.model import Config, Device, GroupedProblem, Plan, Problem, Record, Timing, parsed
from tilewright.planning import dispatch
from tilewright.runtime import gaps as counting
from tilewright.runtime.gaps import Counted, Counts, is_gap, watched
from tilewright.store import gaps as file
from tilewright.store.records import Records
from tilewright.tuning.gemm.jobs import gap_jobs

pytestmark = pytest.mark.pure

DEVICE = dispatch.device()


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


def plan_of(problem: Any, origin: str = "default", stencil: str | None = "tile") -> Plan:
    config = None if stencil is None else Config({})
    return Plan(problem, DEVICE, "cached", origin, "", stencil, config)


@pytest.fixture(autouse=True)
def counts(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counts]:
    """Counts of this test alone, switched on, each of which is written at once."""
    made = Counts()
    for module in (counting, opened, settings):
        monkeypatch.setattr(module, "COUNTS", made)
    monkeypatch.setattr(counting, "INTERVAL", 0.0)
    made.want(True)
    yield made
    made.want(False)


class Kernel:
    """What a plan is bound to: it serves arrays that are numbers from 0."""

    origin = "somewhere"

    def run(self, *arrays: int) -> int:
        return sum(arrays)

    def function(self, *arrays: int) -> Any:
        return (lambda a, b, out: NotImplemented if a < 0 else out) if arrays else None


def test_calls_are_counted_whichever_way_they_go(counts: Counts) -> None:
    bound = watched(plan_of(one("d:8x8x8@10")), Kernel(), runs=3)
    assert isinstance(bound, Counted)
    assert (bound.run(1, 2, 3), bound.origin, bound.function()) == (6, "somewhere", None)
    call = bound.function(1)
    assert [call(each, 0, 7) for each in (1, -1, 1, 1)] == [7, NotImplemented, 7, 7]
    counts.write(now=True)
    (gap,) = file.read()
    assert (gap.calls, gap.products, gap.origin, gap.regime) == (4, 4 * 30, "default", "cached")
    assert gap.problem == one("d:8x8x8@10")
    assert gap.seconds is not None
    assert gap.seconds >= 0
    counts.write(now=True)
    assert file.read() == [gap], "nothing is written twice"


def test_what_is_off_is_left_as_it_is(counts: Counts, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel()
    counts.want(False)
    assert watched(plan_of(one("d:8x8x8")), kernel) is kernel
    counting.passed(plan_of(one("d:8x8x8")))
    assert counts.cells == {}
    for value, wanted in ((None, False), ("0", False), ("", False), ("1", True)):
        monkeypatch.delenv("TILEWRIGHT_GAPS", raising=False)
        if value is not None:
            monkeypatch.setenv("TILEWRIGHT_GAPS", value)
        fresh = Counts()
        assert fresh.on() == wanted, value
        fresh.want(False)
    settings.count_gaps(True)
    assert counts.on()
    with pytest.raises(ArgumentError, match="wanted=1; accepted: True or False"):
        settings.count_gaps(1)  # type: ignore[arg-type]


def test_what_has_a_record_or_could_have_none_is_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    # No processor has a shipped record of these extents.
    problem = one("d:9x11x7")
    assert all(is_gap(plan_of(problem, origin)) for origin in ("default", "near", "kin"))
    assert not any(is_gap(plan_of(problem, origin)) for origin in ("tuned", "forced"))
    assert not is_gap(plan_of(problem.with_(pointers=True)))
    assert not is_gap(plan_of(problem.with_(outer=((2, 63, 0, 99),))))
    assert is_gap(plan_of(problem, "vendor", None)), "a near record of the library's"
    assert not is_gap(plan_of(one("d:800x800x800"), "vendor", None)), "no stencil accepts it"
    monkeypatch.setattr(dispatch, "best", lambda *_: object())
    assert not is_gap(plan_of(problem, "vendor", None)), "a record of the library's"
    (several,) = parsed("d:8x8x8@2+4x4x4@3")
    assert isinstance(several, GroupedProblem)
    assert is_gap(plan_of(several))


def test_the_file_adds_up_what_several_processes_count() -> None:
    program = (
        "from tilewright.model import Problem\nfrom tilewright.store import gaps as file\n"
        "gap = file.Gap(Problem.parse('d:8x8x8@10')[0], 'here', 'cpu', 'memory', 'near', 3, 30, None)\n"
        "for _ in range(40): file.add([gap])"
    )
    running = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [each.wait(60) for each in running] == [0, 0]
    file.add([file.Gap(one("d:8x8x8@20"), "here", "cpu", "memory", "kin", 1, 20, 2e-9)])
    file.add([file.Gap(one("d:8x8x8@5"), "here", "cpu", "memory", "kin", 1, 5, 3e-9)])
    (found,) = file.read()
    assert (found.calls, found.products, found.seconds, found.origin) == (242, 2425, 2e-9, "kin")
    assert found.problem.batch == 20, "that on which there is most to measure"
    assert (file.clear(), file.read(), file.clear()) == (1, [], 0)


def test_a_file_that_is_damaged_or_newer(counts: Counts) -> None:
    file.path().parent.mkdir(parents=True, exist_ok=True)
    file.path().write_bytes(b"no database at all, but rather long, so that nobody takes it for an empty one")
    gap = file.Gap(one("d:8x8x8"), "here", "cpu", "memory", "near", 1, 1)
    with pytest.warns(RuntimeWarning, match="is damaged"):
        file.add([gap])
    assert file.read() == [gap]
    assert len(list(file.path().parent.glob("gaps.sqlite.damaged-*"))) == 1
    with sqlite3.connect(file.path()) as held:
        held.execute("UPDATE gaps SET problem = '{}'")
    with pytest.warns(RuntimeWarning, match="passed over"):
        assert file.read() == []
    with sqlite3.connect(file.path()) as held:
        held.execute("PRAGMA user_version = 9")
    with pytest.raises(RecordsError, match="schema 9; accepted: up to 1"):
        file.read()
    with pytest.warns(RuntimeWarning, match="calls are not counted"):
        watched(plan_of(one("d:8x8x8")), Kernel()).run()


def test_the_child_of_a_fork_does_not_write_what_its_parent_counted(counts: Counts) -> None:
    bound = watched(plan_of(one("d:8x8x8")), Kernel())
    bound.run()
    counts.written = float("inf")
    bound.run()
    counts.drop()
    bound.run()
    counts.write(now=True)
    assert [gap.calls for gap in file.read()] == [2]


def test_worst_expected_loss_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """By calls, by batches, by what was seen, and no longer where there is a record."""
    ceilings = {"peak.d.1": 1e10, "bandwidth.update.1": 1e10, "price_unit_bits": 64.0}
    # A processor that no records ship for, nor for one like it.
    device = Device(DEVICE.kind, DEVICE.name, "nobody's", DEVICE.limits, DEVICE.features, ceilings)
    monkeypatch.setattr(dispatch, "device", lambda kind="cpu": device)
    tuned = 1024 / 1e10 / opened.REACHED

    def add(spelling: str, calls: int, seconds: float | None, key: str = device.key) -> None:
        problem = one(spelling)
        file.add([file.Gap(problem, key, "cpu", "cached", "default", calls, calls * problem.batch, seconds)])

    add("d:8x8x8", 1000, 3 * tuned)
    add("d:8x8x8@100", 1000, None)
    add("d:4x4x32", 10, None)
    add("d:32x4x4", 10, tuned / 2)
    add("d:8x8x8", 9, 1.0, "elsewhere")
    first, second, third = opened.gaps("cpu")
    assert [gap.problem.extents for gap in (first, second, third)] == [(8, 8, 8), (4, 4, 32), (32, 4, 4)]
    assert (first.calls, first.products, first.timed) == (2000, 101_000, True)
    assert first.loss == pytest.approx(101_000 * 2 * tuned)
    assert second.loss == pytest.approx(10 * opened.LOSSES["default"] * tuned)
    assert (second.timed, third.loss) == (False, 0.0)
    assert opened.gaps("cuda") == []
    plan = dispatch.plan(one("d:8x8x8"), device)
    assert plan.config is not None
    timing = Timing((1e-3,), 1e-3, 1e-3, 1e-3, "cached", 7, 3)
    key, what = device.key, (plan.stencil, plan.config, "ok")
    Records().append(Record(one("d:8x8x8"), "cached", *what, key, "1", timing=timing, protocol=3))
    settings.forget()
    assert [gap.problem.extents for gap in opened.gaps()] == [(4, 4, 32), (32, 4, 4)]


def test_a_budget_goes_to_the_worst() -> None:
    made = [
        opened.OpenGap(one(f"d:{n}"), "memory" if n % 2 else "cached", "here", "near", 1, 1, 1e-6, 1e-6, True)
        for n in (9, 2, 7, 4, 5)
    ]
    jobs = gap_jobs(made, ("memory", "cached"), 6.0, None)
    assert [(job.problem.m, job.regime) for job in jobs] == [
        (9, "memory"),
        (2, "cached"),
        (7, "memory"),
        (4, "cached"),
        (5, "memory"),
    ]
    assert [job.problem.m for job in gap_jobs(made, "memory", 6.0, 13.0)] == [9, 7]
    assert [job.problem.m for job in gap_jobs(made, "memory", 6.0, 1.0)] == [9]
    assert len(gap_jobs(made, "memory", 0.0, 1.0)) == 3, "an effort of no seconds has time for all"


def test_tune_takes_the_gaps_after_what_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    class Tuner:
        def __init__(self, *_: Any, **__: Any): ...
        def __enter__(self) -> Tuner:
            return self

        def __exit__(self, *_: object) -> None: ...
        def tune(self, problem: Any, regime: str, **_: Any) -> None:
            asked.append((problem.spelling, regime))

        def recorded(self, *_: Any) -> None: ...

    monkeypatch.setattr("tilewright.tuning.tuner.Tuner", Tuner)
    file.add([file.Gap(one("d:9x11x7@3"), DEVICE.key, "cpu", "cached", "default", 5, 15, 1.0)])
    # No processor has a shipped record of these extents.
    a, b = np.zeros((4, 9, 7)), np.zeros((4, 7, 11))
    with pytest.raises(ArgumentError, match="effort='hard'; accepted: records-only, estimate"):
        tw.plan(a, b, effort="hard")
    made = tw.plan(a, b, effort="estimate")
    assert asked == [("d:nn:11x9x7@4", made.plan.regime)], "what has no record is tuned where it is planned"
    tw.plan(a, b, effort="records-only")
    tw.plan(a, b, effort="estimate", stencil="tile")
    assert len(asked) == 1
    asked.clear()
    api.tune("d:3x3x3", gaps=True, betas="0", regimes=("memory", "cached"))
    assert asked == [("d:nn:3x3x3@1", "memory"), ("d:nn:3x3x3@1", "cached"), ("d:nn:9x11x7@3", "cached")]
