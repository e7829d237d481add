"""The command: both checkouts through all cases, a line of JSON a case, and a summary of the ratios."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from bench import lines, versions
from bench.versions import cases
from bench.versions.cases import Case
from tilewright.catalog import TARGETS

HERE = Path(__file__).resolve().parents[2]


class Side:
    """One checkout's worker, with a home of its own so that nobody's records are read."""

    def __init__(self, tree: Path, home: str, one_core: bool):
        paths = os.pathsep.join(filter(None, (str(tree), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": paths, "TILEWRIGHT_HOME": home}
        worker = Path(__file__).with_name("worker.py")
        command = [sys.executable, "-P", str(worker), *(["--one-core"] if one_core else [])]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tree
        )

    def __enter__(self) -> Side:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()

    def ask(self, action: str, **arguments: Any) -> dict[str, Any]:
        """The reply to one request."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({action: arguments}) + "\n")
        self.process.stdin.flush()
        reply: dict[str, Any] = json.loads(self.process.stdout.readline() or '{"error": "the worker ended"}')
        return reply


def compared(case: Case, sides: dict[str, Side], rounds: int) -> dict[str, Any]:
    """Microseconds of one call on each side, and how many times as fast the first one is."""
    line: dict[str, Any] = {"case": case.to_json()}
    for name, side in sides.items():
        reply = side.ask("prepare", **case.to_json())
        if "error" in reply:
            return line | {"error": {name: reply["error"]}}
    samples: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds):
        # Who comes first changes from round to round: the second finds warmer clocks.
        for name in list(sides)[:: 1 if number % 2 == 0 else -1]:
            reply = sides[name].ask("sample")
            if "error" in reply:
                return line | {"error": {name: reply["error"]}}
            samples[name].append(reply["seconds"])
    line["us"] = {name: round(1e6 * statistics.median(taken), 3) for name, taken in samples.items()}
    ratios = [other / ours for ours, other in zip(*samples.values(), strict=True)]
    return line | {"times_as_fast": round(statistics.median(ratios), 4), "worst": round(min(ratios), 4)}


def said(case: Case, line: dict[str, Any]) -> str:
    """A case and what came of it in one row."""
    what = (
        f"{case.device} {case.kind:8} {case.dtype:10} {case.m}x{case.n}x{case.k}@{case.batch}+{case.offset}"
    )
    if "error" in line:
        return f"{what:56} {line['error']}"
    return f"{what:56} {line['us']['ours']:12.2f} us, {line['times_as_fast']:.3f} times as fast"


def wanted(given: argparse.Namespace) -> list[Case]:
    """The cases that the options name."""
    sizes = tuple(lines.numbers(given.sizes))
    if given.set == "cpu":
        return list(cases.cpu(sizes, given.types or "sd"))
    if given.set == "gpu":
        return list(cases.gpu(sizes, given.types or "sd"))
    return list(cases.shapes(given.count, given.types or "hbsdcz"))


def main() -> None:
    """Time all cases on both sides."""
    parser = argparse.ArgumentParser(prog="bench.versions", description=versions.__doc__.splitlines()[0])
    parser.add_argument("--other", type=Path, required=True, help="the checkout to compare with")
    parser.add_argument("--set", choices=("cpu", "gpu", "shapes"), default="cpu")
    parser.add_argument("--sizes", default="3,8,9,13,16,17,24,32")
    parser.add_argument("--types", default="")
    parser.add_argument("--count", type=int, default=60, help="shapes of the set of that name")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--one-core", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    screen = lines.console()
    device = TARGETS["cpu" if given.set == "cpu" else "cuda"].probe()
    sink = lines.Sink(given.out, "versions", device, vars(given))
    with tempfile.TemporaryDirectory() as homes:
        ours = Side(HERE, f"{homes}/ours", given.one_core)
        other = Side(given.other.resolve(), f"{homes}/other", given.one_core)
        ratios: dict[str, list[float]] = {}
        with ours, other:
            for case in wanted(given):
                line = compared(case, {"ours": ours, "other": other}, given.rounds)
                sink.write(line)
                screen.print(said(case, line))
                if "times_as_fast" in line:
                    ratios.setdefault(case.kind, []).append(line["times_as_fast"])
    for kind, found in ratios.items():
        mean = statistics.geometric_mean(found)
        screen.print(f"{kind}: {mean:.3f} times as fast in the geometric mean, {min(found):.3f} at worst")


if __name__ == "__main__":
    main()
