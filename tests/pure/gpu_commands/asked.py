"""A GPU whose ceilings are known, and what a command says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilewright.model import Problem
from tilewright.targets.cuda import capability

H200 = capability.named("h200")
CEILINGS = {"bandwidth.copy.1": 4e12, **capability.units(H200)}
KNOWN = replace(H200, ceilings=CEILINGS)


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]
