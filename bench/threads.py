"""What a batch gains from more cores: ``python -m bench.threads --batches 2,10,100,1000,10000,100000``.

Every figure is a speed-up over one core: the ratio of times within rounds of the same run, with its interval.

team    an OpenMP team splits the batch, over as many cores as the column says, whatever the batch
pool    the same by the fallback without an OpenMP runtime, Python's thread pool
call    a Plan called as users call it: it decides how many cores the batch is worth (``used``)
fresh   the same with a new result array each time, whose pages are touched first by the cores that write them

regime    the operands
cached    the same every time; batches that do not fit in the last-level cache are left out
memory    others every time, spread over four times the last-level cache

``call`` or ``fresh`` below one, by the whole of the interval and more than 2 %, is marked: a user would be
better off with one core.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from rich.table import Table

import tilewright as tw
from bench import lines, machine
from tilewright.arrays.layout import problem_of
from tilewright.arrays.numpy_ import new_output
from tilewright.model import DTYPES
from tilewright.planning import dispatch
from tilewright.runtime import bound_cpu
from tilewright.runtime.bound_cpu import Bound
from tilewright.runtime.team import find_team
from tilewright.tuning import timing as measure

SLOWER = 0.98
# So many different places in memory are enough, and more would only be Python's own objects to walk.
MOST_PLACES = 1 << 16
Arrays = tuple[Any, Any, Any]
Call = Callable[[Any, Any, Any], object]


def places(letter: str, n: int, batch: int, regime: str) -> list[Arrays]:
    """(a, b, out) in as many places as the regime needs: one, or four times the last-level cache full."""
    kind = np.dtype(DTYPES[letter].name)
    one = 3 * batch * n * n * kind.itemsize
    room = machine.last_level_cache_bytes() * 4
    count = 1 if regime == "cached" else min(MOST_PLACES, max(2, -(-room // one)))
    arrays = [new_output((count, batch, n, n), kind) for _ in range(3)]
    block = np.random.default_rng(0).uniform(-1, 1, 1 << 16)
    for array in arrays:
        flat = array.reshape(-1)
        for start in range(0, flat.size, block.size):
            part = flat[start : start + block.size]
            part[:] = block[: part.size]
    return list(zip(*arrays, strict=True))


def walk(call: Call, where: Sequence[Arrays]) -> Callable[[], None]:
    """A run without arguments that calls at the next place each time."""
    turn = itertools.cycle(where)

    def run() -> None:
        call(*next(turn))

    return run


@contextmanager
def without_team() -> Iterator[None]:
    """As on a machine that has no OpenMP runtime."""
    with mock.patch.object(bound_cpu, "find_team", return_value=None):
        yield


def split(arrays: Arrays, threads: int) -> Call:
    """The product on exactly so many cores, whatever the plan's own choice would be."""
    a, b, out = arrays
    job = problem_of(a, b, out, conj_a=False, conj_b=False, alpha="1", beta="0")
    assert not isinstance(job, str)
    plan = dispatch.plan(job.problem, dispatch.device(), vendor=False)
    bound = Bound(job, replace(plan, threads=threads), (1, 0))
    return bound.function(a, b, out) or bound.run


def planned(arrays: Arrays, threads: int, fresh: bool) -> tuple[Call, int]:
    """The public call, allowed so many cores, and how many it uses."""
    a, b, out = arrays
    tw.set_threads(threads)
    plan = tw.plan(a, b, out=None if fresh else out)
    tw.set_threads(None)
    if fresh:
        return lambda a, b, out: plan(a, b), plan.plan.threads
    return lambda a, b, out: plan(a, b, out=out), plan.plan.threads


def speedups(
    letter: str, n: int, batch: int, regime: str, counts: Sequence[int], options: argparse.Namespace
) -> Iterator[lines.Line]:
    """A line for every way and number of cores, each against one core in the same run."""
    where = places(letter, n, batch, regime)
    most = max(counts)

    def ratios(runs: dict[tuple[str, int], Callable[[], None]]) -> Iterator[lines.Line]:
        # Always as the regime "cached": it repeats short calls until a sample is long enough, and the
        # places, not the repeats, decide what is in a cache here.
        named = {f"{way} {count}": run for (way, count), run in runs.items()}
        timings = measure.interleaved(
            named, rounds=options.rounds, regime="cached", batch=batch, budget=options.budget
        )
        for way, count in runs:
            timing = timings[f"{way} {count}"]
            ratio, low, high = measure.ratio(timings[f"{way} 1"], timing)
            yield {"way": way, "cores": count, "us": 1e6 * timing.median} | {
                "speedup": ratio,
                "low": low,
                "high": high,
            }

    # The teams and the pool by themselves: the threads of one spin for a while in the other's samples.
    if find_team() is not None:
        yield from ratios({("team", count): walk(split(where[0], count), where) for count in counts})
    with without_team():
        yield from ratios({("pool", count): walk(split(where[0], count), where) for count in counts})
    for way in ("call", "fresh"):
        calls = {count: planned(where[0], count, way == "fresh") for count in (1, most)}
        runs = {(way, count): walk(call, where) for count, (call, _) in calls.items()}
        for line in ratios(runs):
            yield line | {"used": calls[line["cores"]][1]}


