"""Large products of 16-bit matrices, or of float32 as tf32, by warp groups with roles.

Large products are bound by what tensor cores multiply and by the power that moving bytes takes. So tiles are
as large as registers allow, copies pass no register, two blocks share what comes of one operand, and tiles
that run at the same time share rows and columns in the second-level cache: the persistent loop of V. Thakkar
et al., "CUTLASS" (2023), and of P. Shankhdhar, "Outperforming cuBLAS on H100" (2024).

    tile_m, tile_n   of C
    ping_pong  whether each of two warp groups multiplies tiles of its own, else half of the columns of each
    cluster_m, cluster_n   blocks that share what comes of B, of A
    cluster_k  blocks that share the slices of a tile, and add their sums in each other's shared memory: of
               products with fewer tiles than there are blocks for, of 16 bits
    stages   slices of 128 bytes along k in shared memory
    outs     boxes of C of each group in shared memory, 128 bytes high and 64 columns wide
    overlap  whether blocks make ready while the kernel before them in the stream ends
    band     columns of C in which tiles are near each other in time
    backwards  whether every other tile of a block runs backwards along k
    blocks   of the whole grid: they stay and walk over the tiles
    cut      along k: 0 no tile, 1 those of the last two waves, so that all blocks have as much to do; more:
             those of the last wave, each in so many equal parts, while there are blocks. Parts meet in device
             memory and are added in a fixed order
    lanes    which operand of tf32 that runs across k comes into registers as fragments, and is not turned:
             0 none, 1 B, 2 A
    copied   which operand of tf32 that runs across k is copied along k into the workspace, by the same
             launch: 0 none, 1 B, 2 A
    behind   whether what the first tiles do not need of it is copied while these are multiplied

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import copies, cuts
from tilewright.stencils.cuda.accepting import no_warp_groups, unserved
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.large import LargeStencil, mapped, misplaced, product, unfit, untold
from tilewright.stencils.cuda.source import ARGUED, asked, chosen, written
from tilewright.stencils.cuda.warpgroup.cost import best, clocks, liked
from tilewright.stencils.cuda.warpgroup.needs import (
    BLOCK,
    LINE,
    SHARED,
    THREADS,
    clusters_of,
    cut_of,
    lines,
    loose,
    shared_bytes,
    slice_of,
    tiles,
    workspace_bytes,
)
from tilewright.stencils.cuda.warpgroup.space import params, rules
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import (
    A,
    Argument,
    B,
    C,
    Struct,
    Workspace,
)

COLUMNS = 1024
"""Columns of C for which a config is chosen that must not depend on how many there are."""
SMALLEST = 16
"""Extents below which most of a tile would be empty."""
NARROW = 256
"""Rows or columns of C up to which columns of 16 bits may begin anywhere: where there are more, copies of
operands (``unaligned``) take little beside the product."""
LARGEST = 2**30
"""Extents, and tiles of a product."""


class WarpGroupStencil(LargeStencil):
    """``warpgroup``: one large product of 16 bits or tf32, as the five functions of the protocol."""

    name = "warpgroup"
    maths = ("ieee", "tf32")

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if p.dtype.letter not in ("h", "b") and (p.dtype.letter, p.math) != ("s", "tf32"):
            return f"type {p.dtype.letter} in {p.math} is not one of h, b, s in tf32"
        return (
            unserved(p, device)
            or no_warp_groups(device)
            or unfit(p, SMALLEST, LARGEST, BLOCK)
            or (misplaced(p) if p.dtype.itemsize > 2 or min(p.m, p.n) > NARROW else None)
        )

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def steady(self, problem: Problem, device: Device) -> Config | str:
        # A tile is multiplied in the order of k if it is not cut and no other goes backwards. Beyond the last
        # column of C boxes hold zeros, so that there may be fewer columns than a tensor map is worth. Nothing
        # stands in for such a kernel, so that it asks for no workspace. Columns may begin anywhere only where
        # there are few, and what runs must not depend on how many.
        p = replace(problem, n=max(problem.n, SMALLEST))
        if reason := self.accepts(p, device) or misplaced(p) or self.runs(device):
            return reason
        many = replace(p, n=COLUMNS)
        space = self.space(many, device).restricted(cut=0, copied=0, cluster_k=1)
        return best(space, many, device).with_(backwards=0)

    def starts(self, problem: Problem, device: Device) -> Sequence[Config]:
        return liked(self.space(problem, device), problem, device, cuts.STARTS)[1:]

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(lambda columns: clocks(problem, device, columns))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        c = _whole(config)
        named = zip(("LOOSE_A", "LOOSE_B", "LOOSE_C"), map(int, loose(problem)), strict=True)
        parts = asked(problem) | dict(named) | chosen(c, ARGUED)
        return written("warpgroup", parts | {"CUT": int(c["cut"] > 0)})

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, c = problem, _whole(config)
        along = slice_of(p)
        of_a, of_b = c["copied"] == copies.OF_A, c["copied"] == copies.OF_B
        inside = lines(p, c["tile_m"], c["tile_n"], c["cluster_m"], c["cluster_n"])
        inside_a, inside_b = (int(x) for x in inside)
        clipped = LINE * (c["tile_m"] // c["cluster_n"] - inside_a + c["tile_n"] // c["cluster_m"] - inside_b)
        lines_a = inside_a if p.transposed_a or of_a else along
        lines_b = along if p.transposed_b and not of_b else inside_b
        a, b, out = p.stored
        found = _copy(p, c)
        return (
            product(p, p.ldc, c["band"] // (c["tile_n"] * c["cluster_n"]), clipped),
            copies.map_of(p, A, p.m, lines_a, found) if of_a else _operand(p, A, a, p.lda, lines_a),
            copies.map_of(p, B, p.n, lines_b, found) if of_b else _operand(p, B, b, p.ldb, lines_b),
            untold(C, p.ldc)
            if any(loose(p))
            else mapped(p, C, out, p.ldc, along if c["lanes"] == 2 else BLOCK),
            *([_cut(p, c)] if c["cut"] or c["copied"] else []),
            *([copies.argument(A, p.lda, found)] if of_a else []),
            *([copies.argument(B, p.ldb, found)] if of_b else []),
        )

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, _whole(config)
        shared, cluster = c["cluster_m"] * c["cluster_n"], c["cluster_m"] * c["cluster_n"] * c["cluster_k"]
        needed = int(tiles(p, c["tile_m"], c["tile_n"], c["cluster_m"], c["cluster_n"]))
        # Blocks without a tile copy, too.
        needed = max(needed, copies.blocks(p, c["copied"]) // shared)
        return Launch(
            # Tiles that are cut may be fewer than those who share them.
            grid=(max(min(clusters_of(c), needed), cut_of(p, c).workers), cluster, 1),
            block=(THREADS, 1, 1),
            shared=int(shared_bytes(*(c[name] for name in SHARED))),
            cluster=cluster,
            overlap=bool(c["overlap"]),
        )


def _operand(
    p: Problem, operand: int, stored: tuple[int, int], leading: int | None, columns: int
) -> Argument:
    """The map of an operand, or where it is that has none."""
    return untold(operand, leading) if loose(p)[operand] else mapped(p, operand, stored, leading, columns)


def _whole(config: Config) -> Config:
    """A config that may have been recorded before tiles were cut and operands came into registers or were
    copied."""
    return Config({"cut": 0, "lanes": 0, "copied": 0, "behind": 0, "cluster_k": 1, **config})


def _cut(p: Problem, c: Config) -> Struct:
    """Which tiles are cut, and the workspace where their sums meet and copies lie."""
    copy = _copy(p, c)
    return cuts.argument(cut_of(p, c), Workspace("workspace", copy.size, copy.front))


def _copy(p: Problem, c: Config) -> copies.Copy:
    """Where a copy lies, behind sums of tiles that are cut."""
    sums = workspace_bytes(c, cut_of(p, c).workers) if c["cut"] else 0
    return copies.placed(p, c["copied"], sums)
