"""Random products of middle size: what a call runs that nobody tuned, beside a copy and the library."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from bench import lines
from bench.batches.classes import untuned
from bench.batches.points import Point
from bench.batches.problems import filling, forced
from bench.batches.run import Run
from tilewright.model import DTYPES, Problem
from tilewright.planning import dispatch

SIZES = (33, 128)
"""The range of the orders of squares, and of the extents of other products."""
SHAPES = 24
TRANS = ("nn", "nn", "tn", "nt", "tt")
STRUCTURES = (*("packed",) * 5, "shared A", "shared B", "gaps")
PARTS = (1.0, 1.0, 1.0, 0.04, 1.0, 0.001)
"""Of the bytes that are asked for: batches from memory, such that stay in the second-level cache, and few."""


def drawn(
    letter: str, beta: str, count: int, size: float, seed: int, sizes: tuple[int, int] = SIZES
) -> Iterator[Problem]:
    """Random problems of a type, squares and others in turns, the same for a seed. ``size`` is in bytes, and
    ``sizes`` are the least and the greatest extent."""
    draw = random.Random(f"middle {seed} {letter} {beta}")
    for number in range(count):
        m, n, k = (draw.randint(*sizes) for _ in "mnk")
        if number % 2 == 0:
            n = k = m
        trans, structure = draw.choice(TRANS), draw.choice(STRUCTURES)
        one = Problem(DTYPES[letter], m, n, k, trans[0], trans[1], beta=beta)
        if structure.startswith("shared"):
            one = one.with_(**{f"stride_{structure[-1].lower()}": 0})
        if structure == "gaps":
            one = one.with_(m=m, lda=(one.lda or 0) + 3, ldb=(one.ldb or 0) + 3, ldc=(one.ldc or 0) + 3)
        yield filling(one, PARTS[number % len(PARTS)] * size)


def middle(run: Run) -> None:
    """Products with extents of 33 to 128, or of the range of ``--sizes``, each by the defaults of those
    stencils that accept it."""
    given = run.options
    sizes = lines.numbers(given.sizes) if given.sizes else SIZES
    every = [
        drawn(letter, beta, given.count or SHAPES, given.bytes, given.seed, (min(sizes), max(sizes)))
        for letter, beta in itertools.product(given.types, lines.words(given.betas))
    ]
    # Types and betas in turns: what ends at its limit has some of all.
    points = []
    for p in itertools.chain.from_iterable(itertools.zip_longest(*every)):
        if p is not None:
            where = dispatch.regime(p, run.device)
            points.append(Point(p, where, untuned(p, run.device), forced(p)))
    run.turns(points)
