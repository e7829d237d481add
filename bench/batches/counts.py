"""The speed over the number of products."""

from __future__ import annotations

import itertools

from bench import lines
from bench.batches.run import Run


def counts(run: Run) -> None:
    """Time over the number of products, operands in the cache where they fit.

    Launches from Python follow each other: what takes less than some 3 us a launch (some 6 us by PyTorch)
    is timed as a launch.
    """
    problems = []
    for one, count in itertools.product(run.problems(), lines.numbers(run.options.counts)):
        problem = one.with_(batch=count)
        if problem.footprint <= run.options.bytes:
            problems.append(problem)
        else:
            size = f"{problem.footprint / 1e9:.1f} GB, more than --bytes"
            line = {"kind": "counts", "problem": problem.spelling, "beta": problem.beta}
            run.add(line | {"count": count, "missing": size})
    run.turns(run.points(problems, run.chosen, regime="cached", telling=lambda p: {"count": p.batch}))
