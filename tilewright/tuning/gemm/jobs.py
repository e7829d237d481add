"""What ``tune`` is asked for: matrix products as spellings or problems, one by one with their regimes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from tilewright.errors import ArgumentError
from tilewright.model import Gemm, GroupedProblem, Problem, parsed
from tilewright.tuning import timing as measure

BETAS = ("0", "1")
"""Classes of beta that a spelling stands for when it is tuned: that of ``matmul``, and that of the usual
update in place."""


class TuningJob(NamedTuple):
    """One problem to be tuned in one regime, and its part of the seconds that an effort grants both betas."""

    problem: Gemm
    regime: str
    part: float


class Missed(Protocol):
    """A problem that was called in a regime without a record."""

    @property
    def problem(self) -> Gemm:
        """What was called."""

    @property
    def regime(self) -> str:
        """Where its operands were."""


def tuning_jobs(
    problems: Sequence[str | Gemm] | str | Gemm,
    betas: Sequence[str] | str,
    regimes: Sequence[str] | str,
) -> list[TuningJob]:
    """What ``tune`` does, in its order: size by size, the betas of a regime one after another, so that what
    wins for the first is where the search for the next one begins.

    Raises ``ArgumentError`` for a beta, regime or spelling that does not exist.
    """
    regimes = _listed(regimes, "regimes", measure.REGIMES)
    for regime in regimes:
        if regime not in measure.REGIMES:
            raise ArgumentError(f"regime={regime!r}; accepted: {', '.join(measure.REGIMES)}")
    betas = _listed(betas, "betas", ("0", "1", "any"))
    for beta in betas:
        if beta not in ("0", "1", "any"):
            raise ArgumentError(f"beta={beta!r}; accepted: 0, 1, any")
    given = [problems] if isinstance(problems, str | Problem | GroupedProblem) else problems
    if not isinstance(given, Iterable):
        raise ArgumentError(
            f"problems={problems!r}; accepted: spellings such as 'd:2..32', Problems, or a sequence of them"
        )
    jobs = []
    for item in given:
        if not isinstance(item, str | Problem | GroupedProblem):
            raise ArgumentError(
                f"problems holds {item!r}; accepted: spellings such as 'd:2..32', or Problems"
            )
        spelled = isinstance(item, str)
        for problem in parsed(item) if isinstance(item, str) else [item]:
            classes = [problem.with_(beta=beta) for beta in betas] if spelled else [problem]
            jobs += [TuningJob(each, regime, 1 / len(classes)) for regime in regimes for each in classes]
    return jobs


def _listed(value: Sequence[str] | str, name: str, accepted: Sequence[str]) -> Sequence[str]:
    """Words, or one alone, as a sequence. Raises ``ArgumentError`` for what is neither."""
    if not isinstance(value, Iterable):
        raise ArgumentError(f"{name}={value!r}; accepted: some of {', '.join(accepted)}")
    return [value] if isinstance(value, str) else list(value)


def gap_jobs(
    gaps: Sequence[Missed], regimes: Sequence[str] | str, seconds: float, budget: float | None
) -> list[TuningJob]:
    """What is tuned of problems that were called without a record, worst first as they are given: those in
    ``regimes``, and with a ``budget`` only as many as can have the ``seconds`` of an effort each. Who has
    little time has the worst ones tuned well rather than all of them hardly."""
    asked = [regimes] if isinstance(regimes, str) else regimes
    worst = [TuningJob(gap.problem, gap.regime, 1.0) for gap in gaps if gap.regime in asked]
    return worst if budget is None or not seconds else worst[: max(1, int(budget // seconds))]
