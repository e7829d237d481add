"""Kernels on the operands of one problem, callable without arguments: what several commands time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench import machine
from tilewright.model import Config, Device, Kernel, Problem, Timing
from tilewright.planning import dispatch
from tilewright.runtime import build
from tilewright.store.records import Records
from tilewright.targets.cpu import llvm
from tilewright.tuning import timing as measure
from tilewright.tuning.gemm.operands import operands
from tilewright.tuning.tasks import sized

# A pass over cached data takes some ten microseconds and a call from Python one: several passes a call.
PASSES = {"cached": 32, "memory": 1}


def pin() -> None:
    """Keep this process, and what it starts, to the core that is measured."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {machine.measured_core()})


@contextmanager
def pinned() -> Iterator[None]:
    """The same for a while: processes that are started before or after it are not held to that core."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    pin()
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def untuned() -> Iterator[None]:
    """What calls run meanwhile, as far as this process plans it, is what they would without any record."""
    before = dispatch.records
    with tempfile.TemporaryDirectory() as folder:
        empty = Records(Path(folder) / "records.sqlite", shipped=Path(folder))
        dispatch.records = lambda: empty  # type: ignore[assignment]
        try:
            yield
        finally:
            dispatch.records = before
            empty.close()


class Stand:
    """The operands of a problem at the batch of a regime, for any number of kernels."""

    def __init__(self, problem: Problem, regime: str, device: Device):
        self.device, self.regime = device, regime
        self.problem = sized(problem, regime, device)
        self.made = operands(self.problem, 1)
        self.passes = PASSES[regime]

    @property
    def batch(self) -> int:
        """Products in one timed call."""
        return self.passes * self.problem.batch

    def kernel(self, stencil: str, config: Config) -> Kernel:
        """The kernel of a config for this problem. Raises ``CompileError`` as ``build.kernel`` does."""
        return build.kernel(stencil, self.problem, config, self.device)

    def run(self, kernel: Kernel) -> Callable[[], None]:
        """A call that makes ``passes`` passes over the batch."""
        call: Callable[[], None] = llvm.repeated(kernel, self.passes, self.made.arguments, self.device)
        return call

    def in_turns(
        self, chosen: Mapping[str, tuple[str, Config]], rounds: int, budget: float = float("inf")
    ) -> dict[str, Timing]:
        """Timings of named (stencil, config) pairs, taken in turns on one core."""
        with pinned():
            runs = {name: self.run(self.kernel(*pair)) for name, pair in chosen.items()}
            return measure.interleaved(
                runs, rounds=rounds, regime=self.regime, batch=self.batch, budget=budget
            )

    def gflops(self, timing: Timing) -> float:
        """10^9 operations a second."""
        return self.problem.flops * timing.batch / timing.median / 1e9
