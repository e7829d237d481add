"""What stencils for one large product share: the products that tensor maps bring to persistent blocks.

warpgroup   16 bits, and float32 as tf32
dmma        float64
ffma        float32
pairs       complex halves
unaligned   16 bits, columns anywhere
"""

from __future__ import annotations

from tilewright.model import Device, Problem
from tilewright.stencils.cuda.common import WIDEST, too_old, units
from tilewright.stencils.protocol import Stencil

FAR = 2**40
"""Bytes from one column to the next that no tensor map has."""


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


class LargeStencil(Stencil):
    """A stencil for one large product: what all of them say alike."""

    target = "cuda"
    # Whether tiles fill whole waves decides, and that is another matter for each size.
    size_specific = True

    def runs(self, device: Device) -> str | None:
        return too_old(device)

    def needs_record(self, problem: Problem) -> bool:
        """Where nothing was measured the library is the better guess."""
        return True
