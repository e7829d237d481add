"""The tuner: propose, build, verify, time, record. It writes records and never plans a call.

It knows nothing of matrix products: of a problem it uses the key, the operands and the reference.

One child process compiles candidates ahead of another that checks and times them, so that the
timing core never waits for the compiler and a candidate that takes its process down costs one
record. Every try is recorded at once: a run that is killed loses the try that was in the air, and
the same run started again skips what it knows. The best few are then timed again, interleaved, and
only these figures decide.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright import build, measure
from tilewright.catalog import SEARCHES, STENCILS, TARGETS
from tilewright.errors import ArgumentError, TilewrightError
from tilewright.model import Binary, Config, Device, Problem, Record, Timing, Verdict
from tilewright.operands import Operands, operands
from tilewright.records import Records
from tilewright.space import Space
from tilewright.verify import Verifier
from tilewright.workers import Answer, Worker, stream

VENDOR = "vendor"
# Seconds of searching for one problem, and the search used, by how much effort is asked for.
EFFORTS = {
    "quick": (6.0, "climb"),
    "patient": (40.0, "climb"),
    "exhaustive": (float("inf"), "exhaustive"),
}
FINALISTS = 6
FINAL_BUDGET = 2.0
AHEAD = 4


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands: for a bar, a log line, or the time that is left."""

    problem: Problem
    stencil: str
    tried: int
    best: Record | None
    elapsed: float
    budget: float
    done: int
    problems: int


@dataclass(slots=True)
class Result:
    """What tuning one problem in one regime gave."""

    problem: Problem
    regime: str
    best: Record | None
    vendor: Record | None
    tried: int = 0
    seconds: float = 0.0
    statuses: dict[str, int] = field(default_factory=dict)


# ---- in the children ---------------------------------------------------------------------------


def compiler(device: Device) -> Callable[[Any], Binary]:
    """The handler of the compiling child: (stencil, problem, config) to a binary with its facts."""
    target = TARGETS[device.kind]

    def handle(request: tuple[str, Problem, Config]) -> Binary:
        return build.compile(*request, device, target)

    return handle


class Bench:
    """The handler of the timing child: checks and times binaries of one problem after another."""

    def __init__(self, device: Device):
        self.target = TARGETS[device.kind]
        self.device = device
        self.problem: Problem | None = None

    def __call__(self, request: tuple[Any, ...]) -> Any:
        kind, *rest = request
        return getattr(self, kind)(*rest)

    def prepare(self, problem: Problem, regime: str) -> None:
        """Make operands for a problem: a batch larger than the caches, or half of the second level."""
        self.problem = None
        self.verifier = Verifier(problem)
        self.timed = operands(sized(problem, regime, self.device), 1)
        # A pass over cached data is some ten microseconds: several of them make the call's own cost vanish.
        self.passes = 32 if regime == "cached" else 1
        self.regime, self.problem = regime, problem

    def attempt(self, binary: Binary, least: int, budget: float) -> tuple[Verdict, Timing | None]:
        """Check a binary, and time it if it is right."""
        kernel = self.target.load(binary)
        function = self.target.PROTOTYPE(kernel.address)
        verdict = self.verifier.check(lambda made: function(*made.arguments))
        if not verdict.ok:
            return verdict, None
        return verdict, measure.measure(
            self._passes(binary),
            regime=self.regime,
            batch=self.batch,
            least=least,
            budget=budget,
            target=0.01,
        )

    def final(self, binaries: Sequence[Binary], rounds: int) -> list[Timing]:
        """Time several right binaries and the vendor's product (last) in turns."""
        runs = {str(number): self._passes(binary) for number, binary in enumerate(binaries)}
        product = vendor_call(self.timed)

        def vendor() -> None:
            for _ in range(self.passes):
                product()

        runs[VENDOR] = vendor
        timings = measure.interleaved(
            runs, rounds=rounds, regime=self.regime, batch=self.batch, budget=FINAL_BUDGET
        )
        return [timings[name] for name in runs]

    def _passes(self, binary: Binary) -> Callable[[], None]:
        kernel, arguments = self.target.load(binary), self.timed.arguments
        run: Callable[[], None] = self.target.repeated(kernel, self.passes, arguments, self.device)
        return run

    @property
    def batch(self) -> int:
        """Products in one timed call."""
        return self.passes * self.timed.problem.batch


