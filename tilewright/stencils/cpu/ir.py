"""LLVM IR as text: the few operations that the CPU stencils are written in.

The text is final: it goes to code generation with no optimiser in between, because an optimiser
that sees tiles share operands keeps them all live and spills (measured on LLVM 22: 3,717 spills for
a 32x32 product that has none without it).

Every kernel has the same signature, ``CALL``: three base pointers, three batch strides in elements,
the number of products, and a pointer to four reals, alpha and beta as (re, im) pairs. For interleaved
matrices 64-bit words follow ``LAYOUT`` bytes after that pointer, ``LAYOUT_WORDS``: elements from row to row
and from column to column, the matrices of a pack, and the elements from one C to the next. Batch strides are
then those from pack to pack, and the number is that of packs, or of matrices where there is one pack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tilewright.model import Device, DType, Problem

CALL = "ptr %A, ptr %B, ptr %C, i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars"
LAYOUT = 32
LAYOUT_WORDS = ("row_a", "row_b", "row_c", "column_a", "column_b", "column_c", "pack", "step_c")
ENTRY = "tilewright_kernel"
_NAMES = ", ".join(part.strip() for part in CALL.split(","))


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows held in one vector: ``width`` lanes from row ``start``, the first ``active`` of them real."""

    start: int
    width: int
    active: int


