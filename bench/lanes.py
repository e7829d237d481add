"""Tuners side by side on one GPU: what ``bench.winners`` runs in processes of its own.

One tuner leaves a GPU idle while operands are made and compilers work. What is timed is timed alone: a lock
that all of them share is held by whoever tries a kernel or decides a final round.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bench import lines
from tilewright.catalog import STENCILS
from tilewright.errors import TilewrightError
from tilewright.model import Config, Device, Plan, Problem, Record
from tilewright.planning import candidates, dispatch, neighbours
from tilewright.space import completed
from tilewright.store.records import Records
from tilewright.tuning import timing
from tilewright.tuning.evaluate import Candidate, FinalRound, Outcome, serve
from tilewright.tuning.evaluate.cuda import GpuEvaluation
from tilewright.tuning.evaluate.table import EVALUATIONS
from tilewright.tuning.farm import Farm, compiler
from tilewright.tuning.results import Result
from tilewright.tuning.tasks import sized, toolchain
from tilewright.tuning.timing import speed
from tilewright.tuning.tuner import Tuner
from tilewright.tuning.workers import Worker

T = TypeVar("T")
FINAL = 0.6
"""Seconds of a final round."""
EACH = 6.0
"""Seconds that a problem may take: none is begun later than so long before the end."""
NEAR = 0.7
"""Stencils are tried whose expected speed is at least so much of the best one's."""


def promising(problem: Problem, regime: str, device: Device) -> list[str]:
    """The stencils that come near the best one by what was measured of problems like this one."""
    accepting = {
        name: neighbours.standing(name, problem, regime, device)
        for name, stencil in candidates.of(device).items()
        if candidates.refusal(stencil, problem, device) is None
    }
    best = max((found[1] for found in accepting.values() if found), default=0.0)
    return [name for name, found in accepting.items() if found is None or found[1] >= NEAR * best]


class Alone:
    """An evaluation that has the GPU to itself while it times. Operands are made beside the others' work:
    uploading takes a thousandth of the memory's rate, and no multiprocessor."""

    def __init__(self, device: Device, lock: str, final: float):
        self._gpu = GpuEvaluation(device)
        self._gpu.products.final_seconds = final
        self._lock = os.open(lock, os.O_RDWR)

    def prepare(self, problem: Any, regime: str) -> None:
        """As an evaluation does."""
        self._gpu.prepare(problem, regime)

    def attempt(self, candidate: Candidate, least: int, budget: float, early_stop: float) -> Outcome:
        """As an evaluation does, while nobody else tries."""
        return self._held(lambda: self._gpu.attempt(candidate, least, budget, early_stop))

    def final(self, candidates: Sequence[Candidate], rounds: int) -> FinalRound:
        """As an evaluation does, while nobody else tries."""
        return self._held(lambda: self._gpu.final(candidates, rounds))

    def _held(self, work: Callable[[], T]) -> T:
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            return work()
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


def alone(device: Device, lock: str, final: float) -> Callable[[tuple[Any, ...]], Any]:
    """The handler of a timing child that shares the GPU, and has so many seconds for a final round."""
    handler = serve(Alone(device, lock, final))
    # The library of the vendor's product takes seconds to be loaded, in which nobody should wait for it.
    import torch

    torch.zeros(1, device="cuda")
    return handler


@dataclass(frozen=True)
class Lane:
    """What a tuner that works beside others is given."""

    regime: str
    records: Path
    lock: str
    compilers: int
    seconds: float
    deadline: float


def farmed(device: Device, lane: Lane, final: float) -> Farm:
    """The compilers and the timing child of a tuner that works beside others."""
    kind = EVALUATIONS["cuda"]
    return Farm(
        [Worker(compiler, (device,)) for _ in range(lane.compilers)],
        [
            Worker(
                alone,
                (device, lane.lock, final),
                timeout=60.0,
                environment=kind.environment,
                room=kind.room,
            )
        ],
    )


def work(lane: Lane, problems: Sequence[Problem], turn: Any, said: Any) -> None:
    """Tune one problem after another, whichever is next, until all are begun or the time is over."""
    device = dispatch.device("cuda")
    records = Records(lane.records)
    with Tuner(device, records, farm=farmed(device, lane, FINAL)) as tuner:
        while time.time() < lane.deadline - EACH:
            with turn.get_lock():
                at, turn.value = turn.value, turn.value + 1
            if at >= len(problems):
                break
            problem = problems[at]
            begin = time.monotonic()
            try:
                whole = sized(problem, lane.regime, device)
                made, names = dispatch.plan(whole, device), promising(whole, lane.regime, device)
                if made.stencil is not None and made.stencil not in names:
                    names.append(made.stencil)
                result = tuner.tune(
                    problem,
                    lane.regime,
                    search="model",
                    budget=lane.seconds,
                    stencils=names,
                )
                line = told(result, made, records, device)
            except TilewrightError as error:
                line = {"kind": "failed", "why": str(error)}
            said.put({"problem": problem.key, "seconds": time.monotonic() - begin} | line)
    said.put(None)


def told(result: Result, made: Plan, records: Records, device: Device) -> lines.Line:
    """What is kept of a problem: speeds in GF/s of the winner, of the vendor and of what a call ran before;
    and whether its record may ship."""
    best, vendor, flops = result.best, result.vendor, result.problem.flops
    before = vendor if made.stencil is None else _tried(records, made, result.regime, device)
    fastest = max((row for row in (best, vendor) if row is not None), key=speed, default=None)
    return {
        "kind": "tuned",
        "regime": result.regime,
        "stencil": best.stencil if best else None,
        "config": dict(best.config) if best else None,
        "gflops": flops * speed(best) / 1e9 if best else None,
        "vendor_gflops": flops * speed(vendor) / 1e9 if vendor else None,
        "before": {
            "origin": made.origin,
            "stencil": made.stencil,
            "config": dict(made.config or {}),
            "gflops": flops * speed(before) / 1e9 if before else None,
        },
        "ships": fastest is not None and before is not None and speed(fastest) >= speed(before),
        "tried": result.tried,
        "statuses": result.statuses,
        "missing": result.missing,
        "note": result.note,
        "tied": len(result.tied),
    }


def _tried(records: Records, made: Plan, regime: str, device: Device) -> Record | None:
    """What this run measured of the kernel that a call ran before, in the final round if it was there."""
    name, found = made.stencil or "", None
    written = toolchain(device, name)
    # What was tried names parameters that a record of before does not.
    config = made.config or Config({})
    whole = completed(STENCILS[name].space(made.problem, device).params, config)
    for protocol in (timing.ALONE, timing.INTERLEAVED, timing.DECIDED):
        rows = records.tried(made.problem, regime, device.key, name, protocol, written)
        row = rows.get(whole, rows.get(config))
        found = row if row is not None and row.status == "ok" and row.timing is not None else found
    return found
