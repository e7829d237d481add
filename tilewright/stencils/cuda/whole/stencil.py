"""Batches of 16-bit matrices without padding, multiplied whole: space, choice and launch of whole.

A. Abdelfattah, S. Tomov, J. Dongarra, "Matrix multiplication on batches of small matrices in half and
half-complex precisions" (2020), multiply such batches by tiles of C; where columns begin at odd halves, what
is read by halves sets the pace. Here a whole matrix is read as one run of bytes, as very small ones are
(I. Masliah et al. (2018), section 3), and its columns are put in their places in shared memory. Columns that
begin with words of 16 bytes are multiplied from where they come: so tensor cores can read them, and a run has
no lines that begin inside others, as boxes of a tensor have. Complex half is pairs of rows, and products with
both parts of B (the paper's third section takes parts from each other in memory); of it those columns that
would meet in banks, and padded ones, come as such boxes, which put them a word further apart.

    tile     columns of C that are computed together, while A stays
    rows, columns   of the part of C that a warp computes
    warps    of a block that multiply; one more loads
    piece    bytes of an operand that come together, in whole columns
    stages   pieces that are on their way
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over the batch
    per_block   or end after so many products (``grids``)

Sizes are in elements, pieces and shared memory in bytes.
"""

from __future__ import annotations

from functools import partial

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import args, grids
from tilewright.stencils.cuda.accepting import CudaStencil, no_bulk_copies, other_type, unserved
from tilewright.stencils.cuda.common import WIDEST, of_configs, units
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.stencils.cuda.whole.cost import RINGS, best, cost
from tilewright.stencils.cuda.whole.needs import (
    EVEN,
    LARGEST,
    SMALL,
    SMALLEST,
    STAYS,
    apart,
    boxed,
    direct,
    leading,
    lengths,
    numbers,
    packed,
    shared_bytes,
    skewed,
    stored,
)
from tilewright.stencils.cuda.whole.space import ROWS, TILES, params, rules
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import A, Argument, B, C, TensorMap

BOX = 256
"""Elements of a box at most, along each extent."""
FAR = 2**40
"""Bytes from one matrix to the next that no tensor map has."""


class WholeStencil(CudaStencil):
    """``whole``: products of 16-bit matrices kept whole, as the five functions of the protocol."""

    name = "whole"
    size_specific = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := other_type(p, ("h", "b", "hc")) or unserved(p, device) or no_bulk_copies(device):
            return reason
        if p.dtype.is_complex and ((p.trans_a, p.trans_b) != ("n", "n") or p.beta not in ("0", "1")):
            return "complex operands are transposed or conjugated, or beta is neither 0 nor 1"
        if not skewed(p) and not SMALLEST <= min(p.extents) <= max(p.extents) <= LARGEST:
            return f"{p.m}x{p.n}x{p.k} has an extent that is not from {SMALLEST} to {LARGEST}"
        if max(p.extents) <= SMALL and min(units(p)) > p.dtype.itemsize:
            return f"of {SMALL} at most, with columns at even places, the stencil of tiny matrices is faster"
        if numbers(p) * p.m * p.k > STAYS:
            return f"an A of {p.m}x{p.k} leaves no room for what is on its way"
        unit = min(units(p))
        if not packed(p) and not (direct(p) and p.dtype.is_complex):
            return "a matrix has padding"
        if any(boxed(p)) and not p.dtype.is_complex:
            return "columns are even numbers of words of 16 bytes, which boxes read faster"
        if min(p.strides) < 0 or max(p.strides) * p.dtype.itemsize >= FAR:
            return "matrices go backwards, or lie 2^40 bytes apart"
        highest = max((apart(x) for x, box in zip(lengths(p), boxed(p), strict=True) if box), default=0)
        if highest > BOX:
            return f"a column would be kept {highest} elements apart by a box, which has {BOX} at most"
        if WIDEST > unit > p.dtype.itemsize and min(p.m, p.n, p.k) > EVEN:
            return f"columns begin at even halves and all extents are above {EVEN}"
        if p.batch > 2**30:
            return f"a batch of {p.batch} is over 2^30"
        if p.batch > 1 and p.strides[2] < (p.ldc or 0) * (p.n - 1) + p.m:
            return "products would be written over each other"
        together = p.transposed_b or direct(p)
        if together and p.n > TILES[-1]:
            return f"{p.n} columns are not computed together"
        tile = TILES[-1] if together else TILES[0]
        least = int(shared_bytes(p, tile, ROWS[0], 8, 16, 1, RINGS[0][0]))
        if least > device["shared_per_block_optin"]:
            return f"{p.m}x{p.n}x{p.k} does not fit in shared memory"
        return None

    def needs_record(self, problem: Problem) -> bool:
        """Where nothing was measured the library is the better guess."""
        return True

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        found = best(self.space(problem, device), problem, device)
        return grids.ended(problem, device, found, problem.batch)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        defines = asked(p) | {"SIZE_M": numbers(p) * p.m, "SIZE_N": p.n, "SIZE_K": p.k}
        # Pairs are numbers to the kernel.
        defines |= {"COMPLEX": 0, "PAIRS": int(p.dtype.is_complex)}
        defines |= {f"UNIT_{x}": u for x, u in zip("ABC", units(p), strict=True)}
        defines["DIRECT"] = int(direct(p))
        defines |= {f"BOXED_{x}": int(box) for x, box in zip("ABC", boxed(p), strict=True)}
        defines |= persistent(config, device)
        return written("whole", defines)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        p, pair = problem, numbers(problem)
        strides = tuple(pair * stride for stride in p.strides)
        gemm = args.struct_gemm(
            (pair * p.m, p.n, p.k), leading(p), (strides[0], strides[1], strides[2]), p.batch
        )
        a, b = stored(p, p.n)
        maps = (_map(p, operand, shape) for operand, shape in ((A, a), (B, b), (C, (pair * p.m, p.n))))
        return (gemm, *(maps if any(boxed(p)) else ()))

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        return Launch(
            grid=(grids.launched(c, p.batch), 1, 1),
            block=(32 * c["warps"] + 32, 1, 1),
            shared=int(
                shared_bytes(p, c["tile"], c["rows"], c["columns"], c["warps"], c["stages"], c["piece"])
            ),
        )


def _map(p: Problem, operand: int, shape: tuple[int, int]) -> TensorMap:
    """All matrices of an operand as one tensor, and a matrix of it as a box that is so much higher that its
    columns are an odd number of words apart."""
    rows, cols = map(int, shape)
    stride, column = numbers(p) * p.strides[operand], leading(p)[operand]
    return TensorMap(
        f"map_{'abc'[operand]}",
        operand,
        "bfloat16" if p.dtype.letter == "b" else "float16",
        (rows, cols, p.batch if stride else 1),
        (2 * column, 2 * (stride or column * cols)),
        (min(apart(rows), BOX), cols, 1),
        promotion=128,
    )
