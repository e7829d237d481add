"""Operands of 16-bit numbers as instructions want them that multiply pairs along k: in buffers on the stack.

        op(A): 16 rows, pair 0   [ (0,0)(0,1) | (1,0)(1,1) | ... | (15,0)(15,1) ]     a vector of 16 pairs
                        pair 1   [ (0,2)(0,3) | (1,2)(1,3) | ...                ]
        op(B): column 0          [ (0,0)(1,0) | (2,0)(3,0) | ... | zeros ]            a row of pairs

Rows of A past m and steps of k past its end are zeros.

Where float16 is multiplied as bfloat16 (``split``), each number is the sum of two of those, without rounding:
what its first 8 bits are, and the other 3. A buffer then holds first parts, and after them all the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

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
ROUND = "@llvm.x86.avx512bf16.cvtne2ps2bf16.512"
T = TypeVar("T")


class Pairs:
    """The writer of both buffers. ``deep``: pairs of k that a row of A has in its buffer; ``row``: numbers
    that a column of op(B) has in its buffer, whole vectors of them."""

    # Between two blocks that are transposed an order is kept, so an ``ir`` with ``register`` is expected:
    # without it LLVM reads the second block while the first is in registers, and spills.

    def __init__(self, ir: Ir, problem: Problem, deep: int, row: int, split: bool = False):
        self.ir, self.p, self.deep, self.row, self.split = ir, problem, deep, row, split
        self.parts_a = -(-problem.m // ROWS) * deep * ROWS
        self.parts_b = problem.n * row // 2

    def paired(self, first: str, second: str | None, piece: Piece) -> list[str]:
        """The vector of ``_paired``, or that of first parts and that of second ones."""
        if not self.split:
            return [self._paired(first, second, piece)]
        ir, whole = self.ir, f"<{ROWS} x i32>"
        lower = self._halves(ir.load(first, piece))
        upper = None if second is None else self._halves(ir.load(second, piece))
        found = []
        for part, low in enumerate(lower):
            bits = ir.let(f"bitcast {ir.vec(ROWS)} {low} to {whole}")
            both = ir.let(f"lshr {whole} {bits}, {_each(16)}")
            if upper is not None:
                high = ir.let(f"bitcast {ir.vec(ROWS)} {upper[part]} to {whole}")
                both = ir.let(f"or {whole} {both}, {high}")
            found.append(ir.let(f"bitcast {whole} {both} to {ir.vec(ROWS)}"))
        return found

    def _halves(self, value: str) -> tuple[str, str]:
        """Two vectors of 16 bfloat16, as float32, whose sum is one of float16; the second is zero where the
        first is infinite or no number."""
        ir, whole, real = self.ir, f"<{ROWS} x i32>", self.ir.vec(ROWS)
        bits = ir.let(f"and {whole} {ir.let(f'bitcast {real} {value} to {whole}')}, {_each(-(1 << 16))}")
        first = ir.let(f"bitcast {whole} {bits} to {real}")
        rest = ir.op("fsub", value, first, ROWS)
        there = ir.let(f"fcmp ord {real} {rest}, {rest}")
        return first, ir.let(f"select <{ROWS} x i1> {there}, {real} {rest}, {real} zeroinitializer")

    def _paired(self, first: str, second: str | None, piece: Piece) -> str:
        """16 vectors' lanes (x, y) side by side, x from ``first`` and y from ``second`` (zeros: None), as
        numbers of 32 bits that nobody computes with."""
        ir, short, whole = self.ir, f"<{ROWS} x i16>", f"<{ROWS} x i32>"
        value = ir.load_stored(first, piece)
        raw = ir.let(f"bitcast <{ROWS} x {ir.stored}> {value} to {short}")
        if second is None:
            wide = ir.let(f"zext {short} {raw} to {whole}")
            return ir.let(f"bitcast {whole} {wide} to {ir.vec(ROWS)}")
        # Read into the upper half by a mask, both halves are one vector by no instruction of their own, and
        # one permutation puts pairs together. The mask reads nothing of what lies before.
        both, name = f"<{2 * ROWS} x i16>", f"@llvm.masked.load.v{2 * ROWS}i16.p0"
        bits, every = f"<{2 * ROWS} x i1>", range(2 * ROWS)
        ir.declared.add(f"declare {both} {name}(ptr, i32, {bits}, {both})")
        kept = ", ".join(f"i32 {lane}" for lane in every)
        lower = ir.let(f"shufflevector {short} {raw}, {short} zeroinitializer, <{2 * ROWS} x i32> <{kept}>")
        mask = ", ".join(f"i1 {int(0 <= lane - ROWS < piece.active)}" for lane in every)
        read = f"ptr {ir.at(second, -ROWS)}, i32 2, {bits} <{mask}>, {both} {lower}"
        joined = ir.let(f"call {both} {name}({read})")
        order = ", ".join(f"i32 {lane}" for row in range(ROWS) for lane in (row, ROWS + row))
        dealt = ir.let(f"shufflevector {both} {joined}, {both} poison, <{2 * ROWS} x i32> <{order}>")
        return ir.let(f"bitcast {both} {dealt} to {ir.vec(ROWS)}")

    def pack_a(self, a: str, buffer: str, part: int = 0, parts: int = 1) -> None:
        """Pairs of op(A): for each tile of 16 rows, after one another, rows of pairs (2l, 2l + 1).

        Of ``parts`` pieces of this work, as equal as they can be, the one of number ``part``.
        """
        p, ir, deep = self.p, self.ir, self.deep
        whole = Piece(0, ROWS, ROWS)
        if p.transposed_a:
            blocks = [(row, pair) for row in range(0, p.m, ROWS) for pair in range(0, deep, PAIRS)]
            for row, pair in _share(blocks, part, parts):
                # Both parts of all lines at once are more than there are registers.
                for which in range(1 + self.split):
                    lines = [
                        self._along_k(a, (row + i) * p.lda, 2 * pair) if row + i < p.m else None  # type: ignore[operator]
                        for i in range(ROWS)
                    ]
                    vectors = self._transposed([line[which] if line else None for line in lines])
                    for number, vector in enumerate(vectors[: deep - pair]):
                        at = which * self.parts_a + row * deep + (pair + number) * ROWS
                        ir.store(vector, ir.at(buffer, at, held=True), whole, held=True)
                    ir.keep_order()
            return

        def put(source: str, sink: str, second: bool) -> None:
            for row in range(0, p.m, ROWS):
                piece = Piece(row, ROWS, min(ROWS, p.m - row))
                here = ir.at(source, row)
                vectors = self.paired(here, ir.at(here, p.lda) if second else None, piece)  # type: ignore[arg-type]
                for which, vector in enumerate(vectors):
                    place = ir.at(sink, which * self.parts_a + row * deep, held=True)
                    ir.store(vector, place, whole, held=True)

        def one(pair: int) -> None:
            place = ir.at(buffer, pair * ROWS, held=True)
            put(ir.at(a, 2 * pair * p.lda), place, pair < p.k // 2)  # type: ignore[operator]

        mine = _share(range(p.k // 2), part, parts)
        if len(mine) > LONG:

            def step(at: str) -> None:
                across = ir.let(f"mul i64 {at}, {2 * p.lda}")  # type: ignore[operator]
                put(ir.at(a, across), ir.at(buffer, ir.let(f"mul i64 {at}, {ROWS}"), held=True), True)

            counted(ir, str(mine[0]), str(mine[-1] + 1), 1, step)
        else:
            for pair in mine:
                one(pair)
        if part < parts - 1:
            return
        if p.k % 2:
            one(p.k // 2)
        for pair in range(-(-p.k // 2), deep):
            for row in range(0, p.m, ROWS):
                for which in range(1 + self.split):
                    place = ir.at(buffer, which * self.parts_a + row * deep + pair * ROWS, held=True)
                    ir.store("zeroinitializer", place, whole, held=True)

    def copy_b(self, b: str, buffer: str, part: int = 0, parts: int = 1) -> None:
        """The columns of op(B), each padded by zeros to ``row`` numbers: all, or one of ``parts`` pieces of
        this work."""
        p, ir, length = self.p, self.ir, self.row
        if not p.transposed_b:
            mine = _share(range(p.n), part, parts)

            def step(at: str) -> None:
                source = ir.at(b, ir.let(f"mul i64 {at}, {p.ldb}"))
                sink = ir.at(buffer, ir.let(f"mul i64 {at}, {length}"))
                for k in range(0, length, 2 * PAIRS):
                    for which, line in enumerate(self._along_k(source, 0, k) or ()):
                        place = ir.at(ir.at(sink, which * self.parts_b, held=True), k)
                        ir.store(line, place, Piece(0, ROWS, ROWS), held=True)

            if mine:
                counted(ir, str(mine[0]), str(mine[-1] + 1), 1, step)
            return
        blocks = [(column, pair) for column in range(0, p.n, ROWS) for pair in range(0, length // 2, PAIRS)]
        for column, pair in _share(blocks, part, parts):
            piece = Piece(column, ROWS, min(ROWS, p.n - column))
            for which in range(1 + self.split):
                found: list[str | None] = []
                for k in range(2 * pair, min(2 * (pair + PAIRS), p.k), 2):
                    first = ir.at(b, column + k * p.ldb)  # type: ignore[operator]
                    second = ir.at(first, p.ldb) if k + 1 < p.k else None  # type: ignore[arg-type]
                    found.append(self.paired(first, second, piece)[which])
                found += [None] * (ROWS - len(found))
                for number, vector in enumerate(self._transposed(found)[: piece.active]):
                    place = ir.at(buffer, (column + number) * length + 2 * pair)
                    place = ir.at(place, which * self.parts_b, held=True)
                    ir.store(vector, place, Piece(0, ROWS, ROWS), held=True)
                ir.keep_order()

    def _along_k(self, base: str, offset: int, k: int) -> list[str] | None:
        """Up to 16 pairs of a row of k, zeros beyond its end, by part; None where there is none."""
        ir, active = self.ir, min(2 * PAIRS, self.p.k - k)
        if active < 1:
            return None
        value = ir.load_stored(ir.at(base, offset + k), Piece(0, 2 * PAIRS, active))
        if not self.split:
            return [ir.let(f"bitcast <{2 * PAIRS} x {ir.stored}> {value} to {ir.vec(PAIRS)}")]
        stored = f"<{2 * PAIRS} x {ir.stored}>"
        both = []
        for begin in (0, PAIRS):
            lanes = ", ".join(f"i32 {begin + lane}" for lane in range(PAIRS))
            half = ir.let(f"shufflevector {stored} {value}, {stored} poison, <{PAIRS} x i32> <{lanes}>")
            both.append(self._halves(ir.widened(half, PAIRS)))
        return [self._joined(low, high) for low, high in zip(*both, strict=True)]

    def _joined(self, low: str, high: str) -> str:
        """Two vectors of float32 as bfloat16 after one another, of numbers that need no rounding."""
        value = rounded(self.ir, low, high)
        return self.ir.let(f"bitcast <{2 * PAIRS} x bfloat> {value} to {self.ir.vec(PAIRS)}")

    def _transposed(self, rows: list[str | None]) -> list[str]:
        """The transpose of 16 vectors of pairs, of which None are zeros."""
        return block_transposed(self.ir, [row or "zeroinitializer" for row in rows], 1, ROWS)


def rounded(ir: Ir, low: str, high: str) -> str:
    """Two vectors of 16 sums as 32 bfloat16, by one instruction (AVX512-BF16)."""
    wide, real = f"<{2 * ROWS} x bfloat>", ir.vec(ROWS)
    ir.declared.add(f"declare {wide} {ROUND}({real}, {real})")
    return ir.let(f"call {wide} {ROUND}({real} {high}, {real} {low})")


def _each(number: int) -> str:
    """A constant vector of one whole number."""
    return "<" + ", ".join([f"i32 {number}"] * ROWS) + ">"


def _share(work: Sequence[T], part: int, parts: int) -> Sequence[T]:
    """One of ``parts`` pieces of some work, which follow one another and differ by one at most."""
    return work[len(work) * part // parts : len(work) * (part + 1) // parts]
