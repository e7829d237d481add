"""Products of cuBLASLt: problems as its layouts, and what comes out."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from tests.cpu.cublaslt.library import Lt, one, stored
from tilewright.dtypes import narrowed, widened
from tilewright.model import Problem
from tilewright.runtime import cublaslt

pytestmark = pytest.mark.cpu


# ---- problems as layouts


def test_layouts() -> None:
    (a, b, c) = cublaslt.layouts(one("z:tn:5x7x3", lda=9, ldc=11))
    assert a == (cublaslt.COMPLEX_64, 3, 5, 9, 1, 0)
    assert b == (cublaslt.COMPLEX_64, 3, 7, 3, 1, 0)
    assert c == (cublaslt.COMPLEX_64, 5, 7, 11, 1, 0)
    (a, b, c) = cublaslt.layouts(one("b:nt:5x7x3@6", stride_a=0, stride_b=40))
    assert a == (cublaslt.BFLOAT_16, 5, 3, 5, 6, 0)
    assert b == (cublaslt.BFLOAT_16, 7, 3, 7, 6, 40)
    assert c == (cublaslt.BFLOAT_16, 5, 7, 5, 6, 35)


@pytest.mark.parametrize(
    ("spelling", "fields", "words"),
    [
        ("hc:8x8x8", {}, "no type hc"),
        ("c:jn:8x8x8", {}, "conjugates only what it transposes"),
        ("z:nj:8x8x8", {}, "conjugates only what it transposes"),
        ("s:8x8x8", {"lda": 0}, "leading dimension of 0 is less than 8 rows"),
        ("s:8x8x8@4", {"stride_b": -64}, "descending"),
        ("s:8x8x8@4", {"pointers": True}, "table"),
        ("s:8x8x8", {"ldb": 1 << 31}, "32 bits"),
    ],
)
def test_what_cannot_be_described(lt: Lt, spelling: str, fields: dict[str, Any], words: str) -> None:
    problem = one(spelling, **fields)
    assert words in (cublaslt.refusal(problem) or "")
    assert words in str(cublaslt.product(problem, (1, 0), 0))
    assert lt.made == {}
    assert cublaslt.refusal(one("s:jj:8x8x8")) is None, "of real numbers a conjugate is the number itself"


# ---- products


def wanted(problem: Problem, a: Any, b: Any, c: Any, alpha: complex, beta: complex) -> np.ndarray:
    def op(x: np.ndarray, transposed: bool, conj: bool) -> np.ndarray:
        x = widened(x).swapaxes(1, 2) if transposed else widened(x)
        return x.conj() if conj else x

    made = op(a, problem.transposed_a, problem.conj_a) @ op(b, problem.transposed_b, problem.conj_b)
    return alpha * made + (beta * widened(c) if beta else 0)


@pytest.mark.parametrize("letter", "hbsdcz")
@pytest.mark.parametrize("trans", ["nn", "nt", "tn", "cc", "ct"])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"lda": 19, "ldb": 23, "ldc": 29},
        {"batch": 5},
        {"batch": 5, "stride_a": 0},
        {"batch": 5, "stride_b": 0, "stride_c": 400, "ldc": 12},
        {"alpha": "any", "beta": "any", "batch": 2},
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_products(lt: Lt, letter: str, trans: str, fields: dict[str, Any], swap: bool) -> None:
    problem = one(f"{letter}:{trans}:9x7x5", **fields)
    complex_ = problem.dtype.is_complex
    alpha = 1 if problem.alpha == "1" else (1.5 - 0.5j if complex_ else 1.5)
    beta = 0 if problem.beta == "0" else (0.25 + 2j if complex_ else 0.25)
    a, b, c = (stored(problem, name, 1) for name in "abc")
    want = wanted(problem, a, b, c, alpha, beta)
    if beta == 0:
        c[...] = narrowed(np.full(c.shape, np.nan, np.float32), c.dtype) if letter in "hb" else np.nan
    made = cublaslt.product(problem, (alpha, beta), 0)
    assert isinstance(made, cublaslt.Product)
    start = made.starting(swap)
    addresses = (b.ctypes.data, a.ctypes.data) if swap else (a.ctypes.data, b.ctypes.data)
    assert start(*addresses, c.ctypes.data, 7) is None
    np.testing.assert_allclose(widened(c), want, rtol=1e-5 if letter not in "hb" else 2e-2, atol=1e-2)
    (said,) = lt.calls
    assert said["stream"] == 7
    wants = lt.preferences[0]
    assert wants[cublaslt.PREFERENCE_WORKSPACE] == 1 << 20
    assert wants[cublaslt.PREFERENCE_REDUCTION] == (2 if letter in "hb" else 7)
    assert [wants[which] for which in cublaslt.PREFERENCE_ALIGNMENT] == [problem.align] * 4


def test_descriptors_go_with_what_they_describe(lt: Lt) -> None:
    made = cublaslt.product(one("s:8x8x8"), (1, 0), 0)
    assert isinstance(made, cublaslt.Product)
    start = made.starting(False)
    living = [x for x in lt.made.values() if "destroyed" not in x]
    assert len(living) == 4, "the operation and three layouts; preferences are gone"
    del made
    assert [x for x in lt.made.values() if "destroyed" not in x] == living
    del start
    gc.collect()
    assert [x for x in lt.made.values() if "destroyed" not in x] == []


def test_tf32_is_multiplied_only_where_the_problem_says_so(lt: Lt) -> None:
    for math, compute in (("ieee", cublaslt.COMPUTE_32), ("tf32", cublaslt.COMPUTE_TF32)):
        made = cublaslt.Operation(one("s:8x8x8", math=math), (1, 0), 0)
        assert lt.made[made.desc]["compute"] == compute
