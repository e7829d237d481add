"""Kernels that were handed in, on a processor: C functions called by one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.custom.problem import KernelProblem
from tilewright.model import Timing
from tilewright.runtime.custom_cpu import bound
from tilewright.targets.cpu import llvm
from tilewright.tuning import contest, timing
from tilewright.tuning.evaluate import Candidate
from tilewright.tuning.evaluate.kernels import GUARD, Image, KernelEvaluation, Values


class CpuKernelEvaluation(KernelEvaluation):
    """Arrays are the images' own bytes, or copies of them."""

    def place(self, images: Sequence[Image]) -> list[Any]:
        return [Image(image.array, image.extents, None).words for image in images]

    def fill(self, placed: list[Any], images: Sequence[Image]) -> None:
        for words, image in zip(placed, images, strict=True):
            words[:] = image.words

    def fetch(self, placed: list[Any]) -> list[Any]:
        return placed

    def call(
        self, candidate: Candidate, problem: KernelProblem, placed: list[Any], values: Values
    ) -> Callable[[], object]:
        addresses = [words.ctypes.data + GUARD for words in placed]
        return bound(llvm.load(candidate.binary), problem, addresses, values)

    def timed(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> tuple[Timing, str]:
        found = timing.measure(
            self._pass(candidate),
            regime=self.regime,
            batch=self.passes,
            least=least,
            budget=budget,
            target=timing.TRIED,
            early_stop=early_stop,
        )
        return found, ""

    def raced(self, candidates: Sequence[Candidate], rounds: int) -> tuple[list[Timing], str, str]:
        runs = {str(number): self._pass(candidate) for number, candidate in enumerate(candidates)}
        found, clocks, note = contest.race(runs, rounds=rounds, regime=self.regime, batch=self.passes)
        return list(found.values()), clocks, note

    @property
    def passes(self) -> int:
        """Items in one timed pass, which goes through all copies."""
        return self.problem.batch * len(self.copies)

    def _pass(self, candidate: Candidate) -> Callable[[], None]:
        calls = [self.call(candidate, self.problem, copy, self.values) for copy in self.copies]

        def run() -> None:
            for call in calls:
                call()

        return run
