"""One large product of complex halves beside four planar products of cuBLAS: ``python -m bench.pairs``.

Timed as ``bench.beside`` says, in bursts or sustained. No library multiplies interleaved complex halves.
Beside ours are four products of float16 planes by cuBLAS (PyTorch), whose sums are rounded twice, with planes
that are there already: no conversion is counted. The config ``complex64`` is what a caller gets from the
library: both operands widened, multiplied, and the result narrowed. Others are configs of ``pairs``, or of a
stencil that is named: ``tensor:default``. Lines of the file are those of ``python -m bench.large``; TFLOP/s
count eight operations for a product of two numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any

from bench import beside, lines
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem
from tilewright.stencils.protocol import Stencil

OURS = "pairs"
WIDENED = "complex64"
BASE: dict[str, int] = {
    "exchange": 0,
    "tile_m": 128,
    "tile_n": 128,
    "ping_pong": 0,
    "copied": 0,
    "behind": 0,
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
    if first != beside.DEFAULT:
        exchange = int(not p.transposed_a and not p.transposed_b)
        config = config.with_(**(BASE | {"exchange": exchange} | NAMED[first]))
    return stencil, beside.changed(config, changes)


class Case(beside.Case):
    """One product with its operands in memory, by four products of planes and by configs; with ``widened`` by
    complex64, too. Operands are swapped as in ``beside.Case``."""

    def __init__(self, widened: bool, torch: Any, p: Problem, ways: Mapping[str, beside.Way]):
        self.problem = p

        def made(shape: tuple[int, int]) -> Any:
            rows, columns = shape
            return torch.randn(columns, rows, 2, device="cuda", dtype=torch.float16)

        a, b, out = (made(shape) for shape in p.stored)

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

        self.runs: dict[str, beside.Run] = {beside.CUBLAS: planar}
        planar()
        want = torch.stack((re, im), -1)
        self.differs: dict[str, float] = {}
        if widened:
            self.runs[WIDENED] = complex64
            complex64()
            self.differs[WIDENED] = beside.apart(out, want)
        self.add(torch, ways, (a, b, out), want)


def problem(order: str, size: str) -> Problem:
    """The product of orders of operands, and a size as an order or MxNxK."""
    return Problem.parse(f"hc:{order}:{beside.cubic(size)}")[0]


def main() -> None:
    """Measure, print and keep."""
    options = beside.parser("pairs", __doc__, "8192,4096", "tall/stages=3").parse_args()
    device, named = beside.gpu(), lines.words(options.configs)
    jobs = {}
    for size, order in product(lines.words(options.sizes), lines.words(options.trans)):
        p = problem(order, size)
        found = {name: config_of(name, p, device) for name in named if name != WIDENED}
        jobs[p] = {name: job for name, job in found.items() if job[0].accepts(p, device) is None}
    beside.measure("pairs", options, device, jobs, partial(Case, WIDENED in named))


if __name__ == "__main__":
    main()
