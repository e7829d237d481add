"""How much is measured at a time on an NVIDIA GPU: batches, copies of operands, seconds."""

from __future__ import annotations

from typing import Any

from tilewright.custom.problem import KernelProblem
from tilewright.model import Device, GroupedProblem

SOLO = 256**3
"""Multiply-adds from which a product is worth a launch of its own; smaller ones are timed in batches."""
COPIES = 256
"""Most copies of the operands that launches go through in turns."""
BUDGETS = {"memory": 0.03, "cached": 0.03}
"""Seconds of one attempt, by regime."""
EARLY_STOP = 1.5
"""A candidate that takes so many times as long as the best one so far is not measured further."""


def sized(problem: Any, regime: str, device: Device) -> Any:
    """The problem with the batch that a regime is measured on.

    A large product, or a batch that the user gave, stays as it is: its speed depends on how many tiles
    there are. A small product is repeated until the batch is larger than the cache, or half of it.
    So does a list, and a kernel that was handed in.
    """
    if isinstance(problem, GroupedProblem | KernelProblem):
        return problem
    one = max(1, problem.with_(batch=2).footprint - problem.with_(batch=1).footprint)
    if problem.batch > 1 or problem.m * problem.n * problem.k >= SOLO:
        # Copies are rotated for the rest of what it takes to leave nothing in the cache.
        least = -(-2 * device.knee() // (COPIES * one)) if regime == "memory" else 1
        return problem.with_(batch=max(problem.batch, least))
    if regime == "cached":
        return problem.with_(batch=max(1, device.knee() // 2 // one))
    return problem.with_(batch=max(1, max(2 * device.knee(), 128 << 20) // one))
