"""Arrays (m, n, batch) whose rows begin anywhere, by blocks of matrices through buffers.

                                                 a row: one element of all matrices
    A, B      row 0  [-- block 0 --|-- block 1 --|...     1. a block is copied, a line of eight rows at once,
              row 1  [-------------|...                      and the next one is asked for
    buffer           [turn 0: all rows | turn 1: ...      2. it is multiplied
                                  *
    results   row 0  [-- block 0 --]     of C             3. whole lines of each row are streamed; the rest
              row 1  [-------------]                         of the last one waits for the next block

A line of C that is not written as a whole is read first. And turns read from a buffer what is aligned, at
constant distances. To copy the next block between parts of products lost more than it hid (0.8; no file).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.model import Config, Problem
from tilewright.stencils.cpu.compact.codegen import Span, Table, loop
from tilewright.stencils.cpu.ir import Ir, finish, load_scalars
from tilewright.stencils.cpu.staging import LINE_BYTES

GROUP = 8
"""Rows that are copied side by side. On a Zen 4 loops that compute nothing move 128 rows of doubles and 64 of
results at 22 GB/s by eight at a time, at 20 to 21 by four and 15 to 19 by one (no file)."""
TURNS = 8
"""Turns of a block where none are said."""


def turns(config: Config) -> int:
    """Turns of a block."""
    return int(config["block"]) or TURNS


def buffered(p: Problem, block: int, lanes: int) -> int:
    """Bytes of both buffers, for blocks of so many turns of so many reals."""
    real = p.dtype.real_bits // 8
    return block * _apart(p) * lanes * real + p.m * p.n * (LINE_BYTES + block * lanes * real)


def _apart(p: Problem) -> int:
    """Rows from one turn to the next in the buffer: an odd number, so that those of neighbouring turns do not
    meet in one set of the cache."""
    return -(-_copied(p) // GROUP) * GROUP + 1


def _copied(p: Problem) -> int:
    """Rows of A and B that are copied: none of an operand that the batch shares."""
    return (p.m * p.k if p.stride_a else 0) + (p.k * p.n if p.stride_b else 0)


class Blocks(Span):
    """The writer of ``blocks``: the products of whole blocks of matrices."""

    def function(self) -> Ir:
        """All of it."""
        ir, p = self.ir, self.p
        self.scalars = load_scalars(ir, p)
        self.block = turns(self.c)
        self.lanes, self.size = self.width * self.vectors, ir.bits // 8
        self.line = LINE_BYTES // self.size
        self.pitch = self.line + self.block * self.lanes
        rows = -(-_copied(p) // GROUP) * GROUP
        self.turn = _apart(p) * self.lanes
        sources = ir.let(f"alloca ptr, i64 {rows}, align 64")
        buffer = ir.let(f"alloca {ir.real}, i64 {self.block * self.turn}, align 64")
        results = ir.let(f"alloca {ir.real}, i64 {p.m * p.n * self.pitch}, align 64")
        self._rows_of(sources, rows)

        def block(first: str) -> None:
            self._copy(sources, rows, first, buffer)

            def turn(t: str) -> None:
                here = ir.at(buffer, ir.let(f"mul i64 {t}, {self.turn}"))
                to = ir.at(ir.at(results, self.line), ir.let(f"mul i64 {t}, {self.lanes}"))
                bases = [here if moves else base for base, moves in self._operands()]
                self._products([*bases, to], self.parts)

            loop(ir, "0", str(self.block), 1, turn)
            new = ir.let(f"icmp eq i64 {first}, %sa")
            self._each_row(results, first, lambda row, phase, to: self._streamed(row, phase, to, new))

        loop(ir, "%sa", "%sb", self.block * self.per_turn, block)
        self._each_row(results, "%sb", self._rest)
        return ir

    def _operands(self) -> tuple[tuple[str, bool], tuple[str, bool]]:
        """A and B, and whether they are copied."""
        return ("%A", self.p.stride_a != 0), ("%B", self.p.stride_b != 0)

    # -- A and B ---------------------------------------------------------------------------------------
    def _rows_of(self, sources: str, rows: int) -> None:
        """Where each row begins that is copied; the last one is there again up to a whole group."""
        ir = self.ir
        words = [
            (base, word)
            for (base, moves), table in zip(self._operands(), self.tables, strict=False)
            for word in range(table.first, table.first + table.rows * table.columns)
            if moves
        ]
        for at, (base, word) in enumerate([*words, *words[-1:] * (rows - len(words))]):
            address = ir.at(base, super()._offset(word, self.tables[0]))
            ir.do(
                f"store ptr {address}, ptr {ir.let(f'getelementptr ptr, ptr {sources}, i64 {at}')}, align 8"
            )

    def _copy(self, sources: str, rows: int, first: str, buffer: str) -> None:
        """The block that begins at a matrix, into the buffer; the next one is asked for."""
        ir = self.ir

        def group(row: str) -> None:
            entries = [
                ir.let(f"getelementptr ptr, ptr {sources}, i64 {ir.let(f'add i64 {row}, {each}')}")
                for each in range(GROUP)
            ]
            starts = [ir.let(f"load ptr, ptr {entry}, align 8") for entry in entries]
            column = ir.at(buffer, ir.let(f"mul i64 {row}, {self.lanes}"))

            def turn(t: str) -> None:
                place = ir.let(f"add i64 {first}, {ir.let(f'mul i64 {t}, {self.per_turn}')}")
                place = place if self.unit == 1 else ir.let(f"shl i64 {place}, 1")
                values = []
                for start in starts:
                    address = ir.at(start, place)
                    values += [
                        ir.load(ir.at(address, v * self.width), self.piece) for v in range(self.vectors)
                    ]
                    for ahead in range(0, self.lanes, self.line):
                        ir.prefetch(ir.at(address, self.block * self.lanes + ahead), write=False, level=2)
                to = ir.at(column, ir.let(f"mul i64 {t}, {self.turn}"))
                for at, value in enumerate(values):
                    ir.store(value, ir.at(to, at * self.width), self.piece)

            loop(ir, "0", str(self.block), 1, turn)

        loop(ir, "0", str(rows), GROUP, group)

    def _offset(self, word: int | str, table: Table) -> int | str:
        """Within the rows of a turn in the buffer, those of A first; of a shared operand as it lies."""
        a, b, _ = self.tables
        moves = self.p.stride_a if table is a else self.p.stride_b
        if not moves:
            return super()._offset(word, table)
        first = table.first - (a.rows * a.columns if table is b and self.p.stride_a else 0)
        if isinstance(word, int):
            return (word - first) * self.lanes
        return self.ir.let(f"mul i64 {self.ir.let(f'sub i64 {word}, {first}')}, {self.lanes}")

    # -- C ---------------------------------------------------------------------------------------------
    def _put(self, c: str, i: int, j: int, sums: Sequence[str]) -> None:
        """alpha * sum of one element of the matrices of a turn, into the row of its results."""
        place = (i * self.p.n + j) * self.pitch
        for vector, total in enumerate(self._signed(sums)):
            value = finish(self.ir, self.p, self.scalars, total, None, self.width)
            self.ir.store(value, self.ir.at(c, place + vector * self.width), self.piece)

    def _each_row(self, results: str, first: str, body: Callable[[str, str, str], None]) -> None:
        """``body(row, phase, to)`` for each row of C: its results, how many reals behind a line it begins in
        memory, and the beginning of that line, where it stands at a matrix."""
        ir, table = self.ir, self.tables[2]
        moved = first if self.unit == 1 else ir.let(f"shl i64 {first}, 1")

        def row(number: str) -> None:
            offset = super(Blocks, self)._offset(ir.let(f"add i64 {number}, {table.first}"), table)
            address = ir.at(ir.at("%C", offset), moved)
            behind = ir.let(f"and i64 {ir.let(f'ptrtoint ptr {address} to i64')}, {LINE_BYTES - 1}")
            phase = ir.let(f"udiv i64 {behind}, {self.size}")
            back = ir.let(f"sub i64 0, {phase}")
            held = ir.at(ir.at(results, ir.let(f"mul i64 {number}, {self.pitch}")), self.line)
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
