"""Kernels that were handed in, on an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.custom.problem import KernelProblem
from tilewright.model import Device, Timing
from tilewright.runtime.custom_cuda import bound
from tilewright.targets.cuda import driver, modules
from tilewright.targets.cuda.binding import Binding
from tilewright.tuning import contest, timing
from tilewright.tuning.evaluate import Candidate, FinalRound, Outcome
from tilewright.tuning.evaluate.cuda_timing import Events, guarded, turns
from tilewright.tuning.evaluate.kernels import GUARD, Image, KernelEvaluation, Values


class CudaKernelEvaluation(KernelEvaluation):
    """Arrays are allocations of the driver, with the guards in them."""

    def __init__(self, device: Device):
        super().__init__(device)
        self.copies: list[Any] = []
        self.checks = []
        self._watch: Events | None = None

    @property
    def watch(self) -> Events:
        """The driver's stopwatch, made when it is first needed."""
        if self._watch is None:
            self._watch = Events()
        return self._watch

    def prepare(self, problem: KernelProblem, regime: str) -> None:
        # What was there before goes first: there may not be room for both.
        self.copies, self.checks = [], []
        with guarded():
            super().prepare(problem, regime)

    def place(self, images: Sequence[Image]) -> list[driver.Memory]:
        return [driver.allocate(image.words.nbytes) for image in images]

    def fill(self, placed: list[driver.Memory], images: Sequence[Image]) -> None:
        for memory, image in zip(placed, images, strict=True):
            driver.upload(memory.address, image.words)

    def fetch(self, placed: list[driver.Memory]) -> list[Any]:
        driver.synchronize()
        found = []
        for memory in placed:
            words = np.empty(memory.size, np.uint8)
            driver.download(words, memory.address)
            found.append(words)
        return found

    def call(
        self, candidate: Candidate, problem: KernelProblem, placed: list[driver.Memory], values: Values
    ) -> Binding:
        made = bound(modules.load(candidate.binary), problem, candidate.config, values)
        return made.put([memory.address + GUARD for memory in placed])

    def attempt(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> Outcome:
        with guarded():
            return super().attempt(candidate, least, budget, early_stop)

    def final(self, candidates: Sequence[Candidate], rounds: int) -> FinalRound:
        with guarded():
            return super().final(candidates, rounds)

    def timed(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> tuple[Timing, str]:
        found = timing.measure(
            self._turns(candidate),
            watch=self.watch,
            regime=self.regime,
            batch=self.problem.batch,
            least=least,
            budget=budget,
            target=timing.TRIED,
            early_stop=early_stop,
        )
        return found, driver.clocks()

    def raced(self, candidates: Sequence[Candidate], rounds: int) -> tuple[list[Timing], str, str]:
        runs = {str(number): self._turns(candidate) for number, candidate in enumerate(candidates)}
        found, clocks, note = contest.race(
            runs,
            rounds=rounds,
            regime=self.regime,
            batch=self.problem.batch,
            clocks=driver.clocks,
            watch=self.watch,
        )
        return list(found.values()), clocks, note

    def _turns(self, candidate: Candidate) -> timing.Run:
        return turns([self.call(candidate, self.problem, copy, self.values) for copy in self.copies])
