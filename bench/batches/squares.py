"""Squares of 1 to 32: how near batches come to the speed of a copy."""

from __future__ import annotations

from bench import lines
from bench.batches.problems import filling
from bench.batches.run import Run


def squares(run: Run) -> None:
    """Batches of tiny squares that fill ``--bytes`` of memory: how near the speed of a copy."""
    betas = lines.words(run.options.betas)
    run.best(filling(one, run.options.bytes) for one in run.problems(betas))
