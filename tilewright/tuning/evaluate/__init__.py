"""Evaluations: how a candidate is checked and timed on a kind of device.

The tuner compiles, asks and records; what happens to a binary then differs from one kind of device to
the next, and is said by one module each. Its ``KIND`` holds what the tuner reads in its own process,
and the factory of the handler that answers in a child process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from tilewright.model import Binary, Config, Device, Timing, Verdict


@dataclass(frozen=True, slots=True)
class Candidate:
    """A binary with the point of the space that it came from: how it is started may depend on both."""

    stencil: str
    config: Config
    binary: Binary


class Outcome(NamedTuple):
    """What became of a candidate: the verdict, its time if it is right, the device's clocks meanwhile."""

    verdict: Verdict
    timing: Timing | None = None
    clocks: str = ""


class FinalRound(NamedTuple):
    """Outcomes of the finalists in the order in which they were given, timed in turns with the vendor's
    product: its version and timing, or None and the reason why there is none (``missing``). ``config`` says
    which of the vendor's ways that was, where it has several, ``note`` what disturbed the round."""

    outcomes: Sequence[Outcome]
    vendor: tuple[str, Timing] | None
    missing: str = ""
    config: Config = Config({})
    note: str = ""


class Evaluation(Protocol):
    """What a timing child answers. It keeps the operands of one problem at a time."""

    def prepare(self, problem: Any, regime: str) -> None:
        """Make the operands of a task (``task.Task``) whose batch the regime has fixed (``Kind.sized``)."""

    def attempt(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> Outcome:
        """Check a candidate, and time it if it is right: at least ``least`` samples within ``budget``
        seconds, but only one if that takes more than ``early_stop`` seconds a pass."""

    def final(self, candidates: Sequence[Candidate], rounds: int) -> FinalRound:
        """Time several right candidates and the vendor's product in turns, until it is clear who is fastest,
        ``rounds`` at most."""


def serve(evaluation: Evaluation) -> Callable[[tuple[Any, ...]], Any]:
    """The handler of requests such as ``("prepare", problem, regime)``."""

    answers: dict[str, Callable[..., Any]] = {
        "prepare": evaluation.prepare,
        "attempt": evaluation.attempt,
        "final": evaluation.final,
    }

    def handle(request: tuple[Any, ...]) -> Any:
        name, *rest = request
        return answers[name](*rest)

    return handle


@dataclass(frozen=True)
class Kind:
    """A kind of device, as the tuner sees it.

    ``factory(device)`` is called in the timing child. ``sized`` gives a problem the batch that a regime
    is measured on. ``compilers(device)`` is how many processes compile, ``ahead`` how many binaries may
    wait for the clock. ``budgets`` are seconds of one attempt, by regime. A candidate that takes
    ``early_stop`` times as long as the best one so far is not measured further. ``patience``: seconds that
    making operands or a final round may take at least. ``environment`` is the timing child's. ``driver`` says
    what runs the kernels. ``room`` is how many tries are handed to a timing child at once: with two the
    device does not wait for the tuner between them, but a core that is timed on must not be disturbed.
    ``shared``: programs are kept for other problems of a run, where many sizes have one.
    """

    factory: Callable[[Device], Callable[[tuple[Any, ...]], Any]]
    sized: Callable[[Any, str, Device], Any]
    compilers: Callable[[Device], int]
    budgets: Mapping[str, float]
    ahead: int = 4
    early_stop: float = math.inf
    patience: float = 30.0
    environment: Mapping[str, str] = field(default_factory=dict)
    driver: Callable[[], str] = str
    room: int = 1
    shared: bool = False
