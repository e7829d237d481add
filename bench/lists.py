"""Lists, addresses and unaligned memory, untuned, beside the library: ``python -m bench.lists --out FILE``.

lists      random lists of products of different sizes by one launch of ``grouped``, beside a loop of
           cuBLASLt's products, everything prepared: the fastest that a caller of the library has
pointers   batches by arrays of addresses, shuffled, beside ``cublasGemmBatchedEx``
unaligned  batches that begin at an odd element, beside cuBLASLt
large      lists of public programs, by ``plan_grouped``, beside loops of PyTorch and its grouped product

Of the first three ``python -m bench.classes FILE`` makes the table by which calls choose, as of
``bench.batches classes``; what it is checked on is drawn by another ``--seed``. All kernels are compiled
first, on all cores, and all results compared with the library's. Types and classes come in turns, so that
what ends at its limit (``--seconds``) has some of all.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from bench import lines
from bench.batches.classes import SHAPES, shape_of, untuned
from bench.batches.problems import filling
from tilewright.arrays.layout import Job
from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import DTYPES, Device, GroupedProblem, Plan, Problem
from tilewright.planning import classes, dispatch, neighbours, vectors
from tilewright.runtime import bound_cuda, build, cublaslt
from tilewright.stencils.cuda.grouped.descriptors import describe, pack
from tilewright.store import binaries
from tilewright.targets.cuda import driver

LETTERS = "sdhbcz"
"""Types that the library has, too."""
LISTED = tuple((top, most) for most in classes.COUNTS[:4] for top in classes.EXTENTS)
"""Largest extents of lists, and their numbers of products: of more a loop takes longer than any kernel."""
BATCHED = tuple(shape for shape in SHAPES if shape[0] == "to" and shape[1] <= neighbours.LONG)
SIZES = (1.0, 0.05, 0.003)
"""Of the bytes that are asked for: from memory, from the second-level cache, and few."""
SAMPLES, WARM = 7, 2
AT_LEAST = 60e-6
"""Seconds of a sample, so that what starts and stops the clock is no part of it."""


@dataclass(frozen=True)
class Drawn:
    """One problem to be timed. ``sizes``: of a list, the extents m, n and k of its products."""

    kind: str
    plan: Plan
    sizes: tuple[Any, Any, Any] | None = None


# ---- what is drawn


def lists(device: Device, count: int, seed: int, letter: str) -> Iterator[Drawn]:
    """Lists of one type, class after class in turns."""
    draw = random.Random(f"{seed} lists {letter}")
    for _ in range(count):
        for top, most in LISTED:
            below = max((each for each in classes.COUNTS if each < most), default=0)
            number = draw.randint(below + 1, most)
            m, n, k = (
                np.array([draw.randint(max(1, top // 4), top) for _ in range(number)], np.int64)
                for _ in range(3)
            )
            trans, beta = draw.choice(("nn", "nn", "tn")), draw.choice("01")
            align = DTYPES[letter].itemsize
            problem = GroupedProblem.of(DTYPES[letter], trans, (m, n, k), beta=beta, align=align)
            # A config that changes nothing asks for the default, whatever the table says.
            plan = dispatch.plan(problem, device, config={})
            yield Drawn("lists", plan, (m, n, k))


def batches(device: Device, count: int, seed: int, letter: str, kind: str, size: float) -> Iterator[Drawn]:
    """Batches of one type by addresses or at odd elements, class after class in turns."""
    draw = random.Random(f"{seed} {kind} {letter}")
    fields: dict[str, Any] = {"pointers": True} if kind == "pointers" else {"align": DTYPES[letter].itemsize}
    if fields.get("align") == vectors.WIDE:
        return
    for number in range(count):
        for shape, top in BATCHED if kind == "pointers" else SHAPES:
            m, n, k = shape_of(draw, shape, top)
            trans, beta = draw.choice(("nn", "nn", "tn", "nt")), draw.choice("01")
            one = Problem(DTYPES[letter], m, n, k, trans[0], trans[1], beta=beta, **fields)
            problem = filling(one, size * SIZES[number % len(SIZES)])
            for entry in untuned(problem, device):
                where = dispatch.regime(problem, device)
                yield Drawn(kind, Plan(problem, device, where, "default", "", entry.stencil, entry.config))


def compiled(plans: list[Plan]) -> None:
    """All kernels, each once, in as many processes as there are cores."""
    wanted = {build.key(p.stencil or "", p.problem, p.config or {}, p.device): p for p in plans}
    # Not forked: a child must have nothing of the GPU's.
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        list(pool.map(made, wanted, wanted.values(), chunksize=4))


def made(name: str, plan: Plan) -> None:
    """One kernel, put where calls look for it."""
    assert plan.stencil is not None
    assert plan.config is not None
    if binaries.read(name) is None:
        target = TARGETS["cuda"]
        binaries.write(name, build.compile(plan.stencil, plan.problem, plan.config, plan.device, target))


# ---- what is timed


class Clock:
    """Medians of runs in turns, by events."""

    def __init__(self, torch: Any):
        self.torch = torch
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def one(self, run: Callable[[], object], calls: int) -> float:
        """Seconds of a call of so many."""
        self.start.record()
        for _ in range(calls):
            run()
        self.stop.record()
        self.stop.synchronize()
        return float(1e-3 * self.start.elapsed_time(self.stop) / calls)

    def medians(self, runs: dict[str, Callable[[], object]]) -> dict[str, float]:
        """Seconds of a call of each."""
        calls = {}
        for name, run in runs.items():
            self.one(run, 1)
            calls[name] = max(1, int(AT_LEAST / max(self.one(run, 1), 1e-6)))
        samples: dict[str, list[float]] = {name: [] for name in runs}
        for turn in range(WARM + SAMPLES):
            for name, run in runs.items():
                taken = self.one(run, calls[name])
                if turn >= WARM:
                    samples[name].append(taken)
        return {name: statistics.median(each) for name, each in samples.items()}


class Pools:
    """Random operands of one type: three pieces of memory, in which every problem lies."""

    def __init__(self, torch: Any, letter: str, size: int):
        self.torch, self.letter = torch, letter
        kind = getattr(torch, DTYPES[letter].name)
        count = size // DTYPES[letter].itemsize
        self.parts = [torch.randn(count, device="cuda", dtype=kind) for _ in range(3)]
        self.before = self.parts[2][: min(count, 1 << 22)].clone()

    @property
    def addresses(self) -> tuple[int, int, int]:
        """Where they begin."""
        a, b, c = (int(part.data_ptr()) for part in self.parts)
        return a, b, c

    def agree(self, runs: dict[str, Callable[[], object]]) -> bool:
        """Whether two runs leave the same in C, as far as it is kept, but for rounding."""
        made = []
        part = self.parts[2][: len(self.before)]
        for run in runs.values():
            part.copy_(self.before)
            run()
            made.append(part.clone())
        self.torch.cuda.synchronize()
        loose = 3e-2 if DTYPES[self.letter].real_bits == 16 else 1e-3
        return bool(self.torch.allclose(*made, rtol=loose, atol=loose * 16))


def runs_of_list(drawn: Drawn, pools: Pools, stream: int) -> dict[str, Callable[[], object]]:
    """A list by its kernel and by the library, everything prepared."""
    plan, sizes = drawn.plan, drawn.sizes
    assert sizes is not None
    p = plan.problem
    m, n, k = sizes
    size = p.dtype.itemsize
    areas = (m * k, k * n, m * n)
    where = [
        base + size * np.concatenate(([0], np.cumsum(area)[:-1]))
        for base, area in zip(pools.addresses, areas, strict=True)
    ]
    leading = (k if p.transposed_a else m, n if p.transposed_b else k, m)
    reads = np.full(len(m), p.beta != "0")
    words = describe(p.dtype, p.trans_a + p.trans_b, (m, n, k), tuple(where), leading, reads)
    memory = driver.allocate(words.nbytes)
    driver.upload(memory.address, words.view(np.int64).reshape(-1))
    beta = float(p.beta)
    assert plan.config is not None
    assert plan.stencil is not None
    launch = STENCILS[plan.stencil].launch(p, plan.config)
    argument = pack(memory.address, 0, len(m), 1, beta)
    launcher = driver.Launcher(bound_cuda.kernel(plan, 0), launch, argument)
    made: dict[tuple[int, int, int], Any] = {}
    starts = []
    for i, extents in enumerate(zip(m.tolist(), n.tolist(), k.tolist(), strict=True)):
        if extents not in made:
            one = Problem(p.dtype, *extents, p.trans_a, p.trans_b, beta=p.beta, align=p.align)
            found = cublaslt.product(one, (1, beta), 0)
            if isinstance(found, str):
                raise RuntimeError(found)
            made[extents] = found.starting(False)
        starts.append((made[extents], *(int(row[i]) for row in where)))

    def loop() -> None:
        for start, a, b, c in starts:
            start(a, b, c, stream)

    def ours(keep: Any = memory) -> None:
        launcher(stream)

    return {"ours": ours, "library": loop}


def runs_of_batch(drawn: Drawn, pools: Pools, stream: int) -> dict[str, Callable[[], object]]:
    """A batch by its kernel and by the library."""
    p, scalars = drawn.plan.problem, (1, float(drawn.plan.problem.beta))
    job = Job(p, False, (), ())
    ours = bound_cuda.Bound(job, drawn.plan, scalars, 0).run
    size = p.dtype.itemsize
    if not p.pointers:
        a, b, c = (address + size for address in pools.addresses)
        found = cublaslt.product(p, scalars, 0, narrow=True)
        if isinstance(found, str):
            raise RuntimeError(found)
        theirs = found.starting(False)
        return {"ours": lambda: ours(a, b, c, stream), "library": lambda: theirs(a, b, c, stream)}
    order = np.random.default_rng(0).permutation(p.batch)
    rows = [
        pools.torch.as_tensor(address + size * step * order, device="cuda")
        for address, step in zip(pools.addresses, p.strides, strict=True)
    ]
    x, y, z = (int(row.data_ptr()) for row in rows)
    call = bound_cuda.Listed(job, drawn.plan, scalars, 0).run

    def by_addresses(keep: Any = rows) -> None:
        ours(x, y, z, stream)

    return {"ours": by_addresses, "library": lambda: call(x, y, z, stream)}


def line_of(drawn: Drawn, pools: Pools, clock: Clock, stream: int) -> lines.Line:
    """One problem: ours beside the library."""
    plan = drawn.plan
    p = plan.problem
    runs = (runs_of_list if drawn.kind == "lists" else runs_of_batch)(drawn, pools, stream)
    right = pools.agree(runs)
    taken = clock.medians(runs)
    if drawn.kind == "lists":
        told = {"problem": p.key, "stencil": plan.stencil, "class": classes.of_list(p)}
    else:
        told = {"problem": p.spelling, "stencil": neighbours.part(plan.stencil or "", p)}
        told |= {"layout": p.layout, "regime": plan.regime}
    return {
        "kind": drawn.kind,
        **told,
        "batch": p.batch,
        "beta": p.beta,
        "origin": "default",
        "right": right,
        "us": round(1e6 * taken["ours"], 2),
        "library_us": round(1e6 * taken["library"], 2),
        "against_cublas": taken["library"] / taken["ours"],
    }


# ---- lists of public programs

GROUPS = (("b", 8, 4096, 2048, 4032), ("b", 64, 2048, 1408, 7856), ("b", 128, 1024, 4096, 2400))
"""Types, groups, k, n and rows in all of mixtures of experts."""


def large(torch: Any, clock: Clock) -> Iterator[lines.Line]:
    """Lists with large products: ours, a loop of PyTorch, and its grouped product where it has one."""
    draw = np.random.default_rng(5)
    for letter, groups, k, n, rows in GROUPS:
        kind = getattr(torch, DTYPES[letter].name)
        cuts = np.sort(draw.choice(np.arange(1, rows // 8), groups - 1, replace=False)) * 8
        ends = np.concatenate([cuts, [rows]])
        counts = np.diff(np.concatenate([[0], ends])).tolist()
        a = torch.randn(rows, k, device="cuda", dtype=kind)
        b = torch.randn(groups, k, n, device="cuda", dtype=kind)
        out, other = (torch.empty(rows, n, device="cuda", dtype=kind) for _ in range(2))
        parts, results, others = (list(x.split(counts)) for x in (a, out, other))
        runs: dict[str, Callable[[], object]] = {"ours": tw.plan_grouped(parts, list(b), out=results)}

        def loop(x: Any = parts, y: Any = b, z: Any = others) -> None:
            for i in range(len(x)):
                torch.mm(x[i], y[i], out=z[i])

        runs |= {"ours in a graph": recorded(torch, runs["ours"]), "loop of torch.mm": loop}
        offsets = torch.as_tensor(ends.astype(np.int32), device="cuda")
        if hasattr(torch, "_grouped_mm"):
            runs["torch._grouped_mm"] = partial(torch._grouped_mm, a, b, offs=offsets)
        name = f"{letter}: {groups} groups of ({k}, {n}), {rows} rows"
        yield _compared(torch, clock, name, runs, out, other)
    # One weight for each of 10 elements, 32 features of it, N_e columns.
    counts = [20, 45, 800, 96, 333, 64, 510, 150, 700, 222]
    a = torch.randn(10, 32, 768, 16, device="cuda")
    b = [torch.randn(32, 16, count, device="cuda") for count in counts]
    flat, other = (torch.empty(32 * 768 * sum(counts), device="cuda") for _ in range(2))
    results, others = (
        [part.view(32, 768, -1) for part in x.split([32 * 768 * count for count in counts])]
        for x in (flat, other)
    )
    plan = tw.plan_grouped(list(a), b, out=results)

    def bmm() -> None:
        for i in range(10):
            torch.bmm(a[i], b[i], out=others[i])

    runs = {"ours": plan, "ours in a graph": recorded(torch, plan), "loop of torch.bmm": bmm}
    yield _compared(torch, clock, "s: 10 elements of 32 (768, 16)(16, N)", runs, flat, other)


def recorded(torch: Any, run: Callable[[], object]) -> Callable[[], object]:
    """A call as a CUDA graph that is replayed."""
    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    replay: Callable[[], object] = graph.replay
    return replay


def _compared(
    torch: Any, clock: Clock, name: str, runs: dict[str, Callable[[], object]], out: Any, other: Any
) -> lines.Line:
    taken = clock.medians(runs)
    right = bool(torch.allclose(out, other, rtol=3e-2, atol=1.0))
    return {"kind": "large", "name": name, "right": right} | {k: 1e6 * v for k, v in taken.items()}


def main() -> None:
    """Measure, print and keep."""
    parser = lines.parser("bench.lists", __doc__)
    add = parser.add_argument
    add("--parts", default="lists,pointers,unaligned,large", help="default: all four")
    add("--types", default=LETTERS, help=f"default: {LETTERS}")
    add("--count", type=int, default=2, help="of each class, type and part (default: 2)")
    add("--bytes", type=float, default=1.5e8, help="that the largest batches move (default: 1.5e8)")
    add("--seconds", type=float, default=float("inf"), help="no problem is begun after so many")
    add("--seed", type=int, default=0, help="of the draw (default: 0)")
    add("--out", type=Path, help="lines of JSON are added to this file")
    options = parser.parse_args()
    lines.demand_gpu()
    began = time.monotonic()
    import torch

    device = dispatch.device("cuda")
    console = lines.console()
    sink = lines.Sink(options.out, "lists", device, vars(options))
    clock, stream = Clock(torch), torch.cuda.current_stream().cuda_stream
    wanted = lines.words(options.parts)

    def note(line: lines.Line) -> None:
        sink.write({"device": device.key, "date": lines.now()} | line)
        console.print(shown(line), markup=False)

    if "large" in wanted:
        for line in large(torch, clock):
            note(line)
    per_letter = []
    for letter in lines.letters(options.types):
        found = [lists(device, options.count, options.seed, letter)] if "lists" in wanted else []
        found += [
            batches(device, options.count, options.seed, letter, kind, options.bytes)
            for kind in ("pointers", "unaligned")
            if kind in wanted
        ]
        per_letter.append([one for each in zip_longest(*found) for one in each if one is not None])
    compiled([drawn.plan for each in per_letter for drawn in each])
    console.print(f"{sum(map(len, per_letter))} problems after {time.monotonic() - began:.0f} s")
    size = int(options.bytes) + (1 << 24)
    pools = {letter: Pools(torch, letter, size) for letter in lines.letters(options.types)}
    for turn in zip_longest(*per_letter):
        for drawn in turn:
            if drawn is None or time.monotonic() - began > options.seconds:
                continue
            try:
                note(line_of(drawn, pools[drawn.plan.problem.dtype.letter], clock, stream))
            except RuntimeError as error:
                console.print(f"{drawn.plan.problem.key}: {error}", markup=False)


def shown(line: lines.Line) -> str:
    """A line of the screen."""
    if line["kind"] == "large":
        figures = [f"{name} {us:.1f} us" for name, us in line.items() if isinstance(us, float)]
        return f"{line['name']}: {', '.join(figures)}, right: {line['right']}"
    ratio = f"x {line['against_cublas']:.2f} of the library{'' if line['right'] else ', WRONG'}"
    return f"{line['kind']:9} {line.get('class', line['problem']):48} {line['us']:9.1f} us, {ratio}"


if __name__ == "__main__":
    main()
