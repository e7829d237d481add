"""What every evaluation on a GPU is, what it is timed with, and what a lost context does to it."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from tilewright.model import GroupedProblem, Kernel, Problem, Verdict
from tilewright.targets.cuda import driver, modules
from tilewright.targets.cuda.binding import Binding
from tilewright.tuning import timing
from tilewright.tuning.evaluate import Candidate, Outcome
from tilewright.tuning.workers import Fatal

P = TypeVar("P", Problem, GroupedProblem)

SAMPLE = 2e-3
"""Seconds of a sample, so that the cost of queueing its first launch is nothing beside it. A kernel that
is shorter than a launch from Python (about 3 us) is timed as one launch after the other."""


class Events:
    """The driver's stopwatch as ``measure`` wants it."""

    def __init__(self) -> None:
        self._watch = driver.Stopwatch()

    def time(self, run: timing.Run, repeats: int) -> float:
        """Seconds that ``repeats`` launches take on the device, one after the other."""
        return float(self._watch.time(run, repeats))

    def sample(self, regime: str) -> float:
        """Launches queue up, so all of them are repeated."""
        return SAMPLE


def turns(bound: Sequence[Binding]) -> timing.Run:
    """A launch on the next copy of the operands."""
    # Short kernels are timed at the rate at which Python launches, so nothing comes between.
    turn = itertools.cycle([each.start for each in bound])

    def run() -> object:
        return next(turn)(0)

    run.kept = bound  # type: ignore[attr-defined]  # Textures are read for as long as it runs.
    return run


@contextmanager
def guarded() -> Iterator[None]:
    """Turn an error that has taken the device's context with it into the end of this process."""
    try:
        yield
    except Exception as error:
        try:
            driver.synchronize()
        except Exception as lost:
            raise Fatal(f"{type(error).__name__}: {error}") from lost
        raise


class EventEvaluation(ABC, Generic[P]):
    """Checks and times binaries of one problem after another on the GPU of this process.

    ``problem`` and ``regime`` are those that operands were made for; what is checked on which operands is
    the evaluation's own.
    """

    problem: P
    regime: str

    def __init__(self) -> None:
        self.watch = Events()

    @abstractmethod
    def check(self, candidate: Candidate, kernel: Kernel) -> Verdict:
        """The verdict on what is hard on a kernel."""

    @abstractmethod
    def turns(self, candidate: Candidate, kernel: Kernel) -> timing.Run:
        """A launch on the next copy of the operands."""

    def attempt(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> Outcome:
        """Check a binary, and time it if it is right."""
        with guarded():
            kernel = modules.load(candidate.binary)
            verdict = self.check(candidate, kernel)
            if not verdict.ok:
                return Outcome(verdict)
            timed = timing.measure(
                self.turns(candidate, kernel),
                watch=self.watch,
                regime=self.regime,
                batch=self.problem.batch,
                least=least,
                budget=budget,
                target=timing.TRIED,
                early_stop=early_stop,
            )
            return Outcome(verdict, timed, driver.clocks())
