"""One large product by warps with roles beside cuBLAS, on a GPU: ``python -m bench.large``.

burst      ten products after the GPU has idled, in turns: clocks are high when it begins
sustained  slices of one second and the like, in turns, on a GPU that is hot: its power is the limit

Each line of the file is one shape, type, order of operands and way of timing: TFLOP/s of cuBLAS (PyTorch) and
of each config, medians of the turns, the ratio within turns, clocks and power at the end of each turn. More
than 1 is faster than cuBLAS. Data are random normal numbers; the operands together are more than the cache
holds from an order of 3,200 on. Products of 16 bits are those of ``warpgroup``, in float64 those of ``dmma``,
in float32 those of ``warpgroup`` as tf32, by cuBLAS (``allow_tf32``), too, or with ``--ieee`` those of
``ffma``.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from math import log2
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench import lines
from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import Binary, Config, Device, Problem, Source
from tilewright.planning import dispatch
from tilewright.runtime import launch
from tilewright.stencils.cuda.dmma.cost import best as best_dmma
from tilewright.stencils.cuda.ffma.cost import best as best_ffma
from tilewright.stencils.cuda.warpgroup.cost import best as best_warpgroup
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import modules, nvrtc, timer

NAMES = {"h": "warpgroup", "b": "warpgroup", "d": "dmma", "z": "dmma", "s": "ffma", "c": "ffma"}
"""The stencils by type; of float32 with ``math="ieee"``."""
BEST = {"warpgroup": best_warpgroup, "dmma": best_dmma, "ffma": best_ffma}
WRONG = {"h": 0.02, "b": 0.02, "d": 1e-12, "z": 1e-12, "s": 1e-4, "c": 1e-4}
"""Differences from cuBLAS, of its largest number, that no order of sums explains."""
CUBLAS = "cublas"
DEFAULT = "default"
CALLS = 10
"""Products of a burst."""
AHEAD = 2_000_000
"""Clocks that the GPU waits before a burst, while the host asks for all of it, which takes PyTorch longer."""
MOST = 14.0
"""Logarithm to the base 2 of the largest extent that is drawn."""
UNCUT = "uncut"
COMMON = {"cluster_m": 1, "cluster_n": 1, "band": 2048, "backwards": 1, "blocks": 132}
BASES = {
    "warpgroup": Config(
        {
            "tile_m": 256,
            "tile_n": 128,
            "ping_pong": 0,
            "stages": 4,
            "outs": 2,
            "overlap": 0,
            "cut": 0,
            "lanes": 0,
        }
        | COMMON
    ),
    "dmma": Config(
        {"tile_m": 128, "tile_n": 128, "warps_m": 4, "mma_k": 8, "depth": 16, "stages": 6}
        | {"cut": 0}
        | COMMON
    ),
    "ffma": Config(
        {"rows": 16, "columns": 8, "lanes_m": 8, "warps_m": 2, "depth": 16, "stages": 5}
        | {"band": 2048, "blocks": 132, "cut": 0, "a_first": 0, "products": 1}
    ),
}
NAMED: Mapping[str, Mapping[str, int]] = {
    "tall": {"cluster_n": 2},
    "tall alone": {},
    "tall forwards": {"cluster_n": 2, "backwards": 0},
    "tall 1024": {"cluster_n": 2, "band": 1024},
    "tall 4096": {"cluster_n": 2, "band": 4096},
    "wide": {"tile_m": 128, "tile_n": 256, "cluster_m": 2},
    "large": {"tile_m": 192, "tile_n": 256, "cluster_m": 2, "stages": 3, "outs": 3, "band": 2560},
    "large alone": {"tile_m": 192, "tile_n": 256, "stages": 3, "outs": 3, "band": 2560},
    "square": {"tile_m": 128, "cluster_n": 2, "stages": 6},
    "turns": {"tile_m": 128, "ping_pong": 1, "cluster_m": 2, "stages": 6},
    "turns 192": {"tile_m": 192, "ping_pong": 1, "cluster_m": 2, "stages": 5, "outs": 1},
    "turns tall": {"tile_n": 64, "ping_pong": 1, "cluster_n": 2},
    "k8": {},
    "k8 deep": {"depth": 32, "stages": 3},
    "k8 pair": {"cluster_n": 2},
    "k8 beside": {"warps_m": 2},
    "k16": {"mma_k": 16, "depth": 32, "stages": 3},
    "k16 pair": {"mma_k": 16, "depth": 32, "stages": 3, "cluster_n": 2},
    "k16 beside": {"mma_k": 16, "depth": 32, "stages": 3, "warps_m": 2},
    "seven": {"mma_k": 16, "depth": 32, "stages": 3, "tile_n": 112},
    "seven across": {"mma_k": 16, "depth": 32, "stages": 3, "tile_m": 112, "warps_m": 2},
    "sums": {},
    "sums lines": {"lanes_m": 4, "warps_m": 4},
    "sums deep": {"depth": 32, "stages": 4},
    "sums wide": {"rows": 8, "columns": 16, "a_first": 1},
    "four": {"products": 4},
    "three": {"products": 3},
    "z8": {"tile_n": 64, "depth": 8, "stages": 8},
    "z16": {"tile_n": 64, "depth": 16, "mma_k": 16, "stages": 4},
    "z16 pair": {"tile_n": 64, "depth": 16, "mma_k": 16, "stages": 4, "cluster_n": 2},
    "z96": {"tile_m": 96, "tile_n": 64, "warps_m": 2, "depth": 16, "mma_k": 16, "stages": 5},
    "z16 wide": {"tile_m": 64, "warps_m": 2, "depth": 16, "mma_k": 16, "stages": 4},
}
"""Configs by name: what differs from the base of the stencil."""
Run = Callable[[], object]


def of(p: Problem) -> Stencil:
    """The stencil of a problem."""
    return STENCILS["warpgroup" if p.math == "tf32" else NAMES[p.dtype.letter]]


def config_of(name: str, p: Problem, device: Device) -> Config:
    """A named config, ``default`` or ``uncut`` (the default that cuts no tile), with changes behind it:
    ``tall/stages=3/band=1024``."""
    first, *changes = name.split("/")
    if first == UNCUT:
        config = BEST[of(p).name](of(p).space(p, device).restricted(cut=0), p, device)
    else:
        config = of(p).default(p, device) if first == DEFAULT else BASES[of(p).name].with_(**NAMED[first])
    pairs = (change.split("=") for change in changes)
    return config.with_(**{key: int(value) for key, value in pairs})


def compiled(source: Source, device: Device) -> Binary:
    """The code of a program, in a process of its own."""
    return nvrtc.compile(source, device)


def seen(x: Any, trans: str) -> Any:
    """A stored operand as it enters the product, without a copy."""
    x = x.t() if trans in "tc" else x
    return x.conj() if trans in "cj" else x


class Case:
    """One product with its operands in memory, by PyTorch and by configs. Column-major as BLAS has it: what
    PyTorch calls x @ y is the product with operands swapped."""

    def __init__(self, torch: Any, p: Problem, binaries: Mapping[str, tuple[Config, Binary]]):
        self.problem = p
        kind = getattr(torch, p.dtype.name)
        torch.backends.cuda.matmul.allow_tf32 = p.math == "tf32"

        def made(rows: int, columns: int) -> Any:
            return torch.randn(rows, columns, device="cuda", dtype=kind)

        a = made(p.m, p.k) if p.transposed_a else made(p.k, p.m)
        b = made(p.k, p.n) if p.transposed_b else made(p.n, p.k)
        left, right = seen(b, p.trans_b), seen(a, p.trans_a)
        want, out = made(p.n, p.m), made(p.n, p.m)
        self.runs: dict[str, Run] = {CUBLAS: lambda: torch.mm(left, right, out=want)}
        self.runs[CUBLAS]()
        stream, places = torch.cuda.current_stream().cuda_stream, (a.data_ptr(), b.data_ptr(), out.data_ptr())
        self.differs: dict[str, float] = {}
        for name, (config, binary) in binaries.items():
            bound = launch.bind(of(p), modules.load(binary), p, config, (1, 0), places)
            bound(stream)
            self.differs[name] = float((out - want).abs().max() / want.abs().max())
            self.runs[name] = partial(bound, stream)


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


def bursts(torch: Any, case: Case, rounds: int, idle: float) -> dict[str, list[tuple[float, str]]]:
    """Seconds of a product and the clocks, of each run in turns, each after the GPU has idled."""
    clock = Clock(torch)
    samples: dict[str, list[tuple[float, str]]] = {name: [] for name in case.runs}
    for turn in range(rounds):
        for name, run in ordered(case, turn):
            torch.cuda.synchronize()
            time.sleep(idle)
            samples[name].append((clock.seconds(run, CALLS), timer.clocks()))
    return samples


def sustained(torch: Any, case: Case, rounds: int, slice_: float) -> dict[str, list[tuple[float, str]]]:
    """The same in slices of so many seconds, one directly behind the other; the first round only heats."""
    clock = Clock(torch)
    once = clock.seconds(case.runs[CUBLAS], CALLS)
    calls = max(1, round(slice_ / once))
    samples: dict[str, list[tuple[float, str]]] = {name: [] for name in case.runs}
    for turn in range(rounds + 1):
        for name, run in ordered(case, turn):
            # The power meter is some 0.1 s behind, so it is asked while the last products run.
            clock.start.record()
            for _ in range(calls):
                run()
            clock.stop.record()
            time.sleep(max(0.0, 0.9 * calls * once))
            said = timer.clocks()
            clock.stop.synchronize()
            if turn:
                samples[name].append((1e-3 * clock.start.elapsed_time(clock.stop) / calls, said))
    return samples


def line_of(case: Case, way: str, samples: Mapping[str, list[tuple[float, str]]]) -> lines.Line:
    """What a case is kept as."""
    p = case.problem
    line: lines.Line = {
        "kind": "large",
        "problem": p.spelling,
        "math": p.math,
        "way": way,
        "date": lines.now(),
    }
    theirs = [seconds for seconds, _ in samples[CUBLAS]]
    for name, taken in samples.items():
        each = [seconds for seconds, _ in taken]
        ratios = [their / ours for their, ours in zip(theirs, each, strict=True)]
        line[name] = {
            "tflops": round(p.flops / statistics.median(each) * 1e-12, 1),
            "ratio": round(statistics.median(ratios), 4),
            "least": round(min(ratios), 4),
            "most": round(max(ratios), 4),
            "clocks": [said for _, said in taken],
        } | ({"differs": case.differs[name]} if name in case.differs else {})
    return line


def shown(line: lines.Line) -> str:
    """A line of the screen."""
    parts = [f"{line['problem']:22} {line['way']:9} cublas {line[CUBLAS]['tflops']:.1f}"]
    limit = WRONG["h" if line["math"] == "tf32" else line["problem"][0]]
    for name, each in line.items():
        if isinstance(each, dict) and name != CUBLAS:
            wrong = "" if each["differs"] < limit else f" WRONG {each['differs']:.2g}"
            parts.append(f"{name} {each['tflops']:.1f} x{each['ratio']:.3f}{wrong}")
    return " | ".join(parts)


def spoken(line: lines.Line, p: Problem, device: Device) -> lines.Line:
    """A line with what ``bench.classes`` goes by, where the default was timed."""
    if DEFAULT not in line:
        return line
    about = {"stencil": of(p).name, "origin": "default", "against_cublas": line[DEFAULT]["ratio"]}
    return line | about | {"layout": p.layout, "beta": p.beta, "regime": dispatch.regime(p, device)}


def problem(letter: str, order: str, size: str, ieee: bool) -> Problem:
    """The product of a type, orders of operands, and MxNxK; of float32 in tf32 if nothing else is asked."""
    math = "tf32" if letter == "s" and not ieee else "ieee"
    return Problem.parse(f"{letter}:{order}:{size}", math=math)[0]


def drawn(
    types: Iterable[str], orders: Iterable[str], count: int, seed: int, least: int, ieee: bool
) -> Iterator[Problem]:
    """Random products: extents are multiples of 8, their logarithms uniform, types and orders in turns."""
    draw, kinds = random.Random(seed), list(itertools.product(orders, types))
    for number in range(count):
        m, n, k = (8 * round(2 ** draw.uniform(log2(least), MOST) / 8) for _ in "mnk")
        order, letter = kinds[number % len(kinds)]
        yield problem(letter, order, f"{m}x{n}x{k}", ieee)


def problems(types: Iterable[str], sizes: Iterable[str], orders: Iterable[str], ieee: bool) -> list[Problem]:
    """All of them; a size is an order or MxNxK."""
    return [
        problem(letter, order, size if "x" in size else f"{size}x{size}x{size}", ieee)
        for size in sizes
        for letter in types
        for order in orders
    ]


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        prog="bench.large", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("ways", help="burst, sustained or both with a comma")
    add("--types", default="h,b", help="default: h,b")
    add("--sizes", default="8192,4096", help="orders or MxNxK (default: 8192,4096)")
    add("--trans", default="nn,nt,tn,tt", help="default: nn,nt,tn,tt")
    add(
        "--configs", default="default", help="names, each with changes as in tall/stages=3 (default: default)"
    )
    add(
        "--draw",
        type=int,
        default=0,
        help="random shapes beside the sizes (default: 0)",
    )
    add("--least", type=int, default=1024, help="the least extent that is drawn (default: 1024)")
    add("--ieee", action="store_true", help="type s without tensor cores")
    add("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    add("--rounds", type=int, default=5, help="samples of each (default: 5)")
    add("--idle", type=float, default=2.0, help="seconds before a burst (default: 2)")
    add("--slice", type=float, default=2.0, help="seconds of a slice (default: 2)")
    add("--limit", type=float, default=1e9, help="seconds after which no other case begins")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args()
    reason = TARGETS["cuda"].missing()
    if reason is not None:
        raise SystemExit(f"nothing to measure on: {reason}")
    begin = time.monotonic()
    device = dispatch.device("cuda")
    types, orders = lines.letters(options.types), lines.words(options.trans)
    asked = problems(types, lines.words(options.sizes), orders, options.ieee)
    asked += drawn(types, orders, options.draw, options.seed, options.least, options.ieee)
    names = lines.words(options.configs)
    jobs = {(p, name): (p, config_of(name, p, device)) for p in asked for name in names}
    # Sizes are arguments, so there is one program for all of them.
    sources = {key: of(job[0]).source(*job, device) for key, job in jobs.items()}
    needed = {source.digest: source for source in sources.values()}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        codes = dict(zip(needed, pool.map(compiled, needed.values(), repeat(device)), strict=True))
    import torch

    console = lines.console()
    sink = lines.Sink(options.out, "large", device, vars(options))
    for p in asked:
        if time.monotonic() - begin > options.limit:
            console.print(f"{p.spelling}: no time left", markup=False)
            continue
        case = Case(torch, p, {name: (jobs[p, name][1], codes[sources[p, name].digest]) for name in names})
        for way in lines.words(options.ways):
            if way == "burst":
                samples = bursts(torch, case, options.rounds, options.idle)
            else:
                samples = sustained(torch, case, options.rounds, options.slice)
            line = spoken(line_of(case, way, samples), p, device)
            sink.write(line | {"configs": {name: dict(jobs[p, name][1]) for name in names}})
            console.print(shown(line), markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
