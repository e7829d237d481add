"""Operands of a problem in memory, laid out as the problem says, and the right answer for them.

Every operand lies in a region of its own:

    | guard | matrix 0 | gap | matrix 1 | gap | ... | guard |
                 ^ base: aligned, then moved by ``offset`` elements

Columns may be padded (ld larger than the column), matrices may lie apart, and an operand with batch
stride 0 is there once. Guards, padding and gaps hold one word, a signalling NaN: a kernel that reads
it into a result makes a NaN of the result, and a kernel that computes with it and writes it back
changes it, because arithmetic turns a signalling NaN into a quiet one. An output that is not read
(beta class "0") is filled with it too.

Data are normal random numbers: zeros and repeated values run faster on real hardware (less switching,
lower power) and hide errors. None is subnormal. Those of 16 bits are rounded from float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tilewright.dtypes import BFLOAT16, FLOAT16, is_half, widened
from tilewright.errors import ArgumentError
from tilewright.model import EMULATED, TF32_ROUNDOFF, DType, Gemm, Problem
from tilewright.stencils.cpu.ir import LAYOUT, layout_words

Array = NDArray[Any]

POISON = {"f2": 0x7DA5, "bfloat16": 0x7FA5, "f4": 0x7FA5A5A5, "f8": 0x7FF5A5A5A5A5A5A5}
"""A signalling NaN of each type of a real number. An element of two parts has two of them."""

KEEP = 16 << 20
"""Regions up to this many bytes keep a copy of what they were made with; larger ones are for timing."""

BLOCK = 262_139
"""Random reals made afresh; a longer operand repeats them. A prime, so that matrices still differ."""

# |beta| < 1: a timing applies the update over and over, and C must not grow until it overflows.
ANY_ALPHA = {False: 1.25, True: 1.25 - 0.5j}
ANY_BETA = {False: -0.75, True: -0.75 + 0.25j}


@dataclass
class Region:
    """The memory of one operand.

    ``words`` is all of it with both guards, as integers of the real width. ``view`` is the stored
    matrices as (batch, row, column); ``origin`` the element of the region where matrix 0 begins.
    """

    words: Array
    view: Array
    origin: int
    pristine: Array | None = None

    @property
    def address(self) -> int:
        """Where matrix 0 begins."""
        return int(self.words.ctypes.data) + self.origin * self.view.itemsize

    @cached_property
    def outside(self) -> Array:
        """A mask over ``words``: true where no element of a matrix lies."""
        per_element = self.view.itemsize // self.words.itemsize
        mask = np.ones(self.words.size // per_element, bool)
        _strided(mask, self.origin, self.view.shape, self.view.strides, self.view.itemsize)[...] = False
        return np.repeat(mask, per_element)


@dataclass(frozen=True, slots=True)
class Operands:
    """A, B and C of a problem with the scalars; what a kernel is run on.

    ``scalars`` are four reals, alpha and beta as (re, im) pairs, in the type that sums are kept in. After
    them comes what kernels of a processor read there of interleaved matrices (``stencils.cpu.ir``).
    """

    problem: Problem
    regions: tuple[Region, Region, Region]
    alpha: float | complex
    beta: float | complex
    scalars: Array

    @property
    def a(self) -> Array:
        """The stored matrices of A as (batch, row, column)."""
        return self.regions[0].view

    @property
    def b(self) -> Array:
        """The stored matrices of B as (batch, row, column)."""
        return self.regions[1].view

    @property
    def c(self) -> Array:
        """The matrices of C as (batch, row, column)."""
        return self.regions[2].view

    @property
    def pointers(self) -> tuple[int, int, int]:
        """Addresses of the first matrices of A, B and C."""
        a, b, c = (region.address for region in self.regions)
        return a, b, c

    @property
    def arguments(self) -> tuple[int, ...]:
        """All that a kernel is called with: three pointers, three strides in elements, batch, scalars."""
        return (*self.pointers, *self.problem.strides, self.problem.batch, int(self.scalars.ctypes.data))

    def damage(self) -> str:
        """What was written that is not an element of C; empty when nothing was.

        Operands too large to keep a copy of are only checked around their elements.
        """
        for name, region in zip("AB", self.regions, strict=False):
            if region.pristine is not None:
                if not np.array_equal(region.words, region.pristine):
                    return f"{name}, its padding or its guards were written"
            elif not _poisoned(region):
                return f"the padding or the guards of {name} were written"
        if not _poisoned(self.regions[2]):
            return "the padding or the guards of C were written"
        return ""

    def intact(self) -> bool:
        """Whether nothing but elements of C was written."""
        return not self.damage()

    def restore(self) -> None:
        """Everything as it was made. Raises ``ArgumentError`` for operands too large to keep a copy of."""
        for region in self.regions:
            if region.pristine is None:
                raise ArgumentError(
                    f"{self.problem.spelling} takes more than {KEEP} bytes an operand: no copy"
                )
            region.words[:] = region.pristine

    def keep(self) -> None:
        """Make the present contents the ones that ``restore`` and ``intact`` go by."""
        for region in self.regions:
            if region.pristine is not None:
                region.pristine[:] = region.words


def _poisoned(region: Region) -> bool:
    word = _poison(BFLOAT16 if region.view.dtype == BFLOAT16 else np.dtype(f"f{region.words.itemsize}"))
    return bool((region.words[region.outside] == word).all())


def _strided(
    flat: Array, origin: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> Array:
    """A view of ``flat`` from element ``origin`` on; ``strides`` count bytes of ``itemsize`` elements."""
    steps = tuple(step // itemsize * flat.itemsize for step in strides)
    return as_strided(flat[origin:], shape, steps)


def _real(dtype: DType) -> np.dtype[Any]:
    """The type of the real numbers that elements in memory are made of."""
    return BFLOAT16 if dtype.letter == "b" else np.dtype(f"f{dtype.real_bits // 8}")


def _poison(real: np.dtype[Any]) -> int:
    return POISON["bfloat16" if real == BFLOAT16 else f"f{real.itemsize}"]


def _fill(reals: Array, seed: tuple[int, int]) -> None:
    """Normal random numbers, one block of them repeated to the end."""
    real, half = reals.dtype, is_half(reals.dtype)
    draw = np.random.default_rng(seed)
    block = draw.standard_normal(min(reals.size, BLOCK), dtype=np.float32 if half else real)
    if half:
        if real == FLOAT16:
            # One of twenty thousand would be subnormal.
            least = float(np.finfo(real).tiny)
            block = np.copysign(np.maximum(abs(block), least), block)
        block = block.astype(real)
    for start in range(0, reals.size, BLOCK):
        part = reals[start : start + BLOCK]
        part[:] = block[: part.size]


def _region(
    dtype: DType,
    shape: tuple[int, int, int],
    ld: int,
    stride: int,
    fill: tuple[int, int] | None,
    place: tuple[int, int, int],
    row: int = 1,
) -> Region:
    """One operand: ``shape`` is (batch, rows, columns), ``fill`` a seed or None for poison,
    ``place`` is (alignment in bytes, offset in elements, guard in bytes), ``row`` the elements from one row
    to the next."""
    (batch, rows, cols), (alignment, offset, guard) = shape, place
    size, real = dtype.itemsize, _real(dtype)
    # An empty batch still gets the memory of one matrix, to see that it is left alone.
    reach = (max(batch, 1) - 1) * stride
    one = (cols - 1) * ld + (rows - 1) * row + 1 if rows and cols else 0
    before = -(-guard // size)
    elements = before + abs(reach) + one + before
    raw = np.empty(elements * size + alignment, np.uint8)
    origin = before + max(0, -reach)
    first = int(raw.ctypes.data)
    # The least shift that puts matrix 0 on an aligned address moved by the offset.
    shift = (offset * size - (first + origin * size)) % alignment
    words = raw[shift : shift + elements * size].view(f"u{real.itemsize}")
    view = _strided(words.view(dtype.numpy), origin, shape, (stride * size, row * size, ld * size), size)
    region = Region(words, view, origin)
    poison = _poison(real)
    if fill is None:
        words[:] = poison
    else:
        packed = row == 1 and ld == rows and (stride in (0, rows * cols) or batch == 1) and batch > 0
        _fill(words.view(real), fill)
        edge = before * (size // real.itemsize)
        if packed:
            words[:edge] = words[words.size - edge :] = poison
        else:
            words[region.outside] = poison
    if words.nbytes <= KEEP:
        region.pristine = words.copy()
    return region


def region(
    problem: Problem, name: str, seed: int, *, alignment: int = 64, offset: int = 0, guard: int = 64
) -> Region:
    """The memory of one operand of a problem, ``A``, ``B`` or ``C``: see ``operands``."""
    p = problem
    if alignment < 1 or alignment % p.dtype.itemsize:
        raise ArgumentError(f"alignment={alignment}; accepted: a multiple of {p.dtype.itemsize} bytes")
    place = (alignment, offset, guard)
    lda, ldb, ldc = (ld or 0 for ld in (p.lda, p.ldb, p.ldc))  # Problem has filled them in
    stride_a, stride_b, stride_c = p.strides
    row_a, row_b, row_c = (1, 1, 1) if p.interleaved is None else p.interleaved.rows
    if p.interleaved is not None and p.interleaved.pack:
        raise ArgumentError(f"problem={p.spelling}; accepted: interleaved matrices in one pack, @BATCH/all")
    a, b, c = ((p.batch, *shape) for shape in p.stored)
    if name == "A":
        return _region(p.dtype, a, lda, stride_a, (seed, 0), place, row_a)
    if name == "B":
        return _region(p.dtype, b, ldb, stride_b, (seed, 1), place, row_b)
    fill = None if p.beta == "0" else (seed, 2)
    return _region(p.dtype, c, ldc, stride_c, fill, place, row_c)


def scalars(problem: Gemm) -> tuple[float | complex, float | complex, Array]:
    """alpha and beta by their classes, and both as four reals of the type that sums are kept in.

    alpha is 1 or an odd number; beta is 0, 1 or an odd number smaller than 1.
    """
    is_complex = problem.dtype.is_complex
    alpha = 1.0 if problem.alpha == "1" else ANY_ALPHA[is_complex]
    beta = {"0": 0.0, "1": 1.0}.get(problem.beta, ANY_BETA[is_complex])
    kind = np.float64 if problem.dtype.real_bits == 64 else np.float32
    return alpha, beta, np.array([alpha.real, alpha.imag, beta.real, beta.imag], kind)


def operands(
    problem: Problem, seed: int, *, alignment: int = 64, offset: int = 0, guard: int = 64
) -> Operands:
    """Random A, B and (where beta is not "0") C for a problem, exactly in its layout.

    Every base address is ``offset`` elements past a multiple of ``alignment`` bytes. ``guard`` bytes
    lie on either side. Who has no room for all three asks for one ``region`` after the other.

    Raises ``ArgumentError`` for an alignment that is no multiple of the element size, and for packs.
    """
    a, b, c = (region(problem, name, seed, alignment=alignment, offset=offset, guard=guard) for name in "ABC")
    alpha, beta, four = scalars(problem)
    block = np.array([0] * (LAYOUT // 8) + list(layout_words(problem)), np.int64)
    block.view(four.dtype)[:4] = four
    return Operands(problem, (a, b, c), alpha, beta, block.view(four.dtype))


@dataclass(frozen=True, slots=True)
class Reference:
    """The right answer: for the matrices ``which`` of the batch, ``expected`` and ``bound``,
    the largest error that rounding can explain, both as (matrix, row, column).

    ``size`` is |alpha| |op(A)| |op(B)| + |beta C|, and ``sums`` the part of the bound that is made before a
    result is stored. ``expected`` is not rounded: what is too large for the type is finite here.
    """

    which: Array
    expected: Array
    bound: Array
    size: Array
    sums: Array


def wide(dtype: DType) -> Any:
    """The type that the reference is computed in: float64 up to float32, else NumPy's widest."""
    if dtype.real_bits <= 32:
        return np.dtype(np.complex128 if dtype.is_complex else np.float64)
    return np.dtype(np.clongdouble if dtype.is_complex else np.longdouble)


