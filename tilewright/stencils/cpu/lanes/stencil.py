"""Several tiny matrices at a time, across the vector lanes, in LLVM IR.

                 one group: ``group`` packed matrices
               +---------+---------+---------+---------+
      C        | m x n   | m x n   | m x n   | m x n   |  one contiguous run of reals
               +------+--+---+-----+-+-------+---------+
      vectors  |  0   |  1   |   2   |   3   |   ...      whole vectors: no store is masked
               +------+------+-------+-------+

A matrix of 2x2 or 3x3 fills no vector, but the matrices of a packed batch follow one another without
a gap, so a group of them does. A sum over k is kept for every lane: in each step the lane's A(i, k)
times its B(k, j), both constant permutations of the group's A and B: one or a few contiguous loads
and a shuffle, never a gather. The sums are laid out over the lanes

- as C lies in memory (``columns`` 0): no lane is idle, both operands are permuted; or
- some whole ``columns`` to a vector: a few lanes are idle, A mostly needs no permutation, and B is
  one value copied to all lanes where the column is alone. The sums are then closed up, by shuffles,
  to the same whole vectors of C.

Either way C is written contiguously, so that streaming stores serve every size and not only the
multiples of a vector. This is the vector form of the interleaved kernels of Masliah et al.,
"Algorithms and optimization techniques for high-performance matrix-matrix multiplications of very
small matrices" (2019), section 5, without the copy into another layout.

A transpose only changes the permutation. In complex products the swap of real and imaginary parts
and their duplication are part of the permutations too. What whole groups do not cover at the end of
the batch goes one matrix at a time, by the same code with a group of one.

Requires: packed matrices (leading dimensions and batch strides as small as they can be; A or B may
be shared by the batch), small sizes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Param, Rule, Space
from tilewright.stencils.cpu.answers import CpuStencil, written
from tilewright.stencils.cpu.bits import by_bits
from tilewright.stencils.cpu.common import from_memory, memory_rules, slow_type
from tilewright.stencils.cpu.ir import (
    ENTRY,
    Ir,
    Piece,
    Scalars,
    always_staged,
    batch_loop,
    by_length,
    finish,
    grain,
    load_scalars,
    stream_or_staged,
)
from tilewright.stencils.cpu.sets import ir_of
from tilewright.stencils.cpu.staging import Stage
from tilewright.stencils.cpu.tile import stencil as tile

LIMIT = 8
"""The largest m, n and k."""

PRODUCTS = {False: 512, True: 100}
"""The largest m*n*k of real and of complex problems: beyond it whole columns fill vectors on their own."""

NARROW = 4
"""The largest extent where all vectors have 128 bits: columns of more fill them, and each lane of a column
that is put together from several vectors costs a shuffle. By counts of instructions, measured nowhere."""

LENGTHS = {False: 2, True: 1}
"""The largest extent of real and of complex problems where vectors end after any lane: a column of any height
is one there, and a shuffle takes a table or a mask. By counts of instructions, measured nowhere."""

WORTH = 0.4
"""Cycles of ``tile``, by its cost model, for each instruction of a product: from so many on they are few."""

STEPS = 400
"""Vector multiply-adds in the unrolled code of a group, beyond which it only gets longer."""


# -- how a permuted vector is read ------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Run:
    """A contiguous load: ``width`` lanes from real ``start``, the first ``active`` of them in bounds."""

    start: int
    width: int
    active: int


@dataclass(frozen=True, slots=True)
class Copy:
    """One real copied to every lane."""

    index: int
    width: int


@dataclass(frozen=True, slots=True)
class Pick:
    """Lanes chosen from one or two vectors of the same width; -1 is any."""

    x: Read
    y: Read | None
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Two halves side by side. Equal halves are a load that copies blocks to all of the vector."""

    low: Read
    high: Read


Read = Run | Copy | Pick | Join


def width_of(read: Read) -> int:
    """Lanes of what a read yields."""
    if isinstance(read, Run | Copy):
        return read.width
    return len(read.lanes) if isinstance(read, Pick) else 2 * width_of(read.low)


