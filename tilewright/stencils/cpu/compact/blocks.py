"""Arrays (m, n, batch) whose rows begin anywhere: C leaves by whole lines.

                                                 a row: one element of all matrices
    A, B      row 0  [-- block 0 --|-- block 1 --|...     1. a block is multiplied, and the next one asked for
              row 1  [-------------|...
                                  *
    results   row 0  [-- block 0 --]     of C             2. whole lines of each row are streamed; the rest
              row 1  [-------------]                         of the last one waits for the next block

A line of C that is not written as a whole is read first. Copies of A and B in a buffer, aligned and at
constant distances, which take turns with products, were 0.65 to 1.1 times as fast (a Zen 4; no file).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.model import Config, Problem
from tilewright.stencils.cpu.compact.codegen import Span, loop
from tilewright.stencils.cpu.ir import Ir, finish, load_scalars
from tilewright.stencils.cpu.staging import LINE_BYTES

TURNS = 8
"""Turns of a block where none are said."""


def turns(config: Config) -> int:
    """Turns of a block."""
    return int(config["block"]) or TURNS


def buffered(p: Problem, block: int, lanes: int) -> int:
    """Bytes of the buffer of results, for blocks of so many turns of so many reals."""
    return p.m * p.n * (LINE_BYTES + block * lanes * p.dtype.real_bits // 8)


class Blocks(Span):
    """The writer of ``blocks``: the products of whole blocks of matrices."""

    def function(self) -> Ir:
        """All of it."""
        ir = self.ir
        self.scalars = load_scalars(ir, self.p)
        self.lanes, self.size = self.width * self.vectors, ir.bits // 8
        self.line = LINE_BYTES // self.size
        self.block = self._turns()
        self._open()

        def block(first: str) -> None:
            self.begin = first
            self._block(first)
            self._leave(first)

        loop(ir, "%sa", "%sb", self.block * self.per_turn, block)
        self._close()
        return ir

    def _turns(self) -> int:
        """How many make up a block."""
        return turns(self.c)

    def _open(self) -> None:
        """The buffers."""
        p = self.p
        self.pitch = self.line + self.block * self.lanes
        self.results = self.ir.let(f"alloca {self.ir.real}, i64 {p.m * p.n * self.pitch}, align 64")

    def _leave(self, first: str) -> None:
        """The results of a block."""
        new = self.ir.let(f"icmp eq i64 {first}, %sa")
        self._each_row(first, lambda row, phase, to: self._streamed(row, phase, to, new))

    def _close(self) -> None:
        """What is left after the last block."""
        self._each_row("%sb", self._rest)

    def _bases(self, first: str) -> list[str]:
        """As ``Span`` has it, but C is in the buffer, behind what waits there."""
        ir = self.ir
        a, b, _ = super()._bases(first)
        along = ir.let(f"sub i64 {first}, {self.begin}")
        return [a, b, self._moved(ir.at(self.results, self.line), along)]

    def _put(self, c: str, i: int, j: int, sums: Sequence[str]) -> None:
        """alpha * sum of one element of the matrices of a turn, into the row of its results."""
        place = (i * self.p.n + j) * self.pitch
        for vector, total in enumerate(self._signed(sums)):
            value = finish(self.ir, self.p, self.scalars, total, None, self.width)
            self.ir.store(value, self.ir.at(c, place + vector * self.width), self.piece)

    def _each_row(self, first: str, body: Callable[[str, str, str], None]) -> None:
        """``body(row, phase, to)`` for each row of C: its results, how many reals behind a line it begins in
        memory, and the beginning of that line, where it stands at a matrix."""
        ir, table = self.ir, self.tables[2]
        moved = first if self.unit == 1 else ir.let(f"shl i64 {first}, 1")

        def row(number: str) -> None:
            offset = self._offset(ir.let(f"add i64 {number}, {table.first}"), table)
            address = ir.at(ir.at("%C", offset), moved)
            behind = ir.let(f"and i64 {ir.let(f'ptrtoint ptr {address} to i64')}, {LINE_BYTES - 1}")
            phase = ir.let(f"udiv i64 {behind}, {self.size}")
            back = ir.let(f"sub i64 0, {phase}")
            held = ir.at(ir.at(self.results, ir.let(f"mul i64 {number}, {self.pitch}")), self.line)
            body(ir.at(held, back), phase, ir.at(address, back))

        loop(ir, "0", str(self.p.m * self.p.n), 1, row)

    def _streamed(self, row: str, phase: str, to: str, new: str) -> None:
        """All whole lines of a row of a block; the first one of all, if the row begins in it, as far as it is
        ours. What is left goes to where the next block finds it."""
        ir, end = self.ir, self.block * self.lanes
        inside = ir.let(f"icmp ne i64 {phase}, 0")
        border = ir.let(f"select i1 {ir.let(f'and i1 {new}, {inside}')}, i64 {self.line}, i64 0")
        loop(ir, phase, border, 1, lambda at: self._moved_one(row, to, at))

        def leave(at: str) -> None:
            for part in range(0, self.line, self.width):
                place = ir.let(f"add i64 {at}, {part}")
                ir.store(ir.load(ir.at(row, place), self.piece), ir.at(to, place), self.piece, stream=True)

        loop(ir, border, str(end), self.line, leave)
        front = ir.at(row, ir.let(f"sub i64 {phase}, {self.line}"))
        for part in range(0, self.line, self.width):
            ir.store(ir.load(ir.at(front, end + part), self.piece), ir.at(front, part), self.piece)

    def _rest(self, row: str, phase: str, to: str) -> None:
        """What is left of the last line of a row."""
        loop(self.ir, "0", phase, 1, lambda at: self._moved_one(row, to, at))

    def _moved_one(self, row: str, to: str, at: str) -> None:
        """One real by ordinary instructions."""
        ir = self.ir
        value = ir.let(f"load {ir.real}, ptr {ir.at(row, at)}, align {self.size}")
        ir.do(f"store {ir.real} {value}, ptr {ir.at(to, at)}, align {self.size}")
