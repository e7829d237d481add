"""Numbers of 16 bits on processors that have no instructions for them, or none that LLVM writes: widened and
rounded by integer arithmetic on whole vectors.

    bfloat16   the upper half of a float: shifted up, and rounded to the nearest (``Ir.narrowed``)
    float16    the digits shifted to where a float has them are the number times 2^-112, subnormal ones among
               them, because the exponents of a float begin 112 lower: one multiplication puts that right
"""

from __future__ import annotations

from tilewright.model import Device, DType
from tilewright.stencils.cpu.ir import Ir

SCALE = float(2**112)
"""What a float16 with its digits in a float's place is multiplied by."""

LEAST = 4
"""Lanes of the vectors that are converted: shorter ones would need constants of their own."""


def by_bits(device: Device) -> bool:
    """Whether a processor's programs convert numbers of 16 bits by integers.

    POWER: LLVM ends the process at a bfloat16, and instructions for vectors of float16 came with POWER9,
    after what exported libraries are made for.
    """
    return device.features.startswith("ppc64le")


class BitsIr(Ir):
    """A function whose numbers of 16 bits are integers in memory."""

    def __init__(self, dtype: DType, register: str = ""):
        super().__init__(dtype, register)
        self.stored = "i16"

    @property
    def _suffix(self) -> str:
        return "i16"

    def widened(self, value: str, width: int) -> str:
        """What was read from memory, in the type of registers."""
        if width < LEAST:
            return self._part(self.widened(self._filled(value, self.stored, width), LEAST), self.real, width)
        raw = self.let(f"zext {self._stored(width)} {value} to {self._whole(width)}")
        if self.brain:
            return self._as_real(self._do("shl", raw, 16, width), width)
        sign = self._do("shl", self._do("and", raw, 0x8000, width), 16, width)
        digits = self._do("shl", self._do("and", raw, 0x7FFF, width), 13, width)
        scale = self.const([SCALE] * width)
        scaled = self._as_bits(self.op("fmul", self._as_real(digits, width), scale, width), width)
        # Infinities and what is no number have the highest exponent in either type.
        odd = self._is("ugt", digits, 0x7BFF << 13, width)
        found = self._select(odd, self._do("or", scaled, 0x7F800000, width), scaled, width)
        made = self._as_real(self.let(f"or {self._whole(width)} {found}, {sign}"), width)
        # What one number takes is more than what is read ahead is worth.
        return self.settled(made, width)

    def narrowed(self, value: str, width: int) -> str:
        """Sums rounded to the type of memory, to the nearest and of two to the even one."""
        if width < LEAST:
            return self._part(self.narrowed(self._filled(value, self.real, width), LEAST), self.stored, width)
        if self.brain:
            return super().narrowed(value, width)
        whole = self._whole(width)
        # One after the other: side by side they would take more registers than there are.
        raw = self._as_bits(self.settled(value, width), width)
        sign = self._do("and", self._do("lshr", raw, 16, width), 0x8000, width)
        size = self._do("and", raw, 0x7FFFFFFF, width)
        last = self._do("and", self._do("lshr", size, 13, width), 1, width)
        up = self.let(f"add {whole} {self._do('add', size, 0xFFF - (112 << 23), width)}, {last}")
        normal = self._do("lshr", up, 13, width)
        # One half has its last digit where the smallest numbers have theirs.
        halves = self.op("fadd", self._as_real(size, width), self.const([0.5] * width), width)
        small = self._do("sub", self._as_bits(halves, width), 0x3F000000, width)
        found = self._select(self._is("ult", size, 0x38800000, width), small, normal, width)
        # From 65520 on infinity is nearer than 65504.
        large = self._is("uge", size, 0x477FF000, width)
        found = self._select(large, self._each(0x7C00, width), found, width)
        # What is no number keeps its first digits, and stays none.
        first = self._do("and", self._do("lshr", size, 13, width), 0x3FF, width)
        none = self._is("ugt", size, 0x7F800000, width)
        found = self._select(none, self._do("or", first, 0x7E00, width), found, width)
        signed = self.let(f"or {whole} {found}, {sign}")
        return self.let(f"trunc {whole} {signed} to {self._stored(width)}")

    def _filled(self, value: str, kind: str, width: int) -> str:
        """A short vector, or one number, as the first lanes of a whole one."""
        if width == 1:
            return self.let(f"insertelement <{LEAST} x {kind}> poison, {kind} {value}, i64 0")
        lanes = ", ".join(f"i32 {lane if lane < width else 'poison'}" for lane in range(LEAST))
        short = f"<{width} x {kind}>"
        return self.let(f"shufflevector {short} {value}, {short} poison, <{LEAST} x i32> <{lanes}>")

    def _part(self, value: str, kind: str, width: int) -> str:
        """The first lanes of a whole vector."""
        whole = f"<{LEAST} x {kind}>"
        if width == 1:
            return self.let(f"extractelement {whole} {value}, i64 0")
        lanes = ", ".join(f"i32 {lane}" for lane in range(width))
        return self.let(f"shufflevector {whole} {value}, {whole} poison, <{width} x i32> <{lanes}>")

    # -- vectors of integers ----------------------------------------------------------------------
    def _whole(self, width: int) -> str:
        return "i32" if width == 1 else f"<{width} x i32>"

    def _do(self, name: str, x: str, number: int, width: int) -> str:
        """An instruction with a vector and a number."""
        return self.let(f"{name} {self._whole(width)} {x}, {self._each(number, width)}")

    def _is(self, how: str, x: str, number: int, width: int) -> str:
        """A comparison with a number, with the type of what it gives."""
        bits = "i1" if width == 1 else f"<{width} x i1>"
        return f"{bits} " + self.let(f"icmp {how} {self._whole(width)} {x}, {self._each(number, width)}")

    def _select(self, which: str, yes: str, no: str, width: int) -> str:
        whole = self._whole(width)
        return self.let(f"select {which}, {whole} {yes}, {whole} {no}")

    def _as_real(self, value: str, width: int) -> str:
        return self.let(f"bitcast {self._whole(width)} {value} to {self.vec(width)}")

    def _as_bits(self, value: str, width: int) -> str:
        return self.let(f"bitcast {self.vec(width)} {value} to {self._whole(width)}")