def cost(read: Read, held: bool) -> int:
    """Instructions of a read, a load that feeds a shuffle as one. ``held``: runs are in registers already."""
    match read:
        case Run():
            return 0 if held else 1
        case Copy():
            return 1
        case Pick(x, None, _):
            return 1 + cost(x, held)
        case Pick(x, y, _):
            return 1 + cost(x, held) + cost(y, held)  # type: ignore[arg-type]
        case Join(low, high) if low == high:
            return 1 if isinstance(low, Run) else 1 + cost(low, held)
        case Join(low, high):
            return max(1, cost(low, held)) + max(1, cost(high, held))


def window(first: int, width: int, size: int) -> Run:
    """The load of ``width`` lanes from ``first``, moved down or cut to stay within ``size`` reals."""
    if size >= width:
        return Run(min(first, size - width), width, width)
    if size & (size - 1) == 0:
        return Run(0, size, size)
    return Run(0, 1 << (size - 1).bit_length(), size)


def windows(needed: Sequence[int], width: int, size: int, whole: bool) -> list[Run]:
    """The fewest loads that hold all of ``needed`` (ascending); ``whole``: on multiples of ``width``."""
    out: list[Run] = []
    for index in needed:
        if not out or index >= out[-1].start + out[-1].active:
            out.append(window(index - index % width if whole else index, width, size))
    return out


def picked(order: Sequence[int], runs: Sequence[Run]) -> Read:
    """The reals of ``order`` out of the windows that hold them, two vectors at a time."""
    have: Read = runs[0]
    place = {runs[0].start + lane: lane for lane in range(runs[0].active)}
    if len(runs) == 1:
        lanes = tuple(place.get(index, -1) for index in order)
        same = all(got in (-1, lane) for lane, got in enumerate(lanes))
        return have if same and len(order) == width_of(have) else Pick(have, None, lanes)
    for run in runs[1:]:
        width = width_of(have)
        for lane in range(run.active):
            place.setdefault(run.start + lane, width + lane)
        have = Pick(have, run, tuple(place.get(index, -1) for index in order))
        place = {index: lane for lane, index in enumerate(order) if place.get(index, -1) >= 0}
    return have


@functools.lru_cache(maxsize=4096)
def read_of(order: tuple[int, ...], size: int, bits: int, whole: bool) -> Read:
    """The cheapest read of the reals ``order`` (-1 is any) of an operand of ``size`` such reals."""
    needed = sorted({index for index in order if index >= 0})
    width = len(order)
    if len(needed) <= 1:
        return Copy(needed[0] if needed else 0, width)
    ways: list[Read] = [picked(order, windows(needed, width, size, whole))]
    half = width // 2
    if half * bits >= 128:
        low, high = (read_of(part, size, bits, whole) for part in (order[:half], order[half:]))
        ways.append(Join(low, high))
    return min(ways, key=lambda way: cost(way, whole))


def patterns(read: Read) -> Iterator[tuple[int, ...]]:
    """The shuffles of a read that need a constant vector: fewer than 8 lanes fit in the instruction."""
    match read:
        case Pick(x, y, lanes):
            if len(lanes) >= 8:
                yield lanes
            yield from patterns(x)
            if y is not None:
                yield from patterns(y)
        case Join(low, high):
            yield from patterns(low)
            yield from patterns(high)


class Reader:
    """Emits reads, and keeps what it has read last, so that it is not read again after a store.

    Code generation cannot see that C is not A, so a load repeated after a store stays repeated.
    """

    def __init__(self, ir: Ir, room: int, held: dict[tuple[str, Read], str] | None = None):
        self.ir, self.room = ir, room
        self.held = held if held is not None else {}
        self.recent: dict[tuple[str, Read], str] = {}

    def emit(self, base: str, read: Read) -> str:
        """The value of a read from ``base``."""
        key = (base, read)
        if key in self.held:
            return self.held[key]
        value = self.recent.pop(key, None) or self._new(base, read)
        self.recent[key] = value
        while len(self.recent) > self.room:
            del self.recent[next(iter(self.recent))]
        return value

    def _new(self, base: str, read: Read) -> str:
        ir = self.ir
        if isinstance(read, Run):
            return ir.load(ir.at(base, read.start), Piece(0, read.width, read.active))
        if isinstance(read, Copy):
            return ir.broadcast(ir.at(base, read.index), read.width)
        if isinstance(read, Pick):
            x = self.emit(base, read.x)
            y = "poison" if read.y is None else self.emit(base, read.y)
            return ir.shuffle(x, y, read.lanes, width_of(read.x))
        half = width_of(read.low)
        low = self.emit(base, read.low)
        if read.low == read.high:
            return ir.shuffle(low, "poison", [*range(half), *range(half)], half)
        return ir.shuffle(low, self.emit(base, read.high), range(2 * half), half)


