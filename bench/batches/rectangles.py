"""Mixed shapes, and squares whose columns are padded."""

from __future__ import annotations

import itertools
import random

from bench import lines
from bench.batches.problems import SEED, filling, forced
from bench.batches.run import Run
from tilewright.model import DTYPES, Problem

EXTENTS, SHAPES = (3, 7, 8, 13, 16, 24, 32), 60
PADDED = (3, 8, 16, 24, 32)


def rectangles(run: Run) -> None:
    """Mixed shapes, and squares whose columns are padded: what dispatch chooses, what a search finds, or the
    best of what ``--seeds`` holds beside the stencil's default."""
    given, parts = run.options, lines.words(run.options.parts)
    problems = []
    for letter, beta in itertools.product(given.types, lines.words(given.betas)):
        dtype = DTYPES[letter]
        if "shapes" in parts:
            problems += [Problem(dtype, m, n, k, beta=beta) for m, n, k in mixed(given.count or SHAPES)]
        if "padded" in parts:
            problems += [
                Problem(dtype, n, n, n, lda=ld, ldb=ld, ldc=ld, beta=beta)
                for n in PADDED
                for ld in paddings(n)
            ]
    filled = [filling(one, given.bytes, forced(one)) for one in problems]
    run.best(filled, moved=forced, telling=lambda p: {"plain_bytes": p.bytes})


def mixed(count: int = SHAPES, seed: int = SEED) -> list[tuple[int, int, int]]:
    """Different shapes (m, n, k) of ``EXTENTS`` that are no cubes, the same ones every time."""
    shapes = [(m, n, k) for m, n, k in itertools.product(EXTENTS, repeat=3) if not m == n == k]
    return random.Random(seed).sample(shapes, count)


def paddings(n: int) -> tuple[int, int, int]:
    """Leading dimensions for n rows: odd, odd by more, and a multiple of 8 with 8 to spare."""
    return n + 1, n + 3, -(-n // 8) * 8 + 8
