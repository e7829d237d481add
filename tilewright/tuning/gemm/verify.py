"""Right before fast: a kernel's results against the reference, under conditions that break kernels.

Each case of ``CASES`` is one call of the kernel on fresh operands. After it, results must lie within
the rounding bound of ``operands.reference``, everything that is not an element of C must be
untouched, and values that are not finite must be where the mathematical definition puts them. Results
that are too large for a type of 16 bits must be infinities of their sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tilewright.dtypes import COMPLEX_HALF, WIDE, widened
from tilewright.model import Problem, Verdict
from tilewright.tuning.gemm.operands import Array, Operands, Reference, largest, operands, reference

Run = Callable[[Operands], object]

GUARD = 1024
"""Bytes of guard on either side: a store of several vectors in the wrong place still lands in it."""


@dataclass(frozen=True, slots=True)
class Case:
    """A way to call a kernel: how many products, bases moved by how many elements, and whether some
    values are infinite or NaN."""

    batch: int
    offset: int = 0
    special: bool = False

    @property
    def name(self) -> str:
        """The case in words, for a verdict."""
        moved = f", bases moved by {self.offset} elements" if self.offset else ""
        return f"batch {self.batch}{moved}{', with inf and NaN' if self.special else ''}"


CASES = (
    Case(1),
    Case(7),
    Case(2, offset=1),
    Case(3, offset=3),
    Case(3, special=True),
    Case(0),
)
"""Batches that no unrolling divides; aligned bases and ones that are aligned to one element only."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case made ready: operands, the right answer in the wide type, and the largest allowed error."""

    case: Case
    operands: Operands
    reference: Reference
    allowed: Array
    finite: Array
    all_finite: bool
    near: Array
    """The right answer rounded to the type that is computed in."""
    slack: Array
    """How far the rounding moved it."""
    calm: bool
    """Whether nothing comes near to what is too large for the type."""


