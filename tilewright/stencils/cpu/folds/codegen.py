"""The code of the ``folds`` stencil: what a config means in LLVM IR, from the batch loop to the folded sums.

``stencil.py`` has the picture and says which configs there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Config, Device, Problem
from tilewright.stencils.cpu.ir import Ir, Piece, batch_loop, finish, load_scalars, strides
from tilewright.stencils.cpu.lanes.reads import Reader, read_of
from tilewright.stencils.cpu.sets import ir_of
from tilewright.stencils.cpu.staging import Stage, counted
from tilewright.stencils.cpu.tile.codegen import Line, mixed, pieces, split
from tilewright.stencils.cpu.transpose import transposed


def along(problem: Problem, width: int) -> list[Piece]:
    """The reals of a row of A along k as vectors, the last of them with some lanes off."""
    unit = 2 if problem.dtype.is_complex else 1
    return pieces(problem.k * unit, width, "mask")


def groups(problem: Problem, blk_m: int, tail: str) -> list[Piece]:
    """The reals of a column of C as they are summed together: ``blk_m`` rows, and what is left of them."""
    unit = 2 if problem.dtype.is_complex else 1
    return pieces(problem.m * unit, blk_m * unit, "narrow" if tail == "mask" else tail)


UNROLLED = 64
"""k up to which a sum is written out."""
TURN = 4
"""Vectors of each row in a turn of the loop along a longer one."""


def looped(problem: Problem) -> bool:
    """Whether sums are made by a loop along k."""
    return problem.k > UNROLLED


DEALT = 2
"""Columns of a transposed B that are put together in registers, each out of as many vectors. Of three the
orders of lanes would take as many registers as sums."""


def deals(problem: Problem, vector_bits: int) -> bool:
    """Whether columns of B are read from rows that follow one another without a gap, and put together in
    registers where they are used; else a transposed B is turned into a buffer. One column is one vector. With
    narrower vectors than of 512 bits LLVM spilled orders of lanes."""
    p = problem
    one = p.n == 1
    return p.transposed_b and p.ldb == p.n and (one or (p.n == DEALT and vector_bits == 512))


class Folds:
    """The writer of one function: all that a config fixes, and the methods that emit from the outside in."""

    def __init__(self, problem: Problem, config: Config, store: str, device: Device):
        self.p, self.c, self.store = problem, config, store
        self.ir = ir_of(problem.dtype, device)
        self.unit = 2 if problem.dtype.is_complex else 1
        self.width = config["vector_bits"] // problem.dtype.sum_bits
        self.steps = along(problem, self.width)
        self.line = 64 * 8 // self.ir.bits
        self.dealt = deals(problem, config["vector_bits"])
        self.lda, self.ldb, self.ldc = (
            self.unit * (ld or 0) for ld in (problem.lda, problem.ldb, problem.ldc)
        )
        self.conj_a, self.conj_b = (-1 if conj else 1 for conj in (problem.conj_a, problem.conj_b))
        # Columns of op(B) lie along k, if need be in a buffer that has whole vectors.
        self.apart = (
            -(-problem.k * self.unit // self.width) * self.width if problem.transposed_b else self.ldb
        )

    def function(self) -> Ir:
        """The whole body: the buffer for a transposed B and the loop over the batch."""
        ir, p = self.ir, self.p
        steps = strides(ir, p)
        buffer = ""
        if p.transposed_b and not self.dealt:
            buffer = ir.let(f"alloca [{self.apart * p.n} x {ir.real}], align 64")
            if p.stride_b == 0:
                self.turn("%B", buffer)
        size = p.n * self.ldc
        stage = Stage(ir, size, self.width) if self.store == "staged" else None

        def body(a: str, b: str, c: str) -> None:
            self.line_up((a, b, c), steps)
            if buffer and p.stride_b != 0:
                self.turn(b, buffer)
            self.matrix(a, buffer or b, stage.next() if stage else c)
            if stage:
                stage.put(size)

        batch_loop(ir, ("%A", "%B", "%C"), steps, "%count", body)
        if stage:
            stage.close()
        return ir

    def turn(self, b: str, buffer: str) -> None:
        """Write the columns of a transposed B to the buffer, which has whole vectors of them."""
        p = self.p
        turned = Problem(p.dtype, p.k, 1, p.n, "t", "n", lda=p.ldb)
        transposed(self.ir, turned, b, buffer, self.apart, self.width)

    # -- prefetch -------------------------------------------------------------------------------
    def line_up(self, bases: tuple[str, str, str], steps: tuple[str, str, str]) -> None:
        """Say which lines of the product ``prefetch`` products ahead are to be asked for: of A and of B,
        unless the batch shares them, and of C where results go straight to memory."""
        ir, p, distance = self.ir, self.p, self.c["prefetch"]
        self.wanted: list[tuple[str, int, bool]] = []
        if not distance:
            return
        sizes = (p.m * p.k, p.k * p.n, p.m * p.n)
        asked = (p.stride_a != 0, p.stride_b != 0, self.store == "plain")
        for base, step, size, ask, write in zip(
            bases, steps, sizes, asked, (False, False, True), strict=True
        ):
            if ask:
                ahead = ir.at(base, ir.let(f"mul i64 {step}, {distance}"))
                self.wanted.append((ahead, -(-size * self.unit // self.line), write))

    def lines(self, slot: int, slots: int, index: str = "", turns: int = 1) -> list[Line]:
        """What one tile of ``slots`` asks for, of all operands evenly, so that never many are waited for.

        ``index``: of the turn of a loop over ``turns`` tiles, the first of which has number ``slot``.
        """
        out: list[Line] = []
        for base, count, write in self.wanted:
            first, last = count * slot // slots, count * (slot + turns) // slots
            each = -(-(last - first) // turns)
            start = base
            if index:
                start = self.ir.at(base, self.ir.let(f"mul i64 {index}, {each * self.line}"))
            out += [(start, (first + number) * self.line, write) for number in range(each)]
        return mixed(out)

    # -- loops over tiles -----------------------------------------------------------------------
    def matrix(self, a: str, b: str, c: str) -> None:
        """All tiles of one matrix, down the columns first; equal ones as a loop."""
        ir, column, slot = self.ir, 0, 0
        parts = groups(self.p, self.c["blk_m"], self.c["tail"])
        step = self.c["blk_m"] * self.unit
        turns = sum(part.active == step for part in parts)
        sizes = split(self.p.n, self.c["blk_n"])
        slots = len(parts) * len(sizes)
        for size in sizes:
            sink, columns = ir.at(c, column * self.ldc), range(column, column + size)
            column += size
            if turns > 1:
                self.rolled(Piece(0, step, step), columns, turns, (a, b, sink), (slot, slots))
                slot += turns
            for part in parts if turns == 1 else parts[turns:]:
                self.begin()
                rows = ir.at(a, part.start // self.unit * self.lda)
                sums = self.tile(rows, b, part, columns, self.lines(slot, slots))
                self.update(sums, ir.at(sink, part.start), part)
                slot += 1

    def begin(self) -> None:
        """Begin a block: schedulers, which know no other border, read for a tile during the one before."""
        label = self.ir.label("tile")
        self.ir.do(f"br label %{label}")
        self.ir.place(label)

    def rolled(
        self, part: Piece, columns: range, turns: int, bases: tuple[str, str, str], place: tuple[int, int]
    ) -> None:
        """Tiles of equal height one below the other as a loop; ``place``: the number of the first one, and of
        all."""
        ir, (a, b, c), (slot, slots) = self.ir, bases, place

        def turn(index: str) -> None:
            rows = ir.let(f"mul i64 {index}, {part.active // self.unit * self.lda}")
            first = ir.let(f"mul i64 {index}, {part.active}")
            sums = self.tile(ir.at(a, rows), b, part, columns, self.lines(slot, slots, index, turns))
            self.update(sums, ir.at(c, first), part)

        counted(ir, "0", str(turns), 1, turn, blocks=looped(self.p))

    def column(self, reader: Reader, b: str, step: Piece, column: int) -> str:
        """Some steps of a column of B; lanes past the last one are zero."""
        ir, n = self.ir, self.p.n
        if n == 1 or not self.dealt:
            return ir.load(ir.at(b, column * self.apart + step.start), step)
        places = [divmod(step.start + lane, self.unit) for lane in range(step.active)]
        order = [(column + k * n) * self.unit + part for k, part in places]
        idle = [-1] * (step.width - step.active)
        read = read_of((*order, *idle), self.p.k * n * self.unit, ir.bits, False)
        value = reader.emit(b, read)
        if not idle:
            return value
        mask = [lane if lane < step.active else step.width + lane for lane in range(step.width)]
        return ir.shuffle(value, "zeroinitializer", mask, step.width)

    def tile(self, a: str, b: str, part: Piece, columns: range, lines: list[Line]) -> list[list[str]]:
        """For every column the sums of every real of ``part``, each spread over the lanes of a vector;
        ``lines`` are asked for meanwhile."""
        ir, rows = self.ir, part.active // self.unit
        totals: list[list[str | None]] = [[None] * part.active for _ in columns]
        reader, steps = Reader(ir, DEALT), self.steps
        whole = sum(step.active == self.width for step in steps) // TURN if looped(self.p) else 0
        if whole:
            self.loop(a, b, rows, columns, whole, totals)
            steps = steps[whole * TURN :]
        each = -(-len(lines) // max(1, len(steps) * rows))
        for step in steps:
            values = [self.column(reader, b, step, column) for column in columns]
            self.step(a, step, rows, values, totals, lines, each)
        return [[str(total) for total in column] for column in totals]

    def step(
        self,
        a: str,
        step: Piece,
        rows: int,
        values: list[str],
        totals: list[list[str | None]],
        lines: list[Line],
        each: int,
    ) -> None:
        """A vector of every row times those of the columns, added to the sums; beside each row so many of the
        lines are asked for."""
        ir = self.ir
        swapped = [ir.swap(value, self.width) for value in values] if self.unit == 2 else []
        for row in range(rows):
            vector = ir.load(ir.at(a, row * self.lda + step.start), step)
            for number, others in enumerate((values, swapped)[: self.unit]):
                for total, value in zip(totals, others, strict=True):
                    at = row * self.unit + number
                    total[at] = ir.fma(vector, value, total[at], self.width)
            for base, offset, write in lines[:each]:
                ir.prefetch(ir.at(base, offset), write)
            del lines[:each]

    def loop(
        self, a: str, b: str, rows: int, columns: range, count: int, totals: list[list[str | None]]
    ) -> None:
        """The sums of so many turns of ``TURN`` whole vectors each, as a loop along k."""
        ir, far = self.ir, TURN * self.width
        before, loop, after = (ir.label(x) for x in ("rows", "along", "rest"))
        ir.do(f"br label %{before}")
        ir.place(before)
        ir.do(f"br label %{loop}")
        ir.place(loop)
        top, index = len(ir.lines), f"%{loop}.i"
        a_here, b_here = f"%{loop}.a", f"%{loop}.b"
        names = [[f"%{loop}.s{j}.{i}" for i in range(len(column))] for j, column in enumerate(totals)]
        inner: list[list[str | None]] = [list(column) for column in names]
        for number in range(TURN):
            step = Piece(number * self.width, self.width, self.width)
            values = [ir.load(ir.at(b_here, j * self.apart + step.start), step) for j in columns]
            self.step(a_here, step, rows, values, inner, [], 0)
        following = ir.let(f"add i64 {index}, 1")
        a_next, b_next = ir.at(a_here, far), ir.at(b_here, far)
        more = ir.let(f"icmp ult i64 {following}, {count}")
        ir.do(f"br i1 {more}, label %{loop}, label %{after}")
        ir.place(after)
        phis = [("i64", index, "0", following), ("ptr", a_here, a, a_next), ("ptr", b_here, b, b_next)]
        phis += [
            (ir.vec(self.width), name, "zeroinitializer", str(last))
            for column, lasts in zip(names, inner, strict=True)
            for name, last in zip(column, lasts, strict=True)
        ]
        ir.lines[top:top] = [
            f"  {name} = phi {kind} [ {start}, %{before} ], [ {last}, %{loop} ]"
            for kind, name, start, last in phis
        ]
        for total, last in zip(totals, inner, strict=True):
            total[:] = last

    # -- the end of a tile ------------------------------------------------------------------------
    def update(self, sums: list[list[str]], c: str, part: Piece) -> None:
        """C = alpha * folded sums + beta * C."""
        ir, here = self.ir, Piece(0, part.width, part.active)
        # Read again for every tile: kept over the sum they would take registers that the sum can use.
        scalars = load_scalars(ir, self.p)
        addresses = [ir.at(c, j * self.ldc) for j in range(len(sums))]
        # All of C is read before any of it is written, and nothing is written by a mask (``Ir.store_exact``).
        olds = [ir.load(address, here) if self.p.beta != "0" else None for address in addresses]
        put = ir.store if self.p.beta == "0" else ir.store_exact
        for column, address, old in zip(sums, addresses, olds, strict=True):
            total = self.folded(self.signed(column), part.width)
            put(finish(ir, self.p, scalars, total, old, part.width), address, here)

    def signed(self, column: list[str]) -> list[str]:
        """Sums whose lanes have only to be added up.

        With a = (x, conj_a*y) and b = (u, conj_b*w) a complex one has (x*u, y*w) in its pairs of lanes for
        the real part and (x*w, y*u) for the imaginary one.
        """
        if self.unit == 1:
            return column
        signs = (1, -self.conj_a * self.conj_b), (self.conj_b, self.conj_a)
        return [self.ir.flip(total, signs[at % 2], self.width) for at, total in enumerate(column)]

    def folded(self, sums: list[str], rows: int) -> str:
        """One vector of ``rows`` lanes, each of which is all lanes of one of the sums added up.

        Vectors are taken in pairs, the lanes of each pair dealt out in turns to an even and an odd vector,
        and these added: ``transpose.block_transposed`` with half of the vectors left after each stage. One
        vector alone is added to itself, to half of its lanes.
        """
        width, lane = self.width, min(self.width, self.ir.deal_bits // self.ir.bits)
        inside = [list(range(start, start + lane)) for start in range(0, width, lane)]
        vectors: list[str | None] = [*sums, *[None] * (rows - len(sums))]
        owners = [[row] * width for row in range(rows)]
        distance = 1
        while len(vectors) > 1:
            if distance < lane:
                grain, lanes = 1, [group + [width + x for x in group] for group in inside]
            else:
                grain, lanes = lane, [list(range(2 * width))]
            even, odd = (
                [x for group in lanes for at, x in enumerate(group) if at // grain % 2 == part]
                for part in (0, 1)
            )
            pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
            both = [first + second for first, second in zip(owners[::2], owners[1::2], strict=True)]
            owners = [[two[x] for x in even] for two in both]
            vectors = [None if x is None else self.added(x, y, even, odd) for x, y in pairs]
            distance *= 2
        value, owner = str(vectors[0]), owners[0]
        while len(owner) > rows:
            value, owner = self.narrowed(value, owner)
        return value

    def added(self, x: str, y: str | None, even: Sequence[int], odd: Sequence[int]) -> str:
        """Some lanes of two vectors and the others, added; where there is no second one its lanes are any."""
        ir, width = self.ir, self.width
        masks = (
            (even, odd) if y else ([lane if lane < width else -1 for lane in part] for part in (even, odd))
        )
        first, second = (ir.shuffle(x, y or "poison", mask, width) for mask in masks)
        return ir.op("fadd", first, second, width)

    def narrowed(self, value: str, owner: list[int]) -> tuple[str, list[int]]:
        """A vector added up to half of its lanes, the farthest ones of the same sum, and whose lanes these
        are."""
        ir, width, half = self.ir, len(owner), len(owner) // 2
        grain = half
        while True:
            even = [lane for lane in range(width) if lane // grain % 2 == 0]
            kept = [owner[lane] for lane in even]
            if kept == [owner[lane + grain] for lane in even]:
                break
            grain //= 2
        if half == 1:
            kind = ir.vec(width)
            first, second = (ir.let(f"extractelement {kind} {value}, i64 {lane}") for lane in (0, 1))
        else:
            odd = [lane + grain for lane in even]
            first, second = (ir.shuffle(value, "poison", mask, width) for mask in (even, odd))
        return ir.op("fadd", first, second, half), kept
