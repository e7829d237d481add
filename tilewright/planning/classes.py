"""Classes of lists and of chains, and in which of them a kernel that nobody tuned was measured to win.

A list of different sizes and a chain of products run a stencil's default only where that was measured to be
no slower than the library: of a list its batched calls, of a chain its products one by one. The table is
``data/classes.json``, which ``python -m bench.classes`` makes. Of batches of equal products more was
measured, and ``neighbours`` foretells by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from tilewright.model import ChainProblem, Device, GroupedProblem
from tilewright.planning import kin
from tilewright.planning.neighbours import FEW

EXTENTS = (4, 8, 16, 32, 64)
"""Largest extents of the classes."""
COUNTS = (4, 16, 64, 256, 1024)
"""Largest numbers of products of the classes of lists."""
ENOUGH = 3
"""Problems of a class that must have been timed for a cell of the table."""

Classed = GroupedProblem | ChainProblem


def of(p: Classed, regime: str) -> str:
    """The class of a list or of a chain."""
    return of_list(p) if isinstance(p, GroupedProblem) else of_chain(p, regime)


def of_list(p: GroupedProblem) -> str:
    """The class of a list of different sizes: type, whether some C is read; the bin of the largest extent;
    how many products there are."""
    reads = "writes C" if p.beta == "0" else "updates C"
    count = f"of {_bin(p.batch, COUNTS)}" if p.batch <= COUNTS[-1] else "of many"
    return f"{p.dtype.letter}, {reads}, to {_bin(max(p.extents), EXTENTS)}, {count}"


def of_chain(p: ChainProblem, regime: str) -> str:
    """The class of a chain: type, how many factors and whether something is added; the bin of the largest
    extent; how the operands lie, and where."""
    factors = f"{len(p.factors)} factors" + (" and a sum" if p.add is not None else "")
    gaps = not all(x.packed or not x.stride for x in (*p.operands, p.out))
    lie = ("gaps" if gaps else "packed") + (" shared" if any(not x.stride for x in p.operands) else "")
    where = "few" if p.bytes * p.batch < FEW else regime
    return f"{p.dtype.letter}, {factors}, to {_bin(max(p.sizes), EXTENTS)}, {lie}, {where}"


def _bin(extent: int, bins: tuple[int, ...]) -> int:
    return next(top for top in bins if extent <= top)


def wider(name: str) -> tuple[str, ...]:
    """A class, and the wider ones that it is in: however many and wherever, of any size, and the type."""
    letter, what, size, *_ = name.split(", ")
    return name, f"{letter}, {what}, {size}", f"{letter}, {what}, any size", f"{letter}, all"


def cell(cells: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """What the cells of a stencil say of a class. Where too few of it were timed it has no cell, and then
    that of the next wider one counts."""
    return next((cells[each] for each in wider(name) if each in cells), None)


@cache
def table() -> Mapping[str, Mapping[str, Any]]:
    """What was measured: by device, stencil and class, the least and the median of the library's time over
    ours, and of how many problems."""
    held = json.loads(files("tilewright.planning").joinpath("data", "classes.json").read_text("utf-8"))
    found: Mapping[str, Mapping[str, Any]] = held["devices"]
    return found


def wins(stencil: str, p: Classed, regime: str, device: Device) -> bool | None:
    """Whether a stencil's default was measured to be no slower than the library in the class of a list or a
    chain; None where nothing of its type was measured on a device that is alike."""
    known = [key for key, stencils in table().items() if stencil in stencils]
    whose = device.key if device.key in known else kin.nearest(device, known)
    found = None if whose is None else cell(table()[whose][stencil], of(p, regime))
    return None if found is None else bool(found["wins"])
