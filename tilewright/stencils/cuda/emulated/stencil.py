"""Large products of float32 and complex64 by tensor cores of bfloat16, as exact as float32 or coarser.

A number is split into bfloat16 parts, of which each has what those before it leave: three hold all 24 bits of
a float32, two hold 16. A product of two numbers is the sum of the products of their parts, and the least of
these are left out: G. Henry, P. T. P. Tang and A. Heinecke, "Leveraging the bfloat16 artificial intelligence
datatype for higher-precision computations" (2019). The launch splits both operands into its workspace first,
wherever columns of theirs begin, and multiplies planes of parts from there by a loop as that of
``warpgroup``, in which a plane of a slice comes once for all products that it is a factor of. A product of
complex numbers is one of real ones with twice the k and twice the columns.

    tile_m   rows of a tile of C, which has 128 columns
    stages   slices of planes in shared memory, of 64 along k
    band     columns of C in which tiles are near each other in time
    blocks   of the whole grid: they stay, split, and walk over the tiles
    cut      along k: 0 no tile, 1 those of the last two waves, so that all blocks have as much to do; more:
             those of the last wave, in so many parts at most. Parts meet in device memory and are added in a
             fixed order

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import EMULATED, MATH_TYPES, Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import cuts
from tilewright.stencils.cuda.accepting import no_warp_groups, other_type, unserved
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.emulated.cost import best, clocks, liked
from tilewright.stencils.cuda.emulated.needs import (
    COUNTERS,
    SLICE,
    THREADS,
    TILE_N,
    Planes,
    cut_of,
    front_of,
    operands,
    planes_of,
    real,
    shared_bytes,
    tiles_of,
)
from tilewright.stencils.cuda.emulated.space import params, rules
from tilewright.stencils.cuda.large import LargeStencil, unfit
from tilewright.stencils.cuda.source import ARGUED, asked, chosen, written
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import (
    A,
    Argument,
    B,
    C,
    Pointer,
    Scalar,
    Struct,
    TensorMap,
    Workspace,
)

SMALLEST = 1
"""Extents from which it multiplies: nothing else does so, whatever of a tile is empty."""
LARGEST = 2**29
"""Extents, and tiles of a product."""
MOST = 2**33
"""Bytes of the workspace: two squares of 26,754 rows in three parts."""


class EmulatedStencil(LargeStencil):
    """``emulated``: one large product of float32 or complex64 as sums of bfloat16, as the five functions of
    the protocol."""

    name = "emulated"
    maths = tuple(EMULATED)

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if p.math not in EMULATED:
            return f"products in {p.math} are not made of bfloat16; {' and '.join(EMULATED)} are"
        reason = other_type(p, MATH_TYPES[p.math]) or unserved(p, device) or no_warp_groups(device)
        if reason := reason or unfit(p, SMALLEST, LARGEST, SLICE):
            return reason
        if (size := operands(p, 0)[2]) > MOST:
            return f"the parts of the operands take {size} bytes, more than 2^33"
        return None

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def starts(self, problem: Problem, device: Device) -> Sequence[Config]:
        return liked(self.space(problem, device), problem, device, cuts.STARTS)[1:]

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(lambda columns: clocks(problem, device, columns))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        # What tensor cores multiply is bfloat16, whatever memory holds.
        halves = {"TYPE_BITS": 16, "BRAIN": 1, "COMPLEX": 0, "PAIRS": int(problem.dtype.is_complex)}
        how = halves | {"CUT": int(config["cut"] > 0)}
        return written("emulated", asked(problem) | chosen(config, ARGUED) | how)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, c = problem, config
        a, b, size = operands(p, front_of(p, c))
        leading = zip("abc", (p.lda, p.ldb, p.ldc), strict=True)
        sizes = (Scalar(x, "i", getattr(real(p), x)) for x in ("m", "n", "k"))
        return (
            Struct(
                "Product",
                (
                    *(Pointer(name, operand) for name, operand in (("a", A), ("b", B), ("c", C))),
                    *(Scalar(f"ld{name}", "q", ld or 0) for name, ld in leading),
                    *(Scalar(f"to_{name}", "q", found.at) for name, found in (("a", a), ("b", b))),
                    *sizes,
                    Scalar("band", "i", max(1, c["band"] // TILE_N)),
                    Scalar("pieces_a", "I", a.pieces),
                    Scalar("pieces", "I", a.pieces + b.pieces),
                    Scalar("alpha", "2d"),
                    Scalar("beta", "2d"),
                ),
            ),
            _map(p, A, a, c["tile_m"] if p.transposed_a else SLICE),
            _map(p, B, b, SLICE if p.transposed_b else TILE_N),
            cuts.argument(cut_of(p, c), Workspace("workspace", size, COUNTERS)),
        )

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        # Blocks without a tile split, too.
        a, b, _ = operands(p, 0)
        needed = max(int(tiles_of(p, c["tile_m"])), a.pieces + b.pieces)
        return Launch(
            # Tiles that are cut may be fewer than those who share them.
            grid=(max(min(c["blocks"], needed), cut_of(p, c).workers), 1, 1),
            block=(THREADS, 1, 1),
            shared=int(shared_bytes(c["tile_m"], c["stages"])),
        )


def _map(p: Problem, operand: int, found: Planes, columns: int) -> TensorMap:
    """The planes of an operand in the workspace, in boxes of a line of rows and so many columns."""
    return TensorMap(
        f"map_{'ab'[operand]}",
        operand,
        "bfloat16",
        (found.rows, found.columns, planes_of(p)),
        (found.leading * 2, found.leading * 2 * found.columns),
        (SLICE, columns, 1),
        swizzle=128,
        promotion=256,
        space=found.at,
    )