class Ir:
    """One function body under construction. Every method that computes returns the name of its value.

    ``real`` is the type in registers, of ``bits``; ``stored`` the one in memory, of ``stored_bits``. They
    differ for numbers of 16 bits, which are widened as they are read and rounded, to the nearest and of two
    to the even one, as they are written. ``register``: LLVM's letters for any vector
    register, where code has an order to keep (``ordered``), else nothing. ``lengths``: reads and writes of
    part of a vector say how many lanes they are, in place of a mask (``by_length``). ``shifts``: bfloat16 is
    read as whole numbers, which are shifted. ``converts``: bfloat16 is rounded by the processor's
    instruction, which makes zeros of results below 2^-126.

    What a set has of its own is a class derived from this one (``sets.ir_of``): ``attributes`` of its
    functions, and whether it multiplies complex numbers by instructions for that (``complex_fma``, then
    ``cfma``, ``pair`` and ``paired``).
    """

    attributes = ""
    complex_fma = False
    deal_bits = 128
    """Bits of a vector within which one instruction deals out lanes of two (``deals``)."""

    def __init__(
        self,
        dtype: DType,
        register: str = "",
        *,
        lengths: bool = False,
        shifts: bool = False,
        converts: bool = False,
    ):
        self.register, self.loose, self.lengths = register, lengths, lengths
        self.converts = converts
        self.bits, self.stored_bits = dtype.sum_bits, dtype.real_bits
        self.real = "double" if self.bits == 64 else "float"
        self.integer = f"i{self.bits}"
        self.short = f"f{self.bits}"
        self.brain = dtype.letter == "b"
        half = "half" if not self.brain else "i16" if shifts else "bfloat"
        self.stored = self.real if self.bits == self.stored_bits else half
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.fma_count = 0
        self._last = 0

    # -- text ---------------------------------------------------------------------------------
    def let(self, expression: str) -> str:
        """A new value."""
        self._last += 1
        self.lines.append(f"  %v{self._last} = {expression}")
        return f"%v{self._last}"

    def do(self, statement: str) -> None:
        """A statement without a value."""
        self.lines.append("  " + statement)

    def label(self, stem: str) -> str:
        """A fresh block name; ``place`` starts the block."""
        self._last += 1
        return f"{stem}{self._last}"

    def place(self, label: str) -> None:
        """Start the block of that name."""
        self.lines.append(f"{label}:")

    # -- types and constants --------------------------------------------------------------------
    def vec(self, width: int) -> str:
        """The type of ``width`` reals."""
        return self.real if width == 1 else f"<{width} x {self.real}>"

    def const(self, values: Sequence[float]) -> str:
        """A constant vector (or scalar) of small whole numbers."""
        if len(values) == 1:
            return f"{values[0]:.1f}"
        return "<" + ", ".join(f"{self.real} {v:.1f}" for v in values) + ">"

    @staticmethod
    def mask(piece: Piece) -> str:
        """The lanes of a piece that are real, as a constant vector of bits."""
        return "<" + ", ".join(f"i1 {int(lane < piece.active)}" for lane in range(piece.width)) + ">"

    # -- memory ---------------------------------------------------------------------------------
    def at(self, base: str, offset: int | str, held: bool = False) -> str:
        """The address ``offset`` reals after ``base``: of memory, or ``held`` in the type of registers."""
        kind = self.real if held else self.stored
        return base if offset == 0 else self.let(f"getelementptr {kind}, ptr {base}, i64 {offset}")

    def anchored(self, address: str) -> str:
        """An address that is computed before it is used: what is read near it has its distance from there,
        and not from what it was computed from. Where code has an order to keep, else the address as it is."""
        return self.let(f'call ptr asm "", "=b,0"(ptr {address})') if self.register else address

    def load(self, address: str, piece: Piece, held: bool = False) -> str:
        """A piece read from an address; lanes that are not real are zero, or anything where vectors have
        lengths.

        ``held``: from a buffer of the type of registers.
        """
        if held:
            return self._read(address, piece, self.real, self.short)
        return self.widened(self.load_stored(address, piece), piece.width)

    def store(self, value: str, address: str, piece: Piece, stream: bool = False, held: bool = False) -> None:
        """A piece written to an address. ``stream``: past the caches; the address is then vector-aligned.
        ``held``: to a buffer of the type of registers."""
        if held:
            self._write(value, address, piece, self.real, self.short, stream)
        else:
            self.store_stored(self.narrowed(value, piece.width), address, piece, stream)

    def load_free(self, address: str, piece: Piece, held: bool = False) -> str:
        """As ``load``, but lanes may come in another order: that of all pieces of the same width and number
        of lanes that are read so, and in which ``store_free`` expects them."""
        return self.load(address, piece, held)

    def store_free(self, value: str, address: str, piece: Piece, stream: bool = False) -> None:
        """As ``store``, of lanes in the order of ``load_free``."""
        self.store(value, address, piece, stream)

    def store_exact(self, value: str, address: str, piece: Piece) -> None:
        """As ``store``, without a mask: a part of a vector is written as two halves that overlap, or as one.

        A read waits until what was written before is in the cache if it overlaps with lanes of that which are
        off. One of C, which comes right after the end of another, does.
        """
        half = 1 << (piece.active.bit_length() - 1)
        if piece.active == piece.width or self.lengths:
            self.store(value, address, piece)
            return
        for first in dict.fromkeys((0, piece.active - half)):
            lanes = range(first, first + half)
            if half == 1:
                part = self.let(f"extractelement {self.vec(piece.width)} {value}, i64 {first}")
            else:
                part = self.shuffle(value, "poison", lanes, piece.width)
            self.store(part, self.at(address, first), Piece(0, half, half))

    def load_stored(self, address: str, piece: Piece) -> str:
        """A piece as it lies in memory."""
        return self._read(address, piece, self.stored, self._suffix)

    def store_stored(self, value: str, address: str, piece: Piece, stream: bool = False) -> None:
        """A piece of the type of memory written to it."""
        self._write(value, address, piece, self.stored, self._suffix, stream)

    def _read(self, address: str, piece: Piece, real: str, suffix: str) -> str:
        width, align = piece.width, self._bytes(real)
        kind = real if width == 1 else f"<{width} x {real}>"
        if piece.active == width:
            return self.let(f"load {kind}, ptr {address}, align {align}")
        if self.lengths:
            name = f"@llvm.vp.load.v{width}{suffix}.p0"
            self.declared.add(f"declare {kind} {name}(ptr, <{width} x i1>, i32)")
            return self.let(f"call {kind} {name}(ptr align {align} {address}, {self._first(piece)})")
        name = f"@llvm.masked.load.v{width}{suffix}.p0"
        self.declared.add(f"declare {kind} {name}(ptr, i32, <{width} x i1>, {kind})")
        mask = f"<{width} x i1> {self.mask(piece)}"
        rest = "poison" if self.loose else "zeroinitializer"
        return self.let(f"call {kind} {name}(ptr {address}, i32 {align}, {mask}, {kind} {rest})")

    def _write(self, value: str, address: str, piece: Piece, real: str, suffix: str, stream: bool) -> None:
        width, align = piece.width, self._bytes(real)
        kind = real if width == 1 else f"<{width} x {real}>"
        if piece.active == width:
            tail = f"align {align * width}, !nontemporal !0" if stream else f"align {align}"
            self.do(f"store {kind} {value}, ptr {address}, {tail}")
            return
        if self.lengths:
            name = f"@llvm.vp.store.v{width}{suffix}.p0"
            self.declared.add(f"declare void {name}({kind}, ptr, <{width} x i1>, i32)")
            self.do(f"call void {name}({kind} {value}, ptr align {align} {address}, {self._first(piece)})")
            return
        name = f"@llvm.masked.store.v{width}{suffix}.p0"
        self.declared.add(f"declare void {name}({kind}, ptr, i32, <{width} x i1>)")
        mask = f"<{width} x i1> {self.mask(piece)}"
        self.do(f"call void {name}({kind} {value}, ptr {address}, i32 {align}, {mask})")

    @staticmethod
    def _first(piece: Piece) -> str:
        """The first lanes of a piece as arguments: no mask, and a length."""
        return f"<{piece.width} x i1> <{', '.join(['i1 1'] * piece.width)}>, i32 {piece.active}"

    def _bytes(self, real: str) -> int:
        return (self.bits if real == self.real else self.stored_bits) // 8

    def one(self, address: str, held: bool = False) -> str:
        """One real read from memory, or from a buffer of the type of registers."""
        return self.load(address, Piece(0, 1, 1), held)

    def apart(self, address: str, elements: int, unit: int, step: int, count: int) -> str:
        """A vector of ``elements`` of ``unit`` reals each, of which the first ``count`` are read, ``step``
        reals from one to the next. Of processors alone that have lengths."""
        bits = unit * self.stored_bits
        kind = f"<{elements} x i{bits}>"
        name = f"@llvm.experimental.vp.strided.load.v{elements}i{bits}.p0.i64"
        self.declared.add(f"declare {kind} {name}(ptr, i64, <{elements} x i1>, i32)")
        given = f"ptr align {self.stored_bits // 8} {address}, i64 {step * self.stored_bits // 8}"
        raw = self.let(f"call {kind} {name}({given}, {self._first(Piece(0, elements, count))})")
        width = elements * unit
        return self.widened(self.let(f"bitcast {kind} {raw} to {self._stored(width)}"), width)

    def broadcast(self, address: str, width: int) -> str:
        """One real read and copied to every lane."""
        return self.broadcasts([address], [width])[width][0]

    def broadcasts(
        self, addresses: Sequence[str], widths: Iterable[int], held: bool = False
    ) -> dict[int, tuple[str, ...]]:
        """Reals read, from memory or a buffer of the type of registers, and each copied to every lane of a
        vector of each width."""
        ones = [self.one(address, held) for address in addresses]
        return {width: tuple(self.splat(one, width) for one in ones) for width in widths}

    def keep_order(self) -> None:
        """Reads and writes before here come before those after it in the code; no instruction is made."""
        if self.loose:
            # A piece of assembly would have the length of vectors set anew.
            self.do('fence syncscope("singlethread") seq_cst')
        elif self.register:
            self.do('call void asm sideeffect "", "~{memory}"()')

    def settled(self, value: str, width: int) -> str:
        """A value that is computed before what is read or written later, in the code.

        Where operands cannot be part of arithmetic, schedulers read those of many steps ahead, into more
        registers than there are; processors do as much by themselves.
        """
        if not self.register or self.lengths:
            return value
        kind = self.vec(width)
        if self.loose:
            # A piece of assembly would have the length of vectors set anew; this is no instruction at all.
            self.declared.add("declare void @llvm.fake.use(...)")
            self.do(f"call void (...) @llvm.fake.use({kind} {value})")
            return value
        if width * self.bits == 64 and width > 1:
            # POWER has no such vectors: this is one of which half is not used.
            some = self.shuffle(value, "poison", [*range(width), *[-1] * width], width)
            whole = self.settled(some, 2 * width)
            return self.shuffle(whole, "poison", range(width), 2 * width)
        tied = f"={self.register},0,~{{memory}}"
        return self.let(f'call {kind} asm sideeffect "", "{tied}"({kind} {value})')

    # -- lanes that are known at run time -------------------------------------------------------
    def first_lanes(self, count: str, width: int) -> str:
        """The mask of the first ``count`` lanes of a vector, with its type."""
        kind = f"<{width} x i64>"
        one = self.let(f"insertelement {kind} poison, i64 {count}, i64 0")
        wide = self.let(f"shufflevector {kind} {one}, {kind} poison, <{width} x i32> zeroinitializer")
        lanes = ", ".join(f"i64 {lane}" for lane in range(width))
        return f"<{width} x i1> " + self.let(f"icmp slt {kind} <{lanes}>, {wide}")

    def load_where(self, address: str, mask: str, width: int) -> str:
        """A vector of the type of registers read where a mask of ``first_lanes`` is; else zero."""
        kind, name = self.vec(width), f"@llvm.masked.load.v{width}{self.short}.p0"
        self.declared.add(f"declare {kind} {name}(ptr, i32, <{width} x i1>, {kind})")
        given = f"ptr {address}, i32 {self.bits // 8}, {mask}, {kind} zeroinitializer"
        return self.let(f"call {kind} {name}({given})")

    def store_where(self, value: str, address: str, mask: str, width: int) -> None:
        """A vector of the type of registers written where a mask of ``first_lanes`` is."""
        kind, name = self.vec(width), f"@llvm.masked.store.v{width}{self.short}.p0"
        self.declared.add(f"declare void {name}({kind}, ptr, i32, <{width} x i1>)")
        self.do(f"call void {name}({kind} {value}, ptr {address}, i32 {self.bits // 8}, {mask})")

    # -- numbers of 16 bits ---------------------------------------------------------------------
    def _stored(self, width: int) -> str:
        """The type of ``width`` reals in memory."""
        return self.stored if width == 1 else f"<{width} x {self.stored}>"

    def _integers(self, bits: int, width: int) -> str:
        """The type of as many whole numbers."""
        return f"i{bits}" if width == 1 else f"<{width} x i{bits}>"

    def _each(self, number: int, width: int) -> str:
        """A constant of 32 bits in every lane."""
        return str(number) if width == 1 else "<" + ", ".join([f"i32 {number}"] * width) + ">"

    @property
    def _suffix(self) -> str:
        """What names of functions say for the type in memory."""
        return {"bfloat": "bf16", "i16": "i16"}.get(self.stored, f"f{self.stored_bits}")

    def widened(self, value: str, width: int) -> str:
        """What was read from memory, in the type of registers."""
        if self.stored == self.real:
            return value
        if self.stored == "i16":
            whole = self._integers(32, width)
            wide = self.let(f"zext {self._stored(width)} {value} to {whole}")
            wide = self.let(f"shl {whole} {wide}, {self._each(16, width)}")
            return self.let(f"bitcast {whole} {wide} to {self.vec(width)}")
        return self.let(f"fpext {self._stored(width)} {value} to {self.vec(width)}")

    def narrowed(self, value: str, width: int) -> str:
        """Sums rounded to the type of memory.

        Instructions for bfloat16 make zeros of subnormal numbers, and without one LLVM calls a function for
        each: the rounding is written in integers.
        """
        if self.stored == self.real:
            return value
        if not self.brain or self.converts:
            return self.let(f"fptrunc {self.vec(width)} {value} to {self._stored(width)}")
        whole, part, bits = (self._integers(each, width) for each in (32, 16, 1))

        def each(number: int) -> str:
            return self._each(number, width)

        raw = self.let(f"bitcast {self.vec(width)} {value} to {whole}")
        last = self.let(f"and {whole} {self.let(f'lshr {whole} {raw}, {each(16)}')}, {each(1)}")
        half = self.let(f"add {whole} {self.let(f'add {whole} {raw}, {last}')}, {each(0x7FFF)}")
        # What is no number stays none: a carry out of its digits could make an infinity of it.
        quiet = self.let(f"or {whole} {raw}, {each(1 << 22)}")
        none = self.let(f"fcmp uno {self.vec(width)} {value}, {value}")
        chosen = self.let(f"select {bits} {none}, {whole} {quiet}, {whole} {half}")
        top = self.let(f"trunc {whole} {self.let(f'lshr {whole} {chosen}, {each(16)}')} to {part}")
        return top if self.stored == "i16" else self.let(f"bitcast {part} {top} to {self._stored(width)}")

    def row_stored(self, address: str, piece: Piece) -> str:
        """A piece as it lies in memory, for ``fma_stored``. Where ``sets.multiplies_stored`` is."""
        raise NotImplementedError

    def copies_stored(self, address: str, widths: Iterable[int]) -> dict[int, tuple[str]]:
        """One real as it lies in memory, for ``fma_stored`` of each width."""
        raise NotImplementedError

    def fma_stored(self, x: str, y: str, z: str | None, width: int) -> str:
        """x*y + z with one rounding, where x and y are of the type in memory and z is of registers'."""
        raise NotImplementedError

    def double(self, source: str, sink: str, count: int) -> None:
        """Reals read, and each written twice. Where ``power.doubles`` is."""
        raise NotImplementedError

    def copied(self, address: str, width: int) -> str:
        """What ``double`` wrote, copied to every lane."""
        raise NotImplementedError

    def both_ways(self, address: str, width: int) -> tuple[str, str]:
        """A vector that is one complex number, and the same with its parts exchanged. Where
        ``power.reads_both_ways`` is."""
        raise NotImplementedError

    def splat(self, scalar: str, width: int) -> str:
        """A scalar value copied to every lane."""
        if width == 1:
            return scalar
        kind = self.vec(width)
        one = self.let(f"insertelement {kind} poison, {self.real} {scalar}, i64 0")
        return self.let(f"shufflevector {kind} {one}, {kind} poison, <{width} x i32> zeroinitializer")

    def prefetch(self, address: str, write: bool, level: int = 1) -> None:
        """Ask for the cache line of an address ahead of its use, into the cache of that level."""
        self.declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.do(f"call void @llvm.prefetch.p0(ptr {address}, i32 {int(write)}, i32 {4 - level}, i32 1)")

    # -- arithmetic -----------------------------------------------------------------------------
    def shuffle(self, x: str, y: str, mask: Sequence[int], width: int) -> str:
        """Lanes of x (and of y, numbered from ``width``) in the order of the mask; -1 is any."""
        lanes = ", ".join("i32 poison" if m < 0 else f"i32 {m}" for m in mask)
        kind = self.vec(width)
        return self.let(f"shufflevector {kind} {x}, {kind} {y}, <{len(mask)} x i32> <{lanes}>")

    def deals(self, unit: int, width: int) -> bool:
        """Whether elements of ``unit`` lanes of two vectors are dealt out by instructions, alternately."""
        return True

    def swap(self, x: str, width: int) -> str:
        """The two halves of every (re, im) pair exchanged."""
        return self.shuffle(x, "poison", [lane ^ 1 for lane in range(width)], width)

    def fma(self, x: str, y: str, z: str | None, width: int) -> str:
        """x*y + z with one rounding; x*y when z is None."""
        kind = self.vec(width)
        if z is None:
            return self.let(f"fmul {kind} {x}, {y}")
        self.fma_count += 1
        suffix = self.short if width == 1 else f"v{width}{self.short}"
        self.declared.add(f"declare {kind} @llvm.fma.{suffix}({kind}, {kind}, {kind})")
        return self.let(f"call {kind} @llvm.fma.{suffix}({kind} {x}, {kind} {y}, {kind} {z})")

    def cfma(
        self, x: str, y: str, z: str | None, width: int, conj: tuple[bool, bool] = (False, False)
    ) -> str:
        """x*y + z of (re, im) lanes, where x or y enters conjugated; of both the result is that of neither,
        and to be conjugated. Where ``complex_fma`` is."""
        raise NotImplementedError

    def pair(self, address: str, width: int, second: bool = False) -> str:
        """Two neighbours of the type of registers read and copied to all pairs of lanes. ``second``: they are
        second factors of ``cfma`` alone, which may take them from one pair."""
        raise NotImplementedError

    def paired(self, real: str, imaginary: str, width: int) -> str:
        """Two scalar values copied to all pairs of lanes."""
        raise NotImplementedError

    def op(self, name: str, x: str, y: str, width: int) -> str:
        """A plain two-operand instruction such as ``fadd`` or ``fmul``."""
        return self.let(f"{name} {self.vec(width)} {x}, {y}")

    def flip(self, x: str, signs: Sequence[float], width: int) -> str:
        """x with the sign of every (even, odd) lane pair multiplied by ``signs``."""
        if signs[0] > 0 and signs[1] > 0:
            return x
        bits, kind = f"<{width} x {self.integer}>", self.vec(width)
        top = -(1 << (self.bits - 1))
        lanes = ", ".join(f"{self.integer} {top if signs[lane % 2] < 0 else 0}" for lane in range(width))
        raw = self.let(f"bitcast {kind} {x} to {bits}")
        return self.let(f"bitcast {bits} {self.let(f'xor {bits} {raw}, <{lanes}>')} to {kind}")


