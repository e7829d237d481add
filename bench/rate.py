"""How many configs a second the tuner tries, how long devices wait meanwhile, and what a second run costs.

    python -m bench.rate s:nn:2048x2048x2048 d:8x8x8 --gpus 0 --gpus 0,1 --seconds 8 --out rate.jsonl

For each problem and each set of like GPUs (without ``--gpus``: for the processor) a fresh records file, a
search of so many seconds by random points, and the job again. The rate is of the search alone, from its first
record to its last; what devices do in it is checking and timing, the rest is counted as waiting. The second
run is what the same call costs once it is finished: its own time, and that of a fresh process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
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
    found = tuner.tune(problem, sys.argv[4], search="sample", budget=float(sys.argv[5]), again=False)
assert found.tried == 0 and found.best is not None
print(time.monotonic() - begin)
"""


def measured(spelling: str, regime: str, gpus: list[int], seconds: float, folder: Path) -> lines.Line:
    """One problem on some like devices; none chosen: on the processor."""
    (problem,) = Problem.parse(spelling)
    kind = "cuda" if gpus else "cpu"
    device = dispatch.device(kind, gpus[0] if gpus else 0)
    path = folder / "records.sqlite"
    records = Records(path, shipped=folder)
    seen: list[tuple[float, float]] = []
    with Tuner(device, records, numbers=gpus) as tuner:

        def listen(state: Progress) -> None:
            seen.append((time.monotonic(), tuner.benches.account.busy))

        tuner.listen = listen
        begin = time.monotonic()
        # All compilers are started by it, which is no part of a rate.
        options: dict[str, Any] = {"search": "sample", "budget": WARM}
        tuner.tune(problem, regime, seed=1, tries=2 * len(tuner.compilers), **options)
        ready, known = time.monotonic() - begin, len(records.all())
        seen.clear()
        options["budget"] = seconds
        result = tuner.tune(problem, regime, **options)
        begin = time.monotonic()
        tuner.tune(problem, regime, again=False, **options)
        same = time.monotonic() - begin
    tried = [row for row in records.all() if row.protocol == timing.ALONE]
    fresh = [row for row in records.all()[known:] if row.protocol == timing.ALONE]
    records.close()
    asked = [str(path), spelling, kind, regime, str(seconds)]
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", AGAIN, *asked], check=True, capture_output=True, text=True)
    process = time.monotonic() - begin
    (first, busy), (last, spent) = seen[0], seen[-1]
    devices = max(1, len(gpus))
    return {
        "problem": spelling,
        "regime": regime,
        "devices": devices,
        "compilers": len(tuner.compilers),
        "tried": len(fresh),
        "twice": len(tried) - len({(row.stencil, row.config) for row in tried}),
        "statuses": result.statuses,
        "configs_per_s": len(fresh) / (last - first),
        "devices_wait": 1 - (spent - busy) / ((last - first) * devices),
        "ready_seconds": ready,
        "again_seconds": same,
        "again_process_seconds": process,
    }


def _arguments() -> Any:
    parser = argparse.ArgumentParser(prog="bench.rate", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--gpus", action="append", default=[], help="numbers with commas, or all; repeatable")
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
    for spelling in options.problems:
        for gpus in sets:
            with tempfile.TemporaryDirectory() as folder:
                line = measured(spelling, options.regime, gpus, options.seconds, Path(folder))
            sink.write({"kind": "rate", "date": lines.now()} | line)
            console.print(
                f"{spelling}: {line['devices']} devices, {line['configs_per_s']:.1f} configs/s, devices wait "
                f"{line['devices_wait']:.1%}; again {line['again_seconds']:.3f} s, in a fresh process "
                f"{line['again_process_seconds']:.2f} s",
                markup=False,
            )


if __name__ == "__main__":
    main()
