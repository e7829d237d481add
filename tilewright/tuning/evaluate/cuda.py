"""Evaluations on an NVIDIA GPU: candidates are launched on operands in device memory, next to cuBLAS.

A kernel takes sizes as arguments, so it is not checked on the large problem that it is timed on but on
a few small and awkward ones: sizes that leave a remainder in every tile, a k shorter than a step,
padded columns, gaps between matrices, bases aligned to what was promised and to no more, infinities and
NaN. Only the finalists are checked on the timed problem too, in some of its rows and columns.

The vendor has several ways, too: the algorithms that cuBLASLt proposes, each checked on the timed problem and
timed alone, the fastest of which then goes against the array library's own call.

Operands are made on the host one after the other, uploaded, and forgotten; what a check of the timed
problem needs of them is kept. C is updated by every timed launch and never made anew: |beta| < 1 keeps
it bounded, and with beta 1 it grows by one product a launch, 10^30 of which would not overflow. In float16
some thousands do: then candidates and the vendor are timed on the same infinities, and checked on fresh C.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.catalog import STENCILS
from tilewright.errors import DeviceError, TilewrightError
from tilewright.model import VENDOR, Config, Device, Gemm, GroupedProblem, Kernel, Problem, Verdict
from tilewright.runtime import cublaslt, cublaslt_library, launch
from tilewright.space import HARDWARE, Space
from tilewright.targets.cuda import driver, modules
from tilewright.targets.cuda.binding import Binding
from tilewright.tuning import contest
from tilewright.tuning import timing as measure
from tilewright.tuning.baselines import cublas
from tilewright.tuning.contest import FINAL_BUDGET
from tilewright.tuning.evaluate import Candidate, FinalRound, Outcome, serve
from tilewright.tuning.evaluate.cuda_awkward import AWKWARD, variants
from tilewright.tuning.evaluate.cuda_excerpt import SEED, Excerpt
from tilewright.tuning.evaluate.cuda_grouped import GroupedEvaluation
from tilewright.tuning.evaluate.cuda_placed import Placed, spans
from tilewright.tuning.evaluate.cuda_sizes import BUDGETS, COPIES, EARLY_STOP, SOLO
from tilewright.tuning.evaluate.cuda_timing import EventEvaluation, guarded, turns
from tilewright.tuning.evaluate.kernels import Either
from tilewright.tuning.evaluate.kernels_cuda import CudaKernelEvaluation
from tilewright.tuning.gemm.operands import (
    region,
    scalars,
)
from tilewright.tuning.gemm.verify import Case, Prepared, judge, prepare

DIRECT = "vendor, directly"
ALGORITHMS = 12
"""Most algorithms of cuBLASLt that are tried for a problem."""
ALIKE = 1.02
"""How much faster the array library's product has to be than cuBLASLt called directly to be preferred."""
KEPT = 64
"""Prepared checks that are kept, a few megabytes each: problems of a sweep share most of them."""

Pointers = tuple[int, int, int]


# ---- small problems made ready


@dataclass(frozen=True, slots=True)
class Check:
    """A small problem made ready, with room for its operands on the device."""

    problem: Problem
    ready: Prepared
    placed: tuple[Placed, ...]


def bound(candidate: Candidate, kernel: Kernel, problem: Problem, pointers: Pointers) -> Binding:
    """A candidate on a problem whose operands lie at these addresses."""
    alpha, beta, _ = scalars(problem)
    stencil = STENCILS[candidate.stencil]
    return launch.bind(stencil, kernel, problem, candidate.config, (alpha, beta), pointers)


# ---- the evaluation


