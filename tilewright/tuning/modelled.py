"""Tuning without the processor: the searches of the tuner, answered by LLVM's scheduling model (``predict``).

What is found is recorded with the status ``predicted``: nothing was run, so nothing was verified there, and
no record of a try is ever outranked by one (``store.records``, ``planning.dispatch``). Models know nothing of
memory, so that only batches in cache are predicted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError, CompileError
from tilewright.model import PREDICTED, Config, Device, Problem, Record, Timing
from tilewright.store.records import Records
from tilewright.targets.cpu import cycles
from tilewright.tuning import predict
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.gemm.jobs import TuningJob
from tilewright.tuning.questions import Questions
from tilewright.tuning.results import Progress, Result
from tilewright.tuning.search.table import SEARCHES
from tilewright.tuning.tasks import sized, taking, toolchain
from tilewright.tuning.timing import now

REGIME = "cached"
"""Where the data are that models know of."""
CLOCK = 1e9
"""Cycles in a second of the records: models have no clock."""
MISSING = "nothing was measured"

Listener = Callable[[Progress], None]


def modelled(
    jobs: Sequence[TuningJob],
    device: Device,
    records: Records,
    *,
    effort: str,
    search: str | None = None,
    budget: float | None = None,
    tries: int | None = None,
    again: bool = False,
    listen: Listener | None = None,
) -> list[Result]:
    """What the jobs of cached data find by the scheduling model of a processor, in their order: ``Result``s
    whose ``best`` is a prediction. Arguments as those of ``tune``.

    Raises ``ArgumentError`` where no job is of cached data, a problem is a list, or no stencil takes it;
    ``DeviceError`` without ``llvm-mca``.
    """
    mine = [job for job in jobs if job.regime == REGIME]
    if jobs and not mine:
        raise ArgumentError(f"regimes={jobs[0].regime!r}; accepted with a model: {REGIME}")
    cycles.tool()
    seconds, usual = EFFORTS[effort]
    results = list[Result]()
    for problem, _, part in mine:
        if not isinstance(problem, Problem):
            raise ArgumentError(f"problem={problem.spelling} is a list; accepted: products of one size")
        granted = seconds * part if budget is None else budget / len(mine)
        place = len(results), len(mine)
        run = _Run(problem, device, records, granted, tries, again, place, listen or (lambda state: None))
        results.append(run.searched(search or usual))
    return results


class _Run:
    """One problem: the searches of its stencils, one after another, and the best prediction so far."""

    def __init__(
        self,
        problem: Problem,
        device: Device,
        records: Records,
        seconds: float,
        tries: int | None,
        again: bool,
        place: tuple[int, int],
        listen: Listener,
    ):
        self.problem, self.device, self.records = sized(problem, REGIME, device), device, records
        self.seconds, self.tries, self.again = seconds, tries, again
        self.place, self.listen = place, listen
        self.result = Result(problem, REGIME, None, None, missing=MISSING, device=device)
        self.began = time.monotonic()

    def searched(self, search: str) -> Result:
        """The best prediction of all stencils that take the problem; of effort without a search what the
        records know."""
        names = taking(self.problem, self.device, STENCILS)
        if not names:
            raise ArgumentError(f"problem={self.problem.spelling}: no stencil accepts it")
        for number, name in enumerate(names if search else (), 1):
            self._search(search, name, self.began + self.seconds * number / len(names))
        self.result.best = self.records.predicted(self.problem.key, REGIME, self.device.key)
        self.result.seconds = time.monotonic() - self.began
        return self.result

    def _search(self, search: str, name: str, deadline: float) -> None:
        """Ask a search over the space of a stencil until the deadline: the default is always predicted."""
        stencil = STENCILS[name]
        begin = (stencil.default(self.problem, self.device), *stencil.starts(self.problem, self.device))
        space, estimate = (
            stencil.space(self.problem, self.device),
            stencil.cost_model(self.problem, self.device),
        )
        questions = Questions(SEARCHES[search](space, begin, 0, estimate=estimate), frozenset(begin[:1]))
        written = f"{toolchain(self.device, name)} {cycles.toolchain()}"
        known = {} if self.again else self._known(name, written)
        fresh = 0
        while (config := questions.next()) is not None:
            sure = config in questions.sure
            if not sure and (time.monotonic() > deadline or (self.tries is not None and fresh >= self.tries)):
                break
            record = known.get(config)
            if record is None:
                record = self._predicted(name, config, written)
                self.records.append(record)
                fresh += 1
            questions.answer(_timed(record))
            self._heard(record)

    def _known(self, name: str, written: str) -> dict[Config, Record]:
        """What was predicted before, by the same versions of all that decides it."""
        return self.records.tried(self.problem, REGIME, self.device.key, name, 0, written)

    def _predicted(self, name: str, config: Config, written: str) -> Record:
        """The record of a prediction, or of why there is none."""
        record = Record(
            *(self.problem, REGIME, name, config, "compile_failed", self.device.key, written), when=now()
        )
        try:
            needed, spilled = predict.simulated(self.problem, self.device, name, config)
        except CompileError as error:
            return replace(record, detail=str(error))
        if spilled:
            return replace(record, status="spills", detail=f"{spilled} vectors are put on the stack")
        said = f"{needed:.1f} cycles a product in cache by the scheduling model of {self.device.name}"
        seconds = needed / CLOCK * self.problem.batch
        return replace(record, status=PREDICTED, seconds=seconds, detail=f"{said} ({cycles.toolchain()})")

    def _heard(self, record: Record) -> None:
        """Count a prediction, and tell who listens."""
        found = self.result
        found.tried += 1
        found.statuses[record.status] = found.statuses.get(record.status, 0) + 1
        best = found.best
        if record.status == PREDICTED and (best is None or (record.seconds or 0) < (best.seconds or 0)):
            found.best = record
        spent = time.monotonic() - self.began
        state = (record.stencil, found.tried, found.best, spent, self.seconds)
        self.listen(Progress(self.problem, *state, *self.place, dict(found.statuses), self.device))


def _timed(record: Record) -> Record:
    """A prediction as searches read records, with a timing of one sample."""
    if record.status != PREDICTED or record.seconds is None:
        return record
    once = record.seconds
    timing = Timing((once,), once, once, once, REGIME, record.problem.batch, 0)
    return replace(record, status="ok", timing=timing)
