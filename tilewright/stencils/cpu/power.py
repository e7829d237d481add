"""What POWER has of its own, POWER8 above all: vectors whose halves are read and written in the other order.

Its loads and stores of vectors are those of a processor that counts bytes from the other end: of two halves
of 64 bits each comes first that should come second, and LLVM exchanges them after every load and before every
store, by an instruction of the units that multiply. What is computed lane by lane does not mind the order, so
that a tile of real numbers is read, summed and written as it comes, and one of complex numbers of 32 bits, of
which a half is one. Of complex doubles the imaginary part then comes first. POWER9 has loads and stores that
need none of this.

A multiply-add takes vectors alone, so that values of B are copied to all lanes. The loads that do so copy 64
bits on POWER8; a float takes one more instruction of the units that multiply. So B is written to a buffer
first, every float twice, a vector of four by two merges, and the load copies the pair.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.model import Device, DType
from tilewright.stencils.cpu.ir import Ir, Piece

BITS = 128
_READ, _WRITE = "@llvm.ppc.vsx.lxvd2x.be", "@llvm.ppc.vsx.stxvd2x.be"
_READ_WORDS = "@llvm.ppc.vsx.lxvw4x.be"
DISTANCE = 8
"""Vectors that are read before the first of them is used."""
_HALVES = "<2 x double>"


def exchanges(device: Device) -> bool:
    """Whether a processor's programs are for cores that read halves of vectors in the other order."""
    return device.features.startswith("ppc64le/pwr8")


def is_power(device: Device) -> bool:
    """Whether a processor is one of POWER."""
    return device.features.startswith("ppc64le/")


def doubles(dtype: DType, device: Device) -> bool:
    """Whether values of B may be written twice, side by side, so that a load of two copies them to all lanes.

    So it is for numbers of 32 bits on POWER8. What copies one of them there takes the place of a
    multiply-add; later processors copy it as they load it.
    """
    return exchanges(device) and dtype.letter in "sc"


def copy_slots(dtype: DType, device: Device) -> int:
    """Multiply-adds in whose place a real number is copied to all lanes as it is read.

    POWER8 has a load that copies 64 bits, and 32 bits take an instruction of the units that multiply. On
    POWER9 it is the other way round: that load takes a slot of theirs, and one that copies 32 bits does not.
    """
    name = device.features.removeprefix("ppc64le/")
    return int(
        (name.startswith("pwr8") and dtype.letter in "sc")
        or (name.startswith("pwr9") and dtype.letter in "dz")
    )


def reads_both_ways(dtype: DType, device: Device) -> bool:
    """Whether a complex number is read with its parts in either order, at no cost.

    From POWER9 on there are loads of vectors that exchange the halves and loads that do not. A complex double
    is a vector, so that both orders of one of B, times one of A, are all products of parts, and no part is
    copied.
    """
    return is_power(device) and not exchanges(device) and dtype.letter == "z"


class Pairs(Ir):
    """A function of complex doubles for POWER9 and later."""

    def both_ways(self, address: str, width: int) -> tuple[str, str]:
        self.declared.add(f"declare {_HALVES} {_READ}(ptr)")
        straight = self.load(address, Piece(0, width, width))
        return straight, self.let(f"call {_HALVES} {_READ}(ptr {address})")


class Power8(Ir):
    """A function of real numbers of 32 or 64 bits for POWER8, or of complex ones of 32."""

    def load_free(self, address: str, piece: Piece, held: bool = False) -> str:
        if not self._whole(piece):
            return self.load(address, piece, held)
        self.declared.add(f"declare {_HALVES} {_READ}(ptr)")
        value = self.let(f"call {_HALVES} {_READ}(ptr {address})")
        return self.let(f"bitcast {_HALVES} {value} to {self.vec(piece.width)}")

    def store_free(self, value: str, address: str, piece: Piece, stream: bool = False) -> None:
        if not self._whole(piece):
            self.store(value, address, piece, stream)
            return
        self.declared.add(f"declare void {_WRITE}({_HALVES}, ptr)")
        halves = self.let(f"bitcast {self.vec(piece.width)} {value} to {_HALVES}")
        self.do(f"call void {_WRITE}({_HALVES} {halves}, ptr {address})")

    def double(self, source: str, sink: str, count: int) -> None:
        whole = count // 4 * 4
        # Addresses of their own for every few vectors: all of them share the same distances.
        starts = [self.anchored(self.at(source, first)) for first in range(0, whole, 4 * DISTANCE)]

        def vector(number: int) -> str:
            return self._backwards(self.at(starts[number // DISTANCE], number % DISTANCE * 4))

        read = [vector(number) for number in range(min(DISTANCE, whole // 4))]
        here = sink
        for number in range(whole // 4):
            inside = number % (DISTANCE // 2)
            here = here if inside else self.anchored(self.at(sink, 8 * number))
            # Of the four the first two are written first: they are in the second half of the vector.
            for half, lanes in enumerate(((2, 2, 3, 3), (0, 0, 1, 1))):
                pairs = self.shuffle(read[number], "poison", lanes, 4)
                self.store_free(pairs, self.at(here, 8 * inside + 4 * half), Piece(0, 4, 4))
            if len(read) < whole // 4:
                read.append(vector(len(read)))
            self.keep_order()
        for number in range(whole, count):
            one = self.let(f"load i32, ptr {self.at(source, number)}, align 4")
            low = self.let(f"zext i32 {one} to i64")
            both = self.let(f"or i64 {self.let(f'shl i64 {low}, 32')}, {low}")
            self.do(f"store i64 {both}, ptr {self.at(sink, 2 * number)}, align 8")

    def copied(self, address: str, width: int) -> str:
        if width < 4:
            return self.splat(self.one(address), width)
        both = self.let(f"load double, ptr {address}, align 8")
        first = self.let(f"insertelement {_HALVES} poison, double {both}, i64 0")
        every = self.let(f"shufflevector {_HALVES} {first}, {_HALVES} poison, <2 x i32> zeroinitializer")
        return self.let(f"bitcast {_HALVES} {every} to {self.vec(width)}")

    def _backwards(self, address: str) -> str:
        """Four numbers of 32 bits, the last of them in the first lane: as one load leaves them."""
        self.declared.add(f"declare <4 x i32> {_READ_WORDS}(ptr)")
        value = self.let(f"call <4 x i32> {_READ_WORDS}(ptr {address})")
        return self.let(f"bitcast <4 x i32> {value} to {self.vec(4)}")

    def _whole(self, piece: Piece) -> bool:
        return piece.active == piece.width and piece.width * self.bits == BITS


class Power8Pairs(Power8):
    """A function of complex doubles, each a vector, whose imaginary part is in the first lane."""

    def flip(self, x: str, signs: Sequence[float], width: int) -> str:
        return super().flip(x, signs[::-1], width)
