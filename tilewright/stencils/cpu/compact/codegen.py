"""The code of the ``compact`` stencil: what a config means in LLVM IR, from packs down to one multiply-add.

``stencil.py`` has the picture and says which configs there are. A program is some functions of one
signature, ``ir.CALL``: the entry (``entry.py``), which sees to packs and to where whole vectors begin,
``main`` (and ``stream``) for whole vectors and ``rest`` for what is left of them. To these ``%sa`` and
``%sb`` are the matrix and the one after the last, ``%sc`` is the reals from one matrix of C to the next, and
``%scalars`` a block of the entry's: alpha and beta, and after them the offset of every element of A, B and C.
These are sums of products of strides, which would else be computed for every vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.model import Config, Device, Problem
from tilewright.stencils.cpu.ir import (
    LAYOUT,
    Ir,
    Piece,
    Scalars,
    finish,
    load_scalars,
)
from tilewright.stencils.cpu.sets import ir_of
from tilewright.stencils.cpu.staging import Stage
from tilewright.stencils.cpu.transpose import block_transposed

STEPS = 32
"""Vector multiply-adds of a part of C that are written out. Beyond it k is a loop: in longer code without a
branch LLVM brings so many reads forward that vectors are spilled."""


def loop(ir: Ir, start: str, stop: str, step: int | str, body: Callable[[str], None]) -> None:
    """``body(i)`` for i from ``start`` in steps while it is below ``stop``."""
    before, top, latch, after = (ir.label(x) for x in ("before", "loop", "latch", "after"))
    ir.do(f"br label %{before}")
    ir.place(before)
    ir.do(f"br i1 {ir.let(f'icmp slt i64 {start}, {stop}')}, label %{top}, label %{after}")
    ir.place(top)
    name, at = f"%{top}.i", len(ir.lines)
    body(name)
    ir.do(f"br label %{latch}")
    ir.place(latch)
    following = ir.let(f"add i64 {name}, {step}")
    more = ir.let(f"icmp slt i64 {following}, {stop}")
    ir.do(f"br i1 {more}, label %{top}, label %{after}")
    ir.place(after)
    ir.lines[at:at] = [f"  {name} = phi i64 [ {start}, %{before} ], [ {following}, %{latch} ]"]


@dataclass(frozen=True, slots=True)
class Table:
    """Where the offsets of an operand's elements are in the entry's block, and the words they are made of."""

    first: int
    rows: int
    columns: int
    row_word: int
    column_word: int

    def at(self, row: int, column: int | str, ir: Ir) -> int | str:
        """The word of an element's offset; ``column`` may be known at run time alone."""
        if isinstance(column, int):
            return self.first + row * self.columns + column
        return ir.let(f"add i64 {column}, {self.first + row * self.columns}")

    def below(self, row: int | str, column: int, ir: Ir) -> int | str:
        """The same with a row that may be known at run time alone."""
        if isinstance(row, int):
            return self.at(row, column, ir)
        return ir.let(f"add i64 {ir.let(f'mul i64 {row}, {self.columns}')}, {self.first + column}")


def tables(p: Problem) -> tuple[Table, Table, Table]:
    """Those of A, B and C, after the four scalars."""
    first = LAYOUT // 8
    a = Table(first, p.m, p.k, 0, 3)
    b = Table(first + p.m * p.k, p.k, p.n, 1, 4)
    c = Table(first + p.m * p.k + p.k * p.n, p.m, p.n, 2, 5)
    return a, b, c


Part = tuple[range, range]
"""Rows and columns of a part of C."""


def tiles(p: Problem, rows: int, columns: int) -> Iterator[Part]:
    """All parts of C."""
    for i in range(0, p.m, rows):
        for j in range(0, p.n, columns):
            yield range(i, min(i + rows, p.m)), range(j, min(j + columns, p.n))