def sample(batch: int, most: int, seed: int = 0) -> Array:
    """Up to ``most`` matrices of a batch: all, or the first, the last and random ones between."""
    if batch <= most:
        return np.arange(batch)
    between = np.random.default_rng(seed).choice(batch - 2, most - 2, replace=False) + 1
    return np.sort(np.concatenate([[0, batch - 1], between]))


FLUSHED = 2.0**-126
"""The smallest normal bfloat16, below which some instructions take an operand for zero."""


def _factor(dtype: DType, k: int, math_: str = "ieee") -> float:
    """gamma of the error bound: see ``reference``."""
    u = dtype.unit_roundoff
    made = EMULATED.get(math_)
    terms = (2 * k + 3) if dtype.is_complex else (made.terms if made else 1) * k + 2
    gamma = terms * u / (1 - terms * u)
    if math_ == "tf32" or made:
        cut = made.left_out if made else 2 * TF32_ROUNDOFF + TF32_ROUNDOFF**2
        gamma = cut + gamma * (1 + cut)
    if np.finfo(wide(dtype)).eps > u / 2:
        gamma *= 2  # no wider type here: the reference is no better than what it judges
    return gamma * (math.sqrt(2) if dtype.is_complex else 1)


def reference(problem: Problem, operands: Operands, most: int = 16) -> Reference:
    """alpha*op(A)*op(B) + beta*C of the present contents, in higher precision, with its error bound.

    Call it before the kernel, which overwrites C. Batches larger than ``most`` are sampled.

    The bound is componentwise, for conventional products summed in any order:
    |C - expected| <= gamma (|alpha| |op(A)| |op(B)| + |beta C|). For real types
    gamma = g(k + 2) with g(j) = j u / (1 - j u): N. J. Higham, "Accuracy and Stability of Numerical
    Algorithms", 2nd ed., section 3.5, has g(k) for the sum; alpha and the last addition add one
    rounding each. For complex types each part of an element is a sum of 2k real products, so the
    modulus of the error has sqrt(2) g(2k); multiplying by alpha adds sqrt(2) g(2) (section 3.6,
    lemma 3.5) and the addition one: gamma = sqrt(2) g(2k + 3).

    Types of 16 bits have sums in float32, so that u is its 2^-24. Then the sum is stored, which adds one
    rounding of what the computed sum may be: v (|expected| + gamma (...)), with v = 2^-11 for float16 and
    2^-8 for bfloat16 (half the distance from 1 to the next number, Higham section 2.1), and half of the
    smallest subnormal number, 2^-25 for float16, where results are that small (section 2.2, on underflow).
    Of complex numbers both parts are rounded, each by no more than v times itself and the absolute part:
    v times the modulus, and sqrt(2) times the absolute part.

    With ``math="tf32"`` each factor of a product is cut off first, by t = 2^-10 of it at most
    (``TF32_ROUNDOFF``; what rounds to nearest stays within half of that): (1 + t)^2 - 1 of a product, and
    gamma of what that makes of it: gamma' = 2t + t^2 + gamma (1 + 2t + t^2). C and the scalars are not cut
    off. Where products are made of bfloat16 ones (``EMULATED``) what is left out stands in the place of
    2t + t^2, and a sum has so many times as many terms.

    x86's instructions for bfloat16 take operands below 2^-126 for zeros: each such element of A leaves out up
    to 2^-126 times an element of B, and likewise of B, which adds |alpha| 2^-126 times the sums of |op(A)|
    along its row and of |op(B)| along its column (Intel, "Architecture Instruction Set Extensions Programming
    Reference", VDPBF16PS and TDPBF16PS).

    Tensor cores add several products at a time and cut off where float32 rounds (M. Fasi, N. J. Higham,
    M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7, 2021),
    while products of 16-bit numbers are exact in float32. The bound is that of rounded sums all the same:
    it is of the worst case, and random data come nowhere near it in either way.
    """
    p, kind = problem, wide(problem.dtype)
    which = sample(p.batch, most)

    def op(stored: Array, transposed: bool, conjugated: bool) -> Array:
        chosen = widened(stored[which]).astype(kind)
        chosen = chosen.swapaxes(1, 2) if transposed else chosen
        return chosen.conj() if conjugated else chosen

    with np.errstate(invalid="ignore", over="ignore"):
        a, b = op(operands.a, p.transposed_a, p.conj_a), op(operands.b, p.transposed_b, p.conj_b)
        expected = operands.alpha * np.einsum("bik,bkj->bij", a, b)
        size = abs(operands.alpha) * np.einsum(
            "bik,bkj->bij", abs(a).astype(np.float64), abs(b).astype(np.float64)
        )
        if p.beta != "0":
            old = widened(operands.c[which]).astype(kind)
            expected = expected + operands.beta * old
            size = size + abs(operands.beta) * abs(old).astype(np.float64)
        sums = _factor(p.dtype, p.k, p.math) * size
        bound = sums
        if v := p.dtype.storage_roundoff:
            bound = sums + v * (abs(expected).astype(np.float64) + sums) + subnormal(p.dtype)
        if p.dtype.letter == "b":
            beside = abs(a).sum(axis=2)[:, :, None] + abs(b).sum(axis=1)[:, None, :]
            bound = bound + abs(operands.alpha) * FLUSHED * beside
        return Reference(which, expected, bound, size, sums)


def subnormal(dtype: DType) -> float:
    """What storing a small result rounds off in absolute terms: half of the smallest subnormal number, of
    both parts of a complex one."""
    half = {"h": 2.0**-25, "hc": 2.0**-25, "b": 2.0**-134}.get(dtype.letter, 0.0)
    return half * (math.sqrt(2) if dtype.is_complex else 1)


def largest(dtype: DType) -> float:
    """What rounds to infinity when it is stored, and all above it: half a step beyond the largest number."""
    if dtype.letter == "b":
        return 2.0**128 - 2.0**119
    return 65520.0 if dtype.real_bits == 16 else math.inf
