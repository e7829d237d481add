"""How large products are timed beside the vendor's library, for ``large``, ``pairs`` and ``unaligned``:
operands, kernels compiled ahead, bursts and sustained slices in turns, lines.

burst      ten products after the GPU has idled, in turns: clocks are high when it begins
sustained  slices of one second and the like, in turns, on a GPU that is hot: its power is the limit, and what
           counts beside speed are operations per joule, by the meter of the GPU
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from math import log2
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from bench import lines
from tilewright.model import Binary, Config, Device, Problem, Source
from tilewright.planning import dispatch, neighbours
from tilewright.runtime import launch
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import modules, nvrtc, timer

WRONG = {"h": 0.02, "b": 0.02, "d": 1e-12, "z": 1e-12, "s": 1e-4, "c": 1e-4}
"""Differences from cuBLAS, of its largest number, that no order of sums explains; those of ``h`` for all
others."""
CUBLAS = "cublas"
DEFAULT = "default"
CALLS = 10
"""Products of a burst."""
MOST = 14.0
"""Logarithm to the base 2 of the largest extent that is drawn."""
AHEAD = 2_000_000
"""Clocks that the GPU waits before a burst, while the host asks for all of it, which takes PyTorch longer."""
Run = Callable[[], object]


class Sample(NamedTuple):
    """What one turn of a run took: seconds of a product, clock and power at its end, and joules of a product
    where they were asked for and are told."""

    seconds: float
    clocks: str
    joules: float | None = None


Samples = dict[str, list[Sample]]
"""By run: what each turn took."""


class Way(NamedTuple):
    """A kernel for a product: its stencil, config and code."""

    stencil: Stencil
    config: Config
    binary: Binary


class Case:
    """One product with its operands in memory, by PyTorch and by configs. Column-major as BLAS has it: what
    PyTorch calls x @ y is the product with operands swapped. What lies between columns is NaN."""

    def __init__(self, torch: Any, p: Problem, ways: Mapping[str, Way]):
        self.problem = p
        self.runs: dict[str, Run] = {}
        self.differs: dict[str, float] = {}
        kind = getattr(torch, p.dtype.name)
        torch.backends.cuda.matmul.allow_tf32 = p.math == "tf32"

        def made(shape: tuple[int, int], leading: int | None) -> Any:
            rows, columns = shape
            stored = torch.full((columns, leading or rows), torch.nan, device="cuda", dtype=kind)
            view = stored[:, stored.shape[1] - rows :]
            return view.copy_(torch.randn(columns, rows, device="cuda", dtype=kind))

        shape_a, shape_b, shape_c = p.stored
        a, b = made(shape_a, p.lda), made(shape_b, p.ldb)
        left, right = seen(b, p.trans_b), seen(a, p.trans_a)
        want, out = made(shape_c, p.ldc), made(shape_c, p.ldc)
        self.runs[CUBLAS] = lambda: torch.mm(left, right, out=want)
        self.runs[CUBLAS]()
        self.add(torch, ways, (a, b, out), want)

    def add(self, torch: Any, ways: Mapping[str, Way], operands: tuple[Any, Any, Any], want: Any) -> None:
        """The kernels as runs, and how far each is from what is wanted."""
        out, stream = operands[-1], torch.cuda.current_stream().cuda_stream
        a, b, c = (operand.data_ptr() for operand in operands)
        for name, (stencil, config, binary) in ways.items():
            out.zero_()
            bound = launch.bind(stencil, modules.load(binary), self.problem, config, (1, 0), (a, b, c))
            bound(stream)
            self.differs[name] = apart(out, want)
            self.runs[name] = partial(bound, stream)


def seen(x: Any, trans: str) -> Any:
    """A stored operand as it enters the product, without a copy."""
    x = x.t() if trans in "tc" else x
    return x.conj() if trans in "cj" else x


def apart(out: Any, want: Any) -> float:
    """The largest difference, of the largest number that is wanted."""
    return float((out - want).abs().max() / want.abs().max())


class Clock:
    """Two events of the GPU around repeated calls."""

    def __init__(self, torch: Any):
        self.torch = torch
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def seconds(self, run: Run, calls: int) -> float:
        """Seconds of one of so many calls."""
        self.torch.cuda._sleep(AHEAD)
        self.start.record()
        for _ in range(calls):
            run()
        self.stop.record()
        self.stop.synchronize()
        return float(1e-3 * self.start.elapsed_time(self.stop) / calls)


def ordered(case: Case, turn: int) -> list[tuple[str, Run]]:
    """The runs of a case in the order of a turn: each is behind another one in the next turn."""
    runs = list(case.runs.items())
    return random.Random(turn).sample(runs, len(runs))


def bursts(torch: Any, case: Case, rounds: int, idle: float) -> Samples:
    """Each run in turns, each after the GPU has idled."""
    clock = Clock(torch)
    samples: Samples = {name: [] for name in case.runs}
    for turn in range(rounds):
        for name, run in ordered(case, turn):
            torch.cuda.synchronize()
            time.sleep(idle)
            samples[name].append(Sample(clock.seconds(run, CALLS), timer.clocks()))
    return samples


def sustained(torch: Any, case: Case, rounds: int, slice_: float) -> Samples:
    """The same in slices of so many seconds, one directly behind the other; the first round only heats."""
    clock = Clock(torch)
    once = clock.seconds(case.runs[CUBLAS], CALLS)
    calls = max(1, round(slice_ / once))
    samples: Samples = {name: [] for name in case.runs}
    for turn in range(rounds + 1):
        for name, run in ordered(case, turn):
            # The power meter is some 0.1 s behind, so it is asked while the last products run; that of energy
            # is asked where nothing runs.
            before = timer.energy()
            clock.start.record()
            for _ in range(calls):
                run()
            clock.stop.record()
            time.sleep(max(0.0, 0.9 * calls * once))
            said = timer.clocks()
            clock.stop.synchronize()
            after = timer.energy()
            if turn:
                taken = 1e-3 * clock.start.elapsed_time(clock.stop) / calls
                drawn = None if before is None or after is None else (after - before) / calls
                samples[name].append(Sample(taken, said, drawn))
    return samples


def line_of(case: Case, way: str, samples: Samples) -> lines.Line:
    """What a case is kept as."""
    p = case.problem
    line: lines.Line = {"kind": "large", "problem": p.spelling, "math": p.math, "way": way}
    line |= {"date": lines.now(), "layout": p.layout}
    theirs = [each.seconds for each in samples[CUBLAS]]
    for name, taken in samples.items():
        each = [sample.seconds for sample in taken]
        joules = [sample.joules for sample in taken if sample.joules]
        ratios = [their / ours for their, ours in zip(theirs, each, strict=True)]
        line[name] = {
            "tflops": round(p.flops / statistics.median(each) * 1e-12, 1),
            "ratio": round(statistics.median(ratios), 4),
            "least": round(min(ratios), 4),
            "most": round(max(ratios), 4),
            "clocks": [sample.clocks for sample in taken],
        }
        if name in case.differs:
            line[name]["differs"] = case.differs[name]
        if joules:
            line[name]["tflops_per_watt"] = round(p.flops / statistics.median(joules) * 1e-12, 4)
    return line


def spoken(line: lines.Line, p: Problem, stencil: Stencil, device: Device) -> lines.Line:
    """What ``bench.classes`` goes by of a line for which the default was timed."""
    about = {"stencil": neighbours.part(stencil.name, p), "origin": "default"}
    return about | {
        "against_cublas": line[DEFAULT]["ratio"],
        "beta": p.beta,
        "regime": dispatch.regime(p, device),
    }


def shown(line: lines.Line) -> str:
    """A line of the screen."""
    layout = "" if line["layout"] == "packed" else f"{line['layout']:24} "
    parts = [f"{layout}{line['problem']:22} {line['way']:9} cublas {line[CUBLAS]['tflops']:.1f}"]
    limit = WRONG["h" if line["math"] == "tf32" else line["problem"][0]]
    for name, each in line.items():
        if isinstance(each, dict) and name != CUBLAS:
            wrong = "" if each["differs"] < limit else f" WRONG {each['differs']:.2g}"
            energy, theirs = each.get("tflops_per_watt"), line[CUBLAS].get("tflops_per_watt")
            per_watt = f" ({energy / theirs:.3f} a watt)" if energy and theirs else ""
            parts.append(f"{name} {each['tflops']:.1f} x{each['ratio']:.3f}{per_watt}{wrong}")
    return " | ".join(parts)


def changed(config: Config, changes: Sequence[str]) -> Config:
    """A config with changes such as ``stages=3``."""
    pairs = (change.split("=") for change in changes)
    return config.with_(**{key: int(value) for key, value in pairs})


def cubic(size: str) -> str:
    """A size as MxNxK, of which an order is short for."""
    return size if "x" in size else f"{size}x{size}x{size}"


def drawn(
    kinds: Sequence[tuple[str, str]], count: int, seed: int, least: int, unit: int
) -> Iterator[tuple[str, str, str]]:
    """Random products of (order of operands, type) in turns, each with a size: the logarithms of extents are
    uniform, and extents multiples of ``unit``."""
    draw = random.Random(seed)
    for number in range(count):
        m, n, k = (unit * round(2 ** draw.uniform(log2(least), MOST) / unit) for _ in "mnk")
        yield (*kinds[number % len(kinds)], f"{m}x{n}x{k}")


def parser(command: str, description: str | None, sizes: str, example: str) -> argparse.ArgumentParser:
    """The options that all have: the sizes of a plain run, and a config with a change."""
    made = argparse.ArgumentParser(
        prog=f"bench.{command}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = made.add_argument
    add("ways", help="burst, sustained or both with a comma")
    add("--sizes", default=sizes, help=f"orders or MxNxK (default: {sizes})")
    add("--trans", default="nn,nt,tn,tt", help="default: nn,nt,tn,tt")
    add("--configs", default=DEFAULT, help=f"names, each with changes as in {example} (default: {DEFAULT})")
    add("--rounds", type=int, default=5, help="samples of each (default: 5)")
    add("--idle", type=float, default=2.0, help="seconds before a burst (default: 2)")
    add("--slice", type=float, default=2.0, help="seconds of a slice (default: 2)")
    add("--limit", type=float, default=1e9, help="seconds after which no other case begins")
    add("--out", type=Path, help="lines of JSON are added to this file")
    return made


def draws(made: argparse.ArgumentParser, types: str = "h,b") -> None:
    """The options of who draws shapes of several types."""
    add = made.add_argument
    add("--types", default=types, help=f"default: {types}")
    add("--draw", type=int, default=0, help="random shapes beside the sizes (default: 0)")
    add("--least", type=int, default=1024, help="the least extent that is drawn (default: 1024)")
    add("--seed", type=int, default=1, help="of what is drawn (default: 1)")


def gpu() -> Device:
    """The GPU; ends the command where there is none."""
    lines.demand_gpu()
    return dispatch.device("cuda")


def compiled(source: Source, device: Device) -> Binary:
    """The code of a program, in a process of its own."""
    return nvrtc.compile(source, device)


def measure(
    command: str,
    options: argparse.Namespace,
    device: Device,
    jobs: Mapping[Problem, Mapping[str, tuple[Stencil, Config]]],
    made: Callable[[Any, Problem, Mapping[str, Way]], Case] = Case,
) -> None:
    """Compile, measure, print and keep: ``jobs`` are configs of problems by name, and ``made`` is what a case
    is made by."""
    begin = time.monotonic()
    # Sizes are arguments, so there is one program for all of them.
    sources = {
        (p, name): stencil.source(p, config, device)
        for p, named in jobs.items()
        for name, (stencil, config) in named.items()
    }
    needed = {source.digest: source for source in sources.values()}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        codes = dict(zip(needed, pool.map(compiled, needed.values(), repeat(device)), strict=True))
    import torch

    console = lines.console()
    sink = lines.Sink(options.out, command, device, vars(options))
    for p, named in jobs.items():
        if time.monotonic() - begin > options.limit:
            console.print(f"{p.spelling}: no time left", markup=False)
            continue
        ways = {name: Way(*job, codes[sources[p, name].digest]) for name, job in named.items()}
        case = made(torch, p, ways)
        for way in lines.words(options.ways):
            if way == "burst":
                samples = bursts(torch, case, options.rounds, options.idle)
            else:
                samples = sustained(torch, case, options.rounds, options.slice)
            line = line_of(case, way, samples)
            if DEFAULT in named:
                line |= spoken(line, p, named[DEFAULT][0], device)
            sink.write(line | {"configs": {name: dict(config) for name, (_, config) in named.items()}})
            console.print(shown(line), markup=False, soft_wrap=True)
