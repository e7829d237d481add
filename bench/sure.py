"""How sure winners are: ``python -m bench.sure d:8x8x8 --processes 20``, on a GPU.

Fresh processes decide the same problem, each with records, compilers and a context of its own, among the same
``--configs``: of each stencil that comes near the best one (``bench.lanes``) those that its cost model likes
best of a sample. Each compiles, checks and times all of them and holds a final round of the usual length. A
winner counts as agreed where all processes crowned it, or where it and the one that most crowned were
declared tied by who crowned one of them. A last line a problem says how many agreed, and of the finalists'
times the half-widths of their 95 % intervals.

Processes take the GPU in turns (``--lanes`` of them at once), so that nobody is timed beside another. With
``--limit`` none is begun later than ``EACH`` seconds before the end, and those that ended are summed up.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench import lines
from bench.lanes import Lane, farmed, promising
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem, Record, Timing, parsed
from tilewright.planning import dispatch
from tilewright.space import Space
from tilewright.store.records import Records
from tilewright.tuning import timing
from tilewright.tuning.evaluate.table import EVALUATIONS
from tilewright.tuning.sets.cells import Listed
from tilewright.tuning.tasks import sized
from tilewright.tuning.tuner import Tuner

SAMPLE = 256
"""Points of a space that its cost model ranks."""
EACH = 12.0
"""Seconds that a process takes, with some others beside it."""
FINAL = 2.0
"""Seconds of a final round, as the tuner has them."""


def liked(problem: Problem, name: str, device: Device, wanted: int) -> list[Config]:
    """The default of a stencil, and of a sample of its space what its cost model likes best."""
    stencil = STENCILS[name]
    space, model = stencil.space(problem, device), stencil.cost_model(problem, device)
    drawn = space.sample(SAMPLE, 0)
    order = range(len(drawn)) if model is None else np.argsort(model(drawn), kind="stable")
    found = [stencil.default(problem, device), *(drawn[int(at)] for at in order)]
    return list(dict.fromkeys(found))[:wanted]


def decided(job: tuple[Lane, Problem, int, int]) -> lines.Line | None:
    """What a fresh process finds: the winner, who is tied with it, and the finalists' half-widths; None where
    the time is over."""
    lane, problem, configs, number = job
    if time.time() > lane.deadline - EACH:
        return None
    device = dispatch.device("cuda")
    whole = sized(problem, lane.regime, device)
    names = promising(whole, lane.regime, device)
    chosen = [config for name in names for config in liked(whole, name, device, configs // len(names))]

    def listed(space: Space) -> Space:
        return Listed(space, chosen)

    begin = time.monotonic()
    records = Records(lane.records.with_name(f"{number}.sqlite"), shipped=Path("/nonexistent"))
    with Tuner(device, records, farm=farmed(device, lane, FINAL)) as tuner:
        found = tuner.tune(
            problem, lane.regime, search="exhaustive", budget=lane.seconds, stencils=names, spaces=listed
        )
    rows = [row for row in records.all(status="ok") if row.protocol != timing.ALONE]
    assert found.best is not None
    return {
        "kind": "decided",
        "problem": problem.key,
        "process": number,
        "winner": _name(found.best),
        "tied": [_name(row) for row in found.tied],
        "finalists": [
            {"name": _name(row), "rounds": len(row.timing.samples), "half_width": half_width(row.timing)}
            for row in rows
            if row.timing is not None
        ],
        "tried": found.tried,
        "note": found.note,
        "seconds": time.monotonic() - begin,
    }


def _name(row: Record) -> str:
    values = " ".join(f"{name}={value}" for name, value in sorted(row.config.items()))
    return f"{row.stencil} {values}"


def half_width(found: Timing) -> float:
    """Half the 95 % interval of the median, relative to it: the longer side."""
    return max(found.high - found.median, found.median - found.low) / found.median


def agreed(found: Sequence[lines.Line]) -> lines.Line:
    """What processes made of one problem: who was crowned how often, and how many agree."""
    crowned = Counter(line["winner"] for line in found)
    most = crowned.most_common(1)[0][0]
    pairs = {(line["winner"], other) for line in found for other in line["tied"]}
    equal = [
        line
        for line in found
        if line["winner"] == most or {(line["winner"], most), (most, line["winner"])} & pairs
    ]
    widths = [each["half_width"] for line in found for each in line["finalists"]]
    return {
        "kind": "sure",
        "problem": found[0]["problem"],
        "processes": len(found),
        "winners": dict(crowned),
        "same": crowned[most],
        "agreed": len(equal),
        "half_width": {
            "median": statistics.median(widths),
            "largest": max(widths),
            "narrow": sum(width <= 0.005 for width in widths) / len(widths),
        },
    }


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.sure", __doc__)
    add = parser.add_argument
    add("problems", nargs="+", help="spellings, as d:8x8x8")
    add("--processes", type=int, default=20, help="for each problem (default: 20)")
    add("--configs", type=int, default=16, help="that each process decides among (default: 16)")
    add("--limit", type=float, help="seconds for a problem (default: as long as it takes)")
    add("--lanes", type=int, default=5, help="processes at once (default: 5)")
    add("--out", type=Path, help="a file that lines of JSON are added to")
    return parser.parse_args()


def main() -> None:
    """The command."""
    options = _arguments()
    device = dispatch.device("cuda")
    sink = lines.Sink(options.out, "sure", device, vars(options))
    cores = EVALUATIONS["cuda"].compilers(device)
    spawn: Any = multiprocessing.get_context("spawn")
    for text in options.problems:
        problem = parsed(text)[0]
        with (
            TemporaryDirectory() as folder,
            # A process does one job and ends.
            ProcessPoolExecutor(options.lanes, spawn, max_tasks_per_child=1) as pool,
        ):
            lock = Path(folder) / "lock"
            lock.touch()
            each = max(1, cores // options.lanes - 1)
            end = math.inf if options.limit is None else time.time() + options.limit
            lane = Lane("memory", Path(folder) / "tries", str(lock), each, 60.0, end)
            jobs = [(lane, problem, options.configs, number) for number in range(options.processes)]
            found = []
            for line in pool.map(decided, jobs):
                if line is not None:
                    sink.write(line)
                    found.append(line)
        total = agreed(found)
        sink.write(total)
        print(total, flush=True)


if __name__ == "__main__":
    main()
