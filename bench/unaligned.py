"""One large product of 16 bits whose columns begin anywhere beside cuBLAS: ``python -m bench.unaligned``.

Timed as by ``bench.large``, whose ways and lines these are: bursts of ten products, or sustained. Sizes are
orders or MxNxK, and behind a + so many elements that lie before each column of A, B and C. Data are random
normal numbers, and what lies between columns is NaN. Lines of the default are points that
``python -m bench.classes`` takes.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product, repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench import lines
from bench.large import CUBLAS, DEFAULT, Case, bursts, compiled, line_of, shown, sustained
from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import Binary, Config, Device, Problem
from tilewright.planning import dispatch, neighbours
from tilewright.runtime import launch
from tilewright.targets.cuda import modules

STENCIL = STENCILS["unaligned"]
BASE = Config({"tile_m": 256, "tile_n": 128, "stages": 4, "band": 2048, "blocks": 132})
NAMED: Mapping[str, Mapping[str, int]] = {
    "high": {},
    "broad": {"tile_m": 192, "tile_n": 256, "stages": 3},
    "even": {"tile_m": 128, "tile_n": 128, "stages": 6},
}
"""Configs by name: what differs from ``BASE``."""
MOST = 14.0
"""Logarithm to the base 2 of the largest extent that is drawn."""


class AnyCase(Case):
    """One product whose operands begin anywhere, by PyTorch and by configs."""

    def __init__(self, torch: Any, p: Problem, binaries: Mapping[str, tuple[Config, Binary]]):
        self.problem = p
        kind = getattr(torch, p.dtype.name)

        def made(rows: int, columns: int, leading: int | None) -> Any:
            stored = torch.full((rows, leading or columns), torch.nan, device="cuda", dtype=kind)
            view = stored[:, stored.shape[1] - columns :]
            return view.copy_(torch.randn(rows, columns, device="cuda", dtype=kind))

        a = made(p.m, p.k, p.lda) if p.transposed_a else made(p.k, p.m, p.lda)
        b = made(p.k, p.n, p.ldb) if p.transposed_b else made(p.n, p.k, p.ldb)
        left, right = (b.t() if p.transposed_b else b), (a.t() if p.transposed_a else a)
        want, out = made(p.n, p.m, p.ldc), made(p.n, p.m, p.ldc)
        self.runs = {CUBLAS: lambda: torch.mm(left, right, out=want)}
        self.runs[CUBLAS]()
        stream, places = torch.cuda.current_stream().cuda_stream, (a.data_ptr(), b.data_ptr(), out.data_ptr())
        self.differs = {}
        for name, (config, binary) in binaries.items():
            bound = launch.bind(STENCIL, modules.load(binary), p, config, (1, 0), places)
            bound(stream)
            self.differs[name] = float((out - want).abs().max() / want.abs().max())
            self.runs[name] = partial(bound, stream)


def config_of(name: str, p: Problem, device: Device) -> Config:
    """A named config or ``default``, with changes behind it: ``high/stages=3/band=1024``."""
    first, *changes = name.split("/")
    config = STENCIL.default(p, device) if first == DEFAULT else BASE.with_(**NAMED[first])
    return config.with_(**{key: int(value) for key, value in (change.split("=") for change in changes)})


def problem(letter: str, order: str, size: str) -> Problem:
    """The product of a type and order, and of a size."""
    size, _, gap = size.partition("+")
    (p,) = Problem.parse(f"{letter}:{order}:{size if 'x' in size else f'{size}x{size}x{size}'}")
    if not int(gap or 0):
        return p
    leading = {f"ld{x}": (getattr(p, f"ld{x}") or 0) + int(gap) for x in "abc"}
    return p.with_(**leading, align=math.gcd(16, int(gap) * p.dtype.itemsize))


def drawn(kinds: Sequence[tuple[str, str]], count: int, seed: int, least: int, gap: int) -> Iterator[Problem]:
    """Random products of (order, type) in turns: the logarithms of extents are uniform."""
    draw = random.Random(seed)
    for number in range(count):
        m, n, k = (round(2 ** draw.uniform(math.log2(least), MOST)) for _ in "mnk")
        order, letter = kinds[number % len(kinds)]
        found = problem(letter, order, f"{m}x{n}x{k}+{gap}")
        if STENCIL.accepts(found, dispatch.device("cuda")) is None:
            yield found


def kept(line: lines.Line, p: Problem, device: Device) -> lines.Line:
    """A line with what ``bench.classes`` goes by, where the default was timed."""
    line = line | {"layout": p.layout}
    if DEFAULT not in line:
        return line
    about = {"stencil": neighbours.part(STENCIL.name, p), "origin": "default"}
    about["against_cublas"] = line[DEFAULT]["ratio"]
    return line | about | {"beta": p.beta, "regime": dispatch.regime(p, device)}


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        prog="bench.unaligned", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("ways", help="burst, sustained or both with a comma")
    add("--types", default="h,b", help="default: h,b")
    add("--sizes", default="8191,4095,4096+1", help="default: 8191,4095,4096+1")
    add("--trans", default="nn,nt,tn,tt", help="default: nn,nt,tn,tt")
    add("--configs", default=DEFAULT, help="names, each with changes as in high/stages=3")
    add("--draw", type=int, default=0, help="random shapes beside the sizes (default: 0)")
    add("--least", type=int, default=1024, help="least extent that is drawn (default: 1024)")
    add("--gap", type=int, default=0, help="elements before each column that is drawn (default: 0)")
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
    begin, device = time.monotonic(), dispatch.device("cuda")
    types, orders = lines.letters(options.types), lines.words(options.trans)
    sizes, names = lines.words(options.sizes), lines.words(options.configs)
    asked = [problem(*each) for each in product(types, orders, sizes)]
    asked += drawn(list(product(orders, types)), options.draw, options.seed, options.least, options.gap)
    jobs = {(p, name): (p, config_of(name, p, device)) for p in asked for name in names}
    sources = {key: STENCIL.source(*job, device) for key, job in jobs.items()}
    needed = {source.digest: source for source in sources.values()}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        codes = dict(zip(needed, pool.map(compiled, needed.values(), repeat(device)), strict=True))
    import torch

    console = lines.console()
    sink = lines.Sink(options.out, "unaligned", device, vars(options))
    for p in asked:
        if time.monotonic() - begin > options.limit:
            console.print(f"{p.spelling}: no time left", markup=False)
            continue
        case = AnyCase(torch, p, {name: (jobs[p, name][1], codes[sources[p, name].digest]) for name in names})
        for way in lines.words(options.ways):
            if way == "burst":
                samples = bursts(torch, case, options.rounds, options.idle)
            else:
                samples = sustained(torch, case, options.rounds, options.slice)
            line = kept(line_of(case, way, samples), p, device)
            sink.write(line | {"configs": {name: dict(jobs[p, name][1]) for name in names}})
            console.print(f"{p.layout:24} {shown(line)}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
