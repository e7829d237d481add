"""Large products in complex float32, without tensor cores: space, choice and launch.

The roles and the tiles of registers are those of ``ffma``, but numbers stay pairs: the four products of their
parts are summed apart, as numbers of a real product of twice as many rows and columns, and meet when a tile
is done. So nothing is packed in planes before, tiles may be cut along k, and columns may begin anywhere.

    rows, columns   of C that a thread sums
    lanes_m  lanes of a warp side by side in m
    warps_m  of the eight warps that multiply, those side by side in m
    stages   slices in shared memory
    band     columns of C in which tiles are near each other in time
    blocks   of the whole grid: they stay and walk over the tiles
    cut      into how many parts along k tiles go that leave blocks idle: 0 none, 1 as many as make all blocks
             equally busy, else so many, of the last wave alone
    overlap  whether blocks make ready while the kernel before them in the stream ends

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import cuts
from tilewright.stencils.cuda.accepting import other_type, unserved
from tilewright.stencils.cuda.cfma.cost import best, clocks, liked
from tilewright.stencils.cuda.cfma.needs import (
    DEPTH,
    THREADS,
    lies_along,
    loose,
    shared_bytes,
    tile_m,
    tile_n,
    tiles,
)
from tilewright.stencils.cuda.cfma.space import params, rules
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.large import LargeStencil, lined, product, unfit, untold
from tilewright.stencils.cuda.source import ARGUED, asked, chosen, written
from tilewright.stencils.cuda.warpgroup.needs import Cut
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import A, Argument, B, Struct, Workspace

SMALLEST = 16
"""Extents below which most of a tile would be empty."""
LARGEST = 2**29
"""Extents, and tiles of a product; coordinates count real numbers."""


class CfmaStencil(LargeStencil):
    """``cfma``: one large product in complex float32, as the five functions of the protocol."""

    name = "cfma"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := other_type(p, ("c",)) or unserved(p, device):
            return reason
        if "tma" not in device.supports or "wgmma" not in device.supports:
            return "the device has no tensor maps for warps with registers to give (9.0 alone)"
        return unfit(p, SMALLEST, LARGEST, 16)

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def starts(self, problem: Problem, device: Device) -> Sequence[Config]:
        return liked(self.space(problem, device), problem, device, cuts.STARTS)[1:]

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(lambda columns: clocks(problem, device, columns))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        named = zip(("LOOSE_A", "LOOSE_B", "LOOSE_C"), map(int, loose(problem)), strict=True)
        definitions = asked(problem) | dict(named) | chosen(config, ARGUED) | {"CUT": int(config["cut"] > 0)}
        return written("cfma", definitions)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, c = problem, config
        along_a, along_b = lies_along(p)
        down, across = _tile(c)
        return (
            product(p, p.ldc, c["band"] // across),
            untold(A, p.lda) if loose(p)[A] else lined(p, A, p.m, along_a, down),
            untold(B, p.ldb) if loose(p)[B] else lined(p, B, p.n, along_b, across),
            *([_cut(p, c)] if c["cut"] else []),
        )

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        down, across = _tile(c)
        return Launch(
            # Tiles that are cut may be fewer than those who share them.
            grid=(max(min(c["blocks"], int(tiles(p, down, across))), _found(p, c).workers), 1, 1),
            block=(THREADS, 1, 1),
            shared=int(shared_bytes(down, across, c["stages"])),
            overlap=bool(c["overlap"]),
        )


def _tile(config: Config) -> tuple[int, int]:
    """Rows and columns of a tile of C."""
    c = config
    return int(tile_m(c["rows"], c["lanes_m"], c["warps_m"])), int(
        tile_n(c["columns"], c["lanes_m"], c["warps_m"])
    )


def _found(p: Problem, c: Config) -> Cut:
    """The tiles that a config cuts."""
    return cuts.cut_of(int(tiles(p, *_tile(c))), c["blocks"], -(-p.k // DEPTH), c["cut"])


def _cut(p: Problem, c: Config) -> Struct:
    """Which tiles are cut, and where their sums meet."""
    found, (down, across) = _found(p, c), _tile(c)
    return cuts.argument(
        found, Workspace("workspace", cuts.met_bytes(found, 1, down * across * p.dtype.itemsize))
    )
