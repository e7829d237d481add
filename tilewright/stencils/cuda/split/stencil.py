"""Batches of float32 and complex64 by tensor cores of bfloat16, as exact as float32 or coarser.

A number is split into bfloat16 parts, and a product of two numbers is the sum of the largest products of
their parts, as ``emulated`` says, which splits a large product before it multiplies. Here warps of their own
read operands from device memory, wherever columns begin, split them in registers, and leave planes of parts
in the ring from which warp groups multiply: nothing is written but C, and each tile is split anew.

    tile_m   rows of a tile of C, which has 128 columns
    stages   slices of planes in shared memory, of 64 along k
    band     columns of C, of all products side by side, in which tiles are near each other in time
    blocks   of the whole grid: they stay and walk over the tiles of all products

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from tilewright.model import EMULATED, MATH_TYPES, Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import cuts
from tilewright.stencils.cuda.accepting import CudaStencil, no_warp_groups, other_type, unserved
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.emulated.needs import TILE_N, real
from tilewright.stencils.cuda.source import ARGUED, asked, chosen, written
from tilewright.stencils.cuda.split.cost import best, clocks
from tilewright.stencils.cuda.split.needs import THREADS, across, shared_bytes, tiles_of, wide
from tilewright.stencils.cuda.split.space import params, rules
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import A, Argument, B, C, Pointer, Scalar, Struct

LARGEST = 2**29
"""Extents, and columns of the tiles of all products side by side."""
NOTHING = cuts.cut_of(0, 1, 1, 0)
"""The tiles that are cut along k."""


class SplitStencil(CudaStencil):
    """``split``: batches of float32 or complex64 as sums of bfloat16, as the five functions of the
    protocol."""

    name = "split"
    maths = tuple(EMULATED)

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if p.math not in EMULATED:
            return f"products in {p.math} are not made of bfloat16; {' and '.join(EMULATED)} are"
        reason = other_type(p, MATH_TYPES[p.math]) or unserved(p, device) or no_warp_groups(device)
        if reason:
            return reason
        if p.products == 1:
            return "one product; this is for batches, and emulated for large products alone"
        if max(p.extents) > LARGEST or across(p) * p.batch > LARGEST:
            return f"{p.batch} products of {p.m}x{p.n}x{p.k} side by side have more than {LARGEST} columns"
        return None

    def needs_record(self, problem: Problem) -> bool:
        """Where nothing was measured the numbers had better be multiplied as they are."""
        return True

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(lambda columns: clocks(problem, device, columns))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        # What tensor cores multiply is bfloat16, whatever memory holds.
        halves = {"TYPE_BITS": 16, "BRAIN": 1, "COMPLEX": 0, "PAIRS": int(problem.dtype.is_complex)}
        how = {"WIDE_A": int(wide(problem, 0)), "WIDE_B": int(wide(problem, 1))}
        return written("split", asked(problem) | chosen(config, ARGUED) | halves | how)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, c = problem, config
        leading = zip("abc", (p.lda, p.ldb, p.ldc), strict=True)
        strides = zip("abc", p.strides, strict=True)
        sizes = (
            ("m", p.m),
            ("n", across(p) * p.batch),
            ("k", real(p).k),
            ("band", max(1, c["band"] // TILE_N)),
            ("columns", real(p).n),
            ("across", across(p)),
        )
        return (
            Struct(
                "Product",
                (
                    *(Pointer(name, operand) for name, operand in (("a", A), ("b", B), ("c", C))),
                    *(Scalar(f"ld{name}", "q", ld or 0) for name, ld in leading),
                    *(Scalar(f"stride_{name}", "q", step or 0) for name, step in strides),
                    *(Scalar(name, "i", size) for name, size in sizes),
                    Scalar("alpha", "2d"),
                    Scalar("beta", "2d"),
                ),
            ),
            cuts.argument(NOTHING, None),
        )

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        return Launch(
            grid=(min(c["blocks"], int(tiles_of(p, c["tile_m"]))), 1, 1),
            block=(THREADS, 1, 1),
            shared=int(shared_bytes(c["tile_m"], c["stages"])),
        )
