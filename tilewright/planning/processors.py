"""How a stencil of a processor did beside the product of NumPy's BLAS: whether it may run without a record.

Of products with an extent over 64 some are ours and some are the BLAS's, which packs for the caches as well.
``data/processors.json`` holds random ones that were measured beside each other; ``python -m bench.skewed``
makes it and checks it on others. What is foretold of a problem follows from the points near it
(``forecast``), with other axes than ``neighbours`` has: what sets the pace of a BLAS is no GPU's alignment.
Where they were measured the BLAS was OpenBLAS on one core; on several a batch of ours takes all of them,
product by product, and so does OpenBLAS within each product of more than ``THREADED`` multiply-adds, or
``THREADED_VECTOR``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from tilewright.model import DTYPES, Device, Problem
from tilewright.planning import kin
from tilewright.planning.forecast import Doubts, Forecast
from tilewright.planning.neighbours import Point

DOUBTS = Doubts(reach=2.0, spread=1.1, unknown=0.08, farther=0.15)

THREADED = 4 * 65536
"""Multiply-adds of one product above which OpenBLAS shares it among cores: its ``GEMM_MULTITHREAD_THRESHOLD``
times ``SMP_THRESHOLD_MIN`` (``interface/gemm.c``)."""

THREADED_VECTOR = {False: 4 * 2304, True: 4 * 1024}
"""The same of a matrix times a vector, by whether it is complex (``interface/gemv.c``, ``zgemv.c``)."""


def point(p: Problem, regime: str) -> Point:
    """The point of a problem in a regime."""
    layout = p.layout
    shared = "".join(name for name, moves in zip("AB", p.moves, strict=False) if not moves)
    gaps = layout.startswith("ld") or "+gaps" in layout
    trans = p.trans.replace("j", "n").replace("c", "t")
    return Point(*p.extents, trans, "0" if p.beta == "0" else "any", shared, gaps, regime)


@cache
def table() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """What was measured: by device, stencil and type the points, each with its gain."""
    held = json.loads(files("tilewright.planning").joinpath("data", "processors.json").read_text("utf-8"))
    found: Mapping[str, Mapping[str, Mapping[str, Any]]] = held["devices"]
    return found


def coordinates(letter: str, at: Point) -> tuple[float, ...]:
    """Where a problem of a type lies among the others, of all types: there are few points of each. The
    weights were searched for on halves of 320 points, each held against the other half."""
    m, n, k = (math.log2(max(extent, 1)) for extent in at[:3])
    dtype = DTYPES[letter]
    return (
        0.7 * m,
        n,
        k,
        2.0 * (at.trans[0] == "t"),
        0.5 * (at.trans[1] == "t"),
        1.2 * (at.where == "cached"),
        2.0 * dtype.is_complex,
        0.5 * (dtype.real_bits == 64),
        0.3 * (at.beta != "0"),
        0.3 * ("A" in at.shared),
        0.3 * ("B" in at.shared),
    )


class Measured:
    """The points of a stencil on a device, and what they foretell of others."""

    def __init__(self, types: Mapping[str, Iterable[Sequence[Any]]]):
        found = [(letter, Point(*row[:-1]), row[-1]) for letter, rows in types.items() for row in rows]
        places = (coordinates(letter, at) for letter, at, _ in found)
        self._forecast = Forecast(places, (gain for *_, gain in found), DOUBTS)

    def foretold(self, letter: str, at: Point) -> tuple[float, float]:
        """The gain that may be counted on, and the gain to be expected: the library's time over ours."""
        return self._forecast.at(coordinates(letter, at))


@cache
def measured(device: str, stencil: str) -> Measured | None:
    """What was measured of a stencil on a device of the table; None where nothing was."""
    types = table().get(device, {}).get(stencil)
    return Measured(types) if types else None


def standing(stencil: str, p: Problem, regime: str, device: Device) -> tuple[bool, float]:
    """Whether a stencil's default may be counted on to be no slower than the library for a problem, and how
    many times as fast it is expected to be.

    Of 16-bit types NumPy's product is three loops without a BLAS. Of a processor none of whose kind was
    measured nothing is known, and the library is the better guess.
    """
    if p.dtype.real_bits == 16:
        return True, 1.0
    known = [key for key, parts in table().items() if stencil in parts]
    whose = device.key if device.key in known else kin.nearest(device, known)
    found = None if whose is None else measured(whose, stencil)
    if found is None:
        return False, 0.0
    sure, gain = found.foretold(p.dtype.letter, point(p, regime))
    used = shared(p, device["cores"])
    return sure * used >= 1, gain * used


def shared(p: Problem, cores: int) -> float:
    """The part of the cores that OpenBLAS would take which a batch of ours has work for."""
    alone = THREADED_VECTOR[p.dtype.is_complex] if min(p.m, p.n) == 1 else THREADED
    return 1.0 if p.m * p.n * p.k <= alone else min(p.products, cores) / cores
