"""The ladder of effort, as FFTW's planner has one: how long a problem is tuned, and by which search.

A rung never ends with a slower kernel than one below it, as far as the final round can tell: what won before,
here or in the records that ship, is always among the finalists (``starts``).
"""

from __future__ import annotations

from typing import NamedTuple


class Effort(NamedTuple):
    """Seconds of searching for one problem in one regime, and the search; no search: nothing is measured."""

    seconds: float
    search: str


EFFORTS = {
    "records-only": Effort(0.0, ""),
    "estimate": Effort(0.0, "starts"),
    "quick": Effort(6.0, "model"),
    "patient": Effort(40.0, "model"),
    "exhaustive": Effort(float("inf"), "exhaustive"),
}
