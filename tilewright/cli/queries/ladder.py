"""The ladder of kernels, on this machine's GPU or as it is known of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.targets.cuda import capability, devices
from tilewright.tutorial import ladder, outlines

WITHOUT = "h200"
"""The device whose table is shown where there is none."""


def ladder_table(
    n: int, named: str | None, rounds: int, listen: Callable[[str], None], letter: str = "s"
) -> dict[str, Any]:
    """The ladder of a type measured on this machine's GPU; without one, or for a named device, what is known
    without running: ``missing`` says why."""
    if named is not None:
        return outlines.survey(n, capability.named(named), letter=letter)
    if devices.missing() is not None:
        return outlines.survey(n, capability.named(WITHOUT), letter=letter)
    return ladder.climb(n, rounds=rounds, listen=listen, letter=letter)