# -- where every lane of a group finds its operands -------------------------------------------------
@dataclass(frozen=True, slots=True)
class Group:
    """``size`` matrices whose sums lie over vectors, ``columns`` to each or unbroken (0)."""

    p: Problem
    size: int
    width: int
    columns: int
    masks: bool

    @property
    def unit(self) -> int:
        """Reals of one element."""
        return 2 if self.p.dtype.is_complex else 1

    @property
    def steps(self) -> tuple[int, int, int]:
        """Reals from one group's A, B and C to the next one's; 0 for a shared operand."""
        p, scale = self.p, self.size * self.unit
        a, b = p.m * p.k if p.stride_a else 0, p.k * p.n if p.stride_b else 0
        return a * scale, b * scale, p.m * p.n * scale

    def vectors(self) -> list[Piece]:
        """The group's C as it is stored: whole vectors; only a group that fills none has a remainder.

        Without mask registers the remainder is cut into ever narrower vectors.
        """
        full, rest = divmod(self.steps[2], self.width)
        out = [Piece(i * self.width, self.width, self.width) for i in range(full)]
        start = full * self.width
        if rest and self.masks:
            out.append(Piece(start, 1 << (rest - 1).bit_length(), rest))
            rest = 0
        while rest:
            lanes = 1 << (rest.bit_length() - 1)
            out.append(Piece(start, lanes, lanes))
            start, rest = start + lanes, rest - lanes
        return out

    def runs(self) -> list[Run]:
        """The group's C as it is summed: each run of reals in one vector."""
        if not self.columns:
            return [Run(piece.start, piece.width, piece.active) for piece in self.vectors()]
        height = self.p.m * self.unit
        return [
            Run((matrix * self.p.n + j) * height, self.width, min(self.columns, self.p.n - j) * height)
            for matrix in range(self.size)
            for j in range(0, self.p.n, self.columns)
        ]

    def _lanes(self, run: Run) -> Iterator[tuple[int, int, int, int]]:
        """Matrix, row, column and part (0 real, 1 imaginary) of every lane that is real."""
        for lane in range(run.start, run.start + run.active):
            element, part = divmod(lane, self.unit)
            matrix, inside = divmod(element, self.p.m * self.p.n)
            yield matrix, inside % self.p.m, inside // self.p.m, part

    def read_a(self, run: Run, k: int, swapped: bool, whole: bool) -> Read:
        """For every lane its A(i, k), or with ``swapped`` the other part of it."""
        p, one, order = self.p, self.p.m * self.p.k, []
        for matrix, i, _, part in self._lanes(run):
            place = k + i * p.k if p.transposed_a else i + k * p.m
            place += matrix * one if p.stride_a else 0
            order.append(place * self.unit + (1 - part if swapped else part))
        return self._read(run, order, self.steps[0] or one * self.unit, whole)

    def read_b(self, run: Run, k: int, part: int, whole: bool) -> Read:
        """For every lane the real (0) or the imaginary (1) part of its B(k, j)."""
        p, one, order = self.p, self.p.k * self.p.n, []
        for matrix, _, j, _ in self._lanes(run):
            place = j + k * p.n if p.transposed_b else k + j * p.k
            place += matrix * one if p.stride_b else 0
            order.append(place * self.unit + part)
        return self._read(run, order, self.steps[1] or one * self.unit, whole)

    def _read(self, run: Run, order: list[int], size: int, whole: bool) -> Read:
        idle = [-1] * (run.width - run.active)
        return read_of((*order, *idle), size, self.p.dtype.sum_bits, whole)

    def reads(self, operand: str, cmul: str, whole: bool) -> list[Read]:
        """Every different read of A or of B that a group makes."""
        parts = (False, True) if self.unit == 2 and (operand == "b" or cmul == "rotate") else (False,)
        found = (
            self.read_a(run, k, part, whole) if operand == "a" else self.read_b(run, k, int(part), whole)
            for run in self.runs()
            for k in range(self.p.k)
            for part in parts
        )
        return list(dict.fromkeys(found))

    def closed(self) -> list[tuple[Piece, int, Read]]:
        """How every vector of C is closed up from runs, after how many of which it is complete."""
        out, runs = [], self.runs()
        for piece in self.vectors():
            end = piece.start + piece.active
            last = next(i for i, run in enumerate(runs, 1) if run.start + run.active >= end)
            parts = [run for run in runs[:last] if run.start + run.active > piece.start]
            order = (*range(piece.start, end), *[-1] * (piece.width - piece.active))
            out.append((piece, last, picked(order, parts)))
        return out

    def constants(self, cmul: str, whole_a: bool, whole_b: bool) -> int:
        """Different constant vectors that the shuffles of a group need."""
        reads = [*self.reads("a", cmul, whole_a), *self.reads("b", cmul, whole_b)]
        return len({lanes for read in reads + [c[2] for c in self.closed()] for lanes in patterns(read)})


