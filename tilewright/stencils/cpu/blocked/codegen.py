"""The code of the ``blocked`` stencil: loops over the register tiles of ``tile``, and what they read packed.

``stencil.py`` has the picture and says which configs there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tilewright.model import Config, Device, Problem
from tilewright.stencils.cpu.ir import Ir, Piece, batch_loop, strides
from tilewright.stencils.cpu.staging import counted
from tilewright.stencils.cpu.tile.codegen import Layout, Tile, pieces
from tilewright.stencils.cpu.transpose import block_transposed


@dataclass(frozen=True, slots=True)
class Rows:
    """Tiles of equal height, one below the other: their vectors, from the first row of a tile, how many
    tiles, and the real numbers from one tile to the next."""

    vectors: tuple[Piece, ...]
    times: int

    @property
    def height(self) -> int:
        """Real numbers of a column of a tile."""
        return sum(piece.active for piece in self.vectors)

    def padded(self, width: int) -> int:
        """Real numbers of a column of a packed tile, which is whole vectors of ``width``."""
        return -(-(self.vectors[-1].start + self.vectors[-1].width) // width) * width


def runs(total: int, most: int) -> list[tuple[int, int]]:
    """``total`` in the fewest parts of at most ``most``, as equal as they can be: the sizes, the larger one
    first, each with how many there are."""
    parts = -(-total // most)
    size, many = -(-total // parts), total % parts or parts
    return [(size, many)] + ([(size - 1, parts - many)] if many < parts else [])


@lru_cache(maxsize=1024)
def row_tiles(rows: int, width: int, tail: str, blk_m: int) -> tuple[Rows, ...]:
    """The tiles of a column of ``rows`` real numbers, as equal in height as they can be, of few kinds, for
    only the last vectors are not full ones. Takes no longer for more rows."""
    full, rest = divmod(rows, width)
    last = pieces(rest, width, tail) if rest else []
    found, done = [], 0
    for size, times in runs(full + len(last), blk_m):
        whole = min(times, max(0, full - done) // size)
        if whole:
            found.append(Rows(tuple(Piece(width * i, width, width) for i in range(size)), whole))
            done += whole * size
        for _ in range(times - whole):
            here = [Piece(width * i, width, width) for i in range(max(0, min(size, full - done)))]
            ends = last[max(0, done - full) : max(0, done + size - full)]
            start = width * len(here) - (ends[0].start if ends else 0)
            here += [Piece(start + piece.start, piece.width, piece.active) for piece in ends]
            found.append(Rows(tuple(here), 1))
            done += size
    return tuple(found)


LAYOUT = ("lda", "ldb", "ldc", "stride_a", "stride_b", "stride_c")


def tile_config(config: Mapping[str, Any]) -> Config:
    """A config as the writer of one tile knows it: A held, values of B one by one."""
    names = ("vector_bits", "tail", "cmul", "blk_m", "blk_n", "blk_k")
    fixed = {"inner": "column", "reg_a": config["blk_m"], "reg_b": 1, "order": "nm", "roll": 0}
    return Config({name: config[name] for name in names} | fixed | {"prefetch": 0, "level": 1, "spread": 0})


def apart(problem: Problem, config: Mapping[str, Any]) -> int:
    """Reals from one packed column of B, or row of a transposed one, to the next: an odd number of cache
    lines, so that those that are read together do not push each other out of the cache."""
    p, unit = problem, 2 if problem.dtype.is_complex else 1
    columns = runs(p.n, config["blk_n"])[0][0] if config["order"] == "nm" else p.n
    length = unit * (columns if p.transposed_b else min(config["slice"], p.k))
    line = 64 * 8 // p.dtype.sum_bits
    return (-(-length // line) | 1) * line


def reals_packed(problem: Problem, config: Mapping[str, Any]) -> tuple[int, int]:
    """Reals of the buffers for A and B; none for what is not packed."""
    p, unit = problem, 2 if problem.dtype.is_complex else 1
    width, depth = config["vector_bits"] // p.dtype.sum_bits, min(config["slice"], p.k)
    tiles = row_tiles(unit * p.m, width, config["tail"], config["blk_m"])
    highs = [(rows.padded(width), rows.times) for rows in tiles]
    inner = config["order"] == "nm"
    high = sum(high * times for high, times in highs) if inner else max(highs)[0]
    columns = runs(p.n, config["blk_n"])[0][0] if inner else p.n
    of_b = apart(p, config) * (depth if p.transposed_b else columns)
    return config["pack_a"] * (high * depth + width), config["pack_b"] * (of_b + width)


class Blocked(Tile):
    """The writer of one function. ``Tile`` writes a tile of C; here are the loops around it."""

    def __init__(self, problem: Problem, config: Config, device: Device):
        self.config = config
        self.unit = 2 if problem.dtype.is_complex else 1
        width = config["vector_bits"] // problem.dtype.sum_bits
        self.rows_of_c = row_tiles(self.unit * problem.m, width, config["tail"], config["blk_m"])
        self.columns_of_c = runs(problem.n, config["blk_n"])
        # ``Tile`` lists the vectors of all columns, which may be long: it is told of one tile.
        one = problem.with_(m=1, **{name: getattr(problem, name) for name in LAYOUT})
        super().__init__(one, tile_config(config), "plain", device)
        self.whole = problem
        self.depth = min(config["slice"], problem.k)
        # What these two mean to ``Tile``: that an operand is read from a buffer.
        self.transposed, self.widens = bool(config["pack_a"]), bool(config["pack_b"])
        # In memory, where packed operands are read from as well.
        self.far = Layout.of(problem, None, None)
        lda = self.unit * problem.lda  # type: ignore[operator]
        self.a_row, self.a_col = (lda // self.unit, self.unit) if problem.transposed_a else (1, lda)
        # Reals of a buffer are wider than those of memory where types have 16 bits.
        self.scale = self.ir.bits // self.ir.stored_bits
        self.apart_b = apart(problem, config)
        self.buffers: dict[str, str] = {}

    def function(self) -> Ir:
        """The whole body: buffers, what the whole batch shares, and the loop over the batch."""
        ir, p, config = self.ir, self.whole, self.config
        for name, reals in zip("ab", reals_packed(p, config), strict=True):
            if reals:
                self.buffers[name] = ir.let(f"alloca [{reals} x {ir.real}], align 64")
        # What is packed once a slice is packed once for all where it is one slice that the batch shares.
        early = ""
        if p.k <= config["slice"]:
            early = "a" if self.outer == "n" and p.stride_a == 0 else ""
            early = "b" if self.outer == "m" and p.stride_b == 0 else early
        if early in self.buffers:
            self.p = replace(self.p, k=self.depth)
            self.pack(early, f"%{early.upper()}")

        def body(a: str, b: str, c: str) -> None:
            self.product(a, b, c, early)

        batch_loop(ir, ("%A", "%B", "%C"), strides(ir, p), "%count", body)
        return ir

    @property
    def outer(self) -> str:
        """The extent that the outer loop runs over: all of the other operand is read in each of its turns."""
        return str(self.config["order"])[0]

    # -- loops ----------------------------------------------------------------------------------
    def loop(
        self,
        times: int,
        starts: tuple[str, str, str],
        steps: tuple[int, int, int],
        body: Callable[[str, str, str], None],
    ) -> None:
        """``body`` so many times, its pointers moved by steps, in reals of memory, each time."""
        if times == 1:
            body(*starts)
        elif times:
            batch_loop(self.ir, starts, steps, str(times), body)

    def product(self, a: str, b: str, c: str, early: str) -> None:
        """One product: the slices of k one after another. The first sees to beta, the others add."""
        p, ir = self.whole, self.ir
        whole, rest = divmod(p.k, self.depth) if self.depth else (1, 0)
        beta = p.beta
        for depth, times in ((self.depth, 1), (self.depth, whole - 1), (rest, 1 if rest else 0)):
            if not times:
                continue
            steps = (depth * self.a_col, depth * self.far.b_row)
            self.p = replace(self.p, k=depth, beta=beta)

            def body(a: str, b: str, c: str) -> None:
                self.slice(a, b, c, early)

            self.loop(times, (a, b, c), (*steps, 0), body)
            a, b = ir.at(a, times * steps[0]), ir.at(b, times * steps[1])
            beta = "1"

    def slice(self, a: str, b: str, c: str, early: str) -> None:
        """The tiles of C, over the steps of one slice."""
        whole = "a" if self.outer == "n" else "b"
        if whole in self.buffers:
            if whole != early:
                self.pack(whole, a if whole == "a" else b)
            a, b = (self.buffers["a"], b) if whole == "a" else (a, self.buffers["b"])
        if self.outer == "n":

            def column(a: str, b: str, c: str, size: int) -> None:
                packed = self.packed("b", b, size)
                self.each_row(a, packed, c, lambda a, b, c, rows: self.one(a, b, c, rows, size))

            self.each_column(a, b, c, column)
        else:

            def row(a: str, b: str, c: str, rows: Rows) -> None:
                packed = self.packed("a", a, rows)
                self.each_column(packed, b, c, lambda a, b, c, size: self.one(a, b, c, rows, size))

            self.each_row(a, b, c, row)

    def each_row(self, a: str, b: str, c: str, body: Callable[[str, str, str, Rows], None]) -> None:
        """``body`` for every tile of a column of C."""
        whole = self.outer == "n" and "a" in self.buffers
        for rows in self.rows_of_c:
            step = rows.padded(self.width) * self.p.k * self.scale if whole else rows.height * self.a_row
            self.loop(
                rows.times,
                (a, b, c),
                (step, 0, rows.height),
                lambda a, b, c, rows=rows: body(a, b, c, rows),  # type: ignore[misc]
            )
            a, c = self.ir.at(a, step * rows.times), self.ir.at(c, rows.height * rows.times)

    def each_column(self, a: str, b: str, c: str, body: Callable[[str, str, str, int], None]) -> None:
        """``body`` for every tile of a row of C."""
        whole = self.outer == "m" and "b" in self.buffers
        for size, times in self.columns_of_c:
            step = size * (self.near_b()[1] * self.scale if whole else self.far.b_col)
            self.loop(
                times,
                (a, b, c),
                (0, step, size * self.at.c_col),
                lambda a, b, c, size=size: body(a, b, c, size),  # type: ignore[misc]
            )
            b, c = self.ir.at(b, step * times), self.ir.at(c, size * self.at.c_col * times)

    def one(self, a: str, b: str, c: str, rows: Rows, size: int) -> None:
        """One tile of C, over the steps of a slice."""
        row, col = self.near_b() if "b" in self.buffers else (self.far.b_row, self.far.b_col)
        a_col = rows.padded(self.width) if "a" in self.buffers else self.a_col
        self.at = replace(self.far, a_col=a_col, b_row=row, b_col=col)
        self.tile(list(rows.vectors), size, a, b, c)

    # -- packing --------------------------------------------------------------------------------
    def near_b(self) -> tuple[int, int]:
        """The steps through packed B: along k, and to the next column."""
        return (self.apart_b, self.unit) if self.whole.transposed_b else (self.unit, self.apart_b)

    def packed(self, name: str, source: str, what: int | Rows) -> str:
        """Where a tile of an operand is read: in the buffer, after it was packed, or where it lies."""
        if name not in self.buffers:
            return source
        if isinstance(what, Rows):
            self.pack_rows(source, self.buffers[name], what)
        else:
            self.pack_columns(source, self.buffers[name], what)
        return self.buffers[name]

    def pack(self, name: str, source: str) -> None:
        """All of an operand's slice into its buffer, the tiles of A one after another."""
        target = self.buffers[name]
        if name == "b":
            self.pack_columns(source, target, self.whole.n)
            return
        for rows in self.rows_of_c:
            size = rows.padded(self.width) * self.p.k * self.scale
            step = rows.height * self.a_row
            if self.whole.transposed_a:
                self.loop(
                    rows.times,
                    (source, target, target),
                    (step, size, 0),
                    lambda a, buffer, _, rows=rows: self.pack_rows(a, buffer, rows),  # type: ignore[misc]
                )
            else:
                # Column after column, whatever tiles its parts go to: memory is read in order.
                self.loop(
                    self.p.k,
                    (source, target, target),
                    (self.a_col, rows.padded(self.width) * self.scale, 0),
                    lambda a, buffer, _, rows=rows, steps=(step, size, 0): self.loop(  # type: ignore[misc]
                        rows.times,
                        (a, buffer, buffer),
                        steps,
                        lambda a, buffer, _: self.pack_column(a, buffer, rows),
                    ),
                )
            source, target = self.ir.at(source, step * rows.times), self.ir.at(target, size * rows.times)

    def pack_rows(self, a: str, buffer: str, rows: Rows) -> None:
        """One tile of A, its columns in whole vectors one after another. What is past the last row is not
        read from the buffer for any row of C."""
        ir, high = self.ir, rows.padded(self.width)
        if self.whole.transposed_a:
            lanes = self.width // self.unit
            whole, rest = divmod(self.p.k, lanes)
            self.loop(
                whole,
                (a, buffer, buffer),
                (lanes * self.unit, lanes * high * self.scale, 0),
                lambda a, buffer, _: self.pack_block(a, buffer, rows, lanes),
            )
            if rest:
                a = ir.at(a, whole * lanes * self.unit)
                self.pack_block(a, ir.at(buffer, whole * lanes * high, held=True), rows, rest)
            return

        self.loop(
            self.p.k,
            (a, buffer, buffer),
            (self.a_col, high * self.scale, 0),
            lambda a, buffer, _: self.pack_column(a, buffer, rows),
        )

    def pack_column(self, a: str, buffer: str, rows: Rows) -> None:
        """One column of a tile of A that is not transposed."""
        ir = self.ir
        for piece in rows.vectors:
            value = ir.load(ir.at(a, piece.start), piece)
            full = Piece(piece.start, piece.width, piece.width)
            ir.store(value, ir.at(buffer, piece.start, held=True), full, held=True)

    def pack_block(self, a: str, buffer: str, rows: Rows, steps: int) -> None:
        """``steps`` columns of a tile of a transposed A, read along k and turned in registers."""
        ir, width, lanes = self.ir, self.width, self.width // self.unit
        lda, high, count = self.a_row * self.unit, rows.padded(width), rows.height // self.unit
        for row in range(0, count, lanes):
            block = [
                ir.load(ir.at(a, (row + lane) * lda), Piece(0, width, steps * self.unit))
                if row + lane < count
                else "poison"
                for lane in range(lanes)
            ]
            for step, vector in enumerate(block_transposed(ir, block, self.unit, width)[:steps]):
                target = ir.at(buffer, row * self.unit + step * high, held=True)
                ir.store(vector, target, Piece(0, width, width), held=True)
            ir.keep_order()

    def pack_columns(self, b: str, buffer: str, columns: int) -> None:
        """So many columns of B as they lie, ``apart_b`` from each other."""
        ir, p, width = self.ir, self.whole, self.width
        length, times = (columns, self.p.k) if p.transposed_b else (self.p.k, columns)
        length *= self.unit
        whole, rest = length // width * width, length % width

        def put(source: str, sink: str, piece: Piece) -> None:
            value = ir.load(ir.at(source, piece.start), piece)
            ir.store(value, ir.at(sink, piece.start, held=True), piece, held=True)

        def copy(source: str, sink: str, _: str) -> None:
            vector = Piece(0, width, width)
            if whole:
                counted(
                    ir,
                    "0",
                    str(whole),
                    width,
                    lambda at: put(ir.at(source, at), ir.at(sink, at, held=True), vector),
                )
            for piece in pieces(rest, width, "binary"):
                put(source, sink, Piece(whole + piece.start, piece.width, piece.active))

        ldb = self.unit * p.ldb  # type: ignore[operator]
        self.loop(times, (b, buffer, buffer), (ldb, self.apart_b * self.scale, 0), copy)
