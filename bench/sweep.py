"""The sweep, the selection and their shapes on a GPU, after Kurzak, Tomov and Dongarra (2012), sections
7 and 9: every config that the rules leave is compiled, checked and timed, and the best of each type and
transposition is timed in turns with cuBLAS.

    python -m bench.sweep sweep   --types sdcz --trans nn,nt,tn,tt --plot sweep.html   figure 8, table 2
    python -m bench.sweep sizes   --types sdcz --plot sizes.html                       figure 9
    python -m bench.sweep updates --types sdcz --ks 32,64,128                          section 9, short k
    python -m bench.sweep small   --types s --sizes 256,512,1024,2048                  section 9, small

The nine sizes of the paper are swept; what later devices add (``HELD``) is held at one value, and then
freed for a climb from the best. Tries are kept in the records file: the same command goes on from there.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from rich.console import Console

from bench import lines
from bench.pruning import Listed
from tilewright.catalog import TARGETS
from tilewright.errors import ArgumentError
from tilewright.model import DTYPES, Config, Device, Problem, Record
from tilewright.planning import dispatch
from tilewright.space import Space
from tilewright.store.records import Records
from tilewright.tuning import timing
from tilewright.tuning.results import Result
from tilewright.tuning.timing import speed
from tilewright.tuning.tuner import Tuner

STENCIL = "classic"
ORDERS = {"s": 6144, "d": 4096, "c": 4096, "z": 3072}
HELD = {
    "read": "global",
    "lanes": 8,
    "buffers": 2,
    "order": 2,
    "split": 1,
    "early": 0,
    "min_blocks": 1,
}
SHORT = ("m_dim", "n_dim", "m_dima", "n_dima", "m_dimb", "n_dimb")


def held(mma: int) -> Callable[[Space], Space]:
    """The space of the paper's nine sizes, on multiply-add units or on tensor cores."""
    return lambda space: space.restricted(**HELD, mma=mma)


def whole(space: Space) -> Space:
    """The space as the stencil gives it."""
    return space


def tflops(record: Record | None) -> float | None:
    """10^12 operations a second of a record."""
    return None if record is None else record.problem.flops * speed(record) * 1e-12


def said(kind: str, result: Result, stage: str) -> lines.Line:
    """What is kept of one tuning."""
    best, vendor = result.best, result.vendor
    line: lines.Line = {
        "kind": kind,
        "stage": stage,
        "problem": result.problem.spelling,
        "beta": result.problem.beta,
        "regime": result.regime,
        "tried": result.tried,
        "statuses": result.statuses,
        "seconds": round(result.seconds, 2),
        "device_seconds": round(result.device_seconds, 2),
        "waited": round(result.waited, 2),
        "config": dict(best.config) if best else None,
        "tflops": tflops(best),
        "cublas_tflops": tflops(vendor),
        "missing": result.missing,
        "clocks": best.clocks if best else "",
    }
    if best and vendor and best.timing and vendor.timing and best.protocol >= timing.INTERLEAVED:
        line["against_cublas"], line["low"], line["high"] = timing.ratio(vendor.timing, best.timing)
    return line


def tries(problem: Problem, regime: str, device: Device, records: Records, stage: str) -> lines.Line:
    """Every try of a problem, as rows of values: the sweep as figure 8 draws it."""
    rows = records.all(problem_key=problem.key, regime=regime, device=device.key)
    rows = [row for row in rows if row.stencil == STENCIL and row.protocol == timing.ALONE]
    names = list(rows[0].config) if rows else []
    return {
        "kind": "tries",
        "stage": stage,
        "problem": problem.spelling,
        "beta": problem.beta,
        "names": [*names, "status", "tflops"],
        "rows": [
            [*(row.config.get(name) for name in names), row.status, tflops(row) if row.timing else None]
            for row in rows
        ],
    }


def shown(line: lines.Line) -> str:
    """A line of a table: tile, thread shapes, speed, cuBLAS."""
    c = line["config"]
    if c is None:
        return f"{line['problem']:28} nothing right was found"
    threads = " ".join(f"{c[a]}x{c[b]}" for a, b in zip(SHORT[::2], SHORT[1::2], strict=True))
    rest = " ".join(f"{name}={value}" for name, value in c.items() if name not in SHORT and "blk" not in name)
    ratio = f"{line['against_cublas']:.3f}" if "against_cublas" in line else "-"
    vendor = f"{line['cublas_tflops']:.2f}" if line["cublas_tflops"] else "-"
    return (
        f"{line['problem']:28} {line['stage']:6} {c['m_blk']}x{c['n_blk']}x{c['k_blk']:<3} {threads:24} "
        f"{line['tflops']:6.2f} of {vendor:>6} {ratio:>6}  {line['tried']} tried, waited "
        f"{line['waited']:.0f} of {line['seconds']:.0f} s  {rest}"
    )


