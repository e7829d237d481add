"""Float32 by tensor cores of bfloat16 beside cuBLAS, on a GPU: ``python -m bench.emulated``.

    burst, sustained   speeds, as ``bench.beside`` says, beside the product of float32 as it is
    errors             how far results are from those in float64, of normal and of positive random numbers

The line of an error has, of our product in each ``math``, of cuBLAS's in float32 and of cuBLAS's in tf32, the
largest and the root mean square of |C - A B| / (|A| |B|), in units of 2^-24: those of one rounding of a
float32. Sums of k numbers in float32 may be wrong by k of them, and are mostly by far less.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import chain, product
from typing import Any

from bench import beside, lines
from tilewright.catalog import STENCILS
from tilewright.model import EMULATED, Config, Device, Problem
from tilewright.runtime import launch
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda import modules, nvrtc

UNIT = 2.0**-24
DATA = ("normal", "positive")
STENCIL = "emulated"


def config_of(name: str, p: Problem, device: Device) -> Config:
    """The default with changes behind it: ``default/tile_m=192/stages=5``."""
    _, *changes = name.split("/")
    return beside.changed(STENCILS[STENCIL].default(p, device), changes)


def asked(options: argparse.Namespace) -> list[Problem]:
    """The products of the sizes that are listed, and of those that are drawn."""
    orders, maths = lines.words(options.trans), lines.words(options.maths)
    kinds = list(product(orders, lines.letters(options.types)))
    drawn = beside.drawn(kinds, options.draw, options.seed, options.least, 1)
    listed = ((*kind, size) for size, kind in product(lines.words(options.sizes), kinds))
    found = (
        Problem.parse(f"{letter}:{order}:{beside.cubic(size)}", math=math)[0]
        for order, letter, size in chain(listed, drawn)
        for math in maths
    )
    return [p for p in found if p.flops <= options.most]


def jobs(
    problems: list[Problem], options: argparse.Namespace, device: Device
) -> dict[Problem, dict[str, tuple[Stencil, Config]]]:
    """The configs of each product by name, those that its space has."""
    stencil, found = STENCILS[STENCIL], {}
    for p in problems:
        named = {name: config_of(name, p, device) for name in lines.words(options.configs)}
        space = stencil.space(p, device).only(("queryable", "hard"))
        found[p] = {name: (stencil, config) for name, config in named.items() if not space.why(config)}
    return found


def errors(torch: Any, p: Problem, ways: Mapping[str, beside.Way]) -> Iterator[lines.Line]:
    """How far products are from those in float64: of each config, and of cuBLAS."""
    for data in DATA:
        draw = torch.randn if data == "normal" else torch.rand
        kind, wide = getattr(torch, p.dtype.name), torch.complex128 if p.dtype.is_complex else torch.float64
        stored = [draw(columns, rows, device="cuda", dtype=kind) for rows, columns in p.stored[:2]]
        left, right = beside.seen(stored[1], p.trans_b), beside.seen(stored[0], p.trans_a)
        exact = torch.mm(left.to(wide), right.to(wide))
        size = torch.mm(left.to(wide).abs(), right.to(wide).abs())
        line: lines.Line = {"kind": "errors", "problem": p.spelling, "math": p.math, "data": data}
        made = {}
        for name, (stencil, config, binary) in ways.items():
            out = torch.empty(p.n, p.m, device="cuda", dtype=kind)
            addresses = tuple(x.data_ptr() for x in (*stored, out))
            bound = launch.bind(stencil, modules.load(binary), p, config, (1, 0), addresses)
            bound(torch.cuda.current_stream().cuda_stream)
            made[name] = out
        for name, tf32 in (("cublas", False), ("tf32", True)):
            torch.backends.cuda.matmul.allow_tf32 = tf32
            made[name] = torch.mm(left, right)
        torch.backends.cuda.matmul.allow_tf32 = False
        for name, x in made.items():
            off = (x.to(wide) - exact).abs() / size / UNIT
            line[name] = {
                "largest": round(float(off.max()), 3),
                "rms": round(float((off * off).mean().sqrt()), 4),
            }
        yield line


def main() -> None:
    """Measure, print and keep."""
    parser = beside.parser("emulated", __doc__, "8192,4096,2048", "default/stages=3")
    beside.draws(parser, "s")
    parser.add_argument("--maths", default=",".join(EMULATED), help="default: all")
    parser.add_argument("--most", type=float, default=1e14, help="operations of a product (default: 1e14)")
    options = parser.parse_args()
    device = beside.gpu()
    problems = asked(options)
    if options.ways != "errors":
        beside.measure("emulated", options, device, jobs(problems, options, device))
        return
    import torch

    sink, console = lines.Sink(options.out, "emulated", device, vars(options)), lines.console()
    for p, named in jobs(problems, options, device).items():
        ways = {
            name: beside.Way(stencil, config, nvrtc.compile(stencil.source(p, config, device), device))
            for name, (stencil, config) in named.items()
        }
        for line in errors(torch, p, ways):
            sink.write(line)
            parts = [
                f"{name} {line[name]['largest']} {line[name]['rms']}" for name in (*ways, "cublas", "tf32")
            ]
            console.print(f"{p.spelling:22} {p.math} {line['data']:9}" + " | ".join(parts), markup=False)


if __name__ == "__main__":
    main()