class Span:
    """The writer of ``main`` or of ``rest``: the products of some neighbouring matrices.

    ``width`` reals to a vector and ``vectors`` of them to a turn. ``whole``: every vector is, and what lies
    ahead is asked for; else the last one may be partly out of bounds, if there are masks. ``stream``: C goes
    past the caches; where its matrices lie apart, if they follow one another without a gap. ``steps``:
    multiply-adds of a part of C that are written out.
    """

    def __init__(
        self,
        problem: Problem,
        config: Config,
        device: Device,
        width: int,
        vectors: int,
        *,
        whole: bool,
        stream: bool = False,
        steps: int = STEPS,
    ):
        self.steps = steps
        self.p, self.c, self.ir = problem, config, ir_of(problem.dtype, device)
        self.unit = 2 if problem.dtype.is_complex else 1
        self.width, self.vectors, self.whole, self.stream = width, vectors, whole, stream
        self.masked = not whole and width > self.unit
        self.block = config["block"] if whole else 0
        self.tables = tables(problem)
        self.scattered = problem.stride_c != 1
        self.per_turn = width // self.unit * vectors
        self.piece = Piece(0, width, width)
        self.scalars = Scalars(None, None)
        self.parts = list(tiles(problem, config["rows"], config["columns"]))
        self.mask = self.buffer = self.dense = ""
        self.stage: Stage | None = None
        # What is asked for of the next block, and the number of a turn and its part among those of a block.
        self.next: list[tuple[Table, str, bool]] = []
        self.number = ""

    def function(self) -> Ir:
        """All of it."""
        ir = self.ir
        self.scalars = load_scalars(ir, self.p)
        if self.scattered:
            self._scattering()
        if self.block:
            loop(ir, "%sa", "%sb", self.per_turn * self.block, self._block)
        else:
            loop(ir, "%sa", "%sb", self.per_turn, lambda first: self._turn(first, self.parts))
        self._scattered_all()
        return ir

    def _scattering(self) -> None:
        """The buffers of results that are to lie apart."""
        count = self.p.m * self.p.n * self.width * self.vectors
        self.buffer = self.ir.let(f"alloca {self.ir.real}, i64 {count}, align 64")
        self.dense = self._follows()
        if self.dense and self.stream:
            first = self.ir.at("%C", self.ir.let("mul i64 %sa, %sc"))
            self.stage = Stage(self.ir, count, self.width, first)

    def _scattered_all(self) -> None:
        """What of such results waits in a buffer."""
        if self.stage:
            self.stage.close()

    def _block(self, first: str) -> None:
        """The turns of a block of matrices, which ask for the next block: row by row, because each lies in
        another page, and a few lines in each step of k, for more at a time wait for one another."""
        ir = self.ir
        following = ir.let(f"add i64 {first}, {self.per_turn * self.block}")
        end = self._least(following, "%sb")
        self.next = [(table, self._moved(base, following), base == "%C") for table, base in self._asked()]

        parts = [self.parts] if self.scattered else [[part] for part in self.parts]
        for at, some in enumerate(parts):

            def turn(here: str, at: int = at, some: list[Part] = some) -> None:
                number = ir.let(f"sdiv i64 {ir.let(f'sub i64 {here}, {first}')}, {self.per_turn}")
                self.number = ir.let(f"add i64 {number}, {at * self.block}")
                self._turn(here, some)

            loop(ir, first, end, self.per_turn, turn)

    def _ask(self, k: int | str) -> None:
        """A step's share of the next block's lines."""
        ir, line = self.ir, 64 // (self.ir.bits // 8)
        each = -(-self.width * self.vectors * self.block // line)
        steps = self.p.k * self.block * (1 if self.scattered else len(self.parts))
        for table, base, written in self.next:
            count = table.rows * table.columns * each
            share = -(-count // steps)
            step = ir.let(f"add i64 {ir.let(f'mul i64 {self.number}, {self.p.k}')}, {k}")
            start = ir.let(f"mul i64 {step}, {share}")
            for one in range(share):
                place = self._least(ir.let(f"add i64 {start}, {one}"), str(count - 1))
                row, at = (ir.let(f"{how} i64 {place}, {each}") for how in ("udiv", "urem"))
                address = ir.at(base, self._offset(ir.let(f"add i64 {row}, {table.first}"), table))
                ir.prefetch(ir.at(address, ir.let(f"mul i64 {at}, {line}")), write=written, level=2)

    def _asked(self) -> Iterator[tuple[Table, str]]:
        """The operands that are asked for ahead of their use."""
        a, b, c = self.tables
        if self.p.stride_a:
            yield a, "%A"
        if self.p.stride_b:
            yield b, "%B"
        if not self.scattered and not self.stream:
            yield c, "%C"

    def _moved(self, base: str, matrix: str) -> str:
        """The address of a matrix of an operand that is not shared."""
        skip = matrix if self.unit == 1 else self.ir.let(f"shl i64 {matrix}, 1")
        return self.ir.at(base, skip)

    def _least(self, x: str, y: str) -> str:
        self.ir.declared.add("declare i64 @llvm.smin.i64(i64, i64)")
        return self.ir.let(f"call i64 @llvm.smin.i64(i64 {x}, i64 {y})")

    # -- memory -----------------------------------------------------------------------------------
    def _offset(self, word: int | str, table: Table) -> int | str:
        """How many reals an element lies behind the first one of its operand."""
        ir = self.ir
        place = ir.let(f"getelementptr i64, ptr %scalars, i64 {word}")
        return ir.let(f"load i64, ptr {place}, align 8")

    def _load(self, address: str) -> str:
        if self.masked:
            return self.ir.load_where(address, self.mask, self.width)
        return self.ir.load(address, self.piece)

    def _store(self, value: str, address: str) -> None:
        if self.masked:
            self.ir.store_where(value, address, self.mask, self.width)
        else:
            self.ir.store(value, address, self.piece, self.stream)

    def _read(self, base: str, shared: bool, word: int | str, table: Table) -> list[str]:
        """An element of the matrices of a turn: vectors side by side, or one value for all lanes."""
        ir = self.ir
        address = ir.at(base, self._offset(word, table))
        if not shared:
            return [self._load(ir.at(address, vector * self.width)) for vector in range(self.vectors)]
        if self.unit == 1:
            return [ir.broadcast(address, self.width)] * self.vectors
        if ir.complex_fma:
            return [ir.pair(address, self.width)] * self.vectors
        real, imaginary = (ir.broadcast(ir.at(address, part), self.width) for part in (0, 1))
        return [
            ir.shuffle(
                real, imaginary, [lane % 2 * (self.width + 1) for lane in range(self.width)], self.width
            )
        ] * self.vectors

    # -- one turn -----------------------------------------------------------------------------------
    def _turn(self, first: str, parts: Sequence[Part]) -> None:
        """Parts of the products of the matrices from ``first`` on that a turn covers."""
        ir = self.ir
        bases, left = self._bases(first), ""
        if self.masked:
            left = ir.let(f"sub i64 %sb, {first}")
            self.mask = self._mask(left)
        self._prefetch(first)
        for part in parts:
            self._product(bases, part)
        if self.scattered:
            self._scatter(first, left)

    def _product(self, bases: Sequence[str], part: Part) -> None:
        """A part of the products of a turn."""
        rows, columns = part
        sums = self._sums(bases, rows, columns)
        for at, (i, j) in enumerate((i, j) for i in rows for j in columns):
            self._put(bases[2], i, j, sums[at * self.vectors : (at + 1) * self.vectors])

    def _bases(self, first: str) -> list[str]:
        """Where A, B and C of a turn are."""
        strides = (*self.p.strides[:2], 1)
        return [
            base if stride == 0 else self._moved(base, first)
            for base, stride in zip(("%A", "%B", "%C"), strides, strict=True)
        ]

    def _mask(self, left: str) -> str:
        """The lanes of a vector that lie within so many matrices."""
        ir = self.ir
        return ir.first_lanes(left if self.unit == 1 else ir.let(f"shl i64 {left}, 1"), self.width)

    def _prefetch(self, first: str) -> None:
        """Ask for what will be read so many turns later. Those of a pack are too few."""
        ahead = self.c["prefetch"] * self.width * self.vectors
        assert self.p.interleaved is not None
        if not ahead or not self.whole or self.p.interleaved.pack:
            return
        line = 64 // (self.ir.bits // 8)
        for table, operand in self._asked():
            base = self.ir.at(self._moved(operand, first), ahead)
            for word in range(table.first, table.first + table.rows * table.columns):
                address = self.ir.at(base, self._offset(word, table))
                for at in range(0, self.width * self.vectors, line):
                    self.ir.prefetch(self.ir.at(address, at), write=operand == "%C")

    def _sums(self, bases: Sequence[str], rows: range, columns: range) -> list[str]:
        """The sums over k of a part of C, by rows, the vectors of an element side by side."""
        p, ir = self.p, self.ir
        count = len(rows) * len(columns) * self.vectors
        if count * p.k * self.unit <= self.steps:
            sums: list[str | None] = [None] * count
            for k in range(p.k):
                sums = self._step(bases, rows, columns, k, sums)
            return [value for value in sums if value is not None]
        # k as a loop: the sums are passed from one step to the next.
        kind = ir.vec(self.width)
        before, top = ir.label("before"), ir.label("along")
        ir.do(f"br label %{before}")
        ir.place(before)
        ir.do(f"br label %{top}")
        ir.place(top)
        names = [f"%{top}.{number}" for number in range(count)]
        counter, at = f"%{top}.i", len(ir.lines)
        made = self._step(bases, rows, columns, counter, list(names))
        following = ir.let(f"add i64 {counter}, 1")
        more = ir.let(f"icmp slt i64 {following}, {p.k}")
        after = ir.label("after")
        ir.do(f"br i1 {more}, label %{top}, label %{after}")
        ir.place(after)
        phis = [f"  {counter} = phi i64 [ 0, %{before} ], [ {following}, %{top} ]"]
        phis += [
            f"  {name} = phi {kind} [ zeroinitializer, %{before} ], [ {value}, %{top} ]"
            for name, value in zip(names, made, strict=True)
        ]
        if self.width == 1:
            phis = [line.replace("zeroinitializer", "0.0") for line in phis]
        ir.lines[at:at] = phis
        return [value for value in made if value is not None]

    def _step(
        self, bases: Sequence[str], rows: range, columns: range, k: int | str, sums: list[str | None]
    ) -> list[str | None]:
        """A column of A times a row of B, added to the sums."""
        p, ir, out = self.p, self.ir, list(sums)
        a, b, _ = self.tables
        if self.next:
            self._ask(k)
        left = [self._read(bases[0], p.stride_a == 0, a.at(i, k, ir), a) for i in rows]
        for y, j in enumerate(columns):
            right = self._read(bases[1], p.stride_b == 0, b.below(k, j, ir), b)
            for vector, value in enumerate(right):
                turned = ""
                if self.unit == 2 and not ir.complex_fma:
                    value = ir.flip(value, (1, -1), self.width) if p.conj_b else value
                    turned = ir.flip(ir.swap(value, self.width), (1, -1) if p.conj_a else (-1, 1), self.width)
                for x in range(len(rows)):
                    at = (x * len(columns) + y) * self.vectors + vector
                    out[at] = self._multiply(left[x][vector], value, turned, out[at])
        return out

    def _multiply(self, a: str, b: str, turned: str, total: str | None) -> str:
        """a*b + total, of real or (re, im) lanes; ``turned`` is i times b (-i times if a is conjugated)."""
        ir, width = self.ir, self.width
        if self.unit == 1:
            return ir.fma(a, b, total, width)
        if ir.complex_fma:
            return ir.cfma(a, b, total, width, (self.p.conj_a, self.p.conj_b))
        real = ir.shuffle(a, "poison", [lane & ~1 for lane in range(width)], width)
        imaginary = ir.shuffle(a, "poison", [lane | 1 for lane in range(width)], width)
        return ir.fma(imaginary, turned, ir.fma(real, b, total, width), width)

    # -- C --------------------------------------------------------------------------------------------
    def _put(self, c: str, i: int, j: int, sums: Sequence[str]) -> None:
        """alpha * sum + beta * C for one element of the matrices of a turn."""
        ir, sums = self.ir, self._signed(sums)
        if self.scattered:
            place = (i * self.p.n + j) * self.vectors * self.width
            for vector, total in enumerate(sums):
                value = finish(ir, self.p, self.scalars, total, None, self.width)
                ir.store(value, ir.at(self.buffer, place + vector * self.width), self.piece)
            return
        address = ir.at(c, self._offset(self.tables[2].at(i, j, ir), self.tables[2]))
        for vector, total in enumerate(sums):
            here = ir.at(address, vector * self.width)
            old = self._load(here) if self.p.beta != "0" else None
            self._store(finish(ir, self.p, self.scalars, total, old, self.width), here)

    def _signed(self, sums: Sequence[str]) -> Sequence[str]:
        """Sums as they should be: instructions for complex products have no form for two conjugates."""
        ir = self.ir
        if ir.complex_fma and self.p.conj_a and self.p.conj_b:
            return [ir.flip(total, (1, -1), self.width) for total in sums]
        return sums

    def _scatter(self, first: str, left: str) -> None:
        """The results of a turn from the buffer to where each matrix lies."""
        ir = self.ir
        if not self.dense:
            self._one_by_one(first, left)
            return
        turned, single, after = (ir.label(name) for name in ("turned", "single", "after"))
        ir.do(f"br i1 {self.dense}, label %{turned}, label %{single}")
        ir.place(turned)
        self._turned(first)
        ir.do(f"br label %{after}")
        ir.place(single)
        self._one_by_one(first, left)
        ir.do(f"br label %{after}")
        ir.place(after)

    def _follows(self) -> str:
        """Whether elements of a C that lies apart follow one another by rows and, to be streamed, matrices;
        nothing where vectors of them are never written."""
        ir, p, table = self.ir, self.p, self.tables[2]
        lanes = self.width // self.unit
        # Code that keeps an order has too few registers for blocks that are turned.
        ordered = ir.register or ir.loose
        if self.masked or ordered or lanes > p.m * p.n or not ir.deals(self.unit, self.width):
            return ""
        found = "true"
        for (i, j), wanted in (((0, p.n - 1), p.n - 1), ((p.m - 1, 0), (p.m - 1) * p.n)):
            offset = self._offset(table.at(i, j, ir), table)
            found = ir.let(f"and i1 {found}, {ir.let(f'icmp eq i64 {offset}, {wanted * self.unit}')}")
        if self.stream:
            gapless = ir.let(f"icmp eq i64 %sc, {p.m * p.n * self.unit}")
            found = ir.let(f"and i1 {found}, {gapless}")
        return found

    def _turned(self, first: str) -> None:
        """Blocks of as many elements as matrices, turned in registers."""
        ir, p, lanes, apart = self.ir, self.p, self.width // self.unit, self.vectors * self.width
        last, size = p.m * p.n - lanes, p.m * p.n * self.unit
        base = self.stage.next() if self.stage else ir.at("%C", ir.let(f"mul i64 {first}, %sc"))
        for vector in range(self.vectors):
            numbers = range(vector * lanes, (vector + 1) * lanes)
            matrices = [
                ir.at(base, number * size if self.stage else ir.let(f"mul i64 %sc, {number}"))
                for number in numbers
            ]
            # The last block is moved back to end with the matrix, and writes some elements again.
            for element in sorted({*range(0, last + 1, lanes), last}):
                places = [(element + each) * apart + vector * self.width for each in range(lanes)]
                block = [ir.load(ir.at(self.buffer, place), self.piece) for place in places]
                for value, to in zip(
                    block_transposed(ir, block, self.unit, self.width), matrices, strict=True
                ):
                    ir.store(value, ir.at(to, element * self.unit), self.piece)
                ir.keep_order()
        if self.stage:
            self.stage.put(size * self.per_turn)

    def _one_by_one(self, first: str, left: str) -> None:
        """One element at a time, wherever it lies."""
        ir, p = self.ir, self.p
        most = self._least(left, str(self.per_turn)) if left else str(self.per_turn)
        apart = self.vectors * self.width
        table = self.tables[2]
        offsets = [self._offset(table.at(i, j, ir), table) for i in range(p.m) for j in range(p.n)]

        def matrix(lane: str) -> None:
            place = ir.let(f"add i64 {first}, {lane}")
            to = ir.at("%C", ir.let(f"mul i64 {place}, %sc"))
            inside = lane if self.unit == 1 else ir.let(f"shl i64 {lane}, 1")
            of = ir.at(self.buffer, inside)
            kind = f"<{self.unit} x {ir.real}>" if self.unit == 2 else ir.real
            for number, offset in enumerate(offsets):
                value = ir.let(f"load {kind}, ptr {ir.at(of, number * apart)}, align {ir.bits // 8}")
                ir.do(f"store {kind} {value}, ptr {ir.at(to, offset)}, align {ir.bits // 8}")

        loop(ir, "0", most, 1, matrix)