@dataclass(frozen=True, slots=True)
class Scalars:
    """alpha and beta as they are in registers: (re, im) scalar values, or None where the class fixes them."""

    alpha: tuple[str, str] | None
    beta: tuple[str, str] | None


PACE = 20
"""Flop, or bytes, of a core in a ns, by which its work is counted."""


def grain(problem: Problem) -> int:
    """Products that keep a core busy for some 6 us, what joining a team costs whose threads are awake. Those
    that sleep are left to sleep, unless there is more to do (``runtime.multiplying``)."""
    return max(1, int(6000 * PACE / max(problem.flops, problem.bytes, 1)))


def alone(problem: Problem) -> int:
    """Nanoseconds that a batch along one axis takes one core."""
    return max(problem.flops, problem.bytes) * problem.batch // PACE


def layout_words(problem: Problem) -> tuple[int, ...]:
    """The values of ``LAYOUT_WORDS``: zeros where matrices lie apart."""
    p, found = problem, problem.interleaved
    if found is None:
        return (0,) * len(LAYOUT_WORDS)
    return (*found.rows, p.lda or 0, p.ldb or 0, p.ldc or 0, found.pack, p.strides[2])


def launched(problem: Problem) -> tuple[tuple[int, int, int], int]:
    """What a kernel is called with as batch strides and as the number of products."""
    found = problem.interleaved
    if found is None or not found.pack:
        return problem.strides, problem.batch
    return found.packs, problem.batch // found.pack


