"""Tuners whose children only pretend: compilers that are at once done, and a device that has no seconds
but those it is given."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tilewright.catalog import STENCILS
from tilewright.model import Binary, Config, Device, Problem, Record, Timing, Verdict
from tilewright.space import HARDWARE, Space
from tilewright.store.records import Records
from tilewright.tuning import farm, final, pipeline
from tilewright.tuning import timing as measure
from tilewright.tuning.evaluate import Candidate, FinalRound, Kind, Outcome
from tilewright.tuning.results import Result
from tilewright.tuning.tuner import Tuner
from tilewright.tuning.workers import Answer

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
