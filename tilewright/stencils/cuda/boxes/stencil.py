"""Batches of 16-bit matrices with aligned columns, by tensor maps and warp groups: space, choice and launch.

Batches of matrices of 33 to 256 rows are read and written once, and of 256 rows multiplied at half the rate
of tensor cores meanwhile, so copies that pass no register feed products that read shared memory by
themselves: the loop that V. Thakkar et al., "CUTLASS" (2023), and others use for single large products on
compute capability 9.0, with a store of its own and tiles of many products one after the other.

    tile_m, tile_n   of C; a warp group has 64 columns of it
    stages   slices of 64 along k in shared memory
    kept     tiles of C in shared memory
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over the tiles

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda.accepting import CudaStencil, no_warp_groups, other_type, unserved
from tilewright.stencils.cuda.boxes.cost import SECTOR, best
from tilewright.stencils.cuda.boxes.needs import SLICE, shared_bytes, threads, tiles
from tilewright.stencils.cuda.boxes.space import params, rules
from tilewright.stencils.cuda.common import WIDEST, units
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.targets.cuda.arguments import A, Argument, B, C, Scalar, Struct, TensorMap

SMALLEST, LARGEST = 33, 256
"""Extents, of which other ones were not measured."""
MOST = 2**30
"""Tiles of a batch."""
FAR = 2**40
"""Bytes from one matrix to the next that no tensor map has."""


class BoxesStencil(CudaStencil):
    """``boxes``: products of 16-bit matrices by boxes of tensors, as the five functions of the protocol."""

    name = "boxes"
    # Records of other sizes say little: the library has its good ones, and tiles here follow the size.
    size_specific = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := other_type(p, ("h", "b")) or unserved(p, device) or no_warp_groups(device):
            return reason
        if min(p.m, p.n, p.k) < SMALLEST or max(p.m, p.n, p.k) > LARGEST:
            return f"{p.m}x{p.n}x{p.k} has an extent that is not from {SMALLEST} to {LARGEST}"
        if min(units(p)) < WIDEST:
            return "a column or a matrix does not begin at a multiple of 16 bytes"
        if p.m * p.dtype.itemsize % WIDEST:
            return "columns of C end inside words of 16 bytes, and boxes are written whole"
        if sum((ld or 0) % SECTOR != 0 for ld in (p.lda, p.ldb, p.ldc)) > 1:
            return "columns of two matrices begin inside sectors of 32 bytes, which take boxes twice as long"
        if min(p.strides) < 0 or max(p.strides) * p.dtype.itemsize >= FAR:
            return "matrices go backwards, or lie 2^40 bytes apart"
        if p.batch > 1 and p.strides[2] < (p.ldc or 0) * (p.n - 1) + p.m:
            return "products would be written over each other"
        if p.batch * tiles(p, 64, 64) > MOST:
            return f"a batch of {p.batch} has more than 2^30 tiles"
        return None

    def needs_record(self, problem: Problem) -> bool:
        """Where nothing was measured the library is the better guess."""
        return True

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        defines = asked(problem) | persistent(config, device)
        defines["ALL_M"] = int(config["tile_m"] >= problem.m)
        return written("boxes", defines)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p = problem
        steps = (Scalar(f"step_{x}", "i", int(s > 0)) for x, s in zip("ab", p.strides, strict=False))
        sizes = (Scalar(x, "i", getattr(p, x)) for x in ("m", "n", "k", "batch"))
        a, b, _ = p.stored
        return (
            Struct("Products", (*sizes, *steps, Scalar("alpha", "2d"), Scalar("beta", "2d"))),
            _map(p, A, a, config["tile_m"] if p.transposed_a else SLICE),
            _map(p, B, b, SLICE if p.transposed_b else config["tile_n"]),
            _map(p, C, (p.m, p.n), config["tile_n"]),
        )

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        return Launch(
            grid=(min(c["blocks"], p.batch * int(tiles(p, c["tile_m"], c["tile_n"]))), 1, 1),
            block=(threads(c["tile_n"]), 1, 1),
            shared=int(shared_bytes(p, c["tile_m"], c["tile_n"], c["stages"], c["kept"])),
        )


def _map(p: Problem, operand: int, stored: tuple[int, int], columns: int) -> TensorMap:
    """All matrices of an operand as one tensor, in boxes of 64 rows and so many columns."""
    rows, cols = stored
    size, stride = p.dtype.itemsize, p.strides[operand]
    leading = (p.lda, p.ldb, p.ldc)[operand] or 0
    return TensorMap(
        f"map_{'abc'[operand]}",
        operand,
        p.dtype.name,
        (rows, cols, p.batch if stride else 1),
        (leading * size, (stride or leading * cols) * size),
        (SLICE, columns, 1),
        swizzle=128,
        # Where boxes begin inside lines of memory L2 would fetch too many of these: 72 x 72 x 72 was at
        # 0.74 of a copy in place of 0.67 on an H200.
        promotion=128 if leading % SLICE or stride % SLICE else 256,
    )
