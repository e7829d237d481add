"""A slip: a file, what stands there exactly once, what stands there instead, and the tests that should see
it.

A slip is something that a person may write by mistake and that makes the program wrong, not slow. Who moves
a file changes the first column; who rewrites a line changes the second, or deletes the row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slip:
    """``old`` occurs once in ``file`` (a path from the root of the repository); ``tests`` are arguments of
    pytest."""

    file: str
    old: str
    new: str
    tests: str
