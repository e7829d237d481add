"""Tuning runs: where one stands, what it gave, and sets of kernels."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tilewright.cli.progress import Standing
from tilewright.cli.queries.spaces import Points
from tilewright.cli.report.solved import bound_of
from tilewright.model import PREDICTED, VENDOR, Device, Gemm, Record
from tilewright.planning import dispatch
from tilewright.tuning import timing
from tilewright.tuning.results import Progress, Result
from tilewright.tuning.sets.kernel_set import KernelSet
from tilewright.tuning.timing import speed


def gflops(problem: Gemm, record: Record | None) -> float | None:
    """10^9 operations a second of a record; None without one, and of a prediction."""
    return None if record is None or record.timing is None else problem.flops * speed(record) / 1e9


def standing(state: Progress, regime: str, device: Device, part: float, counted: Points) -> Standing:
    """Where a run stands on a device, for the screen; ``part`` of its job is done, ``counted`` are its
    spaces."""
    best = gflops(state.problem, state.best)
    bound = None if state.best is None else bound_of(state.best, device)
    percent = 100e9 * best / bound.flops_per_s if best and bound else None
    return Standing(
        device.key,
        state.done,
        part,
        state.stencil,
        state.tried,
        state.elapsed,
        best,
        percent,
        state.statuses,
        counted.of(state.problem, regime, state.stencil),
    )


def found(result: Result, device: Device) -> dict[str, Any]:
    """What tuning one problem gave on a device."""
    ours, theirs = (gflops(result.problem, record) for record in (result.best, result.vendor))
    return {
        "problem": result.problem.key,
        "beta": result.problem.beta,
        "device": device.key,
        "kind": device.kind,
        "regime": result.regime,
        "tried": result.tried,
        "seconds": result.seconds,
        "device_seconds": result.device_seconds,
        "waited": result.waited,
        "statuses": result.statuses,
        "missing": result.missing,
        "gflops": ours,
        "vendor_gflops": theirs,
        "against_vendor": ours / theirs if ours and theirs else None,
        "stencil": result.best.stencil if result.best else None,
        "config": dict(result.best.config) if result.best else None,
        "half_width": half_width(result.best),
        "tied": [{"stencil": row.stencil, "config": dict(row.config)} for row in result.tied],
        "note": result.note,
        "predicted": result.best.detail if result.best and result.best.status == PREDICTED else None,
    }


def kernel_set(made: KernelSet) -> dict[str, Any]:
    """A set of kernels, what it serves, and what other numbers of kernels would give."""
    return {
        "device": made.device.key,
        "within": made.within,
        "worst": made.worst,
        "holds": made.holds,
        "exact": made.exact,
        "kernels": [
            {
                "stencil": name,
                "config": dict(config),
                "serves": sum(case.kernel == number for case in made.cases),
                "binaries": binaries,
            }
            for number, ((name, config), binaries) in enumerate(zip(made.kernels, made.binaries, strict=True))
        ],
        "cases": [
            {
                "problem": case.problem.spelling,
                "beta": case.problem.beta,
                "regime": case.regime,
                "kernel": case.kernel,
                "loss": case.loss,
                "beside": case.beside,
                "gflops": gflops(case.problem, case.record),
            }
            for case in made.cases
        ],
        "left": [
            {"problem": problem.spelling, "beta": problem.beta, "regime": regime}
            for problem, regime in made.left
        ],
        "curve": [asdict(point) for point in made.curve],
    }


def half_width(record: Record | None) -> float | None:
    """How far the 95 % interval of a record's time reaches from the median, as a share of it; None without
    one."""
    if record is None or record.timing is None or len(record.timing.samples) < 2:
        return None
    timing = record.timing
    return max(timing.high - timing.median, timing.median - timing.low) / timing.median


def settled(problem: Gemm, regime: str) -> bool:
    """Whether tuning of a problem came to its end on this machine: its best were timed in turns."""
    key = dispatch.device().key
    tries = dispatch.records().all(problem_key=problem.key, regime=regime, device=key, status="ok")
    return any(record.stencil != VENDOR and record.protocol >= timing.INTERLEAVED for record in tries)
