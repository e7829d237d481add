"""Batches of products whose k is long, and of matrices times vectors or a few of them: the space, the choice
and the launch of inner.

Gram matrices, reductions over grid points and gradients of small weights multiply a wide matrix by a tall
one: what is read is long and what is written small. It is the panel dot product of K. Goto and R. van de
Geijn ("Anatomy of high-performance matrix multiplication" (2008), section 4), and memory sets its pace as it
does for very small matrices (I. Masliah et al. (2018), section 3). A matrix times a vector is served where m
(or n) and k are both long, too, and so is one alone times up to 64 vectors: the matrix is read once, and what
it is multiplied with comes from the cache.

    path     "async" or "bulk": how slabs come into shared memory, by words of all threads or by bulk copies
    mma      rows of a tensor-core product, 0 for multiply-add units
    tile     rows (columns) of a tile of C where that extent is long, else 0: C is one tile
    depth    k of a slab, at most; k is an argument of the kernel, cut into pieces of nearly one length
    rows, columns   of the part of C that a thread computes (with ``mma``: a warp, by tensor cores)
    warps    of a block; what they are more than the parts ask for splits k among them
    stages   slabs in shared memory: one is multiplied, the others are on their way
    split    blocks of a cluster that share the k of a tile, where there are fewer tiles than fill the device
    spread   clusters (or blocks, if split is 1) that share it, too, through a workspace in device memory
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over all tiles of the batch

Sums of several lanes, warps, blocks and clusters are added in an order that config and k alone decide, so
results do not vary from run to run.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import args
from tilewright.stencils.cuda.accepting import CudaStencil, unserved
from tilewright.stencils.cuda.common import of_configs, units
from tilewright.stencils.cuda.inner.cost import best, cost
from tilewright.stencils.cuda.inner.needs import (
    LARGEST,
    PATHS,
    extents,
    length,
    long,
    shared_bytes,
    streams,
    tiles,
    unit_k,
    workspace_bytes,
)
from tilewright.stencils.cuda.inner.space import DEPTHS, TILES, params, rules
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import Argument, Workspace


class InnerStencil(CudaStencil):
    """``inner``: products along a long k, as the five functions of the protocol."""

    name = "inner"
    size_specific = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := unserved(p, device):
            return reason
        if p.k <= LARGEST:
            return f"k = {p.k} is not above {LARGEST}"
        if min(p.m, p.n) > LARGEST:
            return f"{p.m}x{p.n} has both extents above {LARGEST}"
        if length(p) > LARGEST and min(p.m, p.n) > 1 and p.products > 1:
            return f"a batch of {p.m}x{p.n}, neither within {LARGEST}x{LARGEST} nor a vector"
        if p.batch * -(-length(p) // TILES[0]) >= 2**30:
            return f"a batch of {p.batch} has 2^30 tiles or more"
        if max(p.lda or 0, p.ldb or 0) * p.dtype.itemsize >= 2**31 or p.k >= 2**31 - DEPTHS[-1]:
            return "columns are 2^31 bytes apart, or k is 2^31 or close to it"
        return None

    def needs_record(self, problem: Problem) -> bool:
        # The library is good along a long k where m and n are large, and bad where they are small.
        return True

    def compiled(self, problem: Problem) -> dict[str, Any]:
        # What is long is an argument.
        found = {**problem.compiled, "k": "long", "unit_k": unit_k(problem)}
        return found | ({("mn"[long(problem) - 1]): "long"} if long(problem) else {})

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        m, n = extents(p, config["tile"])
        defines = asked(p) | {"LONG": long(p), "TILE_M": m, "TILE_N": n, "UNIT_K": unit_k(p)}
        for x, unit, stream in zip("AB", units(p), streams(p), strict=False):
            defines |= {f"UNIT_{x}": unit, f"STREAM_{x}": int(stream)}
        defines |= persistent(config, device, ("tile",))
        defines["PATH"] = 1 + PATHS.index(config["path"])
        defines["SPREAD"] = int(config["spread"] > 1)
        return written("inner", defines)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        size, counters = workspace_bytes(problem, config["tile"], config["split"], config["spread"])
        space = (Workspace("workspace", int(size), int(counters)),) if config["spread"] > 1 else ()
        return *args.gemm(problem), *space

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        shares = c["split"] * c["spread"]
        sizes = ("path", "mma", "tile", "depth", "rows", "columns", "warps", "stages")
        return Launch(
            grid=(max(1, min(c["blocks"] // shares, int(tiles(p, c["tile"])))), shares, 1),
            block=(32 * c["warps"], 1, 1),
            shared=int(shared_bytes(p, *(c[name] for name in sizes))),
            cluster=c["split"],
        )
