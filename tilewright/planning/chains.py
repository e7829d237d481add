"""What runs a chain of products: the ladder of ``dispatch``, as far as chains go by it. No chain is tuned
yet, so there are no rungs of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.catalog import of_chains
from tilewright.errors import ArgumentError
from tilewright.model import ChainProblem, Config, Device, Plan
from tilewright.planning import classes

COMPOSED = "vendor"
"""The origin of plans without a stencil: the chain is composed of products, each planned by itself."""


def plan(problem: ChainProblem, device: Device, config: Mapping[str, Any] | None = None) -> Plan:
    """The plan for a chain, from the first rung that has one:

    1. ``forced``: the caller named parameters;
    2. ``default``: the stencil of chains accepts it, with its cost model's config;
    3. ``vendor``: products one after the other, where no stencil takes the chain, where they were measured to
       be faster in its class (``classes``), or, where nothing was measured, where the stencil says that it
       would be the slower guess.

    Raises ``ArgumentError`` when a forced config does not fit the problem.
    """
    regime = "cached" if problem.footprint <= device.knee() else "memory"
    stencil = of_chains(device.kind)
    reason = "no stencil writes chains for it"
    if stencil is not None:
        reason = stencil.accepts(problem, device) or stencil.runs(device) or ""
    if config is not None:
        if stencil is None or reason:
            raise ArgumentError(f"config={dict(config)} for {problem.spelling}: {reason}")
        chosen = Config({**stencil.default(problem, device), **config})
        wrong = stencil.space(problem, device).member(chosen)
        if wrong is not None:
            raise ArgumentError(f"config {wrong}; given: {dict(config)}")
        return Plan(problem, device, regime, "forced", "named by the caller", stencil.name, chosen)
    if stencil is None or reason:
        return Plan(problem, device, regime, COMPOSED, reason)
    wins = classes.wins(stencil.name, problem, regime, device)
    if wins is False or (wins is None and stencil.needs_record(problem)):
        return Plan(problem, device, regime, COMPOSED, "products one by one are the better guess")
    chosen = stencil.default(problem, device)
    return Plan(
        problem, device, regime, "default", "no record; the stencil's cost model", stencil.name, chosen
    )
