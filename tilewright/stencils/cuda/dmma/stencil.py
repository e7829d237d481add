"""Large products in float64, real and complex, alone and in batches, by warps with roles on tensor cores:
space, choice and launch.

Tensor cores multiply float64 as fast as they are fed, so what is left is to feed them: copies pass no
register, registers go from the warps that load to those that multiply, fragments are read without conflicts
of banks in the order that registers have (which k a lane has is free, if both operands agree), and are there
a step before they are needed. Power is the limit of large products, and bytes moved are what it is spent on
beside products: hence large tiles, two blocks that share an operand, and an order of tiles in which what
was read is still in the second-level cache. The loop is that of warp specialisation with setmaxnreg as
CUTLASS has it for 16 bits (V. Thakkar et al., 2023), with the float64 products of PTX ISA 7.8.

    tile_m, tile_n   of C
    warps_m  of the eight warps that multiply, those side by side in m
    mma_k    real numbers along k of a product of tensor cores
    depth    elements along k of a slice: one line of 128 bytes, or two
    stages   slices in shared memory
    cluster_m, cluster_n   blocks that share what comes of B, of A
    band     columns of C in which tiles are near each other in time
    backwards  whether every other tile of a block runs backwards along k
    blocks   of the whole grid: they stay and walk over the tiles
    overlap  whether blocks make ready while the kernel before them in the stream ends
    cut      into how many parts along k tiles go that leave blocks idle: 0 none, 1 as many as make all blocks
             equally busy, else so many, of the last wave alone

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import cuts
from tilewright.stencils.cuda.accepting import other_type, unserved
from tilewright.stencils.cuda.common import of_configs, units
from tilewright.stencils.cuda.dmma.cost import best, clocks, liked
from tilewright.stencils.cuda.dmma.needs import THREADS, lies_along, loose, shared_bytes, tiles
from tilewright.stencils.cuda.dmma.space import TILES, params, rules
from tilewright.stencils.cuda.large import LargeStencil, lined, products, unfit, untold
from tilewright.stencils.cuda.source import ARGUED, asked, chosen, written
from tilewright.stencils.cuda.warpgroup.needs import Cut
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import A, Argument, B, Struct, Workspace

SMALLEST = 16
"""Extents below which most of a tile would be empty."""
NUMBER = 8
"""Bytes that columns begin at multiples of."""
LARGEST = 2**29
"""Extents, and tiles of a product; coordinates count real numbers."""


class DmmaStencil(LargeStencil):
    """``dmma``: large products in float64, as the five functions of the protocol."""

    name = "dmma"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := other_type(p, ("d", "z")) or unserved(p, device):
            return reason
        if "mma_f64_m16" not in device.supports or "wgmma" not in device.supports:
            return "the device has no float64 products of 16 rows by warps with registers to give (9.0 alone)"
        if min(units(p)) < NUMBER:
            return f"a column does not begin at a multiple of {NUMBER} bytes"
        return unfit(p, SMALLEST, LARGEST, TILES[0], batches=True)

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def starts(self, problem: Problem, device: Device) -> Sequence[Config]:
        return liked(self.space(problem, device), problem, device, cuts.STARTS)[1:]

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(lambda columns: clocks(problem, device, columns))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        c = _whole(config)
        named = zip(("LOOSE_A", "LOOSE_B", "LOOSE_C"), map(int, loose(problem)), strict=True)
        how = dict(named) | {"BATCHED": int(problem.batch > 1)}
        return written("dmma", asked(problem) | how | chosen(c, ARGUED) | {"CUT": int(c["cut"] > 0)})

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, c = problem, config
        along_a, along_b = lies_along(p)
        return (
            products(p, c["band"], c["tile_n"] * c["cluster_n"]),
            untold(A, p.lda) if loose(p)[A] else lined(p, A, p.m, along_a, c["tile_m"] // c["cluster_n"]),
            untold(B, p.ldb) if loose(p)[B] else lined(p, B, p.n, along_b, c["tile_n"] // c["cluster_m"]),
            *([_cut(p, c)] if c["cut"] else []),
        )

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, _whole(config)
        cluster = c["cluster_m"] * c["cluster_n"]
        needed = int(tiles(p, c["tile_m"], c["tile_n"], c["cluster_m"], c["cluster_n"]))
        return Launch(
            # Tiles that are cut may be fewer than those who share them.
            grid=(max(min(c["blocks"] // cluster, needed), _found(p, c).workers), cluster, 1),
            block=(THREADS, 1, 1),
            shared=int(shared_bytes(p, c["tile_m"], c["tile_n"], c["depth"], c["stages"])),
            cluster=cluster,
            overlap=bool(c["overlap"]),
        )


def _whole(config: Config) -> Config:
    """A config that may have been recorded before blocks made ready early."""
    return Config({"overlap": 0, **config})


def _found(p: Problem, c: Config) -> Cut:
    """The tiles that a config cuts."""
    count = int(tiles(p, c["tile_m"], c["tile_n"], c["cluster_m"], c["cluster_n"]))
    return cuts.cut_of(
        count, c["blocks"] // (c["cluster_m"] * c["cluster_n"]), -(-p.k // c["depth"]), c["cut"]
    )


def _cut(p: Problem, c: Config) -> Struct:
    """Which tiles are cut, and where their sums meet."""
    found, tile = _found(p, c), c["tile_m"] * c["tile_n"] * p.dtype.itemsize
    size = cuts.met_bytes(found, c["cluster_m"] * c["cluster_n"], tile)
    return cuts.argument(found, Workspace("workspace", size))
