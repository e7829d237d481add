"""Random products with one long extent: what a call runs that nobody tuned, beside a copy and the library."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from math import exp, log

from bench import lines
from bench.batches.classes import all_untuned
from bench.batches.points import Entry
from bench.batches.problems import filling, forced
from bench.batches.run import Run
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Problem

SHORT, LONG = (2, 64), (65, 4096)
"""The ranges of the two short extents and of the long one, log-uniform."""
SHAPES = 100
TRANS = ("nn", "tn", "nt", "tt")
SHARED = (None, None, None, "a", "b")
"""What the whole batch shares, drawn as often: the small operand, if it is the long one nothing."""


def drawn(letter: str, beta: str, count: int, seed: int, long: str = "mnk") -> Iterator[Problem]:
    """Random problems of a type with one of the extents ``long`` over 64, the same for a seed. ``v`` is for
    matrices times vectors: m or n is 1, the other two are over 64; of ``w`` they are any."""
    draw = random.Random(f"skewed {seed} {letter} {beta} {long}")
    ranges = {"v": LONG, "w": (SHORT[0], LONG[1])}

    def between(low: int, high: int) -> int:
        return min(high, int(exp(draw.uniform(log(low), log(high + 1)))))

    for _ in range(count):
        which = draw.choice(long)
        sizes = {name: between(*(LONG if name == which else ranges.get(which, SHORT))) for name in "mnk"}
        if which in ranges:
            sizes[draw.choice("mn")] = 1
        trans, shared = draw.choice(TRANS), draw.choice(SHARED)
        # The long operand of a batch that shares it would make one product of all.
        shares = shared is not None and which not in {"a": "mkvw", "b": "nkvw"}[shared]
        one = Problem(DTYPES[letter], sizes["m"], sizes["n"], sizes["k"], trans[0], trans[1], beta=beta)
        yield one.with_(**{f"stride_{shared}": 0}) if shares else one


def skewed(run: Run) -> None:
    """Problems with one long extent, each by the defaults of the stencils that accept it, and with
    ``--tries`` by as many configs beside it that its rules allow, or beside that of ``--of``. Each is beside
    a copy of as many bytes."""
    given = run.options

    def entries(problem: Problem) -> tuple[Entry, ...]:
        found = known[problem]
        if not found or not given.tries:
            return found
        first = next((entry for entry in found if entry.stencil == given.of), found[0])
        stencil, config = first.stencil, first.config
        more = STENCILS[stencil].space(problem, run.device).sample(given.tries, given.seed)
        return (*found, *(Entry(stencil, each, "drawn") for each in more if each != config))

    every = [
        drawn(letter, beta, given.count or SHAPES, given.seed, given.long)
        for letter, beta in itertools.product(given.types, lines.words(given.betas))
    ]
    # Types and betas in turns: what ends at its limit has some of all.
    problems = [p for p in itertools.chain.from_iterable(itertools.zip_longest(*every)) if p is not None]
    filled = [filling(p, given.bytes, forced(p)) for p in problems]
    known = all_untuned(filled, run.device)
    run.turns(run.points(filled, entries, moved=forced), beside=True)
