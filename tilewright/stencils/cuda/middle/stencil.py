"""Batches of products of middle size, extents of some 33 to 160: space, choice and launch of middle.

Such a product is too large to be kept whole by a thread or a warp, and too small to fill a multiprocessor for
long: a library's kernel for large products rounds it up to its tiles and waits for memory at its beginning
and its end. Here persistent blocks take one product, or a tile of one, after the other, and a ring of slices
runs on from one to the next (the pipelined batches of I. Masliah et al. (2018), section 4, of more than one
slice). The parts of C in registers are those of J. Kurzak et al. (2012), section 3.

    tile_m, tile_n   rows and columns of a tile of C: all of them, or nearly equal pieces
    depth    columns of op(A) and rows of op(B) that are in a stage
    mma      rows of a tensor-core product (float64), 0 without tensor cores (float32)
    rows, columns   of the part of C that a thread computes (with ``mma``: a warp)
    deep     k of one read of an operand that is stored along k (without ``mma``)
    stages   slices in shared memory: one is multiplied, the others are on their way
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over all tiles of the batch
    per_block   or end after so many of them (``grids``)

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from functools import partial

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import args, grids
from tilewright.stencils.cuda.accepting import CudaStencil, other_type, unserved
from tilewright.stencils.cuda.common import of_configs, units
from tilewright.stencils.cuda.middle.cost import best, cost, ended
from tilewright.stencils.cuda.middle.needs import TYPES, divided, items, shared_bytes, warps
from tilewright.stencils.cuda.middle.space import LARGEST, OF_LONG, params, rules
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import Argument

LEAST = 33
"""The shortest extent of which a product needs two: shorter ones are kept whole by other stencils."""


LONG = 64
"""The longest of the other two extents where m or n is above ``LARGEST``."""


class MiddleStencil(CudaStencil):
    """``middle``: products of middle size, as the five functions of the protocol."""

    name = "middle"
    size_specific = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := unserved(p, device) or other_type(p, TYPES):
            return reason
        _, second, third = sorted(p.extents)
        if second < LEAST:
            return f"{p.m}x{p.n}x{p.k} has not two extents of {LEAST} or more"
        if max(second, p.k) > LARGEST or (third > LARGEST and second > LONG):
            return f"{p.m}x{p.n}x{p.k} has an extent above {LARGEST} that is k, or not alone above {LONG}"
        if p.batch * divided(p.m, OF_LONG[0] // 2) * divided(p.n, OF_LONG[0] // 2) >= 2**30:
            return f"a batch of {p.batch} has 2^30 tiles or more"
        if (p.ldc or 0) * LARGEST >= 2**31:
            return "distances within C are counted in 32 bits, which its leading dimension is too large for"
        return None

    def needs_record(self, problem: Problem) -> bool:
        # Libraries have good kernels for some of these sizes: only what was measured is known to be better.
        return True

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return ended(problem, device, best(self.space(problem, device), problem, device))

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        defines = asked(p) | {f"SIZE_{x}": extent for x, extent in zip("MNK", p.extents, strict=True)}
        defines |= {f"UNIT_{x}": u for x, u in zip("ABC", units(p), strict=True)}
        defines |= persistent(config, device)
        return written("middle", defines)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        return args.gemm(problem)

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        tile = c["tile_m"], c["tile_n"]
        return Launch(
            grid=(grids.launched(c, int(items(p, *tile))), 1, 1),
            block=(32 * int(warps(p, *tile, c["rows"], c["columns"])), 1, 1),
            shared=int(shared_bytes(p, *tile, c["depth"], c["rows"], c["columns"], c["stages"])),
        )
