"""The screen of a tuning run."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from tilewright.cli import progress
from tilewright.cli.queries import spaces
from tilewright.cli.report import gather
from tilewright.model import Problem
from tilewright.targets.cuda import capability

pytestmark = pytest.mark.pure


def standing(device: str = "h200", **changes: Any) -> progress.Standing:
    statuses = {"ok": 25, "spills": 1, "compile_failed": 4}
    base = progress.Standing(device, 0, 0.5, "tiny", 30, 10.0, 12345.0, 97.0, statuses, (10**9, 676))
    return replace(base, **changes)


def board(terminal: bool) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=terminal, width=150, highlight=False), file


def test_a_line_for_each_device_and_what_became_of_its_tries() -> None:
    console, file = board(True)
    clock = iter([0.0, *[30.0] * 9])
    shown = progress.Board(["d:8", "d:9"], console, False, lambda: next(clock))
    console.print(shown)
    shown.tell(standing())
    shown.tell(standing("h100", part=0.2, percent=None, best=None, statuses={}, points=None))
    console.print(shown)
    text = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "starting"
    # Half of the first of two jobs in 30 s.
    rate, job = "1:30 left 3.0/s, best", "d:8 (1 of 2), tiny"
    assert re.sub("[^ -~]+", "-", lines[1]) == f"h200 - {rate} 12.35 TF/s (97 % of bound)  {job}"
    funnel = "1.0e9 combinations > 676 valid > 30 tried > 25 right"
    assert lines[2] == f"{funnel}; failed: 4 compile failed, 1 spills"
    assert re.sub("[^ -~]+", "-", lines[3]) == f"h100 - {rate} -  {job}"
    assert lines[4] == "30 tried > 0 right"


@pytest.mark.parametrize("terminal", [False, True])
def test_a_line_stays_for_every_job_that_ended(terminal: bool) -> None:
    for quiet in (False, True):
        console, file = board(terminal)
        with progress.board(["d:8", "d:9"], quiet, console) as tell:
            for job in (0, 0, 1):
                tell(standing(job=job, tried=10 + job))
        lines = [line for line in file.getvalue().splitlines() if "tried," in line]
        assert len(lines) == (0 if quiet else 2)
        if not quiet:
            failed = "failed: 4 compile failed, 1 spills (1 of 2)"
            assert lines[0].endswith(f"d:8: 10 tried, 1/s, best 12.35 TF/s (97 % of bound); {failed}")
            assert "(2 of 2)" in lines[1]


def test_time_that_is_left() -> None:
    now = [0.0]
    console, _ = board(True)
    shown = progress.Board(["a", "b", "c", "d"], console, True, lambda: now[0])
    shown.tell(standing(part=0.01))
    now[0] = 100.0
    assert shown.left() == "-"
    shown.tell(standing(job=1, part=0.0))
    assert shown.left() == "5:00"
    now[0] = 1300.0
    assert shown.left() == "1:05:00"
    shown.tell(standing(job=3, part=7.0))
    assert shown.left() == "0:00"


def test_spaces_are_counted_once_and_slow_ones_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    (problem,) = Problem.parse("d:8x8x8@1000")
    device = capability.named("h200")
    monkeypatch.setattr(spaces, "SLOW", 60.0)
    points = spaces.Points(device)
    whole = gather.STENCILS["tiny"].space(spaces.sized(problem, "memory", device), device)
    assert points.of(problem, "memory", "tiny") == (whole.size, whole.count())
    monkeypatch.setattr(spaces, "SLOW", -1.0)
    assert points.of(problem, "cached", "tiny") is not None
    assert points.of(Problem.parse("d:9x9x9@1000")[0], "memory", "tiny") is None
    assert points.of(problem, "memory", "tiny") == (whole.size, whole.count())
