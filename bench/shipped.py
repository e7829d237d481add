"""Tunes everything that is to ship: ``python -m bench.shipped --records FILE.sqlite --limit 7200``.

The problems are square, of each type, size, beta class and regime. They are ordered so that a run that
is stopped early leaves a useful set: for each type all of ``--sizes``, and only then the coarse ones of
``--coarse``, which serve their neighbours through near records. Then what ``--also`` spells.

A problem that the records file holds decided (the best few timed in turns, by the same toolchain) is
passed over, so the same command goes on where the last one stopped: after ``--limit`` seconds, Ctrl-C or
a signal. In every one of these cases the best records are exported at the end, with the ceilings of the
machine, to ``--export`` (default: the package's own ``store/data/DEVICE.jsonl``). ``--limit 0`` only exports.
"""

from __future__ import annotations

import argparse
import re
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

import tilewright
from bench import lines, machine
from tilewright.catalog import TARGETS
from tilewright.errors import TilewrightError
from tilewright.model import VENDOR, Device, Problem
from tilewright.planning import roofline, runners_up
from tilewright.store.records import Records
from tilewright.tuning import ceilings_cpu, timing
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.results import Result
from tilewright.tuning.tasks import toolchain
from tilewright.tuning.timing import speed
from tilewright.tuning.tuner import Tuner

COARSE = "33,35,36,40,44,47,48,49,52,56,60,63,64"
# Operands made, the finalists timed in turns: what a problem takes beside its search, in seconds.
BESIDE = 3.0
# Cores that other programs may use before it is said.
QUIET = 0.2
Job = tuple[Problem, str]


def jobs(
    types: Sequence[str],
    groups: Sequence[Sequence[int]],
    betas: Sequence[str],
    regimes: Sequence[str],
    also: Sequence[str] = (),
) -> Iterator[Job]:
    """(problem, regime) in the order of tuning; ``groups`` of sizes, the more important ones first."""
    for sizes in groups:
        for letter in types:
            for beta in betas:
                for regime in regimes:
                    yield from ((lines.square(letter, n, beta), regime) for n in sizes)
    for text in also:
        for beta in betas:
            for regime in regimes:
                yield from ((problem, regime) for problem in Problem.parse(text, beta=beta))


def decided(records: Records, job: Job, device: Device) -> bool:
    """Whether the file holds a winner of this problem that was timed in turns by this toolchain."""
    problem, regime = job
    best = records.best(problem.key, regime, device.key, without=VENDOR)
    return (
        best is not None
        and best.protocol >= timing.INTERLEAVED
        and best.toolchain == toolchain(device, best.stencil)
    )


def said(result: Result, device: Device) -> lines.Line:
    """What is kept of one problem's tuning: speeds in GF/s, and the winner."""
    p, best, vendor = result.problem, result.best, result.vendor
    bound = roofline.bound(p, device, result.regime, 1, streaming=p.beta == "0").flops_per_s / 1e9
    gflops = p.flops * speed(best) / 1e9 if best else None
    return {
        "problem": p.key,
        "type": p.dtype.letter,
        "m": p.m,
        "n": p.n,
        "k": p.k,
        "beta": p.beta,
        "regime": result.regime,
        "gflops": gflops,
        "numpy_gflops": p.flops * speed(vendor) / 1e9 if vendor else None,
        "bound_gflops": bound,
        "percent_of_bound": 100 * gflops / bound if gflops else None,
        "stencil": best.stencil if best else None,
        "config": dict(best.config) if best else None,
        "tried": result.tried,
        "seconds": result.seconds,
        "statuses": result.statuses,
    }


def main() -> None:
    """Tune, say, export."""
    options = _arguments()
    console = lines.console()
    device: Device = TARGETS["cpu"].probe()
    target = TARGETS["cpu"]
    # What ships already must not count as done here, nor come between this machine and its own figures.
    records = Records(options.records, shipped=Path("/nonexistent"))
    options.records.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begin = time.monotonic()
    groups = [lines.numbers(text) for text in (options.sizes, options.coarse) if text]
    todo = list(
        jobs(
            lines.letters(options.types),
            groups,
            lines.words(options.betas),
            lines.words(options.regimes),
            options.also,
        )
    )
    sink = lines.Sink(options.out, "shipped", device, vars(options))
    try:
        if options.limit > 0:
            ceilings = records.ceilings(device.key, device["cores"])
            if not ceilings or options.remeasure:
                console.print("measuring bandwidths and peaks ...")
                ceilings = ceilings_cpu.measure(target, device)
                records.save_ceilings(device.key, device["cores"], ceilings)
            device = replace(device, ceilings=ceilings)
            sink.write({"kind": "ceilings", "ceilings": ceilings})
            _tune(todo, records, device, options, sink, console, begin)
    except KeyboardInterrupt:
        console.print("stopped; what was tried is kept, and the same command goes on from there")
    finally:
        name = re.sub(r"[^\w.+-]", "_", device.key) + ".jsonl"
        path = options.export or Path(tilewright.__file__).parent / "store" / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = partial(runners_up.others, records)
        count = records.export(path, device.key, beside=beside) if options.records.exists() else 0
        done = sum(decided(records, job, device) for job in todo)
        console.print(f"{path}: {count} records; {done} of {len(todo)} problems decided")


