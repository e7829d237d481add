"""How the defaults of stencils did on products alone, beside the library: whether a kernel that nobody tuned
may run one.

A library has its best kernels for a single large product, and others than for a batch; what ``neighbours``
knows of batches says nothing of it. Here the points are products alone, from 16 to 16,384 in each direction,
each with the gain of a stencil's default over cuBLAS, in ``data/alone.json``. ``python -m bench.alone``
measures it, and ``python -m bench.foretold`` makes the data. What is foretold at others is a Gaussian
process over the logarithms of the gains (``gaussian``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from tilewright.model import DTYPES, EMULATED, MATH_TYPES, Device, Problem, of_transposes
from tilewright.planning import kin, vectors
from tilewright.planning.gaussian import Process
from tilewright.planning.vectors import WIDE

SHORT = 64
"""The longest extent of a product up to which it is one of a batch's kind."""
SPREAD, NOISE = 0.15, 0.06
"""Standard deviations of logarithms of gains: from product to product, and of what no size explains."""
OF_VECTORS = 0.22, 0.09
"""The same of matrices times vectors."""
DOUBT_OF_VECTORS = 1.3
"""And the standard deviations that are taken off there: of 1,448 foretold without their own points three were
below 0.98 at a mean of 1.31, with 2.0 one at 1.26."""
LARGE = 22
"""Logarithm to the base 2 of the bytes of a matrix above which its size says how fast its vector is
multiplied: below, what a launch takes."""
MUCH = 0.6
"""Logarithm of the gain from which on it is no matter how much it is."""
DOUBT = 2.0
"""Standard deviations that are taken off of what may be counted on. With fewer more is gained, and lost."""
DOUBTS = {"h": 1.6, "b": 1.6, "c": 2.5} | dict.fromkeys(
    (f"{letter} {way}" for way in EMULATED for letter in MATH_TYPES[way]), 2.5
)
"""The same of types where random draws, each foretold without its own points, say it: in float16 1.6 gained
0.6 % in the mean and none of 424 products was below 0.98 of cuBLAS, in complex64 2.5 cost nothing and 3 of
464 were below in place of 6. In float64 and complex128 losers are foretold as surely as winners, so that more
doubt only runs fewer kernels (``docs/performance/alone.md``). Of products that are made of parts of bfloat16,
which gain much or lose, 2.5 costs 0.3 % of the mean, and 6 of 1,452 are below in place of 15."""
TIMED = 0.995
"""What may be counted on of the gain of a product that was itself timed: medians leave so much open."""
THIN, DEEP = 128, 512
"""The shorter extent of a result up to which, and the length of its sums from which on, cuBLASLt's first
algorithm for complex128 may be the slower one."""
ENOUGH = 10
"""Points of a stencil and type without which nothing is foretold."""
HALVES = ("h", "b")
"""Types whose points are one."""


Place = tuple[float, ...]


class Point(NamedTuple):
    """A product alone without its type."""

    m: int
    n: int
    k: int
    trans: str
    beta: str = "0"
    units: tuple[int, int, int] | None = None
    """Bytes that divide the addresses of all columns of A, B and C, 16 at most; None: columns are packed."""


def of_vector(at: Point) -> bool:
    """Whether a product is a matrix times a vector."""
    return min(at.m, at.n) == 1


def is_alone(p: Problem) -> bool:
    """Whether a problem is a product alone, and longer than those of batches."""
    return p.products == 1 and max(p.extents) > SHORT and not p.pointers and p.interleaved is None


def by_own_routine(p: Problem) -> bool:
    """Whether the product of the array's own library is the better guess than cuBLASLt's first algorithm.

    Of 51 random products alone in complex64 that one was at 0.78 to 0.93 of ``cublasCgemm`` in five, and 1.02
    to 1.05 times as fast in five (H200, cuBLAS 13.1, ``bench/results/h200/alone-calls.jsonl``). In complex128
    it was 1.10 times as fast in the mean of 202, and below 0.98 in six, all of them among the 50 with thin
    results and long sums, of which the mean was 1.03 (``alone-calls*``, ``alone-held``, ``vendor``). In
    float32 two of 240 were below, in float64 none of 264. Conjugates a library may have to make first."""
    if not is_alone(p) or p.conj_a or p.conj_b:
        return False
    return p.dtype.letter == "c" or (p.dtype.letter == "z" and min(p.m, p.n) <= THIN and p.k >= DEEP)


def filed(p: Problem) -> str:
    """The type of a problem, as its points are filed: its letter, and how its products are made of parts."""
    return f"{p.dtype.letter} {p.math}" if p.math in EMULATED else p.dtype.letter


def point(p: Problem) -> Point:
    """The point of a product alone."""
    size = p.dtype.itemsize
    a, b, c = (math.gcd(WIDE, p.align, (ld or 0) * size) for ld in (p.lda, p.ldb, p.ldc))
    return Point(*p.extents, p.trans, "0" if p.beta == "0" else "any", (a, b, c))


