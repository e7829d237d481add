"""One large product by warps with roles beside cuBLAS, on a GPU: ``python -m bench.large``.

Timed as ``bench.beside`` says, in bursts or sustained. Each line of the file is one shape, type, order of
operands and way of timing: TFLOP/s of cuBLAS (PyTorch) and of each config, medians of the turns, the ratio
within turns, clocks and power at the end of each turn. More than 1 is faster than cuBLAS. Data are random
normal numbers; the operands together are more than the cache holds from an order of 3,200 on. Products of 16
bits are those of ``warpgroup``, in float64 those of ``dmma``, in float32 those of ``warpgroup`` as tf32, by
cuBLAS (``allow_tf32``), too, or with ``--ieee`` those of ``ffma``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, product

from bench import beside, lines
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem
from tilewright.stencils.cuda.dmma.cost import best as best_dmma
from tilewright.stencils.cuda.ffma.cost import best as best_ffma
from tilewright.stencils.cuda.warpgroup.cost import best as best_warpgroup
from tilewright.stencils.protocol import Stencil

NAMES = {"h": "warpgroup", "b": "warpgroup", "d": "dmma", "z": "dmma", "s": "ffma", "c": "ffma"}
"""The stencils by type; of float32 with ``math="ieee"``."""
BEST = {"warpgroup": best_warpgroup, "dmma": best_dmma, "ffma": best_ffma}
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
            "copied": 0,
            "behind": 0,
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


def of(p: Problem) -> Stencil:
    """The stencil of a problem."""
    return STENCILS["warpgroup" if p.math == "tf32" else NAMES[p.dtype.letter]]


def config_of(name: str, p: Problem, device: Device) -> Config:
    """A named config, ``default`` or ``uncut`` (the default that cuts no tile), with changes behind it:
    ``tall/stages=3/band=1024``."""
    stencil, (first, *changes) = of(p), name.split("/")
    if first == UNCUT:
        config = BEST[stencil.name](stencil.space(p, device).restricted(cut=0), p, device)
    elif first == beside.DEFAULT:
        config = stencil.default(p, device)
    else:
        config = BASES[stencil.name].with_(**NAMED[first])
    return beside.changed(config, changes)


def problem(letter: str, order: str, size: str, ieee: bool) -> Problem:
    """The product of a type, orders of operands, and a size; of float32 in tf32 if nothing else is asked."""
    math = "tf32" if letter == "s" and not ieee else "ieee"
    return Problem.parse(f"{letter}:{order}:{beside.cubic(size)}", math=math)[0]


def main() -> None:
    """Measure, print and keep."""
    parser = beside.parser("large", __doc__, "8192,4096", "tall/stages=3")
    beside.draws(parser)
    parser.add_argument("--ieee", action="store_true", help="type s without tensor cores")
    options = parser.parse_args()
    device = beside.gpu()
    types, orders = lines.letters(options.types), lines.words(options.trans)
    drawn = beside.drawn(list(product(orders, types)), options.draw, options.seed, options.least, 8)
    listed = product(lines.words(options.sizes), types, orders)
    jobs = {}
    for size, letter, order in chain(listed, ((size, letter, order) for order, letter, size in drawn)):
        p = problem(letter, order, size, options.ieee)
        jobs[p] = {name: (of(p), config_of(name, p, device)) for name in lines.words(options.configs)}
    beside.measure("large", options, device, jobs)


if __name__ == "__main__":
    main()
