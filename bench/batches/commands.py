"""Batches of small matrices on a GPU, beside what a user would call instead: ``python -m bench.batches``.

    squares     --sizes 1..32 --betas 0,1        how near the speed of a copy (Masliah et al., section 3)
    rectangles  --parts shapes,padded            what dispatch chooses for mixed shapes and padded columns
    half        --types h,hc                     float16, complex half (Abdelfattah et al., section 7)
    updates     --ks 8,16,32                     C = alpha A B + C with a short k (the same section)
    counts      --counts 1,10,100,1000           the speed over the number of products (the same section)
    crossover   --types h,hc --sizes 2..24       from which size on tensor cores pay (the same section)
    calls                                        what a call from PyTorch costs beside its kernel
    classes     --count 4 --seed 1               random problems of every class, by defaults alone
    skewed      --count 100 --seed 1 --long mn   random problems with one long extent, by defaults alone
    middle      --count 24 --seed 1              random problems of extents of 33 to 128, by defaults alone
    plan FILE --limit SECONDS                    several of these in one process, one command line a row

The peer is cuBLAS through PyTorch; of complex half it is the planar way, four products of float16. Ours
and the peer are timed in turns, in one process: ``against_cublas`` is the median of the ratios within
rounds (above 1 ours is faster), ``low`` and ``high`` its 95 % interval. ``of_copy`` is bytes a second over
those of a copy within device memory, which is measured when a run begins; of ``skewed`` a copy of as many
bytes, measured beside each point, and ``of_bound`` counts the arithmetic where that takes longer. Every point
is a line of JSON, written as soon as it is known, and one on the screen.

``squares`` searches, or tries again the best of what ``--seeds`` holds, beside the stencil's default; its
tries are recorded. ``rectangles`` and ``updates`` do the same with ``--budget`` or ``--seeds``. The others
time what dispatch chooses without a search, and compile ahead of the clock. ``origin`` says where a config is
from: ``tuned`` (a record or a search of this very problem), ``near`` or ``default``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import lines
from bench.batches.calls import calls
from bench.batches.classes import classes_of
from bench.batches.counts import counts
from bench.batches.crossover import crossover
from bench.batches.figures import plot
from bench.batches.half import half
from bench.batches.middle import middle
from bench.batches.points import SMALL
from bench.batches.problems import SEED
from bench.batches.rectangles import rectangles
from bench.batches.run import Run
from bench.batches.skewed import skewed
from bench.batches.squares import squares
from bench.batches.summed import summary
from bench.batches.updates import updates
from tilewright.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Command:
    """What a command does, and what it takes where nothing is said: types, sizes, classes of beta, bytes."""

    run: Callable[[Run], None]
    types: str
    sizes: str = ""
    betas: str = "0"
    bytes: float = 1e9
    counts: str = ""


COMMANDS = {
    "squares": Command(squares, "h,b,s,d,c,z,hc", "1..32", "0,1"),
    "rectangles": Command(rectangles, "h,b,s,d,c,z,hc", bytes=1e9),
    "half": Command(half, "h,hc", "8,16,32,64,128,256", "0,1"),
    "updates": Command(updates, "h,hc,s,d", "32,64,128,256,512", "1", 2.5e8),
    "counts": Command(counts, "h,hc,d", "8,16,32", bytes=6.5e9, counts="1,10,100,1000,10000,100000,1000000"),
    "crossover": Command(crossover, "h,hc", "2..24", bytes=1.3e8),
    "classes": Command(classes_of, "h,b,s,d,c,z", betas="0,1", bytes=2.5e8),
    "skewed": Command(skewed, "h,b,s,d,c,z,hc", betas="0,1", bytes=1.5e9),
    "middle": Command(middle, "s,d,c,z", betas="0,1", bytes=2.5e8),
    "calls": Command(calls, "d", "8", counts="100000,100"),
}


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; what it does not say is as the command has it."""
    parser = lines.parser("bench.batches", __doc__)
    add = parser.add_argument
    add("command", choices=list(COMMANDS))
    add("--types", default="", help="such as h,b,hc or sdcz (default: the command's)")
    add("--sizes", "--n", default="", help=f"orders, {lines.SIZES} (default: the command's)")
    add("--betas", default="", help="classes of beta, with commas (default: 0, or 0,1)")
    add("--ks", default="8,16,32", help="of updates (default: 8,16,32)")
    add("--counts", default="", help="products of a batch (counts, calls)")
    add("--bytes", type=float, default=0.0, help="that a batch moves, or at most takes (counts)")
    # What each of the short ones stands for is kept as --parts: the first of them brings the default.
    parts = parser.add_mutually_exclusive_group().add_argument
    parts("--parts", default="shapes,padded", help="of rectangles (default: shapes,padded)")
    parts("--shapes", dest="parts", action="store_const", const="shapes", help="--parts shapes")
    parts("--padded", dest="parts", action="store_const", const="padded", help="--parts padded")
    add(
        "--count",
        type=int,
        default=0,
        help="shapes (default: 60; skewed: 100; of each class: 4), or configs of each kind (crossover: 12)",
    )
    add("--seed", type=int, default=SEED, help="of what is drawn (classes, skewed)")
    add("--bins", default="", help="of shapes, such as 'to 128,long m by 32' (classes; default: all)")
    add("--unit", type=int, default=1, help="what extents are multiples of (classes; default: 1)")
    add("--odd", action="store_true", help="odd multiples of --unit (classes)")
    add("--long", default="mnk", help="which extents may be long; v: vectors, w: any (skewed; default: mnk)")
    add("--tries", type=int, default=0, help="configs drawn beside each default (skewed; default: none)")
    add(
        "--of",
        default="",
        help="the stencil of these configs (skewed; default: the first), or of all defaults (classes)",
    )
    add("--rounds", type=int, default=11, help="samples of each, in turns (default: 11)")
    add(
        "--budget",
        type=float,
        default=0.0,
        help="seconds of a search (squares: 20; rectangles, updates: none)",
    )
    add("--tolerate", type=int, default=0, help="bytes that a searched kernel may spill (default: 0)")
    add("--limit", type=float, default=float("inf"), help="seconds for all")
    add(
        "--seeds",
        type=Path,
        help="try only the best that this file holds of each problem (squares, rectangles, updates)",
    )
    add("--top", type=int, default=4, help="so many of them (default: 4)")
    add(
        "--stencil",
        default="tiny",
        choices=SMALL,
        help="that is tuned (squares, rectangles, updates; default: tiny)",
    )
    add("--records", type=Path, help="SQLite file of the tries (default: the user's)")
    add("--summary", type=Path, help="measure nothing: sum up this file")
    add("--draw", type=Path, help="measure nothing: draw what this file holds")
    add("--plot", type=Path, help="an HTML page")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args(words)
    usual = COMMANDS[options.command]
    options.types = lines.letters(options.types or usual.types)
    for name in ("sizes", "betas", "bytes", "counts"):
        setattr(options, name, getattr(options, name) or getattr(usual, name))
    unknown = set(lines.words(options.betas)) - {"0", "1", "any"}
    if unknown:
        raise ArgumentError(f"betas: {min(unknown)!r}; accepted: 0, 1, any")
    unknown = set(lines.words(options.parts)) - {"shapes", "padded"}
    if unknown:
        raise ArgumentError(f"parts: {min(unknown)!r}; accepted: shapes, padded")
    if options.draw and not options.plot:
        raise ArgumentError("--draw needs --plot, the page to draw")
    if options.command == "squares" and not options.budget:
        options.budget = 20.0
    return options


def perform(run: Run) -> bool:
    """Carry out the command that a run has begun: a copy, if none was measured, the points, and all in short.

    False if somebody stopped it; what was measured is kept.
    """
    if run.copy is None:
        run.look()
    whole = True
    try:
        COMMANDS[run.options.command].run(run)
    except KeyboardInterrupt:
        run.console.print("stopped; what was measured is kept")
        whole = False
    for text in summary(run.found):
        run.console.print(text, markup=False, soft_wrap=True)
    if run.options.plot:
        text = plot(run.options.plot, run.options.command, run.found)
        run.console.print(text, markup=False)
    return whole