def instructions(problem: Problem, config: Config, device: Device) -> float:
    """Loads, shuffles, stores, and half of the multiply-adds of one product, of which two come at a time."""
    p, width = problem, config["vector_bits"] // problem.dtype.sum_bits
    group = Group(p, config["group"], width, config["columns"], bool(device["masks"]))
    found = len(group.runs()) * p.k * group.unit / 2
    for operand in "ab":
        whole = config[f"window_{operand}"] == "whole"
        found += sum(cost(read, whole) for read in group.reads(operand, config["cmul"], whole))
    closed = group.closed()
    found += sum(cost(read, True) for _, _, read in closed) if config["columns"] else 0
    return (found + len(closed)) / group.size


# -- one function -------------------------------------------------------------------------------------
class Lanes:
    """The writer of one function: all that a config fixes, and the methods that emit from the inside out."""

    def __init__(self, problem: Problem, config: Config, device: Device, store: str):
        self.p, self.c, self.store = problem, config, store
        self.ir = ir_of(problem.dtype, device)
        width, masks = config["vector_bits"] // problem.dtype.sum_bits, bool(device["masks"])
        self.main = Group(problem, config["group"], width, config["columns"], masks)
        self.single = Group(problem, 1, width, 0, masks)
        self.stage: Stage | None = None
        self.whole_a, self.whole_b = (config[name] == "whole" for name in ("window_a", "window_b"))
        # Half of the registers for what is read, half for sums and shuffles under way.
        self.room = device["vector_registers"] // 2
        self.conj_a, self.conj_b = (-1 if conj else 1 for conj in (problem.conj_a, problem.conj_b))

    def function(self) -> Ir:
        """The whole body: scalars, the loop over groups, and the loop over the matrices that are left."""
        ir, size = self.ir, self.main.size
        scalars, bases = load_scalars(ir, self.p), ("%A", "%B", "%C")
        width = self.main.width
        self.stage = Stage(ir, self.main.steps[2], width) if self.store == "staged" else None
        held = self.shared_reads()
        if size == 1:
            self.loop(self.main, bases, "%count", scalars, held)
            return self.closed()
        groups = ir.let(f"udiv i64 %count, {size}")
        self.loop(self.main, bases, groups, scalars, held)
        done = ir.let(f"mul i64 {groups}, {size}")
        left = ir.let(f"sub i64 %count, {done}")
        starts = [
            ir.at(base, ir.let(f"mul i64 {done}, {step}")) if step else base
            for base, step in zip(bases, self.single.steps, strict=True)
        ]
        self.loop(self.single, starts, left, scalars, {})
        return self.closed()

    def closed(self) -> Ir:
        """The body, with what waits in the buffer of a staged function written."""
        if self.stage:
            self.stage.close()
        return self.ir

    def shared_reads(self) -> dict[tuple[str, Read], str]:
        """What groups read of an operand that the whole batch shares, read once where registers allow."""
        held: dict[tuple[str, Read], str] = {}
        for base, operand, stride, whole in (
            ("%A", "a", self.p.stride_a, self.whole_a),
            ("%B", "b", self.p.stride_b, self.whole_b),
        ):
            reads = self.main.reads(operand, self.c["cmul"], whole) if stride == 0 else []
            if len(held) + len(reads) <= 3 * self.room // 4:
                reader = Reader(self.ir, 4)
                held |= {(base, read): reader.emit(base, read) for read in reads}
        return held

    def loop(
        self,
        group: Group,
        starts: Sequence[str],
        count: str,
        scalars: Scalars,
        held: dict[tuple[str, Read], str],
    ) -> None:
        """``count`` groups, from the pointers ``starts`` on."""

        def body(a: str, b: str, c: str) -> None:
            if group is self.main:
                self.ask_ahead((a, b, c))
            a, b = "%A" if self.p.stride_a == 0 else a, "%B" if self.p.stride_b == 0 else b
            reader = Reader(self.ir, self.room - len(held), held)
            self.group(group, reader, a, b, self.stage.next() if self.stage else c, scalars)
            if self.stage:
                self.stage.put(group.steps[2])

        batch_loop(self.ir, starts, group.steps, count, body)

    def ask_ahead(self, bases: Sequence[str]) -> None:
        """Ask for the lines of the group ``prefetch`` groups ahead."""
        distance, line = self.c["prefetch"], 64 * 8 // self.ir.stored_bits
        if not distance:
            return
        asked = (True, True, self.store == "plain")
        writes = (False, False, True)
        for base, step, ask, write in zip(bases, self.main.steps, asked, writes, strict=True):
            for offset in range(0, step if ask else 0, line):
                self.ir.prefetch(self.ir.at(base, distance * step + offset), write)

    def group(self, group: Group, reader: Reader, a: str, b: str, c: str, scalars: Scalars) -> None:
        """All sums of a group; a vector of C is written as soon as the last of its sums is known."""
        sums: dict[tuple[str, Read], str] = {}
        closer, closed = Reader(self.ir, self.room, sums), group.closed()
        for count, run in enumerate(group.runs(), 1):
            sums["", run] = self.product(group, reader, a, b, run)
            while closed and closed[0][1] == count:
                piece, _, read = closed.pop(0)
                stream = self.store == "stream" and group is self.main
                self.update(closer.emit("", read), c, piece, scalars, stream)

    def product(self, group: Group, reader: Reader, a: str, b: str, run: Run) -> str:
        """The sum over k for the lanes of a run.

        With a = (x, conj_a*y) and b = (u, conj_b*w) a complex product is s1*(x*u, y*u) + s2*(y*w, x*w)
        where s1 = (1, conj_a) and s2 = (-conj_a*conj_b, conj_b). ``rotate`` does all of the second sum
        first, turns it by s2/s1, and the first sum goes on from there: one running sum is enough.
        ``split`` sums (x*u, y*u) and (x*w, y*w) and exchanges the pairs of the latter at the end.
        """
        ir, width, steps = self.ir, run.width, range(self.p.k)

        def add(total: str | None, k: int, part: int, swapped: bool) -> str:
            x = reader.emit(a, group.read_a(run, k, swapped, self.whole_a))
            y = reader.emit(b, group.read_b(run, k, part, self.whole_b))
            return ir.fma(x, y, total, width)

        straight: str | None = None
        crossed: str | None = None
        if group.unit == 1:
            for k in steps:
                straight = add(straight, k, 0, False)
            return str(straight)
        turn = -self.conj_a * self.conj_b
        if self.c["cmul"] == "rotate":
            for k in steps:
                crossed = add(crossed, k, 1, True)
            straight = ir.flip(str(crossed), (turn, -turn), width)
            for k in steps:
                straight = add(straight, k, 0, False)
            return ir.flip(str(straight), (1, self.conj_a), width)
        for k in steps:
            straight, crossed = add(straight, k, 0, False), add(crossed, k, 1, False)
        turned = ir.flip(ir.swap(str(crossed), width), (turn, self.conj_b), width)
        return ir.op("fadd", ir.flip(str(straight), (1, self.conj_a), width), turned, width)

    def update(self, total: str, c: str, piece: Piece, scalars: Scalars, stream: bool) -> None:
        """C = alpha * total + beta * C for one vector; vectors do not overlap, so each is done at once."""
        ir, address = self.ir, self.ir.at(c, piece.start)
        place = Piece(0, piece.width, piece.active)
        old = ir.load(address, place) if self.p.beta != "0" else None
        ir.store(finish(ir, self.p, scalars, total, old, piece.width), address, place, stream)


