"""Classes of problems, and in which of them a kernel that nobody tuned was measured to beat the library.

A default is a guess. Where the library's product is the better guess, nobody may be worse off for having
called us: so a stencil's default is taken only in classes where it was measured beside the library, on
shapes that nothing was fitted to. The table is ``data/classes.json``, which ``python -m bench.classes`` makes
of measurements and checks on others; what it does not name goes to the library.

Lists of different sizes have classes of their own, and so have chains, whose peer is the library's products
one by one. Batches by arrays of addresses, and addresses that no wide access may use, have those of other
batches, but a part of the table of their own (``part``): a stencil that wins a class when its matrices lie in
order may lose it when they do not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from tilewright.model import ChainProblem, Device, GroupedProblem, Problem
from tilewright.planning import kin

SMALL = (4, 8, 16, 32, 64)
"""Largest extents of the classes of problems of which no extent is longer."""
LARGE = (128, 256)
"""The same where two or three extents are over 64."""
ENOUGH = 3
"""Problems of a class that must have been timed for a cell of the table."""
FEW = 1 << 20
"""Bytes under which a batch takes no longer than its launch."""
COUNTS = (4, 16, 64, 256, 1024)
"""Largest numbers of products of the classes of lists."""
WIDE = 16
"""Bytes that divide the addresses of what every access may be used for."""

ALONE = " alone"
"""What ends the name of a long or large shape that is no batch: libraries have other kernels for it, and what
several blocks share of it takes ours longer."""

Classed = Problem | GroupedProblem | ChainProblem


def shape(m: int, n: int, k: int) -> str:
    """The class of a shape: the bin of its largest extent; of a shape with one extent over 64 which one that
    is, and the bin of the larger of the others; ``large`` over 256."""
    long = [name for name, extent in zip("mnk", (m, n, k), strict=True) if extent > SMALL[-1]]
    largest = max(m, n, k)
    if not long:
        return f"to {_bin(largest, SMALL)}"
    if len(long) == 1:
        return f"long {long[0]} by {_bin(sorted((m, n, k))[1], SMALL)}"
    if largest <= LARGE[-1]:
        return f"to {_bin(largest, LARGE)}"
    return "large" if min(m, n, k) > SMALL[-1] else f"large by {_bin(min(m, n, k), SMALL)}"


def _bin(extent: int, bins: tuple[int, ...]) -> int:
    return next(top for top in bins if extent <= top)


def structure(p: Problem) -> str:
    """How the operands of a batch lie: packed, or with padding or gaps, and what all products share."""
    layout = p.layout
    parts = ["gaps" if layout.startswith("ld") or "+gaps" in layout else "packed"]
    return " ".join(parts + [text for text in layout.split("+")[1:] if text.startswith("shared")])


def of(p: Problem, regime: str) -> str:
    """The class of a problem: type, whether C is read; shape; structure, and where the operands are."""
    reads = "writes C" if p.beta == "0" else "updates C"
    where = "few" if p.bytes * p.batch < FEW else regime
    kind = shape(p.m, p.n, p.k)
    kind += ALONE if p.products == 1 and " by " in kind else ""
    return f"{p.dtype.letter}, {reads}, {kind}, {structure(p)}, {where}"


def of_list(p: GroupedProblem) -> str:
    """The class of a list of different sizes: type, whether some C is read; the bin of the largest extent;
    how many products there are."""
    reads = "writes C" if p.beta == "0" else "updates C"
    count = f"of {_bin(p.batch, COUNTS)}" if p.batch <= COUNTS[-1] else "of many"
    return f"{p.dtype.letter}, {reads}, {shape(p.m, p.n, p.k)}, {count}"


def of_chain(p: ChainProblem, regime: str) -> str:
    """The class of a chain: type, how many factors and whether something is added; the bin of the largest
    extent; how the operands lie, and where."""
    factors = f"{len(p.factors)} factors" + (" and a sum" if p.add is not None else "")
    gaps = not all(x.packed or not x.stride for x in (*p.operands, p.out))
    lie = ("gaps" if gaps else "packed") + (" shared" if any(not x.stride for x in p.operands) else "")
    where = "few" if p.bytes * p.batch < FEW else regime
    return f"{p.dtype.letter}, {factors}, to {_bin(max(p.sizes), SMALL)}, {lie}, {where}"


def part(stencil: str, p: Classed) -> str:
    """The part of the table for a stencil on problems that lie in memory as this one does."""
    if isinstance(p, GroupedProblem | ChainProblem):
        return stencil
    if p.pointers:
        return f"{stencil} by pointers"
    return stencil if p.align >= WIDE else f"{stencil} unaligned"


def wider(name: str) -> tuple[str, str, str]:
    """A class, and the wider ones that it is in: of any structure anywhere, and of any size of its kind of
    shapes (``to``, ``long`` or ``large``; of products alone ``long alone`` or ``large alone``)."""
    letter, reads, shape, *_ = name.split(", ")
    kind = shape.split()[0] + (ALONE if shape.endswith(ALONE) else "")
    return name, f"{letter}, {reads}, {shape}", f"{letter}, {reads}, {kind}"


def cell(cells: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """What the cells of a stencil say of a class. Where too few of it were timed it has no cell, and then
    that of the next wider one counts; of a product alone at last what was timed of batches."""
    known = *wider(name), *wider(name.replace(ALONE, ""))
    return next((cells[each] for each in known if each in cells), None)


def won(cells: Mapping[str, Any], name: str) -> bool:
    """Whether a stencil wins a class: all that were timed of it, or of the next wider one."""
    found = cell(cells, name)
    return found is not None and bool(found["wins"])


@cache
def table() -> Mapping[str, Mapping[str, Any]]:
    """What was measured: by device, stencil and class, the least and the median of the library's time over
    ours, and of how many shapes."""
    held = json.loads(files("tilewright.planning").joinpath("data", "classes.json").read_text("utf-8"))
    found: Mapping[str, Mapping[str, Any]] = held["devices"]
    return found


def measured(device: Device, part: str) -> str | None:
    """The key of the device whose measurements of a part count: its own, or those of the most similar one."""
    known = [key for key, parts in table().items() if part in parts]
    return device.key if device.key in known else kin.nearest(device, known)


def standing(stencil: str, p: Classed, regime: str, device: Device) -> tuple[bool, float] | None:
    """Whether a stencil's default was measured to be no slower than the library in a problem's class, and the
    median of how many times as fast it is; None where it was measured on no device that is alike."""
    asked = part(stencil, p)
    whose = measured(device, asked)
    if whose is None:
        return None
    found = cell(table()[whose][asked], _class(p, regime))
    return (False, 0.0) if found is None else (bool(found["wins"]), float(found["median"]))


def wins(stencil: str, p: Classed, regime: str, device: Device) -> bool | None:
    """The first half of ``standing``."""
    found = standing(stencil, p, regime, device)
    return None if found is None else found[0]


def _class(p: Classed, regime: str) -> str:
    if isinstance(p, GroupedProblem):
        return of_list(p)
    return of_chain(p, regime) if isinstance(p, ChainProblem) else of(p, regime)
