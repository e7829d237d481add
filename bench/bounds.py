"""Our speed in percent of the bound, on one core: ``python -m bench.bounds --types sd --sizes 1..32``.

The bound is measured in the same run: bandwidths and peaks before the first problem, after every
``--every`` problems, and after the last. A problem's ceilings are the means of those before and after it;
where the two differ by more than a tenth the line is marked ``~``; ``busy`` are the cores that other
programs used. The kernel is the one that a call would use (rung and records as in ``tilewright explain``),
timed on the operands of the tuner, without Python's call in it.

regime  beta  bound                                                            column
memory  1     A, B, C read, C written, over the bandwidth of ``update``        of bound
memory  0     A, B read, C streamed, over the bandwidth of ``stream``          of bound
memory  0     the paper's n beta/16 (for d): C moved twice, ``update``         of paper's
cached  any   the peak, less the lanes idle in columns cut by the price unit   of bound
cached  any   the peak: what a kernel with vectors across columns could reach  of peak

Where computing takes longer than moving, the memory bound is the peak as well (``limit``). What is below
``--floor`` percent is measured once more at the end, and the later figure counts: a disturbance rarely
strikes twice, a slow kernel does.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from rich.table import Table

from bench import kernels, lines, machine
from tilewright.catalog import TARGETS
from tilewright.errors import TilewrightError
from tilewright.model import Device, Problem
from tilewright.planning import dispatch, roofline
from tilewright.tuning import ceilings_cpu
from tilewright.tuning import timing as measure

DRIFT = 0.1
Ceilings = dict[str, float]
Case = tuple[Problem, str]


def ceilings(device: Device, rounds: int) -> Ceilings:
    """Bandwidths (bytes/s) and peaks (flop/s) of one core, now."""
    target = TARGETS[device.kind]
    return ceilings_cpu.peaks(target, device, 1, rounds) | ceilings_cpu.bandwidths(target, device, 1, rounds)


def between(before: Ceilings, after: Ceilings) -> Ceilings:
    """The mean of two measurements; the unit of price, which is no speed, is the first one's."""
    mean = {name: (before[name] + after[name]) / 2 for name in before}
    return mean | {"price_unit_bits": before["price_unit_bits"]}


def timed(problem: Problem, regime: str, device: Device, budget: float) -> lines.Line:
    """The kernel that a call would use, and its speed."""
    stand = kernels.Stand(problem, regime, device)
    plan = dispatch.plan(stand.problem, device, cores=1, vendor=False)
    assert plan.stencil is not None
    assert plan.config is not None
    run = stand.run(stand.kernel(plan.stencil, plan.config))
    timing = measure.measure(run, regime=regime, batch=stand.batch, budget=budget, least=7)
    work = problem.flops * timing.batch / 1e9
    return {
        "batch": stand.problem.batch,
        "gflops": work / timing.median,
        "gflops_low": work / timing.high,
        "gflops_high": work / timing.low,
        "origin": plan.origin,
        "stencil": plan.stencil,
        "config": dict(plan.config),
        "samples": len(timing.samples),
    }


def compared(line: lines.Line, case: Case, device: Device, before: Ceilings, after: Ceilings) -> lines.Line:
    """The line with its bounds in GF/s, and in percent what was reached of them."""
    problem, regime = case
    here = replace(device, ceilings=between(before, after))
    own = roofline.bound(problem, here, regime, 1, streaming=problem.beta == "0")
    line |= {"bound_gflops": own.flops_per_s / 1e9, "limit": own.limit, "formula": own.formula}
    line["percent"] = 100 * line["gflops"] / line["bound_gflops"]
    if regime == "memory":
        paper = roofline.bound(problem, here, regime, 1).flops_per_s / 1e9
        line |= {"paper_gflops": paper, "percent_of_paper": 100 * line["gflops"] / paper}
    else:
        peak = here.ceilings[f"peak.{problem.dtype.letter}.1"] / 1e9
        line |= {"peak_gflops": peak, "percent_of_peak": 100 * line["gflops"] / peak}
    name = own.limit + ".1" if own.limit.startswith("bandwidth") else f"peak.{problem.dtype.letter}.1"
    drift = abs(after[name] / before[name] - 1)
    return line | {"ceiling": name, "before": before[name], "after": after[name], "steady": drift <= DRIFT}


