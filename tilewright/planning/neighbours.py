"""How the defaults of stencils did near a problem, beside the library: whether a kernel that nobody tuned may
run.

A default is a guess. Where the library's product is the better guess, nobody may be worse off for having
called us: so a stencil's default is taken only where it was measured beside the library on problems like this
one, and was faster. ``data/neighbours.json`` holds what was measured; ``python -m bench.classes`` makes it
and checks it on other measurements.

The problems of one stencil and type are points in a space whose axes are what sets the pace: extents, how
columns are aligned, how the operands lie and where they are; a distance of one is about that of a size from
its double. What is foretold at others is ``forecast``'s.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from tilewright.model import DTYPES, Device, Problem, of_transposes
from tilewright.planning import kin, vectors
from tilewright.planning.forecast import Doubts, Forecast
from tilewright.planning.gaussian import Process
from tilewright.planning.vectors import WIDE

FEW = 1 << 20
"""Bytes under which a batch takes no longer than its launch."""
LONG = 64
"""Extents above which other kernels, and other routines of the library, run."""
DOUBTS = Doubts(reach=4.0, spread=1.1, unknown=0.15, farther=0.05)
OF_VECTORS, MUCH = (0.32, 0.065), 0.6
"""Of a stencil that multiplies matrices with vectors alone: standard deviations of logarithms of gains, from
problem to problem and what nothing explains; and the logarithm from which on it is no matter how much is
gained."""
DOUBT, DOUBT_ELSEWHERE = 1.3, 2.0
"""How many of them are taken off there, from memory and of smaller batches: in ten parts, each foretold by
the others, one of 427 is below 0.97 at a mean of 1.59, and one of 48 at 1.26."""
HALVES = ("h", "b")
"""Types whose points are one."""


class Point(NamedTuple):
    """A problem without its type, as far as it tells how a kernel does beside the library."""

    m: int
    n: int
    k: int
    trans: str
    beta: str
    shared: str
    """Letters of the operands that the whole batch shares."""
    gaps: bool
    """Whether columns or matrices have padding between them."""
    where: str
    """The regime, or ``few`` of a batch that takes no longer than its launch, or ``alone`` of a product with
    a long extent that is no batch: libraries have other kernels for it, and several blocks share it."""


def point(p: Problem, regime: str) -> Point:
    """The point of a problem in a regime."""
    layout = p.layout
    shared = "".join(name for name, step in zip("AB", p.strides, strict=False) if step == 0)
    gaps = layout.startswith("ld") or "+gaps" in layout
    where = "few" if p.bytes * p.batch < FEW else regime
    if p.products == 1 and max(p.extents) > LONG >= min(p.extents):
        where = "alone"
    return Point(*p.extents, p.trans, "0" if p.beta == "0" else "any", shared, gaps, where)


def part(stencil: str, p: Problem) -> str:
    """The part of the measurements for a stencil on batches that lie in memory as this one does: a stencil
    that wins when its matrices lie in order may lose when they do not."""
    if p.pointers:
        return f"{stencil} by pointers"
    return stencil if p.align >= WIDE else f"{stencil} unaligned"


def coordinates(letter: str, at: Point) -> tuple[float, ...]:
    """Where a problem of a type lies among the others. The weights were searched for, on half of the
    divisions that ``python -m bench.classes --hold`` makes, and looked at on the other half."""
    size = DTYPES[letter].itemsize
    at = upright(at)
    across_a, across_b = (op != "n" and op != "j" for op in at.trans)
    extents = [math.log2(max(extent, 1)) for extent in at[:3]]
    shortest, middle, longest = sorted(extents)
    columns = (at.k if across_a else at.m, at.n if across_b else at.k, at.m)
    long = sorted(extent > LONG for extent in at[:3])
    return (
        *extents,
        0.15 * shortest,
        0.6 * middle,
        0.6 * longest,
        0.25 * sum(extents),
        1.0 * (at.beta == "0"),
        1.0 * ("A" in at.shared),
        1.0 * ("B" in at.shared),
        0.5 * at.gaps,
        4.0 * (at.where == "few"),
        4.0 * (at.where == "alone"),
        1.15 * (at.where == "cached"),
        0.1 * across_a,
        0.1 * across_b,
        *(0.1 * math.log2(WIDE // math.gcd(WIDE, rows * size)) for rows in columns),
        0.6 * long[2],
        1.4 * long[1],
    )


def upright(at: Point) -> Point:
    """The same product with a C of one row turned, whose matrix is B: it is a matrix times a vector, too."""
    if at.m != 1 or at.n == 1:
        return at
    shared = "".join(name for name, other in zip("AB", "BA", strict=True) if other in at.shared)
    return at._replace(m=at.n, n=1, trans=of_transposes(at.trans), shared=shared)


def coordinates_of_vector(letter: str, at: Point) -> tuple[float, ...]:
    """The same of a matrix times a vector, among those of a stencil that serves no others."""
    at = upright(at)
    m, k, _, along, odd = vectors.shape(letter, at.m, at.k, at.trans)
    return (
        *(0.05 * m, 0.3 * k, 0.05 * (m + k), 0.15 * min(m, k), 1.7 * along, 0.4 * odd),
        *(0.25 * (at.beta == "0"), 1.0 * ("A" in at.shared), 1.0 * ("B" in at.shared), 0.5 * at.gaps),
        *(4.0 * (at.where == "few"), 4.0 * (at.where == "alone"), 4.0 * (at.where == "cached")),
    )


class OfVectors:
    """The points of one type and of a stencil of matrices times vectors alone, and what they foretell. Gains
    differ little from one to the next, and are often small and sure, where ``Forecast`` says nothing."""

    def __init__(self, letter: str, gains: Iterable[tuple[Point, float]]):
        timed = [(coordinates_of_vector(letter, at), gain) for at, gain in gains]
        values = (min(max(math.log(gain), -MUCH), MUCH) for _, gain in timed)
        self._letter = letter
        self._process = Process((place for place, _ in timed), values, 0.0, *OF_VECTORS)

    def foretold(self, at: Point) -> tuple[float, float]:
        """The gain that may be counted on, and the gain to be expected: the library's time over ours."""
        mean, deviation = self._process.at(coordinates_of_vector(self._letter, at))
        doubt = DOUBT if at.where == "memory" else DOUBT_ELSEWHERE
        return math.exp(mean - doubt * deviation), math.exp(mean)


