"""What it is worth where the memory of a batch lies: ``python -m bench.numa --sizes 4,8,16,32 --types ds``.

On a machine with several nodes of memory a page lies on the node of the thread that touches it first. Batches
in memory run on all cores, each thread bound to a core, with operands and results placed in three ways:

own          each share is first touched by the thread that computes with it
one          all is touched by one thread, so that it lies on one node
interleaved  pages lie on all nodes in turns (``mbind``)

These are the placements of Masliah et al. (003, figure 9b). ``pages`` is the part of A's pages that lay on
each node, as the system says: a placement that did not come about is seen there. ``speedup`` is over ``one``,
with a 95 % interval. Where there is one node nothing is placed and nothing measured: the command says so.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from bench import lines, machine, pages
from tilewright.errors import DeviceError
from tilewright.planning import dispatch
from tilewright.runtime.team import find_team
from tilewright.targets.cpu.nodes import FOLDER, Node, listed, nodes
from tilewright.tuning import timing

PLACEMENTS = ("own", "one", "interleaved")
BLOCK = 1 << 16
"""Numbers that are written at a time."""


def described(found: Sequence[Node]) -> Iterator[str]:
    """A line for each node."""
    for node in found:
        cores = f"cores {listed(node.cores)}" if node.cores else "no cores"
        far = " ".join(map(str, node.distances))
        yield f"node {node.number}: {cores}, {node.memory / (1 << 30):.1f} GiB, distances {far}"


def usable(found: Sequence[Node], allowed: Sequence[int]) -> list[Node]:
    """The nodes that have memory, and cores that this process may use."""
    return [node for node in found if node.memory and set(node.cores) & set(allowed)]


def shares(size: int, threads: int) -> list[slice]:
    """The numbers of each thread's share."""
    edges = [size * thread // threads for thread in range(threads + 1)]
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


def fill(array: np.ndarray[Any, Any], part: slice, core: int) -> None:
    """Write random numbers into a part of an array, by this thread on a core."""
    os.sched_setaffinity(0, {core})
    block = np.random.default_rng(core).uniform(-1, 1, BLOCK).astype(array.dtype)
    for first in range(part.start, part.stop, BLOCK):
        chunk = array[first : min(first + BLOCK, part.stop)]
        chunk[:] = block[: chunk.size]


def array_placed(size: int, kind: Any, way: str, cores: Sequence[int], on: Sequence[int]) -> Any:
    """An array of random numbers whose pages are placed in a way over cores and nodes."""
    array = pages.fresh(size, kind)
    if way == "interleaved":
        pages.interleave(array, on)
    parts = shares(size, len(cores)) if way == "own" else [slice(0, size)]
    # Threads of their own, because where they run is changed.
    each = [threading.Thread(target=fill, args=(array, *pair)) for pair in zip(parts, cores, strict=False)]
    for thread in each:
        thread.start()
    for thread in each:
        thread.join()
    return array


def bind(cores: Sequence[int]) -> None:
    """Hold the threads of a team to cores, in the order of their shares. To be called before an OpenMP
    runtime is loaded."""
    os.environ |= {"OMP_PROC_BIND": "true", "OMP_PLACES": ",".join(f"{{{core}}}" for core in cores)}


def study(
    letter: str, n: int, cores: Sequence[int], on: Sequence[int], options: argparse.Namespace
) -> Iterator[lines.Line]:
    """A line for each placement of a batch of squares."""
    problem, room = lines.square(letter, n, "0"), 8 * machine.last_level_cache_bytes()
    batch = max(len(cores), (options.megabytes << 20 or room) // problem.footprint)
    size, calls, where = batch * n * n, dict[str, Callable[[], object]](), dict[str, dict[int, float]]()
    for way in PLACEMENTS:
        a, b, c = (
            array_placed(size, problem.dtype.numpy, way, cores, on).reshape(batch, n, n) for _ in range(3)
        )
        plan = tw.plan(a, b, out=c)
        calls[way] = functools.partial(plan, a, b, out=c)
        where[way] = pages.placed(a.reshape(-1))
        used = plan.plan.threads
    found = timing.interleaved(
        calls, rounds=options.rounds, regime="memory", batch=batch, budget=options.budget
    )
    for way in PLACEMENTS:
        speedup, low, high = timing.ratio(found["one"], found[way])
        yield {
            "kind": "numa",
            "type": letter,
            "n": n,
            "batch": batch,
            "threads": used,
            "placement": way,
            "pages": where[way],
            "seconds": found[way].median,
            "gbytes_per_s": problem.footprint * batch / found[way].median / 1e9,
            "speedup": speedup,
            "low": low,
            "high": high,
            "date": lines.now(),
        }


def main(words: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for. Raises ``DeviceError`` where the system refuses to place."""
    parser = lines.parser("bench.numa", __doc__)
    parser.add_argument("--types", default="ds", help="any of s, d, c, z (default: %(default)s)")
    parser.add_argument("--sizes", default="4,8,16,32", help=f"{lines.SIZES} (default: %(default)s)")
    parser.add_argument(
        "--megabytes", type=int, default=0, help="of a batch (default: eight times the last-level cache)"
    )
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for each size")
    parser.add_argument("--system", type=Path, default=FOLDER, help="where the system tells of its nodes")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(words)
    console, allowed = lines.console(), machine.cores()
    found = nodes(options.system)
    for text in described(found):
        console.print(text)
    some = usable(found, allowed)
    if len(some) < 2:
        asked = f"{', '.join(PLACEMENTS)} for {options.types}, n = {options.sizes}"
        console.print(f"one node of memory for these cores: nothing to place and nothing measured ({asked})")
        return
    cores = [core for node in some for core in node.cores if core in allowed]
    bind(cores)
    if find_team() is None:
        raise DeviceError("no OpenMP runtime is here, whose threads stay on their cores; install libgomp")
    tw.set_threads(len(cores))
    sink = lines.Sink(options.out, "numa", dispatch.device(), vars(options))
    sink.write({"kind": "nodes", "nodes": list(described(found))})
    for letter, n in itertools.product(lines.letters(options.types), lines.numbers(options.sizes)):
        others = lines.busy(console)
        for line in study(letter, n, cores, [node.number for node in some], options):
            sink.write(line | {"busy_cores": others})
            lay = ", ".join(f"{part:.0%} on {node}" for node, part in line["pages"].items())
            console.print(
                f"{letter} n={n} {line['placement']}: {line['gbytes_per_s']:.1f} GB/s, "
                f"{line['speedup']:.2f} of one ({line['low']:.2f} to {line['high']:.2f}); A {lay}"
            )


if __name__ == "__main__":
    main()
