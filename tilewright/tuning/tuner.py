"""The tuner: propose, build, verify, time, record. It writes records and never plans a call.

It knows nothing of matrix products, nor of what a device is like: of a problem it asks what ``task.Task``
says, and ``tuning.evaluate`` has one module for each kind of device that says how a candidate is checked
and timed there, and against what.

Child processes compile candidates ahead of another that checks and times them, so that the timed
device does not wait for the compilers and a candidate that takes its process down costs one record.
Every try is leased before it is begun and recorded at once (``store.leases``): tuners that share a records
file never repeat one, a run that is killed loses the try that was in the air, the same run started again
skips what it knows, and what took its tuner down with it is not tried for ever. Several like devices share
the tries of a problem (``pipeline``). The best few, and what won before, are then timed again, interleaved,
until it is clear who is fastest (``contest``), and only these figures decide.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import ArgumentError, TilewrightError
from tilewright.model import VENDOR, Binary, Config, Device, Record
from tilewright.space import Space
from tilewright.store import jobs
from tilewright.store.leases import Leases
from tilewright.store.records import Records
from tilewright.task import Task
from tilewright.tuning import timing as measure
from tilewright.tuning.evaluate import Candidate, FinalRound
from tilewright.tuning.evaluate.table import EVALUATIONS
from tilewright.tuning.farm import Farm, local
from tilewright.tuning.final import Final, Name, finite, name_of
from tilewright.tuning.pipeline import Account, Benches, Measurement
from tilewright.tuning.questions import Questions
from tilewright.tuning.results import Progress, Result
from tilewright.tuning.search import once
from tilewright.tuning.search.table import SEARCHES
from tilewright.tuning.starts import Starts, incumbents, starts
from tilewright.tuning.tasks import sized, taking, toolchain
from tilewright.tuning.timing import now, speed
from tilewright.tuning.workers import Answer, stream

LOOKS = 12
"""How often a search that may try few configs sees what came of them at least, if it may try so many; else
after each. (With 16 tries a model reached 0.972 of the best of ten recorded spaces when it looked after each,
0.968 after every second and 0.960 after every fourth.)"""
# Seconds beyond its budget in which a search still tries what was compiled within it, and seconds that
# a compiler then gets to come to its end.
GRACE, PATIENCE = 1.0, 5.0
KEPT = 1024
"""Programs that are kept for other problems of a run, some 70 KB each."""
WATCH = 0.25
"""Seconds between two looks at what other tuners are at."""


@dataclass(slots=True)
class _Search:
    """A stencil's search: what it asks for, and how long, and how often, it may."""

    name: str
    questions: Questions
    known: dict[Config, Record]
    deadline: float
    tries: int | None
    """Configs that it may have measured; None for any number."""
    fresh: int = 0
    """Configs that it was given so far."""
    elsewhere: list[Config] = field(default_factory=list)
    """What other tuners are at."""

    @property
    def over(self) -> bool:
        """Whether nothing is tried any more but what is sure to be."""
        return time.monotonic() >= self.deadline or (self.tries is not None and self.fresh >= self.tries)


