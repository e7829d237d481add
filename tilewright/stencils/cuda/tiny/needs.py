"""What tiny.cuh derives from a problem and a config, in the same words: layouts, shared memory, registers.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Any

from tilewright.model import Problem
from tilewright.stencils.cuda.common import WIDEST, units

PATHS = ("plain", "async", "bulk")
LARGEST = 64
"""Extent up to which whole matrices are kept in shared memory."""
PER_SM = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32)
LONGEST = 128 * 1024
"""Bytes from one matrix to the next up to which they are constants of the compiler."""
COUNTS = (*range(1, 9), *(b * 2**s for s in range(1, 7) for b in (5, 6, 7, 8)))


def _rounded(count: Any) -> Any:
    return -(-count // 128) * 128


def vector(size: int, extent: int) -> int:
    """Elements of the widest word that divides a column."""
    v = WIDEST // size
    while v > 1 and extent % v:
        v //= 2
    return v


def stored(p: Problem) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Rows and columns of A, B and C as they are stored."""
    a = (p.k, p.m) if p.transposed_a else (p.m, p.k)
    b = (p.n, p.k) if p.transposed_b else (p.k, p.n)
    return a, b, (p.m, p.n)


def flat(p: Problem) -> tuple[bool, bool, bool]:
    """Whether the batches of A, B and C have no gaps."""
    a, b, c = (
        ld == rows and (stride == rows * cols or p.pointers)
        for (rows, cols), ld, stride in zip(stored(p), (p.lda, p.ldb, p.ldc), p.strides, strict=True)
    )
    return a, b, c


