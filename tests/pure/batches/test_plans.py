"""Several commands of ``bench.batches`` in one process, by a plan, without a GPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import lines
from bench.batches import __main__, commands
from bench.batches.run import Run
from tests.pure.batches.tuners import KNOWN, FakeTuner
from tilewright.catalog import TARGETS
from tilewright.model import Device
from tilewright.planning import dispatch

pytestmark = pytest.mark.pure


class Faked:
    """Commands that measure nothing: how they were run, and what they find."""

    def __init__(self) -> None:
        self.runs: list[tuple[Any, ...]] = []

    def good(self, run: Run) -> None:
        given = run.options
        self.runs.append((given.command, given.types, given.limit, run, run.tuner))
        run.add({"kind": "crossover", "problem": "d:nn:4x4x4@9", "beta": "0", "tensor_over_fma": 2.0}, "line")

    def bad(self, run: Run) -> None:
        self.runs.append((run.options.command,))
        run.add({"kind": "updates", "problem": "d:nn:4x4x4@9", "beta": "0"}, "line")
        raise RuntimeError("the device is on fire")

    def stopped(self, run: Run) -> None:
        raise KeyboardInterrupt


@pytest.fixture
def planned(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, new_home: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, Faked, str]]:
    """Carry out a plan with such commands: the exit status, what ran, and what was printed."""
    monkeypatch.setattr("bench.sweep.Tuner", FakeTuner)
    monkeypatch.setattr(TARGETS["cuda"], "missing", lambda: None)
    monkeypatch.setattr(dispatch, "device", functools.cache(lambda kind: KNOWN))
    monkeypatch.setattr(lines, "facts", lambda device: {})
    looked: list[Device] = []

    def copied(device: Device) -> dict[str, float]:
        looked.append(device)
        return {"bandwidth.copy.1": 4e12}

    monkeypatch.setattr("bench.batches.run.ceilings_cuda.measure", copied)
    monkeypatch.setenv("WHERE", str(tmp_path))

    def go(rows: str, *words: str) -> tuple[int, Faked, str]:
        fake = Faked()
        for name, act in (("half", fake.good), ("updates", fake.bad), ("counts", fake.stopped)):
            monkeypatch.setitem(commands.COMMANDS, name, replace(commands.COMMANDS[name], run=act))
        path = tmp_path / "plan.txt"
        path.write_text(rows)
        records = str(tmp_path / "records.sqlite")
        looked.clear()
        code = __main__.main(["plan", str(path), "--records", records, *words])
        # However many commands: a copy is measured once.
        assert len(looked) == min(1, len(fake.runs))
        return code, fake, capsys.readouterr().out

    return go


def test_a_plan_shares_device_children_and_copy(planned: Any, tmp_path: Path) -> None:
    code, fake, out = planned(
        "# two commands\n\nhalf --types h --limit 40 --out $WHERE/a.jsonl  # the first\n"
        "half --types d --out $WHERE/b.jsonl\n",
        "--limit",
        "60",
    )
    assert code == 0
    (first, second) = fake.runs
    assert first[:2] == ("half", ["h"])
    assert second[:2] == ("half", ["d"])
    # Its own limit, or what is left of the plan's.
    assert first[2] == 40
    assert 50 < second[2] <= 60
    assert first[3] is second[3]
    assert first[4] is second[4]
    for name in ("a", "b"):
        written = list(lines.read(tmp_path / f"{name}.jsonl"))
        assert [line["kind"] for line in written] == ["run", "copy", "crossover"]
        assert written[0]["command"] == "batches half"
        assert written[1]["bytes_per_second"] == 4e12
    ends = [line for line in out.splitlines() if line.startswith("==")]
    assert ends[0].startswith("== half --types h --limit 40")
    assert ends[0].endswith(" 0 s, 1 lines")
    assert len(ends) == 2
    assert out.count("tensor cores win first at n=4") == 2


def test_a_plan_goes_on_after_what_fails(planned: Any, tmp_path: Path) -> None:
    out_file = str(tmp_path / "a.jsonl")
    code, fake, out = planned(f"updates --out {out_file}\nhalf --out {out_file}\n")
    assert code == 1
    assert [run[0] for run in fake.runs] == ["updates", "half"]
    assert "Traceback" in out
    assert "RuntimeError: the device is on fire" in out
    # What it had found is in the file, and counted.
    assert "== updates --out" in out
    assert " 0 s, 1 lines, failed" in out
    kinds = [line["kind"] for line in lines.read(tmp_path / "a.jsonl")]
    assert kinds == ["run", "copy", "updates", "run", "copy", "crossover"]
    # A file that cannot be written fails its own row alone.
    code, fake, out = planned("half --out /dev/null/a.jsonl\nhalf\n")
    assert code == 1
    assert len(fake.runs) == 1
    assert out.count("Traceback (most recent") == 1


def test_a_plan_names_the_rows_that_it_does_not_understand(planned: Any) -> None:
    code, fake, out = planned(
        "half --bad\nsquare\nhalf --types q\nhalf --records a\nhalf --summary a\nhalf 'a\nplan x\nhalf\n"
    )
    assert code == 1
    assert len(fake.runs) == 1
    for row in ("half --bad", "square", "half --types q", "plan x"):
        assert f"row {row!r} is not understood" in out
    assert "type 'q'; accepted" in out
    assert "--records in the row 'half --records a'; accepted: --records of the plan" in out
    assert "--summary in the row 'half --summary a'; accepted: commands that measure" in out
    assert "No closing quotation" in out
    # They are told before anything is measured.
    assert out.index("No closing quotation") < out.index("a copy moves")


def test_a_plan_ends_with_its_time_and_with_whoever_stops_it(planned: Any) -> None:
    code, fake, out = planned("half\nhalf --types d\n", "--limit", "1")
    assert (code, fake.runs) == (0, [])
    assert out.splitlines() == ["== half: no time left", "== half --types d: no time left"]
    code, fake, out = planned("half\ncounts\nhalf\n")
    assert code == 0
    assert len(fake.runs) == 1
    assert "stopped; what was measured is kept" in out
