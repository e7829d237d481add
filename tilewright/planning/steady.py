"""Which kernel a call with ``deterministic=True`` runs: one by which no row of a result depends on others.

The choice goes by what a stencil says of itself (``Stencil.steady``), in the order of the catalog. No record
is asked, nor how many rows there are, nor how many products a batch has; a library is never asked, for none
says in which order it adds.
"""

from __future__ import annotations

from tilewright.errors import ArgumentError
from tilewright.model import Config, Device, Plan, Problem
from tilewright.planning import candidates, dispatch
from tilewright.stencils.protocol import UNSTEADY, Stencil

WHY = "the same bits for a row, however many rows and products there are"
"""What a plan says of itself."""


def plan(problem: Problem, device: Device, cores: int | None = None) -> Plan | str:
    """The plan for a problem, whose columns are a caller's rows; or why no stencil has one."""
    reasons = []
    cores = device["cores"] if cores is None else min(cores, device["cores"])
    for name, stencil in candidates.of(device).items():
        found = _config(stencil, problem, device)
        if isinstance(found, Config):
            grain = stencil.launch(problem, found).grain
            kind = dispatch.regime(problem, device, cores)
            threads = dispatch.threads(problem, grain, cores)
            return Plan(problem, device, kind, "deterministic", WHY, name, found, threads)
        if found != UNSTEADY:
            reasons.append(f"{name}: {found}")
    return "; ".join(reasons)


def refusal(problem: Problem, reasons: str) -> ArgumentError:
    """What a call raises that no kernel serves."""
    return ArgumentError(
        f"deterministic=True for {problem.spelling} ({problem.layout}): no kernel adds in an order that "
        f"rows do not change ({reasons})"
    )


def _config(stencil: Stencil, problem: Problem, device: Device) -> Config | str:
    # What is for something else than products of one size.
    other = stencil.lists or stencil.chains or stencil.segments or stencil.custom or stencil.interleaved
    return UNSTEADY if other else stencil.steady(problem, device)
