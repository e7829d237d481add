"""A problem as it is tuned: on which batch, by which stencils, and what wrote and compiled its candidates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import Device
from tilewright.runtime import build
from tilewright.stencils.protocol import refused
from tilewright.task import Task
from tilewright.tuning.evaluate.table import EVALUATIONS

T = TypeVar("T", bound=Task)


def toolchain(device: Device, stencil: str) -> str:
    """What wrote and compiled a candidate: after a change of either, old tries say nothing of new ones."""
    return f"{TARGETS[device.kind].toolchain()} stencils {build.generators(stencil)[:8]}"


def sized(problem: T, regime: str, device: Device) -> T:
    """The problem with the batch that a regime is measured on."""
    made: T = EVALUATIONS[device.kind].sized(problem, regime, device)
    return made


def taking(problem: Task, device: Device, stencils: Iterable[str]) -> list[str]:
    """Those of some stencils that accept a problem, as it is measured, on a device."""
    found = []
    for name in stencils:
        # Rows of the table say what they are for before they are loaded.
        row = STENCILS.entries.get(name) or STENCILS[name]
        if row.target == device.kind and refused(STENCILS[name], problem, device) is None:
            found.append(name)
    return found