class Measured:
    """The points of one stencil and type on a device, and what they foretell of others."""

    def __init__(self, letter: str, gains: Iterable[tuple[Point, float]]):
        found = list(gains)
        self._letter = letter
        self._all = self._of(found)
        alone = [(at, gain) for at, gain in found if at.where == "alone"]
        self._alone = self._of(alone) if alone else None

    def _of(self, found: Iterable[tuple[Point, float]]) -> Forecast:
        places, gains = zip(*((coordinates(self._letter, at), gain) for at, gain in found), strict=True)
        return Forecast(places, gains, DOUBTS)

    def foretold(self, at: Point) -> tuple[float, float]:
        """The gain that may be counted on, and the gain to be expected: the library's time over ours."""
        place = coordinates(self._letter, at)
        sure, gain = self._all.at(place)
        if at.where != "alone" or self._alone is None:
            return sure, gain
        # Batches gain more, and where many were measured they are nearer than any product that is alone.
        own, expected = self._alone.at(place)
        return min(sure, own), expected


@cache
def table() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """What was measured: by device, part and type the points, each with its gain."""
    held = json.loads(files("tilewright.planning").joinpath("data", "neighbours.json").read_text("utf-8"))
    found: Mapping[str, Mapping[str, Mapping[str, Any]]] = held["devices"]
    return found


def points(letters: Mapping[str, Any], letter: str) -> Measured | OfVectors | None:
    """What rows of points by type foretell of a type; None where nothing was measured of it.

    float16 and bfloat16 are one: kernels and cuBLAS move and multiply them alike. (Of 3,961 of their problems
    that were held apart 49 lost in place of 54, and 21 more of those that gain were taken.)
    """
    alike = HALVES if letter in HALVES else (letter,)
    rows = [row for one in alike for row in letters.get(one, ())]
    found = [(Point(*row[:-1]), row[-1]) for row in rows]
    if not found:
        return None
    return (OfVectors if all(min(at.m, at.n) == 1 for at, _ in found) else Measured)(letter, found)


@cache
def measured(device: str, part: str, letter: str) -> Measured | OfVectors | None:
    """What was measured of a part and a type on a device of the table; None where nothing was."""
    return points(table()[device][part], letter)


def standing(stencil: str, p: Problem, regime: str, device: Device) -> tuple[bool, float] | None:
    """Whether a stencil's default may be counted on to be no slower than the library for a problem, and how
    many times as fast it is expected to be; None where the stencil was measured on no device that is alike.

    Of a type that was never measured nothing is known, and the library is the better guess.
    """
    if device.kind not in kin.LIBRARIES:
        # Nothing was measured there, and a first call on a processor is not to wait for the file to be read.
        return None
    asked = part(stencil, p)
    known = [key for key, parts in table().items() if asked in parts]
    whose = device.key if device.key in known else kin.nearest(device, known)
    if whose is None:
        return None
    found = measured(whose, asked, p.dtype.letter)
    if found is None:
        return False, 0.0
    sure, gain = found.foretold(point(p, regime))
    return sure >= 1, gain
