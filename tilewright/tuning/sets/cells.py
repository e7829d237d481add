"""What each of some kernels costs on each of some problems: from the records, and measured where they are
silent.

A kernel is a stencil with a config; a case is a problem in a regime. A cell of the table says how much longer
a kernel takes than the best one that is known of the case, by records of this device and of the programs as
they are now. Two kernels are compared by figures of one protocol: of the final round where both were in one,
else of tries alone. A kernel without a right record of a case cannot serve it, so whoever is chosen was
verified on the very shape.

Candidates are the winners of all cases and who is nearly as good. Those that the rules let through and that
the stencil's cost model does not think far worse than the winner are then tried on the cases that have no
record of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Record
from tilewright.space import HARDWARE, Space
from tilewright.stencils.protocol import refused
from tilewright.store.records import Records
from tilewright.tuning import timing as measure
from tilewright.tuning.starts import VENDOR, inside
from tilewright.tuning.tuner import speed, toolchain

Kernel = tuple[str, Config]
"""A stencil's name and a point of its space."""
AROUND = 8
"""Kernels of a case that are tried on others, and ``NEARLY`` how much longer than its best they may take."""
NEARLY = 0.1
MOST = 48
"""Kernels that are tried on all cases, those first that are good at most of them."""
DOUBT = 1.5
"""A kernel is tried unless the cost model says that it takes more than so many times the winner's time."""


@dataclass(slots=True)
class Case:
    """A problem with the batch of a regime, and what is known of kernels on it, by protocol."""

    problem: Any
    regime: str
    known: dict[Kernel, dict[int, Record]] = field(default_factory=dict)
    vendor: Record | None = None

    @property
    def settled(self) -> bool:
        """Whether its best were once timed in turns."""
        return any(measure.INTERLEAVED in each or measure.DECIDED in each for each in self.known.values())

    @property
    def best(self) -> Kernel | None:
        """The winner of the last final round that named one; without one the fastest by what is known."""
        decided = [row for each in self.known.values() if (row := each.get(measure.DECIDED)) is not None]
        if decided:
            newest = max(decided, key=lambda row: row.when)
            return newest.stencil, newest.config
        ranked = ((-speed(_finest(each)), repr(kernel), kernel) for kernel, each in self.known.items())
        return min(ranked)[-1] if self.known else None

    def record(self, kernel: Kernel) -> Record:
        """What is best known of a kernel here."""
        return _finest(self.known[kernel])

    def loss(self, kernel: Kernel) -> float:
        """How much longer a kernel takes than the best; infinite where there is no right record of it."""
        best = self.best
        if best is None or kernel not in self.known:
            return math.inf
        ours, theirs = _turns(self.known[kernel]), _turns(self.known[best])
        if ours is None or theirs is None:
            # What was tried alone is compared with what was, where it was.
            ours, theirs = _alone(self.known[kernel]), _alone(self.known[best])
        return max(0.0, speed(theirs) / speed(ours) - 1)


def _finest(rows: dict[int, Record]) -> Record:
    return rows[max(rows)]


def _turns(rows: dict[int, Record]) -> Record | None:
    return rows.get(measure.DECIDED) or rows.get(measure.INTERLEAVED)


def _alone(rows: dict[int, Record]) -> Record:
    return rows[min(rows)]


def look(case: Case, records: Records, device: Device) -> None:
    """Fill in what the records know of a case, by the programs as they are now."""
    case.known = {}
    wrong = set()
    for name in accepting(case, device):
        written = toolchain(device, name)
        for protocol in (measure.ALONE, measure.INTERLEAVED, measure.DECIDED):
            tried = records.tried(case.problem, case.regime, device.key, name, protocol, written)
            for config, row in tried.items():
                if row.status == "ok" and row.timing is not None:
                    case.known.setdefault((name, config), {})[protocol] = row
                elif row.status != "ok":
                    wrong.add((name, config))
    # Who was once wrong, or took its process down, serves nobody.
    case.known = {kernel: rows for kernel, rows in case.known.items() if kernel not in wrong}
    case.vendor = records.best(
        case.problem.key, case.regime, device.key, accept=lambda record: record.stencil == VENDOR
    )


def accepting(case: Case, device: Device) -> list[str]:
    """The stencils that accept a case."""
    return [
        name
        for name, stencil in STENCILS.items()
        if stencil.target == device.kind and refused(stencil, case.problem, device) is None
    ]


def candidates(cases: Sequence[Case], within: float) -> list[Kernel]:
    """Kernels worth a try on every case: the winners, and of each case who is nearly as good; those first
    that are good at most cases."""
    good: dict[Kernel, int] = {}
    winners = dict.fromkeys(best for case in cases if (best := case.best) is not None)
    for case in cases:
        near = sorted((case.loss(kernel), repr(kernel), kernel) for kernel in case.known)
        for loss, _, kernel in near[:AROUND]:
            if loss <= max(NEARLY, within):
                good[kernel] = good.get(kernel, 0) + 1
    ranked = sorted(good, key=lambda kernel: (-good[kernel], kernel not in winners, repr(kernel)))
    return list(dict.fromkeys([*ranked[:MOST], *winners]))


def missing(case: Case, kernels: Iterable[Kernel], device: Device) -> dict[str, list[Config]]:
    """By stencil, the configs that a case has no record of, that hardware allows, and that its cost model
    does not think hopeless."""
    found: dict[str, list[Config]] = {}
    allowed = {name: Listed(STENCILS[name].space(case.problem, device)) for name in accepting(case, device)}
    for name, config in kernels:
        if name in allowed and (name, config) not in case.known and inside(allowed[name], config):
            found.setdefault(name, []).append(config)
    best = case.best
    for name, configs in found.items():
        model = STENCILS[name].cost_model(case.problem, device)
        if model is not None and best is not None and best[0] == name:
            limit = DOUBT * model(best[1])
            found[name] = [config for config in configs if model(config) <= limit]
    return {name: configs for name, configs in found.items() if configs}


class Listed(Space):
    """A space under the rules of the hardware alone, of which some configs are walked through."""

    def __init__(self, space: Space, configs: Sequence[Config] = ()):
        hardware = space.only(HARDWARE)
        super().__init__(hardware.params, hardware.rules, hardware.elementwise)
        self._listed_configs = [config for config in configs if inside(self, config)]

    def __iter__(self) -> Iterator[Config]:
        """The configs that were given, as far as this is their space."""
        return iter(self._listed_configs)
