"""The process that Nsight Compute watches: launches one kernel a few times."""

from __future__ import annotations

from bench.analysis.kernel import compiled
from tilewright.model import Device, Problem
from tilewright.targets.cuda import driver, modules
from tilewright.tuning.evaluate.cuda import CudaEvaluation, bound

LAUNCHES = 3
"""Launches of a profiled child; the last one is measured."""


def launched(problem: Problem, device: Device) -> None:
    """Start a problem's kernel a few times on operands in device memory, for a profiler to look at."""
    driver.context()
    _, kernel = compiled(problem, device)
    evaluation = CudaEvaluation(device)
    evaluation.prepare(problem, "cached")
    start = bound(kernel, modules.load(kernel.binary), problem, evaluation.pointers[0])
    for _ in range(LAUNCHES):
        start(0)
        driver.synchronize()
