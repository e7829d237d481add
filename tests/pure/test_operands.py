"""Operands, the error bound and the verdict, by NumPy alone."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tilewright.dtypes import COMPLEX_HALF
from tilewright.model import Problem
from tilewright.tuning.gemm.operands import KEEP, Operands, operands, reference, subnormal
from tilewright.tuning.gemm.verify import CASES, judge, prepare

pytestmark = pytest.mark.pure


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


@pytest.mark.parametrize("operand", range(3))
def test_guards_of_operands_without_a_copy_are_looked_at(operand: int) -> None:
    """Operands too large to be copied are checked around their elements, each of the three."""
    problem = one("d:8x8x8@50000", beta="1")
    assert problem.footprint > 3 * KEEP
    made = operands(problem, 0)
    assert made.regions[operand].pristine is None
    assert made.damage() == ""
    beyond = made.regions[operand].view.nbytes
    for offset in (-8, beyond):
        at = ctypes.c_uint64.from_address(made.pointers[operand] + offset)
        before, at.value = at.value, 0
        assert f"guards of {'ABC'[operand]} were written" in made.damage()
        at.value = before
        assert made.damage() == ""


def exact_factor(letter: str, k: int) -> float:
    """Higham's gamma for the sums of ``reference``, in fractions."""
    terms = 2 * k + 3 if letter in ("c", "z", "hc") else k + 2
    u = Fraction(1, 2**53 if letter in "dz" else 2**24)
    gamma = float(terms * u / (1 - terms * u))
    return gamma * (math.sqrt(2) if letter in ("c", "z", "hc") else 1)


@pytest.mark.parametrize("beta", "01")
@pytest.mark.parametrize("k", [1, 7, 64])
@pytest.mark.parametrize("letter", ["h", "b", "s", "d", "c", "z", "hc"])
def test_the_bound_is_the_exact_gamma(letter: str, k: int, beta: str) -> None:
    """Of ones the sums of moduli are whole numbers, so that nothing but gamma is left of the bound."""
    problem = one(f"{letter}:2x3x{k}", beta=beta)
    made = operands(problem, 0)
    for array in (made.a, made.b, made.c):
        array[...] = np.array((1.0, 0.0), COMPLEX_HALF) if letter == "hc" else 1.0
    right = reference(problem, made)
    size = k + int(beta)
    factor = exact_factor(letter, k)
    if letter in "dz" and np.finfo(np.longdouble).eps > 2.0**-54:
        factor *= 2
    assert right.size == pytest.approx(size)
    assert right.sums == pytest.approx(factor * size, rel=1e-9)
    v = {"h": 2.0**-11, "hc": 2.0**-11, "b": 2.0**-8}.get(letter, 0.0)
    stored = v * (size + factor * size) + subnormal(problem.dtype)
    assert right.bound == pytest.approx(factor * size + stored, rel=1e-9)


def computed(made: Operands) -> None:
    """The right answer in the working precision."""
    with np.errstate(invalid="ignore"):
        product = np.einsum("bik,bkj->bij", made.a, made.b)
        made.c[...] = product + made.c if made.problem.beta != "0" else product


def infinite(made: Operands) -> Any:
    return np.isinf(made.c)


def odd_ones(made: Operands) -> Any:
    return ~np.isfinite(made.c)


SABOTAGE: dict[str, Callable[[Operands], object]] = {
    "nothing": lambda o: None,
    "a little off": lambda o: o.c.__setitem__((-1, 2, 3), o.c[-1, 2, 3] * (1 + 1e-5)),
    "unwritten": lambda o: o.c.__setitem__((-1, -1, -1), np.nan),
    "infinity where a number is right": lambda o: o.c.__setitem__((0, 0, 0), np.inf),
    "infinity of the other sign": lambda o: np.negative(o.c, out=o.c, where=infinite(o)),
    "NaN for infinity": lambda o: np.copyto(o.c, np.nan, where=infinite(o)),
    "infinity for NaN": lambda o: np.copyto(o.c, np.inf, where=np.isnan(o.c)),
    "a number for what is not finite": lambda o: np.copyto(o.c, 1.0, where=odd_ones(o)),
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("what", SABOTAGE)
@pytest.mark.parametrize("letter", "sdz")
def test_the_quick_verdict_is_the_thorough_one(letter: str, what: str) -> None:
    """The quick way may say how large an error is a little wrongly, but never whether a result is right."""
    problem, verdicts = one(f"{letter}:5x7x3", beta="1"), []
    for number, case in enumerate(case for case in CASES if case.batch):
        verdict = []
        for quick in (False, True):
            ready = prepare(problem, case, number)
            computed(ready.operands)
            SABOTAGE[what](ready.operands)
            verdict.append(judge(ready, quick=quick).ok)
        assert verdict[0] == verdict[1], case.name
        verdicts.append(verdict[0])
    assert all(verdicts) == (what == "nothing" or (letter == "z" and what in ALIKE))


ALIKE = ("infinity of the other sign", "NaN for infinity", "infinity for NaN")
"""Complex numbers that are not finite are all taken for each other."""