class CudaEvaluation(EventEvaluation[Problem]):
    """Checks and times binaries of one problem after another on the GPU of this process. A final round has
    ``final_seconds``."""

    def __init__(self, device: Device):
        super().__init__()
        self.device, self.final_seconds = device, FINAL_BUDGET
        self._checks: OrderedDict[tuple[Problem, bool], Check] = OrderedDict()
        self._spaces: dict[tuple[str, Problem], Space | None] = {}
        self._copies: list[list[Placed]] = []
        self._algorithm: tuple[Config, measure.Run] | str | None = None

    def prepare(self, problem: Problem, regime: str) -> None:
        """Put operands on the device: in the regime ``memory`` as many copies as fill twice its cache.

        Raises ``TilewrightError`` with the bytes it takes when memory is too small, and for interleaved
        matrices, whose results nothing here can read back.
        """
        if problem.interleaved is not None:
            raise TilewrightError(
                f"problem={problem.spelling}: on a GPU interleaved matrices run the cost model's config; "
                "accepted: matrices that lie apart"
            )
        # What was there before goes first: there may not be room for both.
        self.release()
        self.problem, self.regime = problem, regime
        one = sum(spans(problem))
        copies = 1
        if regime == "memory":
            copies = min(COPIES, max(1, -(-2 * self.device.knee() // one)))
        try:
            # Asked for at once, before the host spends time and memory on what may not fit.
            driver.allocate(copies * one)
            self._copies = self._filled(copies)
        except (DeviceError, MemoryError) as error:
            self._copies = []
            raise TilewrightError(
                f"problem={problem.spelling}: there is no room for its operands, {copies * one} bytes on the "
                f"device ({copies} of {one}) and {max(spans(problem))} on the host at once: {error}"
            ) from error

    def release(self) -> None:
        """Give the memory of the operands back."""
        self._copies = []
        self._spaces = {}
        self._algorithm = None

    def _filled(self, copies: int) -> list[list[Placed]]:
        """Copies of the operands on the device. Sets ``excerpt``."""
        p, excerpt = self.problem, Excerpt(self.problem)
        placed: list[list[Placed]] = [[] for _ in range(copies)]
        for name in "ABC":
            made = region(p, name, SEED, alignment=64)
            excerpt.take(name, made)
            for copy in placed:
                copy.append(Placed(made))
                copy[-1].move(p.align if p.align < 16 else 0)
                driver.upload(copy[-1].start, made.words)
        self.excerpt = excerpt
        return placed

    def _refresh(self) -> None:
        """The operands as they were made, where they are: launchers hold their addresses."""
        for number, name in enumerate("ABC"):
            made = region(self.problem, name, SEED, alignment=64)
            for copy in self._copies:
                driver.upload(copy[number].start, made.words)

    @property
    def pointers(self) -> list[Pointers]:
        """Addresses of A, B and C, copy by copy."""
        return [(a.base, b.base, c.base) for a, b, c in self._copies]

    def final(self, candidates: Sequence[Candidate], rounds: int) -> FinalRound:
        """Check binaries on the timed problem, and time the right ones and cuBLAS in turns."""
        with guarded():
            runs: dict[str, measure.Run] = {}
            verdicts = []
            for number, candidate in enumerate(candidates):
                kernel = modules.load(candidate.binary)
                verdicts.append(self._proved(candidate, kernel))
                if verdicts[-1].ok:
                    runs[str(number)] = self.turns(candidate, kernel)
            names = list(runs)
            versions, missing = self._vendor(runs)
            timings, clocks, note = contest.race(
                runs,
                rounds=rounds,
                regime=self.regime,
                batch=self.problem.batch,
                takers=names,
                clocks=driver.clocks,
                watch=self.watch,
                budget=self.final_seconds,
            )
            outcomes = [
                Outcome(verdict, timings.get(str(number)), clocks) for number, verdict in enumerate(verdicts)
            ]
            # What costs the host less is called where the device sees no difference.
            costs = {name: timings[name].median * (1 if name == DIRECT else ALIKE) for name in versions}
            name = min(costs, key=lambda name: costs[name], default=None)
            if name is None:
                return FinalRound(outcomes, None, missing, note=note)
            version, config = versions[name]
            return FinalRound(outcomes, (version, timings[name]), missing, config, note)

    # -- right

    def check(self, candidate: Candidate, kernel: Kernel) -> Verdict:
        """The verdict of the small problems; the reason if there is none that the config's rules allow."""
        worst, chosen = 0.0, self._chosen(candidate)
        if not chosen:
            return Verdict(False, math.inf, "no small problem obeys the rules of this config")
        for number, (problem, special) in enumerate(chosen):
            check = self._check(problem, special)
            made = check.ready.operands
            made.restore()
            texture = STENCILS[candidate.stencil].launch(problem, candidate.config).reading
            for placed, memory in zip(check.placed, made.regions, strict=True):
                # Aligned to what was promised and no more; every second problem, and textures, to more.
                placed.move(0 if texture or number % 2 else problem.align)
                driver.upload(placed.start, memory.words)
            a, b, c = (placed.base for placed in check.placed)
            # Held for as long as it runs, for it may read through textures.
            start = bound(candidate, kernel, problem, (a, b, c))
            start(0)
            driver.synchronize()
            for placed, memory in zip(check.placed, made.regions, strict=True):
                driver.download(memory.words, placed.start)
            verdict = judge(check.ready, quick=True)
            if not verdict.ok:
                where = f"{problem.spelling} {problem.layout}"
                return Verdict(False, verdict.error, f"{where}: {verdict.why}")
            worst = max(worst, verdict.error)
        return Verdict(True, worst)

    def _chosen(self, candidate: Candidate) -> list[tuple[Problem, bool]]:
        """The small problems for a candidate, and whether they hold special values."""
        chosen = []
        for awkward in AWKWARD:
            found = next((p for p in variants(self.problem, awkward) if self._allows(candidate, p)), None)
            if found is not None:
                chosen.append((found, awkward.special))
        if chosen or self.problem.m * self.problem.n * self.problem.k > SOLO:
            return chosen
        # Its sizes are compiled in, then: what is left to choose is the batch, less than a group of
        # matrices that a block takes together, and more.
        more = 2 * candidate.config.get("group", 1) + 1
        batches = dict.fromkeys((1, 3, 7, more))
        return [(self.problem.with_(batch=batch), batch == 3) for batch in batches]

    def _allows(self, candidate: Candidate, problem: Problem) -> bool:
        """Whether a candidate's very binary serves a small problem too."""
        stencil, name = STENCILS[candidate.stencil], candidate.stencil
        if (name, problem) not in self._spaces:
            accepted = stencil.accepts(problem, self.device) is None
            self._spaces[name, problem] = stencil.space(problem, self.device) if accepted else None
        space = self._spaces[name, problem]
        if space is None or any(rule.kind in HARDWARE for rule in space.why(candidate.config)):
            return False
        return stencil.source(problem, candidate.config, self.device).digest == candidate.binary.digest

    def _check(self, problem: Problem, special: bool) -> Check:
        """A small problem made ready, now or before."""
        found = self._checks.pop((problem, special), None)
        if found is None:
            ready = prepare(problem, Case(problem.batch, special=special), SEED)
            found = Check(problem, ready, tuple(Placed(memory) for memory in ready.operands.regions))
        self._checks[problem, special] = found
        if len(self._checks) > KEPT:
            self._checks.popitem(last=False)
        return found

    def _proved(self, candidate: Candidate, kernel: Kernel) -> Verdict:
        """The verdict on some rows and columns of the timed problem."""

        def verdict() -> Verdict:
            start = bound(candidate, kernel, self.problem, self.pointers[0])
            return self.excerpt.check(start, self._copies[0][2].base)

        first = verdict()
        if first.ok:
            return first
        # A candidate before it may have written into A or B: on fresh operands it is its own fault.
        self._refresh()
        second = verdict()
        if not second.ok:
            self._refresh()
        return second

    # -- fast

    def turns(self, candidate: Candidate, kernel: Kernel) -> measure.Run:
        """A launch on the next copy of the operands."""
        return turns([bound(candidate, kernel, self.problem, pointers) for pointers in self.pointers])

    def _vendor(self, runs: dict[str, measure.Run]) -> tuple[dict[str, tuple[str, Config]], str]:
        """Add cuBLAS to what is timed, by the array library and by cuBLASLt: the version and config of each
        by its name in ``runs``, and what is missing if neither could be."""
        versions: dict[str, tuple[str, Config]] = {}
        direct = self._direct()
        if not isinstance(direct, str):
            config, runs[DIRECT] = direct
            versions[DIRECT] = f"cublas by cublasLt {cublaslt_library.version()}", config
        alpha, beta, _ = scalars(self.problem)
        found = cublas.vendor(self.problem, self.pointers, alpha, beta)
        if isinstance(found, str):
            return versions, "" if versions else found
        version, first, turns = found
        missing = self._wrong(version, first)
        if not missing:
            runs[VENDOR] = turns
            # Where cuBLASLt can be called, an empty config means its first algorithm.
            versions[VENDOR] = version, Config({"by": "library"} if DIRECT in versions else {})
        return versions, "" if versions else missing

    def _wrong(self, version: str, run: measure.Run) -> str:
        """What is wrong with a product of the vendor's on the timed problem; "" when it is right."""
        try:
            roundings = cublas.roundings(self.problem)
            verdict = self.excerpt.check(run, self._copies[0][2].base, roundings)
        except Exception as error:
            driver.synchronize()
            return f"{version}: {type(error).__name__}: {error}"
        return "" if verdict.ok else f"{version}: {verdict.why}"

    def _direct(self) -> tuple[Config, measure.Run] | str:
        """The fastest right algorithm of cuBLASLt as a config, and what runs it on the next copy of the
        operands; or why there is none. Sought once for a problem."""
        if self._algorithm is None:
            self._algorithm = self._fastest()
        return self._algorithm

    def _fastest(self) -> tuple[Config, measure.Run] | str:
        alpha, beta, _ = scalars(self.problem)
        found = cublaslt.candidates(self.problem, (alpha, beta), 0, ALGORITHMS)
        if isinstance(found, str):
            return found
        best: tuple[float, Config, measure.Run] | None = None
        reason = "cuBLASLt proposes nothing"
        for config, made in found:
            start = made.starting(False)
            wrong = self._wrong("cuBLASLt", functools.partial(start, *self.pointers[0], 0))
            if wrong:
                reason = wrong
                continue
            run = self._round(start)
            limit = math.inf if best is None else EARLY_STOP * best[0]
            timing = measure.measure(
                run,
                watch=self.watch,
                regime=self.regime,
                batch=self.problem.batch,
                least=3,
                budget=BUDGETS[self.regime],
                target=measure.TRIED,
                early_stop=limit,
            )
            if best is None or timing.median < best[0]:
                best = timing.median, config, run
        return reason if best is None else best[1:]

    def _round(self, start: Callable[[int, int, int, int], object]) -> measure.Run:
        """A product on the next copy of the operands."""
        turn = itertools.cycle(self.pointers)
        return lambda: start(*next(turn), 0)


class GpuEvaluation:
    """Whatever is tuned on a GPU: products of one size, or lists of many. One of them keeps operands."""

    def __init__(self, device: Device):
        self.products, self.lists = CudaEvaluation(device), GroupedEvaluation(device)
        self.evaluation: CudaEvaluation | GroupedEvaluation = self.products

    def prepare(self, problem: Gemm, regime: str) -> None:
        """Make the operands of a problem in place of those of the last one."""
        self.evaluation.release()
        if isinstance(problem, GroupedProblem):
            self.evaluation = self.lists
            self.lists.prepare(problem, regime)
        else:
            self.evaluation = self.products
            self.products.prepare(problem, regime)

    def attempt(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> Outcome:
        """Check a binary, and time it if it is right."""
        return self.evaluation.attempt(candidate, least, budget, early_stop)

    def final(self, candidates: Sequence[Candidate], rounds: int) -> FinalRound:
        """Check binaries on the timed problem, and time the right ones in turns."""
        return self.evaluation.final(candidates, rounds)


def handler(device: Device) -> Callable[[tuple[Any, ...]], Any]:
    """The handler of the timing child, which holds the context of the GPU."""
    driver.context()
    return serve(Either(GpuEvaluation(device), CudaKernelEvaluation(device)))
