"""The code of the ``tile`` stencil: what a config means in LLVM IR, from the batch loop to one multiply-add.

``tile.py`` has the picture and says which configs there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from tilewright.model import Config, Device, Problem
from tilewright.stencils.cpu.ir import (
    Ir,
    Piece,
    Scalars,
    batch_loop,
    finish,
    load_scalars,
    strides,
)
from tilewright.stencils.cpu.sets import ir_of
from tilewright.stencils.cpu.staging import Stage, counted
from tilewright.stencils.cpu.transpose import blocks, transposed


def split(total: int, most: int) -> list[int]:
    """``total`` in the fewest parts of at most ``most``, as equal as they can be: 7 by 6 is 4 + 3."""
    parts = -(-total // most)
    return [total // parts + (part < total % parts) for part in range(parts)]


def pieces(rows: int, width: int, tail: str) -> list[Piece]:
    """The rows of a column as vectors of ``width`` lanes, the remainder handled the way ``tail`` says.

    ``mask``: a full vector with some lanes off. ``narrow``: the narrowest vector that holds it.
    ``binary``: unmasked vectors of 2^i lanes. ``overlap``: the narrowest vector, moved up over
    rows already covered; ``whole``: the same with a full one.
    """
    full, rest = divmod(rows, width)
    out = [Piece(width * i, width, width) for i in range(full)]
    start = width * full
    if not rest:
        return out
    narrow = 1 << (rest - 1).bit_length()
    if tail == "mask":
        out.append(Piece(start, width, rest))
    elif tail == "narrow":
        out.append(Piece(start, narrow, rest))
    elif tail in MOVED:
        moved = width if tail == "whole" else narrow
        out.append(Piece(rows - moved, moved, moved))
    else:
        while rest:
            lanes = 1 << (rest.bit_length() - 1)
            out.append(Piece(start, lanes, lanes))
            start, rest = start + lanes, rest - lanes
    return out


APART = ("split", "cross")
"""Ways of multiplying complex numbers that keep two sums for each."""

MOVED = ("overlap", "whole")
"""Ways of handling a remainder that write some rows twice."""

LONG = 8
"""Vectors in a row beyond which they are widened in a loop."""

DOUBLED = 128
"""Numbers of B that are written twice in one turn of the loop that does so."""

AHEAD = 4
"""Numbers of B that are read before the first of them is used, where code has an order to keep."""

TURN = 1.7
"""Cycles in which a vector of A is read, turned and written, of those in which two multiply-adds are one."""

SHORT = 32
"""Vector multiply-adds of a tile that are done before what the tile before them wrote is in the cache: a tile
of so few waits for it, if it reads some of that (``Ir.store_exact``). On a Zen 5, float32 14x2x2 with beta 1
from the caches: 2.5 ns in place of 6.7; from some 45 multiply-adds on it was slower."""

MANY = 64
"""Vector registers that suffice to read what the next step needs during this one."""

Line = tuple[str, int, bool]
"""A cache line to ask for: its operand, the offset in reals, and whether it will be written."""


def mixed(lines: list[Line]) -> list[Line]:
    """The lines of several operands in turns, so that all operands come to their end together."""
    place = []
    for base in dict.fromkeys(line[0] for line in lines):
        own = [line for line in lines if line[0] == base]
        place += [((number + 0.5) / len(own), line) for number, line in enumerate(own)]
    return [line for _, line in sorted(place, key=lambda entry: entry[0])]


@dataclass(frozen=True, slots=True)
class Operands:
    """What a step reads before anything: vectors of A by their place in a tile, the first values of B by
    column and width of vector, and where the step begins in B."""

    a: dict[int, str]
    b: dict[int, dict[int, tuple[str, ...]]]
    start: str

    def values(self) -> list[str]:
        """Their names, in one order."""
        of_b = [value for each in self.b.values() for some in each.values() for value in some]
        return [*self.a.values(), *of_b, self.start]

    def named(self, stem: str) -> Operands:
        """The same under names of one stem."""
        names = (f"{stem}{number}" for number in range(len(self.values())))
        a = {i: next(names) for i in self.a}
        b = {
            j: {w: tuple(next(names) for _ in some) for w, some in each.items()} for j, each in self.b.items()
        }
        return Operands(a, b, next(names))


@dataclass(frozen=True, slots=True)
class Layout:
    """Steps through A, B and C in reals, and the signs that conjugates put on a complex sum."""

    unit: int
    a_col: int
    b_row: int
    b_col: int
    c_col: int
    conj_a: int
    conj_b: int

    @staticmethod
    def of(problem: Problem, packed_lda: int | None, packed_ldb: int | None, times: int = 1) -> Layout:
        unit = 2 if problem.dtype.is_complex else 1
        lda, ldb, ldc = (unit * ld for ld in (problem.lda, problem.ldb, problem.ldc))  # type: ignore[operator]
        ldb = packed_ldb * times if packed_ldb is not None else ldb
        b_row, b_col = (ldb, times * unit) if problem.transposed_b else (times * unit, ldb)
        return Layout(
            unit,
            packed_lda if packed_lda is not None else lda,
            b_row,
            b_col,
            ldc,
            -1 if problem.conj_a else 1,
            -1 if problem.conj_b else 1,
        )


class Tile:
    """The writer of one function: all that a config fixes, and the methods that emit from the inside out."""

    def __init__(self, problem: Problem, config: Config, store: str, device: Device):
        self.p, self.c, self.store = problem, config, store
        self.ir = ir_of(problem.dtype, device, keeps_order=True)
        self.complex = problem.dtype.is_complex
        self.rotate = config["cmul"] == "rotate"
        self.fcmla = config["cmul"] == "fcmla"
        self.crosses = config["cmul"] == "cross"
        self.per_sum = 2 if config["cmul"] in APART else 1
        self.spread = bool(config["spread"])
        self.rows = problem.m * (2 if self.complex else 1)
        self.width = config["vector_bits"] // problem.dtype.sum_bits
        self.pieces = pieces(self.rows, self.width, config["tail"])
        self.transposed = problem.transposed_a
        padded = -(-self.rows // self.width) * self.width
        # Values of B are used one by one: those of 16 bits are widened a vector at a time before.
        self.stored = config.get("widen", "load") == "product"
        self.widens = self.ir.stored != self.ir.real and not self.stored
        # Beside vectors of another height the length would be set anew for each, which a mask is not; and
        # sums of lengths cannot be kept in order.
        self.ir.lengths &= len(self.pieces) == 1 and not self.widens
        self.column_b = (problem.n if problem.transposed_b else problem.k) * (2 if self.complex else 1)
        self.twice = config.get("copies", "register") == "memory"
        buffered = self.column_b if self.widens or self.twice else None
        self.at = Layout.of(
            problem, padded if self.transposed else None, buffered, times=2 if self.twice else 1
        )
        self.padded = padded
        self.pending: list[Line] = []
        self.per_tile = 0
        self.scalars: Scalars | None = None
        # With so many registers operands are read while those before them are multiplied.
        self.early = bool(self.ir.register) and device["vector_registers"] >= MANY
        self.next: Operands | None = None

    def function(self) -> Ir:
        """The whole body: the buffer for a transposed A and the loop over the batch."""
        ir, p = self.ir, self.p
        # Read again for every tile: kept over the sum they would take registers that the sum can use. A small
        # matrix that is one tile without a loop has them to spare, and would wait for them.
        if len(self.pieces) <= self.c["blk_m"] and p.n <= self.c["blk_n"] and p.k <= self.c["blk_k"]:
            self.scalars = load_scalars(ir, p)
        steps = strides(ir, p)
        buffer = wide = ""
        if self.transposed:
            buffer = ir.let(f"alloca [{self.padded * p.k} x {ir.real}], align 64")
            if p.stride_a == 0:
                transposed(ir, p, "%A", buffer, self.padded, self.width)
        if self.widens or self.twice:
            reals = p.k * p.n * self.at.unit * (2 if self.twice else 1)
            wide = ir.let(f"alloca [{reals} x {ir.real}], align 64")
            if p.stride_b == 0:
                self.write_b("%B", wide)
        size = p.n * self.at.c_col
        stage = Stage(ir, size, self.width) if self.store == "staged" else None

        def body(a: str, b: str, c: str) -> None:
            self.ask_ahead(a, b, c, steps)
            if self.transposed and p.stride_a != 0:
                some = self.while_turned()
                transposed(ir, p, a, buffer, self.padded, self.width, lambda: self.ask(some))
                self.share()
            if wide and p.stride_b != 0:
                self.write_b(b, wide)
            self.matrix(buffer if self.transposed else a, wide or b, stage.next() if stage else c)
            if stage:
                stage.put(size)

        batch_loop(ir, ("%A", "%B", "%C"), steps, "%count", body)
        if stage:
            stage.close()
        return ir

    def write_b(self, b: str, buffer: str) -> None:
        """Write the columns of B, as they are stored, to ``buffer``: in the type of registers, or every value
        twice."""
        p = self.p
        length, apart = self.column_b, self.at.unit * p.ldb  # type: ignore[operator]
        columns = p.k if p.transposed_b else p.n
        if apart == length:
            length, columns = length * columns, 1
        write = self.double if self.twice else self.widen
        write(b, buffer, length, columns if length else 0, apart)

    def double(self, b: str, buffer: str, length: int, columns: int, apart: int) -> None:
        """``write_b`` of columns of so many reals, every value twice."""
        ir = self.ir
        blocks, rest = divmod(length, DOUBLED)

        def column(source: str, sink: str, _: str) -> None:
            if blocks > 1:
                starts, steps = (source, sink, sink), (DOUBLED, 2 * DOUBLED, 0)
                batch_loop(ir, starts, steps, str(blocks), lambda a, b, _: ir.double(a, b, DOUBLED))
            elif blocks:
                ir.double(source, sink, DOUBLED)
            ir.double(ir.at(source, blocks * DOUBLED), ir.at(sink, 2 * blocks * DOUBLED), rest)

        if columns > 1:
            batch_loop(ir, (b, buffer, buffer), (apart, 2 * length, 0), str(columns), column)
        elif columns:
            column(b, buffer, buffer)
        ir.keep_order()

    def widen(self, b: str, buffer: str, length: int, columns: int, apart: int) -> None:
        """``write_b`` of columns of so many reals, in the type of registers."""
        ir = self.ir

        def put(source: str, sink: str, piece: Piece) -> None:
            value = ir.load(ir.at(source, piece.start), piece)
            ir.store(value, ir.at(sink, piece.start, held=True), piece, held=True)

        for column in range(columns):
            source, sink = ir.at(b, column * apart), ir.at(buffer, column * length, held=True)
            parts = pieces(length, self.width, "binary")
            whole = length // self.width
            if whole > LONG:

                def step(at: str, source: str = source, sink: str = sink) -> None:
                    here = ir.at(source, at), ir.at(sink, at, held=True)
                    put(*here, Piece(0, self.width, self.width))

                counted(ir, "0", str(whole * self.width), self.width, step)
                parts = parts[whole:]
            for piece in parts:
                put(source, sink, piece)
                ir.keep_order()

    # -- where operands lie -----------------------------------------------------------------------
    def of_a(self, a: str, offset: int) -> str:
        """An address in A, or in the buffer that it was turned into."""
        return self.ir.at(a, offset, held=self.transposed)

    def of_b(self, b: str, offset: int) -> str:
        """An address in B, or in the buffer that it was written to."""
        return self.ir.at(b, offset, held=self.widens)

    # -- prefetch -------------------------------------------------------------------------------
    def ask_ahead(self, a: str, b: str, c: str, steps: tuple[str, str, str]) -> None:
        """Line up the prefetches of the matrices ``prefetch`` products ahead; ``ask`` issues them."""
        distance = self.c["prefetch"]
        self.pending, self.per_tile = [], 0
        if not distance:
            return
        line = 64 * 8 // self.ir.stored_bits
        p, unit = self.p, self.at.unit
        sizes = (p.m * p.k * unit, p.k * p.n * unit, p.m * p.n * unit)
        reads = (p.stride_a != 0, p.stride_b != 0, self.store == "plain")
        for base, step, size, read, write in zip(
            (a, b, c), steps, sizes, reads, (False, False, True), strict=True
        ):
            if read:
                ahead = self.ir.at(base, self.ir.let(f"mul i64 {step}, {distance}"))
                self.pending += [(ahead, offset, write) for offset in range(0, size, line)]
        if self.spread:
            self.pending = mixed(self.pending)
        self.share()

    def share(self) -> None:
        """What is still to be asked for is asked for by all tiles alike."""
        tiles = len(split(len(self.pieces), self.c["blk_m"])) * len(split(self.p.n, self.c["blk_n"]))
        self.per_tile = -(-len(self.pending) // tiles)

    def while_turned(self) -> int:
        """Lines to ask for after each block of A that is turned: together the part of all that turning is of
        a product's time, or none where operands are asked for one after another.

        A is read from end to end there. Asked for beside the multiply-adds alone, which of few columns are
        soon done, the next one came in a burst.
        """
        if not self.spread or not self.pending or not self.p.k:
            return 0
        p, unit = self.p, self.at.unit
        turning = TURN * len(range(0, p.m * unit, self.width)) * p.k
        multiplying = len(self.pieces) * p.n * p.k * unit / 2
        lines = len(self.pending) * turning / (turning + multiplying)
        return round(lines / blocks(p, self.ir, self.width))

    def ask(self, number: int) -> None:
        """Issue the next prefetches in line."""
        for base, offset, write in self.pending[:number]:
            self.ir.prefetch(self.ir.at(base, offset), write, self.c["level"])
        del self.pending[:number]

    def run_ahead(self, number: int) -> list[tuple[str, bool, int]]:
        """The next prefetches, for a loop that issues a few a turn, so that they never fill the queue of
        outstanding misses at once: for each operand where from, whether for writing, and how many.

        At most ``number``, of one operand; with ``spread`` of all operands at once.
        """
        if not self.pending or not number:
            return []
        lines = self.pending[:number]
        if not self.spread:
            lines = list(takewhile(lambda line: line[0] == lines[0][0], lines))
        del self.pending[: len(lines)]
        walks = []
        for base in dict.fromkeys(line[0] for line in lines):
            own = [line for line in lines if line[0] == base]
            walks.append((self.ir.at(base, own[0][1]), own[0][2], len(own)))
        return walks

    # -- loops over tiles -----------------------------------------------------------------------
    def matrix(self, a: str, b: str, c: str) -> None:
        """All tiles of one matrix, in the order of the config."""
        groups, first = [], 0
        for size in split(len(self.pieces), self.c["blk_m"]):
            groups.append(self.pieces[first : first + size])
            first += size
        widths = split(self.p.n, self.c["blk_n"])
        if self.c["order"] == "mn":
            self.across([group for group in groups for _ in widths], widths * len(groups), a, b, c)
        elif self.c["roll"] == 0:
            rows = groups * len(widths)
            self.across(rows, [w for w in widths for _ in groups], a, b, c)
        else:
            # Wider tiles come first, then narrower ones: two runs of equal width at most.
            column = 0
            for width in dict.fromkeys(widths):
                times = widths.count(width)
                start = self.of_b(b, column * self.at.b_col), self.ir.at(c, column * self.at.c_col)
                self.rolled(groups, width, times, a, *start)
                column += width * times
        self.ask(len(self.pending))

    def across(self, rows: list[list[Piece]], widths: list[int], a: str, b: str, c: str) -> None:
        """Tiles one after another; the column of each follows from the widths that its row group has seen."""
        seen: dict[int, int] = {}
        for group, width in zip(rows, widths, strict=True):
            column = seen.get(group[0].start, 0)
            seen[group[0].start] = column + width
            here = self.of_b(b, column * self.at.b_col), self.ir.at(c, column * self.at.c_col)
            self.tile(group, width, a, *here)

    def rolled(self, groups: list[list[Piece]], width: int, times: int, a: str, b: str, c: str) -> None:
        """The column tiles of one width as a loop, every row group inside."""
        if times == 1:
            self.across(groups, [width] * len(groups), a, b, c)
            return
        ir = self.ir
        quota = self.per_tile * len(groups) * times
        mine, later = self.pending[:quota], self.pending[quota:]
        before, loop, latch, after = (ir.label(x) for x in ("columns", "column", "turn", "past"))
        ir.do(f"br label %{before}")
        ir.place(before)
        ir.do(f"br label %{loop}")
        ir.place(loop)
        top = len(ir.lines)
        names = [f"%{loop}.{x}" for x in "ibc"]
        # Every turn asks for the lines of its own part of each operand, the first turn's moved on.
        line = 64 * 8 // ir.stored_bits
        self.pending = []
        for base in dict.fromkeys(entry[0] for entry in mine):
            own = [entry for entry in mine if entry[0] == base]
            part = -(-len(own) // times)
            skip = ir.let(f"mul i64 {names[0]}, {part * line}")
            start = ir.at(base, skip)
            self.pending += [(start, own[0][1] + number * line, own[0][2]) for number in range(part)]
        if self.spread:
            self.pending = mixed(self.pending)
        self.across(groups, [width] * len(groups), a, names[1], names[2])
        self.ask(len(self.pending))
        self.pending = later
        ir.do(f"br label %{latch}")
        ir.place(latch)
        nexts = [
            ir.let(f"add i64 {names[0]}, 1"),
            self.of_b(names[1], width * self.at.b_col),
            ir.at(names[2], width * self.at.c_col),
        ]
        more = ir.let(f"icmp slt i64 {nexts[0]}, {times}")
        ir.do(f"br i1 {more}, label %{loop}, label %{after}")
        ir.place(after)
        ir.lines[top:top] = [
            f"  {name} = phi {kind} [ {start}, %{before} ], [ {last}, %{latch} ]"
            for name, kind, start, last in zip(names, ("i64", "ptr", "ptr"), ("0", b, c), nexts, strict=True)
        ]

    def tile(self, rows: list[Piece], size: int, a: str, b: str, c: str) -> None:
        """One tile of C: the sum over k, then the update of memory."""
        k, blk_k = self.p.k, self.c["blk_k"]
        sums: list[str | None] = [None] * (len(rows) * size * self.per_sum)
        # The steps that no loop makes: all of them where it would turn once, or there are none.
        rest = k % blk_k if blk_k < k else k
        ahead = self.reads_ahead(rows)
        if ahead and rest < k:
            # What a turn reads for the next one is there: the last turn is none of the loop's. One that would
            # turn once is none.
            rest = rest + blk_k if k >= rest + 3 * blk_k else k
        if rest == k:
            for step in range(k):
                self.step(rows, size, a, b, step, sums, step + 1 < k)
                self.ask(-(-self.per_tile // k))
        else:
            a, b = self.k_loop(rows, size, a, b, k - rest, sums, blk_k, self.run_ahead(self.per_tile))
            if rest > 1 and self.p.beta != "0" and not ahead:
                # In one block with an update that reads C, schedulers read the operands of all these steps
                # before the first of them is done, which takes more registers than the loop.
                self.k_loop(rows, size, a, b, rest, sums, 1)
            else:
                for step in range(rest):
                    self.step(rows, size, a, b, step, sums, step + 1 < rest)
        self.ir.keep_order()
        self.update(rows, size, c, sums)
        self.ir.keep_order()

    def k_loop(
        self,
        rows: list[Piece],
        size: int,
        a: str,
        b: str,
        whole: int,
        sums: list[str | None],
        blk_k: int,
        walks: Sequence[tuple[str, bool, int]] = (),
    ) -> tuple[str, str]:
        """The sums so far and ``whole`` steps more, as a loop of ``blk_k`` that asks for the lines of
        ``walks``; returns the pointers after it. Where operands are read ahead a step more follows, whose
        first ones are then read."""
        ir = self.ir
        ahead = self.reads_ahead(rows)
        if ahead:
            self.next = self.first(rows, size, a, b, 0)
        before, loop = ir.label("head"), ir.label("k")
        # What each operand is asked for: the pointer, whether for writing, lines in a turn, where it begins.
        asks = [
            (f"%{loop}.p{number or ''}", write, -(-lines * blk_k // whole), start)
            for number, (start, write, lines) in enumerate(walks)
        ]
        ir.do(f"br label %{before}")
        ir.place(before)
        ir.do(f"br label %{loop}")
        ir.place(loop)
        top = len(ir.lines)
        kinds = [ir.vec(piece.width) for piece in self.accumulators(rows, size)]
        phis = [f"%{loop}.s{i}" for i in range(len(sums))]
        inner: list[str | None] = list(phis)
        begun = self.next
        if begun:
            self.next = begun.named(f"%{loop}.n")
        line = 64 * 8 // ir.stored_bits
        for step in range(blk_k):
            follows = step + 1 < blk_k
            self.step(rows, size, f"%{loop}.a", f"%{loop}.b", step, inner, follows or ahead, last=not follows)
            for pointer, write, each, _ in asks:
                for number in range(each * step // blk_k, each * (step + 1) // blk_k):
                    ir.prefetch(ir.at(pointer, number * line), write, self.c["level"])
        p_nexts = [ir.at(pointer, each * line) for pointer, _, each, _ in asks]
        a_next = self.of_a(f"%{loop}.a", blk_k * self.at.a_col)
        b_next = self.of_b(f"%{loop}.b", blk_k * self.at.b_row)
        i_next = ir.let(f"add i64 %{loop}.i, {blk_k}")
        more = ir.let(f"icmp slt i64 {i_next}, {whole}")
        after = ir.label("tail")
        ir.do(f"br i1 {more}, label %{loop}, label %{after}")
        ir.place(after)
        values = [
            ("i64", f"%{loop}.i", "0", i_next),
            ("ptr", f"%{loop}.a", a, a_next),
            ("ptr", f"%{loop}.b", b, b_next),
        ]
        values += [
            ("ptr", pointer, start, following)
            for (pointer, _, _, start), following in zip(asks, p_nexts, strict=True)
        ]
        values += [
            (kind, name, first or ("zeroinitializer" if "<" in kind else "0.0"), str(last))
            for kind, name, first, last in zip(kinds, phis, sums, inner, strict=True)
        ]
        if begun and self.next:
            names = begun.named(f"%{loop}.n").values()
            kinds = [*(ir.vec(piece.width) for piece in rows)]
            kinds += [
                ir.vec(width) for each in begun.b.values() for width, some in each.items() for _ in some
            ]
            values += zip([*kinds, "ptr"], names, begun.values(), self.next.values(), strict=True)
        ir.lines[top:top] = [
            f"  {name} = phi {kind} [ {start}, %{before} ], [ {last}, %{loop} ]"
            for kind, name, start, last in values
        ]
        sums[:] = inner
        return a_next, b_next

    # -- one step of k --------------------------------------------------------------------------
    def accumulators(self, rows: list[Piece], size: int) -> list[Piece]:
        """The shape of every running sum, in the order of ``index``."""
        return [piece for _ in range(size) for piece in rows for _ in range(self.per_sum)]

    def step(
        self,
        rows: list[Piece],
        size: int,
        a: str,
        b: str,
        k: int,
        sums: list[str | None],
        more: bool,
        last: bool = False,
    ) -> None:
        """sums += A(rows, k) * B(k, columns), in the inner order of the config. ``more``: another step of the
        same A and B follows. ``last``: a block ends here."""
        reg_a, reg_b = self.c["reg_a"], self.c["reg_b"]
        if self.reads_ahead(rows):
            self.step_ahead(rows, size, a, b, k, sums, more, last)
            return
        row_chunks = [range(i, min(i + reg_a, len(rows))) for i in range(0, len(rows), reg_a)]
        col_chunks = [range(j, min(j + reg_b, size)) for j in range(0, size, reg_b)]
        if self.c["inner"] == "column":
            for row_chunk in row_chunks:
                held = {i: self.a_vector(a, rows[i], k) for i in row_chunk}
                done = 0
                for col_chunk in col_chunks:
                    streamed = {j: self.b_values(b, k, j, rows, row_chunk) for j in col_chunk}
                    for j in col_chunk:
                        for i in row_chunk:
                            self.multiply(rows, i, j, held[i], streamed[j], sums)
                    if col_chunk.stop - done >= AHEAD // self.at.unit or col_chunk.stop == size:
                        self.settle(rows, range(done, col_chunk.stop), sums, last)
                        done = col_chunk.stop
        else:
            for col_chunk in col_chunks:
                kept = {j: self.b_values(b, k, j, rows, range(len(rows))) for j in col_chunk}
                for row_chunk in row_chunks:
                    vectors = {i: self.a_vector(a, rows[i], k) for i in row_chunk}
                    for i in row_chunk:
                        for j in col_chunk:
                            self.multiply(rows, i, j, vectors[i], kept[j], sums)
            self.settle(rows, range(size), sums, last)

    def step_ahead(
        self,
        rows: list[Piece],
        size: int,
        a: str,
        b: str,
        k: int,
        sums: list[str | None],
        more: bool,
        last: bool,
    ) -> None:
        """``step`` with A held: while some columns are multiplied, the next ones of B are read, and at the
        end of the step A and the first ones of the next."""
        every = range(len(rows))
        now = self.next or self.first(rows, size, a, b, k)
        self.next = None
        held = {i: (vector, self.turned(vector, rows[i].width)) for i, vector in now.a.items()}
        chunks, streamed = self.chunks(size), now.b
        for number, columns in enumerate(chunks):
            following = self.values(rows, now.start, chunks[number + 1]) if number + 1 < len(chunks) else {}
            if more and not following:
                self.next = self.first(rows, size, a, b, k + 1)
            for j in columns:
                # What is multiplied waits for what is read ahead, not for its coming.
                ready = {w: tuple(self.ir.settled(v, w) for v in vs) for w, vs in streamed[j].items()}
                for i in every:
                    self.multiply(rows, i, j, held[i], ready, sums)
            self.settle(rows, columns, sums, last)
            streamed = following

    def reads_ahead(self, rows: list[Piece]) -> bool:
        """Whether operands are read while those before them are multiplied."""
        return self.early and self.c["inner"] == "column" and self.c["reg_a"] >= len(rows)

    def chunks(self, size: int) -> list[range]:
        """The columns of a tile, as many as are read at once."""
        part = AHEAD // self.at.unit
        return [range(first, min(first + part, size)) for first in range(0, size, part)]

    def first(self, rows: list[Piece], size: int, a: str, b: str, k: int) -> Operands:
        """What a step of ``step_ahead`` begins with."""
        # Steps begin at addresses of their own, so that all of them share the distances between columns.
        start = self.ir.anchored(self.of_b(b, k * self.at.b_row))
        held = {i: self.a_rows(a, piece, k) for i, piece in enumerate(rows)}
        return Operands(held, self.values(rows, start, self.chunks(size)[0]), start)

    def values(self, rows: list[Piece], start: str, columns: range) -> dict[int, dict[int, tuple[str, ...]]]:
        """Some values of B of the step that begins there."""
        return {j: self.b_values(start, 0, j, rows, range(len(rows))) for j in columns}

    def settle(self, rows: list[Piece], columns: range, sums: list[str | None], last: bool) -> None:
        """The sums of some columns are computed before anything is read for others (``Ir.settled``)."""
        shapes = self.accumulators(rows, 1)
        # What is used once more at the end of its block would be copied there, and again by whoever adds.
        for column in columns if not (self.ir.loose and last) else ():
            for place, piece in enumerate(shapes, column * len(shapes)):
                value = sums[place]
                sums[place] = value and self.ir.settled(value, piece.width)
        if self.ir.loose:
            self.ir.keep_order()

    def a_vector(self, a: str, piece: Piece, k: int) -> tuple[str, str]:
        """Rows of column k of op(A), and the same turned by i for the ``rotate`` form."""
        vector = self.a_rows(a, piece, k)
        return vector, self.turned(vector, piece.width)

    def a_rows(self, a: str, piece: Piece, k: int) -> str:
        """Rows of column k of op(A)."""
        address = self.of_a(a, piece.start + k * self.at.a_col)
        if self.stored:
            return self.ir.row_stored(address, piece)
        return self.ir.load_free(address, piece, held=self.transposed)

    def turned(self, vector: str, width: int) -> str:
        """A vector of A turned by i, where the ``rotate`` form asks for it."""
        if not self.rotate:
            return ""
        signs = (-self.at.conj_a * self.at.conj_b, self.at.conj_a * self.at.conj_b)
        return self.ir.flip(self.ir.swap(vector, width), signs, width)

    def b_values(
        self, b: str, k: int, column: int, rows: list[Piece], which: range
    ) -> dict[int, tuple[str, ...]]:
        """B(k, column) copied to all lanes, for each width in use: (re,), (re, im) or both in one."""
        ir = self.ir
        address = self.of_b(b, k * self.at.b_row + column * self.at.b_col)
        widths = dict.fromkeys(rows[i].width for i in which)
        if self.stored:
            return dict(ir.copies_stored(address, widths))
        if self.fcmla:
            # The conjugate of B alone changes places with A (``Neon.cfma``).
            second = self.at.conj_b > 0 or self.at.conj_a < 0
            return {w: (ir.pair(address, w, second),) for w in widths}
        if self.crosses:
            return {w: ir.both_ways(address, w) for w in widths}
        parts = [address] + ([self.of_b(address, 2 if self.twice else 1)] if self.complex else [])
        if self.twice:
            return {w: tuple(ir.copied(part, w) for part in parts) for w in widths}
        return ir.broadcasts(parts, widths, held=self.widens)

    def multiply(
        self,
        rows: list[Piece],
        i: int,
        j: int,
        vector: tuple[str, str],
        values: dict[int, tuple[str, ...]],
        sums: list[str | None],
    ) -> None:
        """One vector of A by one value of B into the running sums."""
        ir, width = self.ir, rows[i].width
        value = values[width]
        if not self.complex:
            index = j * len(rows) + i
            multiply = ir.fma_stored if self.stored else ir.fma
            sums[index] = multiply(vector[0], value[0], sums[index], width)
        elif self.fcmla:
            index = j * len(rows) + i
            conj = self.at.conj_a < 0, self.at.conj_b < 0
            sums[index] = ir.cfma(vector[0], value[0], sums[index], width, conj)
        elif self.rotate:
            index = j * len(rows) + i
            first = ir.fma(vector[0], value[0], sums[index], width)
            sums[index] = ir.fma(vector[1], value[1], first, width)
        else:
            index = 2 * (j * len(rows) + i)
            sums[index] = ir.fma(vector[0], value[0], sums[index], width)
            sums[index + 1] = ir.fma(vector[0], value[1], sums[index + 1], width)

    # -- the end of a tile ------------------------------------------------------------------------
    def update(self, rows: list[Piece], size: int, c: str, sums: list[str | None]) -> None:
        """C = alpha * sums + beta * C. All of C is read before any of it is written: tails may overlap."""
        ir = self.ir
        scalars = self.scalars or load_scalars(ir, self.p)
        places = [(j, i) for j in range(size) for i in range(len(rows))]
        addresses = [ir.at(c, rows[i].start + j * self.at.c_col) for j, i in places]
        results = []
        # Where rows are in one vector each, what is done is written before more of C is read.
        apart = ir.loose and self.c["tail"] not in MOVED
        for place, ((_, i), address) in enumerate(zip(places, addresses, strict=True)):
            piece = rows[i]
            old = ir.load_free(address, piece) if self.p.beta != "0" else None
            total = self.combined(sums, place, piece.width)
            results.append(finish(ir, self.p, scalars, total, old, piece.width))
            if old is not None:
                results[-1] = ir.settled(results[-1], piece.width)
            if apart:
                ir.store_free(results.pop(), address, piece, self.store == "stream")
                ir.keep_order()
        if apart:
            return
        # Only programs for x86 write lanes by masks, and keep no order; of 16 bits each part is rounded anew.
        whole = not ir.register and ir.stored == ir.real
        exact = whole and self.p.beta != "0" and self.work(rows, size) <= SHORT
        for (_, i), address, result in zip(places, addresses, results, strict=True):
            if exact:
                ir.store_exact(result, address, rows[i])
            else:
                ir.store_free(result, address, rows[i], self.store == "stream")

    def work(self, rows: list[Piece], size: int) -> int:
        """Vector multiply-adds of a tile."""
        return len(rows) * size * self.p.k * (2 if self.complex else 1)

    def combined(self, sums: list[str | None], place: int, width: int) -> str:
        """The product for one vector of C, out of one or two running sums."""
        ir, conj_a, conj_b = self.ir, self.at.conj_a, self.at.conj_b
        zero = ir.const([0.0] * width)
        if not self.complex:
            return sums[place] or zero
        if self.fcmla:
            return ir.flip(sums[place] or zero, (1, -1 if conj_a < 0 and conj_b < 0 else 1), width)
        if self.rotate:
            return ir.flip(sums[place] or zero, (1, conj_a), width)
        straight, crossed = sums[2 * place] or zero, sums[2 * place + 1] or zero
        if self.crosses:
            # Products of equal parts, and of different ones: what belongs to one part of C is side by side.
            first, second = (
                ir.shuffle(straight, crossed, [lane + half for lane in (0, width)], width) for half in (0, 1)
            )
            signs = ir.const([-conj_a * conj_b, conj_a])
            return ir.fma(second, signs, ir.flip(first, (1, conj_b), width), width)
        # Every sign is put on with one pattern, so that one constant serves them and those of alpha and beta.
        if conj_a < 0 and conj_b < 0:
            turned = ir.flip(ir.swap(straight, width), (-1, 1), width)
            return ir.swap(ir.op("fsub", turned, crossed, width), width)
        crossed = ir.swap(crossed, width)
        if conj_a < 0:
            return ir.op("fsub", crossed, ir.flip(straight, (-1, 1), width), width)
        return ir.op("fsub" if conj_b < 0 else "fadd", straight, ir.flip(crossed, (-1, 1), width), width)