def best_of(path: Path, problem: Problem, count: int) -> list[Config]:
    """The fastest configs that a file holds of a problem, whatever its batch. Lines without a layout are
    of packed matrices."""
    name = problem.spelling.partition("@")[0]
    rows = [
        (row[-1], Config(dict(zip(line["names"], row[:-2], strict=False))))
        for line in lines.read(path)
        if line["kind"] == "tries" and line["problem"].partition("@")[0] == name
        if line.get("beta", problem.beta) == problem.beta
        if line.get("layout", "packed") == problem.layout
        for row in line["rows"]
        if row[-1] is not None
    ]
    rows.sort(key=lambda row: -row[0])
    return list(dict.fromkeys(config for _, config in rows))[:count]


class Run:
    """One run, of a command or of several: the tuner, where lines go, and when a command has to end."""

    program = "sweep"
    """What the command's name follows in the lines of a run."""

    def __init__(self, options: argparse.Namespace, device: Device, console: Console):
        self.device, self.console = device, console
        self.records = Records(options.records)
        self.begin(options)

    def begin(self, options: argparse.Namespace) -> None:
        """Begin a command: its lines go where it says, its seconds run from now."""
        self.options = options
        self.end = time.monotonic() + options.limit
        self.sink = lines.Sink(options.out, f"{self.program} {options.command}", self.device, vars(options))

    def __enter__(self) -> Self:
        self.tuner = Tuner(self.device, self.records)
        return self

    def __exit__(self, *_: object) -> None:
        self.tuner.__exit__()
        self.records.close()


def tuned(
    run: Run, problem: Problem, stages: Sequence[tuple[str, str, float, Callable[[Space], Space]]]
) -> None:
    """Go through stages of (name, search, seconds, space) for one problem, a line for each."""
    given, regime = run.options, dispatch.regime(problem, run.device)
    if given.seeds:
        seeds = best_of(given.seeds, problem, given.top)
        stages = [("seeds", "exhaustive", float("inf"), lambda space: Listed(space, seeds))]
    for stage, search, budget, spaces in stages:
        left = run.end - time.monotonic()
        if left <= 0:
            run.console.print(f"{problem.spelling}: no time left for {stage}", style="yellow")
            return
        result = run.tuner.tune(
            problem,
            regime,
            search=search,
            budget=min(budget, left),
            stencils=[STENCIL],
            spaces=spaces,
            tolerate=given.tolerate,
        )
        line = said(given.command, result, stage)
        run.sink.write(line)
        if search != "climb" and not given.seeds:
            run.sink.write(tries(problem, regime, run.device, run.records, stage))
        run.console.print(shown(line), markup=False)


def sweep(run: Run) -> None:
    """Section 7: every type and transposition."""
    given = run.options
    for letter in given.types:
        n = given.order or ORDERS[letter]
        stages: list[Any] = [("fma", "exhaustive", float("inf"), held(0))]
        if letter in "dz" and "mma_f64_m16" in run.device.supports:
            stages.append(("tensor", "exhaustive", float("inf"), held(1)))
        if given.climb:
            stages.append(("all", "climb", given.climb, whole))
        for trans in lines.words(given.trans or "nn,nt,tn,tt"):
            tuned(run, Problem(DTYPES[letter], n, n, n, trans[0], trans[1]), stages)


# What is held for short k: C is the most of what is moved, so it is called early, and shared memory left
# to other blocks; for small squares: all but how tiles are shared.
SHORT_K = {"read": "global", "lanes": 8, "buffers": 1, "order": 2, "split": 1, "early": 1}
SQUARES = {"read": "global", "lanes": 8, "buffers": 2, "order": 2, "early": 0, "min_blocks": 1}


def updates(run: Run) -> None:
    """Section 9: C = C - A B with a short k, as in a right-looking LU factorisation."""
    n = run.options.order or 8192
    for letter in run.options.types:
        for k in lines.numbers(run.options.ks):
            problem = Problem(DTYPES[letter], n, n, k, "n", "n", alpha="any", beta="1")
            unit = int(letter in "dz" and "mma_f64_m16" in run.device.supports)
            stages: list[Any] = [
                (
                    "held",
                    "sample",
                    run.options.budget,
                    lambda space, u=unit: space.restricted(**SHORT_K, mma=u),
                )
            ]
            if run.options.climb:
                stages.append(("all", "climb", run.options.climb, whole))
            tuned(run, problem, stages)


def small(run: Run) -> None:
    """Section 9: squares where smaller tiles win."""
    for letter in run.options.types:
        for n in lines.numbers(run.options.sizes):
            unit = int(letter in "dz" and "mma_f64_m16" in run.device.supports)
            stages: list[Any] = [
                (
                    "held",
                    "sample",
                    run.options.budget,
                    lambda space, u=unit: space.restricted(**SQUARES, mma=u),
                )
            ]
            if run.options.climb:
                stages.append(("all", "climb", run.options.climb, whole))
            tuned(run, Problem(DTYPES[letter], n, n, n), stages)


