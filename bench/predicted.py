"""What LLVM's scheduling models say of kernels: ``python -m bench.predicted shares|figures|error``.

No figure of ``shares`` and ``figures`` was measured: cycles are those of ``llvm-mca``, for data in the first
cache, counts are of what is executed (``bench.counted`` holds them against QEMU).

``shares``: defaults of squares on named processors: the share of the multiply-adds' rate that the innermost
loop reaches, and that the whole product does; the worst are named, and a table of all ends it. ``figures``:
figures 7 and 9 to 14 of Masliah et al. (2019) redone so: loads, stores and instructions of a product, and
flop/s of so many cores at an assumed clock, beside what the paper's bandwidth allows. ``error``: the same
predictions for this machine's processor beside what is measured on it, in cycles; it is to be run on a
machine that does nothing else.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, NamedTuple

from bench import lines, machine
from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import Device, Problem, Source
from tilewright.planning import dispatch
from tilewright.targets.cpu import cycles, llvm, named
from tilewright.tuning import predict
from tilewright.tuning.gemm.operands import operands
from tilewright.tuning.tasks import sized

PROCESSORS = (
    "cortex-a57,neoverse-n1,neoverse-n2-neon,neoverse-v1-neon,neoverse-v2-neon,neoverse-n2,neoverse-v1,neoverse-v2,"
    "a64fx,pwr8,pwr9,pwr10-vsx,pwr10,sifive-x280,sifive-p670"
)
"""Those of other architectures that LLVM has a model of, with all their instruction sets."""
SIZES = "8,16,24,32,7,9,15,17,23"
FULL, REST = 0.9, 0.8
"""Shares of the bound that innermost loops are to reach where vectors divide columns, and where not."""


UNEVEN, MISSED = "/", "*"
"""What the table marks: vectors that do not divide columns, and a goal that is missed."""

HASWELL, KNL = 2.3e9, 1.4e9
"""Clocks in Hz of a Xeon E5-2650 v3 and of a Xeon Phi 7250, by their names."""
SOCKET = 44e9
"""Bytes/s that all cores of one of the paper's Haswells read from the memory of their own socket."""


class Machine(NamedTuple):
    """A machine of the paper: the core whose model stands for it, cores, assumed clock in Hz, and the paper's
    bandwidth in bytes/s; None of a figure that counts alone. ``memory``: which of several memories that is.
    ``width``: instructions that the core takes in a cycle, by which cycles are counted where the model is of
    another core; 0 where the model says."""

    figure: str
    core: str
    cores: int
    clock: float | None
    bandwidth: float | None
    memory: str = ""
    width: int = 0


MACHINES = (
    Machine("7", "haswell", 10, None, None),
    # What the paper says of its bandwidth: one core reaches 18 GB/s, 6 reach 88 % of all and 8 reach 93 %.
    Machine("9a", "haswell", 1, HASWELL, 18e9),
    Machine("9a", "haswell", 6, HASWELL, 0.88 * SOCKET),
    Machine("9a", "haswell", 8, HASWELL, 0.93 * SOCKET),
    Machine("9a", "haswell", 10, HASWELL, SOCKET),
    # Two sockets: all matrices in the memory of one of them, and half of them in that of each.
    Machine("9b", "haswell", 20, HASWELL, SOCKET, "of one socket"),
    Machine("9b", "haswell", 20, HASWELL, 2 * SOCKET, "of both sockets"),
    Machine("10", "cascadelake", 1, None, None),
    Machine("12", "cascadelake", 68, KNL, 92e9, "DDR4", width=2),
    Machine("12", "cascadelake", 68, KNL, 420e9, "MCDRAM", width=2),
    Machine("13", "cortex-a57", 4, 1.73e9, 26e9),
    Machine("14", "pwr8", 10, 3.5e9, 85e9),
)
"""The paper names no clocks: these are of a Jetson TX1, of a POWER8 of 10 cores, and those that Intel states.
Of Knights Landing LLVM's model is that of another core: counts of figures 10 and 11 are those of any AVX-512,
and figure 12 goes by them, too, at the two instructions that the core takes in a cycle at most."""


def default(problem: Problem, device: Device) -> tuple[str, Any]:
    """The stencil and the config that an untuned call runs."""
    for stencil in STENCILS.values():
        if stencil.target == "cpu" and stencil.accepts(problem, device) is None:
            return stencil.name, stencil.default(problem, device)
    raise ValueError(f"no stencil accepts {problem.spelling}")


