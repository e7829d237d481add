"""Random products that nobody tuned, beside the bound and NumPy, on one core: ``python -m bench.unseen``.

Extents are log-uniform in 2..``--most``, transpositions random, types, betas and regimes those asked for.
Each problem is timed in turns by what a call without a record of its own runs (``ours``; its rung is said),
by the default of the same stencil where the rung is another, and by ``numpy.matmul`` on one thread (with
beta 1: and an addition). Bounds are those of ``bench.bounds``, measured around every few problems.

A line says the percentage of the bound, and as ratios of medians how many times as fast as NumPy
(``over_numpy``) and as the default (``over_default``) it ran. In the end: medians, how many reach 85 and 95 %
of the bound, how many are slower than NumPy or 3 % slower than the default, and the worst of each.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: F401 - A BLAS asks how many threads it gets when it is loaded.

from bench import bounds, kernels, lines, machine
from tilewright.catalog import STENCILS
from tilewright.errors import TilewrightError
from tilewright.model import DTYPES, Device, Problem
from tilewright.planning import dispatch
from tilewright.tuning import timing as measure
from tilewright.tuning.evaluate.cpu import vendor_call

LEAST = 2
EQUAL = 0.97
"""What is no slower than this part of another's speed counts as equal."""
SHOWN = 5
OURS, DEFAULT, NUMPY = "ours", "default", "numpy"


def drawn(options: argparse.Namespace) -> Iterator[bounds.Case]:
    """Problems of each type, every one in each regime, betas in turns."""
    draw = random.Random(options.seed)
    betas = lines.words(options.betas)
    low, high = math.log(LEAST), math.log(options.most + 1)
    for letter in lines.letters(options.types):
        for number in range(options.count):
            m, n, k = (int(math.exp(draw.uniform(low, high))) for _ in range(3))
            trans = draw.choice("nt"), draw.choice("nt")
            problem = Problem(DTYPES[letter], m, n, k, *trans, beta=betas[number % len(betas)])
            for regime in lines.words(options.regimes):
                yield problem, regime


def timed(case: bounds.Case, device: Device, options: argparse.Namespace) -> lines.Line:
    """What a call would run, the default and NumPy in turns."""
    problem, regime = case
    stand = kernels.Stand(problem, regime, device)
    plan = dispatch.plan(stand.problem, device, cores=1, vendor=False)
    assert plan.stencil is not None
    assert plan.config is not None
    runs: dict[str, Callable[[], object]] = {OURS: stand.run(stand.kernel(plan.stencil, plan.config))}
    plain = STENCILS[plan.stencil].default(stand.problem, device)
    if plain != plan.config:
        runs[DEFAULT] = stand.run(stand.kernel(plan.stencil, plain))
    vendor = vendor_call(stand.made)
    runs[NUMPY] = lambda: [vendor() for _ in range(stand.passes)]
    timings = measure.interleaved(
        runs, rounds=options.rounds, regime=regime, batch=stand.batch, budget=options.budget
    )
    ours = timings[OURS].median
    return {
        "batch": stand.problem.batch,
        "gflops": stand.gflops(timings[OURS]),
        "over_numpy": timings[NUMPY].median / ours,
        "over_default": timings[DEFAULT].median / ours if DEFAULT in timings else None,
        "origin": plan.origin,
        "stencil": plan.stencil,
        "config": dict(plan.config),
        "default": dict(plain),
    }


def measured(cases: list[bounds.Case], device: Device, options: argparse.Namespace) -> Iterator[lines.Line]:
    """A line for each case, with bounds measured before and after every few of them."""
    before = bounds.ceilings(device, options.rounds)
    for first in range(0, len(cases), options.every):
        block: list[tuple[bounds.Case, lines.Line]] = []
        for case in cases[first : first + options.every]:
            problem, regime = case
            line: lines.Line = {"kind": "unseen", "problem": problem.key, "type": problem.dtype.letter}
            line |= {"regime": regime, "beta": problem.beta, "busy_cores": round(machine.busy_cores(), 2)}
            try:
                block.append((case, line | timed(case, device, options)))
            except TilewrightError as error:
                yield line | {"why": str(error)}
        after = bounds.ceilings(device, options.rounds)
        for case, line in block:
            yield bounds.compared(line, case, device, before, after)
        before = after


def summary(found: list[lines.Line]) -> Iterator[str]:
    """What came of the lines of one regime, the worst points by name."""
    percents = sorted(line["percent"] for line in found)
    reached = ", ".join(f"{sum(p >= floor for p in percents)} at {floor} %" for floor in (85, 95))
    yield f"of the bound: median {statistics.median(percents):.0f} %, {reached} of {len(found)}"
    yield "  least: " + _worst(found, "percent", 1, " %")
    for other in ("over_numpy", "over_default"):
        known = [line for line in found if line[other] is not None]
        if not known:
            continue
        mean = math.exp(statistics.fmean(math.log(line[other]) for line in known))
        slower = sum(line[other] < EQUAL for line in known)
        yield f"{other}: {mean:.2f} in the geometric mean of {len(known)}, {slower} below {EQUAL}"
        yield "  least: " + _worst(known, other, 100, "")


def _worst(found: list[lines.Line], field: str, scale: int, unit: str) -> str:
    worst = sorted(found, key=lambda line: float(line[field]))[:SHOWN]
    values = (f"{line['problem'].partition('|')[0]} beta {line['beta']} ({line['origin']})" for line in worst)
    shown = (round(line[field] * scale) / scale for line in worst)
    return ", ".join(f"{name} {value:g}{unit}" for name, value in zip(values, shown, strict=True))


def main() -> None:
    """Measure what the command line asks for."""
    parser = lines.parser("bench.unseen", __doc__)
    add = parser.add_argument
    add("--types", default="sdcz", help="any of s, d, c, z (default: sdcz)")
    add("--count", type=int, default=25, help="problems of each type (default: 25)")
    add("--most", type=int, default=64, help="largest extent (default: 64)")
    add("--betas", default="0,1", help="beta classes, taken in turns (default: 0,1)")
    add("--regimes", default="memory,cached", help="default: memory,cached")
    add("--seed", type=int, default=1, help="of the problems (default: 1)")
    add("--every", type=int, default=4, help="problems between two measurements of the bound (default: 4)")
    add("--rounds", type=int, default=7, help="samples of each (default: 7)")
    add("--budget", type=float, default=1.0, help="seconds of timing for each problem (default: 1)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args()
    console = lines.console()
    kernels.pin()
    device = dispatch.device()
    sink = lines.Sink(options.out, "unseen", device, vars(options))
    found: dict[str, list[lines.Line]] = {}
    for line in measured(list(drawn(options)), device, options):
        sink.write(line)
        if "why" in line:
            console.print(f"{line['problem']} {line['regime']}: {line['why']}")
            continue
        found.setdefault(line["regime"], []).append(line)
        name = f"{line['problem'].partition('|')[0]} beta {line['beta']} {line['regime']}"
        reached = f"{line['percent']:.0f} % of the bound, {line['over_numpy']:.2f} of NumPy"
        console.print(f"{name}: {reached}, {line['origin']} {line['stencil']}")
    for regime, rows in found.items():
        console.print(f"{regime}:")
        for text in summary(rows):
            console.print(f"  {text}")


if __name__ == "__main__":
    main()