def _tune(
    todo: list[Job],
    records: Records,
    device: Device,
    options: argparse.Namespace,
    sink: lines.Sink,
    console: Console,
    begin: float,
) -> None:
    """One line a problem, until all are done or the time is."""
    left = [job for job in todo if options.again or not decided(records, job, device)]
    console.print(f"{len(todo)} problems, {len(todo) - len(left)} of them decided before")
    started = time.monotonic()
    with Tuner(device, records) as tuner:
        for number, job in enumerate(left):
            problem, regime = job
            spent = time.monotonic() - begin
            if spent + options.seconds + BESIDE > options.limit:
                console.print(f"the limit of {options.limit:g} s: {len(left) - number} problems are left")
                return
            others = round(machine.busy_cores(), 2)
            name = problem.spelling.partition("@")[0]
            head = f"[{number + 1}/{len(left)}] {name} beta {problem.beta} {regime}"
            try:
                result = tuner.tune(problem, regime, search=options.search, budget=options.seconds)
            except TilewrightError as error:
                console.print(f"{head}: {error}", style="red", markup=False)
                sink.write({"kind": "failed", "problem": problem.key, "regime": regime, "why": str(error)})
                continue
            line = said(result, device)
            sink.write({"kind": "tuned", "date": lines.now(), "busy_cores": others} | line)
            each = (time.monotonic() - started) / (number + 1)
            remaining = min(each * (len(left) - number - 1), options.limit - spent)
            noise = f" ({others:.1f} cores were busy)" if others > QUIET else ""
            console.print(f"{head}: {_short(line)}{noise}; {_clock(remaining)} left", markup=False)


def _short(line: lines.Line) -> str:
    """A line for people."""
    if line["gflops"] is None:
        return f"nothing right among {line['tried']} tries: {line['statuses']}"
    numpy = f"{line['numpy_gflops']:.1f}" if line["numpy_gflops"] else "?"
    bad = line["tried"] - line["statuses"].get("ok", 0)
    return (
        f"{line['gflops']:.1f} GF/s, {line['percent_of_bound']:.0f} % of the bound, NumPy {numpy}; "
        f"{line['stencil']}; {line['tried']} tried ({bad} failed) in {line['seconds']:.1f} s"
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.shipped", __doc__)
    add = parser.add_argument
    add("--records", type=Path, required=True, help="SQLite file of all tries; made, and gone on with")
    add("--types", default="dszc", help="in this order (default: dszc)")
    add("--sizes", default="2..32", help=f"{lines.SIZES} (default: 2..32)")
    add("--coarse", default=COARSE, help=f"sizes that come after all others, '' for none (default: {COARSE})")
    add("--betas", default="0,1", help="beta classes: 0,1,any (default: 0,1)")
    add("--regimes", default="memory,cached", help="default: memory,cached")
    add("--also", nargs="*", default=[], metavar="PROBLEM", help="spellings, e.g. d:tn:8x8x8 s:16x8x4")
    add("--seconds", type=float, default=8.0, help="of searching for each problem and regime (default: 8)")
    searches = [name for _, name in EFFORTS.values() if name]
    add("--search", default="climb", choices=sorted({*searches, "sample"}), help="default: climb")
    add("--limit", type=float, default=float("inf"), help="seconds for all of it; 0: only export")
    add("--again", action="store_true", help="search on where a winner is known, too")
    add("--remeasure", action="store_true", help="measure bandwidths and peaks again")
    add("--export", type=Path, help="JSON lines of the best (default: tilewright/store/data/DEVICE.jsonl)")
    add("--out", type=Path, help="a line of JSON for each problem is added to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
