"""Whether rows of matrices conflict: more of them lie alike to the sets of a cache than it has ways.

It depends on where operands are and on how long their rows are, which a call alone knows, so it is counted
there: how many rows have the same values of some bits of their addresses. With powers of two all do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.model import Device, Problem
from tilewright.stencils.cpu.compact.codegen import Table, loop, tables
from tilewright.stencils.cpu.ir import Ir
from tilewright.stencils.cpu.staging import LINE_BYTES

WAY = 4096
"""Bytes of a way of a first-level cache of x86: a page."""
RUN, RUNS, LEAST = 512, 128, 8
"""Bytes of a row that are under way at a time, how many of them a way of a second-level cache holds, and how
many ways there are at least."""
FULLER = 3
"""How many times the mean a set has where rows of large matrices, which fill all, conflict."""
EIGHTH = 9
"""The same for rows that are spread over an eighth of the sets, up to twice as many as there are ways: lines
come back from the next cache in time. Copies of 108 to 188 rows were 0.9 to 1.1 times as fast as none."""


@dataclass(frozen=True, slots=True)
class Sets:
    """``count`` places, of ``bytes`` each, that hold ``most`` rows; all but the last are powers of two."""

    bytes: int
    count: int
    most: int


def spread(p: Problem) -> list[tuple[Table, str]]:
    """The operands that have rows of matrices, and where they begin."""
    each = zip(tables(p), ("%A", "%B", "%C"), p.strides, strict=True)
    return [(table, base) for table, base, stride in each if stride == 1]


def sets_of(p: Problem, device: Device, turn: int) -> list[Sets]:
    """Where rows may conflict, of which a turn takes ``turn`` bytes: a first level and a second one.

    A line of which the next turn takes the other half has to stay in the first level. All of this was seen on
    one core of a Zen 3; how processors do that take whole lines is not known.
    """
    rows = sum(table.rows * table.columns for table, _ in spread(p))
    ways, lines = max(1, device["l1d"] // WAY), WAY // LINE_BYTES
    whole = turn % LINE_BYTES == 0
    some = FULLER * rows // lines if whole else min(2 * ways, EIGHTH * rows // lines)
    first = Sets(LINE_BYTES, lines, max(ways, some))
    return [first, Sets(RUN, RUNS, max(LEAST, FULLER * rows // RUNS))]


def conflicting(ir: Ir, p: Problem, sets: Sequence[Sets], offset: Callable[[str], str]) -> str:
    """The condition, for the operands of an entry; ``offset`` of a word of their tables, in bytes."""
    found = "false"
    for some in sets:
        found = ir.let(
            f"or i1 {found}, {ir.let(f'icmp ugt i64 {_fullest(ir, p, some, offset)}, {some.most}')}"
        )
    return found


def _fullest(ir: Ir, p: Problem, sets: Sets, offset: Callable[[str], str]) -> str:
    """The most rows that begin in one place."""
    counts, most = ir.let(f"alloca [{sets.count} x i64], align 64"), ir.let("alloca i64, align 8")
    ir.declared.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    ir.do(f"call void @llvm.memset.p0.i64(ptr {counts}, i8 0, i64 {8 * sets.count}, i1 false)")
    ir.do(f"store i64 0, ptr {most}, align 8")
    for table, base in spread(p):
        begin = ir.let(f"ptrtoint ptr {base} to i64")

        def row(number: str, table: Table = table, begin: str = begin) -> None:
            address = ir.let(f"add i64 {begin}, {offset(ir.let(f'add i64 {number}, {table.first}'))}")
            place = ir.let(f"urem i64 {ir.let(f'udiv i64 {address}, {sets.bytes}')}, {sets.count}")
            slot = ir.let(f"getelementptr i64, ptr {counts}, i64 {place}")
            here = ir.let(f"add i64 {ir.let(f'load i64, ptr {slot}, align 8')}, 1")
            ir.do(f"store i64 {here}, ptr {slot}, align 8")
            before = ir.let(f"load i64, ptr {most}, align 8")
            more = ir.let(f"icmp ugt i64 {here}, {before}")
            ir.do(f"store i64 {ir.let(f'select i1 {more}, i64 {here}, i64 {before}')}, ptr {most}, align 8")

        loop(ir, "0", str(table.rows * table.columns), 1, row)
    return ir.let(f"load i64, ptr {most}, align 8")
