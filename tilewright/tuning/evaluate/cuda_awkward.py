"""Small and awkward problems on which a kernel that takes sizes as arguments is checked: sizes that leave a
remainder in every tile, a k shorter than a step, padded columns, gaps between matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.model import Problem


@dataclass(frozen=True, slots=True)
class Awkward:
    """A small problem in several sizes: the first that a config's rules allow is used."""

    sizes: tuple[tuple[int, int, int], ...]
    batch: int
    special: bool


# The longer k are for blocks that share the k of a tile: each needs a step of its own.
AWKWARD = (
    Awkward(((269, 283, 77), (269, 283, 141), (133, 151, 525)), 1, False),
    Awkward(((101, 67, 29), (101, 67, 141), (45, 51, 525)), 3, True),
    Awkward(((37, 41, 5), (37, 41, 77), (37, 41, 141), (37, 41, 525)), 3, False),
)
# (what sizes, what leading dimensions are odd multiples of): the awkward first, then what wide reads and
# 2-D textures ask for.
UNITS = ((1, 1), (2, 2), (4, 4), (1, 32), (2, 32), (4, 32))


def small(like: Problem, size: tuple[int, int, int], batch: int, units: tuple[int, int]) -> Problem:
    """A padded problem of another size with everything else that is compiled in."""
    unit, step = units
    m, n, k = (unit * (extent // unit | 1) for extent in size)
    rows_a, cols_a = (k, m) if like.transposed_a else (m, k)
    rows_b, cols_b = (n, k) if like.transposed_b else (k, n)
    lda, ldb, ldc = (step * (rows // step + 1 | 1) for rows in (rows_a, rows_b, m))
    return like.with_(
        m=m,
        n=n,
        k=k,
        batch=batch,
        lda=lda,
        ldb=ldb,
        ldc=ldc,
        # A gap of one column; an operand that a batch shares stays shared.
        stride_a=lda * (cols_a + 1) if like.stride_a else 0,
        stride_b=ldb * (cols_b + 1) if like.stride_b else 0,
        stride_c=ldc * (n + 1),
    )


def variants(like: Problem, awkward: Awkward) -> Iterator[Problem]:
    """Small problems for one awkward case, the one that asks most of a kernel first."""
    for batch in dict.fromkeys((awkward.batch, 1)):
        for units in UNITS:
            for size in awkward.sizes:
                yield small(like, size, batch, units)