def load_scalars(ir: Ir, problem: Problem) -> Scalars:
    """Read from ``%scalars`` what the alpha and beta classes leave open."""

    def pair(first: int) -> tuple[str, str]:
        re, im = (ir.one(ir.at("%scalars", first + part, held=True), held=True) for part in (0, 1))
        return re, im

    return Scalars(
        pair(0) if problem.alpha == "any" else None,
        pair(2) if problem.beta == "any" else None,
    )


def scaled(ir: Ir, x: str, scalar: tuple[str, str], plus: str | None, width: int, is_complex: bool) -> str:
    """scalar*x + plus, for real lanes or (re, im) lanes."""
    if is_complex and ir.complex_fma:
        return ir.cfma(x, ir.paired(*scalar, width), plus, width)
    product = ir.fma(x, ir.splat(scalar[0], width), plus, width)
    if not is_complex:
        return product
    turned = ir.flip(ir.swap(x, width), (-1, 1), width)
    return ir.fma(turned, ir.splat(scalar[1], width), product, width)


def finish(ir: Ir, problem: Problem, scalars: Scalars, acc: str, old: str | None, width: int) -> str:
    """alpha*acc + beta*old, as far as the classes of alpha and beta ask for it."""
    is_complex = problem.dtype.is_complex
    if (
        is_complex
        and ir.complex_fma
        and scalars.alpha is None
        and old is not None
        and scalars.beta is not None
    ):
        return scaled(ir, old, scalars.beta, acc, width, is_complex)
    if problem.beta == "any" and old is not None and scalars.beta is not None:
        old = scaled(ir, old, scalars.beta, None, width, is_complex)
    if scalars.alpha is not None:
        return scaled(ir, acc, scalars.alpha, old, width, is_complex)
    return acc if old is None else ir.op("fadd", acc, old, width)


