"""Problems of a batch: the bytes that they move by their layout, and batches that move so many."""

from __future__ import annotations

from math import gcd

from tilewright.model import Problem

MOST = 100_000
"""Products of a batch at most, where a figure asks for no certain number."""
SECTOR = 32
"""Bytes that device memory is read and written by."""
SEED = 1
"""What is drawn is the same every time."""


def sectors(problem: Problem) -> float:
    """Fewest bytes of one product of a large batch that device memory moves for its layout.

    Memory is read and written by whole sectors of 32 bytes: what the stored columns of A, B and C touch
    counts, a sector that several of them share once; C twice where it is read too. Bases are multiples
    of a sector. Without gaps this is ``Problem.bytes``.
    """
    p = problem
    shapes = (
        (p.k, p.m) if p.turned_a else (p.m, p.k),
        (p.n, p.k) if p.turned_b else (p.k, p.n),
        (p.m, p.n),
    )
    total = 0.0
    for (rows, columns), ld, stride, times in zip(
        shapes, (p.lda, p.ldb, p.ldc), p.strides, (1, 1, 1 if p.beta == "0" else 2), strict=True
    ):
        assert ld is not None
        size = p.dtype.itemsize
        # So many matrices lie in a whole number of sectors: those after them lie alike.
        alike = SECTOR // gcd(SECTOR, stride * size) if stride else 1
        starts = ((i * stride + j * ld) * size for i in range(alike) for j in range(columns))
        touched = {
            sector
            for start in starts
            for sector in range(start // SECTOR, (start + rows * size - 1) // SECTOR + 1)
        }
        if stride:
            ring = alike * stride * size // SECTOR
            total += times * SECTOR * len({sector % ring for sector in touched}) / alike
        else:
            total += times * SECTOR * len(touched) / p.batch
    return total


def filling(problem: Problem, size: float, moved: float | None = None, most: float = float("inf")) -> Problem:
    """The problem with a batch that moves ``size`` bytes, and at most ``most`` products."""
    return problem.with_(batch=int(max(1, min(most, size // (moved or problem.bytes)))))