def sizes(run: Run) -> None:
    """Figure 9: what dispatch chooses, over all sizes, in turns with cuBLAS."""
    device, given = run.device, run.options
    for letter in given.types:
        for trans, n in itertools.product(lines.words(given.trans or "nn"), lines.numbers(given.sizes)):
            problem = Problem(DTYPES[letter], n, n, n, trans[0], trans[1])
            regime = dispatch.regime(problem, device)
            plan = dispatch.plan(problem, device, vendor=False)
            if plan.stencil is None or plan.config is None:
                continue
            outcome, vendor = run.tuner.compared(problem, regime, plan.stencil, plan.config)
            line: lines.Line = {"kind": "sizes", "problem": problem.spelling, "origin": plan.origin}
            line |= {"stencil": plan.stencil, "config": dict(plan.config), "regime": regime}
            line |= {"tflops": tflops(outcome), "cublas_tflops": tflops(vendor)}
            if outcome and vendor and outcome.timing and vendor.timing:
                line["against_cublas"], line["low"], line["high"] = timing.ratio(
                    vendor.timing, outcome.timing
                )
            run.sink.write(line)
            ratio = f"{line['against_cublas']:.3f}" if "against_cublas" in line else "-"
            run.console.print(
                f"{problem.spelling:24} {plan.origin:8} {line['tflops'] or 0:6.2f} of "
                f"{line['cublas_tflops'] or 0:6.2f} {ratio}",
                markup=False,
            )


COMMANDS = {"sweep": sweep, "sizes": sizes, "updates": updates, "small": small}


def plot(path: Path, command: str, found: Sequence[lines.Line]) -> None:
    """Figure 8 (tries in the order of the space, cuBLAS as a line) or 9 (speed over the order)."""
    from plotly import graph_objects
    from plotly.subplots import make_subplots

    if command == "sizes":
        figure = graph_objects.Figure()
        for letter in dict.fromkeys(line["problem"][0] for line in found):
            of_type = [line for line in found if line["problem"][0] == letter]
            orders = [int(line["problem"].split(":")[2].split("x")[0]) for line in of_type]
            for name, key in (("ours", "tflops"), ("cuBLAS", "cublas_tflops")):
                figure.add_scatter(x=orders, y=[line[key] for line in of_type], name=f"{letter} {name}")
        figure.update_layout(xaxis_title="order", yaxis_title="TFLOP/s")
    else:
        shown_tries = [line for line in found if line["kind"] == "tries"]
        titles = [f"{line['problem']} {line['stage']}" for line in shown_tries]
        figure = make_subplots(rows=max(1, len(titles)), cols=1, subplot_titles=titles)
        for row, line in enumerate(shown_tries, 1):
            speeds = [values[-1] for values in line["rows"] if values[-1] is not None]
            figure.add_scatter(y=speeds, mode="markers", marker={"size": 3}, row=row, col=1)
            best = [x for x in found if x["kind"] != "tries" and x["problem"] == line["problem"]]
            vendor = next((x["cublas_tflops"] for x in best if x.get("cublas_tflops")), None)
            if vendor:
                figure.add_hline(y=vendor, row=row, col=1)
        figure.update_layout(height=260 * max(1, len(titles)), showlegend=False, yaxis_title="TFLOP/s")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.write_html(path, include_plotlyjs="cdn")


def main() -> None:
    """Run one of the commands, or draw what one has written."""
    options = _arguments()
    console = lines.console()
    if options.draw:
        plot(options.plot, options.command, [x for x in lines.read(options.draw) if x["kind"] != "run"])
        console.print(f"plot: {options.plot}")
        return
    lines.demand_gpu()
    device: Device = TARGETS["cuda"].probe()
    with Run(options, device, console) as run:
        COMMANDS[options.command](run)
    if options.plot and options.out:
        plot(options.plot, options.command, [x for x in lines.read(options.out) if x["kind"] != "run"])
        console.print(f"plot: {options.plot}")


def _arguments() -> argparse.Namespace:
    parser = lines.parser("bench.sweep", __doc__)
    add = parser.add_argument
    add("command", choices=list(COMMANDS))
    add("--types", type=lines.letters, default=list("sdcz"), help="default: sdcz")
    add("--trans", default="", help="transpositions, with commas (default: nn,nt,tn,tt; sizes: nn)")
    add(
        "--order",
        type=int,
        default=0,
        help="of the matrices (default: s 6144, d and c 4096, z 3072; updates 8192)",
    )
    add("--sizes", default="256,512,1024,2048", help=f"{lines.SIZES} (small and sizes)")
    add("--ks", default="32,64,128", help="of updates (default: 32,64,128)")
    add("--budget", type=float, default=20.0, help="seconds for a problem (updates, small; default: 20)")
    add("--climb", type=float, default=0.0, help="seconds of a climb through the whole space")
    add("--tolerate", type=int, default=0, help="bytes that a kernel may spill (default: 0)")
    add("--limit", type=float, default=float("inf"), help="seconds for all")
    add("--seeds", type=Path, help="try only the best of what this file holds of each problem")
    add("--top", type=int, default=10, help="so many of them (default: 10)")
    add("--records", type=Path, help="SQLite file of the tries (default: the user's)")
    add("--plot", type=Path, help="an HTML page")
    add("--draw", type=Path, help="measure nothing: draw what this file holds")
    add("--out", type=Path, help="lines of JSON are added to this file")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except ArgumentError as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit("stopped; what was tried is kept") from None
