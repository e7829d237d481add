"""Random problems of every class: what a call runs that nobody tuned, beside the library."""

from __future__ import annotations

import itertools
import multiprocessing
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import exp, log
from typing import Any

from bench import lines, machine
from bench.batches.points import Entry, Point
from bench.batches.problems import filling, forced
from bench.batches.run import Run
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError
from tilewright.model import DTYPES, Device, Problem
from tilewright.planning import candidates, dispatch
from tilewright.planning.neighbours import LONG

SMALL, LARGE = (4, 8, 16, 32, 64), (128, 256)
"""Largest extents of the classes of shapes, the second where two or three are over 64."""
HUGE = (512, 1024, 2048)
"""The same of batches of large products, which are drawn where they are named."""
LONGEST = 4096
COUNT = 4
MANY = 64
"""Problems whose defaults are worth processes of their own."""
SHAPES = (
    *(("to", top) for top in (*SMALL, *LARGE)),
    *((f"long {name}", top) for top in SMALL for name in "mnk"),
)
"""What is drawn: a class of shapes each, by what is long and the bin of the rest."""
THICK = tuple(("thick", top) for top in (*SMALL[1:], *LARGE, *HUGE))
"""Drawn where they are named: of the same bins, with all extents over half of the largest that there is."""
WIDE = tuple(("to", top) for top in HUGE)
"""Drawn where they are named, too."""
STRUCTURES = (*("packed",) * 5, "shared A", "shared B", "gaps")
TRANS = ("nn", "nn", "tn", "nt", "tt")
SIZES = (1.0, 1.0, 0.04, 1.0, 0.001, 1.0)
"""Of the bytes that are asked for: batches from memory, such that stay in the second-level cache, and few."""


UNIVERSAL = {"tensor": 32, "classic": LONGEST}
"""Stencils that accept nearly everything, and the largest extent up to which they are not asked where others
accept: what they lose there is known."""


def shapes(bins: str) -> tuple[tuple[str, int], ...]:
    """Of the classes of shapes those that are named, with commas, such as ``to 128, long m by 32``; all where
    none is. Raises ``ArgumentError`` for another name."""
    named = {f"{kind} by {top}" if "long" in kind else f"{kind} {top}": (kind, top) for kind, top in SHAPES}
    asked = lines.words(bins) or list(named)
    named |= {f"{kind} {top}": (kind, top) for kind, top in (*THICK, *WIDE)}
    unknown = sorted(set(asked) - set(named))
    if unknown:
        raise ArgumentError(f"bins: {unknown[0]!r}; accepted: {', '.join(named)}")
    return tuple(named[each] for each in asked)


def drawn(
    letter: str,
    beta: str,
    count: int,
    size: float,
    seed: int,
    some: tuple[tuple[str, int], ...] = SHAPES,
    unit: int = 1,
    odd: bool = False,
) -> Iterator[Problem]:
    """Random problems of one type and class of beta, class after class in turns, the same for a seed. Extents
    and padding are multiples of ``unit``, extents ``odd`` ones."""
    draw = random.Random(f"{seed} {letter} {beta}")
    for _, (kind, top) in itertools.product(range(count), some):
        m, n, k = ((-(-extent // unit) | odd) * unit for extent in shape_of(draw, kind, top))
        structure = draw.choice(STRUCTURES)
        trans = draw.choice(TRANS)
        yield _problem(letter, (m, n, k), trans, beta, structure, draw.choice(SIZES) * size, unit)


def _between(draw: random.Random, low: int, high: int) -> int:
    """A number of a range, log-uniform."""
    return min(high, int(exp(draw.uniform(log(low), log(high + 1)))))


def shape_of(draw: random.Random, kind: str, top: int) -> tuple[int, int, int]:
    bins = (1, *SMALL, *LARGE, *HUGE)
    below = bins[bins.index(top) - 1]
    if kind == "thick":
        m, n, k = (_between(draw, top // 2, top) for _ in range(3))
        return m, n, k
    largest = _between(draw, below + 1, top)
    if kind == "to":
        least = 33 if top > LONG else 2
        rest = [largest, *(_between(draw, min(least, largest), largest) for _ in range(2))]
        if top > LONG:
            rest[1] = max(rest[1], LONG + 1)
        draw.shuffle(rest)
        return rest[0], rest[1], rest[2]
    others = [largest, _between(draw, 2, largest)]
    draw.shuffle(others)
    others.insert("mnk".index(kind[-1]), _between(draw, LONG + 1, LONGEST))
    return others[0], others[1], others[2]


def _problem(
    letter: str,
    shape: tuple[int, int, int],
    trans: str,
    beta: str,
    structure: str,
    size: float,
    unit: int = 1,
) -> Problem:
    m, n, k = shape
    more = max(3, unit)
    fields: dict[str, Any] = {}
    if structure.startswith("shared"):
        fields[f"stride_{structure[-1].lower()}"] = 0
    rows_a, rows_b = (k if trans[0] == "t" else m), (n if trans[1] == "t" else k)
    if structure == "gaps":
        fields |= {"lda": rows_a + more, "ldb": rows_b + more, "ldc": m + more}
    one = Problem(DTYPES[letter], m, n, k, trans[0], trans[1], beta=beta, **fields)
    return filling(one, size)


def untuned(problem: Problem, device: Device, only: str = "") -> tuple[Entry, ...]:
    """The defaults of the stencils that accept a problem, or of ``only`` one: calls choose among them by what
    is measured."""
    accepting = [
        name
        for name, stencil in candidates.of(device).items()
        if only in ("", name) and candidates.refusal(stencil, problem, device) is None
    ]
    written = [name for name in accepting if max(problem.extents) > UNIVERSAL.get(name, 0)] or accepting[:1]
    return tuple(Entry(name, STENCILS[name].default(problem, device), "default") for name in written)


def all_untuned(
    problems: Sequence[Problem], device: Device, only: str = ""
) -> dict[Problem, tuple[Entry, ...]]:
    """The same of many problems, by all cores: a cost model takes a tenth of a second for one."""
    if len(problems) < MANY:
        return {problem: untuned(problem, device, only) for problem in problems}
    with ProcessPoolExecutor(len(machine.cores()), multiprocessing.get_context("spawn")) as pool:
        found = pool.map(untuned, problems, itertools.repeat(device), itertools.repeat(only), chunksize=4)
        return dict(zip(problems, found, strict=True))


def classes_of(run: Run) -> None:
    """Random problems of every class, each by the defaults of the stencils that accept it."""
    given = run.options
    some = shapes(given.bins)
    every = [
        drawn(letter, beta, given.count or COUNT, given.bytes, given.seed, some, given.unit, given.odd)
        for letter, beta in itertools.product(given.types, lines.words(given.betas))
    ]
    # Types and betas in turns: what ends at its limit has some of all.
    points: list[Point] = []
    problems = [p for p in itertools.chain.from_iterable(itertools.zip_longest(*every)) if p is not None]
    for problem, entries in all_untuned(problems, run.device, given.of).items():
        if entries:
            where = dispatch.regime(problem, run.device)
            points.append(Point(problem, where, entries, forced(problem)))
    run.turns(points)