# -- the space --------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Groups:
    """Groups of matrices of a problem in vectors of so many bits, and what their shuffles take."""

    problem: Problem
    bits: tuple[int, ...]
    """The widths of vectors that the device has, the widest first."""
    masks: bool

    @property
    def height(self) -> int:
        """Real numbers of a column of C."""
        return self.problem.m * (2 if self.problem.dtype.is_complex else 1)

    @functools.cached_property
    def least(self) -> dict[int, int]:
        """Fewest matrices whose C is a whole number of vectors, by the width of these."""
        return {bits: smallest_group(self.problem, bits) for bits in self.bits}

    @functools.cached_property
    def groups(self) -> tuple[int, ...]:
        """Numbers of matrices of a group: the fewest for each width of vector, twice and four times them."""
        return tuple(sorted({times * least for least in self.least.values() for times in (1, 2, 4)}))

    def lanes(self, vector_bits: int) -> int:
        """Real numbers of a vector."""
        return vector_bits // self.problem.dtype.sum_bits

    def group(self, vector_bits: int, columns: int) -> Group:
        """The smallest group."""
        return Group(self.problem, self.least[vector_bits], self.lanes(vector_bits), columns, self.masks)

    def work(self, vector_bits: int, group: int, columns: int) -> int:
        """Steps of a turn of the loop."""
        p = self.problem
        runs = Group(p, group, self.lanes(vector_bits), columns, self.masks).runs()
        return len(runs) * p.k * (2 if p.dtype.is_complex else 1)


