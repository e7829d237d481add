"""How a stencil of a processor did beside the product of NumPy's BLAS: whether it may run without a record.

Of products with an extent over 64 some are ours and some are the BLAS's, which packs for the caches as well.
``data/processors.json`` holds random ones that were measured beside each other; ``python -m bench.skewed``
makes it and checks it on others. What is foretold of a problem is what ``planning.neighbours`` makes of
the points near it. Where they were measured the BLAS was OpenBLAS on one core; on several a batch of ours
takes all of them, product by product, and so does OpenBLAS within each product of more than ``THREADED``
multiply-adds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from tilewright.model import Device, Problem
from tilewright.planning import kin
from tilewright.planning.neighbours import Measured, Point

THREADED = 4 * 65536
"""Multiply-adds of one product above which OpenBLAS shares it among cores: its ``GEMM_MULTITHREAD_THRESHOLD``
times ``SMP_THRESHOLD_MIN`` (``interface/gemm.c``)."""


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


def points(rows: list[list[Any]], letter: str) -> Measured:
    """What rows of points, each with its gain, foretell of a type."""
    return Measured(letter, ((Point(*row[:-1]), row[-1]) for row in rows))


@cache
def measured(device: str, stencil: str, letter: str) -> Measured | None:
    """What was measured of a stencil and a type on a device of the table; None where nothing was."""
    rows = table().get(device, {}).get(stencil, {}).get(letter)
    return points(rows, letter) if rows else None


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
    found = None if whose is None else measured(whose, stencil, p.dtype.letter)
    if found is None:
        return False, 0.0
    sure, gain = found.foretold(point(p, regime))
    cores = device["cores"]
    used = 1.0 if p.m * p.n * p.k <= THREADED else min(p.products, cores) / cores
    return sure * used >= 1, gain * used
