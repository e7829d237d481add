"""Squares of 1 to 32: how near batches come to the speed of a copy."""

from __future__ import annotations

from bench import lines
from bench.batches.points import Point
from bench.batches.problems import filling
from bench.batches.run import Run
from tilewright import dispatch


def squares(run: Run) -> None:
    """Batches of tiny squares that fill ``--bytes`` of memory: how near the speed of a copy."""
    for one in run.problems(lines.words(run.options.betas)):
        problem = filling(one, run.options.bytes)
        if run.over():
            return
        run.tuned(Point(problem, dispatch.regime(problem, run.device), ()), run.options.stencil)