class Tuner:
    """A run of the tuner on one device, with its children and its records file."""

    def __init__(
        self,
        device: Device,
        records: Records,
        *,
        listen: Callable[[Progress], None] | None = None,
        timeout: float = 30.0,
        numbers: Sequence[int] = (),
        farm: Farm | None = None,
    ):
        self.device, self.records = device, records
        self.listen = listen or (lambda progress: None)
        self.kind = EVALUATIONS[device.kind]
        self.driver = self.kind.driver()
        self.patience = max(timeout, self.kind.patience)
        self.farm = farm or local(device, self.kind, timeout, numbers)
        self.compilers = self.farm.compilers
        self.benches = Benches(self.farm)
        self.leases = Leases(records)
        # By the digests of their sources, the oldest first.
        self._programs: dict[str, Binary] = {}

    @property
    def bench(self) -> Any:
        """The measuring worker of the first device."""
        return self.farm.benches[0]

    def __enter__(self) -> Tuner:
        return self

    def __exit__(self, *_: object) -> None:
        self.farm.close()

    def tune(
        self,
        problem: Task,
        regime: str,
        *,
        search: str,
        budget: float,
        tries: int | None = None,
        seed: int = 0,
        stencils: Sequence[str] | None = None,
        spaces: Callable[[Space], Space] = lambda space: space,
        place: tuple[int, int] = (0, 1),
        tolerate: int = 0,
        again: bool = True,
    ) -> Result:
        """The best config for a problem in a regime, within ``budget`` seconds; every try is recorded.

        ``tries``: configs that are measured at most, what is known already not counted. What won before, and
        the default, are tried whatever the budgets are. ``spaces`` may change a stencil's space (other rules,
        a parameter held). What spills more than ``tolerate`` (vectors on a CPU, bytes on a GPU) is not timed.
        Without ``again`` nothing is measured where the very same job was finished before.
        Raises ``ArgumentError`` when no stencil accepts the problem, ``TilewrightError`` when its operands
        cannot be made.
        """
        sized_problem = sized(problem, regime, self.device)
        names = taking(sized_problem, self.device, stencils or STENCILS)
        if not names:
            raise ArgumentError(f"problem={problem.spelling}: no stencil accepts it")
        self._names = {*STENCILS, *names}
        entered = time.monotonic()
        result = self._result = Result(problem, regime, None, None, device=self.device)
        self._tolerate = tolerate
        self._incumbents = {
            name_of(row) for row in incumbents(self.records, sized_problem, regime, self.device)
        }
        job = self._job(sized_problem, regime, names, search, budget, tries, seed, tolerate)
        if not again and jobs.finished(self.records, job):
            known = self.recorded(problem, regime)
            if known.best is not None:
                return known
        final = self._prepare(sized_problem, regime)
        begin = time.monotonic()
        searched = self._searched(
            sized_problem, regime, names, search=search, budget=budget, tries=tries, seed=seed, spaces=spaces
        )
        for record in searched:
            result.tried += 1
            result.statuses[record.status] = result.statuses.get(record.status, 0) + 1
            self._heard(record)
            spent, counts = time.monotonic() - begin, dict(result.statuses)
            state = (record.stencil, result.tried, result.best, spent, budget)
            self.listen(Progress(problem, *state, *place, counts, self.device))
        newest = [row for name in self._names for row in self._known(sized_problem, regime, name).values()]
        result.best, result.vendor = final.decide(newest, self._incumbents)
        result.missing, result.note, result.tied = final.missing, final.note, final.tied
        result.seconds = time.monotonic() - entered
        result.device_seconds, result.waited = self.benches.account.busy, self.benches.account.waited
        jobs.finish(self.records, job, now())
        return result

    def _job(self, problem: Task, regime: str, names: Sequence[str], *asked: Any) -> str:
        """What names a job: the same again under the same toolchains has nothing to do."""
        made = {name: toolchain(self.device, name) for name in names}
        return jobs.name_of(
            {"device": self.device.key, "problem": [problem.key, problem.batch], "regime": regime}
            | {"stencils": made, "protocol": measure.DECIDED, "asked": [str(each) for each in asked]}
        )

    def recorded(self, problem: Task, regime: str) -> Result:
        """What the records know of a problem in a regime; nothing is measured."""
        found = sized(problem, regime, self.device)
        names = TARGETS[self.device.kind].keys(self.device.key)

        def best(without: str, accept: Callable[[Record], bool] = lambda record: True) -> Record | None:
            each = (self.records.best(found.key, regime, n, without=without, accept=accept) for n in names)
            return next((record for record in each if record is not None), None)

        vendor = best("", lambda record: record.stencil == VENDOR)
        missing = "" if vendor else "none is recorded"
        return Result(problem, regime, best(VENDOR), vendor, missing=missing, device=self.device)

    def compared(
        self, problem: Task, regime: str, stencil: str, config: Config
    ) -> tuple[Record | None, Record | None]:
        """One config checked and timed in turns with the vendor's product. Nothing is written: that one
        config was looked at says nothing of what is best.

        None in place of a record where there is no timing. Raises ``TilewrightError`` when operands
        cannot be made.
        """
        problem = sized(problem, regime, self.device)
        final = self._prepare(problem, regime)
        row = self._begun(problem, regime, stencil, config)
        answer = final.ask([candidate for _, candidate in final.built([row])], 15)
        if answer.status != "ok":
            return None, None
        last_round: FinalRound = answer.value
        ours = [final.decided(row, outcome, "ok") for outcome in last_round.outcomes if outcome.verdict.ok]
        return (ours[0] if ours else None), final.vendor(last_round)

    def in_turns(self, problem: Task, regime: str, kernels: Sequence[Name]) -> dict[Name, Record]:
        """Records of kernels that are known to be right, timed in turns with the vendor's product until it is
        clear who is fastest: a final round among them alone, so their samples belong together. They are
        written, who won as the winner. Empty where the round fails, and without who was not timed.

        Raises ``TilewrightError`` when operands cannot be made.
        """
        problem = sized(problem, regime, self.device)
        final = self._prepare(problem, regime)
        known = {name: self._known(problem, regime, name) for name, _ in kernels}
        rows = [
            known[name].get(config) or self._begun(problem, regime, name, config) for name, config in kernels
        ]
        records, _ = final.round(final.built(rows))
        return {name_of(row): row for row in records if not any(row is each for each in rows)}

    def _prepare(self, problem: Task, regime: str) -> Final:
        """Have devices make the operands of a problem, for which there is a final round then."""
        self.benches.account = Account()
        try:
            self.benches.prepare(("prepare", problem, regime), self.patience)
        except TilewrightError as error:
            raise TilewrightError(f"operands of {problem.spelling} could not be made: {error}") from error
        self._final = Final(
            *(self.farm, self.benches, self.records, problem, regime),
            *(self.device.key, self.driver, self.patience),
        )
        return self._final

    def _searched(
        self,
        problem: Task,
        regime: str,
        names: Sequence[str],
        *,
        search: str,
        budget: float,
        tries: int | None,
        seed: int,
        spaces: Callable[[Space], Space],
    ) -> Iterator[Record]:
        """Records of what the searches of all stencils ask for, old ones where a config is known already."""
        begin, done = time.monotonic(), list[_Search]()

        def searches() -> Iterator[_Search]:
            for number, name in enumerate(names):
                # What a stencil does not spend of its share is left to the next.
                rest, left = len(names) - number, None
                if tries is not None:
                    left = max(0, tries - sum(each.fresh for each in done)) // rest
                share = (budget - (time.monotonic() - begin)) / rest
                done.append(self._begin(problem, regime, name, search, share, left, seed, spaces))
                yield done[-1]

        yield from self._try_all(problem, regime, searches())
        # What other tuners were at: they have written what came of it, or are waited for, or have ended.
        while found := [each for each in done if each.elsewhere and not each.over]:
            before = sum(len(each.known) for each in found)
            for each in found:
                asked, each.elsewhere = each.elsewhere, []
                each.questions = Questions(once([config for config in asked if config not in each.known]))
            yield from self._try_all(problem, regime, found)
            if sum(len(each.known) for each in found) == before:
                time.sleep(WATCH)

    def _begin(
        self,
        problem: Task,
        regime: str,
        name: str,
        search: str,
        budget: float,
        left: int | None,
        seed: int,
        spaces: Callable[[Space], Space],
    ) -> _Search:
        """A search of a stencil's space, which has so many seconds from now, and tries."""
        stencil = STENCILS[name]
        known = self._known(problem, regime, name)
        if self._tolerate:
            known = {config: record for config, record in known.items() if record.status != "spills"}
        space = spaces(stencil.space(problem, self.device))
        timed = [record for record in known.values() if record.status == "ok" and record.timing]
        timed.sort(key=lambda r: -speed(r))
        default = stencil.default(problem, self.device)
        proposed = (default, *stencil.starts(problem, self.device))
        begin = starts(self.records, problem, regime, self.device, name, space, proposed, timed)
        if search == "starts":
            begin = Starts(begin.configs, frozenset(begin.configs))
        width = 2 * len(self.compilers)
        if left is not None:
            width = max(1, min(width, left // LOOKS))
        model = stencil.cost_model(problem, self.device)
        batches = SEARCHES[search](space, begin.configs, seed, width=width, estimate=model)
        return _Search(name, Questions(batches, begin.sure), known, time.monotonic() + budget, left)

    def _known(self, problem: Task, regime: str, name: str) -> dict[Config, Record]:
        """The newest record of each config tried by this program; a final round outranks a try alone, and a
        later one an earlier one."""
        asked = (problem, regime, self.device.key, name)
        written = toolchain(self.device, name)
        alone = self.records.tried(*asked, measure.ALONE, written)
        known = alone | self.records.tried(*asked, measure.INTERLEAVED, written)
        for config, row in self.records.tried(*asked, measure.DECIDED, written).items():
            if (
                config not in known
                or known[config].protocol == measure.ALONE
                or row.when > known[config].when
            ):
                known[config] = row
        return known

    def _try_all(self, problem: Task, regime: str, searches: Iterable[_Search]) -> Iterator[Record]:
        """Compile, check and time what searches ask for, the compilers ahead of the clock, each until its
        deadline; what is sure to be tried in any case. The next one is asked as soon as the one before has
        nothing more to ask, for devices are still at that then. What is known is not tried again."""
        found: deque[Record] = deque()
        begun: dict[str, _Search] = {}
        more = True

        def told(at: _Search, record: Record) -> None:
            self._heard(record)
            at.questions.answer(record)
            at.known[record.config] = record
            found.append(record)

        def asked(at: _Search) -> Iterator[tuple[str, Task, Config] | Answer | None]:
            while not at.questions.ended:
                config = at.questions.next()
                if config is None:
                    if not at.questions.ended:
                        yield None
                    continue
                if config not in at.questions.sure and at.over:
                    return
                if config in at.known:
                    told(at, at.known[config])
                    continue
                row = self._begun(problem, regime, at.name, config)
                claim = self.leases.claim(row, "spills" if self._tolerate else "")
                if claim.state == "mine":
                    at.fresh += 1
                    request = at.name, problem, config
                    yield self._compiled(request) or request
                elif claim.state == "held":
                    at.elsewhere.append(config)
                    at.questions.answer(replace(row, status="held"))
                elif claim.record is not None:
                    told(at, claim.record)
                else:
                    detail = f"poison: {claim.deaths} deaths of tuners that tried it, and no answer"
                    told(at, replace(row, status="crashed", detail=detail))
                    self.leases.settle(found[-1])

        def requests() -> Iterator[tuple[str, Task, Config] | Answer | None]:
            nonlocal more
            for at in searches:
                begun[at.name] = at
                yield from asked(at)
            more = False

        candidates = stream(self.compilers, requests(), self.kind.ahead)
        try:
            for record in self.benches.through(candidates, self._admitted, self._measured, self._at):
                self.leases.settle(record)
                at = begun[record.stencil]
                at.questions.answer(record)
                at.known[record.config] = record
                yield record
                yield from _emptied(found)
                late = not more and all(time.monotonic() >= each.deadline + GRACE for each in begun.values())
                if late and not any(each.questions.waited for each in begun.values()):
                    # Compilers may be far ahead of the clock. What they are at is waited for, but not tried.
                    candidates.drop(PATIENCE)
            yield from _emptied(found)
        finally:
            candidates.drop()
            self.leases.release()

    def _compiled(self, request: tuple[str, Task, Config]) -> Answer | None:
        """What the compiler would say to a request, where an earlier problem of this run had the program."""
        if not self._programs:
            return None
        name, problem, config = request
        try:
            found = self._programs.get(STENCILS[name].source(problem, config, self.device).digest)
        except Exception:
            return None  # What is wrong with it a child says.
        return Answer(request, "ok", found) if found is not None else None

    def _at(self, made: Measurement) -> None:
        """A device comes to a try now: should this process end, it is under suspicion."""
        self.leases.begin(made.base)

    def _admitted(self, built: Answer) -> Record | Measurement:
        """What is to be measured, or the record of what is not, from what the compiler said on."""
        name, problem, config = built.request
        base = self._begun(problem, self._result.regime, name, config)
        if built.status != "ok":
            status = "compile_failed" if built.status == "failed" else built.status
            return replace(base, status=status, detail=built.detail)
        binary: Binary = built.value
        if self.kind.shared:
            self._programs[binary.digest] = binary
            while len(self._programs) > KEPT:
                del self._programs[next(iter(self._programs))]
        base = replace(base, source=binary.digest)
        spills, fma = binary.facts.get("spills", 0), binary.facts.get("fma", 0)
        if spills > self._tolerate:
            return replace(base, status="spills", detail=f"{spills} spills")
        expected = binary.facts.get("fma_expected", fma)
        if fma < expected:
            return replace(base, status="rejected", detail=f"{fma} multiply-adds of {expected}")
        best = self._result.best
        limit = math.inf if best is None else self.kind.early_stop * problem.batch / speed(best)
        budget = self.kind.budgets[base.regime]
        return Measurement(base, ("attempt", Candidate(name, config, binary), 3, budget, limit))

    def _measured(self, made: Measurement, answer: Answer) -> Record:
        """The record of a try, from what a measuring child said."""
        base = made.base
        if answer.status != "ok":
            status = "crashed" if answer.status == "failed" else answer.status
            return replace(base, status=status, detail=answer.detail)
        verdict, timing, clocks = answer.value
        if not verdict.ok:
            return replace(base, status="wrong", detail=verdict.why, error=finite(verdict.error))
        _, candidate, *_, limit = made.request
        detail = "one sample: stopped early" if timing.median > limit else ""
        if not detail:
            self._final.kept[base.stencil, base.config] = candidate.binary
        record = replace(
            base, timing=timing, error=verdict.error, seconds=timing.median, detail=detail, clocks=clocks
        )
        # What is measured next is given up early by this one, before it is written.
        self._heard(record)
        return record

    def _heard(self, record: Record) -> None:
        """Keep the best so far."""
        best = self._result.best
        if record.status == "ok" and (best is None or speed(record) > speed(best)):
            self._result.best = record

    def _begun(self, problem: Task, regime: str, name: str, config: Config) -> Record:
        """The record of a try of which nothing is known yet."""
        return Record(
            problem,
            regime,
            name,
            config,
            "ok",
            self.device.key,
            toolchain(self.device, name),
            protocol=measure.ALONE,
            driver=self.driver,
            when=now(),
        )


def _emptied(found: deque[Record]) -> Iterator[Record]:
    while found:
        yield found.popleft()
