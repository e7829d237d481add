"""Random products alone beside cuBLAS, on a GPU: ``python -m bench.alone random``, ``skinny``, ``near`` or
``vectors``.

random     m, n and k log-uniform in 16..16384, half of the shapes with multiples of 8, the others with any
skinny     rank-k updates, thin and small products of a list
near       neighbours of that list, each extent 0.6 to 1.6 times as long, at random
vectors    matrices times vectors: m or n is 1, the other extents as of ``random``, one of them over 64

Each product, or with ``--beta 1`` its sum with C, is timed by PyTorch (a matrix times a vector by ``mm`` and
by ``mv``, of which the faster counts) and, in turns with that, by the default of every stencil that accepts
it (``--by defaults``), by what a call runs (``--by calls``), or both. A line of the file is one way of one
product: the ratio is PyTorch's time over that way's, so more than 1 is faster than cuBLAS. Lines of defaults
are what ``python -m bench.classes`` makes the planner's data of. All launches of a sample are queued before
the first of them begins, so the host's time does not count; operands that fit into the second level of cache
stay there, for both.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from itertools import chain, zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import tilewright as tw
from bench import lines
from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import CompileError
from tilewright.model import DTYPES, EMULATED, Binary, Config, Device, Plan, Problem
from tilewright.planning import candidates, dispatch
from tilewright.runtime import build, launch
from tilewright.store import binaries
from tilewright.targets.cuda import modules

CUBLAS, GEMV = "cublas", "gemv"
CALL = "call"
DEFAULT = "default"
SAMPLED = 2000
"""Configs that are drawn where some beside the default are tried."""
LOW, HIGH = 16, 16384
"""The range of extents that are drawn."""
LONGEST_TINY = 64
"""Extents up to which a product is one of tiny matrices."""
ORDERS = ("nn", "tn", "nt", "tt")
SAMPLE = 3e-4
"""Seconds of a sample, if one product is shorter."""
MOST = 20
"""Products of a sample at most: what is queued while the GPU waits."""
AHEAD = 400_000
"""Clocks that the GPU waits before a sample, and for each product of it."""
LONG = 2e-2
"""Seconds from which on two samples are enough."""
CHECKED = 1 << 22
"""Elements at both ends of a result that are compared."""
WRONG = {"h": 0.02, "b": 0.1, "s": 1e-4, "d": 1e-12, "c": 1e-4, "z": 1e-12, "hc": 0.02}
"""Differences from cuBLAS, of its largest number, that no order of sums explains."""
LISTED = (
    *("8192x8192x32", "8192x8192x64", "8192x8192x128", "8192x64x8192", "64x8192x8192", "64x64x65536"),
    *("16x8192x8192", "8192x16x8192", "512x512x512", "1024x1024x1024"),
)
"""The list of ``skinny``."""
NEAR, UNIT = 1.6, 8
"""How many times longer or shorter extents of ``near`` are at most, and what they are multiples of."""
Run = Callable[[], object]


class Way(NamedTuple):
    """A kernel for a product: its stencil, config and code."""

    stencil: str
    name: str
    config: Config
    binary: Binary

    @property
    def label(self) -> str:
        """How it is called beside others."""
        return self.stencil if self.name == DEFAULT else f"{self.stencil} {self.name}"


def drawn(letter: str, count: int, seed: int) -> Iterator[Problem]:
    """Random products of a type, the same for a seed, orders of operands in turns."""
    draw = random.Random(f"alone {seed} {letter}")
    for number in range(count):
        unit = 8 if number % 2 else 1
        bounds = math.log(LOW / unit), math.log(HIGH / unit)
        m, n, k = (unit * round(math.exp(draw.uniform(*bounds))) for _ in "mnk")
        yield Problem.parse(f"{letter}:{draw.choice(ORDERS)}:{m}x{n}x{k}")[0]


def listed(letter: str) -> Iterator[Problem]:
    """The products of the list: row-major ones, as everybody calls them, so A and B are swapped here."""
    for size in LISTED:
        m, n, k = size.split("x")
        yield Problem.parse(f"{letter}:nn:{n}x{m}x{k}")[0]


def near(letter: str, count: int, seed: int) -> Iterator[Problem]:
    """Random neighbours of the list in turns, the same for a seed: each extent longer or shorter alone."""
    draw = random.Random(f"near {seed} {letter}")
    for number in range(count):
        extents = map(int, LISTED[number % len(LISTED)].split("x"))
        m, n, k = (UNIT * max(2, round(extent * NEAR ** draw.uniform(-1, 1) / UNIT)) for extent in extents)
        yield Problem.parse(f"{letter}:nn:{n}x{m}x{k}")[0]


def vectors(letter: str, count: int, seed: int) -> Iterator[Problem]:
    """Random matrices times vectors, the same for a seed: the vector is A or B, stored either way."""
    draw = random.Random(f"vectors {seed} {letter}")
    for number in range(count):
        unit = 8 if number % 2 else 1
        extent, k = 0, 0
        while max(extent, k) <= LONGEST_TINY:
            bounds = math.log(LOW / unit), math.log(HIGH / unit)
            extent, k = (unit * round(math.exp(draw.uniform(*bounds))) for _ in range(2))
        size = f"1x{extent}" if draw.random() < 0.5 else f"{extent}x1"
        yield Problem.parse(f"{letter}:{draw.choice(ORDERS)}:{size}x{k}")[0]


def made(p: Problem, stencil: str, device: Device, tries: int) -> list[Way]:
    """The configs of a stencil that compile without spills, compiled, in a process of its own."""
    found = []
    for name, config in configs(p, stencil, device, tries):
        try:
            binary = build.compile(stencil, p, config, device, TARGETS["cuda"])
        except CompileError:
            continue
        if not binary.facts.get("spills"):
            found.append(Way(stencil, name, config, binary))
    return found


def configs(p: Problem, stencil: str, device: Device, tries: int) -> Iterator[tuple[str, Config]]:
    """The default of a stencil, and of some that are drawn those that its model likes best, by name."""
    own = STENCILS[stencil]
    default = own.default(p, device)
    yield DEFAULT, default
    model = own.cost_model(p, device)
    if tries and model is not None:
        found = list(dict.fromkeys(own.space(p, device).sample(SAMPLED, 1)))
        costs = model(found)
        order = sorted(range(len(found)), key=lambda at: costs[at])
        liked = [found[at] for at in order if math.isfinite(costs[at]) and found[at] != default]
        yield from ((f"drawn {number}", config) for number, config in enumerate(liked[:tries]))


def prepared(p: Problem, stencil: str, config: Config, device: Device) -> None:
    """What a call will run, compiled and kept, in a process of its own, which reads no records."""
    parts = stencil, p, config, device
    name = build.key(*parts)
    if binaries.read(name) is None:
        binaries.write(name, build.compile(*parts, TARGETS["cuda"]))


def polite() -> None:
    """Compilers let who measures go first."""
    os.nice(15)


class Pools:
    """Random numbers of each type, which all operands are views of, and room for results."""

    def __init__(self, torch: Any):
        self.torch = torch
        self._held: dict[str, list[Any]] = {}

    def of(self, letter: str) -> list[Any]:
        """Two of operands and two of results."""
        if letter not in self._held:
            torch, kind = self.torch, getattr(self.torch, DTYPES[letter].name)
            given = [torch.randn(HIGH * HIGH, device="cuda", dtype=kind) for _ in "ab"]
            self._held[letter] = given + [torch.empty_like(given[0]) for _ in "cd"]
        return self._held[letter]


class Case:
    """One product with its operands in memory. Column-major as BLAS has it: what PyTorch calls x @ y is the
    product with operands swapped."""

    def __init__(self, torch: Any, pools: Pools, p: Problem):
        self.torch, self.problem = torch, p
        a, b, want, out = pools.of(p.dtype.letter)
        self.a, self.b = a[: p.m * p.k], b[: p.k * p.n]
        self.want, self.out = want[: p.m * p.n].view(p.n, p.m), out[: p.m * p.n].view(p.n, p.m)
        x = self.b.view(p.n, p.k) if not p.transposed_b else self.b.view(p.k, p.n).t()
        y = self.a.view(p.k, p.m) if not p.transposed_a else self.a.view(p.m, p.k).t()
        self.x, self.y = x, y
        # What products are added to, which is the same when each of them is compared.
        self.old = a[: p.m * p.n].view(p.n, p.m) if p.beta != "0" else None
        self.runs: dict[str, Run] = {CUBLAS: lambda: torch.mm(x, y, out=self.want)}
        if self.old is not None:
            self.runs = {CUBLAS: partial(self.want.copy_(self.old).addmm_, x, y)}
        self.runs[CUBLAS]()
        if 1 in (p.m, p.n) and self.old is None:
            matrix, vector = (y.t(), x[0]) if p.n == 1 else (x, y[:, 0])
            self.runs[GEMV] = partial(torch.mv, matrix, vector, out=self.want.view(-1))
            self.runs[GEMV]()
        self.differs: dict[str, float] = {}

    def add(self, way: Way) -> None:
        """A kernel with its arguments, run once and compared."""
        stream = self.torch.cuda.current_stream().cuda_stream
        places = self.a.data_ptr(), self.b.data_ptr(), self.out.data_ptr()
        loaded = modules.load(way.binary)
        scalars = (1, 0 if self.old is None else 1)
        bound = launch.bind(STENCILS[way.stencil], loaded, self.problem, way.config, scalars, places)
        self._add(way.label, partial(bound, stream))

    def add_call(self) -> Plan:
        """What a call runs that nobody forced."""
        out, math = self.out, self.problem.math
        if self.old is None:
            ours = tw.plan(self.x, self.y, out=out, math=math)
            self._add(CALL, lambda: ours(self.x, self.y, out=out))
        else:
            ours = tw.plan(self.x, self.y, out, beta=1, out=out, math=math)
            self._add(CALL, lambda: ours(self.x, self.y, out, out=out))
        return ours.plan

    def _add(self, name: str, run: Run) -> None:
        if self.old is not None:
            self.out.copy_(self.old)
        run()
        ends = [(t.view(-1)[:CHECKED], t.view(-1)[-CHECKED:]) for t in (self.out, self.want)]
        off = [float((x - y).abs().max() / y.abs().max()) for x, y in zip(*ends, strict=True)]
        self.differs[name] = max(off)
        self.runs[name] = run


class Clock:
    """Two events of the GPU around repeated calls."""

    def __init__(self, torch: Any):
        self.torch = torch
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def seconds(self, run: Run, calls: int) -> float:
        """Seconds of one of so many calls."""
        self.torch.cuda._sleep(AHEAD + 40_000 * calls)
        self.start.record()
        for _ in range(calls):
            run()
        self.stop.record()
        self.stop.synchronize()
        return float(1e-3 * self.start.elapsed_time(self.stop) / calls)


def timed(clock: Clock, runs: Mapping[str, Run], rounds: int, slower: float) -> dict[str, list[float]]:
    """Seconds of a product by each, in turns; who is so many times as slow as cuBLAS is timed once."""
    first = {name: min(clock.seconds(run, 1) for _ in "ab") for name, run in runs.items()}
    samples = {name: [once] for name, once in first.items() if once > slower * first[CUBLAS]}
    kept = [name for name in runs if name not in samples]
    for turn in range(2 if first[CUBLAS] > LONG else rounds):
        for name in kept[turn % len(kept) :] + kept[: turn % len(kept)]:
            calls = max(1, min(MOST, round(SAMPLE / first[name])))
            samples.setdefault(name, []).append(clock.seconds(runs[name], calls))
    return samples


def lines_of(
    case: Case,
    samples: Mapping[str, Sequence[float]],
    ways: Mapping[str, Way],
    plan: Plan | None,
    device: Device,
) -> Iterator[lines.Line]:
    """A line of each way."""
    p = case.problem
    theirs = min((samples[name] for name in (CUBLAS, GEMV) if name in samples), key=statistics.median)
    about: lines.Line = {"kind": "alone", "problem": p.spelling, "layout": p.layout, "beta": p.beta}
    about |= {"math": p.math} if p.math != "ieee" else {}
    about |= {
        "regime": dispatch.regime(p, device),
        "cublas_tflops": p.flops / statistics.median(theirs) * 1e-12,
    }
    if GEMV in samples:
        about["gemv_over_mm"] = round(
            statistics.median(samples[GEMV]) / statistics.median(samples[CUBLAS]), 3
        )
        about["cublas_gbs"] = round(p.bytes / statistics.median(theirs) * 1e-9, 1)
    for name, taken in samples.items():
        if name in (CUBLAS, GEMV):
            continue
        ratio = statistics.median(theirs) / statistics.median(taken)
        line = about | {"stencil": name, "against_cublas": round(ratio, 4), "differs": case.differs[name]}
        if name == CALL:
            assert plan is not None
            yield line | {"stencil": plan.stencil, "origin": CALL, "from": plan.origin}
        else:
            way = ways[name]
            yield line | {"stencil": way.stencil, "origin": way.name, "config": dict(way.config)}


def said(found: Sequence[lines.Line]) -> str:
    """A line of the screen."""
    first = found[0]
    parts = [f"{first['problem']:24} cublas {first['cublas_tflops']:6.1f}"]
    for line in found:
        wrong = (
            ""
            if line["differs"] < WRONG[line["problem"].partition(":")[0]]
            else f" WRONG {line['differs']:.1e}"
        )
        name = f"{line['stencil']} {line['origin']}".removesuffix(f" {DEFAULT}")
        name += f" ({line['from']})" if line["origin"] == CALL else ""
        parts.append(f"{name} x{line['against_cublas']:.3f}{wrong}")
    return " | ".join(parts)


def summed(found: Sequence[lines.Line]) -> Iterator[str]:
    """By type, of calls and of the best default or cuBLAS: geometric mean, least, share below 0.98."""
    for letter in dict.fromkeys(line["problem"].partition(":")[0] for line in found):
        of = [line for line in found if line["problem"].partition(":")[0] == letter]
        calls = [line["against_cublas"] for line in of if line["origin"] == CALL]
        best: dict[str, float] = {}
        for line in of:
            if line["origin"] == DEFAULT:
                best[line["problem"]] = max(best.get(line["problem"], 1.0), line["against_cublas"])
        for name, ratios in (("calls", calls), ("best default or cuBLAS", list(best.values()))):
            if ratios:
                low = sum(ratio < 0.98 for ratio in ratios) / len(ratios)
                mean, least = statistics.geometric_mean(ratios), min(ratios)
                figures = f"mean {mean:.3f}, least {least:.3f}, {low:.0%} below 0.98"
                yield f"{letter:2} {name}: {len(ratios)} products, {figures}"


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        prog="bench.alone", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("what", choices=("random", "skinny", "near", "vectors"))
    add("--types", default="h,s,d,c,z", help="default: h,s,d,c,z")
    add("--math", choices=("ieee", *EMULATED), default="ieee", help="how ours multiply, of type s alone")
    add("--beta", choices=("0", "1"), default="0", help="whether products are added to what there is")
    add("--count", type=int, default=100, help="shapes of a type (default: 100)")
    add("--seed", type=int, default=1, help="of what is drawn (default: 1)")
    add("--by", choices=("defaults", "calls", "both"), default="both")
    add("--stencils", default="", help="the stencils whose defaults are timed (default: all)")
    add("--tries", type=int, default=0, help="configs beside each default (default: 0)")
    add("--rounds", type=int, default=3, help="samples of each (default: 3)")
    add("--slower", type=float, default=2.5, help="times slower than cuBLAS from which on one is enough")
    add("--processes", type=int, default=16, help="that compile")
    add("--limit", type=float, default=1e9, help="seconds after which no other product begins")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args()
    reason = TARGETS["cuda"].missing()
    if reason is not None:
        raise SystemExit(f"nothing to measure on: {reason}")
    begin = time.monotonic()
    device = dispatch.device("cuda")
    draws: dict[str, Callable[[str, int, int], Iterator[Problem]]]
    draws = {"random": drawn, "near": near, "vectors": vectors}
    draws["skinny"] = lambda letter, count, seed: listed(letter)
    every = [
        draws[options.what](letter, options.count, options.seed) for letter in lines.letters(options.types)
    ]
    # Types in turns: what ends at its limit has some of all.
    asked = [
        p.with_(math=options.math, beta=options.beta)
        for p in chain.from_iterable(zip_longest(*every))
        if p is not None
    ]
    names = lines.words(options.stencils) or list(candidates.of(device))
    console = lines.console()
    found: list[lines.Line] = []
    sink = lines.Sink(options.out, "alone", device, vars(options))
    with ProcessPoolExecutor(options.processes, get_context("spawn"), initializer=polite) as pool:
        jobs: dict[Problem, list[Future[list[Way]]]] = {p: [] for p in asked}
        calls: dict[Problem, Future[None]] = {}
        for p in asked:
            if options.by != "defaults":
                plan = dispatch.plan(p, device)
                if plan.stencil is None and p.math != "ieee":
                    plan = dispatch.plan(p.with_(math="ieee"), device)
                if plan.stencil is not None and plan.config is not None:
                    calls[p] = pool.submit(prepared, plan.problem, plan.stencil, plan.config, device)
            for name in names if options.by != "calls" else ():
                if candidates.refusal(STENCILS[name], p, device) is None:
                    jobs[p].append(pool.submit(made, p, name, device, options.tries))
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        clock, pools = Clock(torch), Pools(torch)
        for p in asked:
            if time.monotonic() - begin > options.limit:
                console.print(f"stopped after {len({line['problem'] for line in found})} of {len(asked)}")
                break
            ways = {way.label: way for job in jobs[p] for way in job.result()}
            case = Case(torch, pools, p)
            for way in ways.values():
                case.add(way)
            if p in calls:
                calls[p].result()
            ran = case.add_call() if options.by != "defaults" else None
            taken = timed(clock, case.runs, options.rounds, options.slower)
            several = list(lines_of(case, taken, ways, ran, device))
            for line in several:
                sink.write(line)
            found += several
            if several:
                console.print(said(several), markup=False, soft_wrap=True)
        pool.shutdown(wait=False, cancel_futures=True)
    for said_of in summed(found):
        console.print(said_of, markup=False)


if __name__ == "__main__":
    main()
