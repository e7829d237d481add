"""The final round of a problem: the best few timed again, in turns with the vendor's product, and what their
records are then. Only these figures decide who won.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait

from tilewright.model import VENDOR, Binary, Config, Record, Verdict
from tilewright.store.records import Records
from tilewright.task import Task
from tilewright.tuning import contest
from tilewright.tuning import timing as measure
from tilewright.tuning.evaluate import Candidate, FinalRound, Outcome
from tilewright.tuning.farm import Farm
from tilewright.tuning.pipeline import Benches
from tilewright.tuning.timing import now, speed
from tilewright.tuning.workers import Answer, stream

FINALISTS = 6
FINALS = 3
ROUNDS = 150
"""Rounds of a final at most; its seconds are mostly over before."""

Name = tuple[str, Config]
"""What a kernel is known by in a search: its stencil and its config."""


def name_of(record: Record) -> Name:
    """The kernel that a record is of."""
    return record.stencil, record.config


@dataclass(slots=True)
class Final:
    """The final rounds of one problem, as it is timed, and what the last of them said."""

    farm: Farm
    benches: Benches
    records: Records
    problem: Task
    regime: str
    device: str
    """Its key."""
    driver: str
    patience: float
    """Seconds that a round may take."""
    kept: dict[Name, Binary] = field(default_factory=dict)
    """Binaries that need not be compiled again."""
    missing: str = ""
    """Why there is no figure of the vendor's."""
    note: str = ""
    """What disturbed the round."""
    tied: tuple[Record, ...] = ()
    """Finalists that could not be told from the best one."""

    def decide(
        self, tried: Iterable[Record], before: Collection[Name]
    ) -> tuple[Record | None, Record | None]:
        """Time the best few of what was tried again, in turns with the vendor's product, and record what
        came out: the winner and the vendor's product. What won ``before`` is a finalist however its first try
        came out."""
        rows = [row for row in tried if row.status == "ok" and row.timing is not None]
        rows.sort(key=lambda r: (name_of(r) not in before, -speed(r), repr(r.config)))
        # Where none of the best stands the last check, the next best are asked.
        for first in range(0, FINALISTS * FINALS, FINALISTS):
            records, vendor = self.round(self.built(rows[first : first + FINALISTS]))
            winners = [record for record in records if record.status == "ok"]
            if winners or first + FINALISTS >= len(rows):
                break
        winners.sort(key=lambda r: (-r.protocol, -speed(r), repr(r.config)))
        return (winners[0] if winners else None), vendor

    def built(self, rows: Sequence[Record]) -> list[tuple[Record, Candidate]]:
        """Records with their candidates: binaries of this run, others compiled again."""
        fresh = [(row.stencil, self.problem, row.config) for row in rows if name_of(row) not in self.kept]
        candidates = stream(self.farm.compilers, fresh, len(fresh) + 1)
        while not candidates.done:
            # Compilers of other machines may go meanwhile, and others come.
            self.farm.refresh()
            built = candidates.poll()
            if built is None:
                wait(candidates.pipes(), timeout=0.05)
            elif built.status == "ok":
                self.kept[built.request[0], built.request[2]] = built.value
        found = [(row, self.kept.get(name_of(row))) for row in rows]
        return [(row, Candidate(row.stencil, row.config, binary)) for row, binary in found if binary]

    def ask(self, candidates: Sequence[Candidate], rounds: int = ROUNDS) -> Answer:
        """What a device says of a round with these candidates: a ``FinalRound``, if it comes to its end."""
        return self.benches.ask(("final", candidates, rounds), self.patience)

    def decided(self, row: Record, outcome: Outcome, status: str) -> Record:
        """A finalist's record after the final round. The largest error that was seen of it stays with it."""
        verdict, timing, clocks = outcome
        errors = [e for e in (row.error, finite(verdict.error)) if e is not None]
        return replace(
            row,
            problem=self.problem,
            status=status,
            detail=verdict.why,
            error=max(errors) if row.error is not None else None,
            timing=timing,
            seconds=timing.median if timing else None,
            protocol=measure.INTERLEAVED,
            clocks=clocks,
            driver=self.driver,
            when=now(),
        )

    def vendor(self, last_round: FinalRound) -> Record | None:
        """The record of the vendor's product in a final round."""
        if last_round.vendor is None:
            return None
        version, timing = last_round.vendor
        base = Record(self.problem, self.regime, VENDOR, last_round.config, "ok", self.device, version)
        clocks = last_round.outcomes[0].clocks if last_round.outcomes else ""
        decided = self.decided(base, Outcome(Verdict(True, 0.0), timing, clocks), "ok")
        return replace(decided, protocol=measure.DECIDED)

    def round(self, finalists: Sequence[tuple[Record, Candidate]]) -> tuple[list[Record], Record | None]:
        """The records of one final round, written, and the vendor's. Where the round fails whoever is in it,
        the records that were given."""
        records: list[Record] = []
        answer = self.ask([candidate for _, candidate in finalists])
        if answer.status != "ok":
            nobody = self.ask([], 5)
            if nobody.status != "ok":
                # The fault is none of theirs: their first figures stand.
                self.missing = f"the final round fails by itself: {nobody.detail}"
                return [row for row, _ in finalists], None
            # One of them took the child down: each for itself says which.
            alone = [(row, candidate, self.ask([candidate], 5)) for row, candidate in finalists]
            for row, _, said in alone:
                if said.status != "ok":
                    status = "crashed" if said.status == "failed" else said.status
                    records.append(self.decided(row, Outcome(Verdict(False, math.inf, said.detail)), status))
            finalists = [(row, candidate) for row, candidate, said in alone if said.status == "ok"]
            answer = self.ask([candidate for _, candidate in finalists])
        vendor = None
        if answer.status == "ok":
            last_round: FinalRound = answer.value
            self.missing, self.note = last_round.missing, last_round.note
            records += self._crowned(
                [
                    self.decided(row, outcome, "ok" if outcome.verdict.ok else "wrong")
                    for (row, _), outcome in zip(finalists, last_round.outcomes, strict=True)
                ]
            )
            vendor = self.vendor(last_round)
        for record in (*records, vendor):
            if record is not None:
                self.records.append(record)
        return records, vendor

    def _crowned(self, records: list[Record]) -> list[Record]:
        """The records of a final round, the winner's under the protocol that outranks the others'."""
        right = {
            str(number): row
            for number, row in enumerate(records)
            if row.status == "ok" and row.timing is not None
        }
        if not right:
            return records
        found = contest.standing({name: row.timing.samples for name, row in right.items() if row.timing})
        # The order of a tie: by name, and by the config as it is spelled. It is the same everywhere.
        equal = sorted(
            (found.leader, *found.close), key=lambda name: (right[name].stencil, repr(right[name].config))
        )
        short = len(right[found.leader].timing.samples) < contest.FIRST  # type: ignore[union-attr]
        winner = found.leader if short else equal[0]
        others = {found.leader, *found.tied} - {winner}
        self.tied = tuple(row for name, row in right.items() if name in others)
        said = (
            [f"tied with {len(others)} others" if len(others) > 1 else "tied with another"] if others else []
        )
        said += [self.note] if self.note else []
        crowned = replace(right[winner], protocol=measure.DECIDED, detail="; ".join(said))
        return [crowned if number == int(winner) else row for number, row in enumerate(records)]


def finite(value: float) -> float | None:
    """The value, None for one that no file can hold."""
    return value if math.isfinite(value) else None
