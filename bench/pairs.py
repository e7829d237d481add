"""One large product of complex halves beside four planar products of cuBLAS: ``python -m bench.pairs``.

burst      ten products after the GPU has idled, in turns: clocks are high when it begins
sustained  slices of one second and the like, in turns, on a GPU that is hot: its power is the limit

No library multiplies interleaved complex halves. Beside ours are four products of float16 planes by cuBLAS
(PyTorch), whose sums are rounded twice, with planes that are there already: no conversion is counted. The
config ``complex64`` is what a caller gets from the library: both operands widened, multiplied, and the result
narrowed. Others are configs of ``pairs``, or of a stencil that is named: ``tensor:default``. Lines of the
file are those of ``python -m bench.large``; TFLOP/s count eight operations for a product of two numbers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench import large, lines
from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import Binary, Config, Device, Problem
from tilewright.planning import dispatch
from tilewright.runtime import launch
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import modules

OURS = "pairs"
WIDENED = "complex64"
BASE: dict[str, int] = {
    "exchange": 0,
    "tile_m": 128,
    "tile_n": 128,
    "ping_pong": 0,
    "carried": 0,
    "steps": 2,
    "stages": 6,
    "outs": 2,
} | {"cluster_m": 1, "cluster_n": 1, "band": 2048, "backwards": 1, "overlap": 0, "blocks": 132, "cut": 0}
NAMED: dict[str, dict[str, int]] = {
    "square": {},
    "square pair": {"cluster_n": 2},
    "square beside": {"cluster_m": 2},
    "tall": {"tile_m": 192, "steps": 1, "stages": 4},
    "tall pair": {"tile_m": 192, "steps": 1, "stages": 4, "cluster_n": 2},
    "tall beside": {"tile_m": 192, "steps": 1, "stages": 4, "cluster_m": 2},
    "small": {"tile_m": 64, "stages": 8},
    "small turns": {"tile_m": 64, "tile_n": 64, "ping_pong": 1, "stages": 8},
    "turns": {"tile_n": 64, "ping_pong": 1, "stages": 8},
    "turns pair": {"tile_n": 64, "ping_pong": 1, "stages": 8, "cluster_n": 2},
}
"""Configs of ``pairs`` by name: what differs from ``BASE``, and from the least that has to be turned."""


def config_of(name: str, p: Problem, device: Device) -> tuple[Stencil, Config]:
    """A stencil and a config: ``default`` or a named one, with changes behind it: ``tall/stages=3``."""
    whose, _, rest = name.rpartition(":")
    stencil = STENCILS[whose or OURS]
    first, *changes = rest.split("/")
    config = stencil.default(p, device)
    if first != large.DEFAULT:
        exchange = int(not p.transposed_a and not p.transposed_b)
        config = config.with_(**(BASE | {"exchange": exchange} | NAMED[first]))
    pairs = (change.split("=") for change in changes)
    return stencil, config.with_(**{key: int(value) for key, value in pairs})


class Case(large.Case):
    """One product with its operands in memory, by cuBLAS and by configs. Column-major as BLAS has it: what
    PyTorch calls x @ y is the product with operands swapped."""

    def __init__(
        self, torch: Any, p: Problem, binaries: Mapping[str, tuple[Stencil, Config, Binary]], widened: bool
    ):
        self.problem = p

        def made(rows: int, columns: int) -> Any:
            return torch.randn(rows, columns, 2, device="cuda", dtype=torch.float16)

        a = made(p.m, p.k) if p.transposed_a else made(p.k, p.m)
        b = made(p.k, p.n) if p.transposed_b else made(p.n, p.k)
        out = made(p.n, p.m)

        def planes(x: Any, transposed: bool, conjugated: bool) -> tuple[Any, Any]:
            re, im = x[..., 0].contiguous(), x[..., 1].contiguous()
            im = -im if conjugated else im
            return (re.t(), im.t()) if transposed else (re, im)

        left, right = planes(b, p.transposed_b, p.conj_b), planes(a, p.transposed_a, p.conj_a)
        re, im = (torch.empty(p.n, p.m, device="cuda", dtype=torch.float16) for _ in range(2))

        def planar() -> None:
            torch.mm(left[0], right[0], out=re)
            re.addmm_(left[1], right[1], alpha=-1)
            torch.mm(left[0], right[1], out=im)
            im.addmm_(left[1], right[0])

        def complex64() -> None:
            x, y = (torch.view_as_complex(stored.float()) for stored in (b, a))
            x, y = (x.t() if p.transposed_b else x), (y.t() if p.transposed_a else y)
            x, y = (x.conj() if p.conj_b else x), (y.conj() if p.conj_a else y)
            out.copy_(torch.view_as_real(torch.mm(x, y)))

        self.runs: dict[str, large.Run] = {large.CUBLAS: planar}
        planar()
        want = torch.stack((re, im), -1)
        self.differs: dict[str, float] = {}
        if widened:
            self.runs[WIDENED] = complex64
            complex64()
            self.differs[WIDENED] = float((out - want).abs().max() / want.abs().max())
        stream, places = torch.cuda.current_stream().cuda_stream, (a.data_ptr(), b.data_ptr(), out.data_ptr())
        for name, (stencil, config, binary) in binaries.items():
            out.zero_()
            bound = launch.bind(stencil, modules.load(binary), p, config, (1, 0), places)
            bound(stream)
            self.differs[name] = float((out - want).abs().max() / want.abs().max())
            self.runs[name] = partial(bound, stream)


def spoken(line: lines.Line, p: Problem, device: Device) -> lines.Line:
    """A line with what ``bench.classes`` goes by, where the default was timed."""
    if large.DEFAULT not in line:
        return line
    about = {"stencil": OURS, "origin": "default", "against_cublas": line[large.DEFAULT]["ratio"]}
    return line | about | {"layout": p.layout, "beta": p.beta, "regime": dispatch.regime(p, device)}


def problem(order: str, size: str) -> Problem:
    """The product of orders of operands, and a size as an order or MxNxK."""
    return Problem.parse(f"hc:{order}:{size if 'x' in size else f'{size}x{size}x{size}'}")[0]


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        prog="bench.pairs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("ways", help="burst, sustained or both with a comma")
    add("--sizes", default="8192,4096", help="orders or MxNxK (default: 8192,4096)")
    add("--trans", default="nn,nt,tn,tt", help="default: nn,nt,tn,tt")
    add("--configs", default="default", help="names, with changes as in tall/stages=3 (default: default)")
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
    asked = [problem(o, s) for s in lines.words(options.sizes) for o in lines.words(options.trans)]
    named = lines.words(options.configs)
    names = [name for name in named if name != WIDENED]
    jobs = {(p, name): config_of(name, p, device) for p in asked for name in names}
    sources = {
        (p, name): stencil.source(p, config, device)
        for (p, name), (stencil, config) in jobs.items()
        if stencil.accepts(p, device) is None
    }
    needed = {source.digest: source for source in sources.values()}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        codes = dict(zip(needed, pool.map(large.compiled, needed.values(), repeat(device)), strict=True))
    import torch

    console = lines.console()
    sink = lines.Sink(options.out, "pairs", device, vars(options))
    for p in asked:
        if time.monotonic() - begin > options.limit:
            console.print(f"{p.spelling}: no time left", markup=False)
            continue
        served = [name for name in names if (p, name) in sources]
        binaries = {name: (*jobs[p, name], codes[sources[p, name].digest]) for name in served}
        case = Case(torch, p, binaries, WIDENED in named)
        for way in lines.words(options.ways):
            if way == "burst":
                samples = large.bursts(torch, case, options.rounds, options.idle)
            else:
                samples = large.sustained(torch, case, options.rounds, options.slice)
            line = spoken(large.line_of(case, way, samples), p, device)
            sink.write(line | {"configs": {name: dict(jobs[p, name][1]) for name in served}})
            console.print(large.shown(line), markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
