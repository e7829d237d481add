"""One matrix at a time: a register tile of C, moved over the matrix, in LLVM IR.

                 blk_n columns
               +---+---+---+---+
      blk_m    |   |   |   |   |   C: blk_m x blk_n vectors stay in registers
      vectors  |   |   |   |   |   A: reg_a vectors at a time, contiguous rows
               +---+---+---+---+   B: reg_b values at a time, each copied to all lanes

For every tile of C the sum over k runs in steps of ``blk_k`` (all of k: fully unrolled). The inner
order is ``column`` (A held, B streamed) or ``row`` (B held, A streamed), as in figure 3b of Masliah
et al., "Algorithms and optimization techniques for high-performance matrix-matrix multiplications
of very small matrices" (2019), section 5. An A that is transposed is first turned in vectors into a
buffer on the stack. Complex products keep the real and imaginary parts interleaved (``cmul``).

Requires: vectors of the real type, contiguous columns of C, sizes up to 64.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import HARDWARE, Param, Rule, Space
from tilewright.stencils.cpu.emit import (
    ENTRY,
    Ir,
    Piece,
    Scalars,
    batch_loop,
    finish,
    load_scalars,
    module,
    stream_or_not,
    strides,
)
from tilewright.stencils.cpu.transpose import transposed

LIMIT = 64


def split(total: int, most: int) -> list[int]:
    """``total`` in the fewest parts of at most ``most``, as equal as they can be: 7 by 6 is 4 + 3."""
    parts = -(-total // most)
    return [total // parts + (part < total % parts) for part in range(parts)]


def pieces(rows: int, width: int, tail: str) -> list[Piece]:
    """The rows of a column as vectors of ``width`` lanes, the remainder handled the way ``tail`` says.

    ``mask``: a full vector with some lanes off. ``narrow``: the narrowest vector that holds it.
    ``binary``: unmasked vectors of 2^i lanes. ``overlap``: the narrowest vector, moved up over
    rows already covered.
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
    elif tail == "overlap":
        out.append(Piece(rows - narrow, narrow, narrow))
    else:
        while rest:
            lanes = 1 << (rest.bit_length() - 1)
            out.append(Piece(start, lanes, lanes))
            start, rest = start + lanes, rest - lanes
    return out


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
    def of(problem: Problem, packed_lda: int | None) -> Layout:
        unit = 2 if problem.dtype.is_complex else 1
        lda, ldb, ldc = (unit * ld for ld in (problem.lda, problem.ldb, problem.ldc))  # type: ignore[operator]
        b_row, b_col = (ldb, unit) if problem.turned_b else (unit, ldb)
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

    def __init__(self, problem: Problem, config: Config, stream: bool):
        self.p, self.c, self.stream = problem, config, stream
        self.ir = Ir(problem.dtype)
        self.complex = problem.dtype.is_complex
        self.rotate = self.complex and config["cmul"] == "rotate"
        self.rows = problem.m * (2 if self.complex else 1)
        self.width = config["vector_bits"] // problem.dtype.real_bits
        self.pieces = pieces(self.rows, self.width, config["tail"])
        self.turned = problem.turned_a
        padded = -(-self.rows // self.width) * self.width
        self.at = Layout.of(problem, padded if self.turned else None)
        self.padded = padded
        self.pending: list[tuple[str, int, bool]] = []
        self.per_tile = 0

    def function(self) -> Ir:
        """The whole body: scalars, the buffer for a transposed A, and the loop over the batch."""
        ir, p = self.ir, self.p
        scalars = load_scalars(ir, p)
        steps = strides(ir, p)
        buffer = ""
        if self.turned:
            buffer = ir.let(f"alloca [{self.padded * p.k} x {ir.real}], align 64")
            if p.stride_a == 0:
                transposed(ir, p, "%A", buffer, self.padded, self.width)

        def body(a: str, b: str, c: str) -> None:
            self.ask_ahead(a, b, c, steps)
            if self.turned and p.stride_a != 0:
                transposed(ir, p, a, buffer, self.padded, self.width)
            self.matrix(buffer if self.turned else a, b, c, scalars)

        batch_loop(ir, ("%A", "%B", "%C"), steps, "%count", body)
        return ir

    # -- prefetch -------------------------------------------------------------------------------
    def ask_ahead(self, a: str, b: str, c: str, steps: tuple[str, str, str]) -> None:
        """Line up the prefetches of the matrices ``prefetch`` products ahead; ``ask`` issues them."""
        distance = self.c["prefetch"]
        self.pending, self.per_tile = [], 0
        if not distance:
            return
        line = 64 * 8 // self.ir.bits
        p, unit = self.p, self.at.unit
        sizes = (p.m * p.k * unit, p.k * p.n * unit, p.m * p.n * unit)
        reads = (p.stride_a != 0, p.stride_b != 0, not self.stream)
        for base, step, size, read, write in zip(
            (a, b, c), steps, sizes, reads, (False, False, True), strict=True
        ):
            if read:
                ahead = self.ir.at(base, self.ir.let(f"mul i64 {step}, {distance}"))
                self.pending += [(ahead, offset, write) for offset in range(0, size, line)]
        tiles = len(split(len(self.pieces), self.c["blk_m"])) * len(split(p.n, self.c["blk_n"]))
        self.per_tile = -(-len(self.pending) // tiles)

    def ask(self, number: int) -> None:
        """Issue the next prefetches in line."""
        for base, offset, write in self.pending[:number]:
            self.ir.prefetch(self.ir.at(base, offset), write)
        del self.pending[:number]

    # -- loops over tiles -----------------------------------------------------------------------
    def matrix(self, a: str, b: str, c: str, scalars: Scalars) -> None:
        """All tiles of one matrix, in the order of the config."""
        groups, first = [], 0
        for size in split(len(self.pieces), self.c["blk_m"]):
            groups.append(self.pieces[first : first + size])
            first += size
        widths = split(self.p.n, self.c["blk_n"])
        if self.c["order"] == "mn":
            self.across([group for group in groups for _ in widths], widths * len(groups), a, b, c, scalars)
        elif self.c["roll"] == 0:
            rows = groups * len(widths)
            self.across(rows, [w for w in widths for _ in groups], a, b, c, scalars)
        else:
            # Wider tiles come first, then narrower ones: two runs of equal width at most.
            column = 0
            for width in dict.fromkeys(widths):
                times = widths.count(width)
                start = [self.ir.at(x, column * col) for x, col in ((b, self.at.b_col), (c, self.at.c_col))]
                self.rolled(groups, width, times, a, start[0], start[1], scalars)
                column += width * times
        self.ask(len(self.pending))

    def across(
        self, rows: list[list[Piece]], widths: list[int], a: str, b: str, c: str, scalars: Scalars
    ) -> None:
        """Tiles one after another; the column of each follows from the widths that its row group has seen."""
        seen: dict[int, int] = {}
        for group, width in zip(rows, widths, strict=True):
            column = seen.get(group[0].start, 0)
            seen[group[0].start] = column + width
            here = self.ir.at(b, column * self.at.b_col), self.ir.at(c, column * self.at.c_col)
            self.ask(self.per_tile if self.pending else 0)
            self.tile(group, width, a, *here, scalars)

    def rolled(
        self, groups: list[list[Piece]], width: int, times: int, a: str, b: str, c: str, scalars: Scalars
    ) -> None:
        """The column tiles of one width as a loop, every row group inside."""
        if times == 1:
            self.across(groups, [width] * len(groups), a, b, c, scalars)
            return
        ir = self.ir
        self.ask(self.per_tile * len(groups) * times if self.pending else 0)
        before, loop, latch, after = (ir.label(x) for x in ("columns", "column", "turn", "past"))
        ir.do(f"br label %{before}")
        ir.place(before)
        ir.do(f"br label %{loop}")
        ir.place(loop)
        top = len(ir.lines)
        names = [f"%{loop}.{x}" for x in "ibc"]
        self.across(groups, [width] * len(groups), a, names[1], names[2], scalars)
        ir.do(f"br label %{latch}")
        ir.place(latch)
        nexts = [
            ir.let(f"add i64 {names[0]}, 1"),
            ir.at(names[1], width * self.at.b_col),
            ir.at(names[2], width * self.at.c_col),
        ]
        more = ir.let(f"icmp slt i64 {nexts[0]}, {times}")
        ir.do(f"br i1 {more}, label %{loop}, label %{after}")
        ir.place(after)
        ir.lines[top:top] = [
            f"  {name} = phi {kind} [ {start}, %{before} ], [ {last}, %{latch} ]"
            for name, kind, start, last in zip(names, ("i64", "ptr", "ptr"), ("0", b, c), nexts, strict=True)
        ]

    def tile(self, rows: list[Piece], size: int, a: str, b: str, c: str, scalars: Scalars) -> None:
        """One tile of C: the sum over k, then the update of memory."""
        k, blk_k = self.p.k, self.c["blk_k"]
        sums: list[str | None] = [None] * (len(rows) * size * (2 if self.complex and not self.rotate else 1))
        if blk_k >= k:
            for step in range(k):
                self.step(rows, size, a, b, step, sums)
        else:
            whole = k - k % blk_k
            a, b = self.k_loop(rows, size, a, b, whole, sums)
            for step in range(k - whole):
                self.step(rows, size, a, b, step, sums)
        self.update(rows, size, c, sums, scalars)

    def k_loop(
        self, rows: list[Piece], size: int, a: str, b: str, whole: int, sums: list[str | None]
    ) -> tuple[str, str]:
        """The sum over the first ``whole`` steps as a loop of ``blk_k``; returns the pointers after it."""
        ir, blk_k = self.ir, self.c["blk_k"]
        before, loop = ir.label("head"), ir.label("k")
        ir.do(f"br label %{before}")
        ir.place(before)
        ir.do(f"br label %{loop}")
        ir.place(loop)
        top = len(ir.lines)
        kinds = [ir.vec(piece.width) for piece in self.accumulators(rows, size)]
        phis = [f"%{loop}.s{i}" for i in range(len(sums))]
        inner: list[str | None] = list(phis)
        for step in range(blk_k):
            self.step(rows, size, f"%{loop}.a", f"%{loop}.b", step, inner)
        a_next = ir.at(f"%{loop}.a", blk_k * self.at.a_col)
        b_next = ir.at(f"%{loop}.b", blk_k * self.at.b_row)
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
            (kind, name, "zeroinitializer" if "<" in kind else "0.0", str(last))
            for kind, name, last in zip(kinds, phis, inner, strict=True)
        ]
        ir.lines[top:top] = [
            f"  {name} = phi {kind} [ {start}, %{before} ], [ {last}, %{loop} ]"
            for kind, name, start, last in values
        ]
        sums[:] = inner
        return a_next, b_next

    # -- one step of k --------------------------------------------------------------------------
    def accumulators(self, rows: list[Piece], size: int) -> list[Piece]:
        """The shape of every running sum, in the order of ``index``."""
        per = 2 if self.complex and not self.rotate else 1
        return [piece for _ in range(size) for piece in rows for _ in range(per)]

    def step(self, rows: list[Piece], size: int, a: str, b: str, k: int, sums: list[str | None]) -> None:
        """sums += A(rows, k) * B(k, columns), in the inner order of the config."""
        reg_a, reg_b = self.c["reg_a"], self.c["reg_b"]
        row_chunks = [range(i, min(i + reg_a, len(rows))) for i in range(0, len(rows), reg_a)]
        col_chunks = [range(j, min(j + reg_b, size)) for j in range(0, size, reg_b)]
        if self.c["inner"] == "column":
            for row_chunk in row_chunks:
                held = {i: self.a_vector(a, rows[i], k) for i in row_chunk}
                for col_chunk in col_chunks:
                    streamed = {j: self.b_values(b, k, j, rows, row_chunk) for j in col_chunk}
                    for j in col_chunk:
                        for i in row_chunk:
                            self.multiply(rows, i, j, held[i], streamed[j], sums)
        else:
            for col_chunk in col_chunks:
                kept = {j: self.b_values(b, k, j, rows, range(len(rows))) for j in col_chunk}
                for row_chunk in row_chunks:
                    vectors = {i: self.a_vector(a, rows[i], k) for i in row_chunk}
                    for i in row_chunk:
                        for j in col_chunk:
                            self.multiply(rows, i, j, vectors[i], kept[j], sums)

    def a_vector(self, a: str, piece: Piece, k: int) -> tuple[str, str]:
        """Rows of column k of op(A), and the same turned by i for the ``rotate`` form."""
        ir = self.ir
        value = ir.load(ir.at(a, piece.start + k * self.at.a_col), piece)
        if not self.rotate:
            return value, ""
        signs = (-self.at.conj_a * self.at.conj_b, self.at.conj_a * self.at.conj_b)
        return value, ir.flip(ir.swap(value, piece.width), signs, piece.width)

    def b_values(
        self, b: str, k: int, column: int, rows: list[Piece], which: range
    ) -> dict[int, tuple[str, ...]]:
        """B(k, column) copied to all lanes, for each vector width in use: (re,) or (re, im)."""
        ir = self.ir
        address = ir.at(b, k * self.at.b_row + column * self.at.b_col)
        parts = [address] + ([ir.at(address, 1)] if self.complex else [])
        scalars = [ir.let(f"load {ir.real}, ptr {part}, align {ir.bits // 8}") for part in parts]
        widths = dict.fromkeys(rows[i].width for i in which)
        return {w: tuple(ir.splat(s, w) for s in scalars) for w in widths}

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
            sums[index] = ir.fma(vector[0], value[0], sums[index], width)
        elif self.rotate:
            index = j * len(rows) + i
            first = ir.fma(vector[0], value[0], sums[index], width)
            sums[index] = ir.fma(vector[1], value[1], first, width)
        else:
            index = 2 * (j * len(rows) + i)
            sums[index] = ir.fma(vector[0], value[0], sums[index], width)
            sums[index + 1] = ir.fma(vector[0], value[1], sums[index + 1], width)

    # -- the end of a tile ------------------------------------------------------------------------
    def update(self, rows: list[Piece], size: int, c: str, sums: list[str | None], scalars: Scalars) -> None:
        """C = alpha * sums + beta * C. All of C is read before any of it is written: tails may overlap."""
        ir = self.ir
        places = [(j, i) for j in range(size) for i in range(len(rows))]
        addresses = [ir.at(c, rows[i].start + j * self.at.c_col) for j, i in places]
        results = []
        for place, ((_, i), address) in enumerate(zip(places, addresses, strict=True)):
            piece = rows[i]
            old = ir.load(address, piece) if self.p.beta != "0" else None
            total = self.combined(sums, place, piece.width)
            results.append(finish(ir, self.p, scalars, total, old, piece.width))
        for (_, i), address, result in zip(places, addresses, results, strict=True):
            ir.store(result, address, rows[i], self.stream)

    def combined(self, sums: list[str | None], place: int, width: int) -> str:
        """The product for one vector of C, out of one or two running sums."""
        ir, conj_a, conj_b = self.ir, self.at.conj_a, self.at.conj_b
        zero = ir.const([0.0] * width)
        if not self.complex:
            return sums[place] or zero
        if self.rotate:
            return ir.flip(sums[place] or zero, (1, conj_a), width)
        straight, crossed = sums[2 * place] or zero, sums[2 * place + 1] or zero
        turned = ir.flip(ir.swap(crossed, width), (-conj_a * conj_b, conj_b), width)
        return ir.op("fadd", ir.flip(straight, (1, conj_a), width), turned, width)


def cost(problem: Problem, device: Device, config: Config) -> float:
    """Estimated cycles of one product: what the multiply-add units, the loads and the latency ask for.

    A step of a tile of v vectors by c columns issues v*c multiply-adds, each worth the vector's width
    in units of half a 512-bit vector, and v loads and c broadcasts on two ports; fewer than 8 running
    sums wait for the latency.
    """
    p = problem
    complex_ = p.dtype.is_complex
    rows = p.m * (2 if complex_ else 1)
    width = config["vector_bits"] // p.dtype.real_bits
    parts = pieces(rows, width, config["tail"])
    half = 256 // p.dtype.real_bits
    total, first = 0.0, 0
    for size in split(len(parts), config["blk_m"]):
        tile = parts[first : first + size]
        first += size
        for columns in split(p.n, config["blk_n"]):
            work = sum(max(1, piece.width // half) for piece in tile) * columns / 2
            loads = sum(max(1, piece.width // half) for piece in tile) / 2 + columns / 2
            if complex_:
                work, loads = 2 * work, loads + columns / 2
                if config["cmul"] == "rotate":
                    work += size
            sums = size * columns * (2 if config["cmul"] == "split" else 1)
            waits = 4 / min(sums, 8) * sums / 2 if sums < 8 else 0.0
            masked = sum(piece.active < piece.width for piece in tile)
            steps = p.k if config["blk_k"] >= p.k else p.k + p.k / config["blk_k"]
            # Loads that hide behind the arithmetic are not quite free.
            total += (max(work, loads, waits) + loads / 8) * steps + (size + masked) * columns
    return total


class TileStencil:
    """``tile``: the stencil above as the five functions of the protocol."""

    name = "tile"
    target = "cpu"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        if problem.dtype.letter not in "sdcz":
            return f"type {problem.dtype.letter} is not one of s, d, c, z"
        if max(problem.m, problem.n, problem.k) > LIMIT:
            return f"{problem.m}x{problem.n}x{problem.k} is larger than {LIMIT} in some direction"
        if min(problem.m, problem.n) < 1:
            return "there is nothing to compute"
        return None

    def space(self, problem: Problem, device: Device) -> Space:
        p, registers, masks = problem, device["vector_registers"], bool(device["masks"])
        unit, real = (2 if p.dtype.is_complex else 1), p.dtype.real_bits // 8
        rows = p.m * unit
        bits = tuple(b for b in (512, 256, 128) if b <= device["vector_bits"])

        def vectors(vector_bits: int) -> int:
            return -(-rows * real * 8 // vector_bits)

        def lanes(vector_bits: int) -> int:
            return vector_bits // (8 * real)

        def rest(vector_bits: int) -> int:
            return rows % lanes(vector_bits)

        def count(vector_bits: int, tail: str) -> int:
            return len(pieces(rows, lanes(vector_bits), tail))

        def sums(cmul: str) -> int:
            return 2 if cmul == "split" else 1

        def held(cmul: str) -> int:
            return 2 if cmul == "rotate" else 1

        most_columns = min(p.n, 28)
        params = (
            Param("vector_bits", bits),
            Param("tail", ("mask", "narrow", "binary", "overlap")),
            Param("store", ("plain", "stream")),
            Param("cmul", ("split", "rotate") if p.dtype.is_complex else ("none",)),
            Param("blk_m", tuple(range(1, min(vectors(bits[-1]), 8) + 1))),
            Param("blk_n", tuple(range(1, most_columns + 1))),
            Param("blk_k", tuple(dict.fromkeys((*(b for b in (1, 2, 4, 8, 16) if b < p.k), max(p.k, 1))))),
            Param("inner", ("column", "row")),
            Param("reg_a", (1, 2, 3, 4, 5, 6, 7, 8)),
            Param("reg_b", tuple(dict.fromkeys((1, 2, 4, *range(1, most_columns + 1))))),
            Param("order", ("nm", "mn")),
            Param("roll", (0, 1)),
            Param("prefetch", (0, 1, 2, 4, 8, 16)),
        )
        lines = 64 // p.dtype.itemsize
        rules = (
            Rule(
                "vector-fits",
                "queryable",
                "a vector wider than the column and twice its width is never filled",
                lambda vector_bits: vector_bits == bits[-1] or lanes(vector_bits) < 2 * rows,
            ),
            Rule(
                "k-loop-turns",
                "hard",
                "a loop over k that runs once is the unrolled code by another name",
                lambda blk_k: blk_k >= p.k or 2 * blk_k <= p.k,
            ),
            Rule(
                "tail-is-there",
                "hard",
                "without a remainder there is one way to handle none",
                lambda vector_bits, tail: tail == "mask" or rest(vector_bits) > 0,
            ),
            Rule(
                "overlap-has-room",
                "hard",
                "a vector moved up must not start before the column",
                lambda vector_bits, tail: (
                    tail != "overlap" or 1 << (rest(vector_bits) - 1).bit_length() <= rows
                ),
            ),
            Rule(
                "masks",
                "queryable",
                "without mask registers a masked store is microcoded",
                lambda vector_bits, tail: (
                    masks
                    or rest(vector_bits) == 0
                    or all(q.active == q.width for q in pieces(rows, lanes(vector_bits), tail))
                ),
            ),
            Rule(
                "stream-aligned",
                "hard",
                "a streaming store writes whole aligned vectors that nobody reads",
                lambda store, vector_bits: (
                    store == "plain"
                    or (
                        p.beta == "0"
                        and rest(vector_bits) == 0
                        and (p.ldc * p.dtype.itemsize * 8) % vector_bits == 0  # type: ignore[operator]
                    )
                ),
            ),
            Rule(
                "stream-whole-lines",
                "soft",
                "a streaming store of part of a cache line is combined slowly or not at all",
                lambda store, vector_bits: store == "plain" or vector_bits == 512 or rows * real % 64 == 0,
            ),
            Rule(
                "tile-in-matrix",
                "hard",
                "a tile higher than the matrix is another name of a smaller one",
                lambda blk_m, vector_bits, tail: blk_m <= count(vector_bits, tail),
            ),
            Rule(
                "overlap-one-tile",
                "hard",
                "rows covered twice must be read before either is written",
                lambda blk_m, vector_bits, tail: (
                    tail != "overlap" or p.beta == "0" or blk_m == count(vector_bits, tail)
                ),
            ),
            Rule(
                "equal-rows",
                "hard",
                "tiles are made equal, so this height splits the rows as a smaller one does",
                lambda blk_m, vector_bits, tail: split(count(vector_bits, tail), blk_m)[0] == blk_m,
            ),
            Rule(
                "equal-columns",
                "hard",
                "tiles are made equal, so this width splits the columns as a smaller one does",
                lambda blk_n: split(p.n, blk_n)[0] == blk_n,
            ),
            Rule(
                "registers-of-c",
                "queryable",
                "the tile of C and one vector of A must fit in the vector registers",
                lambda blk_m, blk_n, cmul: blk_m * blk_n * sums(cmul) + held(cmul) <= registers,
            ),
            Rule(
                "reg-a-in-tile",
                "hard",
                "more registers for A than the tile has vectors stay unused",
                lambda reg_a, blk_m: reg_a <= blk_m,
            ),
            Rule(
                "reg-b-in-tile",
                "hard",
                "more registers for B than the tile has columns stay unused",
                lambda reg_b, blk_n: reg_b <= blk_n,
            ),
            Rule(
                "registers",
                "queryable",
                "C, A and B together must fit in the vector registers",
                lambda blk_m, blk_n, cmul, reg_a, reg_b: (
                    blk_m * blk_n * sums(cmul) + reg_a * held(cmul) + reg_b * (2 if p.dtype.is_complex else 1)
                    <= registers
                ),
            ),
            Rule(
                "order-matters",
                "hard",
                "with tiles in one direction only, both orders are one",
                lambda order, blk_m, blk_n, vector_bits, tail: (
                    order == "nm" or (blk_m < count(vector_bits, tail) and blk_n < p.n)
                ),
            ),
            Rule(
                "roll-repeats",
                "hard",
                "a loop over column tiles needs two of one width, and columns outside",
                lambda roll, order, blk_n: (
                    roll == 0 or (order == "nm" and split(p.n, blk_n).count(blk_n) > 1)
                ),
            ),
            Rule(
                "inner-matters",
                "hard",
                "with one column, both inner orders are one",
                lambda inner, blk_n: inner == "column" or blk_n > 1,
            ),
            Rule(
                "one-vector-per-line",
                "soft",
                "narrow vectors cost more instructions for the same bytes",
                lambda vector_bits: vector_bits >= 256 or rows * real <= 16,
            ),
            Rule(
                "reuse",
                "soft",
                "the held side is loaded once a step, or registers do nothing for reuse",
                lambda inner, reg_a, reg_b, blk_m, blk_n: (
                    reg_a == blk_m if inner == "column" else reg_b == blk_n
                ),
            ),
            Rule(
                "streamed-few",
                "soft",
                "the streamed side needs one or two registers; the rest belong to C",
                lambda inner, reg_a, reg_b: (reg_b if inner == "column" else reg_a) <= 2,
            ),
            Rule(
                "occupancy",
                "soft",
                "too few running sums leave the multiply-add units waiting",
                lambda blk_m, blk_n, cmul, vector_bits, tail: (
                    blk_m * blk_n * sums(cmul) >= min(8, count(vector_bits, tail) * p.n * sums(cmul))
                ),
            ),
            Rule(
                "code-size",
                "soft",
                "unrolled code larger than the first-level instruction cache is fetched again and again",
                lambda blk_k, vector_bits, tail, cmul: (
                    count(vector_bits, tail) * p.n * (2 if p.dtype.is_complex else 1) * min(blk_k, p.k) * 9
                    <= 48 * 1024
                ),
            ),
            Rule(
                "unroll",
                "soft",
                "a short sum is unrolled whole, and a loop of single steps only counts",
                lambda blk_k: blk_k >= p.k or (p.k > 12 and blk_k >= 2),
            ),
            Rule(
                "prefetch-some",
                "soft",
                "a prefetch of less than two lines ahead comes too late",
                lambda prefetch: prefetch == 0 or prefetch * max(p.m * p.k, p.k * p.n) >= 2 * lines,
            ),
        )
        return Space(params, rules)

    def default(self, problem: Problem, device: Device) -> Config:
        space = self.space(problem, device)
        params = {param.name: param.values for param in space.params}
        unit = 2 if problem.dtype.is_complex else 1
        widths = sorted({split(problem.n, most)[0] for most in params["blk_n"]})
        deep = problem.k if problem.k <= 8 or 4 not in params["blk_k"] else 4
        found = []
        fitting = [
            bits
            for bits in params["vector_bits"]
            if bits // problem.dtype.real_bits < 2 * problem.m * unit or bits == params["vector_bits"][-1]
        ]
        for bits in fitting[:2]:
            rest = problem.m * unit % (bits // problem.dtype.real_bits)
            for tail in params["tail"] if rest else ("mask",):
                for cmul in params["cmul"]:
                    for blk_m in params["blk_m"]:
                        most = (device["vector_registers"] - 3) // (blk_m * (2 if cmul == "split" else 1))
                        # Of the widths that the registers allow, the two largest are worth a look.
                        for blk_n in [width for width in widths if width <= most][-2:]:
                            config = Config(
                                {
                                    "vector_bits": bits,
                                    "tail": tail,
                                    "store": "plain",
                                    "cmul": cmul,
                                    "blk_m": blk_m,
                                    "blk_n": blk_n,
                                    "blk_k": deep,
                                    "inner": "column",
                                    "reg_a": blk_m,
                                    "reg_b": 1,
                                    "order": "nm",
                                    "roll": int(problem.n >= 32 and split(problem.n, blk_n).count(blk_n) > 1),
                                    "prefetch": 0,
                                }
                            )
                            found.append((cost(problem, device, config), repr(config), config))
        hardware = space.only(HARDWARE)
        best = next(config for _, _, config in sorted(found, key=lambda f: f[:2]) if not hardware.why(config))
        stream = best.with_(store="stream")
        return stream if problem.footprint > device["l3"] and not hardware.why(stream) else best

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        if config["store"] == "stream":
            plain, stream = (Tile(problem, config, flag) for flag in (False, True))
            functions = [
                (f"{ENTRY}_plain", plain.function()),
                (f"{ENTRY}_stream", stream.function()),
                (ENTRY, stream_or_not(problem.dtype, config["vector_bits"] // 8)),
            ]
        else:
            functions = [(ENTRY, Tile(problem, config, False).function())]
        count = sum(ir.fma_count for _, ir in functions)
        return Source(module(functions), ENTRY, expect=(("fma", count),))

    def launch(self, problem: Problem, config: Config) -> Launch:
        # A core should get at least about 15 us of work, what waking it costs.
        return Launch(grain=max(1, int(15e-6 * 20e9 / max(problem.flops, problem.bytes))))
