"""How many configs a second the tuner tries, how long devices wait meanwhile, and what a second run costs.

    python -m bench.rate s:nn:2048x2048x2048 d:8x8x8 --gpus 0 --gpus 0,1 --seconds 8 --out rate.jsonl

For each problem, each set of like GPUs (without ``--gpus``: for the processor) and each search a fresh
records file, a search of so many seconds, and the job again. The rate is of the search alone, from its first
record to the last one within its seconds; what devices do in it is checking and timing, the rest is counted
as waiting. How many of the compilers were at work in the mean says whether it was these that devices waited
for. ``--after`` shows what is gained by programs that sizes and regimes share. The second run is what the
same call costs once it is finished: its own time, and that of a fresh process.
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
from tilewright.model import Device, Problem
from tilewright.planning import dispatch
from tilewright.store.records import Records
from tilewright.tuning import timing
from tilewright.tuning.farm import Farm
from tilewright.tuning.fleet import chosen
from tilewright.tuning.results import Progress
from tilewright.tuning.tuner import Tuner

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


def warmed(
    problem: Problem, regime: str, gpus: list[int], device: Device, folder: Path
) -> tuple[Farm, float]:
    """A farm whose children have all worked, which is no part of a rate; and how long that took."""
    records, begin = Records(folder / "warm.sqlite", shipped=folder), time.monotonic()
    tuner = Tuner(device, records, numbers=gpus)
    tuner.tune(problem, regime, search="sample", seed=1, budget=WARM, tries=2 * len(tuner.compilers))
    records.close()
    return tuner.farm, time.monotonic() - begin


def measured(
    problem: Problem,
    after: Problem | None,
    regime: str,
    device: Device,
    farm: Farm,
    search: str,
    seconds: float,
    path: Path,
) -> lines.Line:
    """One search of one problem on the devices of a farm, ``after`` another, in the other regime, by the same
    tuner."""
    records = Records(path, shipped=path.parent)
    tuner = Tuner(device, records, farm=farm)
    if after is not None:
        (other,) = {*timing.REGIMES} - {regime}
        tuner.tune(after, other, search=search, budget=seconds)
    seen: list[_Moment] = []

    def listen(state: Progress) -> None:
        compiling = sum(worker.busy for worker in farm.compilers)
        busy, own = tuner.benches.account.busy, time.process_time()
        seen.append(_Moment(time.monotonic(), state.elapsed, busy, own, compiling))

    tuner.listen = listen
    options: dict[str, Any] = {"search": search, "budget": seconds}
    result = tuner.tune(problem, regime, **options)
    begin = time.monotonic()
    tuner.tune(problem, regime, again=False, **options)
    same = time.monotonic() - begin
    key = problem.with_(batch=1).key
    tried = [
        row
        for row in records.all()
        if row.protocol == timing.ALONE and (row.problem.with_(batch=1).key, row.regime) == (key, regime)
    ]
    records.close()
    asked = [str(path), problem.spelling, device.kind, regime, str(seconds), search]
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", AGAIN, *asked], check=True, capture_output=True, text=True)
    process = time.monotonic() - begin
    within = [each for each in seen if each.elapsed <= seconds]
    first, last = within[0], within[-1]
    passed, tries = last.at - first.at, len(within) - 1
    return {
        "problem": problem.spelling.removesuffix("@1"),
        "regime": regime,
        "search": search,
        "after": after.spelling.removesuffix("@1") if after else None,
        "devices": len(farm.benches),
        "compilers": len(farm.compilers),
        "compiling": sum(each.compiling for each in within) / len(within),
        "tried": len(tried),
        "twice": len(tried) - len({(row.stencil, row.config) for row in tried}),
        "statuses": result.statuses,
        "first_seconds": first.elapsed,
        "configs_per_s": tries / passed,
        "devices_wait": 1 - (last.busy - first.busy) / (passed * len(farm.benches)),
        "own_ms": 1e3 * (last.own - first.own) / tries,
        "again_seconds": same,
        "again_process_seconds": process,
    }


def _arguments() -> Any:
    parser = argparse.ArgumentParser(prog="bench.rate", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--gpus", action="append", default=[], help="numbers with commas, or all; repeatable")
    parser.add_argument("--search", action="append", default=[], help="repeatable (default: sample)")
    parser.add_argument("--after", help="a problem tuned before, in the other regime, by the same tuner")
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
    after = Problem.parse(options.after)[0] if options.after else None
    for spelling, gpus in product(options.problems, sets):
        (problem,) = Problem.parse(spelling)
        device = dispatch.device("cuda" if gpus else "cpu", gpus[0] if gpus else 0)
        with tempfile.TemporaryDirectory() as folder:
            farm, ready = warmed(problem, options.regime, gpus, device, Path(folder))
            for number, search in enumerate(options.search or ["sample"]):
                path = Path(folder) / f"{number}.sqlite"
                asked = (options.regime, device, farm, search, options.seconds, path)
                line = measured(problem, after, *asked)
                sink.write({"kind": "rate", "date": lines.now()} | line | {"ready_seconds": ready})
                console.print(_short(line), markup=False, soft_wrap=True)
            farm.close()


def _short(line: lines.Line) -> str:
    """A line for people."""
    return (
        f"{line['problem']}, {line['search']}: {line['devices']} devices, {line['configs_per_s']:.1f} "
        "configs/s, "
        f"{line['devices_wait']:.1%} of the time waited, {line['compiling']:.1f} of {line['compilers']} "
        f"compilers work, {line['own_ms']:.1f} ms of the tuner a try; again {line['again_seconds']:.3f} s, "
        f"in a fresh process {line['again_process_seconds']:.2f} s"
    )


if __name__ == "__main__":
    main()
