"""Batches of products of middle size without gaps, one to a block: space, choice and launch of single.

Where memory is the bound, a product should cost its threads nothing but multiplication: matrices come into
shared memory and leave it by bulk copies (compute capability 9.0), whatever their sizes and addresses. A ring
of stages in each block, as ``middle`` has, keeps room for what is on its way and needs all threads at each of
its turns. Here the rooms are blocks: an SM holds as many products as fit, some on their way, some multiplied,
some leaving, and the hardware sees to it that they take turns (the aggregation of I. Masliah et al. (2018),
section 4, by residency).

    mma      rows of a tensor-core product (float64), 0 without tensor cores (float32)
    rows, columns   of the part of C that a thread computes (with ``mma``: a warp)
    deep     k of one read of an operand that is stored along k (without ``mma``)
    early    1: C has a place of its own, so that the next A and B come before it is written
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over all products
    per_block   or end after so many of them (``grids``)

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from functools import partial

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import args, grids
from tilewright.stencils.cuda.accepting import CudaStencil, no_bulk_copies, other_type, unserved
from tilewright.stencils.cuda.common import of_configs, units
from tilewright.stencils.cuda.middle.needs import TYPES
from tilewright.stencils.cuda.single.cost import best, cost
from tilewright.stencils.cuda.single.needs import is_packed, shared_bytes, warps
from tilewright.stencils.cuda.single.space import params, rules
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import Argument

LEAST, LARGEST = 33, 160
"""The shortest extent of which a product needs two, and the longest of all: shorter ones are kept whole by
other stencils, several to a block, and of longer ones an SM has no room."""
ROOMS = 2
"""Products that an SM has room for, at least: one comes while another one is multiplied."""


class SingleStencil(CudaStencil):
    """``single``: products of middle size, one to a block, as the five functions of the protocol."""

    name = "single"
    size_specific = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := unserved(p, device) or other_type(p, TYPES) or no_bulk_copies(device):
            return reason
        if sorted(p.extents)[1] < LEAST or max(p.extents) > LARGEST:
            return f"{p.m}x{p.n}x{p.k} has not two extents of {LEAST} or more, or one above {LARGEST}"
        if not is_packed(p):
            return "a matrix has gaps, or products share one"
        if ROOMS * (int(shared_bytes(p, 16, 16)) + device["shared_reserved"]) > device["shared_per_sm"]:
            return f"{p.m}x{p.n}x{p.k} is so large that an SM has no room for {ROOMS} products"
        return None

    def needs_record(self, problem: Problem) -> bool:
        # Libraries have good kernels for some of these sizes: only what was measured is known to be better.
        return True

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        found = best(self.space(problem, device), problem, device)
        return grids.ended(problem, device, found, problem.batch, grids.FEWEST)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        defines = asked(p) | {f"SIZE_{x}": extent for x, extent in zip("MNK", p.extents, strict=True)}
        defines |= {f"UNIT_{x}": u for x, u in zip("ABC", units(p), strict=True)}
        defines |= persistent(config, device)
        return written("single", defines)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        return args.gemm(problem)

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        part = c["rows"], c["columns"]
        return Launch(
            grid=(grids.launched(c, p.batch), 1, 1),
            block=(32 * int(warps(p, *part)), 1, 1),
            shared=int(shared_bytes(p, *part, c["early"])),
        )
