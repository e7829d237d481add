"""A rung of a ladder on the interpreter: row-major, which is the product of B and A in columns."""

from __future__ import annotations

from tests.emulator.launch import launch
from tests.emulator.machine import SCHEDULES, Schedule
from tests.emulator.memory import Fault, Memory
from tests.emulator.products import compiled, segment, words, written_back
from tilewright.model import Config, Device, Problem
from tilewright.targets.cuda.arguments import pack
from tilewright.tuning.gemm.verify import Case, judge, prepare
from tilewright.tutorial.rung import Rung


def rung_wrong(
    rung: Rung, config: Config, problem: Problem, device: Device, schedule: Schedule = SCHEDULES[0]
) -> str:
    """What is wrong with a rung's result, empty when nothing is. ``problem`` is in column-major terms: its A
    is the rung's B."""
    p, ready = problem, prepare(problem, Case(1), 1)
    made = ready.operands
    segments = [segment(name, region, name == "C") for name, region in zip("BAC", made.regions, strict=True)]
    pitches = (p.ldb or 0, p.lda or 0, p.ldc or 0)
    asked = rung.launch(config, p.n, p.m, device)
    given = pack(rung.arguments(config, p.n, p.m, p.k, pitches), {"alpha": made.alpha, "beta": made.beta})
    given.put((made.pointers[1], made.pointers[0], made.pointers[2]), words)
    program = compiled(rung.source(config), device)
    memory = Memory(segments)
    try:
        launch(
            program,
            asked.grid,
            asked.block[0],
            asked.shared,
            bytes(given.block),
            memory,
            cluster=asked.cluster,
            schedule=schedule,
        )
    except Fault as fault:
        return f"{p.key} {rung.name} {config}: {fault}"
    written_back(segments[2], made.regions[2])
    verdict = judge(ready)
    return "" if verdict.ok else f"{p.key} {rung.name} {config}: {verdict.why}"