def strides(ir: Ir, problem: Problem) -> tuple[str, str, str]:
    """The batch strides of A, B and C in reals."""
    if not problem.dtype.is_complex:
        return "%sa", "%sb", "%sc"
    a, b, c = (ir.let(f"shl i64 {name}, 1") for name in ("%sa", "%sb", "%sc"))
    return a, b, c


def batch_loop(
    ir: Ir,
    starts: Sequence[str],
    steps: Sequence[str | int],
    count: str,
    body: Callable[[str, str, str], None],
) -> None:
    """``body(a, b, c)`` ``count`` times, the pointers moved from ``starts`` by ``steps`` reals each time."""
    before, loop, latch, after = (ir.label(x) for x in ("before", "batch", "latch", "done"))
    ir.do(f"br label %{before}")
    ir.place(before)
    some = ir.let(f"icmp sgt i64 {count}, 0")
    ir.do(f"br i1 {some}, label %{loop}, label %{after}")
    ir.place(loop)
    names = [f"%{loop}.{x}" for x in "iabc"]
    top = len(ir.lines)
    body(*names[1:])
    ir.do(f"br label %{latch}")
    ir.place(latch)
    nexts = [ir.let(f"add i64 {names[0]}, 1")]
    nexts += [ir.at(pointer, step) for pointer, step in zip(names[1:], steps, strict=True)]
    more = ir.let(f"icmp slt i64 {nexts[0]}, {count}")
    ir.do(f"br i1 {more}, label %{loop}, label %{after}")
    ir.place(after)
    ir.lines[top:top] = [
        f"  {name} = phi {kind} [ {start}, %{before} ], [ {following}, %{latch} ]"
        for name, kind, start, following in zip(
            names, ("i64", "ptr", "ptr", "ptr"), ("0", *starts), nexts, strict=True
        )
    ]


