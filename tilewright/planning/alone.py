"""How the defaults of stencils did on products alone, beside the library: whether a kernel that nobody tuned
may run one.

A library has its best kernels for a single large product, and others than for a batch; what ``neighbours``
knows of batches says nothing of it. Here the points are products alone, from 16 to 16,384 in each direction,
each with the gain of a stencil's default over cuBLAS, in ``data/alone.json``. ``python -m bench.alone``
measures it, and ``python -m bench.foretold`` makes the data. What is foretold at others is ``forecast``'s.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from tilewright.model import DTYPES, Device, Problem
from tilewright.planning import kin
from tilewright.planning.forecast import Doubts, Forecast

SHORT = 64
"""The longest extent of a product up to which it is one of a batch's kind."""
WIDE = 16
"""Bytes that divide the addresses of what every access may be used for."""
DOUBTS = Doubts(reach=2.0, spread=1.0, unknown=0.1, farther=0.05)
HALVES = ("h", "b")
"""Types whose points are one."""


class Point(NamedTuple):
    """A product alone without its type."""

    m: int
    n: int
    k: int
    trans: str
    beta: str = "0"
    units: tuple[int, int, int] | None = None
    """Bytes that divide the addresses of all columns of A, B and C, 16 at most; None: columns are packed."""


def is_alone(p: Problem) -> bool:
    """Whether a problem is a product alone, and longer than those of batches."""
    return p.products == 1 and max(p.extents) > SHORT and not p.pointers and p.interleaved is None


def point(p: Problem) -> Point:
    """The point of a product alone."""
    size = p.dtype.itemsize
    a, b, c = (math.gcd(WIDE, p.align, (ld or 0) * size) for ld in (p.lda, p.ldb, p.ldc))
    return Point(*p.extents, p.trans, "0" if p.beta == "0" else "any", (a, b, c))


def coordinates(letter: str, at: Point) -> tuple[float, ...]:
    """Where a product lies among the others: a distance of one is about that of an extent from its double."""
    size = DTYPES[letter].itemsize
    across_a, across_b = (op in "tc" for op in at.trans)
    extents = [math.log2(max(extent, 1)) for extent in at[:3]]
    shortest, middle, longest = sorted(extents)
    columns = (at.k if across_a else at.m, at.n if across_b else at.k, at.m)
    units = at.units or tuple(math.gcd(WIDE, rows * size) for rows in columns)
    return (
        *(0.5 * extent for extent in extents),
        0.5 * shortest,
        0.3 * middle,
        0.3 * longest,
        0.5 * sum(extents) / 3,
        1.0 * (at.beta == "0"),
        0.3 * across_a,
        0.3 * across_b,
        *(0.3 * math.log2(WIDE // unit) for unit in units),
    )


class Measured:
    """The points of one stencil and type on a device, and what they foretell of others."""

    def __init__(self, letter: str, gains: Iterable[tuple[Point, float]]):
        found = list(gains)
        self._letter = letter
        self._forecast = Forecast((coordinates(letter, at) for at, _ in found), (g for _, g in found), DOUBTS)

    def foretold(self, at: Point) -> tuple[float, float]:
        """The gain that may be counted on, and the gain to be expected: the library's time over ours."""
        return self._forecast.at(coordinates(self._letter, at))


def points(letters: Mapping[str, Any], letter: str) -> Measured | None:
    """What rows of points by type foretell of a type; None where nothing was measured of it. float16 and
    bfloat16 are one."""
    alike = HALVES if letter in HALVES else (letter,)
    rows = [row for one in alike for row in letters.get(one, ())]
    return Measured(letter, ((Point(*row[:-1]), row[-1]) for row in rows)) if rows else None


@cache
def table() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """What was measured: by device, stencil and type the points, each with its gain."""
    held = json.loads(files("tilewright.planning").joinpath("data", "alone.json").read_text("utf-8"))
    found: Mapping[str, Mapping[str, Mapping[str, Any]]] = held["devices"]
    return found


@cache
def measured(device: str, stencil: str, letter: str) -> Measured | None:
    """What was measured of a stencil and a type on a device of the table; None where nothing was."""
    return points(table()[device][stencil], letter)


def standing(stencil: str, p: Problem, device: Device) -> tuple[bool, float] | None:
    """Whether a stencil's default may be counted on to be no slower than the library for a product alone, and
    how many times as fast it is expected to be; None where the stencil was not measured on a device that is
    alike, or the product is none of this kind."""
    if device.kind not in kin.LIBRARIES or not is_alone(p):
        return None
    known = [key for key, stencils in table().items() if stencil in stencils]
    whose = device.key if device.key in known else kin.nearest(device, known)
    found = None if whose is None else measured(whose, stencil, p.dtype.letter)
    if found is None:
        return None
    sure, gain = found.foretold(point(p))
    return sure >= 1, gain
