"""Matrices times vectors, as the planner tells them apart: by the matrix, nearly all that is moved."""

from __future__ import annotations

import math
from typing import NamedTuple

from tilewright.model import DTYPES

WIDE = 16
"""Bytes that divide the addresses of what every access may be used for."""


class Shape(NamedTuple):
    """The matrix of a product whose C is a column. Extents and bytes are logarithms to the base 2."""

    m: float
    k: float
    size: float
    """Bytes of the matrix."""
    along: bool
    """Whether its columns, as they are stored, lie along the sum."""
    odd: float
    """How far their beginnings are from words of 16 bytes: 0 for multiples of 16 bytes, 1 for those of 8."""


def shape(letter: str, m: int, k: int, trans: str, unit: int | None = None) -> Shape:
    """Of a matrix of m rows and k columns as it is multiplied; ``unit``: bytes that divide the addresses of
    its columns, None where these are packed."""
    itemsize = DTYPES[letter].itemsize
    along = trans[0] in "tc"
    rows, sums = math.log2(m), math.log2(max(k, 1))
    odd = math.log2(WIDE // (unit or math.gcd(WIDE, (k if along else m) * itemsize)))
    return Shape(rows, sums, rows + sums + math.log2(itemsize), along, odd)