def poke(made: Operands) -> None:
    """Put +inf, -inf and NaN into A and, where it is read, NaN into C, and keep them there.

    They go into the middle matrix of the batch, so that its neighbours show leaks.
    """
    p, middle = made.problem, made.problem.batch // 2
    a = made.a[middle].T if p.transposed_a else made.a[middle]
    if p.k and p.m:
        _put(a, 0, 0, math.inf)
        if p.m > 2:
            _put(a, p.m - 1, 0, math.inf)
            _put(a, p.m - 1, p.k // 2, -math.inf)
        if p.m > 1:
            _put(a, p.m // 2, p.k - 1, math.nan)
    if p.beta != "0" and p.m and p.n:
        _put(made.c[middle], p.m - 1, p.n // 2, math.nan)
    made.keep()


def _put(matrix: Array, row: int, column: int, value: float) -> None:
    """A real number as an element."""
    matrix[row, column] = (value, 0.0) if matrix.dtype == COMPLEX_HALF else value


def prepare(problem: Problem, case: Case, seed: int) -> Prepared:
    """Operands and the right answer of one case."""
    # Another batch is packed anew; the same one keeps its gaps.
    asked = problem if case.batch == problem.batch else problem.with_(batch=case.batch)
    made = operands(asked, seed, offset=case.offset, guard=GUARD)
    if case.special:
        poke(made)
    right = reference(asked, made)
    finite = np.isfinite(right.expected)
    allowed = np.where(finite, right.bound, 1.0) + tiny(problem)
    with np.errstate(invalid="ignore", over="ignore"):
        near = right.expected.astype(WIDE.get(made.c.dtype, made.c.dtype))
        slack = np.where(finite, abs(right.expected - near), 0.0).astype(np.float64)
        calm = not (np.where(finite, abs(right.expected) + right.sums, 0.0) >= largest(problem.dtype)).any()
    return Prepared(case, made, right, allowed, finite, bool(finite.all()), near, slack, calm)


def tiny(problem: Problem) -> float:
    """What underflow can add to an error: the bounds of rounding leave it out."""
    real = np.float64 if problem.dtype.real_bits == 64 else np.float32
    return float(np.finfo(real).tiny) * (problem.k + 2)


def settled(got: Array, right: Reference, problem: Problem) -> Array:
    """Results in the wide type, with those taken for right that overflow where they should or may.

    A part that the sums of the right answer bring beyond the largest number of the type must be infinite,
    and one that they may bring there may be: with that sign it is replaced by the right answer, and a finite
    one that must not be by NaN.
    """
    most = largest(problem.dtype)
    if not math.isfinite(most):
        return got
    if np.iscomplexobj(got):
        real, imag = (
            _settled(g, e, right.sums, most)
            for g, e in ((got.real, right.expected.real), (got.imag, right.expected.imag))
        )
        made: Array = real.astype(got.dtype)
        made.imag = imag
        return made
    return _settled(got, right.expected, right.sums, most)


def _settled(got: Array, expected: Array, error: Array, most: float) -> Array:
    size, known = abs(expected), np.isfinite(expected)
    may, must = known & (size + error >= most), known & (size - error >= most)
    infinite = np.isinf(got) & (np.signbit(got) == np.signbit(expected))
    made: Array = np.where(must & ~infinite, np.nan, np.where(may & infinite, expected, got))
    return made


def _wrong(ready: Prepared, got: Array, ratio: Array) -> Verdict:
    """The verdict on the worst element."""
    worst = np.where(np.isnan(ratio), np.inf, ratio)
    matrix, row, column = (int(i) for i in np.unravel_index(worst.argmax(), worst.shape))
    error = float(worst[matrix, row, column])
    place = f"({row}, {column}) of matrix {int(ready.reference.which[matrix])}"
    value, right = got[matrix, row, column], ready.reference.expected[matrix, row, column]
    why = f"{ready.case.name}: {place} is {value!s}, right is {right!s}: {error:.3g} times the bound"
    return Verdict(False, error, why)


def _misplaced(got: Array, right: Array) -> Array:
    """Where a value is finite, or NaN in place of an infinity, though ``right`` (not finite) says otherwise.

    Complex products of infinities depend on how the multiplication is arranged, so for them it is
    enough that the element is not finite.
    """
    if np.iscomplexobj(right):
        return np.isfinite(got)
    bad: Array = ~((np.isnan(got) & np.isnan(right)) | (got == right))
    return bad


def _clear(ready: Prepared) -> float | None:
    """A bound on the error of results that are right without a doubt; None where it takes a closer look.

    It computes in the type that sums are kept in, beside the rounded answer: several times as fast.
    """
    if not ready.calm:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        got = widened(ready.operands.c[ready.reference.which])
        ratio = (abs(got - ready.near) + ready.slack) / ready.allowed
        if not ready.all_finite:
            odd, value, right = ~ready.finite, got[~ready.finite], ready.near[~ready.finite]
            if _misplaced(value, right).any():
                return None
            ratio[odd] = 0.0
        error = float(ratio.max())
    return error if error <= 1 else None


def judge(ready: Prepared, quick: bool = False) -> Verdict:
    """The verdict on what a kernel left in the operands of a case.

    With ``quick`` the error of a right result may be given a little too large.
    """
    damage = ready.operands.damage()
    if damage:
        return Verdict(False, math.inf, f"{ready.case.name}: {damage}")
    right = ready.reference
    if not right.expected.size:
        return Verdict(True, 0.0)
    if quick and (bound := _clear(ready)) is not None:
        return Verdict(True, bound)
    with np.errstate(invalid="ignore", over="ignore"):
        got = widened(ready.operands.c[right.which]).astype(right.expected.dtype)
        taken = got if ready.calm else settled(got, right, ready.operands.problem)
        ratio = (abs(taken - right.expected) / ready.allowed).astype(np.float64)
        if not ready.all_finite:
            bad = _misplaced(got, right.expected)
            ratio = np.where(ready.finite, ratio, np.where(bad, np.inf, 0.0))
    error = float(ratio.max())
    return Verdict(True, error) if error <= 1 else _wrong(ready, got, ratio)


def against(got: Array, right: Reference, problem: Problem, name: str, roundings: int = 1) -> Verdict:
    """The verdict on single results of a large product, where ``right`` (all finite) holds these alone.

    ``roundings``: how often what was summed may have been stored on its way, where storing rounds.
    """
    more = (roundings - 1) * problem.dtype.storage_roundoff * (right.size + right.sums)
    with np.errstate(invalid="ignore", over="ignore"):
        wide = settled(widened(got).astype(right.expected.dtype), right, problem)
        ratio = (abs(wide - right.expected) / (right.bound + more + tiny(problem))).astype(np.float64)
    worst = np.where(np.isnan(ratio), np.inf, ratio)
    error = float(worst.max(initial=0.0))
    if error <= 1:
        return Verdict(True, error)
    place = np.unravel_index(worst.argmax(), worst.shape)
    why = f"{name}: {got[place]!s} where {right.expected[place]!s} is right: {error:.3g} times the bound"
    return Verdict(False, error, why)


class Verifier:
    """The cases of a problem with their right answers, made once; each check costs six short calls.

    Not for use by several threads at once: all checks share the operands.
    """

    def __init__(self, problem: Problem, seed: int = 0, cases: tuple[Case, ...] = CASES):
        self.problem = problem
        self.ready = [prepare(problem, case, seed + number) for number, case in enumerate(cases)]

    def check(self, run: Run) -> Verdict:
        """Right or wrong, with the first thing that is wrong. ``run`` makes the kernel's call on the
        operands it is given (``Operands.arguments``); their batch differs from the problem's."""
        worst = 0.0
        for ready in self.ready:
            ready.operands.restore()
            run(ready.operands)
            verdict = judge(ready)
            if not verdict.ok:
                return verdict
            worst = max(worst, verdict.error)
        return Verdict(True, worst)


def verify(problem: Problem, run: Run, *, seed: int = 0) -> Verdict:
    """One check of one kernel on new operands. For many kernels of a problem keep a ``Verifier``."""
    return Verifier(problem, seed).check(run)
