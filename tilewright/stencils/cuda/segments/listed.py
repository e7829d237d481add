"""Lists of products, which the kernel of groups takes in place of borders: ``struct Product``."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tilewright.model import EACH, DType, Integers, SegmentedProblem
from tilewright.stencils.cuda.common import WIDEST

_WIDE = ("a", "b", "c", "lda", "ldb", "ldc", "stride_a", "stride_b", "stride_c")
PRODUCT = np.dtype(
    [(name, np.int64) for name in _WIDE] + [(name, np.int32) for name in ("m", "n", "k", "batch")]
)
"""One product, for each matrix of a batch: addresses, leading dimensions and strides in elements, extents."""


def products(columns: dict[str, Integers]) -> NDArray[np.void]:
    """The list of products whose fields are the elements of these columns, those with the largest C first, so
    that what is left at the end is small."""
    work = columns["m"].astype(np.float64) * columns["n"] * columns["batch"]
    found = np.zeros(len(work), PRODUCT)
    order = np.argsort(-work, kind="stable")
    for name in PRODUCT.names or ():
        found[name] = columns[name][order]
    return found


HELD_UP = 24.0
"""Operations for each byte up to which memory is taken for what holds products up: an H200 has 14 of float32,
and as many of float64, for each byte that it copies, and a library's calls cost something, too."""
HALVES = 60.0
"""The same of 16 bits, where tensor cores multiply: the library's are better at it from some hundred on."""


def held_up(dtype: DType, listed: NDArray[np.void]) -> bool:
    """Whether memory, and not arithmetic, sets the pace of a list of products."""
    m, n, k, batch = (listed[name].astype(np.float64) for name in ("m", "n", "k", "batch"))
    moved = ((m * k + k * n + m * n) * batch).sum() * dtype.itemsize
    flops = (m * n * k * batch).sum() * dtype.flops_per_fma
    return bool(flops <= (HALVES if dtype.real_bits == 16 else HELD_UP) * moved)


def problem(dtype: DType, trans: str, listed: NDArray[np.void]) -> SegmentedProblem:
    """The problem of a list of products that are stored alike."""
    m, n, k, batch = (int(listed[name].max()) for name in ("m", "n", "k", "batch"))

    def common(names: Sequence[str]) -> tuple[int, ...]:
        return tuple(int(np.gcd.reduce(listed[name])) for name in names)

    lda, ldb, ldc = common(_WIDE[3:6])
    align = math.gcd(WIDEST, *common(_WIDE[:3]))
    strides: tuple[int, int, int] = common(_WIDE[6:])  # type: ignore[assignment]  # three of them
    return SegmentedProblem(
        dtype,
        EACH,
        m,
        n,
        k,
        len(listed),
        trans[0],
        trans[1],
        batch=batch,
        lda=lda,
        ldb=ldb,
        ldc=ldc,
        strides=strides,
        align=align,
    )