def measured(cases: Sequence[Case], device: Device, options: argparse.Namespace) -> Iterator[lines.Line]:
    """A line for each case, the ceilings measured again around every few of them."""
    if not cases:
        return
    before = ceilings(device, options.rounds)
    for first in range(0, len(cases), options.every):
        block: list[tuple[Case, lines.Line]] = []
        for problem, regime in cases[first : first + options.every]:
            names: lines.Line = {
                "kind": "speed",
                "type": problem.dtype.letter,
                "n": problem.n,
                "beta": problem.beta,
            }
            names |= {"regime": regime, "date": lines.now()}
            try:
                others = round(machine.busy_cores(), 2)
                line = names | {"busy_cores": others} | timed(problem, regime, device, options.budget)
                block.append(((problem, regime), line))
            except TilewrightError as error:
                yield names | {"why": str(error)}
        after = ceilings(device, options.rounds)
        yield {"kind": "ceilings", "date": lines.now(), "ceilings": after}
        for case, line in block:
            yield compared(line, case, device, before, after)
        before = after


def table(found: Sequence[lines.Line], floor: float) -> Table:
    """One group: each size with its percentages; below the floor in red."""
    drawn = Table(title_justify="left")
    other = "peak" if any("percent_of_peak" in line for line in found) else "paper"
    for name in (
        "n",
        "GF/s",
        "bound",
        "% of bound",
        "% of peak" if other == "peak" else "% of paper's",
        "limit",
        "",
        "busy",
        "kernel",
    ):
        drawn.add_column(name, justify="right" if name not in ("limit", "kernel") else "left")
    for line in found:
        if "why" in line:
            drawn.add_row(str(line["n"]), *[""] * 7, line["why"])
            continue
        percent = f"{line['percent']:.0f}"
        drawn.add_row(
            str(line["n"]),
            f"{line['gflops']:.1f}",
            f"{line['bound_gflops']:.1f}",
            f"[red]{percent} <[/red]" if line["percent"] < floor else percent,
            f"{line[f'percent_of_{other}']:.0f}",
            line["limit"].removeprefix("bandwidth."),
            "" if line["steady"] else "~",
            f"{line['busy_cores']:.1f}",
            f"{line['origin']} {line['stencil']}"
            + (f" {way}" if (way := line["config"].get("store", "plain")) != "plain" else ""),
        )
    return drawn


def main() -> None:
    """Measure what the command line asks for."""
    options = _arguments()
    console = lines.console()
    kernels.pin()
    device = dispatch.device()
    cases = [
        (lines.square(letter, n, beta), regime)
        for letter in lines.letters(options.types)
        for beta in lines.words(options.betas)
        for regime in lines.words(options.regimes)
        for n in lines.numbers(options.sizes)
    ]
    sink = lines.Sink(options.out, "bounds", device, vars(options))
    found: dict[Case, lines.Line] = {}

    def low() -> list[Case]:
        return [case for case, line in found.items() if line.get("percent", 100) < options.floor]

    try:
        with kernels.untuned() if options.untuned else nullcontext():
            for turn in range(2):
                for line in measured(low() if turn else cases, device, options):
                    sink.write(line | {"turn": turn})
                    if line["kind"] != "speed":
                        continue
                    found[lines.square(line["type"], line["n"], line["beta"]), line["regime"]] = line
                    if "percent" in line:
                        reached = f"{line['gflops']:.1f} GF/s, {line['percent']:.0f} % of the bound"
                        console.print(f"{_named(line)}{' again' * turn}: {reached}")
    except KeyboardInterrupt:
        console.print("stopped; what was measured is kept")
    groups: dict[str, list[lines.Line]] = {}
    for line in found.values():
        group = f"{line['type']}, beta {line['beta']}, {line['regime']}, one core"
        groups.setdefault(group, []).append(line)
    for title, group_lines in groups.items():
        drawn = table(group_lines, options.floor)
        percents = [line["percent"] for line in group_lines if "percent" in line]
        drawn.title = title + (f": median {statistics.median(percents):.0f} %" if percents else "")
        console.print(drawn)
    named = ", ".join(_named(found[case]) for case in low())
    console.print(f"below {options.floor:g} % of the bound: {len(low())}" + (f": {named}" if named else ""))


def _named(line: lines.Line) -> str:
    return f"{line['type']} n={line['n']} beta {line['beta']} {line['regime']}"


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.bounds", __doc__)
    add = parser.add_argument
    add("--types", default="sd", help="any of s, d, c, z (default: sd)")
    add("--sizes", default="1..32", help=f"{lines.SIZES} (default: 1..32)")
    add("--betas", default="0,1", help="beta classes (default: 0,1)")
    add("--regimes", default="memory,cached", help="default: memory,cached")
    add("--every", type=int, default=4, help="problems between two measurements of the bound (default: 4)")
    add("--rounds", type=int, default=5, help="passes of which a bandwidth is the median (default: 5)")
    add("--budget", type=float, default=0.4, help="seconds of timing for each problem (default: 0.4)")
    add("--floor", type=float, default=80.0, help="mark what is under this percentage (default: 80)")
    add("--untuned", action="store_true", help="as calls run without any record, also of those that ship")
    add("--out", type=Path, help="lines of JSON are added to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
