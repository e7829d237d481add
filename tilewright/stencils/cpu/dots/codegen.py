"""The code of the ``dots`` stencil: what a config means in LLVM IR, from the batch loop to one instruction.

``stencil.py`` has the picture and says which configs there are.
"""

from __future__ import annotations

from tilewright.model import Config, Problem
from tilewright.stencils.cpu.ir import Ir, Piece, Scalars, batch_loop, finish, load_scalars
from tilewright.stencils.cpu.pairs import PAIRS, ROWS, Pairs
from tilewright.stencils.cpu.tile.codegen import Line, mixed, split

DOT = "@llvm.x86.avx512bf16.dpbf16ps.512"
VECTOR, OPERAND = f"<{ROWS} x float>", f"<{2 * ROWS} x bfloat>"
LINE = 32
"""Numbers of a cache line."""


class Dots:
    """The writer of one function: all that a config fixes, and the methods that emit from the outside in."""

    def __init__(self, problem: Problem, config: Config):
        self.p, self.c, self.ir = problem, config, Ir(problem.dtype, "v", converts=bool(config["convert"]))
        self.down, self.deep = -(-problem.m // ROWS), -(-problem.k // 2)
        self.row = 2 * PAIRS * -(-problem.k // (2 * PAIRS))
        self.apart: int = self.row if config["copy_b"] else problem.ldb  # type: ignore[assignment]
        # Lines of a later product that are still to be asked for.
        self.pending: list[Line] = []

    def function(self) -> Ir:
        """The whole body: the buffers and the loop over the batch."""
        ir, p = self.ir, self.p
        ir.declared.add(f"declare {VECTOR} {DOT}({VECTOR}, {OPERAND}, {OPERAND})")
        pairs = ir.let(f"alloca [{self.down * self.deep * ROWS} x float], align 64")
        rows = ir.let(f"alloca [{p.n * self.row} x bfloat], align 64") if self.c["copy_b"] else ""
        packing = Pairs(ir, p, self.deep, self.row)
        if p.stride_a == 0:
            packing.pack_a("%A", pairs)
        if rows and p.stride_b == 0:
            packing.copy_b("%B", rows)

        def body(a: str, b: str, c: str) -> None:
            self.line_up((a, b, c))
            if p.stride_a != 0:
                packing.pack_a(a, pairs)
            if rows and p.stride_b != 0:
                packing.copy_b(b, rows)
            self.matrix(pairs, rows or b, c)

        batch_loop(ir, ("%A", "%B", "%C"), ("%sa", "%sb", "%sc"), "%count", body)
        return ir

    def line_up(self, bases: tuple[str, str, str]) -> None:
        """Line up the prefetches of the operands ``prefetch`` products ahead, all operands evenly; ``ask``
        issues them."""
        ir, p, distance = self.ir, self.p, self.c["prefetch"]
        self.pending = []
        if not distance:
            return
        lds = (p.lda, p.ldb, p.ldc)
        for base, step, own, ld, (rows, columns), write in zip(
            bases,
            ("%sa", "%sb", "%sc"),
            (p.stride_a != 0, p.stride_b != 0, True),
            lds,
            p.stored,
            (False, False, True),
            strict=True,
        ):
            if not own:
                continue
            ahead = ir.at(base, ir.let(f"mul i64 {step}, {distance}"))
            places = {
                (column * ld + row) // LINE * LINE
                for column in range(columns)
                for row in (*range(0, rows, LINE), rows - 1)
            }
            self.pending += [(ahead, place, write) for place in sorted(places)]
        self.pending = mixed(self.pending)

    def ask(self, number: int) -> None:
        """Issue the next prefetches in line."""
        for base, offset, write in self.pending[:number]:
            self.ir.prefetch(self.ir.at(base, offset), write)
        del self.pending[:number]

    def matrix(self, pairs: str, rows: str, c: str) -> None:
        """All tiles of one matrix, down the columns first."""
        scalars, column = load_scalars(self.ir, self.p), 0
        tiles = len(split(self.p.n, self.c["blk_n"])) * len(split(self.down, self.c["blk_m"]))
        each = -(-len(self.pending) // tiles)
        for columns in split(self.p.n, self.c["blk_n"]):
            first = 0
            for vectors in split(self.down, self.c["blk_m"]):
                a = self.ir.at(pairs, first * self.deep * ROWS, held=True)
                b = self.ir.at(rows, column * self.apart)
                sums = self.tile(vectors, columns, a, b, each)
                self.update(first, vectors, column, columns, sums, scalars, c)
                first += vectors
            column += columns

    def tile(self, vectors: int, columns: int, a: str, b: str, lines: int) -> list[str]:
        """The sums over k of a tile of C, column after column; ``lines`` are asked for beside it, evenly
        where no loop sums."""
        ir, turns = self.ir, self.deep // self.c["blk_k"]
        sums = ["zeroinitializer"] * (vectors * columns)
        done = 0
        if turns > 1:
            done = turns * self.c["blk_k"]
            before, loop, after = (ir.label(x) for x in ("head", "k", "tail"))
            ir.do(f"br label %{before}")
            ir.place(before)
            ir.do(f"br label %{loop}")
            ir.place(loop)
            top, index = len(ir.lines), f"%{loop}.i"
            inner = [f"%{loop}.s{number}" for number in range(len(sums))]
            here = (
                ir.at(a, ir.let(f"mul i64 {index}, {ROWS}"), held=True),
                ir.at(b, ir.let(f"shl i64 {index}, 1")),
            )
            for pair in range(self.c["blk_k"]):
                inner = self.step(vectors, columns, *here, pair, inner)
            following = ir.let(f"add i64 {index}, {self.c['blk_k']}")
            more = ir.let(f"icmp ult i64 {following}, {done}")
            ir.do(f"br i1 {more}, label %{loop}, label %{after}")
            ir.place(after)
            ir.lines[top:top] = [f"  {index} = phi i64 [ 0, %{before} ], [ {following}, %{loop} ]"] + [
                f"  %{loop}.s{number} = phi {VECTOR} [ {first}, %{before} ], [ {last}, %{loop} ]"
                for number, (first, last) in enumerate(zip(sums, inner, strict=True))
            ]
            sums = inner
        rest = self.deep - done
        for pair in range(done, self.deep):
            sums = self.step(vectors, columns, a, b, pair, sums)
            self.ask(lines * (pair - done + 1) // rest - lines * (pair - done) // rest)
        if not rest:
            self.ask(lines)
        return sums

    def step(self, vectors: int, columns: int, a: str, b: str, pair: int, sums: list[str]) -> list[str]:
        """The sums with the products of one pair of k: A held, pairs of B copied to all lanes one by one."""
        ir, made = self.ir, list(sums)
        held = [
            ir.let(f"load {OPERAND}, ptr {ir.at(a, (row * self.deep + pair) * ROWS, held=True)}, align 64")
            for row in range(vectors)
        ]
        whole = f"<{ROWS} x i32>"
        for column in range(columns):
            value = ir.let(f"load i32, ptr {ir.at(b, column * self.apart + 2 * pair)}, align 2")
            one = ir.let(f"insertelement {whole} poison, i32 {value}, i64 0")
            all_ = ir.let(f"shufflevector {whole} {one}, {whole} poison, {whole} zeroinitializer")
            operand = ir.let(f"bitcast {whole} {all_} to {OPERAND}")
            for row in range(vectors):
                at = column * vectors + row
                made[at] = ir.let(
                    f"call {VECTOR} {DOT}({VECTOR} {made[at]}, {OPERAND} {held[row]}, {OPERAND} {operand})"
                )
        return made

    def update(
        self, first: int, vectors: int, column: int, columns: int, sums: list[str], scalars: Scalars, c: str
    ) -> None:
        """C = alpha * sums + beta * C for one tile."""
        ir, p = self.ir, self.p
        for j in range(columns):
            for i in range(vectors):
                row = (first + i) * ROWS
                piece = Piece(row, ROWS, min(ROWS, p.m - row))
                address = ir.at(c, (column + j) * p.ldc + row)  # type: ignore[operator]
                old = ir.load(address, piece) if p.beta != "0" else None
                ir.store(finish(ir, p, scalars, sums[j * vectors + i], old, ROWS), address, piece)