def coordinates(letter: str, at: Point) -> Place:
    """Where a product of a type (``filed``) lies among the others: a distance of one is that at which one
    says little of another. The weights were searched for, products held apart in turns
    (``python -m bench.foretold --hold``)."""
    letter = letter.partition(" ")[0]
    if of_vector(at):
        return _coordinates_of_vector(letter, upright(at))
    size = DTYPES[letter].itemsize
    across_a, across_b = (op in "tc" for op in at.trans)
    m, n, k = (math.log2(max(extent, 1)) for extent in at[:3])
    columns = (at.k if across_a else at.m, at.n if across_b else at.k, at.m)
    units = at.units or tuple(math.gcd(WIDE, rows * size) for rows in columns)
    odd_a, odd_b, odd_c = (math.log2(WIDE // unit) for unit in units)
    return (
        *(0.1 * m, 0.1 * n, 0.3 * k),
        *(0.14 * (m + n), 0.1 * (m + n + k), 0.06 * min(m, n)),
        *(0.64 * across_a, 0.64 * across_b),
        *(0.34 * odd_a, 0.34 * odd_b, 0.17 * odd_c),
        0.85 * (at.beta == "0"),
    )


def _coordinates_of_vector(letter: str, at: Point) -> Place:
    """The same of a matrix times a vector, of which the matrix is all that is moved: its size, how long the
    sums are, whether columns are along them, and how they are aligned."""
    m, k, size, along, odd = vectors.shape(letter, at.m, at.k, at.trans, at.units[0] if at.units else None)
    return (
        *(0.14 * m, 1.17 * k, 0.09 * (m + k), 1.1 * max(0.0, size - LARGE)),
        *(1.0 * along, 0.5 * odd, 0.85 * (odd > 0), 0.85 * (at.beta == "0")),
    )


def upright(at: Point) -> Point:
    """The same product with a C of one row turned, whose matrix is B: it is a matrix times a vector, too."""
    if at.m != 1 or at.n == 1:
        return at
    units = at.units and (at.units[1], at.units[0], at.units[2])
    return at._replace(m=at.n, n=1, trans=of_transposes(at.trans), units=units)


def _process(vector: bool, timed: Sequence[tuple[Place, float]]) -> Process:
    """What places and gains say of others. Where nothing like them was timed nothing is gained, however much
    was elsewhere."""
    values = (min(max(math.log(gain), -MUCH), MUCH) for _, gain in timed)
    places = (place for place, _ in timed)
    return Process(places, values, 0.0, *(OF_VECTORS if vector else (SPREAD, NOISE)))


class Measured:
    """The points of one stencil and type on a device, and what they foretell of others."""

    def __init__(self, letter: str, gains: Iterable[tuple[Point, float]]):
        self._letter, self._doubt = letter, DOUBTS.get(letter, DOUBT)
        # Matrices times vectors and others have coordinates of their own, and say nothing of each other.
        kinds: dict[bool, list[tuple[Place, float]]] = {}
        for at, gain in gains:
            kinds.setdefault(of_vector(at), []).append((coordinates(letter, at), gain))
        self._timed = {place: gain for timed in kinds.values() for place, gain in timed}
        self._processes = {kind: _process(kind, timed) for kind, timed in kinds.items()}

    def foretold(self, at: Point) -> tuple[float, float]:
        """The gain that may be counted on, and the gain to be expected: the library's time over ours."""
        place = coordinates(self._letter, at)
        if place in self._timed:
            return TIMED * self._timed[place], self._timed[place]
        process = self._processes.get(of_vector(at))
        if process is None:
            return 0.0, 1.0
        mean, deviation = process.at(place)
        doubt = DOUBT_OF_VECTORS if of_vector(at) else self._doubt
        return math.exp(mean - doubt * deviation), math.exp(mean)


def points(letters: Mapping[str, Any], letter: str) -> Measured | None:
    """What rows of points by type foretell of a type; None where less than ``ENOUGH`` were measured of it.
    float16 and bfloat16 are one; of a product that was timed in both the type's own gain counts."""
    alike = sorted(HALVES, key=lambda one: one == letter) if letter in HALVES else [letter]
    rows = [row for one in alike for row in letters.get(one, ())]
    return Measured(letter, ((Point(*row[:-1]), row[-1]) for row in rows)) if len(rows) >= ENOUGH else None


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
    how many times as fast as that it is expected to be; None where the stencil, or any in this type, was not
    measured on a device that is alike, or the product is none of this kind. A stencil that hardly met a type
    that others were measured in may not be counted on: what it gains in batches it seldom gains alone."""
    if device.kind not in kin.LIBRARIES or not is_alone(p):
        return None
    known = [key for key, stencils in table().items() if stencil in stencils]
    whose = device.key if device.key in known else kin.nearest(device, known)
    if whose is None:
        return None
    found = measured(whose, stencil, filed(p))
    if found is None:
        others = any(measured(whose, other, filed(p)) for other in table()[whose])
        return (False, 1.0) if others else None
    sure, gain = found.foretold(point(p))
    return sure >= 1, gain