def module(functions: Sequence[tuple[str, Ir]]) -> str:
    """The whole program: the functions, what they call, and the mark that streaming stores carry."""
    declared = sorted(set().union(*(ir.declared for _, ir in functions)))
    bodies = [
        "\n".join([f"define void @{name}({CALL}) {ir.attributes}{{", "entry:", *ir.lines, "  ret void", "}"])
        for name, ir in functions
    ]
    return "\n\n".join([*bodies, "\n".join(declared), "!0 = !{i32 1}"]) + "\n"


def stream_or_not(dtype: DType, vector_bytes: int, device: Device, other: str) -> Ir:
    """An entry that takes the streaming function if C and the matrices of a batch are aligned for it, and the
    function ``other`` if not, which sees to its own fence."""
    ir = Ir(dtype)
    place = ir.let("ptrtoint ptr %C to i64")
    place = ir.let(f"or i64 {place}, {ir.let(f'mul i64 %sc, {dtype.itemsize}')}")
    odd = ir.let(f"and i64 {place}, {vector_bytes - 1}")
    aligned = ir.let(f"icmp eq i64 {odd}, 0")
    return _either(ir, aligned, ("stream", True), (other, False), device)


def staged_or_not(dtype: DType, stride: int, device: Device) -> Ir:
    """An entry that takes the staged function if the matrices of C follow one another ``stride`` elements
    apart, without a gap, and the plain one if not."""
    ir = Ir(dtype)
    packed = ir.let(f"icmp eq i64 %sc, {stride}")
    return _either(ir, packed, ("staged", True), ("plain", False), device)


