"""Which recorded problems are like one that has no record: whether what won there may stand in for it.

Whether a kernel can run there is a question to its space; here is what was measured of records that stood in.
"""

from __future__ import annotations

import math
from typing import Any

from tilewright.model import Device, Gemm, Problem, Record
from tilewright.planning import alone, kin
from tilewright.task import Task

COMPLEX = 24
"""Order of complex products up to which memory may set the pace where they share an operand."""
STRANGE = 0.05
"""Logarithm to the base 2 of what an extent of a product alone may differ by from that of a record."""


def serves(record: Record, problem: Gemm, device: Device, kind: str) -> bool:
    """Whether a near record may stand in for a problem in a regime. On a processor it is of that regime, and
    from memory C is read in both or in neither: how C is written and what is asked for early is most of what
    there is to gain there, and the default knows it of each. (Records of the caches, and of a C that is read,
    stood in for defaults that ran at 1.1 to 1.4 times the speed on an Emerald Rapids.)"""
    if device.kind in kin.LIBRARIES:
        return True
    if record.regime != kind:
        return False
    return kind != "memory" or (record.problem.beta == "0") == (problem.beta == "0")


def sizes_serve(record: Record, problem: Gemm, device: Device) -> bool:
    """Whether a record is of these sizes, or may stand in for others. On a processor it may not: from memory
    the default of a Zen 5 was 1.05 times as fast as records of near sizes in the mean of 75 squares, more
    than 3 % faster at 35 and slower at 12, and on an Emerald Rapids it was faster at four of five random
    products; from the caches that of a Zen 3 was 1.18 times as fast at ten random products of 2 to 24, faster
    at eight, where what won at 4 rows stood in for 6 and 7 at a third of the speed."""
    return device.kind in kin.LIBRARIES or record.problem.extents == problem.extents


def strange(recorded: Any, problem: Any, device: Device) -> bool:
    """Whether what won a product alone says nothing of another one, in which a library has its best kernels
    and chooses anew for each size: how tiles fill a device changes with little. (On an H200 records of
    squares put others of up to twice their size to between 0.85 and 0.98 of cuBLAS.)"""
    if device.kind not in kin.LIBRARIES or not isinstance(problem, Problem) or not alone.is_alone(problem):
        return False
    sides = zip(recorded.extents, problem.extents, strict=True)
    return any(abs(math.log2(max(x, 1) / max(y, 1))) > STRANGE for x, y in sides)


def has_rival(problem: Gemm) -> bool:
    """Whether what was timed as the vendor's product is what a caller would get. That of complex half is of
    planes that no caller has: what a caller gets is the library's product of complex64, with copies before
    and after."""
    return bool(problem.dtype.letter != "hc")


def shape(problem: Task) -> tuple[int, int, int, bool, str]:
    """Sizes, whether columns are apart, which makes other demands on how bytes are moved, and what all
    products share."""
    return *problem.extents, problem.layout.startswith("packed"), _shared(problem)


def by_arithmetic(problem: Problem) -> bool:
    """Whether products are bound by their arithmetic, whatever they share."""
    return problem.dtype.is_complex and min(problem.extents) > COMPLEX


def _shared(problem: Task) -> str:
    """What all products of a problem share, where a record of products that do not is the worse guess: there
    is less to move, and so more to multiply in the time. (On an H200 the cost model's config was 1.10 times
    as fast in the mean of 52 shapes, but slower for complex products of 32, see ``by_arithmetic``.)"""
    if not isinstance(problem, Problem) or by_arithmetic(problem):
        return ""
    return "".join(name for name, moves in zip("AB", problem.moves, strict=False) if not moves)
