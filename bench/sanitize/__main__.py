"""Every CUDA kernel under NVIDIA's compute-sanitizer: ``python -m bench.sanitize --tool racecheck``.

A child process launches the universal stencil in all its forms, the defaults of the other stencils and all
configs of the ladder on a small and odd product, each with scalars that read C and with such that do not;
further ``tiny`` for every n of 1 to 40 in all types and as streams of bytes, ``tensor`` for odd shapes of
16-bit types, ``grouped`` for lists of products of all sizes, and ``chain`` for chains of two and three
factors, most from bases that are aligned to one element only.
Operands fill their allocations to the last element (``panel`` and ``middle``: to whole words of 16 bytes), so
an access beyond them is seen by the tool; what is written between their columns, and wrong results, are seen
by the project's own checks. Under ``initcheck`` a C that is not to be read is not initialised either.

Each kernel is compiled under a name of its own, by which findings go to cases. Exit code: 0 nothing found,
1 findings or wrong results, 2 nothing could be run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import lines
from bench.sanitize import tool
from bench.sanitize.child import RIGHT, child, results
from bench.sanitize.job import Job
from bench.sanitize.jobs import jobs
from tilewright.targets.cuda import devices, nvrtc

SHOWN = 4
"""Findings of one kernel that are kept whole; the others are counted."""


def main() -> int:
    """Run the tool, say what it found, and keep it; the exit code."""
    given = _arguments()
    if given.child is not None:
        child(given.child, given.tool)
        return 0
    reason, sanitizer = devices.missing(), tool.find()
    if reason is not None:
        print(f"nothing can be launched: {reason}", file=sys.stderr)
        return 2
    if sanitizer is None:
        print(
            "compute-sanitizer is not on PATH, nor under CUDA_HOME; it comes with the CUDA toolkit",
            file=sys.stderr,
        )
        return 2
    device = devices.probe()
    asked = [job for job in jobs(device) if given.only in job.name]
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        binaries = pool.map(lambda job: nvrtc.compile(job.source, device), asked)
        work = list(zip(asked, binaries, strict=True))
    sink = lines.Sink(given.out, "sanitize", device, vars(given))
    code, log = tool.run(sanitizer, given.tool, work, given.patience)
    return report(sink, given.tool, asked, code, log)


def report(sink: lines.Sink, name: str, asked: Sequence[Job], code: int, log: str) -> int:
    """Say and keep what a tool found in all kernels, what in those of each stencil, and how many in all; 1
    where that is anything, else 0."""
    launched = results(log)
    names = [job.name for job in asked]
    wrong = [kernel for kernel in names if launched.get(kernel) != RIGHT]
    by_name: dict[str, list[list[str]]] = {}
    for finding in tool.findings(log):
        by_name.setdefault(tool.owner(finding, names), []).append(finding)
    for job in asked:
        mine = by_name.get(job.name, [])
        result = launched.get(job.name, "not launched")
        sink.write(
            {"kind": "kernel", "name": job.name, "problem": job.problem.key, "tool": name}
            | {"result": result, "findings": len(mine), "first": mine[:SHOWN]}
        )
        if mine or result != RIGHT:
            print(f"{job.name} ({job.problem.spelling}): {result}, {len(mine)} findings")
            for finding in mine[:SHOWN]:
                print("    " + "\n        ".join(finding[:6]))
    rest = by_name.get("", [])
    for finding in rest[:SHOWN]:
        print("of no kernel: " + "\n        ".join(finding[:6]))
    for stencil in dict.fromkeys(job.stencil for job in asked):
        these = [job.name for job in asked if job.stencil == stencil]
        here = sum(len(by_name.get(kernel, [])) for kernel in these)
        bad = sum(kernel in wrong for kernel in these)
        sink.write(
            {"kind": "stencil", "stencil": stencil, "tool": name, "kernels": len(these)}
            | {"launched": sum(kernel in launched for kernel in these), "wrong": bad, "findings": here}
        )
        print(f"{name} {stencil}: {len(these)} kernels, {here} findings, {bad} wrong or not launched")
    stated = tool.total(log)
    found = stated if stated is not None else sum(map(len, by_name.values()))
    summary = {"kind": "summary", "tool": name, "kernels": len(names), "wrong": len(wrong)}
    summary |= {"findings": found, "finished": stated is not None, "exit_code": code, "unnamed": rest[:SHOWN]}
    sink.write(summary | {"date": lines.now()})
    print(f"{name}: {len(names)} kernels, {found} findings, {len(wrong)} wrong or not launched")
    if stated is None or code not in (0, tool.FOUND):
        print(log[-2000:], file=sys.stderr)
    return int(bool(found or by_name or wrong or code))


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.sanitize", __doc__)
    parser.add_argument("--tool", choices=tool.TOOLS, default="memcheck")
    parser.add_argument("--only", default="", help="only kernels whose names contain this")
    parser.add_argument("--patience", type=float, default=540.0, help="seconds for all of it (default: 540)")
    parser.add_argument("--out", type=Path, help="lines of JSON are added to this file")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
