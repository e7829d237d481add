"""How many configs a second the tuner tries, how long devices wait meanwhile, and what a second run costs.

    python -m bench.rate s:nn:2048x2048x2048 d:8x8x8 --gpus 0 --gpus 0,1 --seconds 8 --out rate.jsonl

For each problem, each set of like GPUs (without ``--gpus``: for the processor) and each search a fresh
records file, a search of so many seconds, and the job again. The rate is of the search alone, from its first
record to the last one within its seconds; what devices do in it is checking and timing, the rest is counted
as waiting. How many of the compilers were at work in the mean says whether it was these that devices waited
for. The second run is what the same call costs once it is finished: its own time, and that of a fresh
process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from bench import lines
from tilewright.model import Problem
from tilewright.planning import dispatch
from tilewright.store.records import Records
from tilewright.tuning import timing
from tilewright.tuning.fleet import chosen
from tilewright.tuning.tuner import Progress, Tuner

WARM = 30.0
"""Seconds at most for what comes before a measurement."""
AGAIN = """
import sys, time
begin = time.monotonic()
from pathlib import Path
from tilewright.model import Problem
from tilewright.planning import dispatch
from tilewright.store.records import Records
from tilewright.tuning.tuner import Tuner
problem, = Problem.parse(sys.argv[2])
with Tuner(dispatch.device(sys.argv[3]), Records(Path(sys.argv[1]))) as tuner:
    found = tuner.tune(problem, sys.argv[4], search=sys.argv[6], budget=float(sys.argv[5]), again=False)
assert found.tried == 0 and found.best is not None
print(time.monotonic() - begin)
"""


@dataclass(frozen=True, slots=True)
class _Moment:
    """A record came: when, how long devices and this process had worked, how many compilers were at work."""

    at: float
    elapsed: float
    busy: float
    own: float
    compiling: int


def measured(
    spelling: str, regime: str, gpus: list[int], search: str, seconds: float, folder: Path
) -> lines.Line:
    """One problem on some like devices; none chosen: on the processor."""
    (problem,) = Problem.parse(spelling)
    kind = "cuda" if gpus else "cpu"
    device = dispatch.device(kind, gpus[0] if gpus else 0)
    path = folder / "records.sqlite"
    records = Records(path, shipped=folder)
    seen: list[_Moment] = []
    with Tuner(device, records, numbers=gpus) as tuner:

        def listen(state: Progress) -> None:
            compiling = sum(worker.busy for worker in tuner.compilers)
            busy, own = tuner.benches.account.busy, time.process_time()
            seen.append(_Moment(time.monotonic(), state.elapsed, busy, own, compiling))

        tuner.listen = listen
        begin = time.monotonic()
        # All compilers are started by it, which is no part of a rate.
        options: dict[str, Any] = {"search": "sample", "budget": WARM}
        tuner.tune(problem, regime, seed=1, tries=2 * len(tuner.compilers), **options)
        ready, known = time.monotonic() - begin, len(records.all())
        seen.clear()
        options |= {"budget": seconds, "search": search}
        result = tuner.tune(problem, regime, **options)
        begin = time.monotonic()
        tuner.tune(problem, regime, again=False, **options)
        same = time.monotonic() - begin
    tried = [row for row in records.all() if row.protocol == timing.ALONE]
    fresh = [row for row in records.all()[known:] if row.protocol == timing.ALONE]
    records.close()
    asked = [str(path), spelling, kind, regime, str(seconds), search]
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", AGAIN, *asked], check=True, capture_output=True, text=True)
    process = time.monotonic() - begin
    within = [each for each in seen if each.elapsed <= seconds]
    first, last = within[0], within[-1]
    passed, devices = last.at - first.at, max(1, len(gpus))
    # What was known came with the first record.
    tries = len(within) - (len(seen) - len(fresh)) - 1
    return {
        "problem": spelling,
        "regime": regime,
        "search": search,
        "devices": devices,
        "compilers": len(tuner.compilers),
        "compiling": sum(each.compiling for each in within) / len(within),
        "tried": len(fresh),
        "twice": len(tried) - len({(row.stencil, row.config) for row in tried}),
        "statuses": result.statuses,
        "configs_per_s": tries / passed,
        "devices_wait": 1 - (last.busy - first.busy) / (passed * devices),
        "own_ms": 1e3 * (last.own - first.own) / tries,
        "ready_seconds": ready,
        "again_seconds": same,
        "again_process_seconds": process,
    }


def _arguments() -> Any:
    parser = argparse.ArgumentParser(prog="bench.rate", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--gpus", action="append", default=[], help="numbers with commas, or all; repeatable")
    parser.add_argument("--search", action="append", default=[], help="repeatable (default: sample)")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--regime", default="memory", choices=timing.REGIMES)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def main() -> None:
    """Run what the command line asks for."""
    options = _arguments()
    console = lines.console()
    sets = [chosen(text) for text in options.gpus] or [[]]
    sink = lines.Sink(options.out, "rate", dispatch.device("cuda" if options.gpus else "cpu"), vars(options))
    for spelling, gpus, search in product(options.problems, sets, options.search or ["sample"]):
        with tempfile.TemporaryDirectory() as folder:
            line = measured(spelling, options.regime, gpus, search, options.seconds, Path(folder))
        sink.write({"kind": "rate", "date": lines.now()} | line)
        console.print(
            f"{spelling}, {search}: {line['devices']} devices, {line['configs_per_s']:.1f} configs/s, "
            f"devices wait {line['devices_wait']:.1%}, {line['compiling']:.1f} of {line['compilers']} "
            f"compilers work, {line['own_ms']:.1f} ms of the tuner a try; again {line['again_seconds']:.3f} "
            f"s, in a fresh process {line['again_process_seconds']:.2f} s",
            markup=False,
        )


if __name__ == "__main__":
    main()
