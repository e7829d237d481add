"""The code of the ``outer`` stencil in LLVM IR: operands as vectors, their products, what becomes of these.

``stencil.py`` has the picture. An operand is a row of vectors of 16 bytes for every step of k: read where it
lies, or from a buffer on the stack that it was packed into.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from tilewright.model import Config, DType, Problem
from tilewright.stencils.cpu.compact.codegen import loop
from tilewright.stencils.cpu.ir import Ir, Piece, Scalars, batch_loop, finish, load_scalars, strides
from tilewright.stencils.cpu.tile.codegen import split
from tilewright.stencils.cpu.transpose import block_transposed

SIDE = 4
"""Columns of an accumulator: each of its four registers is a part of one."""
ACC, PAIR, BYTES = "<512 x i1>", "<256 x i1>", "<16 x i8>"
FOUR = f"{{ {', '.join([BYTES] * 4)} }}"
INSTRUCTIONS = {"s": "xvf32ger", "d": "xvf64ger", "b": "xvbf16ger2", "h": "xvf16ger2"}
LONG = 2
"""Turns of a packing beyond which they are a loop."""


class PowerIr(Ir):
    """``Ir`` where loads and stores may say how many bytes they are, and float16 is converted by instructions
    that LLVM has no other name for."""

    def __init__(self, dtype: DType):
        super().__init__(dtype, "^wa", shifts=True)
        self.half = dtype.letter == "h"
        if dtype.real_bits == 16:
            self.stored = "i16"

    def byte(self, base: str, offset: int | str) -> str:
        """The address so many bytes after another."""
        return base if offset == 0 else self.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def some(self, address: str, count: int) -> str:
        """16 bytes of which the first ``count`` are read; the others are zero."""
        if count >= 16:
            return self.let(f"load {BYTES}, ptr {address}, align 1")
        self.declared.add("declare <4 x i32> @llvm.ppc.vsx.lxvl(ptr, i64)")
        found = self.let(f"call <4 x i32> @llvm.ppc.vsx.lxvl(ptr {address}, i64 {count << 56})")
        return self.let(f"bitcast <4 x i32> {found} to {BYTES}")

    def put(self, value: str, address: str) -> None:
        """16 bytes into a buffer."""
        self.do(f"store {BYTES} {value}, ptr {address}, align 16")

    def _read(self, address: str, piece: Piece, real: str, suffix: str) -> str:
        if piece.active == piece.width:
            return super()._read(address, piece, real, suffix)
        found = self.some(address, piece.active * self._bytes(real))
        if self._bytes(real) > 2:
            return self.let(f"bitcast {BYTES} {found} to <{piece.width} x {real}>")
        wide = self.let(f"bitcast {BYTES} {found} to <8 x i16>")
        low = ", ".join(f"i32 {lane}" for lane in range(piece.width))
        return self.let(f"shufflevector <8 x i16> {wide}, <8 x i16> poison, <{piece.width} x i32> <{low}>")

    def _write(self, value: str, address: str, piece: Piece, real: str, suffix: str, stream: bool) -> None:
        if piece.active == piece.width:
            super()._write(value, address, piece, real, suffix, stream)
            return
        kind = f"<{piece.width} x {real}>"
        if self._bytes(real) == 2:
            lanes = ", ".join(f"i32 {lane % piece.width}" for lane in range(8))
            value = self.let(f"shufflevector {kind} {value}, {kind} poison, <8 x i32> <{lanes}>")
            kind = "<8 x i16>"
        whole = self.let(f"bitcast {kind} {value} to <4 x i32>")
        self.declared.add("declare void @llvm.ppc.vsx.stxvl(<4 x i32>, ptr, i64)")
        count = piece.active * self._bytes(real)
        self.do(f"call void @llvm.ppc.vsx.stxvl(<4 x i32> {whole}, ptr {address}, i64 {count << 56})")

    def widened(self, value: str, width: int) -> str:
        if not self.half:
            return super().widened(value, width)
        wide = self.let(f"zext <{width} x i16> {value} to <{width} x i32>")
        pairs = self.let(f"bitcast <{width} x i32> {wide} to <8 x i16>")
        self.declared.add("declare <4 x float> @llvm.ppc.vsx.xvcvhpsp(<8 x i16>)")
        return self.let(f"call <4 x float> @llvm.ppc.vsx.xvcvhpsp(<8 x i16> {pairs})")

    def narrowed(self, value: str, width: int) -> str:
        if not self.half:
            return super().narrowed(value, width)
        self.declared.add("declare <4 x float> @llvm.ppc.vsx.xvcvsphp(<4 x float>)")
        found = self.let(f"call <4 x float> @llvm.ppc.vsx.xvcvsphp(<4 x float> {value})")
        words = self.let(f"bitcast <4 x float> {found} to <4 x i32>")
        return self.let(f"trunc <4 x i32> {words} to <4 x i16>")


@dataclass(frozen=True, slots=True)
class Side:
    """One operand as outer products take it: for each of ``steps`` steps ``vectors`` vectors of ``lanes``
    rows of A, or of columns of B, ``rows`` in all.

    ``ld`` and ``size`` are those of its elements in memory, ``along`` whether these follow one another along
    k. ``pairs``: two steps of k are one of these, side by side in each lane.
    """

    rows: int
    k: int
    ld: int
    size: int
    along: bool
    pairs: bool
    vectors: int

    @staticmethod
    def both(p: Problem) -> tuple[Side, Side]:
        """Those of A and of B."""
        size, pairs = p.dtype.itemsize, p.dtype.real_bits == 16
        lanes = 16 // max(size, 4)
        columns = -(-p.n // SIDE) * (SIDE // lanes)
        return (
            Side(p.m, p.k, p.lda or 0, size, p.transposed_a, pairs, -(-p.m // lanes)),
            Side(p.n, p.k, p.ldb or 0, size, not p.transposed_b, pairs, columns),
        )

    @property
    def lanes(self) -> int:
        """Rows of a vector."""
        return 16 // max(self.size, 4)

    @property
    def steps(self) -> int:
        """Outer products along k."""
        return -(-self.k // 2) if self.pairs else self.k

    @property
    def packed(self) -> bool:
        """Whether it goes through a buffer."""
        return self.along or self.pairs

    @property
    def step_bytes(self) -> int:
        """From one step to the next."""
        return 16 * self.vectors if self.packed else self.ld * self.size

    @property
    def vector_bytes(self) -> int:
        """From one vector to the next: they are close together in memory as well."""
        return 16

    def left(self, vector: int) -> int:
        """Bytes of a vector that may be read: all of a buffer, and else those of its rows that there are."""
        there = 16 if self.packed else (self.rows - vector * self.lanes) * self.size
        return max(0, min(16, there))

    def pack(self, ir: PowerIr, source: str, buffer: str) -> None:
        """Write the vectors of all steps to a buffer, one after the other."""
        if self.along:
            self._turn(ir, source, buffer)
        else:
            self._pair(ir, source, buffer)

    def _turn(self, ir: PowerIr, source: str, buffer: str) -> None:
        """Squares of words, of rows by steps, are transposed in registers."""

        def square(source: str, buffer: str, length: int, steps: int) -> None:
            for vector in range(-(-self.rows // self.lanes)):
                first = vector * self.lanes
                rows = [
                    self._word(ir, ir.byte(source, (first + lane) * self.ld * self.size), length)
                    if first + lane < self.rows
                    else "poison"
                    for lane in range(self.lanes)
                ]
                for step, value in enumerate(block_transposed(ir, rows, 1, self.lanes)[:steps]):
                    raw = ir.let(f"bitcast {ir.vec(self.lanes)} {value} to {BYTES}")
                    ir.put(raw, ir.byte(buffer, 16 * (step * self.vectors + vector)))
                ir.keep_order()

        def chunk(at: str, length: int = 16, steps: int = 0) -> None:
            moved = ir.let(f"mul i64 {at}, {16 * self.vectors * self.lanes // 16}")
            square(ir.byte(source, at), ir.byte(buffer, moved), length, steps or self.lanes)

        whole, rest = divmod(self.k * self.size, 16)
        if whole > LONG:
            loop(ir, "0", str(16 * whole), 16, chunk)
        else:
            for number in range(whole):
                chunk(str(16 * number))
        if rest:
            chunk(str(16 * whole), rest, self.steps - whole * self.lanes)

    def _word(self, ir: PowerIr, address: str, length: int) -> str:
        """16 bytes of a row as words."""
        return ir.let(f"bitcast {BYTES} {ir.some(address, length)} to {ir.vec(self.lanes)}")

    def _pair(self, ir: PowerIr, source: str, buffer: str) -> None:
        """Two columns at a time are dealt out in turns; beside the last of an odd number there are zeros."""
        column = self.ld * self.size

        def pair(source: str, buffer: str, two: bool) -> None:
            for first in range(0, self.rows, 8):
                left = (self.rows - first) * self.size
                x = ir.some(ir.byte(source, first * self.size), left)
                y = ir.some(ir.byte(source, first * self.size + column), left) if two else "zeroinitializer"
                for part in range(2):
                    vector = first // self.lanes + part
                    if vector >= self.vectors:
                        break
                    lanes = [
                        f"i32 {16 * which + 8 * part + 2 * lane + byte}"
                        for lane in range(4)
                        for which in (0, 1)
                        for byte in (0, 1)
                    ]
                    mask = f"<16 x i32> <{', '.join(lanes)}>"
                    value = ir.let(f"shufflevector {BYTES} {x}, {BYTES} {y}, {mask}")
                    ir.put(value, ir.byte(buffer, 16 * vector))
            ir.keep_order()

        def columns(step: str) -> None:
            here = ir.byte(source, ir.let(f"mul i64 {step}, {2 * column}"))
            pair(here, ir.byte(buffer, ir.let(f"mul i64 {step}, {self.step_bytes}")), two=True)

        whole = self.k // 2
        if whole > LONG:
            loop(ir, "0", str(whole), 1, columns)
        else:
            for step in range(whole):
                columns(str(step))
        if self.k % 2:
            pair(ir.byte(source, 2 * whole * column), ir.byte(buffer, whole * self.step_bytes), two=False)


@dataclass(frozen=True, slots=True)
class Operands:
    """What one step of a tile takes: vectors of A, and of B what four columns are."""

    a: tuple[str, ...]
    b: tuple[str, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """All of them, in one order."""
        return *self.a, *self.b

    def named(self, stem: str) -> Operands:
        """The same under names of one stem."""
        names = tuple(f"{stem}{number}" for number in range(len(self.values)))
        return Operands(names[: len(self.a)], names[len(self.a) :])


class Outer:
    """The writer of the function: all that a config fixes, and the methods that emit from the outside in."""

    def __init__(self, problem: Problem, config: Config):
        self.p, self.c = problem, config
        self.ir = PowerIr(problem.dtype)
        self.a, self.b = Side.both(problem)
        self.wide = self.a.lanes == 2
        self.kind_b = PAIR if self.wide else BYTES
        self.scalars = Scalars(None, None)

    def function(self) -> Ir:
        """The buffers, and the loop over the batch. What the batch shares is packed once."""
        ir, p = self.ir, self.p
        self.scalars = load_scalars(ir, p)
        sides = ((self.a, "%A", p.stride_a), (self.b, "%B", p.stride_b))
        buffers = {}
        for side, base, stride in sides:
            if side.packed and side.steps:
                size = 16 * side.vectors * side.steps
                buffers[base] = ir.let(f"alloca [{size} x i8], align 16")
                if stride == 0:
                    side.pack(ir, base, buffers[base])
        ir.keep_order()

        def body(a: str, b: str, c: str) -> None:
            for (side, base, stride), here in zip(sides, (a, b), strict=True):
                if base in buffers and stride != 0:
                    side.pack(ir, here, buffers[base])
            ir.keep_order()
            self.matrix(buffers.get("%A", a), buffers.get("%B", b), c)

        batch_loop(ir, ("%A", "%B", "%C"), strides(ir, p), "%count", body)
        return ir

    def matrix(self, a: str, b: str, c: str) -> None:
        """All tiles of one matrix; those of neighbouring columns that are alike are a loop."""
        ir, p = self.ir, self.p
        heights = split(self.a.vectors, self.c["blk_m"])
        columns, first = [], 0
        for width in split(-(-p.n // SIDE), self.c["blk_n"]):
            columns.append((first, width, min(p.n - first, width * SIDE)))
            first += width * SIDE
        per = SIDE // self.b.lanes * self.b.vector_bytes // SIDE

        def strip(b: str, c: str, first: int, width: int, real: int) -> None:
            row = 0
            for height in heights:
                here = ir.byte(a, row * self.a.vector_bytes), b, ir.at(c, row * self.a.lanes)
                self.tile(row, height, first, width, real, *here)
                row += height

        for (width, real), some in groupby(columns, key=lambda each: each[1:]):
            alike = list(some)
            start = alike[0][0]
            at_b, at_c = ir.byte(b, start * per), ir.at(c, start * (p.ldc or 0))
            if len(alike) == 1 or real < width * SIDE:
                strip(at_b, at_c, start, width, real)
                continue

            def turn(
                number: str,
                at_b: str = at_b,
                at_c: str = at_c,
                start: int = start,
                width: int = width,
                real: int = real,
            ) -> None:
                moved_b = ir.byte(at_b, ir.let(f"mul i64 {number}, {width * SIDE * per}"))
                moved_c = ir.at(at_c, ir.let(f"mul i64 {number}, {width * SIDE * (p.ldc or 0)}"))
                strip(moved_b, moved_c, start, width, real)

            loop(ir, "0", str(len(alike)), 1, turn)

    # -- one tile ---------------------------------------------------------------------------------
    def tile(self, row: int, height: int, column: int, width: int, real: int, a: str, b: str, c: str) -> None:
        """``height`` by ``width`` accumulators from a vector of A and a column of B on, whose addresses are
        given: the sum over k, then the update of ``real`` columns of C."""
        steps, blk_k = self.a.steps, self.c["blk_k"]
        sums: list[str | None] = [None] * (height * width)
        # The last step follows the loop, so that nothing behind an operand is read; a loop turns twice.
        whole = (steps - 1) // blk_k * blk_k if steps > 2 * blk_k else 0
        now = self.operands(row, height, column, width, a, b, 0) if steps else Operands((), ())
        if whole:
            a, b, now = self.k_loop(row, height, column, width, a, b, whole, sums, now)
        for step in range(steps - whole):
            ahead = step + 1 < steps - whole
            following = self.operands(row, height, column, width, a, b, step + 1) if ahead else now
            self.step(now, sums)
            now = following
        self.update(row, height, width, real, c, sums)

    def k_loop(
        self,
        row: int,
        height: int,
        column: int,
        width: int,
        a: str,
        b: str,
        whole: int,
        sums: list[str | None],
        begun: Operands,
    ) -> tuple[str, str, Operands]:
        """``whole`` steps in turns of ``blk_k``, the first of which takes what was begun with; returns the
        addresses after them, and what the step there begins with."""
        ir, blk_k = self.ir, self.c["blk_k"]
        for number in range(len(sums)):
            ir.declared.add(f"declare {ACC} @llvm.ppc.mma.xxsetaccz()")
            sums[number] = ir.let(f"call {ACC} @llvm.ppc.mma.xxsetaccz()")
        before, top, after = (ir.label(x) for x in ("head", "k", "tail"))
        ir.do(f"br label %{before}")
        ir.place(before)
        ir.do(f"br label %{top}")
        ir.place(top)
        at = len(ir.lines)
        names = [f"%{top}.s{number}" for number in range(len(sums))]
        inner: list[str | None] = list(names)
        first = now = begun.named(f"%{top}.n")
        for step in range(blk_k):
            following = self.operands(row, height, column, width, f"%{top}.a", f"%{top}.b", step + 1)
            self.step(now, inner)
            now = following
        a_next = ir.byte(f"%{top}.a", blk_k * self.a.step_bytes)
        b_next = ir.byte(f"%{top}.b", blk_k * self.b.step_bytes)
        i_next = ir.let(f"add i64 %{top}.i, {blk_k}")
        ir.do(f"br i1 {ir.let(f'icmp slt i64 {i_next}, {whole}')}, label %{top}, label %{after}")
        ir.place(after)
        values = [("i64", f"%{top}.i", "0", i_next), ("ptr", f"%{top}.a", a, a_next)]
        values.append(("ptr", f"%{top}.b", b, b_next))
        values += [(ACC, name, str(x), str(y)) for name, x, y in zip(names, sums, inner, strict=True)]
        kinds = [BYTES] * len(now.a) + [self.kind_b] * len(now.b)
        values += zip(kinds, first.values, begun.values, now.values, strict=True)
        ir.lines[at:at] = [
            f"  {name} = phi {kind} [ {start}, %{before} ], [ {last}, %{top} ]"
            for kind, name, start, last in values
        ]
        sums[:] = inner
        return a_next, b_next, now

    def operands(self, row: int, height: int, column: int, width: int, a: str, b: str, k: int) -> Operands:
        """What a step of k takes, read before anything is multiplied that comes later in the code."""
        ir, per = self.ir, SIDE // self.b.lanes
        left = [
            ir.some(ir.byte(a, k * self.a.step_bytes + 16 * vector), self.a.left(row + vector))
            for vector in range(height)
        ]
        first = column // self.b.lanes
        here = ir.byte(b, k * self.b.step_bytes)
        left = [self.upper(value) for value in left]
        right = [self.columns(ir.byte(here, 16 * per * block), first + per * block) for block in range(width)]
        ir.keep_order()
        return Operands(tuple(left), tuple(right))

    def step(self, given: Operands, sums: list[str | None]) -> None:
        """An outer product into each accumulator: four columns of B by a vector of A."""
        for block, values in enumerate(given.b):
            for vector, rows in enumerate(given.a):
                at = block * len(given.a) + vector
                sums[at] = self.product(values, rows, sums[at])
        self.ir.keep_order()

    def upper(self, value: str) -> str:
        """A vector that is in the half of the registers which accumulators are not: LLVM takes any."""
        return self.ir.let(f'call {BYTES} asm "", "=v,0"({BYTES} {value})')

    def columns(self, address: str, vector: int) -> str:
        """Four columns of B: a vector, or two of doubles."""
        ir, left = self.ir, self.b.left
        if not self.wide:
            return self.upper(ir.some(address, left(vector)))
        if left(vector + 1) == 16:
            ir.declared.add(f"declare {PAIR} @llvm.ppc.vsx.lxvp(ptr)")
            return ir.let(f"call {PAIR} @llvm.ppc.vsx.lxvp(ptr {address})")
        low = ir.some(address, left(vector))
        high = ir.some(ir.byte(address, 16), left(vector + 1)) if left(vector + 1) else "zeroinitializer"
        ir.declared.add(f"declare {PAIR} @llvm.ppc.vsx.assemble.pair({BYTES}, {BYTES})")
        return ir.let(f"call {PAIR} @llvm.ppc.vsx.assemble.pair({BYTES} {high}, {BYTES} {low})")

    def product(self, columns: str, rows: str, total: str | None) -> str:
        """One outer product, added to what an accumulator holds."""
        ir, name, kind = self.ir, INSTRUCTIONS[self.p.dtype.letter], self.kind_b
        ir.fma_count += 1
        given, taken = f"{kind} {columns}, {BYTES} {rows}", f"{kind}, {BYTES}"
        if total is not None:
            name, given, taken = f"{name}pp", f"{ACC} {total}, {given}", f"{ACC}, {taken}"
        ir.declared.add(f"declare {ACC} @llvm.ppc.mma.{name}({taken})")
        return ir.let(f"call {ACC} @llvm.ppc.mma.{name}({given})")

    def update(self, row: int, height: int, width: int, real: int, c: str, sums: list[str | None]) -> None:
        """C = alpha * sums + beta * C, one accumulator after another."""
        ir, p, lanes = self.ir, self.p, self.a.lanes
        ir.declared.add(f"declare {FOUR} @llvm.ppc.mma.disassemble.acc({ACC})")
        for at, total in enumerate(sums):
            block, vector = divmod(at, height)
            active = min(lanes, p.m - (row + vector) * lanes)
            piece = Piece(vector * lanes, lanes, active)
            parts = ir.let(f"call {FOUR} @llvm.ppc.mma.disassemble.acc({ACC} {total})")
            for part in range(min(SIDE, real - SIDE * block)):
                raw = ir.let(f"extractvalue {FOUR} {parts}, {part}")
                value = ir.let(f"bitcast {BYTES} {raw} to {ir.vec(lanes)}")
                address = ir.at(c, piece.start + (SIDE * block + part) * (p.ldc or 0))
                old = ir.load(address, piece) if p.beta != "0" else None
                ir.store(finish(ir, p, self.scalars, value, old, lanes), address, piece)
            ir.keep_order()
