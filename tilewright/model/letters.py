"""What the letters of a product say: element types, and transpositions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.dtypes import BFLOAT16, COMPLEX_HALF


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: its BLAS letter, its name (PyTorch's, and NumPy's where it has one) and how it is
    made of real numbers."""

    letter: str
    name: str
    real_bits: int
    is_complex: bool

    @property
    def sum_bits(self) -> int:
        """Bits of the real numbers that sums are kept in: 32 for types of 16, else those of the type."""
        return max(32, self.real_bits)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.real_bits // 8 * (2 if self.is_complex else 1)

    @property
    def flops_per_fma(self) -> int:
        """Floating-point operations of one multiply-add: 2 real, 8 complex (LAPACK Working Note 41)."""
        return 8 if self.is_complex else 2

    @property
    def unit_roundoff(self) -> float:
        """Half the distance from 1 to the next number of the precision that sums are kept in."""
        return 2.0**-53 if self.real_bits == 64 else 2.0**-24

    @property
    def storage_roundoff(self) -> float:
        """What storing a sum rounds off, relative to it: 2^-11 to a float16 and 2^-8 to a bfloat16, which
        have 11 and 8 bits; 0 where a sum is stored as it is kept."""
        return 0.0 if self.real_bits != 16 else 2.0**-8 if self.letter == "b" else 2.0**-11

    @property
    def numpy(self) -> np.dtype[Any]:
        """The type of an array of such elements."""
        return _NUMPY[self.letter] if self.letter in _NUMPY else np.dtype(self.name)


_NUMPY = {"b": BFLOAT16, "hc": COMPLEX_HALF}


@dataclass(frozen=True, slots=True)
class Emulation:
    """How a product of float32 numbers is made of bfloat16 ones: into how many ``parts`` a number is split,
    how many products of parts, ``terms``, are made of all there are, and what the others are ``left_out`` of
    the product at most, relative to it."""

    parts: int
    terms: int
    left_out: float


_U = 2.0**-8
"""What rounding to a bfloat16 takes of a number at most: each part leaves so much to the next one."""
EMULATED = {
    # Not made are second by second parts, and what is behind the second part of either.
    "bf16x3": Emulation(2, 3, 3 * _U**2 * (1 + _U) ** 2),
    # Not made are second by third parts and third by third ones; three parts are all of a number.
    "bf16x6": Emulation(3, 6, 2 * _U**3 * (1 + _U) ** 2),
}
"""Ways to multiply float32 by tensor cores of bfloat16, under the names that XLA has for them."""
MATHS = ("ieee", "tf32", *EMULATED)
"""How products are made: of the numbers as they are; of float32 numbers cut off behind 10 bits of the
fraction, which tensor cores multiply; or of those split into bfloat16 parts. Sums are float32 in all."""
MATH_TYPES = {"tf32": ("s",)} | dict.fromkeys(EMULATED, ("s", "c"))
"""The letters of the types that may be multiplied in each of them but ``ieee``, which is for all."""
TF32_ROUNDOFF = 2.0**-10
"""What cutting a float32 off to tf32 takes of it at most, relative to it."""

DTYPES = {
    d.letter: d
    for d in (
        DType("h", "float16", 16, False),
        DType("b", "bfloat16", 16, False),
        DType("s", "float32", 32, False),
        DType("d", "float64", 64, False),
        DType("c", "complex64", 32, True),
        DType("z", "complex128", 64, True),
        DType("hc", "complex32", 16, True),
    )
}


_ACROSS = {"n": "t", "t": "n", "c": "j", "j": "c"}


def of_transposes(trans: str) -> str:
    """The letters of the product of the transposes, op(B)^T op(A)^T, whose first operand is B as it is
    stored: ``tt`` of ``nn``, ``nt`` of ``nt``."""
    return _ACROSS[trans[1]] + _ACROSS[trans[0]]


class Transposed:
    """What follows from the letters of A and B, of a product as of each of a list or of groups."""

    __slots__ = ()
    dtype: DType
    m: int
    n: int
    k: int
    trans_a: str
    trans_b: str

    @property
    def trans(self) -> str:
        """Both transposition letters, A's first."""
        return self.trans_a + self.trans_b

    @property
    def transposed_a(self) -> bool:
        """Whether A is stored transposed."""
        return self.trans_a in "tc"

    @property
    def transposed_b(self) -> bool:
        """Whether B is stored transposed."""
        return self.trans_b in "tc"

    @property
    def stored(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Rows and columns of A, B and C as they are stored."""
        a = (self.k, self.m) if self.transposed_a else (self.m, self.k)
        b = (self.n, self.k) if self.transposed_b else (self.k, self.n)
        return a, b, (self.m, self.n)

    @property
    def conj_a(self) -> bool:
        """Whether A enters conjugated."""
        return self.dtype.is_complex and self.trans_a in "cj"

    @property
    def conj_b(self) -> bool:
        """Whether B enters conjugated."""
        return self.dtype.is_complex and self.trans_b in "cj"
