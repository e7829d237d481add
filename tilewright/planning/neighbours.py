"""How the defaults of stencils did near a problem, beside the library: whether a kernel that nobody tuned may
run.

A default is a guess. Where the library's product is the better guess, nobody may be worse off for having
called us: so a stencil's default is taken only where it was measured beside the library on problems like this
one, and was faster. ``data/neighbours.json`` holds what was measured; ``python -m bench.classes`` makes it
and checks it on other measurements.

The problems of a stencil are points in a space whose axes are what sets the pace: extents, and what tiles of
16 to 64 leave empty of them, how columns are aligned, how the operands lie and where they are, and the type.
What is foretold at others is a Gaussian process of the nearest (``gaussian``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.model import DTYPES, EMULATED, Device, Problem, of_transposes
from tilewright.planning import kin, vectors
from tilewright.planning.alone import filed
from tilewright.planning.gaussian import Nearest, Process
from tilewright.planning.vectors import WIDE

FEW = 1 << 20
"""Bytes under which a batch takes no longer than its launch."""
LONG = 64
"""Extents above which other kernels, and other routines of the library, run."""
OTHERWISE = "hc"
"""The type that cuBLAS has no product of: what it gains says nothing of others."""
FROM, TO = -0.7, 1.15
"""Logarithms of gains below and above which they count as equal: whether it is 5 or 50 is no doubt of
winning."""
SPREAD, NOISE = 0.55, 0.116
"""Standard deviations of them: from problem to problem, and of what nothing explains."""
SURE, SURE_OF_FEW = 1.6, 1.0
"""How many of them are taken off of what may be counted on, and of a batch that takes no longer than its
launch, of which gains are less and differ less."""
SMALL, SURE_OF_SMALL = 16, 0.25
"""And of such a batch with extents up to 16, which says little more than what a launch takes: each of 14,
foretold by the others, then runs ours and gains, 1.68 times in the mean; with 1.0 it is 1.40."""
SURE_OF = {"z": 2.0, OTHERWISE: 2.0}
"""The same of types whose losers are foretold more surely, or of which little was measured."""
OF_VECTORS, MUCH = (0.32, 0.065), 0.6
"""Of a stencil that multiplies matrices with vectors alone: standard deviations of logarithms of gains, from
problem to problem and what nothing explains; and the logarithm from which on it is no matter how much is
gained."""
DOUBT, DOUBT_ELSEWHERE = 1.3, 2.0
"""How many are taken off there, from memory and of smaller batches: in ten parts, each foretold by the
others, one of 427 is below 0.97 at a mean of 1.59, and one of 48 at 1.26."""
EVEN = {"dmma": 0.08, "split": 0.08}
"""Stencils whose gains are even, and the deviation of them that nothing explains. As many are taken off: of
381 batches, in ten parts, 125 then run at a mean of all of 1.10, and two of them are below 0.97 (0.88); as
for other stencils 60 run at 1.06. Always right were 1.19. Of 496 of split 240 run where 204 did, three below
0.97 where one was."""
HALVES = ("h", "b")
"""Types of which either says what is known of the other."""
TILES = np.array([[16], [32], [64]])
TILED = np.array([[[0.14], [0.19], [0.2]], [[0.04], [0.17], [0.15]]])
"""Rows and columns of tiles, and what weighs how far m and n are from whole ones (``coordinates``)."""
OF_MATH = 0.4
"""How far what is made of parts in one way is from what is made so in another."""
LYING = {"unaligned": 0.23, "by pointers": 0.74}
WHERE = {"few": 1.5, "alone": 1.17, "cached": 0.56}
"""How far what lies so, or is there, is from what lies in order, or is in memory (``coordinates``)."""


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


Placed = tuple[str, str, Point]
"""The part of the measurements, the type and the point of a problem."""


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


def upright(at: Point) -> Point:
    """The same product with a C of one row turned, whose matrix is B: it is a matrix times a vector, too."""
    if at.m != 1 or at.n == 1:
        return at
    shared = "".join(name for name, other in zip("AB", "BA", strict=True) if other in at.shared)
    return at._replace(m=at.n, n=1, trans=of_transposes(at.trans), shared=shared)


def coordinates(found: Iterable[Placed]) -> NDArray[np.float64]:
    """Where problems lie among those of a stencil, a row each. The weights make what was measured most likely
    (``docs/performance/untuned.md``)."""
    kinds: dict[Any, int] = {}
    which, sizes = [], []
    for part, letter, at in found:
        here = upright(at)
        sizes.append(here[:3])
        which.append(kinds.setdefault((part, letter, here[3:]), len(kinds)))
    said = np.array([_kind(part, letter, *rest) for part, letter, rest in kinds])[which].T
    extents = np.maximum(np.array(sizes).T, 1)
    across_a, across_b, item = said[:3].astype(int)
    m, n, k = extents
    columns = np.array([np.where(across_a, k, m), np.where(across_b, n, k), m])
    tiles = extents[:2, None]
    logs, ranked = np.log2(extents), np.sort(extents, axis=0)
    axes = (
        np.array([[0.08], [0.05], [0.16]]) * logs,
        np.array([[0.05], [0.1]]) * np.log2(ranked[:2]),
        0.05 * logs.sum(0)[None],
        # How many times as long m and n are as whole tiles.
        *(TILED * np.log2(-(-tiles // TILES) * TILES / tiles)),
        np.array([[0.1], [0.17], [0.19]]) * np.log2(WIDE / np.gcd(WIDE, columns * item)),
        np.array([[0.21], [0.13]]) * (ranked[1:] > LONG),
        0.91 * (n == 1)[None],
        said[3:],
    )
    return np.ascontiguousarray(np.concatenate(axes).T)


@lru_cache(maxsize=4)
def place(lying: str, letter: str, at: Point) -> NDArray[np.float64]:
    """The coordinates of one problem, which several stencils are asked about in turn."""
    found: NDArray[np.float64] = coordinates([(lying, letter, at)])[0]
    return found


def _kind(
    part: str, letter: str, trans: str, beta: str, shared: str, gaps: bool, where: str
) -> tuple[float, ...]:
    """Whether A and B lie across, bytes of an element, and the coordinates that extents have no part in."""
    letter, _, way = letter.partition(" ")
    dtype = DTYPES[letter]
    across_a, across_b = (op not in "nj" for op in trans)
    return (
        *(across_a, across_b, dtype.itemsize, 0.12 * across_a, 0.07 * across_b),
        *(0.11 * ("A" in shared), 0.15 * ("B" in shared), 0.25 * (beta == "0"), 0.39 * gaps),
        *(0.45 * math.log2(dtype.real_bits), 0.35 * dtype.is_complex, 0.21 * (letter == "b")),
        *(weight * (where == name) for name, weight in WHERE.items()),
        *(weight * part.endswith(name) for name, weight in LYING.items()),
        *(OF_MATH * (way == name) for name in EMULATED),
    )


def coordinates_of_vector(letter: str, at: Point) -> tuple[float, ...]:
    """The same of a matrix times a vector, among those of one type and of a stencil that serves no others."""
    at = upright(at)
    m, k, _, along, odd = vectors.shape(letter, at.m, at.k, at.trans)
    return (
        *(0.05 * m, 0.3 * k, 0.05 * (m + k), 0.15 * min(m, k), 1.7 * along, 0.4 * odd),
        *(0.25 * (at.beta == "0"), 1.0 * ("A" in at.shared), 1.0 * ("B" in at.shared), 0.5 * at.gaps),
        *(4.0 * (at.where == "few"), 4.0 * (at.where == "alone"), 4.0 * (at.where == "cached")),
    )


class Measured:
    """The points of a stencil on a device, of all types that are like each other, and what they foretell.
    ``even``: as ``EVEN`` says it of the stencil."""

    def __init__(self, gains: Iterable[tuple[Placed, float]], even: float | None = None):
        found = list(gains)
        self._even = even is not None
        self._logs = np.log([gain for _, gain in found])
        # Where nothing like it was timed nothing is gained, however much was elsewhere.
        places = coordinates(one for one, _ in found)
        deviations = SPREAD, NOISE if even is None else even
        self._process = Nearest(places, np.clip(self._logs, FROM, TO), deviations)

    def foretold(self, part: str, letter: str, at: Point) -> tuple[float, float]:
        """The gain that may be counted on, and the gain to be expected: the library's time over ours."""
        here = place(part.partition(" ")[2], letter, at)
        mean, deviation, expected = self._process.at(here, self._logs)
        doubt = SURE_OF.get(letter, SURE)
        if self._even:
            doubt = DOUBT if at.where == "memory" else DOUBT_ELSEWHERE
        elif at.where == "few" and letter != OTHERWISE:
            doubt = SURE_OF_SMALL if max(at.m, at.n, at.k) <= SMALL else SURE_OF_FEW
        return math.exp(mean - doubt * deviation), math.exp(expected)


