"""Operands of 16-bit numbers as instructions want them that multiply pairs along k: in buffers on the stack.

        op(A): 16 rows, pair 0   [ (0,0)(0,1) | (1,0)(1,1) | ... | (15,0)(15,1) ]     a vector of 16 pairs
                        pair 1   [ (0,2)(0,3) | (1,2)(1,3) | ...                ]
        op(B): column 0          [ (0,0)(1,0) | (2,0)(3,0) | ... | zeros ]            a row of pairs

Rows of A past m and steps of k past its end are zeros.

Where float16 is multiplied as bfloat16 (``split``), each number is the sum of two of those, without rounding:
what its first 8 bits are, and the other 3. A buffer then holds first parts, and after them all the second.
Parts are the upper halves of vectors in float32, so that two such vectors become one of pairs by a shift and
an "or", and no lane moves: a step of ``split`` pairs has k beside k + ``split``, in both buffers. The second
part of an infinity is no number.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
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

    def __init__(self, ir: Ir, problem: Problem, deep: int, row: int, split: int = 0):
        self.ir, self.p, self.deep, self.row, self.split = ir, problem, deep, row, split
        self.parts = 2 if split else 1
        self.parts_a = -(-problem.m // ROWS) * deep * ROWS
        self.parts_b = problem.n * row // 2

    def _pair(self, number: int) -> tuple[int, int]:
        """The two steps of k of a pair."""
        if not self.split:
            return 2 * number, 2 * number + 1
        first = number + number // self.split * self.split
        return first, first + self.split

    def _chunks(self, pairs: int) -> list[range]:
        """Pairs that a vector holds of one row or column, of so many: those of a step where numbers are
        split, else as many as there is room for."""
        size = self.split or PAIRS
        return [range(first, min(first + size, pairs)) for first in range(0, pairs, size)]

    def paired(self, base: str, number: int, apart: int, piece: Piece) -> list[str] | None:
        """16 pairs of a number of rows or columns that are ``apart`` from the next along k: a vector, or one
        of first parts and one of second ones; None beyond the end of k."""
        k, (first, second) = self.p.k, self._pair(number)
        if first >= k:
            return None
        return self.paired_at(self.ir.at(base, first * apart), (second - first) * apart * (second < k), piece)

    def paired_at(self, first: str, apart: int, piece: Piece) -> list[str]:
        """The same from the address of the first ones; ``apart``: numbers from there to the second ones, 0
        where those are zeros."""
        ir = self.ir
        second = ir.at(first, apart) if apart else None
        if self.split:
            return self._parts(ir.load(first, piece), None if second is None else ir.load(second, piece))
        adjacent = apart == ROWS and piece.active == ROWS
        return [self._dealt(first) if adjacent else self._paired(first, second, piece)]

    def _parts(self, lower: str, upper: str | None) -> list[str]:
        """First parts, as bfloat16, of two vectors of float16 that were widened, side by side in each lane,
        and second ones."""
        ir, real, whole = self.ir, self.ir.vec(ROWS), f"<{ROWS} x i32>"
        found, values = [], [lower] if upper is None else [lower, upper]
        bits = [ir.let(f"bitcast {real} {value} to {whole}") for value in values]
        firsts = [ir.let(f"and {whole} {value}, {_each(-(1 << 16))}") for value in bits]
        tops = [ir.let(f"bitcast {whole} {first} to {real}") for first in firsts]
        rests = [ir.op("fsub", value, top, ROWS) for value, top in zip(values, tops, strict=True)]
        seconds = [ir.let(f"bitcast {real} {rest} to {whole}") for rest in rests]
        for low, high in ((bits[0], firsts[1:]), (seconds[0], seconds[1:])):
            both = ir.let(f"lshr {whole} {low}, {_each(16)}")
            for each in high:
                both = ir.let(f"or {whole} {both}, {each}")
            found.append(ir.let(f"bitcast {whole} {both} to {real}"))
        return found

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
        return self._side_by_side(ir.let(f"call {both} {name}({read})"))

    def _dealt(self, address: str) -> str:
        """The same of two vectors that follow one another."""
        whole = Piece(0, 2 * ROWS, 2 * ROWS)
        value = self.ir.load_stored(address, whole)
        return self._side_by_side(
            self.ir.let(f"bitcast <{2 * ROWS} x {self.ir.stored}> {value} to <{2 * ROWS} x i16>")
        )

    def _side_by_side(self, joined: str) -> str:
        """Lanes of the lower half of a vector beside those of its upper half."""
        ir, both = self.ir, f"<{2 * ROWS} x i16>"
        order = ", ".join(f"i32 {lane}" for row in range(ROWS) for lane in (row, ROWS + row))
        dealt = ir.let(f"shufflevector {both} {joined}, {both} poison, <{2 * ROWS} x i32> <{order}>")
        return ir.let(f"bitcast {both} {dealt} to {ir.vec(ROWS)}")

    def pack_a(self, a: str, buffer: str, part: int = 0, parts: int = 1) -> None:
        """Pairs of op(A): for each tile of 16 rows, after one another, rows of pairs.

        Of ``parts`` pieces of this work, as equal as they can be, the one of number ``part``.
        """
        p, ir, deep = self.p, self.ir, self.deep
        whole = Piece(0, ROWS, ROWS)
        if p.transposed_a:
            blocks = [(row, chunk) for row in range(0, p.m, ROWS) for chunk in self._chunks(deep)]
            for row, chunk in _share(blocks, part, parts):
                # Both parts of all lines at once are more than there are registers.
                for which in range(self.parts):
                    lines = [
                        self._along_k(a, (row + i) * p.lda, chunk) if row + i < p.m else None  # type: ignore[operator]
                        for i in range(ROWS)
                    ]
                    vectors = self._transposed([line[which] if line else None for line in lines])
                    for number, vector in zip(chunk, vectors, strict=False):
                        at = which * self.parts_a + row * deep + number * ROWS
                        ir.store(vector, ir.at(buffer, at, held=True), whole, held=True)
                    ir.keep_order()
            return

        def put(source: str, sink: str, apart: int | None) -> None:
            """A pair of all rows; ``apart`` as in ``paired_at``, None where both are zeros."""
            for row in range(0, p.m, ROWS):
                piece = Piece(row, ROWS, min(ROWS, p.m - row))
                vectors = ["zeroinitializer"] * self.parts
                if apart is not None:
                    vectors = self.paired_at(ir.at(source, row), apart, piece)
                for which, vector in enumerate(vectors):
                    place = ir.at(sink, which * self.parts_a + row * deep, held=True)
                    ir.store(vector, place, whole, held=True)

        # Pairs whose steps of k are there, and as far from those of the pair before, take turns of a loop.
        ld: int = p.lda  # type: ignore[assignment]
        forward = 1 if self.split else 2

        def alike(number: int) -> tuple[int, int]:
            first, second = self._pair(number)
            return (first - forward * number, (first < p.k) + (second < p.k))

        for (begin, there), group in groupby(_share(range(deep), part, parts), key=alike):
            mine = list(group)
            first, second = self._pair(mine[0])
            apart = (None, 0, (second - first) * ld)[there]
            if len(mine) <= LONG or there < 2:
                for number in mine:
                    at = self._pair(number)[0] * ld
                    put(ir.at(a, at), ir.at(buffer, number * ROWS, held=True), apart)
                continue

            def step(at: str, begin: int = begin, apart: int | None = apart) -> None:
                source = ir.at(ir.at(a, begin * ld), ir.let(f"mul i64 {at}, {forward * ld}"))
                put(source, ir.at(buffer, ir.let(f"mul i64 {at}, {ROWS}"), held=True), apart)

            counted(ir, str(mine[0]), str(mine[-1] + 1), 1, step)

    def copy_b(self, b: str, buffer: str, part: int = 0, parts: int = 1) -> None:
        """The columns of op(B), each padded by zeros to ``row`` numbers: all, or one of ``parts`` pieces of
        this work."""
        p, ir, length = self.p, self.ir, self.row
        # Whole vectors are written in the order of k: what is beyond a step makes room for the next.
        chunks = self._chunks(self.deep if self.split else length // 2)
        if not p.transposed_b:
            mine = _share(range(p.n), part, parts)

            def step(at: str) -> None:
                source = ir.at(b, ir.let(f"mul i64 {at}, {p.ldb}"))
                sink = ir.at(buffer, ir.let(f"mul i64 {at}, {length}"))
                for chunk in chunks:
                    for which, line in enumerate(self._along_k(source, 0, chunk) or ()):
                        place = ir.at(ir.at(sink, which * self.parts_b, held=True), 2 * chunk[0])
                        ir.store(line, place, Piece(0, ROWS, ROWS), held=True)

            if mine:
                counted(ir, str(mine[0]), str(mine[-1] + 1), 1, step)
            return
        blocks = [(column, chunk) for column in range(0, p.n, ROWS) for chunk in chunks]
        for column, chunk in _share(blocks, part, parts):
            piece = Piece(column, ROWS, min(ROWS, p.n - column))
            for which in range(self.parts):
                found: list[str | None] = []
                for number in chunk:
                    vectors = self.paired(ir.at(b, column), number, p.ldb, piece)  # type: ignore[arg-type]
                    found.append(vectors[which] if vectors else None)
                found += [None] * (ROWS - len(found))
                for number, vector in enumerate(self._transposed(found)[: piece.active]):
                    place = ir.at(buffer, (column + number) * length + 2 * chunk[0])
                    place = ir.at(place, which * self.parts_b, held=True)
                    ir.store(vector, place, Piece(0, ROWS, ROWS), held=True)
                ir.keep_order()

    def _along_k(self, base: str, offset: int, chunk: range) -> list[str] | None:
        """Some pairs of a row of k, zeros beyond its end, by part; None where there is none."""
        ir, k = self.ir, self.p.k
        first, second = self._pair(chunk[0])
        if first >= k:
            return None
        if self.split:
            found = [
                ir.load(ir.at(base, offset + at), Piece(0, PAIRS, min(len(chunk), k - at)))
                for at in (first, second)
                if at < k
            ]
            return self._parts(found[0], found[1] if len(found) > 1 else None)
        value = ir.load_stored(ir.at(base, offset + first), Piece(0, 2 * PAIRS, min(2 * PAIRS, k - first)))
        return [ir.let(f"bitcast <{2 * PAIRS} x {ir.stored}> {value} to {ir.vec(PAIRS)}")]

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
