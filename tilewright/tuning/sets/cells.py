"""What each of some kernels costs on each of some problems: from the records, and measured where they are
silent.

A kernel is a stencil with a config; a case is a problem in a regime. A cell of the table says how much longer
a kernel takes than the best one that is known of the case, by records of this device and of the programs as
they are now. Two kernels are compared by figures of one protocol: of the final round where both were in one,
else of tries alone. A kernel without a right record of a case cannot serve it, so whoever is chosen was
verified on the very shape.

Candidates are the winners of all cases, who is nearly as good, and what is nearest to a winner among the
configs of another case that cannot have the winner itself (sizes set limits to tiles): such a config may be
one that both can have. Those that the rules let through and that the stencil's cost model does not think far
worse than the winner are then tried on the cases that have no record of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.catalog import STENCILS
from tilewright.model import VENDOR, Config, Device, Record
from tilewright.space import HARDWARE, Space
from tilewright.stencils.protocol import refused
from tilewright.store.records import Records
from tilewright.tuning import timing as measure
from tilewright.tuning.starts import inside
from tilewright.tuning.tasks import toolchain
from tilewright.tuning.timing import speed

Kernel = tuple[str, Config]
"""A stencil's name and a point of its space."""
AROUND = 8
"""Kernels of a case that are tried on others, and ``NEARLY`` how much longer than its best they may take."""
NEARLY = 0.1
MOST = 48
"""Kernels that are tried on all cases, those first that are good at most of them."""
MENDED = 24
"""So many configs nearest to winners are tried on all cases that can have them."""
DOUBT = 1.5
"""A kernel is tried unless the cost model says that it takes more than so many times the winner's time."""


class Listed(Space):
    """A space under the rules of the hardware alone, of which some configs are walked through. ``whole`` is
    the space under all of its rules, which is the quicker one to look for neighbours in."""

    def __init__(self, space: Space, configs: Sequence[Config] = ()):
        self.whole, hardware = space, space.only(HARDWARE)
        super().__init__(hardware.params, hardware.rules, hardware.elementwise)
        self._given = [config for config in configs if inside(self, config)]

    def __iter__(self) -> Iterator[Config]:
        """The configs that were given, as far as this is their space."""
        return iter(self._given)


@dataclass(slots=True)
class Case:
    """A problem with the batch of a regime, and what is known of kernels on it: ``alone`` from tries alone,
    ``turns`` from the last final round that each was in."""

    problem: Any
    regime: str
    alone: dict[Kernel, Record] = field(default_factory=dict)
    turns: dict[Kernel, Record] = field(default_factory=dict)
    vendor: Record | None = None
    spaces: dict[str, Listed] = field(default_factory=dict)
    """By stencil what the hardware allows."""

    def allows(self, kernel: Kernel) -> bool:
        """Whether a kernel can be tried here."""
        name, config = kernel
        return name in self.spaces and inside(self.spaces[name], config)

    @property
    def settled(self) -> bool:
        """Whether its best were once timed in turns."""
        return bool(self.turns)

    @property
    def best(self) -> Kernel | None:
        """The winner of the last final round; without one the fastest by what is known."""
        decided = [row for row in self.turns.values() if row.protocol == measure.DECIDED]
        if decided:
            newest = max(decided, key=lambda row: row.when)
            return newest.stencil, newest.config
        known = self.turns or self.alone
        return min(known, key=lambda kernel: (-speed(known[kernel]), repr(kernel)), default=None)

    def record(self, kernel: Kernel) -> Record:
        """What is best known of a kernel here. Raises ``KeyError`` where nothing is."""
        return self.turns.get(kernel) or self.alone[kernel]

    def loss(self, kernel: Kernel) -> float:
        """How much longer a kernel takes than the best; infinite where there is no right record of it."""
        best = self.best
        if best is None or not self.knows(kernel):
            return math.inf
        # What was tried alone is compared with what was, where it was.
        for known in (self.turns, self.alone):
            if kernel in known and best in known:
                return max(0.0, speed(known[best]) / speed(known[kernel]) - 1)
        return max(0.0, speed(self.record(best)) / speed(self.record(kernel)) - 1)

    def knows(self, kernel: Kernel) -> bool:
        """Whether there is a right record of a kernel."""
        return kernel in self.turns or kernel in self.alone


def look(case: Case, records: Records, device: Device) -> None:
    """Fill in what the records know of a case, by the programs as they are now."""
    case.alone, case.turns = {}, {}
    if not case.spaces:
        names = accepting(case, device)
        case.spaces = {name: Listed(STENCILS[name].space(case.problem, device)) for name in names}
    wrong = set()
    for name in case.spaces:
        written = toolchain(device, name)
        for protocol in (measure.ALONE, measure.INTERLEAVED, measure.DECIDED):
            tried = records.tried(case.problem, case.regime, device.key, name, protocol, written)
            for config, row in tried.items():
                kernel, known = (name, config), case.alone if protocol == measure.ALONE else case.turns
                if row.status != "ok" or row.timing is None:
                    wrong.add(kernel)
                elif kernel not in known or known[kernel].when < row.when:
                    known[kernel] = row
    # Who was once wrong, or took its process down, serves nobody.
    for kernel in wrong:
        case.alone.pop(kernel, None)
        case.turns.pop(kernel, None)
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
        losses = {kernel: case.loss(kernel) for kernel in {**case.alone, **case.turns}}
        near = sorted(losses, key=lambda kernel: (losses[kernel], repr(kernel)))
        for kernel in near[:AROUND]:
            if losses[kernel] <= max(NEARLY, within):
                good[kernel] = good.get(kernel, 0) + 1
    ranked = sorted(good, key=lambda kernel: (-good[kernel], kernel not in winners, repr(kernel)))
    begin = dict.fromkeys([*winners, *ranked[:MENDED]])
    return list(dict.fromkeys([*ranked[:MOST], *winners, *_mended(cases, begin)]))


def _mended(cases: Sequence[Case], kernels: Iterable[Kernel]) -> list[Kernel]:
    """What is nearest to kernels in the spaces of cases that cannot have them, those first that most cases
    can have, and of no use to one alone."""
    found: dict[Kernel, int] = {}
    for name, config in kernels:
        for case in cases:
            if name in case.spaces and not case.allows((name, config)):
                near = case.spaces[name].whole.nearest(config)
                if near is not None and (name, near) not in found:
                    found[name, near] = sum(each.allows((name, near)) for each in cases)
    shared = [kernel for kernel in found if found[kernel] > 1]
    return sorted(shared, key=lambda kernel: (-found[kernel], repr(kernel)))[:MENDED]


def missing(case: Case, kernels: Iterable[Kernel], device: Device) -> dict[str, list[Config]]:
    """By stencil, the configs that a case has no record of, that hardware allows, and of which its cost model
    does not foretell ``DOUBT`` times what the best takes."""
    found: dict[str, list[Config]] = {}
    for name, config in kernels:
        if not case.knows((name, config)) and case.allows((name, config)):
            found.setdefault(name, []).append(config)
    best = case.best
    for name, configs in found.items():
        model = STENCILS[name].cost_model(case.problem, device)
        if model is not None and best is not None and best[0] == name:
            at_best, *costs = model([best[1], *configs])
            found[name] = [
                config for config, cost in zip(configs, costs, strict=True) if cost <= DOUBT * at_best
            ]
    return {name: configs for name, configs in found.items() if configs}
