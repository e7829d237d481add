"""What a call will run, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.model.config import Config
from tilewright.model.device import Device


@dataclass(frozen=True, slots=True)
class Plan:
    """What a call will run, and why: a stencil and a config, and the rung of the ladder that gave them.

    ``origin`` is ``forced``, ``tuned``, ``near``, ``kin``, ``predicted``, ``default`` or ``vendor``, or
    ``deterministic`` (``planning.steady``); ``stencil`` is None when the vendor's library is to be called,
    and ``config`` then the algorithm that its record names, None where it names none.
    """

    problem: Any
    """A ``Problem``, or the ``GroupedProblem`` of a list."""
    device: Device
    regime: str
    origin: str
    why: str
    stencil: str | None = None
    config: Config | None = None
    threads: int = 1
