"""What kernel.cuh derives from a problem and a config: parts of C, registers, shared memory.

Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tilewright.model import Device, Interleaved, Problem
from tilewright.stencils.cuda.common import WIDEST, resident

LARGEST = 32
"""Extent up to which sizes are compiled in."""
MOST = 16 * 16
"""Elements up to which a C, and twice so many up to which A and B together are taken: larger ones do not stay
where a team of threads finds them again, and an H200 then moved 0.2 to 0.4 of a copy."""
BESIDE = 44
"""32-bit registers that a thread has for addresses, counters and what the compiler likes to keep."""


def words(p: Problem) -> int:
    """32-bit registers of an element in arithmetic."""
    return max(p.dtype.real_bits // 32, 1) * (2 if p.dtype.is_complex else 1)


def tiles(p: Problem, rows: Any, columns: Any) -> Any:
    """Parts of one C."""
    return -(-p.m // rows) * -(-p.n // columns)


def copied(p: Problem, lanes: Any) -> Any:
    """Bytes of an asynchronous copy: as many as every run is aligned to, within a pack those of a thread."""
    packed = p.interleaved is not None and p.interleaved.pack > 0
    return lanes * p.dtype.itemsize if packed else p.align + 0 * lanes


def shares(p: Problem, lanes: Any, warps: Any, group: Any, members: Any) -> Any:
    """Parts of the batch of which a block takes one at a time."""
    pack = layout(p).pack
    of_block = np.where(group > 0, pack * group, matrices(lanes, warps))
    return -(-p.batch // np.where(members > 0, members, of_block))


def stage_bytes(p: Problem, lanes: Any, strided: Any, warps: Any, depth: Any) -> Any:
    """Shared memory of a stage of the ring; rows that begin anywhere have one more vector."""
    rows = (p.m if p.stride_a else 0) + (p.n if p.stride_b else 0)
    return rows * depth * (matrices(lanes, warps) * p.dtype.itemsize + WIDEST * strided)


def registers(p: Problem, lanes: Any, rows: Any, columns: Any, unroll: Any) -> Any:
    """32-bit registers of a thread: sums, the steps of both operands that are read together (of which the
    compiler holds two where it has to choose), the addresses of these, and some more."""
    steps = np.minimum(np.minimum(unroll, p.k), 2)
    held = words(p) * lanes * (rows * columns + steps * (rows + columns))
    return held + 2 * (rows + columns) + BESIDE


def together(unroll: Any, depth: Any, bulk: Any) -> Any:
    """Steps along k that the compiler may load together: those that are written out, or of a stage that bulk
    copies brought."""
    return np.where(bulk > 0, depth, unroll)


def members_registers(p: Problem, lanes: Any) -> Any:
    """32-bit registers of a thread that feeds tensor cores with so many neighbours: sums, fragments of both
    operands, of which the compiler keeps a part, and some more."""
    found = fragments(p)
    return lanes * (4 * found.across + min(found.eights, 2) * (found.tall + 1) + 1) * 5 // 8 + 44


def matrices(lanes: Any, warps: Any) -> Any:
    """Matrices of a block."""
    return 32 * warps * lanes


def shared_bytes(
    p: Problem,
    lanes: Any,
    strided: Any,
    warps: Any,
    staged: Any,
    stages: Any,
    depth: Any,
    bulk: Any,
    group: Any,
    padded: Any,
    members: Any,
) -> Any:
    """Shared memory of a block: the ring, and a scattered C on its way out; or a ring of whole packs, and two
    groups of C; or a ring of groups for tensor cores, and one group of C."""
    area = p.m * p.n
    # An interleaved C leaves row by row, with the vectors that rows begin and end in.
    rows_out = int(p.stride_c == 1)
    out = np.where(staged == 2, lanes * area, np.where(strided > 0, lanes * (area | 1), lanes * area | 1))
    of_members = stages * members_bytes(p, members) + members_out_bytes(p, members)
    of_packs = (
        _line(8 * stages) + stages * packs_bytes(p, group, padded) + 2 * group_bytes(p, area, group, padded)
    )
    of_rows = (
        _line(8 * stages) * bulk
        + stages * stage_bytes(p, lanes, strided, warps, depth)
        + (staged > 0) * (32 * warps * out * p.dtype.itemsize + WIDEST * area * rows_out)
    )
    return np.where(members > 0, of_members, np.where(group > 0, of_packs, of_rows))


def members_bytes(p: Problem, members: Any) -> Any:
    """Shared memory of a stage of a group of so many matrices: of each element an odd number of vectors, one
    more where they begin anywhere."""
    vectors = members * p.dtype.itemsize // WIDEST + (p.align < WIDEST)
    return (p.m * p.k + p.k * p.n) * WIDEST * (vectors | 1)


def members_out_bytes(p: Problem, members: Any) -> Any:
    """Shared memory of the C of such a group, as it lies in device memory."""
    area, size = p.m * p.n, p.dtype.itemsize
    return area * (members * size if p.stride_c != 1 else WIDEST * (members * size // WIDEST | 1))


class Fragments(NamedTuple):
    """Of tensor cores: strips of 16 rows of a C (or of its transpose, where that fills more of them), parts
    of 8 rows of a strip, and parts of 8 columns and of 8 k."""

    strips: int
    tall: int
    across: int
    eights: int


def fragments(p: Problem) -> Fragments:
    """What a C is cut into on tensor cores."""
    high, across = (p.n, p.m) if _filled(p.n, p.m) < _filled(p.m, p.n) else (p.m, p.n)
    return Fragments(-(-high // 16), 1 + (high > 8), -(-across // 8), -(-p.k // 8))


def _filled(rows: int, columns: int) -> int:
    return -(-rows // 16) * 16 * -(-columns // 8) * 8


def _line(count: Any) -> Any:
    return -(-count // 128) * 128


def group_bytes(p: Problem, elements: int, group: Any, padded: Any) -> Any:
    """Shared memory of a group of packs of an operand of so many elements."""
    wide = layout(p).pack * p.dtype.itemsize
    apart = padded * (elements % 2 == 0 and wide < 128)
    return _line(group * wide * (elements + apart))


def packs_bytes(p: Problem, group: Any, padded: Any) -> Any:
    """Shared memory of a stage of whole packs."""
    return group_bytes(p, p.m * p.k, group, padded) + group_bytes(p, p.k * p.n, group, padded)


def layout(p: Problem) -> Interleaved:
    """How the matrices lie."""
    assert p.interleaved is not None
    return p.interleaved


def orders(p: Problem) -> tuple[int, int, int] | None:
    """Whether the packs of A, B and C, whose elements have no gaps between them, have these row by row (0) or
    column by column (1); None where there are gaps, or no packs of whole vectors."""
    here, found = layout(p), []
    sides = (p.m, p.k), (p.k, p.n), (p.m, p.n)
    if not here.pack or here.pack * p.dtype.itemsize % WIDEST or {p.stride_a, p.stride_b, p.stride_c} != {1}:
        return None
    steps = zip(sides, here.rows, (p.lda, p.ldb, p.ldc), here.packs, strict=True)
    for (rows, columns), row, column, step in steps:
        by_rows = (row == columns * here.pack or rows == 1) and (column == here.pack or columns == 1)
        by_columns = (column == rows * here.pack or columns == 1) and (row == here.pack or rows == 1)
        if step != rows * columns * here.pack or not (by_rows or by_columns):
            return None
        found.append(int(not by_rows))
    return found[0], found[1], found[2]


BLOCK = ("lanes", "strided", "warps", "staged", "stages", "depth", "bulk", "group", "padded", "members")
"""The parameters that shared memory follows from."""


def held(p: Problem, config: Mapping[str, Any], device: Device) -> Any:
    """Blocks of an SM, by what each needs."""
    lanes, rows, columns = (config[name] for name in ("lanes", "rows", "columns"))
    steps = together(config["unroll_k"], config["depth"], config["bulk"])
    of_block = (config[name] for name in BLOCK)
    shared, members = shared_bytes(p, *of_block), config["members"]
    needed = np.where(members > 0, members_registers(p, lanes), registers(p, lanes, rows, columns, steps))
    return resident(shared, needed, config["team"] * config["warps"], device)