def _params(x: Groups) -> tuple[Param, ...]:
    p = x.problem
    most_columns = min(p.n, max(1, x.bits[0] // p.dtype.sum_bits // x.height))
    return (
        Param("vector_bits", x.bits),
        Param("group", x.groups),
        Param("columns", tuple(range(most_columns + 1))),
        Param("cmul", ("split", "rotate") if p.dtype.is_complex else ("none",)),
        Param("window_a", ("near", "whole")),
        Param("window_b", ("near", "whole")),
        Param("store", ("plain", "stream")),
        Param("prefetch", (0, 1, 2, 4, 8, 16)),
    )


def _rules(x: Groups, device: Device) -> Iterator[Rule]:
    yield from _of_vectors(x)
    yield from _of_windows(x, device)
    yield from _of_stores(x, device)
    yield from _of_speed(x)
    yield from _of_prefetches(x, device)


def _of_vectors(x: Groups) -> Iterator[Rule]:
    """Groups, and columns of a vector, each under one name."""
    p = x.problem
    yield Rule(
        "whole-vectors",
        "hard",
        "the C of a group must be a whole number of vectors",
        lambda vector_bits, group: group % x.least[vector_bits] == 0,
    )
    yield Rule(
        "columns-fit",
        "hard",
        "the columns of a vector must fit in it",
        lambda vector_bits, columns: columns * x.height <= x.lanes(vector_bits),
    )
    yield Rule(
        "columns-break",
        "hard",
        "columns that fill every vector are the unbroken order",
        lambda vector_bits, columns: (
            columns == 0 or columns * x.height < x.lanes(vector_bits) or p.n % columns > 0
        ),
    )


def _of_windows(x: Groups, device: Device) -> Iterator[Rule]:
    """What is loaded of A and B, and how many constants its shuffles take."""

    @functools.cache
    def reads(operand: str, vector_bits: int, columns: int, cmul: str, whole: bool) -> tuple[Read, ...]:
        return tuple(x.group(vector_bits, columns).reads(operand, cmul, whole))

    def differs(operand: str, vector_bits: int, columns: int, cmul: str) -> bool:
        near, whole = (reads(operand, vector_bits, columns, cmul, flag) for flag in (False, True))
        return near != whole

    @functools.cache
    def constants(vector_bits: int, columns: int, cmul: str, whole_a: bool, whole_b: bool) -> int:
        return x.group(vector_bits, columns).constants(cmul, whole_a, whole_b)

    yield Rule(
        "window-a-matters",
        "hard",
        "where both windows load the same of A, both programs are one",
        lambda vector_bits, columns, cmul, window_a: (
            window_a == "near" or differs("a", vector_bits, columns, cmul)
        ),
    )
    yield Rule(
        "window-b-matters",
        "hard",
        "where both windows load the same of B, both programs are one",
        lambda vector_bits, columns, cmul, window_b: (
            window_b == "near" or differs("b", vector_bits, columns, cmul)
        ),
    )
    yield Rule(
        "constants",
        "soft",
        "shuffles of more different patterns than there are registers spill their constants",
        lambda vector_bits, columns, cmul, window_a, window_b: (
            constants(vector_bits, columns, cmul, window_a == "whole", window_b == "whole")
            <= device["vector_registers"] * 7 // 8
        ),
    )


def _of_stores(x: Groups, device: Device) -> Iterator[Rule]:
    """How C is written."""
    p = x.problem
    yield from memory_rules(p, device)
    yield Rule(
        "stream-unread",
        "hard",
        "a streaming store is for a C that nobody reads",
        lambda store: store == "plain" or p.beta == "0",
    )


def _of_speed(x: Groups) -> Iterator[Rule]:
    """Which vectors and groups are slow."""
    p = x.problem
    yield Rule(
        "half-full",
        "soft",
        "vectors that are half empty take more steps than narrower ones",
        lambda vector_bits, columns: columns == 0 or 2 * min(columns, p.n) * x.height > x.lanes(vector_bits),
    )
    yield Rule(
        "group-few",
        "soft",
        "a group of many matrices only saves the end of the loop",
        lambda vector_bits, group: group <= 4 * x.least[vector_bits],
    )
    yield Rule(
        "code-size",
        "soft",
        "longer code than a few hundred steps only takes longer to compile",
        lambda vector_bits, group, columns: (
            group == x.least[vector_bits] or x.work(vector_bits, group, columns) <= STEPS
        ),
    )


def _of_prefetches(x: Groups, device: Device) -> Iterator[Rule]:
    """How far ahead is worth asking for operands."""
    p = x.problem
    one = max(p.m * p.k, p.k * p.n, p.m * p.n) * p.dtype.itemsize
    yield Rule(
        "prefetch-some",
        "soft",
        "a prefetch of less than two lines ahead comes too late",
        lambda group, prefetch: prefetch == 0 or prefetch * group * one >= 128,
    )
    yield Rule(
        "prefetch-few",
        "soft",
        "lines asked for too far ahead are gone when they are needed",
        lambda group, prefetch: prefetch * group * one <= device["l1d"] // 4,
    )


# -- the five functions -------------------------------------------------------------------------------
class LanesStencil(CpuStencil):
    """``lanes``: the stencil above as the five functions of the protocol."""

    name = "lanes"
    packed_only = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := slow_type(p, device):
            return reason
        if p.dtype.letter in ("h", "hc") and by_bits(device):
            return f"type {p.dtype.letter} is converted by integers, which needs the registers"
        if min(p.m, p.n, p.k) < 1:
            return "there is nothing to compute"
        most = PRODUCTS[p.dtype.is_complex]
        if max(p.m, p.n, p.k) > LIMIT or p.m * p.n * p.k > most:
            return f"{p.m}x{p.n}x{p.k} is larger than {LIMIT} in some direction or than {most} in all"
        if shuffle_bits(device) == 128 and max(p.m, p.n, p.k) > NARROW:
            return f"{p.m}x{p.n}x{p.k} is larger than {NARROW} in some direction: its columns fill 128 bits"
        least = LENGTHS[p.dtype.is_complex]
        if by_length(device) and max(p.m, p.n, p.k) > least:
            return f"{p.m}x{p.n}x{p.k} is larger than {least} in some direction: a column is a vector there"
        packed = Problem(p.dtype, p.m, p.n, p.k, p.trans_a, p.trans_b)
        if (p.lda, p.ldb, p.ldc) != (packed.lda, packed.ldb, packed.ldc):
            return "columns are padded: lanes can only run on over packed matrices"
        a, b, c = packed.strides
        if p.stride_a not in (0, a) or p.stride_b not in (0, b) or p.stride_c != c:
            return "matrices lie apart: lanes can only run on over packed matrices"
        return None

    def space(self, problem: Problem, device: Device) -> Space:
        bits = tuple(b for b in (512, 256, 128) if b <= shuffle_bits(device))
        groups = Groups(problem, bits, bool(device["masks"]))
        return Space(_params(groups), tuple(_rules(groups, device)))

    def default(self, problem: Problem, device: Device) -> Config:
        return _default(problem, device)

    def gain(self, problem: Problem, device: Device) -> float:
        """Less than that of ``tile`` where shuffles take longer than its idle lanes.

        Above all a transposed A is put together lane by lane. Of 88 random problems on a Zen 5, of d, s, c
        and z in all transpositions, where 80 others had chosen ``WORTH``, what this picks ran at 0.99 of the
        faster stencil from the caches and 0.97 from memory; ``lanes`` alone at 0.77 and 0.87, at worst at
        0.13. Other processors of x86 were not timed. Of numbers of 16 bits ``tile`` itself says it.
        """
        if problem.dtype.real_bits == 16 or not device.features.startswith("x86"):
            return 1.0
        other = tile.cost(problem, device, tile.TileStencil().default(problem, device))
        return 1.0 if other >= WORTH * instructions(problem, _default(problem, device), device) else 0.5

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        def lanes(store: str) -> Ir:
            return Lanes(problem, config, device, store).function()

        store = config["store"]
        if store == "plain":
            functions = [(ENTRY, lanes("plain"))]
        elif problem.dtype.real_bits == 16:
            # LLVM streams no vectors of these numbers with AVX-512; lines leave the buffer as others.
            functions = [
                (f"{ENTRY}_staged", lanes("staged")),
                (ENTRY, always_staged(problem.dtype, device)),
            ]
        else:
            # Results run on from one matrix to the next: where C begins within a vector they are staged.
            entry = stream_or_staged(problem.dtype, config["vector_bits"] // 8, device)
            functions = [*((f"{ENTRY}_{way}", lanes(way)) for way in ("stream", "staged")), (ENTRY, entry)]
        return written(functions)

    def launch(self, problem: Problem, config: Config) -> Launch:
        return Launch(grain=grain(problem), unit=config["group"])


def shuffle_bits(device: Device) -> int:
    """The widest vectors whose lanes can be put in any order: of SVE those of NEON, for lanes of two longer
    ones LLVM puts together in memory. 0 where a device does not say how wide its vectors are."""
    return 128 if "sve" in device.supports else device.limits.get("vector_bits", 0)


def roomy(problem: Problem, config: Config, device: Device) -> bool:
    """Whether the constants of the shuffles leave nine registers for sums, operands and what is shuffled."""
    width = config["vector_bits"] // problem.dtype.sum_bits
    least = smallest_group(problem, config["vector_bits"])
    group = Group(problem, least, width, config["columns"], bool(device["masks"]))
    whole_a, whole_b = (config[name] == "whole" for name in ("window_a", "window_b"))
    return group.constants(config["cmul"], whole_a, whole_b) <= device["vector_registers"] - 9


def smallest_group(problem: Problem, vector_bits: int) -> int:
    """Matrices whose C is a whole number of vectors."""
    reals = problem.m * problem.n * (2 if problem.dtype.is_complex else 1)
    width = vector_bits // problem.dtype.sum_bits
    return width // gcd(width, reals)


@functools.lru_cache(maxsize=64)
def _default(problem: Problem, device: Device) -> Config:
    """The default, which a plan asks for twice: for what it gains, and for itself."""
    p, space = problem, LanesStencil().space(problem, device)
    values = {param.name: param.values for param in space.params}
    height = p.m * (2 if p.dtype.is_complex else 1)
    # A column alone in the narrowest vector that holds it, if most of that is filled; else no idle lane.
    first = min(values["vector_bits"], key=lambda b: (b < 256, b // p.dtype.sum_bits < height, b))
    lanes = first // p.dtype.sum_bits
    alone = int(lanes < 2 * height < 2 * lanes)
    if not alone and lanes % height:
        first = values["vector_bits"][0]
    # The narrowest vectors need no constants for their shuffles, so the last of these is always valid.
    shapes = ((first, alone), (256, 1), (256, 0), (first, 1), (128, 1), (128, 0))
    for bits, columns in shapes:
        if bits not in values["vector_bits"] or columns not in values["columns"]:
            continue
        least = smallest_group(p, bits)
        common = {"vector_bits": bits, "columns": columns, "cmul": values["cmul"][0], "window_a": "near"}
        choices = [
            Config({**common, "group": group, "window_b": window, "store": "plain", "prefetch": 0})
            for group in (least, 2 * least, 4 * least)
            for window in ("whole", "near")
        ]
        valid = [choice for choice in choices if not space.why(choice) and roomy(p, choice, device)]
        if valid:
            break
    # Four vectors to a turn of the loop are enough to hide the loop itself.
    size = p.n * height * p.dtype.sum_bits
    best = next((choice for choice in valid if choice["group"] * size >= 4 * bits), valid[-1])
    chosen = from_memory(p, device, space, best)
    # Some processors see by themselves that packed batches are read from end to end.
    return chosen if device.limits.get("prefetch_runs", 1) else chosen.with_(prefetch=0)
