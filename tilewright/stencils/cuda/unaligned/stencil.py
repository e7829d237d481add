"""Large products of 16-bit matrices whose columns begin anywhere, by warp groups: space, choice and launch.

Tensor maps, which bring slices of operands to shared memory without a thread, want columns at multiples of 16
bytes. Odd leading dimensions and views that begin at odd elements have none of these. Such operands are
copied into a workspace where they do, by the same launch, and multiplied from there by a loop as that of
``warpgroup``; results leave by words of 4 bytes, wherever columns of C begin.

    tile_m, tile_n   of C
    stages   slices of 64 along k in shared memory
    band     columns of C in which tiles are near each other in time
    blocks   of the whole grid: they stay and walk over the tiles

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda.accepting import no_warp_groups, other_type, unserved
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.large import LargeStencil, mapped, misplaced, unfit
from tilewright.stencils.cuda.source import ARGUED, asked, chosen, written
from tilewright.stencils.cuda.unaligned.cost import best, clocks
from tilewright.stencils.cuda.unaligned.needs import (
    COUNTERS,
    SLICE,
    THREADS,
    TURNS,
    Copy,
    copied,
    copies,
    shared_bytes,
    tiles,
)
from tilewright.stencils.cuda.unaligned.space import params, rules
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

SMALLEST = 33
"""Extents below which most of a tile would be empty."""
LARGEST = 2**30
"""Extents, and tiles of a product."""
MOST = 2**31
"""Bytes of a workspace: two squares of 16-bit numbers of 23,170 rows."""


class UnalignedStencil(LargeStencil):
    """``unaligned``: one large product of 16 bits with columns anywhere, as the five functions of the
    protocol."""

    name = "unaligned"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        reason = other_type(p, ("h", "b")) or unserved(p, device) or no_warp_groups(device)
        if reason := reason or unfit(p, SMALLEST, LARGEST, SLICE):
            return reason
        if misplaced(p) is None:
            return "all columns begin at multiples of 16 bytes, which tensor maps bring as they are"
        if copies(p)[1] > MOST:
            return f"aligned copies of the operands take {copies(p)[1]} bytes, more than 2^31"
        return None

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(lambda columns: clocks(problem, device, columns))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        moves = {f"COPY_{name}": int(moves) for name, moves in zip("AB", copied(problem), strict=True)}
        return written("unaligned", asked(problem) | moves | chosen(config, ARGUED))

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, c = problem, config
        (a, b), size = copies(p)
        leading = zip("abc", (p.lda, p.ldb, p.ldc), strict=True)
        sizes = (Scalar(x, "i", getattr(p, x)) for x in ("m", "n", "k"))
        return (
            Struct(
                "Product",
                (
                    *(Pointer(name, operand) for name, operand in (("a", A), ("b", B), ("c", C))),
                    Workspace("space", size, COUNTERS),
                    *(Scalar(f"ld{name}", "q", ld or 0) for name, ld in leading),
                    *(Scalar(f"to_{name}", "q", copy.at) for name, copy in (("a", a), ("b", b))),
                    *sizes,
                    Scalar("band", "i", max(1, c["band"] // c["tile_n"])),
                    *(Scalar(f"parts_{name}", "I", copy.parts) for name, copy in (("a", a), ("b", b))),
                    Scalar("together", "I", max(1, (a.parts + b.parts) // (TURNS * c["blocks"]))),
                    Scalar("alpha", "2d"),
                    Scalar("beta", "2d"),
                ),
            ),
            _map(p, A, a, c["tile_m"] if p.transposed_a else SLICE),
            _map(p, B, b, SLICE if p.transposed_b else c["tile_n"]),
        )

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        # Blocks without a tile copy, too.
        (a, b), _ = copies(p)
        needed = max(int(tiles(p, c["tile_m"], c["tile_n"])), a.parts + b.parts)
        return Launch(
            grid=(min(c["blocks"], needed), 1, 1),
            block=(THREADS, 1, 1),
            shared=int(shared_bytes(c["tile_m"], c["tile_n"], c["stages"])),
        )


def _map(p: Problem, operand: int, copy: Copy, columns: int) -> TensorMap:
    """An operand as it is stored, or its copy in the workspace."""
    leading, space = copy.leading or (p.lda, p.ldb)[operand], copy.at if copy.parts else -1
    return mapped(p, operand, p.stored[operand], leading, columns, space)
