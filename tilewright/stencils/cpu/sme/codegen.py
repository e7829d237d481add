"""The code of the ``sme`` stencil in LLVM IR: how a call gets the tiles, operands as vectors, their products,
what becomes of these.

``stencil.py`` has the picture. An operand is a row of vectors for every step of k: read where it lies, or
from a buffer on the stack that it was turned into.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from tilewright.model import Config, DType, Problem
from tilewright.stencils.cpu.arm import PATTERNS
from tilewright.stencils.cpu.compact.codegen import loop
from tilewright.stencils.cpu.ir import Ir, Piece, Scalars, batch_loop, finish, load_scalars, strides
from tilewright.stencils.cpu.staging import counted
from tilewright.stencils.cpu.tile.codegen import split

LONG = 2
"""Turns of a packing beyond which they are a loop."""
_ALL = 31
"""What all lanes are among ``PATTERNS``."""


class Streaming(Ir):
    """A function in streaming mode, with tiles of its own.

    Any vector is a scalable one of ``lanes`` reals, and what is read or written in part has a predicate.
    Numbers of 16 bits are read into lanes of 32, and written from there.
    LLVM enters the mode where the function begins and leaves it where it ends, and saves for the caller what
    that makes of the registers of numbers (d8 to d15). ``nounwind`` is more than a promise: for tables of
    unwinding LLVM would call a function that says how long vectors are, and no such function is linked.
    """

    def __init__(self, dtype: DType, streaming_bits: int):
        super().__init__(dtype, "w", shifts=True)
        times, self.per = streaming_bits // 128, 128 // self.bits
        self.lanes, self.tiles = streaming_bits // self.bits, self.bits // 8
        self.attributes = f'"aarch64_pstate_sm_body" nounwind vscale_range({times},{times}) '
        self.vector = f"<vscale x {self.per} x {self.real}>"
        self.truth = f"<vscale x {self.per} x i1>"
        self.suffix = f"nxv{self.per}f{self.bits}"
        self.letter = {32: "w", 64: "d"}[self.bits]
        self.predicates: dict[int, str] = {}
        self.slices: list[str] = []
        self.copied_to_lanes: dict[str, str] = {}

    # -- tiles of its own -----------------------------------------------------------------------------
    def enter(self) -> None:
        """Make the tiles this call's.

        They may hold what a caller has left there to be saved by whoever wants them next: TPIDR2_EL0 then
        points to where, and how many slices there are. That is done here as the ABI's own function does it,
        which would have to be linked, and the register is 0 from then on, by which the caller learns of it.
        """
        self.declared |= {
            "declare i64 @llvm.aarch64.sme.get.tpidr2()",
            "declare void @llvm.aarch64.sme.set.tpidr2(i64)",
            "declare void @llvm.aarch64.sme.str(i32, ptr, i32 immarg)",
            "declare void @llvm.aarch64.sme.za.enable()",
        }
        asked, save, own = (self.label(x) for x in ("asked", "save", "own"))
        word = self.let("call i64 @llvm.aarch64.sme.get.tpidr2()")
        self.do(f"br i1 {self.let(f'icmp eq i64 {word}, 0')}, label %{own}, label %{asked}")
        self.place(asked)
        block = self.let(f"inttoptr i64 {word} to ptr")
        buffer = self.let(f"load ptr, ptr {block}, align 8")
        short = self.let(f"load i16, ptr {self.let(f'getelementptr i8, ptr {block}, i64 8')}, align 2")
        count = self.let(f"zext i16 {short} to i64")
        self.do(f"br i1 {self.let(f'icmp eq ptr {buffer}, null')}, label %{own}, label %{save}")
        self.place(save)

        def put(number: str) -> None:
            slice_ = self.let(f"trunc i64 {number} to i32")
            moved = self.let(f"mul i64 {number}, {self.lanes * self.bits // 8}")
            address = self.let(f"getelementptr i8, ptr {buffer}, i64 {moved}")
            self.do(f"call void @llvm.aarch64.sme.str(i32 {slice_}, ptr {address}, i32 0)")

        counted(self, "0", count, 1, put)
        self.do(f"br label %{own}")
        self.place(own)
        self.do("call void @llvm.aarch64.sme.set.tpidr2(i64 0)")
        self.do("call void @llvm.aarch64.sme.za.enable()")

    def leave(self) -> None:
        """Give the tiles up, which a function that returns must not leave on."""
        self.declared.add("declare void @llvm.aarch64.sme.za.disable()")
        self.do("call void @llvm.aarch64.sme.za.disable()")

    def prepare(self, counts: set[int]) -> None:
        """What the whole function uses: predicates of so many lanes, and numbers of slices.

        An instruction counts slices from a register and knows few steps from there, so that every so many
        have a register; LLVM must not know what is in it, or it would set one anew for each slice.
        """
        for count in sorted({*counts, self.lanes}):
            name, given, taken = "sve.ptrue", f"i32 {PATTERNS.get(count, _ALL)}", "i32 immarg"
            kind = f"nxv{self.per}i1"
            if count not in PATTERNS and count != self.lanes:
                name, given, taken, kind = "sve.whilelo", f"i64 0, i64 {count}", "i64, i64", f"{kind}.i64"
            self.declared.add(f"declare {self.truth} @llvm.aarch64.{name}.{kind}({taken})")
            made = self.let(f"call {self.truth} @llvm.aarch64.{name}.{kind}({given})")
            self.predicates[count] = f"{self.truth} {made}"
        for first in range(0, self.lanes, self.per):
            self.slices.append(self.let(f'call i32 asm "", "=r,0"(i32 {first})'))

    def slice(self, number: int) -> str:
        """The number of a slice, with its type."""
        group, step = divmod(number, self.per)
        return "i32 " + (self.let(f"add i32 {self.slices[group]}, {step}") if step else self.slices[group])

    def zero(self, tiles: int) -> None:
        """Set the first ``tiles`` tiles to zero. A bit stands for an eighth of all, which is a tile of
        doubles."""
        self.declared.add("declare void @llvm.aarch64.sme.zero(i32 immarg)")
        mask = sum(1 << eighth for eighth in range(8) if eighth % self.tiles < tiles)
        self.do(f"call void @llvm.aarch64.sme.zero(i32 {mask})")

    def outer(self, tile: int, columns: str, rows: str, sign: int = 1) -> None:
        """Add an outer product to a tile, whose horizontal slices are columns of C; subtract it where the
        ``sign`` is negative."""
        operation = "mopa" if sign > 0 else "mops"
        every, name = self.predicates[self.lanes], f"@llvm.aarch64.sme.{operation}.{self.suffix}"
        self.fma_count += 1
        self.declared.add(
            f"declare void {name}(i32 immarg, {self.truth}, {self.truth}, {self.vector}, {self.vector})"
        )
        self.do(
            f"call void {name}(i32 {tile}, {every}, {every}, {self.vector} {columns}, {self.vector} {rows})"
        )

    def move(self, what: str, tile: int, number: int, address: str, active: int) -> None:
        """Read (``ld1`` ``horiz``) or write (``st1``) the first lanes of a slice of a tile."""
        operation, _, way = what.partition(" ")
        name = f"@llvm.aarch64.sme.{operation}{self.letter}.{way}"
        self.declared.add(f"declare void {name}({self.truth}, ptr, i32 immarg, i32)")
        place = f"ptr {address}, i32 {tile}, {self.slice(number)}"
        self.do(f"call void {name}({self.predicates[active]}, {place})")

    def put(self, value: str, tile: int, number: int) -> None:
        """A vector into a horizontal slice of a tile."""
        name = f"@llvm.aarch64.sme.write.horiz.{self.suffix}"
        self.declared.add(f"declare void {name}(i32 immarg, i32, {self.truth}, {self.vector})")
        given = f"{self.slice(number)}, {self.predicates[self.lanes]}, {self.vector} {value}"
        self.do(f"call void {name}(i32 {tile}, {given})")

    def taken(self, way: str, tile: int, number: int) -> str:
        """A slice of a tile as a vector: ``horiz`` or ``vert``."""
        name = f"@llvm.aarch64.sme.read.{way}.{self.suffix}"
        self.declared.add(f"declare {self.vector} {name}({self.vector}, {self.truth}, i32 immarg, i32)")
        given = f"{self.predicates[self.lanes]}, i32 {tile}, {self.slice(number)}"
        return self.let(f"call {self.vector} {name}({self.vector} poison, {given})")

    # -- parts of complex numbers ---------------------------------------------------------------------
    def parts(self, address: str, active: int) -> tuple[str, str]:
        """So many complex numbers as a vector of their real parts, and one of the imaginary ones."""
        pair, name = f"{{ {self.vector}, {self.vector} }}", f"@llvm.aarch64.sve.ld2.sret.{self.suffix}"
        self.declared.add(f"declare {pair} {name}({self.truth}, ptr)")
        both = self.let(f"call {pair} {name}({self.predicates[active]}, ptr {address})")
        real, imaginary = (self.let(f"extractvalue {pair} {both}, {part}") for part in (0, 1))
        return real, imaginary

    def put_parts(self, parts: tuple[str, str], address: str, active: int) -> None:
        """Write so many complex numbers."""
        name = f"@llvm.aarch64.sve.st2.{self.suffix}"
        self.declared.add(f"declare void {name}({self.vector}, {self.vector}, {self.truth}, ptr)")
        vectors = ", ".join(f"{self.vector} {part}" for part in parts)
        self.do(f"call void {name}({vectors}, {self.predicates[active]}, ptr {address})")

    def times(self, x: tuple[str, str], y: tuple[str, str], plus: tuple[str, str] | None) -> tuple[str, str]:
        """x*y + plus of vectors of parts."""
        minus = self.let(f"fneg {self.vector} {x[1]}")
        first = plus or (None, None)
        real = self.fma(minus, y[1], self.fma(x[0], y[0], first[0], self.lanes), self.lanes)
        return real, self.fma(x[1], y[0], self.fma(x[0], y[1], first[1], self.lanes), self.lanes)

    # -- vectors that are scalable --------------------------------------------------------------------
    def vec(self, width: int) -> str:
        return self.real if width == 1 else self.vector

    def _stored(self, width: int) -> str:
        return self.stored if width == 1 else f"<vscale x {self.per} x {self.stored}>"

    def _integers(self, bits: int, width: int) -> str:
        return super()._integers(bits, 1) if width == 1 else f"<vscale x {self.per} x i{bits}>"

    def _each(self, number: int, width: int) -> str:
        return super()._each(number, 1) if width == 1 else f"splat (i32 {number})"

    def _read(self, address: str, piece: Piece, real: str, suffix: str) -> str:
        if piece.width == 1:
            return super()._read(address, piece, real, suffix)
        kind, name = f"<vscale x {self.per} x {real}>", f"@llvm.masked.load.nxv{self.per}{suffix}.p0"
        self.declared.add(f"declare {kind} {name}(ptr, i32, {self.truth}, {kind})")
        place = f"ptr {address}, i32 {self._bytes(real)}"
        return self.let(
            f"call {kind} {name}({place}, {self.predicates[piece.active]}, {kind} zeroinitializer)"
        )

    def _write(self, value: str, address: str, piece: Piece, real: str, suffix: str, stream: bool) -> None:
        kind, name = f"<vscale x {self.per} x {real}>", f"@llvm.masked.store.nxv{self.per}{suffix}.p0"
        self.declared.add(f"declare void {name}({kind}, ptr, i32, {self.truth})")
        place = f"ptr {address}, i32 {self._bytes(real)}"
        self.do(f"call void {name}({kind} {value}, {place}, {self.predicates[piece.active]})")

    def splat(self, scalar: str, width: int) -> str:
        if width == 1:
            return scalar
        if scalar in self.copied_to_lanes:
            return self.copied_to_lanes[scalar]
        first = self.let(f"insertelement {self.vector} poison, {self.real} {scalar}, i64 0")
        zeros = f"<vscale x {self.per} x i32> zeroinitializer"
        return self.let(f"shufflevector {self.vector} {first}, {self.vector} poison, {zeros}")

    def copy_to_lanes(self, scalars: Scalars, is_complex: bool) -> None:
        """Copy alpha and beta to vectors once. LLVM moves a copy of each block out of the loop over the
        batch, and has no registers for so many."""
        for pair in (scalars.alpha, scalars.beta):
            for scalar in (pair or ())[: 2 if is_complex else 1]:
                self.copied_to_lanes[scalar] = self.splat(scalar, self.lanes)

    def fma(self, x: str, y: str, z: str | None, width: int) -> str:
        if z is None or width == 1:
            return super().fma(x, y, z, width)
        self.fma_count += 1
        kind, name = self.vector, f"@llvm.fma.{self.suffix}"
        self.declared.add(f"declare {kind} {name}({kind}, {kind}, {kind})")
        return self.let(f"call {kind} {name}({kind} {x}, {kind} {y}, {kind} {z})")


@dataclass(frozen=True, slots=True)
class Side:
    """One operand as outer products take it: for each of ``k`` steps vectors of ``lanes`` rows of A, or of
    columns of B, ``rows`` in all. ``ld``: from one of its columns in memory to the next. ``along``: whether
    elements follow one another along k, so that it goes through a buffer, of the type of sums. ``unit``:
    reals of an element. Of complex numbers a vector is two, of real and of imaginary parts: taken apart as
    they are read, and in a buffer one after the other."""

    rows: int
    k: int
    ld: int
    along: bool
    lanes: int
    unit: int

    @staticmethod
    def both(p: Problem, lanes: int) -> tuple[Side, Side]:
        """Those of A and of B."""
        unit = 2 if p.dtype.is_complex else 1
        return (
            Side(p.m, p.k, p.lda or 0, p.transposed_a, lanes, unit),
            Side(p.n, p.k, p.ldb or 0, not p.transposed_b, lanes, unit),
        )

    @property
    def vectors(self) -> int:
        """Vectors of a step."""
        return -(-self.rows // self.lanes)

    @property
    def step(self) -> int:
        """Reals from one step to the next."""
        return (self.vectors * self.lanes if self.along else self.ld) * self.unit

    def there(self, vector: int) -> int:
        """Rows of a vector that there are."""
        return min(self.lanes, self.rows - vector * self.lanes)

    def last(self) -> int:
        """Lanes of the last vector that is read, along k where it goes through a buffer."""
        return self.k % self.lanes or self.lanes if self.along else self.there(self.vectors - 1)

    def turn(self, ir: Streaming, source: str, buffer: str, via: bool) -> None:
        """Write the vectors of all steps to a buffer, one after the other: squares are read into the
        horizontal slices of a tile, and written from its vertical ones; ``via`` vector registers, or straight
        where nothing has to be widened. What a square lacks of rows are lanes of which nothing comes to C."""

        unit = self.unit

        def squares(source: str, buffer: str, steps: int) -> None:
            for vector in range(self.vectors):
                tile, first = vector * unit % ir.tiles, vector * self.lanes
                for row in range(self.there(vector)):
                    address = ir.at(source, (first + row) * self.ld * unit)
                    if unit > 1:
                        for part, value in enumerate(ir.parts(address, steps)):
                            ir.put(value, tile + part, row)
                    elif ir.stored == ir.real and not via:
                        ir.move("ld1 horiz", tile, row, address, steps)
                    else:
                        ir.put(ir.load(address, Piece(0, self.lanes, steps)), tile, row)
                for step, part in product(range(steps), range(unit)):
                    address = ir.at(buffer, step * self.step + first * unit + part * self.lanes, held=True)
                    if not via:
                        ir.move("st1 vert", tile + part, step, address, self.lanes)
                        continue
                    full = Piece(0, self.lanes, self.lanes)
                    ir.store(ir.taken("vert", tile + part, step), address, full, held=True)

        whole, rest = divmod(self.k, self.lanes)

        def turn(at: str) -> None:
            moved = ir.let(f"mul i64 {at}, {self.step}")
            there = at if unit == 1 else ir.let(f"mul i64 {at}, {unit}")
            squares(ir.at(source, there), ir.at(buffer, moved, held=True), self.lanes)

        if whole > LONG:
            loop(ir, "0", str(whole * self.lanes), self.lanes, turn)
        else:
            for number in range(whole):
                first = number * self.lanes
                squares(ir.at(source, first * unit), ir.at(buffer, first * self.step, held=True), self.lanes)
        if rest:
            first = whole * self.lanes
            squares(ir.at(source, first * unit), ir.at(buffer, first * self.step, held=True), rest)


class Products:
    """The writer of the function: all that a config fixes, and the methods that emit from the outside in."""

    def __init__(self, problem: Problem, config: Config, streaming_bits: int):
        self.p, self.c = problem, config
        self.ir = Streaming(problem.dtype, streaming_bits)
        self.a, self.b = Side.both(problem, self.ir.lanes)
        self.unit = self.a.unit
        # Columns of C, in reals.
        self.ldc = (problem.ldc or 0) * self.unit
        self.scalars, self.via = Scalars(None, None), config["via"] == "vector"

    def function(self) -> Ir:
        """The buffers, and the loop over the batch. What the batch shares is turned once."""
        ir, p = self.ir, self.p
        buffers = {}
        sides = ((self.a, "%A", p.stride_a), (self.b, "%B", p.stride_b))
        for side, base, _ in sides:
            if side.along:
                buffers[base] = ir.let(f"alloca [{side.step * side.k} x {ir.real}], align 64")
        ir.enter()
        ir.prepare({self.a.last(), self.b.last(), self.a.there(self.a.vectors - 1)})
        self.scalars = load_scalars(ir, p)
        ir.copy_to_lanes(self.scalars, p.dtype.is_complex)
        for side, base, stride in sides:
            if side.along and stride == 0:
                side.turn(ir, base, buffers[base], self.via)

        def body(a: str, b: str, c: str) -> None:
            for (side, base, stride), here in zip(sides, (a, b), strict=True):
                if side.along and stride != 0:
                    side.turn(ir, here, buffers[base], self.via)
            self.matrix(buffers.get("%A", a), buffers.get("%B", b), c)

        batch_loop(ir, ("%A", "%B", "%C"), strides(ir, p), "%count", body)
        ir.leave()
        return ir

    def matrix(self, a: str, b: str, c: str) -> None:
        """All of one matrix, as many tiles at a time as the config says."""
        ir, lanes, column = self.ir, self.ir.lanes * self.unit, 0
        for width in split(self.b.vectors, self.c["blk_n"]):
            row = 0
            for height in split(self.a.vectors, self.c["blk_m"]):
                here = ir.at(c, column * ir.lanes * self.ldc + row * lanes)
                at_a = ir.at(a, row * lanes, held=self.a.along)
                at_b = ir.at(b, column * lanes, held=self.b.along)
                ir.zero(height * width * self.unit)
                self.sums(row, height, column, width, at_a, at_b)
                self.update(row, height, column, width, here)
                row += height
            column += width

    def sums(self, row: int, height: int, column: int, width: int, a: str, b: str) -> None:
        """``height`` by ``width`` tiles from a vector of A and one of B on, whose addresses are given."""
        ir, blk_k, k = self.ir, self.c["blk_k"], self.p.k
        whole = k - k % blk_k if blk_k < k else 0

        def steps(a: str, b: str, count: int) -> None:
            for step in range(count):
                left = [self.vector(self.a, row, at, a, step) for at in range(height)]
                right = [self.vector(self.b, column, at, b, step) for at in range(width)]
                for tile in range(height * width):
                    self.multiply(tile, right[tile // height], left[tile % height])
                ir.keep_order()

        def turn(at: str) -> None:
            moved = [ir.let(f"mul i64 {at}, {side.step}") for side in (self.a, self.b)]
            steps(ir.at(a, moved[0], self.a.along), ir.at(b, moved[1], self.b.along), blk_k)

        if whole:
            loop(ir, "0", str(whole), blk_k, turn)
            a, b = ir.at(a, whole * self.a.step, self.a.along), ir.at(b, whole * self.b.step, self.b.along)
        steps(a, b, k - whole)

    def multiply(self, tile: int, columns: tuple[str, ...], rows: tuple[str, ...]) -> None:
        """Add an outer product to a tile of C: of complex numbers to one of real parts and one of imaginary
        ones behind it, with the signs of conjugates."""
        if self.unit == 1:
            self.ir.outer(tile, columns[0], rows[0])
            return
        a, b = (-1 if conj else 1 for conj in (self.p.conj_a, self.p.conj_b))
        for of_b, of_a, part, sign in ((0, 0, 0, 1), (1, 0, 1, b), (1, 1, 0, -a * b), (0, 1, 1, a)):
            self.ir.outer(2 * tile + part, columns[of_b], rows[of_a], sign)

    def vector(self, side: Side, first: int, number: int, base: str, step: int) -> tuple[str, ...]:
        """A vector of an operand so many steps after the address of its vector ``first``, and ``number``
        vectors: all of a buffer, and else those of its rows that there are. Of complex numbers its parts."""
        ir, unit = self.ir, side.unit
        start = step * side.step + number * side.lanes * unit
        active = side.lanes if side.along else side.there(first + number)
        if unit > 1 and not side.along:
            return ir.parts(ir.at(base, start), active)
        addresses = (ir.at(base, start + part * side.lanes, side.along) for part in range(unit))
        return tuple(ir.load(address, Piece(0, side.lanes, active), held=side.along) for address in addresses)

    def update(self, row: int, height: int, column: int, width: int, c: str) -> None:
        """C = alpha * sums + beta * C, one tile after another, column by column. Sums that are results as
        they are need no vector register on their way."""
        ir, p, lanes = self.ir, self.p, self.ir.lanes
        plain = p.alpha == "1" and p.beta == "0" and ir.stored == ir.real and not self.via
        for tile in range(height * width):
            block, vector = divmod(tile, height)
            piece = Piece(0, lanes, self.a.there(row + vector))
            for number in range(self.b.there(column + block)):
                address = ir.at(c, (block * lanes + number) * self.ldc + vector * lanes * self.unit)
                if self.unit > 1:
                    self.update_parts(2 * tile, number, address, piece.active)
                    continue
                if plain:
                    ir.move("st1 horiz", tile, number, address, piece.active)
                    continue
                value = ir.taken("horiz", tile, number)
                old = ir.load(address, piece) if p.beta != "0" else None
                ir.store(finish(ir, p, self.scalars, value, old, lanes), address, piece)
            ir.keep_order()

    def update_parts(self, tile: int, number: int, address: str, active: int) -> None:
        """``update`` of a vector of complex numbers, whose parts are in two tiles."""
        ir, p = self.ir, self.p
        value = ir.taken("horiz", tile, number), ir.taken("horiz", tile + 1, number)
        old = ir.parts(address, active) if p.beta != "0" else None
        if old and self.scalars.beta:
            old = ir.times(old, self.splats(self.scalars.beta), None)
        if self.scalars.alpha:
            value = ir.times(value, self.splats(self.scalars.alpha), old)
        elif old:
            value = ir.op("fadd", value[0], old[0], ir.lanes), ir.op("fadd", value[1], old[1], ir.lanes)
        ir.put_parts(value, address, active)

    def splats(self, scalar: tuple[str, str]) -> tuple[str, str]:
        """A complex number as vectors of its parts."""
        return self.ir.splat(scalar[0], self.ir.lanes), self.ir.splat(scalar[1], self.ir.lanes)
