"""Operands of 16-bit numbers as instructions want them that multiply pairs along k: in buffers on the stack.

        op(A): 16 rows, pair 0   [ (0,0)(0,1) | (1,0)(1,1) | ... | (15,0)(15,1) ]     a vector of 16 pairs
                        pair 1   [ (0,2)(0,3) | (1,2)(1,3) | ...                ]
        op(B): column 0          [ (0,0)(1,0) | (2,0)(3,0) | ... | zeros ]            a row of pairs

Rows of A past m and steps of k past its end are zeros.
"""

from __future__ import annotations

from tilewright.model import Problem
from tilewright.space import Param
from tilewright.stencils.cpu.ir import Ir, Piece
from tilewright.stencils.cpu.staging import counted
from tilewright.stencils.cpu.transpose import block_transposed

ROWS = 16
"""Rows of A that lie side by side."""
PAIRS = 16
"""Pairs of a vector."""
CONVERT = Param("convert", (0, 1))
"""Whether sums become bfloat16 by the instruction for it (AVX512-BF16), or by arithmetic on integers."""
LONG = 8
"""Pairs of k beyond which they are written in a loop."""


class Pairs:
    """The writer of both buffers. ``deep``: pairs of k that a row of A has in its buffer; ``row``: numbers
    that a column of op(B) has in its buffer, whole vectors of them."""

    # Between two blocks that are transposed an order is kept, so an ``ir`` with ``register`` is expected:
    # without it LLVM reads the second block while the first is in registers, and spills.

    def __init__(self, ir: Ir, problem: Problem, deep: int, row: int):
        self.ir, self.p, self.deep, self.row = ir, problem, deep, row

    def paired(self, first: str, second: str | None, piece: Piece) -> str:
        """16 vectors' lanes (x, y) side by side, x from ``first`` and y from ``second`` (zeros: None), as
        numbers of 32 bits that nobody computes with."""
        ir, short, whole = self.ir, f"<{ROWS} x i16>", f"<{ROWS} x i32>"

        def read(address: str) -> str:
            value = ir.load_stored(address, piece)
            raw = ir.let(f"bitcast <{ROWS} x {ir.stored}> {value} to {short}")
            return ir.let(f"zext {short} {raw} to {whole}")

        both = read(first)
        if second is not None:
            shift = "<" + ", ".join(["i32 16"] * ROWS) + ">"
            both = ir.let(f"or {whole} {both}, {ir.let(f'shl {whole} {read(second)}, {shift}')}")
        return ir.let(f"bitcast {whole} {both} to {ir.vec(ROWS)}")

    def pack_a(self, a: str, buffer: str) -> None:
        """Pairs of op(A): for each tile of 16 rows, after one another, rows of pairs (2l, 2l + 1)."""
        p, ir, deep = self.p, self.ir, self.deep
        whole = Piece(0, ROWS, ROWS)
        if p.transposed_a:
            for row in range(0, p.m, ROWS):
                for pair in range(0, deep, PAIRS):
                    lines = [
                        self._along_k(a, (row + i) * p.lda, 2 * pair) if row + i < p.m else None  # type: ignore[operator]
                        for i in range(ROWS)
                    ]
                    found = self._transposed(lines)[: deep - pair]
                    for number, vector in enumerate(found):
                        at = row * deep + (pair + number) * ROWS
                        ir.store(vector, ir.at(buffer, at, held=True), whole, held=True)
                    ir.keep_order()
            return

        def put(source: str, sink: str, second: bool) -> None:
            for row in range(0, p.m, ROWS):
                piece = Piece(row, ROWS, min(ROWS, p.m - row))
                here = ir.at(source, row)
                vector = self.paired(here, ir.at(here, p.lda) if second else None, piece)  # type: ignore[arg-type]
                ir.store(vector, ir.at(sink, row * deep, held=True), whole, held=True)

        pairs = p.k // 2
        begin = 0
        if pairs > LONG:
            begin = pairs

            def step(at: str) -> None:
                across = ir.let(f"mul i64 {at}, {2 * p.lda}")  # type: ignore[operator]
                put(ir.at(a, across), ir.at(buffer, ir.let(f"mul i64 {at}, {ROWS}"), held=True), True)

            counted(ir, "0", str(pairs), 1, step)
        for pair in range(begin, -(-p.k // 2)):
            place = ir.at(buffer, pair * ROWS, held=True)
            put(ir.at(a, 2 * pair * p.lda), place, pair < pairs)  # type: ignore[operator]
        for pair in range(-(-p.k // 2), deep):
            for row in range(0, p.m, ROWS):
                place = ir.at(buffer, row * deep + pair * ROWS, held=True)
                ir.store("zeroinitializer", place, whole, held=True)

    def copy_b(self, b: str, buffer: str) -> None:
        """The columns of op(B), each padded by zeros to ``row`` numbers."""
        p, ir, length = self.p, self.ir, self.row
        if not p.transposed_b:

            def step(at: str) -> None:
                source = ir.at(b, ir.let(f"mul i64 {at}, {p.ldb}"))
                sink = ir.at(buffer, ir.let(f"mul i64 {at}, {length}"))
                for k in range(0, length, 2 * PAIRS):
                    active = min(2 * PAIRS, p.k - k)
                    value = ir.load_stored(ir.at(source, k), Piece(k, 2 * PAIRS, active))
                    ir.store_stored(value, ir.at(sink, k), Piece(k, 2 * PAIRS, 2 * PAIRS))

            counted(ir, "0", str(p.n), 1, step)
            return
        for column in range(0, p.n, ROWS):
            piece = Piece(column, ROWS, min(ROWS, p.n - column))
            for pair in range(0, length // 2, PAIRS):
                found: list[str | None] = []
                for k in range(2 * pair, min(2 * (pair + PAIRS), p.k), 2):
                    first = ir.at(b, column + k * p.ldb)  # type: ignore[operator]
                    found.append(self.paired(first, ir.at(first, p.ldb) if k + 1 < p.k else None, piece))  # type: ignore[arg-type]
                found += [None] * (ROWS - len(found))
                for number, vector in enumerate(self._transposed(found)[: piece.active]):
                    place = ir.at(buffer, (column + number) * length + 2 * pair)
                    ir.store(vector, place, Piece(0, ROWS, ROWS), held=True)
                ir.keep_order()

    def _along_k(self, base: str, offset: int, k: int) -> str | None:
        """Up to 16 pairs of a row of k, zeros beyond its end; None where there is none."""
        ir, active = self.ir, min(2 * PAIRS, self.p.k - k)
        if active < 1:
            return None
        value = ir.load_stored(ir.at(base, offset + k), Piece(0, 2 * PAIRS, active))
        return ir.let(f"bitcast <{2 * PAIRS} x {ir.stored}> {value} to {ir.vec(PAIRS)}")

    def _transposed(self, rows: list[str | None]) -> list[str]:
        """The transpose of 16 vectors of pairs, of which None are zeros."""
        return block_transposed(self.ir, [row or "zeroinitializer" for row in rows], 1, ROWS)