class OfVectors:
    """The points of one type and of a stencil of matrices times vectors alone, and what they foretell. Gains
    differ little from one to the next, and are often small and sure."""

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


class Known:
    """What was measured on a device, by part and type, and what it foretells of others.

    float16 and bfloat16 are one: kernels and cuBLAS move and multiply them alike. (Of 3,961 of their problems
    that were held apart 49 lost in place of 54, and 21 more of those that gain were taken.) Of a stencil that
    serves more than matrices times vectors other types and parts have their say, too.
    """

    def __init__(self, parts: Mapping[str, Mapping[str, Any]]):
        self.parts = parts
        self._vectors: dict[tuple[str, str], OfVectors | None] = {}
        self._measured: dict[tuple[str, bool], Measured] = {}

    def foretold(self, part: str, letter: str, at: Point) -> tuple[float, float] | None:
        """The gain that may be counted on, and the gain to be expected; None where nothing was measured of a
        part and a type."""
        if not any(self.parts[part].get(one) for one in alike(letter)):
            return None
        if (part, letter) not in self._vectors:
            self._vectors[part, letter] = self._of_vectors(part, letter)
        vectors_alone = self._vectors[part, letter]
        if vectors_alone is not None:
            return vectors_alone.foretold(at)
        which = part.partition(" ")[0], letter == OTHERWISE
        if which not in self._measured:
            self._measured[which] = Measured(self._rows(*which), EVEN.get(which[0]))
        return self._measured[which].foretold(part, letter, at)

    def _of_vectors(self, part: str, letter: str) -> OfVectors | None:
        letters = self.parts[part]
        rows = [row for one in alike(letter) for row in letters.get(one, ())]
        if any(min(m, n) > 1 for m, n, *_ in rows):
            return None
        return OfVectors(letter, ((Point(*row[:-1]), row[-1]) for row in rows))

    def _rows(self, stencil: str, otherwise: bool) -> Iterable[tuple[Placed, float]]:
        for part, letters in self.parts.items():
            if part.partition(" ")[0] == stencil:
                for letter, rows in letters.items():
                    if (letter == OTHERWISE) == otherwise:
                        yield from (((part, letter, Point(*row[:-1])), row[-1]) for row in rows)


def alike(letter: str) -> tuple[str, ...]:
    """The types whose points count as those of a type."""
    return HALVES if letter in HALVES else (letter,)


@cache
def table() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """What was measured: by device, part and type the points, each with its gain."""
    held = json.loads(files("tilewright.planning").joinpath("data", "neighbours.json").read_text("utf-8"))
    found: Mapping[str, Mapping[str, Mapping[str, Any]]] = held["devices"]
    return found


@cache
def measured(device: str) -> Known:
    """What was measured on a device of the table."""
    return Known(table()[device])


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
    found = measured(whose).foretold(asked, filed(p), point(p, regime))
    if found is None:
        return False, 0.0
    sure, gain = found
    return sure >= 1, gain
