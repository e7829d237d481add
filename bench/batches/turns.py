"""Kernels of points in turns with the peer, compiled ahead of the clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.batches.points import Point
from tilewright.model import Timing
from tilewright.tuning.evaluate import Candidate, FinalRound, Outcome
from tilewright.tuning.tuner import Tuner
from tilewright.tuning.workers import Answer, Stream, stream

AHEAD = 64
"""Binaries that may wait for the clock."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a point: outcomes of its entries (a reason where there is none), the peer's version
    and timing, and why that is missing."""

    outcomes: tuple[Outcome | str, ...]
    vendor: tuple[str, Timing] | None
    missing: str = ""


class Turns:
    """Kernels of one point after the other, checked and timed in turns with the peer by the children of a
    tuner. What comes later is compiled meanwhile. Nothing is recorded."""

    def __init__(self, tuner: Tuner, rounds: int):
        self.tuner, self.rounds = tuner, rounds

    def __call__(self, points: Sequence[Point]) -> Iterator[tuple[Point, Found]]:
        """What came of each point, in order."""
        wanted = [[(e.stencil, point.problem, e.config) for e in point.entries] for point in points]
        requests = dict.fromkeys(request for asked in wanted for request in asked)
        built: dict[Any, Answer] = {}
        answers = stream(self.tuner.compilers, list(requests), AHEAD)
        try:
            for point, asked in zip(points, wanted, strict=True):
                while any(request not in built for request in asked):
                    answer = next(answers)
                    built[answer.request] = answer
                yield point, self._found(point, [built[request] for request in asked], answers)
        finally:
            answers.drop()

    def _found(self, point: Point, built: Sequence[Answer], answers: Stream) -> Found:
        bench, patience = self.tuner.bench, self.tuner.patience
        candidates = [
            Candidate(entry.stencil, entry.config, answer.value)
            for entry, answer in zip(point.entries, built, strict=True)
            if answer.status == "ok"
        ]
        said = bench.ask(("prepare", point.problem, point.regime), patience, answers)
        if said.status != "ok":
            # What it could not make it may hold half of.
            bench.stop()
        else:
            said = bench.ask(("final", candidates, self.rounds), patience, answers)
        if said.status != "ok":
            return Found((said.detail,) * len(built), None, said.detail)
        last_round: FinalRound = said.value
        left = iter(last_round.outcomes)
        outcomes = tuple(next(left) if answer.status == "ok" else answer.detail for answer in built)
        return Found(outcomes, last_round.vendor, last_round.missing)