def stream_or_staged(dtype: DType, vector_bytes: int, device: Device) -> Ir:
    """An entry for packed matrices: straight to memory if the base of C is aligned for it, staged if not."""
    ir = Ir(dtype)
    odd = ir.let(f"and i64 {ir.let('ptrtoint ptr %C to i64')}, {vector_bytes - 1}")
    aligned = ir.let(f"icmp eq i64 {odd}, 0")
    return _either(ir, aligned, ("stream", True), ("staged", True), device)


def always_staged(dtype: DType, device: Device) -> Ir:
    """An entry that takes the staged function, and sees that its stores are done."""
    ir = Ir(dtype)
    ir.do(f"call void @{ENTRY}_staged({_NAMES})")
    fence(ir, device)
    return ir


def _either(ir: Ir, condition: str, yes: tuple[str, bool], no: tuple[str, bool], device: Device) -> Ir:
    """The rest of an entry: one of two functions, each named and whether it streams."""
    ir.do(f"br i1 {condition}, label %{yes[0]}, label %{no[0]}")
    for number, (name, streams) in enumerate((yes, no)):
        ir.place(name)
        ir.do(f"call void @{ENTRY}_{name}({_NAMES})")
        if streams:
            fence(ir, device)
        if not number:
            ir.do("ret void")
    return ir


def ordered(device: Device) -> str:
    """LLVM's letters for a vector register of processors whose programs keep the order in which they read:
    all but x86, whose arithmetic takes operands from memory. Nothing for x86. On RISC-V no register is named:
    fences and marks of use keep the order there."""
    return {"aarch64": "w", "ppc64le": "^wa", "riscv64": "^vr"}.get(device.features.partition("/")[0], "")


def by_length(device: Device) -> bool:
    """Whether instructions end after any lane of a vector."""
    return device.features.startswith("riscv64")


def ways(device: Device) -> dict[str, bool]:
    """How an ``Ir`` reads and writes for a device. LLVM has no conversions of bfloat16 for POWER, and for
    RISC-V only those of an extension."""
    return {"lengths": by_length(device), "shifts": device.features.startswith(("riscv64", "ppc64le"))}


def fence(ir: Ir, device: Device) -> None:
    """Streaming stores are weakly ordered: another thread must not see the call done before they are."""
    if device.features.startswith("x86_64"):
        ir.declared.add("declare void @llvm.x86.sse.sfence()")
        ir.do("call void @llvm.x86.sse.sfence()")
    else:
        ir.do("fence seq_cst")
