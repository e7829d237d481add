"""Which records of a processor are worth shipping: ``python -m bench.kept --out FILE``.

Every record that ships for this processor, and every winner in ``--records`` where one is named, is timed in
turns with what a call would run without any record, on one core. A line has each one's speed and its ratio to
that, the median within rounds with its interval.

``--settle FILE...`` writes the processor's records anew from such lines, ``--records`` beside them where the
lines are of one. Of a problem the record stays that is ``--gain`` times as fast as none in every one of the
files, of two the faster one in all together; where none is, none stays. One run is not enough: what a kernel
gained by chance it seldom gains twice. What the files lack stays as it is.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import tilewright
from bench import kernels, lines, machine
from tilewright.errors import TilewrightError
from tilewright.model import VENDOR, Config, Device, Problem, Record
from tilewright.planning import dispatch
from tilewright.store.jsonl import compact, encode
from tilewright.store.records import Records
from tilewright.tuning import timing

NOWHERE = Path("/nonexistent")
DEFAULT = "default"
Case = tuple[str, str]
"""The key of a problem, and a regime."""
Known = dict[Case, dict[str, Record]]
"""The records of each problem by where they are from: the package, or a file of tries."""


def known(device: Device, path: Path | None) -> Known:
    """All records of this processor that may ship, those of the package first."""
    found: Known = {}
    for record in Records().shipped(device.key):
        name = VENDOR if record.stencil == VENDOR else "shipped"
        found.setdefault((record.problem.key, record.regime), {})[name] = record
    if path is not None:
        tries = Records(path, shipped=NOWHERE)
        for key, regime in dict.fromkeys((r.problem.key, r.regime) for r in tries.all(device=device.key)):
            best = tries.best(key, regime, device.key, without=VENDOR)
            if best is not None and best.protocol >= timing.INTERLEAVED:
                found.setdefault((key, regime), {})["tuned"] = best
    return found


def timed(records: Mapping[str, Record], device: Device, options: argparse.Namespace) -> lines.Line:
    """One problem: each record in turns with the default. Raises ``TilewrightError`` where one cannot run."""
    first = next(iter(records.values()))
    stand = kernels.Stand(first.problem, first.regime, device)
    with kernels.untuned():
        plan = dispatch.plan(stand.problem, device, cores=1, vendor=False)
    assert plan.stencil is not None
    assert plan.config is not None
    pairs: dict[str, tuple[str, Config]] = {DEFAULT: (plan.stencil, plan.config)}
    pairs |= {name: (record.stencil, record.config) for name, record in records.items()}
    times = stand.in_turns(pairs, options.rounds, options.budget)
    line: lines.Line = {"batch": stand.problem.batch}
    for name, (stencil, config) in pairs.items():
        ratio, low, high = timing.ratio(times[DEFAULT], times[name])
        line[name] = {
            "stencil": stencil,
            "config": dict(config),
            "gflops": stand.gflops(times[name]),
            "ratio": ratio,
            "low": low,
            "high": high,
        }
    return line


def settled(held: Known, texts: Sequence[str], gain: float) -> list[Record]:
    """The records that stay, by lines of several runs, in the order of ``held``."""
    runs: dict[Case, list[lines.Line]] = {}
    for text in texts:
        for line in map(json.loads, filter(None, text.split("\n"))):
            if line["kind"] == "kept":
                runs.setdefault((line["problem"], line["regime"]), []).append(line)
    stay = []
    for case, records in held.items():
        stay += [records[VENDOR]] if VENDOR in records else []
        if case not in runs:
            stay += [records["shipped"]] if "shipped" in records else []
            continue
        found = {name: [line[name]["ratio"] for line in runs[case] if name in line] for name in records}
        good = {
            name: math.prod(ratios)
            for name, ratios in found.items()
            if len(ratios) == len(runs[case]) and min(ratios) >= gain
        }
        if good:
            stay.append(records[max(good, key=lambda name: good[name])])
    return stay


def shipped_file(device: Device) -> Path:
    """Where the package has the records of a device."""
    return Path(tilewright.__file__).parent / "store" / "data" / f"{device.key}.jsonl"


def cases(held: Known, options: argparse.Namespace) -> Iterator[tuple[Case, dict[str, Record]]]:
    """The problems that the command line asks for."""
    regimes = lines.words(options.regimes)
    for (key, regime), records in held.items():
        own = {name: record for name, record in records.items() if name != VENDOR}
        problem = next(iter(records.values())).problem
        if (
            own
            and regime in regimes
            and isinstance(problem, Problem)
            and problem.dtype.letter in options.types
        ):
            yield (key, regime), own


def main() -> None:
    """Measure, or settle."""
    options = _arguments()
    console = lines.console()
    device = dispatch.device()
    held = known(device, options.records)
    if options.settle:
        path = shipped_file(device)
        before = path.read_text().split("\n") if path.exists() else []
        others = [line for line in before if line and "problem" not in json.loads(line)]
        stay = settled(held, [file.read_text() for file in options.settle], options.gain)
        written = [compact(encode(record, samples=False)) for record in stay]
        path.write_text("".join(f"{line}\n" for line in [*others, *written]))
        console.print(f"{path}: {len(stay)} records of {len(held)} problems")
        return
    kernels.pin()
    sink = lines.Sink(options.out, "kept", device, vars(options))
    with suppress(KeyboardInterrupt):
        for (key, regime), records in cases(held, options):
            names: lines.Line = {"kind": "kept", "problem": key, "regime": regime, "date": lines.now()}
            names["busy_cores"] = round(machine.busy_cores(), 2)
            try:
                line = names | timed(records, device, options)
            except TilewrightError as error:
                sink.write(names | {"kind": "failed", "why": str(error)})
                continue
            sink.write(line)
            ratios = ", ".join(f"{name} {line[name]['ratio']:.3f}" for name in records)
            console.print(f"{key} {regime}: {line[DEFAULT]['gflops']:.1f} GF/s by default; {ratios}")


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.kept", __doc__)
    add = parser.add_argument
    add("--types", default="dscz", help="default: dscz")
    add("--regimes", default="memory,cached", help="default: memory,cached")
    add("--records", type=Path, help="SQLite file of tries (bench.shipped), whose winners are timed, too")
    add("--rounds", type=int, default=15, help="samples of each (default: 15)")
    add("--budget", type=float, default=0.5, help="seconds of timing for each problem (default: 0.5)")
    add("--settle", type=Path, nargs="+", help="files of lines, by which the records that ship are chosen")
    add(
        "--gain", type=float, default=1.0, help="of the default's speed, from which on one stays (default: 1)"
    )
    add("--out", type=Path, help="lines of JSON are added to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
