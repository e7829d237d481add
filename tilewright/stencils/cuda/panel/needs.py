"""What panel's kernel derives from a problem and a config, in the same words: shared memory and tiles.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, units

LIFE = 768 * 1024
"""Bytes that an SM moves while a block lives, where blocks end: more than elsewhere, as they begin with a
small operand and warps that move. (Of 97 defaults on an H200 nine were below 0.98 of blocks that stay, where
with half of it 15 were.)"""
PATHS = ("async", "bulk")
LARGEST = 64
"""Extent up to which the two short ones are served: that of matrices that are kept whole in shared memory."""

SECTOR = 32
"""Bytes that memory writes whole, or in part."""
LONGEST = 4096
"""Rows of the panel in the longest tile."""


def long_m(p: Problem) -> bool:
    """Whether m is the long extent; else n is."""
    return p.m >= p.n


def length(p: Problem) -> int:
    """The long extent."""
    return max(p.m, p.n)


def short(p: Problem) -> int:
    """The other extent of C."""
    return min(p.m, p.n)


def width(p: Problem) -> str:
    """The parameter that counts what a part has of the small operand."""
    return "columns" if long_m(p) else "rows"


def along(p: Problem) -> bool:
    """Whether neighbours in memory are neighbours along the panel."""
    return not p.transposed_a if long_m(p) else p.transposed_b


def small_along_k(p: Problem) -> bool:
    """Whether neighbours in memory of the small operand are neighbours along k."""
    return not p.transposed_b if long_m(p) else p.transposed_a


def strides(p: Problem) -> tuple[int, int]:
    """Batch strides of the panel and of the small operand."""
    a, b, _ = p.strides
    return (a, b) if long_m(p) else (b, a)


def streams(p: Problem) -> tuple[bool, bool]:
    """Whether the panel and C follow each other without padding where they lie across."""
    leading = (p.lda if long_m(p) else p.ldb) or 0
    return not along(p) and leading == p.k, not long_m(p) and p.ldc == p.m


def one_run(p: Problem, path: Any, direct: Any, tile: Any) -> Any:
    """Whether columns of C, of all rows of a long m, leave shared memory as one run of bytes."""
    follow = long_m(p) and p.ldc == p.m
    return follow & (path != "async") & (direct == 0) & (tile >= length(p))


def panel_run(p: Problem, path: Any, tile: Any) -> Any:
    """Whether columns along the panel, of all its length, come as one run of bytes: those that begin anywhere
    in a word, for the others have leading dimensions that are numbers."""
    leading = p.lda if long_m(p) else p.ldb
    follow = along(p) and leading == length(p) and units(p)[0 if long_m(p) else 1] < WIDEST
    return follow & (path != "async") & (tile >= length(p))


def by_words(p: Problem, path: Any, direct: Any, tile: Any) -> Any:
    """Whether columns of C leave by bulk copies that begin with words of 16 bytes and may so begin within a
    sector: those of less than 8 bytes an element, of which a lane writes both ends of one."""
    size = p.dtype.itemsize
    apart = gcd(SECTOR, (p.ldc or 0) * size, p.strides[2] * size)
    columns = long_m(p) and short(p) > 1 and size < 8 and apart < SECTOR
    return columns & (path != "async") & (direct == 0) & (one_run(p, path, direct, tile) == 0)


def reach(p: Problem) -> int:
    """Elements from the first to the last of the longest tile, of the operand where that is most."""
    a, b, c = p.lda or 0, p.ldb or 0, p.ldc or 0
    panel, small = (a, b) if long_m(p) else (b, a)
    columns = p.k if along(p) else LONGEST
    return max(panel * columns, small * LARGEST, c * (short(p) if long_m(p) else LONGEST)) + LONGEST


def _rounded(count: Any) -> Any:
    return -(-count // 128) * 128


def _apart(p: Problem, rows: int) -> int:
    """Leading dimension in shared memory, where neighbours are taken out of each other's banks."""
    size = p.dtype.itemsize
    return rows + (WIDEST // size if rows * size % 32 == 0 else 0)


def panel_bytes(p: Problem, path: Any, mma: Any, tile: Any) -> Any:
    """Bytes of a tile of the panel."""
    return _lengthwise(p, path, mma, tile, p.k, along(p))


def result_bytes(p: Problem, path: Any, mma: Any, tile: Any) -> Any:
    """Bytes of a tile of C."""
    return _lengthwise(p, path, mma, tile, short(p), long_m(p))


def _lengthwise(p: Problem, path: Any, mma: Any, tile: Any, other: int, is_along: bool) -> Any:
    size, bulk = p.dtype.itemsize, path != "async"
    if is_along:
        return _rounded((tile + ((mma != 0) | bulk) * (WIDEST // size)) * other * size + WIDEST)
    return _rounded(np.where(bulk, other, _apart(p, other)) * tile * size + WIDEST)


def packed_bytes(p: Problem, path: Any, packed: Any, width: Any) -> Any:
    """Bytes of the small operand where it is packed: twice, where the next one is packed meanwhile."""
    element = max(p.dtype.itemsize, 8 if p.dtype.letter == "hc" else 4)
    each = p.k * -(-short(p) // width) * (-(-width * element // WIDEST) * WIDEST)
    return _rounded(packed * each * (1 + 1 * (path == "bulk") * (strides(p)[1] != 0)))


def small_bytes(p: Problem, path: Any, mma: Any) -> Any:
    """Bytes of the small operand."""
    rows, columns = (p.k, short(p)) if small_along_k(p) else (short(p), p.k)
    spread = (mma != 0) & ((path == "async") | (strides(p)[1] == 0))
    return _rounded((rows + spread * (_apart(p, rows) - rows)) * columns * p.dtype.itemsize + WIDEST)


def stage_bytes(p: Problem, path: Any, mma: Any, tile: Any) -> Any:
    """Bytes of a stage: a tile of the panel, of C if it is read, and what the batch does not share."""
    updated = result_bytes(p, path, mma, tile) if p.beta != "0" else 0
    return panel_bytes(p, path, mma, tile) + updated + (small_bytes(p, path, mma) if strides(p)[1] else 0)


def shared_bytes(
    p: Problem, path: Any, mma: Any, direct: Any, tile: Any, stages: Any, packed: Any, width: Any
) -> Any:
    """Shared memory of a block: barriers and which tiles they are of, a small operand of the whole batch, the
    ring, results on their way out that do not leave from registers."""
    bulk = path != "async"
    once = 0 if strides(p)[1] else small_bytes(p, path, mma)
    outs = (bulk * 2 + (1 - bulk * 1) * (p.beta == "0")) * (1 - direct) * result_bytes(p, path, mma, tile)
    ring = _rounded(24 * stages + 32) * bulk + once + stages * stage_bytes(p, path, mma, tile) + outs
    return ring + packed_bytes(p, path, packed, width)


def tiles(p: Problem, tile: Any) -> Any:
    """Tiles of the panels of the whole batch."""
    return p.batch * -(-length(p) // tile)


def odd_columns(p: Problem) -> bool:
    """Whether stored columns of the small operand begin at odd numbers."""
    return (p.k if small_along_k(p) else short(p)) % 2 == 1


def held_words(p: Problem, rows: Any, columns: Any) -> Any:
    """Registers of a thread for fragments of the small operand, of all k but those of one product of tensor
    cores of 16 bits, which any part has."""
    more = -(-p.k * (1 + p.dtype.is_complex) // 16) - 1
    return more * (columns // 8 * 2 if long_m(p) else rows // 16 * 4)


def parts(p: Problem, tile: Any, rows: Any, columns: Any) -> Any:
    """Parts of a tile that a thread, or a warp with tensor cores, computes each."""
    m, n = (tile, short(p)) if long_m(p) else (short(p), tile)
    return -(-m // rows) * -(-n // columns)