@lru_cache(maxsize=256)
def spaced(p: Problem) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Leading dimension and batch stride of A, B and C as constants of the compiler: where there is padding
    in a rhythm, else (0, 0). With pointers there is no stride."""

    def known(rows: int, cols: int, ld: int, stride: int, is_flat: bool) -> tuple[int, int]:
        extent = ld * (cols - 1) + rows
        if is_flat or stride == 0 or max(extent, stride) * p.dtype.itemsize > LONGEST or ld < rows:
            return 0, 0
        if p.pointers:
            return ld, 0
        return (ld, stride) if stride >= extent else (0, 0)

    a, b, c = (
        known(rows, cols, ld or 0, stride, is_flat)
        for (rows, cols), ld, stride, is_flat in zip(
            stored(p), (p.lda, p.ldb, p.ldc), p.strides, flat(p), strict=True
        )
    )
    return a, b, c


@lru_cache(maxsize=256)
def steps(p: Problem) -> tuple[int, int, int]:
    """Elements from one matrix of A, B and C to the next where bulk copies bring them, 0 for shared ones."""
    a, b, c = (
        0 if stride == 0 else step or rows * cols
        for (rows, cols), stride, (_, step) in zip(stored(p), p.strides, spaced(p), strict=True)
    )
    return a, b, c


def whole(p: Problem) -> int:
    """Fewest matrices that are a multiple of 16 bytes of each operand that is not shared."""
    return max(WIDEST // gcd(WIDEST, step * p.dtype.itemsize) for step in (*steps(p), WIDEST) if step)


def partly(p: Problem) -> bool:
    """Whether bulk copies read a C that the product does not need, because sectors of 32 bytes are written
    in part, which memory cannot do. On an H200 this made half precision 15 % faster and float32 5 %, but
    float64, which is written by longer words, 4 to 10 % slower."""
    lead, step = spaced(p)[2]
    short = p.beta == "0" and lead > 0 and units(p)[2] <= 4
    return short and any(x * p.dtype.itemsize % 32 for x in (p.m, lead, step))


def taken(p: Problem) -> tuple[float, float, float]:
    """Bytes that one matrix of A, B and C takes from memory, which comes 64 at a time: the mean over where
    columns begin. (On an H200 columns of 32 bytes, 64 apart, come at half the speed of a copy.)"""

    def of(rows: int, cols: int, ld: int, stride: int, is_flat: bool) -> float:
        size = p.dtype.itemsize
        if is_flat:
            return float(rows * cols * size)
        # Memory is given out at multiples of 64 and more.
        unit = gcd(64, ld * size, stride * size, p.align if p.align < WIDEST else 0)
        column = sum(-(-(start + rows * size) // 64) for start in range(0, 64, unit)) * unit
        return float(min(max(stride, rows * cols) * size, cols * column))

    a, b, c = (
        of(rows, cols, ld or 0, stride, is_flat) if stride else 0.0
        for (rows, cols), ld, stride, is_flat in zip(
            stored(p), (p.lda, p.ldb, p.ldc), p.strides, flat(p), strict=True
        )
    )
    return a, b, c


def stage_bytes(p: Problem, group: Any, pad: Any, path: Any = "async") -> Any:
    """Bytes of a stage: a group of every operand that is read and not shared, with bulk copies as it lies in
    memory."""
    sizes = _chunks(p, group, pad, path)
    return sum(
        chunk
        for chunk, stride, read in zip(sizes, p.strides, (True, True, p.beta != "0"), strict=True)
        if stride and read
    )


def _chunks(p: Problem, group: Any, pad: Any, path: Any) -> tuple[Any, Any, Any]:
    size, bulk = p.dtype.itemsize, 1 * (path == "bulk")
    a, b, c = (
        _rounded(
            (group if stride else 1)
            * (bulk * (step or rows * cols) + (1 - bulk) * (rows + pad * vector(size, rows)) * cols)
            * size
        )
        for (rows, cols), stride, step in zip(stored(p), p.strides, steps(p), strict=True)
    )
    return a, b, c


def shared_bytes(p: Problem, path: Any, group: Any, stages: Any, pad: Any) -> Any:
    """Shared memory of a block: barriers, what the batch shares, the ring, results on their way out (and a C
    that nobody looks at), and with pointers the addresses of the groups to come."""
    a, b, c = _chunks(p, group, pad, path)
    once = (0 if p.strides[0] else a) + (0 if p.strides[1] else b)
    bulk, plain = path == "bulk", path == "plain"
    outs = c * ((2 + partly(p)) * bulk + (1 - bulk) * (p.beta == "0"))
    lists = (2 * stages - 1) * 24 * group * p.pointers * (1 - bulk)
    ring = stages * stage_bytes(p, group, pad, path)
    return (_rounded(8 * stages) * bulk + once + ring + outs + lists) * (1 - plain)


def tiles(p: Problem, rows: Any, columns: Any) -> Any:
    """Tiles of one C."""
    return -(-p.m // rows) * -(-p.n // columns)


def words_of_sum(p: Problem) -> int:
    """32-bit registers of a sum."""
    return max(p.dtype.real_bits // 32, 1) * (2 if p.dtype.is_complex else 1)


def registers(p: Problem, mma: Any, rows: Any, columns: Any) -> Any:
    """32-bit registers of a thread that its loop cannot do without: sums and one word of each of its rows and
    columns, or its share of a warp's, and a few for addresses."""
    words, deep = words_of_sum(p), WIDEST // p.dtype.itemsize
    along_k = vector(p.dtype.itemsize, p.k)
    fma = (
        rows * columns
        + rows * (along_k if p.transposed_a else 1)
        + columns * (1 if p.transposed_b else along_k)
    )
    if p.dtype.real_bits == 16:
        tensor = words * rows * columns // 32 + (2 * rows + 2 * columns) // 8
        return 24 + (mma == 0) * words * fma + (mma != 0) * tensor
    tensor = rows * columns // 32 + (rows + columns) // 8 * deep
    return 24 + words * ((mma == 0) * fma + (mma != 0) * tensor)


def busy(p: Problem, mma: Any, rows: Any, columns: Any, warps: Any, group: Any) -> Any:
    """The part of the threads (or warps) that have a tile while a group is multiplied."""
    slots = warps * (1 * (mma != 0) + 32 * (mma == 0))
    items = group * tiles(p, rows, columns)
    return items / (-(-items // slots) * slots)
