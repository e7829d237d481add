"""The code of the ``amx`` stencil: what a config means in LLVM IR, from the batch loop to one tile product.

``stencil.py`` has the picture and says which configs there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, product, zip_longest
from operator import itemgetter

from tilewright.model import Config, Problem
from tilewright.stencils.cpu.ir import Ir, Piece, finish, load_scalars
from tilewright.stencils.cpu.pairs import PAIRS, ROWS, Pairs, rounded
from tilewright.stencils.cpu.staging import counted

TILES = 8
"""Tile registers, of 16 rows of 64 bytes: as many 32-bit numbers or pairs as ``pairs.ROWS``."""

LINE = 32
"""16-bit numbers of a cache line."""
TOGETHER = 16
"""Vectors of sums of a turn of the loop that puts them into C."""
Result = tuple[str, str, Piece]
"""A vector of 16 results in float32, the address in C, and which rows of C it is."""
Step = tuple[int, Callable[[str], None]]
"""What a turn of the loop over the batch does to a product: to that which is so far behind the one that is
packed, or would be."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory on the stack for what waits: ``slots`` places, a power of two, of ``size`` bytes each."""

    place: str
    size: int
    slots: int

    @staticmethod
    def of(ir: Ir, numbers: int, width: int, waiting: int) -> Buffer:
        """Places for so many numbers of ``width`` bytes: for what is written, and for those that wait."""
        slots = 1 << waiting.bit_length()
        size = -(-numbers * width // 64) * 64
        return Buffer(ir.let(f"alloca [{slots * size} x i8], align 64"), size, slots)

    def slot(self, ir: Ir, number: str) -> str:
        """The place of what has a number."""
        if self.slots == 1:
            return self.place
        turn = ir.let(f"mul i64 {ir.let(f'and i64 {number}, {self.slots - 1}')}, {self.size}")
        return ir.let(f"getelementptr i8, ptr {self.place}, i64 {turn}")


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


def needs_copy(problem: Problem, split: bool = False) -> bool:
    """Whether B has to be copied: its columns are not contiguous, or end within a tile, or its numbers are
    split in two."""
    shape = Shape.of(problem)
    return split or problem.transposed_b or problem.k != 2 * shape.pairs * shape.steps


Tile = tuple[int, int, int, int]
"""A part of A or B (0: first parts, or whole numbers), its number, the step of k, and 1 if it is of op(B)."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What one step of k adds to the sums of a block, those of first parts (0) or the others (1), and
    whether it begins them. ``reads``: tile registers that have to be read before, and what."""

    block: int
    part: int
    first: bool
    reads: dict[int, Tile]


class Amx:
    """The writer of one function: all that a config fixes, and the methods that emit from the outside in."""

    def __init__(self, problem: Problem, config: Config, split: bool = False):
        self.p, self.split = problem, split
        self.blk_m: int = config["blk_m"]
        self.blk_n: int = config["blk_n"]
        self.copies = bool(config["copy_b"])
        self.ir, self.shape = Ir(problem.dtype, "v", converts=bool(config["convert"])), Shape.of(problem)
        self.instruction = "tdpbf16ps" if split or problem.dtype.letter == "b" else "tdpfp16ps"
        self.reals = self.blk_m * self.blk_n * self.shape.columns * ROWS
        self.blocks = list(self._blocks())
        self.units = self._units()
        # Products from packing one to its tile products, and blocks from sums in memory to results in C.
        self.ahead: int = config["ahead"]
        self.behind: int = config["behind"]
        self.prefetches = bool(config["prefetch"])

    def function(self) -> Ir:
        """The whole body: the shapes of the tiles, the buffers, and the loop over the batch."""
        ir, p, shape = self.ir, self.p, self.shape
        self._configure()
        # Pairs of A by tiles of 16 rows, rows of op(B) as columns, and sums of a block of tiles.
        deep = shape.steps * shape.pairs
        parts = 1 + self.split
        pairs = Buffer.of(ir, parts * shape.down * deep * ROWS, 4, self.ahead if p.stride_a else 0)
        waiting = self.ahead if p.stride_b else 0
        rows = Buffer.of(ir, parts * p.n * shape.row, 2, waiting) if self.copies else None
        sums = Buffer.of(ir, parts * self.reals, 4, self.behind)
        packing = Pairs(ir, p, deep, shape.row, shape.pairs if self.split else 0)
        if p.stride_a == 0:
            packing.pack_a("%A", pairs.place)
        if rows and p.stride_b == 0:
            packing.copy_b("%B", rows.place)

        def pack(part: int, parts: int, j: str) -> None:
            if p.stride_a != 0:
                packing.pack_a(self._matrix("%A", j, "%sa"), pairs.slot(ir, j), part, parts)
            if rows and p.stride_b != 0:
                packing.copy_b(self._matrix("%B", j, "%sb"), rows.slot(ir, j), part, parts)
            if self.prefetches and not part:
                self._ask(j)

        def load(unit: int, j: str) -> None:
            where = rows.slot(ir, j) if rows else self._matrix("%B", j, "%sb")
            self.load(self.units[unit], pairs.slot(ir, j), where)

        def keep(block: int, j: str) -> None:
            self.keep(self.blocks[block], sums.slot(ir, self._count(j, block)))

        def put(block: int, j: str) -> None:
            source = sums.slot(ir, self._count(j, block))
            self.update(self.blocks[block], source, self._matrix("%C", j, "%sc"))

        number, todo = len(self.blocks), list[Step]()
        if not self.ahead:
            todo.append((0, partial(pack, 0, 1)))
        for block in range(number):
            # A processor writes in order. Sums that leave their registers before the next block's products
            # are there by then, and hold up neither what is packed after them nor those products.
            distance, which = self._before(block, 1)
            todo.append((distance, partial(keep, which)))
            for at, unit in enumerate(self.units):
                if unit.block == block:
                    todo.append((self.ahead, partial(load, at)))
                    todo.append((self.ahead, partial(self.multiply, unit)))
            if self.ahead:
                todo.append((0, partial(pack, block, number)))
            distance, which = self._before(block, 1 + self.behind)
            todo.append((distance, partial(put, which)))
        self._turns(todo)
        self._call("tilerelease")
        return ir

    def _before(self, block: int, count: int) -> tuple[int, int]:
        """How far the block that came ``count`` before one is behind the product that is packed, and its
        number in its own product."""
        again, which = divmod(block - count, len(self.blocks))
        return self.ahead - again, which

    def _blocks(self) -> Iterator[tuple[range, range, range]]:
        """Blocks of tiles of one matrix: tiles of rows, tiles of columns, and the columns that are new."""
        shape, done = self.shape, 0
        for first in range(0, shape.across, self.blk_n):
            across = range(first, min(first + self.blk_n, shape.across))
            end = shape.begin(self.p, across[-1]) + shape.columns
            for top in range(0, shape.down, self.blk_m):
                yield range(top, min(top + self.blk_m, shape.down)), across, range(done, end)
            done = end

    def _units(self) -> list[Unit]:
        """The tile products in their order, and what has to be read for each."""
        terms = ((0, 0, 0), (0, 1, 1), (1, 1, 1), (1, 0, 1)) if self.split else ((0, 0, 0),)
        found: list[Unit] = []
        there: dict[int, Tile] = {}
        for number, (down, across, _) in enumerate(self.blocks):
            begun: set[int] = set()
            for step, (left, right, part) in product(range(self.shape.steps), terms):
                columns = {self._rows(j): (right, tile, step, 1) for j, tile in enumerate(across)}
                rows = {self._pairs(i): (left, tile, step, 0) for i, tile in enumerate(down)}
                reads = {k: v for k, v in (columns | rows).items() if there.get(k) != v}
                there |= reads
                found.append(Unit(number, part, part not in begun, reads))
                begun.add(part)
        return found

    def _matrix(self, base: str, j: str, stride: str) -> str:
        """The matrix of a product."""
        return self.ir.at(base, self.ir.let(f"mul i64 {j}, {stride}"))

    def _ask(self, j: str) -> None:
        """Ask for what packing does not read of a product: op(B) where it is not copied, and C."""
        ir, p = self.ir, self.p
        columns = ((p.ldb, p.n, p.k, "%B", "%sb"),) if not self.copies and p.stride_b != 0 else ()
        for ld, count, rows, base, stride in (*columns, (p.ldc, p.n, p.m, "%C", "%sc")):
            place = self._matrix(base, j, stride)
            # Columns without gaps are one run of lines.
            runs, length = (1, count * rows) if ld == rows else (count, rows)
            for column in range(runs):
                for first in range(0, length, LINE):
                    ir.prefetch(ir.at(place, column * ld + first), base == "%C")

    def _count(self, j: str, block: int) -> str:
        """The number of a block among those of all products."""
        if len(self.blocks) == 1:
            return j
        return self.ir.let(f"add i64 {self.ir.let(f'mul i64 {j}, {len(self.blocks)}')}, {block}")

    def _turns(self, todo: Sequence[Step]) -> None:
        """The loop over the batch: a turn does each of some things to the product that is its distance
        behind, where there is one."""
        ir, late = self.ir, max(distance for distance, _ in todo)
        before, loop, after = (ir.label(x) for x in ("before", "batch", "done"))
        ir.do(f"br label %{before}")
        ir.place(before)
        total = ir.let(f"add i64 %count, {late}")
        some = ir.let("icmp sgt i64 %count, 0")
        ir.do(f"br i1 {some}, label %{loop}, label %{after}")
        ir.place(loop)
        top, index = len(ir.lines), f"%{loop}.i"
        for distance, group in groupby(todo, key=itemgetter(0)):
            here, on = (ir.label(x) for x in ("do", "on"))
            j = ir.let(f"sub i64 {index}, {distance}")
            ir.do(f"br i1 {ir.let(f'icmp ult i64 {j}, %count')}, label %{here}, label %{on}")
            ir.place(here)
            for _, one in group:
                one(j)
            ir.do(f"br label %{on}")
            ir.place(on)
        following = ir.let(f"add i64 {index}, 1")
        more = ir.let(f"icmp slt i64 {following}, {total}")
        last = next(line[:-1] for line in reversed(ir.lines) if line.endswith(":"))
        ir.do(f"br i1 {more}, label %{loop}, label %{after}")
        ir.place(after)
        ir.lines.insert(top, f"  {index} = phi i64 [ 0, %{before} ], [ {following}, %{last} ]")

    def _call(self, name: str, *arguments: str) -> None:
        """An instruction of the tile unit; numbers of registers are ``i8``."""
        kinds = ", ".join(argument.split()[0] for argument in arguments)
        self.ir.declared.add(f"declare void @llvm.x86.{name}({kinds})")
        self.ir.do(f"call void @llvm.x86.{name}({', '.join(arguments)})")

    # -- tile registers ---------------------------------------------------------------------------
    def _sum(self, down: int, across: int, part: int = 0) -> int:
        return (part * self.blk_m + down) * self.blk_n + across

    def _pairs(self, down: int) -> int:
        return (1 + self.split) * self.blk_m * self.blk_n + down

    def _rows(self, across: int) -> int:
        return self._pairs(self.blk_m) + across

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
    def load(self, unit: Unit, pairs: str, rows: str) -> None:
        """The tiles of A and B that a unit needs and that no unit before it has read."""
        ir, p, shape = self.ir, self.p, self.shape
        deep = shape.steps * shape.pairs
        apart = shape.row if self.copies else p.ldb
        for register, (part, tile, step, of_b) in unit.reads.items():
            if of_b:
                first = shape.begin(p, tile) * apart + 2 * step * shape.pairs  # type: ignore[operator]
                base = ir.at(rows, part * p.n * shape.row)
                self._load(register, ir.at(base, first), 2 * apart)  # type: ignore[operator]
            else:
                first = ((part * shape.down + tile) * deep + step * shape.pairs) * ROWS
                self._load(register, ir.at(pairs, first, held=True), 4 * ROWS)

    def multiply(self, unit: Unit, _: str) -> None:
        """The tile products of a unit."""
        down, across = self.blocks[unit.block][:2]
        every = list(product(range(len(down)), range(len(across))))
        if unit.first:
            for i, j in every:
                self._call("tilezero", f"i8 {self._sum(i, j, unit.part)}")
        for i, j in every:
            tiles = self._sum(i, j, unit.part), self._rows(j), self._pairs(i)
            self._call(self.instruction, *(f"i8 {tile}" for tile in tiles))

    def keep(self, which: tuple[range, range, range], sums: str) -> None:
        """The sums of a block of tiles into ``sums``, by columns of ``blk_m`` times 16 rows."""
        ir, p, shape = self.ir, self.p, self.shape
        down, across, _ = which
        high = self.blk_m * ROWS
        for part in range(1 + self.split):
            for i in range(len(down)):
                for j, tile in enumerate(across):
                    column = shape.begin(p, tile) - shape.begin(p, across[0])
                    place = ir.at(sums, part * self.reals + column * high + i * ROWS, held=True)
                    given = f"i8 {self._sum(i, j, part)}", f"ptr {place}", f"i64 {4 * high}"
                    self._call("tilestored64", *given)

    def update(self, which: tuple[range, range, range], sums: str, c: str) -> None:
        """C = alpha * sums + beta * C for those columns of a block that no block before it had."""
        ir, p = self.ir, self.p
        down, across, columns = which
        first = self.shape.begin(p, across[0])
        scalars = load_scalars(ir, p)

        def some(source: str, sink: str, count: int) -> None:
            """``count`` columns, of sums from one address and of C from another."""
            found = []
            for column in range(count):
                for number, tile in enumerate(down):
                    piece = Piece(tile * ROWS, ROWS, min(ROWS, p.m - tile * ROWS))
                    at = column * self.blk_m * ROWS + number * ROWS
                    total = self._total(ir.at(source, at, held=True))
                    address = ir.at(sink, column * p.ldc + piece.start)  # type: ignore[operator]
                    old = ir.load(address, piece) if p.beta != "0" else None
                    found.append((finish(ir, p, scalars, total, old, ROWS), address, piece))
            if not ir.converts:
                for value, address, piece in found:
                    ir.store(value, address, piece)
                return
            for one, two in zip_longest(found[::2], found[1::2]):
                self._put(one, two)

        # One vector more than one takes a turn alone where their number is odd.
        step = max(1, TOGETHER // len(down) // (1 + self.split))
        step -= step % 2 if step > 1 else 0
        begin, stop = columns.start, columns.stop
        turns = len(columns) // step if len(columns) >= 2 * step else 0
        if turns:

            def turn(at: str) -> None:
                place = ir.let(f"mul i64 {ir.let(f'sub i64 {at}, {first}')}, {self.blk_m * ROWS}")
                sink = ir.at(c, ir.let(f"mul i64 {at}, {p.ldc}"))
                some(ir.at(sums, place, held=True), sink, step)

            counted(ir, str(begin), str(begin + turns * step), step, turn)
            begin += turns * step
        for at in range(begin, stop, step):
            source = ir.at(sums, (at - first) * self.blk_m * ROWS, held=True)
            some(source, ir.at(c, at * p.ldc), min(step, stop - at))  # type: ignore[operator]

    def _total(self, place: str) -> str:
        """A vector of sums; that of first parts alone where the other is no number, as of an infinity."""
        ir, whole, real = self.ir, Piece(0, ROWS, ROWS), self.ir.vec(ROWS)
        first = ir.load(place, whole, held=True)
        if not self.split:
            return first
        rest = ir.load(ir.at(place, self.reals, held=True), whole, held=True)
        there = ir.let(f"fcmp ord {real} {rest}, {rest}")
        both = ir.op("fadd", first, rest, ROWS)
        return ir.let(f"select <{ROWS} x i1> {there}, {real} {both}, {real} {first}")

    def _put(self, one: Result, two: Result | None) -> None:
        """One or two vectors of results into C, rounded to bfloat16 together, and written together where the
        second follows the first."""
        ir = self.ir
        if two is None:
            ir.store(*one)
            return
        (low, sink, piece), (high, other, above) = one, two
        wide = f"<{2 * ROWS} x bfloat>"
        both = rounded(ir, low, high)
        follows = above.start == piece.start + ROWS or (above.start == piece.start and self.p.ldc == ROWS)
        if follows and piece.active == ROWS:
            ir.store_stored(both, sink, Piece(0, 2 * ROWS, ROWS + above.active))
            return
        for begin, address, part in ((0, sink, piece), (ROWS, other, above)):
            lanes = ", ".join(f"i32 {begin + lane}" for lane in range(ROWS))
            value = ir.let(f"shufflevector {wide} {both}, {wide} poison, <{ROWS} x i32> <{lanes}>")
            ir.store_stored(value, address, part)