def foreseen(job: tuple[str, str, int]) -> dict[str, Any]:
    """The prediction for the default of a square on a named processor."""
    name, letter, n = job
    device = named.device(name)
    problem = Problem.parse(f"{letter}:{n}")[0].with_(batch=2)
    stencil, config = default(problem, device)
    found = predict.predicted(problem, device, stencil, config)
    row = {"processor": name, "problem": problem.with_(batch=1).spelling, "stencil": stencil}
    lanes = device["vector_bits"] // problem.dtype.sum_bits
    full = n * (2 if problem.dtype.is_complex else 1) % lanes == 0
    return row | asdict(found) | {"share": found.share, "full": full, "config": str(config)}


def shares(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A line for each processor, type and size, one for each processor with the worst, and a table."""
    every = list[dict[str, Any]]()
    for name in lines.words(given.processors):
        sizes = list(map(int, given.sizes.split(",")))
        jobs = [(name, letter, n) for letter in lines.letters(given.types) for n in sizes]
        rows = list(given.pool.map(foreseen, jobs))
        yield from ({"kind": "share"} | row for row in rows)
        every += rows
        for full, least in ((True, FULL), (False, REST)):
            some = [row for row in rows if row["full"] == full and row["stencil"] != "lanes"]
            if some:
                worst = min(some, key=lambda row: row["inner"])
                yield {
                    "kind": "worst",
                    "processor": name,
                    "full": full,
                    "goal": least,
                    "reached": sum(row["inner"] >= least for row in some),
                    "of": len(some),
                    "inner": worst["inner"],
                    "problem": worst["problem"],
                    "whole_median": median(row["share"] for row in some),
                }
    yield {"kind": "table", "lines": list(table(every, list(map(int, given.sizes.split(",")))))}


def cell(row: Mapping[str, Any]) -> str:
    """A share in per cent, marked as the table says."""
    missed = round(row["inner"], 2) < (FULL if row["full"] else REST)
    marks = (UNEVEN, not row["full"]), (MISSED, missed)
    return f"{100 * row['inner']:.0f}" + "".join(mark for mark, there in marks if there)


def table(rows: Sequence[Mapping[str, Any]], sizes: Sequence[int]) -> Iterator[str]:
    """Shares of the innermost loops as lines of text: a line for each processor and type, sizes side by
    side."""
    found: dict[tuple[str, str], dict[int, str]] = {}
    for row in rows:
        problem = Problem.parse(row["problem"])[0]
        found.setdefault((row["processor"], problem.dtype.letter), {})[problem.m] = cell(row)
    yield "| | | " + " | ".join(map(str, sizes)) + " |"
    yield "|---|---|" + "--:|" * len(sizes)
    for (processor, letter), cells in found.items():
        yield f"| {processor} | {letter} | " + " | ".join(cells.get(n, "") for n in sizes) + " |"


def figures(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A line for each machine of the paper and size: counts, cycles, and flop/s where the machine has a
    clock."""
    asked = [each for each in MACHINES if each.figure in lines.words(given.figures)]
    sizes = range(2, 33)
    jobs = [(core, "d", n) for core in dict.fromkeys(each.core for each in asked) for n in sizes]
    found = dict(zip(jobs, given.pool.map(foreseen, jobs), strict=True))
    for each in asked:
        for n in sizes:
            row = found[each.core, "d", n]
            line = {"kind": "figure", "figure": each.figure, "n": n, "predicted": True} | row
            if each.width:
                # Nothing of the other core's model is left, nor what is made of its cycles.
                line |= {
                    "cycles": row["instructions"] / each.width,
                    "bound": None,
                    "inner": None,
                    "share": None,
                }
            if each.clock is not None and each.bandwidth is not None:
                computed = each.cores * each.clock * 2 * n**3 / line["cycles"]
                memory = each.bandwidth * n / 16
                line |= {"cores": each.cores, "clock": each.clock, "in_cache": computed}
                line |= {"memory": each.memory, "width": each.width}
                line |= {"bound_of_memory": memory, "flops_per_s": min(computed, memory)}
            yield line


CHAIN, TURNS = 64, 4_000
"""Multiplications in a row of a turn of the code by which the clock is measured, and turns."""
SAMPLE = 500_000
"""Cycles of a sample: short enough to pass between two turns of other programs now and then."""


def clock_of(device: Device) -> Callable[[], float]:
    """A measurement of this core's clock, in Hz: a chain of multiplications, each of which waits for the one
    before, against the cycles that the model has for it."""
    body = [f"  %x{i + 1} = mul i64 %x{i}, %x{i}" for i in range(CHAIN)]
    text = "\n".join(
        [
            "define void @chain(ptr %A, ptr %B, ptr %C, i64 %a, i64 %b, i64 %c, i64 %n, ptr %s) {",
            "entry:\n  %first = load i64, ptr %A\n  br label %batch",
            "batch:\n  %batch.i = phi i64 [ 0, %entry ], [ %next, %batch ]",
            f"  %x0 = phi i64 [ %first, %entry ], [ %x{CHAIN}, %batch ]",
            *body,
            "  %next = add i64 %batch.i, 1\n  %more = icmp slt i64 %next, %n",
            "  br i1 %more, label %batch, label %done",
            f"done:\n  store i64 %x{CHAIN}, ptr %A\n  ret void\n}}",
        ]
    )
    kernel = llvm.load(llvm.compile(Source(text, "chain"), device))
    call = llvm.PROTOTYPE(kernel.address)
    needed = cycles.cycles(["\timulq\t%rax, %rax"] * CHAIN, device)
    made = operands(Problem.parse("d:8x8x8@2")[0], 1)

    def measured() -> float:
        begin = time.perf_counter()
        call(*made.arguments[:6], TURNS, made.arguments[7])
        return TURNS * needed / (time.perf_counter() - begin)

    measured.kernel = kernel  # type: ignore[attr-defined]  # the code lives as long as its owner
    return measured


def error(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A line for each type and size of this machine: cycles of a product measured and predicted, and a line
    with the ratio over all. Other programs only ever add time, so that the shortest sample counts, at the
    fastest clock."""
    here = dispatch.device()
    hertz, ratios = clock_of(here), list[float]()
    for letter in lines.letters(given.types):
        for n in range(2, 33):
            problem = sized(Problem.parse(f"{letter}:{n}")[0], "cached", here)
            # Half of the first cache, in place of half of the second one.
            problem = problem.with_(batch=max(1, problem.batch * here["l1d"] // here["l2"]))
            stencil, config = default(problem, here)
            needed, _ = predict.simulated(problem, here, stencil, config)
            kernel = llvm.load(llvm.compile(STENCILS[stencil].source(problem, config, here), here))
            made = operands(problem, 1)
            passes = max(1, int(SAMPLE / (needed * problem.batch)))
            run = llvm.repeated(kernel, passes, made.arguments, here)
            seconds, clocks = [], []
            for _ in range(given.rounds):
                clocks.append(hertz())
                begin = time.perf_counter()
                run()
                seconds.append(time.perf_counter() - begin)
            measured = min(seconds) * max(clocks) / (passes * problem.batch)
            ratios.append(measured / needed)
            row = {"problem": problem.spelling, "stencil": stencil, "hertz": max(clocks)}
            row |= {"measured": measured, "predicted": needed, "ratio": ratios[-1]}
            yield {"kind": "error", "processor": here.key} | row
    away = sorted(abs(ratio - 1) for ratio in ratios)
    yield {
        "kind": "errors",
        "processor": here.key,
        "of": len(ratios),
        "others_use_cores": machine.busy_cores(),
        "mean": geometric_mean(ratios),
        "median_away": median(away),
        "nine_in_ten_within": away[int(0.9 * (len(away) - 1))],
    }


COMMANDS: Mapping[str, Callable[[argparse.Namespace], Iterator[dict[str, Any]]]] = {
    "shares": shares,
    "figures": figures,
    "error": error,
}


def main() -> None:
    """Predict what the command line asks for, a line of JSON for each."""
    parser = argparse.ArgumentParser(
        prog="bench.predicted", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=list(COMMANDS))
    parser.add_argument("--processors", default=PROCESSORS)
    parser.add_argument("--types", default="dszc")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--figures", default=",".join(dict.fromkeys(each.figure for each in MACHINES)))
    parser.add_argument("--rounds", type=int, default=100, help="samples of error: %(default)s")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.command == "error" and TARGETS["cpu"].probe().features.partition("/")[0] != "x86_64":
        sys.exit("bench.predicted error measures the clock by an instruction of x86")
    console = lines.console()
    options = {name: value for name, value in vars(given).items() if name != "pool"}
    sink = lines.Sink(given.out, f"predicted {given.command}", TARGETS["cpu"].probe(), options)
    with ProcessPoolExecutor(len(machine.cores())) as given.pool:
        for line in COMMANDS[given.command](given):
            sink.write(line | {"by": cycles.toolchain()})
            if line["kind"] == "table":
                # As it is, for a page that shows it.
                print(*line["lines"], sep="\n")
                continue
            plain = {name: value for name, value in line.items() if name not in ("kind", "config")}
            console.print(
                f"{line['kind']:7}"
                + " ".join(
                    f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                    for name, value in plain.items()
                )
            )


if __name__ == "__main__":
    main()
