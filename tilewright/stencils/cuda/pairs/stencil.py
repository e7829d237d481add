"""Large products of complex halves by warp groups with roles.

An element (re, im) is what a register holds of a factor of tensor cores: two neighbours along k. So one
operand lies in shared memory as it lies in device memory, a real matrix with twice the k, and the other one
comes into registers, where a change of sign makes the factor of the real parts and an exchange of halves that
of the imaginary ones. Neither is written apart, nor twice. What surrounds the products is that of
``warpgroup``: tensor maps, a ring of slices, persistent blocks, tiles that are cut along k.

    exchange  whether the product of the transposes is made, B by A, and C stored as its transpose: the first
             operand has to run along k, or is turned in shared memory
    tile_m, tile_n   of C, or of its transpose
    ping_pong  whether each of two warp groups multiplies tiles of its own, else half of the columns of each
    copied   whether a first operand that runs across k is copied along k into the workspace, by the same
             launch, and is not turned in shared memory
    behind   whether what the first tiles do not need is copied while these are multiplied
    steps    products along k whose fragments come at once, while those before them are multiplied
    cluster_m, cluster_n   blocks that share what comes of the second operand, of the first
    stages   slices of 32 along k in shared memory
    outs     places of results of each group in shared memory, 32 rows by 64 columns each
    overlap  whether blocks make ready while the kernel before them in the stream ends
    band     columns in which tiles are near each other in time
    backwards  whether every other tile of a block runs backwards along k
    blocks   of the whole grid: they stay and walk over the tiles
    cut      along k: 0 no tile, 1 those of the last two waves, so that all blocks have as much to do; more:
             those of the last wave, in so many parts at most. Parts meet in device memory and are added in a
             fixed order

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import copies, cuts
from tilewright.stencils.cuda.accepting import no_warp_groups, other_type, unserved
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.large import LargeStencil, mapped, misplaced, product, unfit
from tilewright.stencils.cuda.pairs.cost import best, clocks, liked
from tilewright.stencils.cuda.pairs.needs import SLICE, asked_of, room_for_sums, shared_bytes
from tilewright.stencils.cuda.pairs.space import params, rules
from tilewright.stencils.cuda.source import ARGUED, asked, chosen, written
from tilewright.stencils.cuda.warpgroup.needs import BLOCK, THREADS, cut_of, tiles
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import (
    A,
    Argument,
    B,
    C,
    Struct,
    Workspace,
)

SMALLEST = 16
"""Extents below which most of a tile would be empty."""
TURNED = 512
"""Extents up to which a product whose operands both run across k is better made by others."""
LARGEST = 2**30
"""Extents, and tiles of a product."""


class PairsStencil(LargeStencil):
    """``pairs``: one large product of complex halves, as the five functions of the protocol."""

    name = "pairs"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        return (
            other_type(problem, ("hc",))
            or unserved(problem, device)
            or no_warp_groups(device)
            or unfit(problem, SMALLEST, LARGEST, BLOCK)
            or misplaced(problem)
        )

    def needs_record(self, problem: Problem) -> bool:
        """Of small products with both operands across k, one of which has to be turned, ``tensor`` makes 1.3
        times as much (H200, 256 and 512; at 1024 it makes 0.8)."""
        p = problem
        return not p.transposed_a and p.transposed_b and max(p.extents) <= TURNED

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def starts(self, problem: Problem, device: Device) -> Sequence[Config]:
        return liked(self.space(problem, device), problem, device, cuts.STARTS)[1:]

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(lambda columns: clocks(problem, device, columns))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        made, config = asked_of(problem, config["exchange"]), _whole(config)
        return written("pairs", asked(made) | chosen(config, ARGUED) | {"CUT": int(config["cut"] > 0)})

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, c = problem, _whole(config)
        made, found = asked_of(p, c["exchange"]), _copy(p, c)
        lines_a = c["tile_m"] // c["cluster_n"] if made.transposed_a or c["copied"] else SLICE
        lines_b = SLICE if made.transposed_b else c["tile_n"] // c["cluster_m"]
        of_a, of_b = (B, A) if c["exchange"] else (A, B)
        a, b, _ = made.stored
        return (
            product(made, p.ldc, c["band"] // (c["tile_n"] * c["cluster_n"]), clipped=0),
            copies.map_of(p, of_a, made.m, lines_a, found)
            if c["copied"]
            else mapped(p, of_a, a, made.lda, lines_a),
            mapped(p, of_b, b, made.ldb, lines_b),
            mapped(p, C, p.stored[C], p.ldc, SLICE if c["exchange"] else BLOCK),
            *([_cut(p, c)] if c["cut"] or c["copied"] else []),
            *([copies.argument(of_a, made.lda, found)] if c["copied"] else []),
        )

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, _whole(config)
        cluster = c["cluster_m"] * c["cluster_n"]
        made = asked_of(p, c["exchange"])
        needed = int(tiles(made, c["tile_m"], c["tile_n"], c["cluster_m"], c["cluster_n"]))
        # Blocks without a tile copy, too.
        needed = max(needed, copies.blocks(made, c["copied"] * copies.OF_A) // cluster)
        return Launch(
            # Tiles that are cut may be fewer than those who share them.
            grid=(max(min(c["blocks"] // cluster, needed), cut_of(made, c).workers), cluster, 1),
            block=(THREADS, 1, 1),
            shared=int(shared_bytes(c["tile_m"], c["tile_n"], c["stages"], c["outs"])),
            cluster=cluster,
            overlap=bool(c["overlap"]),
        )


def _whole(config: Config) -> Config:
    """A config that may have been recorded before operands were copied."""
    return Config({"copied": 0, "behind": 0, **config})


def _cut(p: Problem, c: Config) -> Struct:
    """Which tiles are cut, and the workspace where their sums meet and copies lie."""
    copy = _copy(p, c)
    found = cut_of(asked_of(p, c["exchange"]), c)
    return cuts.argument(found, Workspace("workspace", copy.size, copy.front))


def _copy(p: Problem, c: Config) -> copies.Copy:
    """Where a copy lies, behind sums of tiles that are cut."""
    made = asked_of(p, c["exchange"])
    sums = room_for_sums(c, cut_of(made, c).workers) if c["cut"] else 0
    return copies.placed(made, c["copied"] * copies.OF_A, sums)
