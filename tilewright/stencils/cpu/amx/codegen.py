"""The code of the ``amx`` stencil: what a config means in LLVM IR, from the batch loop to one tile product.

``stencil.py`` has the picture and says which configs there are.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.model import Config, Problem
from tilewright.stencils.cpu.ir import Ir, Piece, batch_loop, finish, load_scalars
from tilewright.stencils.cpu.pairs import PAIRS, ROWS, Pairs
from tilewright.stencils.cpu.staging import counted

TILES = 8
"""Tile registers, of 16 rows of 64 bytes: as many 32-bit numbers or pairs as ``pairs.ROWS``."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How tile registers cover a problem: ``down`` tiles of 16 rows of C (the last one padded), ``across``
    tiles of ``columns`` columns (the last one moved up over columns already covered), and ``steps`` tiles of
    ``pairs`` pairs of k."""

    down: int
    across: int
    columns: int
    steps: int
    pairs: int

    @staticmethod
    def of(problem: Problem) -> Shape:
        """The fewest tiles of each extent, as equal as they can be where a smaller one takes less time."""
        down, across = -(-problem.m // ROWS), -(-problem.n // ROWS)
        steps = max(1, -(-problem.k // (2 * PAIRS)))
        return Shape(down, across, -(-problem.n // across), steps, -(-problem.k // (2 * steps)))

    @property
    def row(self) -> int:
        """16-bit numbers of a row of the buffer of op(B): what the tiles of k take, or more."""
        return 2 * PAIRS * self.steps

    def begin(self, problem: Problem, tile: int) -> int:
        """The first column of a tile of columns."""
        return min(tile * self.columns, problem.n - self.columns)


def needs_copy(problem: Problem) -> bool:
    """Whether B has to be copied: its columns are not contiguous, or end within a tile."""
    shape = Shape.of(problem)
    return problem.transposed_b or problem.k != 2 * shape.pairs * shape.steps


class Amx:
    """The writer of one function: all that a config fixes, and the methods that emit from the outside in."""

    def __init__(self, problem: Problem, config: Config):
        self.p = problem
        self.blk_m: int = config["blk_m"]
        self.blk_n: int = config["blk_n"]
        self.copies = bool(config["copy_b"])
        self.ir, self.shape = Ir(problem.dtype, "v", converts=bool(config["convert"])), Shape.of(problem)
        self.product = "tdpbf16ps" if problem.dtype.letter == "b" else "tdpfp16ps"

    def function(self) -> Ir:
        """The whole body: the shapes of the tiles, the buffers, and the loop over the batch."""
        ir, p, shape = self.ir, self.p, self.shape
        self._configure()
        # Pairs of A by tiles of 16 rows, rows of op(B) as columns, and sums of a block of tiles.
        pairs = ir.let(f"alloca [{shape.down * shape.steps * shape.pairs * ROWS} x float], align 64")
        rows = ir.let(f"alloca [{p.n * shape.row} x {ir.stored}], align 64") if self.copies else ""
        block = self.blk_m * self.blk_n * shape.columns * ROWS
        sums = ir.let(f"alloca [{block} x float], align 64")
        packing = Pairs(ir, p, shape.steps * shape.pairs, shape.row)
        if p.stride_a == 0:
            packing.pack_a("%A", pairs)
        if rows and p.stride_b == 0:
            packing.copy_b("%B", rows)

        def body(a: str, b: str, c: str) -> None:
            if p.stride_a != 0:
                packing.pack_a(a, pairs)
            if rows and p.stride_b != 0:
                packing.copy_b(b, rows)
            self.matrix(pairs, rows or b, sums, c)

        batch_loop(ir, ("%A", "%B", "%C"), ("%sa", "%sb", "%sc"), "%count", body)
        self._call("tilerelease")
        return ir

    def _call(self, name: str, *arguments: str) -> None:
        """An instruction of the tile unit; numbers of registers are ``i8``."""
        kinds = ", ".join(argument.split()[0] for argument in arguments)
        self.ir.declared.add(f"declare void @llvm.x86.{name}({kinds})")
        self.ir.do(f"call void @llvm.x86.{name}({', '.join(arguments)})")

    # -- tile registers ---------------------------------------------------------------------------
    def _sum(self, down: int, across: int) -> int:
        return down * self.blk_n + across

    def _pairs(self, down: int) -> int:
        return self.blk_m * self.blk_n + down

    def _rows(self, across: int) -> int:
        return self.blk_m * (self.blk_n + 1) + across

    def _configure(self) -> None:
        """Load palette 1: rows of each register at byte 48, bytes of a row at byte 16, two of each."""
        shape, table = self.shape, bytearray(64)
        table[0] = 1
        sums, pairs = self._pairs(0), self._rows(0)
        for tile in range(pairs + self.blk_n):
            held = tile < sums
            table[48 + tile] = shape.columns if held or tile >= pairs else shape.pairs
            table[16 + 2 * tile] = 4 * (ROWS if tile < pairs else shape.pairs)
        place = self.ir.let("alloca [64 x i8], align 64")
        values = ", ".join(f"i8 {byte}" for byte in table)
        self.ir.do(f"store <64 x i8> <{values}>, ptr {place}, align 64")
        self._call("ldtilecfg", f"ptr {place}")

    def _load(self, tile: int, address: str, bytes_apart: int) -> None:
        self._call("tileloadd64", f"i8 {tile}", f"ptr {address}", f"i64 {bytes_apart}")

    # -- products ---------------------------------------------------------------------------------
    def matrix(self, pairs: str, rows: str, sums: str, c: str) -> None:
        """All blocks of one matrix, each summed over k in tile registers and then put into C."""
        shape, done = self.shape, 0
        for first in range(0, shape.across, self.blk_n):
            across = range(first, min(first + self.blk_n, shape.across))
            end = shape.begin(self.p, across[-1]) + shape.columns
            for top in range(0, shape.down, self.blk_m):
                down = range(top, min(top + self.blk_m, shape.down))
                self.block(down, across, pairs, rows, sums)
                self.update(down, across, range(done, end), sums, c)
            done = end

    def block(self, down: range, across: range, pairs: str, rows: str, sums: str) -> None:
        """The sums of a block of tiles, written to ``sums`` by columns of ``blk_m`` times 16 rows."""
        ir, p, shape = self.ir, self.p, self.shape
        deep = shape.steps * shape.pairs
        apart = shape.row if self.copies else p.ldb
        for i in range(len(down)):
            for j in range(len(across)):
                self._call("tilezero", f"i8 {self._sum(i, j)}")
        for step in range(shape.steps):
            for j, tile in enumerate(across):
                first = shape.begin(p, tile) * apart + 2 * step * shape.pairs  # type: ignore[operator]
                self._load(self._rows(j), ir.at(rows, first), 2 * apart)  # type: ignore[operator]
            for i, tile in enumerate(down):
                first = (tile * deep + step * shape.pairs) * ROWS
                self._load(self._pairs(i), ir.at(pairs, first, held=True), 4 * ROWS)
                for j in range(len(across)):
                    self._call(
                        self.product, *(f"i8 {t}" for t in (self._sum(i, j), self._rows(j), self._pairs(i)))
                    )
        high = self.blk_m * ROWS
        for i in range(len(down)):
            for j, tile in enumerate(across):
                column = shape.begin(p, tile) - shape.begin(p, across[0])
                place = ir.at(sums, column * high + i * ROWS, held=True)
                self._call("tilestored64", f"i8 {self._sum(i, j)}", f"ptr {place}", f"i64 {4 * high}")

    def update(self, down: range, across: range, columns: range, sums: str, c: str) -> None:
        """C = alpha * sums + beta * C for those columns of a block that no block before it had."""
        ir, p = self.ir, self.p
        high = self.blk_m * ROWS
        first = self.shape.begin(p, across[0])
        scalars = load_scalars(ir, p)

        def step(at: str) -> None:
            place = ir.let(f"mul i64 {ir.let(f'sub i64 {at}, {first}')}, {high}")
            source = ir.at(sums, place, held=True)
            sink = ir.at(c, ir.let(f"mul i64 {at}, {p.ldc}"))
            for number, tile in enumerate(down):
                row = tile * ROWS
                piece = Piece(row, ROWS, min(ROWS, p.m - row))
                total = ir.load(ir.at(source, number * ROWS, held=True), Piece(0, ROWS, ROWS), held=True)
                address = ir.at(sink, row)
                old = ir.load(address, piece) if p.beta != "0" else None
                ir.store(finish(ir, p, scalars, total, old, ROWS), address, piece)

        counted(ir, str(columns.start), str(columns.stop), 1, step)
