"""Batches of matrices up to a few hundred on tensor cores: space, choice and launch of tensor.cuh.

A. Abdelfattah, S. Tomov, J. Dongarra, "Matrix multiplication on batches of small matrices in half and
half-complex precisions" (2020): half and complex half, the latter in the standard layout of (re, im)
pairs; float64 by the same kernel. Its parameters keep their names:

    blk_m, blk_n, blk_k   the tile of C of a block and the depth of one step, of any size
    tc       the product that tensor cores are asked for: "16x16x16", "32x8x16", "8x32x16" by the wmma
             instructions that the paper had, "16x8x16" and those of float64 by mma, "64x8x16" by wgmma:
             four warps multiply together, and by any number of eights of columns at once
    dim_x, dim_y   the threads of a block while they read: dim_x along the stored columns, or the most that
             divides them; then they are regrouped into warps
    warps_m  warps of a matrix along m. The paper deals sub-tiles out one by one; in rectangles, what a
             warp has loaded is multiplied several times

and what later devices pay for:

    split    where a complex product is taken apart: "shared", into planes of re and im in shared memory
             (the paper's way), or "registers"; "none" for real types
    stages   steps in shared memory, all but one on their way; 1 is the paper's way: the next step waits in
             registers
    ahead    whether a warp loads the fragments of its next product before it multiplies those that it has
    early_c  whether what is read of C comes to shared memory while its tile is multiplied, or else to
             registers afterwards, as many words at a time as there is room for
    group    small matrices that share a block
    vec, vec_c   elements of one access to A and B, and to C
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over tiles and batch
    per_block   or end after so many tiles (``grids``)

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from functools import partial

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import args, grids
from tilewright.stencils.cuda.accepting import CudaStencil, misaligned, no_gpu, other_type, overwritten
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.stencils.cuda.tensor.cost import best, cost
from tilewright.stencils.cuda.tensor.needs import LARGEST, SHAPES, SPELLED, shared_bytes, tiles
from tilewright.stencils.cuda.tensor.space import params, rules
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import Argument


class TensorStencil(CudaStencil):
    """``tensor``: tiles of C on tensor cores, as the five functions of the protocol."""

    name = "tensor"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := other_type(p, SPELLED) or no_gpu(device):
            return reason
        if min(p.m, p.n, p.batch) < 1:
            return "there is nothing to compute"
        if max(p.m, p.n, p.k) > LARGEST:
            return f"{p.m}x{p.n}x{p.k} has an extent above {LARGEST}"
        if p.batch >= 2**31 - 2**16:
            return f"a batch of {p.batch} is 2^31 or close to it"
        return overwritten(p) or misaligned(p)

    def needs_record(self, problem: Problem) -> bool:
        """Untuned, it made 0.32 to 0.97 of cuBLAS on an H200, batches of 96 to 512 in float16 and float64."""
        return True

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        found = best(self.space(problem, device), problem, device)
        count = tiles(problem, found["blk_m"], found["blk_n"], found["group"])
        return grids.ended(problem, device, found, count)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        defines = asked(problem) | persistent(config, device)
        defines["TC"] = tuple(SHAPES).index(config["tc"])
        defines["SPLIT"] = int(config["split"] == "shared")
        return written("tensor", defines)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        return args.gemm(problem)

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        threads = c["dim_x"] * c["dim_y"]
        return Launch(
            grid=(grids.launched(c, tiles(p, c["blk_m"], c["blk_n"], c["group"])), 1, 1),
            block=(threads, 1, 1),
            shared=int(
                shared_bytes(
                    p,
                    c["tc"],
                    c["split"],
                    c["stages"],
                    c["early_c"],
                    (c["blk_m"], c["blk_n"], c["blk_k"]),
                    (threads // 32, c["group"], c["warps_m"]),
                )
            ),
        )
