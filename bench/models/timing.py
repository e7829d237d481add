"""The child that measures: every config once on a result full of NaN, then by samples, or some in turns."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from bench import alone
from bench.models.tries import DEFAULT, PROPOSED, Try
from tilewright.catalog import STENCILS
from tilewright.errors import CompileError, TilewrightError
from tilewright.model import Problem
from tilewright.runtime import launch
from tilewright.store import binaries
from tilewright.targets.cuda import modules
from tilewright.tuning.workers import Fatal

EARLY_STOP = 1.5
"""Times as long as the best so far from which on one sample of a config is enough."""


class Asked(NamedTuple):
    """What the child is asked for: all of these once, within so many seconds, or some in turns."""

    problem: Problem
    tries: Sequence[Try]
    seconds: float
    rounds: int = 0


class Handler:
    """What the measuring child answers: seconds of cuBLAS, and of each try; words where it is wrong; None
    where time was over."""

    def __init__(self) -> None:
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        self.torch: Any = torch
        self.clock, self.pools = alone.Clock(torch), alone.Pools(torch)
        self.loaded: dict[str, Any] = {}

    def __call__(self, asked: Asked) -> tuple[float, list[float | str | None]]:
        try:
            case = alone.Case(self.torch, self.pools, asked.problem)
            return self.finals(case, asked) if asked.rounds else self.each(case, asked)
        except RuntimeError as error:
            # What a kernel did to the context stays.
            raise Fatal(str(error)) from error

    def finals(self, case: alone.Case, asked: Asked) -> tuple[float, list[float | str | None]]:
        """Some in turns with cuBLAS."""
        runs = [case.runs[alone.CUBLAS], *(self.bound(case, each) for each in asked.tries)]
        return in_turns(self.clock, runs, asked.rounds)

    def each(self, case: alone.Case, asked: Asked) -> tuple[float, list[float | str | None]]:
        """All once: those by chance until time is over."""
        cublas = sampled(self.clock, case.runs[alone.CUBLAS], math.inf)
        best, answers = cublas, list[float | str | None]()
        end = time.monotonic() + asked.seconds
        for each in asked.tries:
            if time.monotonic() > end and each.origin not in (DEFAULT, PROPOSED):
                answers.append(None)
                continue
            try:
                run = self.bound(case, each)
                wrong = differs(case, run)
            except TilewrightError as error:
                answers.append(f"{type(error).__name__}: {error}")
                self.torch.cuda.synchronize()
                continue
            answers.append(wrong or sampled(self.clock, run, EARLY_STOP * best))
            if not wrong:
                best = min(best, float(answers[-1] or math.inf))
        return cublas, answers

    def bound(self, case: alone.Case, each: Try) -> alone.Run:
        """A try with the operands of a product. Raises ``CompileError`` where its program is not there."""
        if each.key not in self.loaded:
            binary = binaries.read(each.key)
            if binary is None:
                raise CompileError(f"{each.key} is not there")
            self.loaded[each.key] = modules.load(binary)
        places = case.a.data_ptr(), case.b.data_ptr(), case.out.data_ptr()
        stencil, loaded = STENCILS[each.stencil], self.loaded[each.key]
        whole = launch.bind(stencil, loaded, case.problem, each.config, (1, 0), places)
        return partial(whole, self.torch.cuda.current_stream().cuda_stream)


def differs(case: alone.Case, run: alone.Run) -> str:
    """Why a kernel is wrong at the ends of its result, which was NaN before; empty where it is not."""
    limit = alone.WRONG[case.problem.dtype.letter]
    flat, wanted = case.out.view(-1), case.want.view(-1)
    ends = flat[: alone.CHECKED], flat[-alone.CHECKED :]
    for end in ends:
        end.fill_(math.nan)
    run()
    for x, y in zip(ends, (wanted[: alone.CHECKED], wanted[-alone.CHECKED :]), strict=True):
        off = float((x - y).abs().max() / y.abs().max())
        # A number that is none is no smaller than the limit.
        if not off < limit:
            return f"differs by {off:.1e}"
    return ""


def sampled(clock: alone.Clock, run: alone.Run, limit: float) -> float:
    """Seconds of a product by two samples, or by one of a single launch where that took more than a limit."""
    first = clock.seconds(run, 1)
    if first > limit:
        return first
    calls = max(1, min(alone.MOST, round(alone.SAMPLE / first)))
    return min(clock.seconds(run, calls) for _ in range(2))


def in_turns(
    clock: alone.Clock, runs: Sequence[alone.Run], rounds: int
) -> tuple[float, list[float | str | None]]:
    """Medians of all in turns, the first apart."""
    calls = [max(1, min(alone.MOST, round(alone.SAMPLE / clock.seconds(run, 1)))) for run in runs]
    samples: list[list[float]] = [[] for _ in runs]
    for turn in range(rounds):
        for at in range(len(runs)):
            at = (at + turn) % len(runs)
            samples[at].append(clock.seconds(runs[at], calls[at]))
    first, *others = map(statistics.median, samples)
    return first, list(others)
