"""Tuners and timings that are made up, for commands that measure nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import lines
from bench.batches import commands
from bench.batches.run import Run
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError
from tilewright.model import Binary, Config, Device, Problem, Record, Timing, Verdict
from tilewright.store.records import Records
from tilewright.targets.cuda import capability
from tilewright.tuning.evaluate import FinalRound, Outcome
from tilewright.tuning.results import Result
from tilewright.tuning.workers import Answer

H200 = capability.named("h200")
KNOWN = replace(H200, ceilings={"bandwidth.copy.1": 4e12, **capability.units(H200)})


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


class Bench:
    """Stands for the timing child: ours moves 4 TB/s, tensor cores and the peer half as much."""

    def __init__(self, missing: str = "") -> None:
        self.missing = missing
        self.asked: list[Any] = []

    def ask(self, request: Any, timeout: float | None = None, meanwhile: Any = None) -> Answer:
        self.asked.append(request)
        kind, *rest = request
        if kind == "prepare":
            self.problem, self.regime = rest
            if self.problem.m == 16:
                return Answer(request, "failed", detail="no room")
            return Answer(request, "ok")
        candidates, rounds = rest

        def timing(seconds: float) -> Timing:
            samples = (seconds,) * rounds
            return Timing(samples, seconds, seconds, seconds, self.regime, self.problem.batch, 2)

        once = self.problem.bytes * self.problem.batch / 4e12
        outcomes = [
            Outcome(Verdict(True, 0.1), timing(once * (2 if c.config.get("mma") else 1)), "1980 MHz")
            for c in candidates
        ]
        vendor = None if self.missing else ("cublas by torch 9", timing(2 * once))
        return Answer(request, "ok", FinalRound(outcomes, vendor, self.missing))

    def stop(self) -> None:
        self.asked.append("stop")


class FakeTuner:
    """Stands for the tuner: compiles nothing, and searches by taking the default."""

    def __init__(self, device: Device, records: Records):
        self.device, self.bench, self.patience = device, Bench(), 1.0
        self.compilers: list[Any] = []
        self.searched: list[Any] = []

    def __exit__(self, *_: object) -> None:
        pass

    def tune(self, problem: Problem, regime: str, *, stencils: Any, **options: Any) -> Result:
        """The first of what is listed wins where something is."""
        self.searched.append((problem, options))
        if problem.m == 7:
            raise ArgumentError(f"problem={problem.spelling}: no stencil accepts it")
        seconds = problem.bytes * problem.batch / 3.96e12
        timing = Timing((seconds,) * 5, seconds, seconds, seconds, regime, problem.batch, 2)
        config = Config({"path": "bulk", "mma": 0})
        if options["search"] == "exhaustive":
            stencil = STENCILS["tiny"]
            listed = list(options["spaces"](stencil.space(problem, self.device)))
            config = listed[0] if listed else stencil.default(problem, self.device)
        best = Record(problem, regime, "tiny", config, "ok", "h200", "", timing=timing, protocol=2)
        vendor = replace(best, stencil="vendor", config=Config({}), toolchain="cublas by torch 9")
        return Result(problem, regime, best, vendor, tried=4)


class Compiled:
    """Stands for the stream of compilers: everything at once, in another order."""

    def __init__(self, workers: Any, requests: Any, ahead: int):
        self.left = [Answer(request, "ok", Binary(b"", "tiny", "")) for request in reversed(requests)]

    def __next__(self) -> Answer:
        return self.left.pop(0)

    def drop(self) -> None:
        pass


@pytest.fixture
def bench_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, new_home: Path
) -> Callable[..., tuple[Run, list[dict[str, Any]]]]:
    """Run a command on a GPU that is not there; the run, and the lines that it wrote."""
    monkeypatch.setattr("bench.sweep.Tuner", FakeTuner)
    monkeypatch.setattr("bench.batches.turns.stream", Compiled)
    monkeypatch.setattr("bench.batches.half.conversion", lambda problem: 1.0)

    def go(*words: str) -> tuple[Run, list[dict[str, Any]]]:
        out = tmp_path / "out.jsonl"
        out.unlink(missing_ok=True)
        options = commands.parsed([*words, "--out", str(out), "--records", str(tmp_path / "records.sqlite")])
        with Run(options, KNOWN, lines.console()) as run:
            run.copy = 4e12
            commands.COMMANDS[options.command].run(run)
        return run, [line for line in lines.read(out) if line["kind"] != "run"]

    return go
