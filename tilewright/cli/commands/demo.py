"""The main job, from nothing: ``demo``."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tilewright.cli import render
from tilewright.cli.commands import ceilings
from tilewright.cli.commands.arguments import Json
from tilewright.cli.commands.comparing import compared
from tilewright.cli.commands.tuning import tuned
from tilewright.cli.queries import devices, runs
from tilewright.model import Problem

DEMO = (2, 3, 4, 5, 8, 12, 16, 17, 24, 32)
DEMO_BUDGET = 0.8
DEMO_STAGES = (("0", "memory", 3.0), ("1", "memory", 1.2), ("0", "cached", 1.0), ("1", "cached", 0.8))
"""What the demo tunes of each size, and for how many seconds: all that a user of that size is likely to call,
and longest what the table compares. Later stages begin with the winners of earlier ones."""
PYTHON = """\
import numpy as np
import tilewright as tw

a = np.random.rand(100_000, 8, 8)
b = np.random.rand(100_000, 8, 8)
c = tw.matmul(a, b)
print(tw.explain("d:8x8x8@100000"))
"""


def _demo_tuned(problems: Sequence[Problem], quiet: bool) -> None:
    """Tune what of the demo's stages is not settled yet."""
    for beta, regime, seconds in DEMO_STAGES:
        asked = [problem.with_(beta=beta) for problem in problems]
        todo = [problem for problem in asked if not runs.settled(problem, regime)]
        if todo:
            if not quiet:
                what = f"{len(todo)} of {len(asked)} sizes, beta {beta}, {regime}"
                render.aside.print(f"tuning {what}: some {seconds + 2:.0f} s each ...")
            tuned(todo, "quick", seconds * len(todo), (regime,), quiet)


def demo(as_json: Json = False) -> None:
    """The main job, from nothing: measure this machine, tune ten sizes, compare, use it from Python."""
    begin = time.monotonic()
    ceilings.of_processor(as_json)
    machine = devices.machine()
    if not as_json:
        render.doctor(machine)
    problems = [problem for n in DEMO for problem in Problem.parse(f"d:{n}")]
    _demo_tuned(problems, as_json)
    # One core each: NumPy goes through a stack on one whatever there is, so this compares kernels.
    rows = compared(problems, "memory", 1, DEMO_BUDGET)
    if as_json:
        render.show_json({"machine": machine, "comparison": rows, "seconds": time.monotonic() - begin})
        return
    render.comparison(rows)
    print(f"In Python:\n\n{PYTHON}")
    exec(PYTHON, {})
    print(f"\n{time.monotonic() - begin:.0f} s in all. All tries are recorded: a second run takes seconds.")
