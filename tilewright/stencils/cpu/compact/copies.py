"""Rows of matrices that meet in a cache: each block of A and B is copied before it is multiplied.

              rows of matrices: 2^20 of them are 8 MiB apart        a buffer, rows at odd numbers of lines
    A, B      row 0  [-- block 0 --|-- block 1 --|...     ->        [-- block 0 --]
              row 1  [-------------|...                              [-------------]
                                                                            *
                                                          <-        results: C, row by row

Rows whose beginnings lie a multiple of some KiB apart share a few sets of each cache. There are more of them
than ways, so that a line is gone before the rest of it is wanted, or before it is wanted at all: on a Zen 3
batches of powers of two ran at a half to a tenth of others' speed. One row after the other, a line is used as
a whole while it is there (``conflicts.py`` says when).
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Problem
from tilewright.stencils.cpu.compact.blocks import Blocks
from tilewright.stencils.cpu.compact.codegen import Span, Table, loop
from tilewright.stencils.cpu.ir import finish
from tilewright.stencils.cpu.staging import LINE_BYTES

AHEAD = 4
"""Rows whose lines are asked for ahead of a copy: fewer than a cache has ways."""


def apart(reals: int, line: int) -> int:
    """Reals from one row of a buffer to the next, for so many of them: an odd number of lines, so that rows
    are spread over all sets."""
    lines = -(-reals // line)
    return (lines + 1 - lines % 2) * line


def copied(p: Problem, block: int, lanes: int) -> int:
    """Bytes of the buffers for blocks of so many turns of so many reals."""
    size = p.dtype.real_bits // 8
    rows = (p.m * p.k if p.stride_a else 0) + (p.k * p.n if p.stride_b else 0)
    results = p.m * p.n * (LINE_BYTES + block * lanes * size) if p.stride_c == 1 else 0
    return rows * apart(block * lanes, LINE_BYTES // size) * size + results


class Copies(Blocks):
    """The writer of ``copies``: the products of whole blocks of matrices, whose rows are copied."""

    def _turns(self) -> int:
        return int(self.c["copies"])

    def _open(self) -> None:
        ir = self.ir
        self.apart = apart(self.block * self.lanes, self.line)
        self.held = {
            at: ir.let(f"alloca {ir.real}, i64 {table.rows * table.columns * self.apart}, align 64")
            for at, table in enumerate(self.tables[:2])
            if self.p.strides[at]
        }
        if self.scattered:
            self._scattering()
        else:
            super()._open()

    def _block(self, first: str) -> None:
        """A copy of what a block reads, and its turns."""
        for at, buffer in self.held.items():
            self._copy(self._moved(("%A", "%B")[at], first), self.tables[at], buffer)
        following = self.ir.let(f"add i64 {first}, {self.per_turn * self.block}")
        loop(self.ir, first, following, self.per_turn, lambda here: self._turn(here, self.parts))

    def _copy(self, base: str, table: Table, buffer: str) -> None:
        """A block of all rows of an operand."""
        ir, count = self.ir, table.rows * table.columns

        def place(number: str) -> str:
            return ir.at(base, str(Span._offset(self, ir.let(f"add i64 {number}, {table.first}"), table)))

        def row(number: str) -> None:
            later = self._least(ir.let(f"add i64 {number}, {AHEAD}"), str(count - 1))
            source, ahead = place(number), place(later)
            to = ir.at(buffer, ir.let(f"mul i64 {number}, {self.apart}"))

            def some(at: str) -> None:
                ir.prefetch(ir.at(ahead, at), write=False)
                for part in range(0, self.line, self.width):
                    here = ir.let(f"add i64 {at}, {part}")
                    ir.store(ir.load(ir.at(source, here), self.piece), ir.at(to, here), self.piece)

            loop(ir, "0", str(self.block * self.lanes), self.line, some)

        loop(ir, "0", str(count), 1, row)

    def _bases(self, first: str) -> list[str]:
        """Operands in their buffers, as far as they are copied, and C."""
        bases = Span._bases(self, first) if self.scattered else super()._bases(first)
        along = self.ir.let(f"sub i64 {first}, {self.begin}")
        for at, buffer in self.held.items():
            bases[at] = self._moved(buffer, along)
        return bases

    def _offset(self, word: int | str, table: Table) -> int | str:
        """In a buffer rows follow one another."""
        if self.tables.index(table) not in self.held:
            return super()._offset(word, table)
        if isinstance(word, int):
            return (word - table.first) * self.apart
        return self.ir.let(f"mul i64 {self.ir.let(f'sub i64 {word}, {table.first}')}, {self.apart}")

    def _put(self, c: str, i: int, j: int, sums: Sequence[str]) -> None:
        """One element of the matrices of a turn: a sum alone where C is read, which its row is later."""
        if self.scattered:
            Span._put(self, c, i, j, sums)
        elif self.p.beta == "0":
            super()._put(c, i, j, sums)
        else:
            place = (i * self.p.n + j) * self.pitch
            for vector, total in enumerate(self._signed(sums)):
                self.ir.store(total, self.ir.at(c, place + vector * self.width), self.piece)

    def _leave(self, first: str) -> None:
        if self.scattered:
            return
        if self.stream:
            super()._leave(first)
        else:
            self._each_row(first, self._updated)

    def _close(self) -> None:
        if self.scattered:
            self._scattered_all()
        elif self.stream:
            super()._close()

    def _updated(self, row: str, phase: str, to: str) -> None:
        """A row of a block by ordinary stores: results, or alpha * sum + beta * C."""
        ir = self.ir
        held, c = ir.at(row, phase), ir.at(to, phase)

        def some(at: str) -> None:
            value, here = ir.load(ir.at(held, at), self.piece), ir.at(c, at)
            if self.p.beta != "0":
                old = ir.load(here, self.piece)
                value = finish(ir, self.p, self.scalars, value, old, self.width)
            ir.store(value, here, self.piece)

        loop(ir, "0", str(self.block * self.lanes), self.width, some)
