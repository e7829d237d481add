"""What a run of the tuner says: where it stands, and what it gave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilewright.model import Device, Record


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands: for a bar, a log line, or the time that is left."""

    problem: Any
    stencil: str
    tried: int
    best: Record | None
    elapsed: float
    budget: float
    done: int
    problems: int
    statuses: dict[str, int] = field(default_factory=dict)
    device: Device | None = None


@dataclass(slots=True)
class Result:
    """What tuning one problem in one regime gave."""

    problem: Any
    """The ``Task`` that was given."""
    regime: str
    best: Record | None
    vendor: Record | None
    tried: int = 0
    seconds: float = 0.0
    device_seconds: float = 0.0
    """How long the timing children worked, all together."""
    waited: float = 0.0
    """How long they waited for a compiler."""
    missing: str = ""
    """Why there is no figure of the vendor's."""
    statuses: dict[str, int] = field(default_factory=dict)
    tied: tuple[Record, ...] = ()
    """Finalists that the final round could not tell from the best one."""
    note: str = ""
    """What disturbed the final round."""
    device: Device | None = None
    """The device, or the first of several like ones, that it was tuned on."""
