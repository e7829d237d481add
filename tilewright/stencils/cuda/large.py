"""What stencils for large products share: the products that tensor maps bring to persistent blocks.

warpgroup   16 bits, and float32 as tf32
dmma        float64
ffma        float32
cfma        complex float32
pairs       complex halves
emulated    float32, real or complex, as sums of bfloat16
unaligned   16 bits, columns anywhere

``dmma`` and ``ffma`` multiply batches, too: the products stand side by side in one wide one, each of whole
tiles (``lib/product.cuh``).
"""

from __future__ import annotations

from tilewright.model import Problem
from tilewright.stencils.cuda.accepting import CudaStencil
from tilewright.stencils.cuda.common import WIDEST, units
from tilewright.targets.cuda.arguments import C, Pointer, Scalar, Struct, TensorMap

FAR = 2**40
"""Bytes from one column to the next that no tensor map has."""
WIDE = 512
"""Columns of the tile of a cluster, at most."""
SHORT, LONG = 32, 64
"""Rows and columns of C in a batch, all of them and the more of either, up to which other stencils are better
written for it: what of tiles lies beyond them is more, and products are soon over."""
LINE = 128
"""Bytes of a swizzle, and of a column of a box."""


def unfit(p: Problem, smallest: int, largest: int, tile: int, batches: bool = False) -> str | None:
    """Why a product is none of a large one's kind, by its batch, its extents from ``smallest`` to
    ``largest``, the bytes between its columns, and the tiles of order ``tile``, ``largest`` at most; None
    where nothing speaks against it. ``batches``: whether there may be several along one axis."""
    if p.products != 1 and not batches:
        return f"a batch of {p.products} products; this is for one large product"
    if min(p.m, p.n, p.k) < smallest or max(p.m, p.n, p.k) > largest:
        return f"{p.m}x{p.n}x{p.k} has an extent that is not from {smallest} to {largest}"
    if max(p.lda or 0, p.ldb or 0, p.ldc or 0) * p.dtype.itemsize >= FAR:
        return "columns lie 2^40 bytes apart"
    if -(-p.m // tile) * -(-p.n // tile) * p.batch > largest or (p.n + WIDE) * p.batch > 2 * largest:
        return f"{p.batch} of {p.m}x{p.n} have more than {largest} tiles"
    if p.batch > 1 and (min(p.m, p.n) <= SHORT or max(p.m, p.n) <= LONG):
        return f"{p.m}x{p.n} of a batch is small; accepted: more than {SHORT}, and one of more than {LONG}"
    for name, step, moves in zip("AB", p.strides, p.moves, strict=False):
        if p.batch > 1 and moves and not 0 < step * p.dtype.itemsize < FAR:
            return f"matrices of {name} lie {step} elements apart, which no tensor map has"
    return None


def misplaced(p: Problem) -> str | None:
    """Why tensor maps do not bring the columns of a product as they lie; None where they do."""
    return "a column does not begin at a multiple of 16 bytes" if min(units(p)) < WIDEST else None


def product(made: Problem, ldc: int | None, band: int, clipped: int | None = None) -> Struct:
    """``struct Product`` of the kernels: C, extents, and tiles side by side, one at least, that are near each
    other in time; of those that may clip the boxes of operands also the bytes of a slice that do not come."""
    more = () if clipped is None else (Scalar("clipped", "i", clipped),)
    return _product(made, made.n, ldc, band, more)


def products(p: Problem, band: int, columns: int) -> Struct:
    """The same of as many products as there are: side by side, each of whole tiles of so many ``columns``, of
    which a band has ``band`` in all."""
    if p.batch == 1:
        return product(p, p.ldc, band // columns)
    across = -(-p.n // columns) * columns
    steps = (Scalar(f"stride_{name}", "q", step) for name, step in zip("abc", p.strides, strict=True))
    sizes = (Scalar("columns", "i", p.n), Scalar("across", "i", across))
    return _product(p, across * p.batch, p.ldc, band // columns, (*steps, *sizes))


def _product(p: Problem, n: int, ldc: int | None, band: int, more: tuple[Scalar, ...]) -> Struct:
    counts = (("m", p.m), ("n", n), ("k", p.k), ("band", max(1, band)))
    sizes = (Scalar(name, "i", value) for name, value in counts)
    scalars = (Scalar("alpha", "2d"), Scalar("beta", "2d"))
    return Struct("Product", (Pointer("c", C), Scalar("ldc", "q", ldc or 0), *sizes, *scalars, *more))


def matrices(p: Problem, operand: int, apart: int) -> tuple[int, int]:
    """How many matrices of an operand a tensor map has, and bytes from one to the next: ``apart`` where there
    is but one."""
    if p.batch == 1 or not p.moves[operand]:
        return 1, apart
    return p.batch, p.strides[operand] * p.dtype.itemsize


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
    extents, box = (p.k * parts, across), (line * parts, rows, 1)
    if not along:
        extents, box = (across * parts, p.k), (line * parts, line, 1)
    count, apart = matrices(p, operand, step * extents[1])
    return TensorMap(
        f"map_{'ab'[operand]}",
        operand,
        f"float{p.dtype.real_bits}",
        (*extents, count),
        (step, apart),
        box,
        swizzle=LINE,
        promotion=LINE,
    )


class LargeStencil(CudaStencil):
    """A stencil for large products: what all of them say alike."""

    # Whether tiles fill whole waves decides, and that is another matter for each size.
    size_specific = True

    def needs_record(self, problem: Problem) -> bool:
        """Where nothing was measured the library is the better guess."""
        return True
