"""C = alpha A B + C with a short k."""

from __future__ import annotations

import itertools

from bench import lines
from bench.batches.problems import MOST, filling
from bench.batches.run import Run
from tilewright.model import DTYPES, Problem


def updates(run: Run) -> None:
    """Rank-k updates C = alpha A B + C, as in a blocked factorisation of a batch: what dispatch chooses, what
    a search finds, or the best of what ``--seeds`` holds beside the stencil's default."""
    given = run.options
    axes = given.types, lines.numbers(given.ks), lines.numbers(given.sizes)
    problems = [
        filling(Problem(DTYPES[letter], n, n, k, alpha="any", beta="1"), given.bytes, most=MOST)
        for letter, k, n in itertools.product(*axes)
    ]
    run.best(problems, telling=lambda p: {"k": p.k})
