"""What stencils for one large product share: the products that tensor maps bring to persistent blocks.

warpgroup   16 bits, and float32 as tf32
dmma        float64
ffma        float32
cfma        complex float32
pairs       complex halves
emulated    float32, real or complex, as sums of bfloat16
unaligned   16 bits, columns anywhere
"""

from __future__ import annotations

from tilewright.model import Problem
from tilewright.stencils.cuda.accepting import CudaStencil
from tilewright.stencils.cuda.common import WIDEST, units
from tilewright.targets.cuda.arguments import C, Pointer, Scalar, Struct, TensorMap

FAR = 2**40
"""Bytes from one column to the next that no tensor map has."""
LINE = 128
"""Bytes of a swizzle, and of a column of a box."""


def unfit(p: Problem, smallest: int, largest: int, tile: int) -> str | None:
    """Why a product is none of one large one's kind, by its batch, its extents from ``smallest`` to
    ``largest``, the bytes between its columns, and the tiles of order ``tile``, ``largest`` at most; None
    where nothing speaks against it."""
    if p.products != 1:
        return f"a batch of {p.products} products; this is for one large product"
    if min(p.m, p.n, p.k) < smallest or max(p.m, p.n, p.k) > largest:
        return f"{p.m}x{p.n}x{p.k} has an extent that is not from {smallest} to {largest}"
    if max(p.lda or 0, p.ldb or 0, p.ldc or 0) * p.dtype.itemsize >= FAR:
        return "columns lie 2^40 bytes apart"
    if -(-p.m // tile) * -(-p.n // tile) > largest:
        return f"{p.m}x{p.n} has more than {largest} tiles"
    return None


def misplaced(p: Problem) -> str | None:
    """Why tensor maps do not bring the columns of a product as they lie; None where they do."""
    return "a column does not begin at a multiple of 16 bytes" if min(units(p)) < WIDEST else None


def product(made: Problem, ldc: int | None, band: int, clipped: int | None = None) -> Struct:
    """``struct Product`` of the kernels: C, extents, and tiles side by side, one at least, that are near each
    other in time; of those that may clip the boxes of operands also the bytes of a slice that do not come."""
    counts = (("m", made.m), ("n", made.n), ("k", made.k), ("band", max(1, band)))
    sizes = (Scalar(name, "i", value) for name, value in counts)
    scalars = (Scalar("alpha", "2d"), Scalar("beta", "2d"))
    more = () if clipped is None else (Scalar("clipped", "i", clipped),)
    return Struct("Product", (Pointer("c", C), Scalar("ldc", "q", ldc or 0), *sizes, *scalars, *more))


def untold(operand: int, leading: int | None) -> Struct:
    """``struct Lines`` of the kernels: where a matrix is that has no tensor map."""
    return Struct("Lines", (Pointer("first", operand), Scalar("leading", "q", leading or 0)))


def mapped(
    p: Problem, operand: int, stored: tuple[int, int], leading: int | None, columns: int, space: int = -1
) -> TensorMap:
    """A matrix as it is stored, ``leading`` elements from one column to the next, in boxes of a line of rows
    and so many columns. ``space`` as in ``TensorMap``."""
    rows, cols = stored
    size, step = p.dtype.itemsize, leading or 0
    line = LINE // size
    return TensorMap(
        f"map_{'abc'[operand]}",
        operand,
        # Boxes are copied bit by bit, and tensors have no pairs of halves.
        "float32" if p.dtype.letter == "hc" else p.dtype.name,
        (rows, cols, 1),
        (step * size, step * cols * size),
        (line, columns, 1),
        swizzle=LINE,
        # Where boxes begin inside lines of memory L2 would fetch too many of these.
        promotion=128 if step % line else 256,
        space=space,
    )


def lined(p: Problem, operand: int, across: int, along: bool, rows: int) -> TensorMap:
    """An operand as real numbers, as it is stored, in boxes that have lines of 128 bytes: of so many rows (of
    B: columns) along k, else of one line at each of as many k as a line has elements."""
    size, parts = p.dtype.itemsize, 2 if p.dtype.is_complex else 1
    line, step = LINE // size, ((p.lda, p.ldb)[operand] or 0) * size
    extents, strides, box = (p.k * parts, across, 1), (step, step * across), (line * parts, rows, 1)
    if not along:
        extents, strides, box = (across * parts, p.k, 1), (step, step * p.k), (line * parts, line, 1)
    return TensorMap(
        f"map_{'ab'[operand]}",
        operand,
        f"float{p.dtype.real_bits}",
        extents,
        strides,
        box,
        swizzle=LINE,
        promotion=LINE,
    )


class LargeStencil(CudaStencil):
    """A stencil for one large product: what all of them say alike."""

    # Whether tiles fill whole waves decides, and that is another matter for each size.
    size_specific = True

    def needs_record(self, problem: Problem) -> bool:
        """Where nothing was measured the library is the better guess."""
        return True
