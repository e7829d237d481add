"""Batches whose matrices lie element beside element, on a GPU: the space, the choice and the launch.

A thread computes the products of neighbouring matrices, so that every access of a warp is one run of bytes
whatever the sizes: the compact format of K. Kim et al., "Designing vector-friendly compact BLAS and LAPACK
kernels" (SC 2017), with the threads of a warp for the lanes of a vector. Memory sets the pace:

    lanes    neighbouring matrices of a thread: the bytes of an access
    strided  these are 32 apart, so that runs may begin at any element
    rows, columns   of the part of C that a thread sums in registers
    team     threads that have the same matrices and other parts of their C
    warps    of a block, side by side
    unroll_k steps along k whose loads are written out together
    staged   a C whose matrices lie apart leaves through shared memory (1), by one bulk copy (2)
    ahead    a block first asks the second-level cache for all that it will read
    stages, depth   of a ring in shared memory that A and B come through, and steps along k of a stage
    bulk     the rows of the ring come by bulk copies, to blocks that stay
    group    packs of a stage of a ring that whole packs come through, by bulk copies
    padded   these packs begin in different banks
    members  matrices of a group that tensor cores multiply, of 16-bit types
    blocks   of the whole grid, in multiples of the SMs, that stay and walk over groups
    per_block   or end after so many of them (``grids``)

Sizes are in elements, shared memory in bytes.
"""

from __future__ import annotations

from functools import partial

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.accepting import CudaStencil, misaligned, no_gpu
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.interleaved.cost import best, cost
from tilewright.stencils.cuda.interleaved.needs import (
    BLOCK,
    LARGEST,
    MOST,
    held,
    layout,
    orders,
    shared_bytes,
    shares,
)
from tilewright.stencils.cuda.interleaved.space import is_scattered, params, rules
from tilewright.stencils.cuda.source import asked, chosen, written
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import A, Argument, B, C, Field, Pointer, Scalar, Struct


class InterleavedStencil(CudaStencil):
    """``interleaved``: one thread for neighbouring matrices, as the five functions of the protocol."""

    name = "interleaved"
    interleaved = True
    size_specific = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := no_gpu(device):
            return reason
        if min(p.m, p.n, p.k, p.batch) < 1:
            return "there is nothing to multiply"
        if max(p.m, p.n, p.k) > LARGEST:
            return f"{p.m}x{p.n}x{p.k} has an extent above {LARGEST}"
        if p.m * p.n > MOST or p.m * p.k + p.k * p.n > 2 * MOST:
            return f"{p.m}x{p.n}x{p.k} has more elements than 16x16x16"
        if p.batch >= 2**31 - 2**16:
            return f"a batch of {p.batch} is 2^31 or close to it"
        if set(p.trans) & set("tc"):
            return f"op is {p.trans}; a transpose of interleaved matrices is another pair of strides, and n"
        if p.stride_a not in (0, 1) or p.stride_b not in (0, 1) or p.stride_a == p.stride_b == 0:
            return (
                f"the matrices of A and B are {p.stride_a} and {p.stride_b} elements apart, and not 1 (or 0)"
            )
        if is_scattered(p) and (p.beta != "0" or p.stride_c == 0):
            return "the matrices of C lie apart, and are read, or are one"
        return misaligned(p)

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        found = best(self.space(problem, device), problem, device)
        return grids.ended(problem, device, found, self._shares(problem, found), grids.FEWEST)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        defines = asked(p) | {
            "SIZE_M": p.m,
            "SIZE_N": p.n,
            "SIZE_K": p.k,
            "ALIGN": p.align,
            "PACKED": int(layout(p).pack > 0),
            "SHARED_A": int(p.stride_a == 0),
            "SHARED_B": int(p.stride_b == 0),
            "SCATTERED": int(is_scattered(p)),
            "PACK_SIZE": layout(p).pack if config["group"] or config["members"] else 0,
        }
        for name, by_columns in zip("ABC", (config["group"] and orders(p)) or (0, 0, 0), strict=True):
            defines[f"BY_COLUMNS_{name}"] = by_columns
        defines |= chosen(config)
        defines["BLOCKS"] = 1
        if config["stages"]:
            # Else the compiler makes room for more blocks than shared memory has, and spills for it.
            defines["BLOCKS"] = max(1, int(held(p, config, device)))
        return written("interleaved", defines)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, lying = problem, layout(problem)
        columns = p.lda or 0, p.ldb or 0, p.ldc or 0
        fields: tuple[Field, ...] = (
            *(Pointer(name, operand) for name, operand in (("a", A), ("b", B), ("c", C))),
            *(Scalar(f"row_{name}", "q", step) for name, step in zip("abc", lying.rows, strict=True)),
            *(Scalar(f"column_{name}", "q", step) for name, step in zip("abc", columns, strict=True)),
            *(Scalar(f"pack_{name}", "q", step) for name, step in zip("abc", lying.packs, strict=True)),
            Scalar("step_c", "q", p.strides[2]),
            Scalar("batch", "i", p.batch),
            Scalar("pack", "i", lying.pack),
            Scalar("alpha", "2d"),
            Scalar("beta", "2d"),
        )
        return (Struct("Interleaved", fields),)

    @staticmethod
    def _shares(p: Problem, c: Config) -> int:
        return int(shares(p, c["lanes"], c["warps"], c["group"], c["members"]))

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        blocks = self._shares(p, c)
        if c["blocks"]:
            blocks = grids.launched(c, blocks)
        shared = int(shared_bytes(p, *(c[name] for name in BLOCK)))
        return Launch(grid=(blocks, 1, 1), block=(32 * c["warps"] * c["team"], 1, 1), shared=shared)