def table(found: Sequence[lines.Line], counts: Sequence[int]) -> Table:
    """A row for each batch and way; a column for each number of cores."""
    drawn = Table(title_justify="left")
    for name in ("batch", "way", "us on 1", *(f"x{count}" for count in counts if count > 1), "used", ""):
        drawn.add_column(name, justify="right" if name != "way" else "left")
    rows = {(line["batch"], line["way"]): None for line in found}
    for batch, way in rows:
        own = {x["cores"]: x for x in found if (x["batch"], x["way"]) == (batch, way)}
        cells = [f"{own[c]['speedup']:.2f}" if c in own else "" for c in counts if c > 1]
        last = own[max(own)]
        used = str(last["used"]) if "used" in last else ""
        mark = "[red]slower than one core[/red]" if last["slower"] else ""
        drawn.add_row(f"{batch:,}", way, f"{own[1]['us']:.1f}", *cells, used, mark)
    return drawn


def cases(options: argparse.Namespace, cache: int) -> Iterator[tuple[str, int, str, int]]:
    """(type, n, regime, batch) of all that is asked for and fits its regime; ``cache`` in bytes."""
    sizes = itertools.product(lines.letters(options.types), lines.numbers(options.sizes))
    for (letter, n), regime in itertools.product(sizes, lines.words(options.regimes)):
        for batch in lines.numbers(options.batches):
            if regime == "memory" or lines.square(letter, n, "0").with_(batch=batch).footprint <= cache:
                yield letter, n, regime, batch


def main() -> None:
    """Measure what the command line asks for."""
    options = _arguments()
    console = lines.console()
    device = dispatch.device()
    most = options.threads or device["cores"]
    counts = sorted({1, most, *(1 << i for i in range(most.bit_length()) if 1 << i <= most)})
    if most < 2:
        raise SystemExit("one core: there is nothing to split over")
    sink = lines.Sink(options.out, "threads", device, vars(options))
    team = find_team()
    console.print(f"cores: {counts}; team: {team.path if team else 'none found'}")
    groups: dict[str, list[lines.Line]] = {}
    try:
        for case in cases(options, device["l3"]):
            letter, n, regime, batch = case
            others = lines.busy(console)
            names = {"kind": "speedup", "type": letter, "n": n, "regime": regime, "batch": batch}
            for line in speedups(letter, n, batch, regime, counts, options):
                users = line["way"] in ("call", "fresh")
                slower = users and line["high"] < 1 and line["speedup"] < SLOWER
                line = names | {"busy_cores": others, "date": lines.now()} | line | {"slower": slower}
                sink.write(line)
                groups.setdefault(f"{letter} n={n}, {regime}", []).append(line)
    except KeyboardInterrupt:
        console.print("stopped; what was measured is kept")
    slow = []
    for title, found in groups.items():
        drawn = table(found, counts)
        drawn.title = f"{title}: times as fast as on one core"
        console.print(drawn)
        slow += [f"{title} @{line['batch']} {line['way']}" for line in found if line["slower"]]
    console.print(f"slower than on one core: {len(slow)}" + (f": {'; '.join(slow)}" if slow else ""))


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.threads", __doc__)
    add = parser.add_argument
    add("--types", default="d", help="any of s, d, c, z (default: d)")
    add("--sizes", default="8", help=f"{lines.SIZES} (default: 8)")
    add("--batches", default="2,10,100,1000,10000,100000", help="default: 2,10,100,1000,10000,100000")
    add("--regimes", default="cached,memory", help="default: cached,memory")
    add("--threads", type=int, default=0, help="the most cores (default: 0, all)")
    add("--rounds", type=int, default=31, help="samples of each (default: 31)")
    add("--budget", type=float, default=3.0, help="seconds for each way and batch (default: 3)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
