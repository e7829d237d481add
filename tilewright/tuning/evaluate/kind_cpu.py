"""Tuning on a CPU as the tuner's own process sees it: what evaluates there is loaded by the child."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.custom.problem import KernelProblem
from tilewright.loading import load
from tilewright.model import Device
from tilewright.tuning.evaluate import Kind


def factory(device: Device) -> Callable[[tuple[Any, ...]], Any]:
    """The handler of the timing child, which is pinned to one core."""
    made: Callable[[tuple[Any, ...]], Any] = load("tilewright.tuning.evaluate.cpu:handler")(device)
    return made


def sized(problem: Any, regime: str, device: Device) -> Any:
    """The problem with the batch that a regime is measured on: half of what a core has for itself, or twice
    what all caches hold in effect, which leaves nothing in them from one pass to the next. A kernel that was
    handed in is measured on the sizes that it was tuned for."""
    if isinstance(problem, KernelProblem):
        return problem
    one = max(1, problem.with_(batch=2).footprint - problem.with_(batch=1).footprint)
    if regime == "cached":
        return problem.with_(batch=max(1, device["l2"] // 2 // one))
    return problem.with_(batch=max(2, max(2 * device.knee(), 128 << 20) // one))


def compilers(device: Device) -> int:
    """All cores but the timed one, up to 8: a candidate compiles about as long as it is timed."""
    return min(max(1, device["cores"] - 1), 8)


KIND = Kind(
    factory,
    sized,
    compilers,
    budgets={"memory": 0.03, "cached": 0.015},
    environment={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
)
