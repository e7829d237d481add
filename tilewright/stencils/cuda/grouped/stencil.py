"""Many products of different sizes in one launch: the space, the choice, the launch and the descriptors of
grouped.cuh.

I. Masliah et al., "Algorithms and optimization techniques for high-performance matrix-matrix
multiplications of very small matrices" (2018): memory sets the pace of small matrices, so each passes
it once and whole products stay in shared memory (section 7). Their batches are of one size. Where sizes
differ, what is added is a matter of balance, and sizes are no constants:

    ring     bytes of shared memory of a team, in which products lie one after another; what is not
             multiplied is on its way
    depth    products of a team that lie there at most
    team     warps that share a product: several, where products are so large that few of them fit
    warps    of a block
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over the list
    rows, columns   elements of a lane in a warp's tile of C, which 8 lanes share along a column; smaller
             products are run by smaller tiles of the same kind
    deep     steps of k in one turn of the loop
    fine     1: a tile for each number of rows and columns; 2: for each number of rows; 0: whole tiles and
             halves, which is less code: each instruction is fetched once on every SM before it runs, and a
             launch takes 20 us
    mma      tensor cores multiply (float64 and 16 bits)
    bulk     operands without gaps come by bulk copies

The list is sorted, most work first, and dealt to the blocks back and forth, so that all get nearly the
same; what is left at the end is small. Sizes are in elements, shared memory in bytes.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tilewright.model import Config, Device, DType, GroupedProblem, Launch, Source
from tilewright.space import Space
from tilewright.stencils.cuda.accepting import CudaStencil, no_gpu
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.grouped.cost import best, cost
from tilewright.stencils.cuda.grouped.descriptors import struct_products
from tilewright.stencils.cuda.grouped.needs import LARGEST, LINE, fixed_bytes, largest, shared_bytes
from tilewright.stencils.cuda.grouped.space import params, rules
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import Argument


def products(
    dtype: DType, m: int, n: int, k: int, trans: str, count: int, *, alpha: str = "1", beta: str = "0"
) -> GroupedProblem:
    """The problem of a list of which all products have the largest extents m, n and k."""
    sizes = tuple(np.full(count, extent, np.int64) for extent in (m, n, k))
    align = min(LINE, dtype.itemsize)
    return GroupedProblem.of(dtype, trans, sizes, alpha=alpha, beta=beta, align=align)  # type: ignore[arg-type]


class GroupedStencil(CudaStencil):
    """``grouped``: lists of small products of different sizes, as the five functions of the protocol.

    Its argument is not ``struct Gemm`` but ``struct Products``: ``forms`` makes it, not a usual call.
    """

    name = "grouped"
    lists = True

    def accepts(self, problem: GroupedProblem, device: Device) -> str | None:
        p = problem
        if reason := no_gpu(device):
            return reason
        if min(p.m, p.n, p.batch) < 1:
            return "there is nothing to multiply"
        if max(p.m, p.n, p.k) > LARGEST:
            return f"{p.m}x{p.n}x{p.k} has an extent above {LARGEST}"
        if p.batch >= 2**30:
            return f"a list of {p.batch} products is 2^30 or more"
        if largest(p) + int(fixed_bytes(1, 2)) > device["shared_per_block_optin"]:
            return f"a product of {p.m}x{p.n}x{p.k} does not fit in shared memory"
        return None

    def space(self, problem: GroupedProblem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: GroupedProblem, device: Device) -> Config:
        return best(problem, device)

    def cost_model(self, problem: GroupedProblem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: GroupedProblem, config: Config, device: Device) -> Source:
        defines = asked(problem) | {"LARGEST": largest(problem)}
        defines |= {"LARGEST_M": problem.m, "LARGEST_N": problem.n}
        defines |= persistent(config, device)
        return written("grouped", defines)

    def arguments(self, problem: GroupedProblem, config: Config) -> tuple[Argument, ...]:
        return struct_products(problem.batch)

    def launch(self, problem: GroupedProblem, config: Config) -> Launch:
        c = config
        return Launch(
            grid=(min(c["blocks"], problem.batch), 1, 1),
            block=(32 * c["warps"], 1, 1),
            shared=int(shared_bytes(c["team"], c["warps"], c["ring"], c["depth"])),
            # Bulk copies came with the same compute capability. Back to back, lists of 10,000 products of up
            # to 32 took 1 to 2 us less (of 10 to 40) on an H200.
            overlap=bool(c["bulk"]),
        )