def bench(device: Device) -> Bench:
    """The factory of the timing child, which keeps to one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return Bench(device)


def toolchain(device: Device) -> str:
    """What wrote and compiled a candidate: after a change of either, old tries say nothing of new ones."""
    return f"{TARGETS[device.kind].toolchain()} stencils {build.generators()[:8]}"


def sized(problem: Problem, regime: str, device: Device) -> Problem:
    """The problem with the batch that a regime is measured on."""
    one = max(1, problem.with_(batch=2).footprint - problem.with_(batch=1).footprint)
    if regime == "cached":
        return problem.with_(batch=max(1, device["l2"] // 2 // one))
    # Twice the last cache leaves nothing in it from one pass to the next.
    return problem.with_(batch=max(2, max(2 * device["l3"], 128 << 20) // one))


def vendor_call(made: Operands) -> Callable[[], None]:
    """What the user would call instead, on the same memory: numpy.matmul, and an addition for a beta."""
    p = made.problem
    # Column-major C = op(A) op(B) is row-major C' = op(B)' op(A)'; views share the memory.
    b, a, c = (x.swapaxes(1, 2) for x in (made.b, made.a, made.c))
    b = b.swapaxes(1, 2) if p.turned_b else b
    a = a.swapaxes(1, 2) if p.turned_a else a

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


# ---- in the parent -----------------------------------------------------------------------------


class Tuner:
    """A run of the tuner on one device, with its children and its records file."""

    def __init__(
        self,
        device: Device,
        records: Records,
        *,
        listen: Callable[[Progress], None] | None = None,
        timeout: float = 30.0,
    ):
        self.device, self.records = device, records
        self.listen = listen or (lambda progress: None)
        self.toolchain = toolchain(device)
        alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        builders = max(1, device["cores"] - 1)
        self.compilers = [Worker(compiler, (device,), timeout=timeout) for _ in range(min(builders, 8))]
        self.bench = Worker(bench, (device,), timeout=timeout, environment=alone)

    def __enter__(self) -> Tuner:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in (*self.compilers, self.bench):
            worker.stop()

    def tune(
        self,
        problem: Problem,
        regime: str,
        *,
        search: str,
        budget: float,
        seed: int = 0,
        stencils: Sequence[str] | None = None,
        spaces: Callable[[Space], Space] = lambda space: space,
        place: tuple[int, int] = (0, 1),
    ) -> Result:
        """The best config for a problem in a regime, within ``budget`` seconds; every try is recorded.

        ``spaces`` may change a stencil's space (other rules, a parameter held). Raises
        ``ArgumentError`` when no stencil accepts the problem.
        """
        sized_problem = sized(problem, regime, self.device)
        names = [
            name
            for name in stencils or STENCILS
            if STENCILS[name].target == self.device.kind
            and STENCILS[name].accepts(sized_problem, self.device) is None
        ]
        if not names:
            raise ArgumentError(f"problem={problem.spelling}: no stencil accepts it")
        entered = time.monotonic()
        result = Result(problem, regime, None, None)
        self._prepare(sized_problem, regime)
        begin = time.monotonic()
        for number, name in enumerate(names):
            # What a stencil does not spend of its share is left to the next.
            left = budget - (time.monotonic() - begin)
            share = left / (len(names) - number)
            for record in self._search(sized_problem, regime, name, search, share, seed, spaces):
                result.tried += 1
                result.statuses[record.status] = result.statuses.get(record.status, 0) + 1
                if record.status == "ok" and (result.best is None or speed(record) > speed(result.best)):
                    result.best = record
                now = time.monotonic() - begin
                self.listen(
                    Progress(problem, name, result.tried, result.best, now, budget, place[0], place[1])
                )
        result.best, result.vendor = self._decide(sized_problem, regime)
        result.seconds = time.monotonic() - entered
        return result

    def _prepare(self, problem: Problem, regime: str) -> None:
        answer = self.bench.ask(("prepare", problem, regime))
        if answer.status != "ok":
            raise TilewrightError(f"operands of {problem.spelling} could not be made: {answer.detail}")
        self._prepared = (problem, regime)

    def _search(
        self,
        problem: Problem,
        regime: str,
        name: str,
        search: str,
        budget: float,
        seed: int,
        spaces: Callable[[Space], Space],
    ) -> Iterator[Record]:
        """Records of what the search asks for, old ones where a config is known already."""
        stencil = STENCILS[name]
        known = self.records.tried(
            problem, regime, self.device.key, name, measure.ALONE, self.toolchain
        ) | self.records.tried(problem, regime, self.device.key, name, measure.INTERLEAVED, self.toolchain)
        space = spaces(stencil.space(problem, self.device))
        starts = [stencil.default(problem, self.device)]
        # What won for this problem in another regime, or for one much like it, is a good place to begin.
        for near in self.records.near(problem, regime, self.device.key, without=VENDOR):
            if near.stencil == name and near.config not in starts and _in(space, near.config):
                starts.append(near.config)
        batches = SEARCHES[search](space, starts, seed)
        deadline = time.monotonic() + budget
        answers: list[Record] | None = None
        while True:
            try:
                asked = next(batches) if answers is None else batches.send(answers)
            except StopIteration:
                return
            answers = [known[config] for config in asked if config in known]
            yield from answers
            fresh = [config for config in asked if config not in known]
            for record in self._try_all(problem, regime, name, fresh, deadline, not known):
                answers.append(record)
                known[record.config] = record
                yield record
            if time.monotonic() >= deadline:
                return

    def _try_all(
        self,
        problem: Problem,
        regime: str,
        name: str,
        configs: Sequence[Config],
        deadline: float,
        first: bool,
    ) -> Iterator[Record]:
        """Compile, check and time configs, the compiler ahead of the clock, until the deadline."""

        def requests() -> Iterator[tuple[str, Problem, Config]]:
            # However small the budget, what the search begins with (the default) is tried.
            for number, config in enumerate(configs):
                if (number or not first) and time.monotonic() >= deadline:
                    return
                yield name, problem, config

        for built in stream(self.compilers, requests(), AHEAD):
            record = self._tried(problem, regime, name, built)
            self.records.append(record)
            yield record

    def _tried(self, problem: Problem, regime: str, name: str, built: Answer) -> Record:
        """The record of one candidate, from what the compiler said on."""
        config = built.request[2]
        base = Record(
            problem,
            regime,
            name,
            config,
            "ok",
            self.device.key,
            self.toolchain,
            protocol=measure.ALONE,
            when=now(),
        )
        if built.status != "ok":
            status = "compile_failed" if built.status == "failed" else built.status
            return replace(base, status=status, detail=built.detail)
        binary: Binary = built.value
        base = replace(base, source=binary.digest)
        spills, fma = binary.facts["spills"], binary.facts["fma"]
        if spills:
            return replace(base, status="spills", detail=f"{spills} spills")
        expected = binary.facts.get("fma_expected", fma)
        if fma < expected:
            return replace(base, status="rejected", detail=f"{fma} multiply-adds of {expected}")
        answer = self._bench(("attempt", binary, 3, 0.03 if regime == "memory" else 0.015))
        if answer.status != "ok":
            status = "crashed" if answer.status == "failed" else answer.status
            return replace(base, status=status, detail=answer.detail)
        verdict, timing = answer.value
        if not verdict.ok:
            return replace(base, status="wrong", detail=verdict.why, error=_finite(verdict.error))
        return replace(base, timing=timing, error=verdict.error, seconds=timing.median)

    def _bench(self, request: tuple[Any, ...]) -> Answer:
        """Ask the timing child; one that died is given its operands again first."""
        if self.bench._pipe is None:
            self._prepare(*self._prepared)
        return self.bench.ask(request)

    def _decide(self, problem: Problem, regime: str) -> tuple[Record | None, Record | None]:
        """Time the best few again, in turns with the vendor's product, and record what came out."""
        rows = [
            record
            for name in STENCILS
            for protocol in (measure.ALONE, measure.INTERLEAVED)
            for record in self.records.tried(
                problem, regime, self.device.key, name, protocol, self.toolchain
            ).values()
            if record.status == "ok" and record.timing is not None
        ]
        newest: dict[tuple[str, Config], Record] = {}
        for row in rows:
            newest[row.stencil, row.config] = row
        best = sorted(newest.values(), key=lambda r: (-speed(r), repr(r.config)))[:FINALISTS]
        binaries = []
        for row in best:
            built = self.compilers[0].ask((row.stencil, problem, row.config))
            if built.status == "ok":
                binaries.append((row, built.value))
        rounds = 15 if regime == "memory" else 25
        answer = self._bench(("final", [binary for _, binary in binaries], rounds))
        if answer.status != "ok":
            return (best[0] if best else None), None
        vendor = Record(problem, regime, VENDOR, Config({}), "ok", self.device.key, f"numpy {np.__version__}")
        finals = [
            replace(
                row, timing=t, seconds=t.median, protocol=measure.INTERLEAVED, clocks=clocks(), when=now()
            )
            for row, t in zip([*(row for row, _ in binaries), vendor], answer.value, strict=True)
        ]
        for record in finals:
            self.records.append(record)
        winners = sorted(finals[:-1], key=lambda r: (-speed(r), repr(r.config)))
        return (winners[0] if winners else None), finals[-1]


def _in(space: Space, config: Config) -> bool:
    """Whether a config of another time or problem is a point of this space."""
    return config.keys() == {param.name for param in space.params} and config in space


def speed(record: Record) -> float:
    """Products per second of a record that has a timing."""
    assert record.timing is not None
    return record.timing.batch / record.timing.median


def now() -> str:
    """The moment, to the microsecond, in UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat()


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def clocks() -> str:
    """What the system says of the clock of its first core, in MHz; empty where it says nothing."""
    try:
        text = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq").read_text()
    except OSError:
        return ""
    return f"{int(text) // 1000} MHz"
