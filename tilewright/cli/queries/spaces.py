"""Spaces: the stencils that have one for a problem, its size, and which of its rules a config breaks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from tilewright.catalog import STENCILS
from tilewright.cli.queries.texts import accepted, values
from tilewright.errors import ArgumentError
from tilewright.model import Config, Device, Gemm, Record
from tilewright.planning import candidates, dispatch
from tilewright.space import HARDWARE, KINDS, Space
from tilewright.stencils.protocol import refused
from tilewright.task import Task
from tilewright.tuning.tasks import sized


def stencils(problem: Gemm, wanted: str | None, device: Device) -> list[str]:
    """The stencils that accept a problem, or the one that is wanted. Raises ``ArgumentError`` for none."""
    there = candidates.of(device)
    names = list(there) if wanted is None else [accepted("stencil", wanted, list(there))]
    reasons = {name: refused(there[name], problem, device) for name in names}
    found = [name for name, reason in reasons.items() if reason is None]
    if not found:
        told = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        raise ArgumentError(f"problem={problem.spelling}: no stencil accepts it ({told})")
    return found


def whole(
    problem: Gemm, name: str, device: Device, guidelines: str | None, floors: Mapping[str, float]
) -> Space:
    """The space of a stencil on a device, under named guidelines and with some of their floors replaced.

    Raises ``ArgumentError`` for guidelines that the stencil does not have.
    """
    stencil = STENCILS[name]
    if guidelines is None and not floors:
        return stencil.space(problem, device)
    named = stencil.guidelines(guidelines or "default", problem, device)
    return stencil.guided(problem, device, replace(named, **floors))


def counted(
    problem: Gemm, regime: str, name: str, device: Device, whole: Space, rules: str, funnel: bool
) -> dict[str, Any]:
    """A space counted, rule by rule if asked for, and what has been tried of it."""
    whole = whole.only(KINDS if rules == "all" else HARDWARE)
    why = {rule.name: rule.why for rule in whole.rules}
    steps = whole.funnel() if funnel else []
    newest: dict[Config, Record] = {}
    for record in dispatch.records().all(
        problem_key=problem.key, regime=regime, device=device.key, stencil=name
    ):
        newest[record.config] = record
    return {
        "all": whole.size,
        "left": steps[-1].left if steps else whole.count(),
        "funnel": [
            {
                "rule": s.stage,
                "kind": s.kind,
                "removed": s.removed,
                "left": s.left,
                "why": why.get(s.stage, ""),
            }
            for s in steps
        ],
        "tried": dict(Counter(record.status for record in newest.values())),
    }


def broken(problem: Gemm, name: str, device: Device, whole: Space, text: str) -> dict[str, Any]:
    """The rules that a config breaks: the stencil's default with some values changed."""
    default = STENCILS[name].default(problem, device)
    config = default.with_(**values(text, list(default)))
    strange = {param.name: param.values for param in whole.params if config[param.name] not in param.values}
    # A rule has no answer for what is no value of its parameters.
    asked = Space(whole.params, [rule for rule in whole.rules if not strange.keys() & set(rule.reads)])
    found = [{"rule": rule.name, "kind": rule.kind, "why": rule.why} for rule in asked.why(config)]
    for param, choices in strange.items():
        why = f"{param} is one of {', '.join(map(str, choices))}"
        found.append({"rule": "value", "kind": "hard", "why": why})
    return {"config": dict(config), "broken": found}


@cache
def points(problem: Gemm, regime: str, kind: str = "cpu") -> int:
    """How many configs an exhaustive search of a problem tries."""
    device = dispatch.device(kind)
    asked = sized(problem, regime, device)
    accepting = [s for s in candidates.of(device).values() if refused(s, asked, device) is None]
    return sum(stencil.space(asked, device).count() for stencil in accepting)


SLOW = 0.1
"""Seconds that counting a space may take before those of its stencil are counted no more in a run."""


class Points:
    """The spaces that a tuning run searches, counted once each: while it counts, nothing is timed."""

    def __init__(self, device: Device):
        self._device = device
        self._slow: set[str] = set()
        self._known: dict[tuple[Any, str, str], tuple[int, int]] = {}

    def of(self, problem: Task, regime: str, name: str) -> tuple[int, int] | None:
        """All combinations of a stencil's space for a problem and those that its rules let through; None
        where the spaces of this stencil take too long."""
        key = problem, regime, name
        if key not in self._known and name not in self._slow:
            begin = time.monotonic()
            space = STENCILS[name].space(sized(problem, regime, self._device), self._device)
            self._known[key] = space.size, space.count()
            if time.monotonic() - begin > SLOW:
                self._slow.add(name)
        return self._known.get(key)
