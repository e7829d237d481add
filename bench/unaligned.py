"""One large product of 16 bits whose columns begin anywhere beside cuBLAS: ``python -m bench.unaligned``.

Timed as ``bench.beside`` says, in bursts or sustained. Sizes are orders or MxNxK, and behind a + so many
elements that lie before each column of A, B and C. Data are random normal numbers, and what lies between
columns is NaN. Lines of the default are points that ``python -m bench.classes`` takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product

from bench import beside, lines
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem

STENCIL = STENCILS["unaligned"]
BASE = Config({"tile_m": 256, "tile_n": 128, "stages": 4, "band": 2048, "blocks": 132})
NAMED: Mapping[str, Mapping[str, int]] = {
    "high": {},
    "broad": {"tile_m": 192, "tile_n": 256, "stages": 3},
    "even": {"tile_m": 128, "tile_n": 128, "stages": 6},
}
"""Configs by name: what differs from ``BASE``."""


def config_of(name: str, p: Problem, device: Device) -> Config:
    """A named config or ``default``, with changes behind it: ``high/stages=3/band=1024``."""
    first, *changes = name.split("/")
    config = STENCIL.default(p, device) if first == beside.DEFAULT else BASE.with_(**NAMED[first])
    return beside.changed(config, changes)


def problem(letter: str, order: str, size: str) -> Problem:
    """The product of a type and order, and of a size."""
    size, _, gap = size.partition("+")
    (p,) = Problem.parse(f"{letter}:{order}:{beside.cubic(size)}")
    if not int(gap or 0):
        return p
    leading = {f"ld{x}": (getattr(p, f"ld{x}") or 0) + int(gap) for x in "abc"}
    return p.with_(**leading, align=math.gcd(16, int(gap) * p.dtype.itemsize))


def main() -> None:
    """Measure, print and keep."""
    parser = beside.parser("unaligned", __doc__, "8191,4095,4096+1", "high/stages=3")
    beside.draws(parser)
    gap = "elements before each column that is drawn (default: 0)"
    parser.add_argument("--gap", type=int, default=0, help=gap)
    options = parser.parse_args()
    device = beside.gpu()
    types, orders = lines.letters(options.types), lines.words(options.trans)
    asked = [problem(*each) for each in product(types, orders, lines.words(options.sizes))]
    kinds = list(product(orders, types))
    for order, letter, size in beside.drawn(kinds, options.draw, options.seed, options.least, 1):
        p = problem(letter, order, f"{size}+{options.gap}")
        # All columns of some lie as tensor maps want them.
        if STENCIL.accepts(p, device) is None:
            asked.append(p)
    names = lines.words(options.configs)
    jobs = {p: {name: (STENCIL, config_of(name, p, device)) for name in names} for p in asked}
    beside.measure("unaligned", options, device, jobs)


if __name__ == "__main__":
    main()
