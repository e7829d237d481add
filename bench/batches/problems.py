"""Problems of a batch: the bytes that they move by their layout, and batches that move so many."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

from tilewright.model import Problem

MOST = 100_000
"""Products of a batch at most, where a figure asks for no certain number."""
SECTOR, LINE = 32, 64
"""Bytes that device memory is written by, and read by: on an H200 columns of 32 bytes that begin every 64 are
read at half the speed of a copy."""
SEED = 1
"""What is drawn is the same every time."""


def forced(problem: Problem) -> float:
    """Fewest bytes of one product of a large batch that device memory moves for its layout.

    Memory is read by pieces of 64 bytes and written by sectors of 32: all that the stored columns of A, B and
    C touch counts, once where several of them share it. A sector that is written in part is read as well, for
    the bytes that stay; all of C is, where there is a beta. Bases are multiples of 64. Without gaps this is
    ``Problem.bytes``.
    """
    p = problem
    shapes = (
        (p.k, p.m) if p.transposed_a else (p.m, p.k),
        (p.n, p.k) if p.transposed_b else (p.k, p.n),
        (p.m, p.n),
    )
    total = 0.0
    for name, shape, ld, stride in zip("abc", shapes, (p.lda, p.ldb, p.ldc), p.strides, strict=True):
        assert ld is not None
        if ld == shape[0] and stride == ld * shape[1]:
            # Without gaps all of it counts, and nobody has to look.
            own = ld * shape[1] * p.dtype.itemsize
            total += own * (1 + (name == "c" and p.beta != "0"))
            continue
        touched, matrices = _covered(p.dtype.itemsize, shape, ld, stride)
        count = matrices if stride else p.batch
        if name != "c" or p.beta != "0":
            total += LINE * int(touched.reshape(-1, LINE).any(axis=1).sum()) / count
        if name == "c":
            written = touched.reshape(-1, LINE // SECTOR, SECTOR)
            part: NDArray[np.bool_] = np.any(written, axis=2) & ~written.all(axis=2)
            total += SECTOR * int(written.any(axis=2).sum()) / count
            total += LINE * int(part.any(axis=1).sum()) / count if p.beta == "0" else 0.0
    return total


def _covered(size: int, shape: tuple[int, int], ld: int, stride: int) -> tuple[NDArray[np.bool_], int]:
    """Which bytes the columns of so many matrices cover, until one lies on lines as the first does."""
    rows, columns = shape
    matrices = LINE // gcd(LINE, stride * size) if stride else 1
    extent = (ld * (columns - 1) + rows) * size
    ring = matrices * stride * size if stride else -(-extent // LINE) * LINE
    covered = np.zeros(ring, bool)
    for start in ((i * stride + j * ld) * size for i in range(matrices) for j in range(columns)):
        covered[np.arange(start, start + rows * size) % ring] = True
    return covered, matrices


def filling(problem: Problem, size: float, moved: float | None = None, most: float = float("inf")) -> Problem:
    """The problem with a batch that moves ``size`` bytes, and at most ``most`` products."""
    return problem.with_(batch=int(max(1, min(most, size // (moved or problem.bytes)))))
