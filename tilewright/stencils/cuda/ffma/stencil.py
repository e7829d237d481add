"""Large products in float32, real and complex, without tensor cores.

An SM begins one multiply-add of a warp on each scheduler in a clock, and whatever else a warp does takes
one of these places. So copies are one request for an operand and slice, by a warp of its own, a thread sums
as much as its registers allow, and reads 16 bytes at a time that other lanes read, too. The tiles of
registers are those of S. Boehm, "How to optimize a CUDA matmul kernel" (2022), the roles those of CUTLASS
(V. Thakkar et al., 2023).

    rows, columns   of C that a thread sums
    lanes_m  lanes of a warp side by side in m
    warps_m  of the eight warps that multiply, those side by side in m
    depth    elements along k of a slice
    stages   slices in shared memory
    band     columns of C in which tiles are near each other in time
    blocks   of the whole grid: they stay and walk over the tiles
    cut      into how many parts along k tiles go that leave blocks idle: 0 none, 1 as many as make all blocks
             equally busy, else so many, of the last wave alone
    a_first  whether numbers of A are read before those of B: so the compiler finds other registers
    products real ones that complex products are made of: 4, or 3 of sums of their parts
    overlap  whether blocks make ready while the kernel before them in the stream ends
    turned   whether real operands that lie along k are turned in shared memory, and not before, by way of
             device memory

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import cuts
from tilewright.stencils.cuda.accepting import other_type, unserved
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.ffma.cost import best, clocks, liked
from tilewright.stencils.cuda.ffma.needs import (
    IN_FRONT,
    PIECE,
    THREADS,
    arranged,
    kept_bytes,
    packed_bytes,
    planes,
    shared_bytes,
    tile_m,
    tile_n,
    tiles,
)
from tilewright.stencils.cuda.ffma.space import params, rules
from tilewright.stencils.cuda.large import LINE, LargeStencil, matrices, misplaced, products, unfit
from tilewright.stencils.cuda.source import ARGUED, asked, chosen, written
from tilewright.stencils.cuda.warpgroup.needs import Cut
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import (
    A,
    Argument,
    B,
    Pointer,
    Scalar,
    Struct,
    TensorMap,
    Workspace,
)

SMALLEST = 17
"""Extents below which most of a tile would be empty."""
LARGEST = 2**29
"""Extents of a product; coordinates count real numbers."""


class FfmaStencil(LargeStencil):
    """``ffma``: large products in float32, as the five functions of the protocol."""

    name = "ffma"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := other_type(p, ("s", "c")) or unserved(p, device):
            return reason
        if "tma" not in device.supports or "wgmma" not in device.supports:
            return "the device has no tensor maps for warps with registers to give (9.0 alone)"
        if p.batch > 1 and p.dtype.is_complex:
            return "parts of complex numbers are packed of one product"
        return unfit(p, SMALLEST, LARGEST, 16, batches=True) or misplaced(p)

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
        how = {"BATCHED": int(problem.batch > 1)}
        return written("ffma", asked(problem) | how | chosen(c, ARGUED) | {"CUT": int(c["cut"] > 0)})

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, c = problem, _whole(config)
        down, across = _tile(c)
        arranges = arranged(p)
        return (
            products(p, c["band"], across),
            *_workspace(p, c),
            *([] if arranges[A] and not c["turned"] else [_map(p, A, p.m, down, c["depth"], arranges[A])]),
            *([] if arranges[B] and not c["turned"] else [_map(p, B, p.n, across, c["depth"], arranges[B])]),
        )

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, _whole(config)
        down, across = _tile(c)
        return Launch(
            # Tiles that are cut may be fewer than those who share them.
            grid=(max(min(c["blocks"], int(tiles(p, down, across))), _found(p, c).workers), 1, 1),
            block=(THREADS, 1, 1),
            shared=int(shared_bytes(down, across, c["depth"], c["stages"])),
            overlap=bool(c["overlap"]),
        )


def _whole(config: Config) -> Config:
    """A config that may have been recorded before anything was turned in shared memory, and before blocks
    made ready early."""
    return Config({"turned": 0, "overlap": 0, **config})


def _tile(config: Config) -> tuple[int, int]:
    """Rows and columns of a tile of C."""
    c = config
    return int(tile_m(c["rows"], c["lanes_m"], c["warps_m"])), int(
        tile_n(c["columns"], c["lanes_m"], c["warps_m"])
    )


def _found(p: Problem, c: Config) -> Cut:
    """The tiles that a config cuts."""
    return cuts.cut_of(int(tiles(p, *_tile(c))), c["blocks"], -(-p.k // c["depth"]), c["cut"])


def _workspace(p: Problem, c: Config) -> tuple[Struct, Struct]:
    """Which operands are packed and which tiles are cut, and the workspace: how far the packing has come, the
    sums of tiles that are cut, what is packed of A and of B, and parts of complex tiles."""
    down, across = _tile(c)
    found = _found(p, c)
    at_a = IN_FRONT + cuts.met_bytes(found, 1, down * across * p.dtype.itemsize)
    of_a, of_b = (int(x) for x in packed_bytes(p, down, across, c["depth"], c["products"], c["turned"]))
    at_kept = at_a + of_a + of_b
    planes_a, planes_b = (int(x) for x in planes(c["products"]))
    places = {"lda": p.lda or 0, "ldb": p.ldb or 0, "at_a": at_a, "at_b": at_a + of_a, "at_kept": at_kept}
    places |= {"plane_a": of_a // planes_a // 4, "plane_b": of_b // planes_b // 4}
    numbers = (Scalar(name, "q", value) for name, value in places.items())
    packed = Struct("Packs", (Pointer("a", A), Pointer("b", B), *numbers))
    zeros = IN_FRONT if of_a + of_b else 0
    size = at_kept + kept_bytes(p, c["blocks"], down, across)
    needed = Workspace("workspace", size, zeros) if zeros or c["cut"] else None
    return packed, cuts.argument(found, needed)


def _map(p: Problem, operand: int, across: int, tile: int, depth: int, turned: bool) -> TensorMap:
    """An operand as it is stored, in boxes of a tile at so many k: lines of the tile, or where it is turned
    lines along k."""
    step = ((p.lda, p.ldb)[operand] or 0) * p.dtype.itemsize
    extents, box = (across, p.k), (tile, depth, 1)
    if turned:
        extents, box = (p.k, across), (PIECE, tile, 1)
    count, apart = matrices(p, operand, step * extents[1])
    return TensorMap(
        f"map_{'ab'[operand]}",
        operand,
        "float32",
        (*extents, count),
        (step, apart),
        box,
        swizzle=LINE if turned else 0,
        promotion=LINE,
    )
