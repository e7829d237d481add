"""How near cost models come to the best kernel of products alone, on a GPU: ``python -m bench.models``.

Products are random as those of ``bench.alone`` (``--seed`` draws the same), but for those that take longer
than ``--longest`` at the speed of large products. For each, and each of ``--stencils`` that accepts it:

default    what the stencil's cost model likes best of its space: what an untuned call would run
first      the first 16 configs that a tuner asks for: the default, what else the stencil proposes
           (``Stencil.starts``), then what its model ranks first
pool       what stands for the best of the space: configs drawn at random from all of it that the rules leave
           (``--drawn`` for a product), those drawn or proposed for other products whose programs serve this
           one, with other cuts of tiles where it has other ones, and neighbours of the best of all these, of
           which ``--near`` are compiled that were not

A stencil whose default takes ``--far`` times as long as the best default of the product, or longer, is left
there. Every config is launched once on a result full of NaN
and compared with cuBLAS's; what is wrong, does not compile or spills counts for nothing, and is said where it
is a default. All are
timed by two samples; then, in turns with cuBLAS, the default and the best few of ``first`` and of all. Lines
``tries`` hold what each config took, lines ``models`` what came of the turns; both are written as soon as
they are known, and a later line of a product and stencil replaces an earlier one. ``--summary FILE...`` sums
up files and measures nothing; the rows ``any`` are of the stencil that a call without the library would run,
beside the best of all stencils.

Compilers work ahead of the GPU; the pool of a product is what they came to until its turn, and ``tried`` says
how many that were. So the best of it is no more than a lower bound of the best of the space.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, zip_longest
from multiprocessing import get_context
from pathlib import Path

# Compilers and those who plan have a core each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench import alone, lines
from bench.models.draws import drawn
from bench.models.run import Run
from bench.models.summary import show
from bench.models.timing import Handler
from bench.models.tries import Shape
from tilewright.catalog import TARGETS
from tilewright.planning import dispatch
from tilewright.tuning.workers import Worker

STENCILS_ALONE = "warpgroup,unaligned,dmma,ffma,cfma,classic,inner"


def main() -> None:
    """Measure, print and keep; or sum up what was measured."""
    parser = lines.parser("bench.models", __doc__)
    add = parser.add_argument
    add("--types", default="h,s,d,z,c", help="default: h,s,d,z,c")
    add("--count", type=int, default=100, help="products of a type (default: 100)")
    add("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    add(
        "--longest",
        type=float,
        default=4e-3,
        help="seconds of a product at the speed of large ones (default: 0.004)",
    )
    add("--stencils", default=STENCILS_ALONE, help=f"default: {STENCILS_ALONE}")
    add("--drawn", type=int, default=12, help="configs by chance of a product and stencil (default: 12)")
    add("--near", type=int, default=4, help="neighbours of the best that are compiled (default: 4)")
    add(
        "--far",
        type=float,
        default=1.4,
        help="times slower than the best default that is left (default: 1.4)",
    )
    add("--each", type=float, default=1.5, help="seconds of the GPU for a product, twice (default: 1.5)")
    add("--reserve", type=float, default=60.0, help="seconds for the second time (default: 60)")
    add("--limit", type=float, default=1e9, help="seconds in all")
    add("--processes", type=int, default=14, help="that compile (default: 14)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    add("--summary", type=Path, nargs="+", help="files to sum up; nothing is measured")
    options = parser.parse_args()
    console = lines.console()
    if options.summary:
        found = list(chain.from_iterable(map(lines.read, options.summary)))
        known = next(line["device"] for line in found if line["kind"] == "run")
        show(found, dispatch.known(TARGETS["cuda"].devices[known]), console)
        return
    lines.demand_gpu()
    device = dispatch.device("cuda")
    letters = lines.letters(options.types)
    every = [drawn(letter, options.count, options.seed, options.longest) for letter in letters]
    # Types in turns: what ends at its limit has some of all.
    shapes = [Shape(p) for p in chain.from_iterable(zip_longest(*every)) if p is not None]
    child = Worker(Handler, timeout=60.0)
    pool = ProcessPoolExecutor(options.processes, get_context("spawn"), initializer=alone.polite)
    run = Run(options, device, shapes, console, pool, child)
    try:
        run.run()
    finally:
        child.stop()
        pool.shutdown(wait=False, cancel_futures=True)
    if options.out is not None:
        show(lines.read(options.out), device, console)
    if run.failed:
        console.print(f"{run.failed} requests failed")


if __name__ == "__main__":
    main()
