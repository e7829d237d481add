"""Evaluations on a CPU: candidates are called like functions, on one core, next to NumPy's product."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.model import VENDOR, Binary, Device, Gemm, Problem, Verdict
from tilewright.targets.cpu import llvm
from tilewright.tuning import contest
from tilewright.tuning import timing as measure
from tilewright.tuning.evaluate import Candidate, FinalRound, Outcome, serve
from tilewright.tuning.evaluate.kernels import Either
from tilewright.tuning.evaluate.kernels_cpu import CpuKernelEvaluation
from tilewright.tuning.gemm.operands import Operands, operands
from tilewright.tuning.gemm.verify import Verifier


class CpuEvaluation:
    """Checks and times binaries of one problem after another."""

    def __init__(self, device: Device):
        self.device = device
        self.problem: Problem | None = None

    def prepare(self, problem: Gemm, regime: str) -> None:
        """Make operands for a problem: a batch larger than the caches, or half of the second level."""
        assert isinstance(problem, Problem)  # No stencil of a CPU accepts a list.
        self.problem = None
        self.verifier = Verifier(problem)
        self.timed = operands(problem, 1)
        # A pass over cached data is some ten microseconds: several of them make the call's own cost vanish.
        self.passes = 32 if regime == "cached" else 1
        self.regime, self.problem = regime, problem

    def attempt(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> Outcome:
        """Check a binary, and time it if it is right."""
        kernel = llvm.load(candidate.binary)
        function = llvm.PROTOTYPE(kernel.address)
        verdict = self.verifier.check(lambda made: function(*made.arguments))
        if not verdict.ok:
            return Outcome(verdict)
        timing = measure.measure(
            self._passes(candidate.binary),
            regime=self.regime,
            batch=self.batch,
            least=least,
            budget=budget,
            target=measure.TRIED,
            early_stop=early_stop,
        )
        return Outcome(verdict, timing)

    def final(self, candidates: Sequence[Candidate], rounds: int) -> FinalRound:
        """Time several right binaries and NumPy's product in turns."""
        runs = {str(number): self._passes(candidate.binary) for number, candidate in enumerate(candidates)}
        product = vendor_call(self.timed)

        def vendor() -> None:
            for _ in range(self.passes):
                product()

        names = list(runs)
        runs[VENDOR] = vendor
        timings, mhz, note = contest.race(
            runs, rounds=rounds, regime=self.regime, batch=self.batch, takers=names, clocks=clocks
        )
        theirs = timings.pop(VENDOR)
        outcomes = [Outcome(Verdict(True, 0.0), timing, mhz) for timing in timings.values()]
        return FinalRound(outcomes, (f"numpy {np.__version__}", theirs), note=note)

    def _passes(self, binary: Binary) -> Callable[[], None]:
        return llvm.repeated(llvm.load(binary), self.passes, self.timed.arguments, self.device)

    @property
    def batch(self) -> int:
        """Products in one timed call."""
        return self.passes * self.timed.problem.batch


def handler(device: Device) -> Callable[[tuple[Any, ...]], Any]:
    """The handler of the timing child, which keeps to one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return serve(Either(CpuEvaluation(device), CpuKernelEvaluation(device)))


def vendor_call(made: Operands) -> Callable[[], None]:
    """What the user would call instead, on the same memory: numpy.matmul, and an addition for a beta."""
    p = made.problem
    # Column-major C = op(A) op(B) is row-major C' = op(B)' op(A)'; views share the memory.
    b, a, c = (x.swapaxes(1, 2) for x in (made.b, made.a, made.c))
    b = b.swapaxes(1, 2) if p.transposed_b else b
    a = a.swapaxes(1, 2) if p.transposed_a else a

    def conjugated() -> tuple[Any, Any]:
        return (b.conj() if p.conj_b else b), (a.conj() if p.conj_a else a)

    if p.beta == "0" and p.alpha == "1":

        def overwrite() -> None:
            np.matmul(*conjugated(), out=c)

        return overwrite
    temporary = np.empty_like(c)

    def update() -> None:
        np.matmul(*conjugated(), out=temporary)
        if p.alpha != "1":
            np.multiply(temporary, made.alpha, out=temporary)
        if p.beta == "any":
            np.multiply(c, made.beta, out=c)
        np.add(c, temporary, out=c) if p.beta != "0" else np.copyto(c, temporary)

    return update


def clocks() -> str:
    """What the system says of the clock of its first core, in MHz; empty where it says nothing."""
    try:
        text = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq").read_text()
    except OSError:
        return ""
    return f"{int(text) // 1000} MHz"
