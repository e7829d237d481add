"""Points of a measurement: problems with the kernels that are timed in turns on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem
from tilewright.planning import dispatch
from tilewright.store.records import Records
from tilewright.tuning.timing import speed

SMALL = ("tiny", "tensor")
"""The stencils that are written for batches, in the order in which an untuned call asks them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel that takes part: its stencil and config, and where they are from."""

    stencil: str
    config: Config
    origin: str


@dataclass(frozen=True, slots=True)
class Point:
    """A problem with the kernels that are timed in turns on it.

    ``moved``: bytes of one product, where they are not ``Problem.bytes``. ``says``: more of its lines.
    """

    problem: Problem
    regime: str
    entries: tuple[Entry, ...]
    moved: float | None = None
    says: Mapping[str, Any] = field(default_factory=dict)

    @property
    def bytes(self) -> float:
        """Bytes of one product that device memory has to move."""
        return self.problem.bytes if self.moved is None else self.moved


def planned(problem: Problem, device: Device) -> Entry:
    """What a call runs, were there no library."""
    plan = dispatch.plan(problem, device, vendor=False)
    assert plan.stencil is not None
    assert plan.config is not None
    return Entry(plan.stencil, plan.config, plan.origin)


def entry_of(name: str, problem: Problem, regime: str, device: Device, records: Records) -> Entry:
    """A stencil's best config for a problem on record, or its default. Its own records rank: newer protocols
    first, then the faster."""
    stencil = STENCILS[name]
    asked = {"problem_key": problem.key, "regime": regime, "stencil": name, "status": "ok"}
    rows = [row for row in records.all(device=device.key, **asked) if row.timing]
    rows = rows or [
        row
        for row in records.shipped(device.key)
        if row.timing and (row.problem.key, row.regime, row.stencil) == (problem.key, regime, name)
    ]
    space = stencil.space(problem, device)
    for row in sorted(rows, key=lambda row: (-row.protocol, -speed(row))):
        if space.member(row.config) is None:
            return Entry(name, row.config, "tuned")
    return Entry(name, stencil.default(problem, device), "default")
