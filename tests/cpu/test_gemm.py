"""``gemm`` and its plans: the rules of BLAS, and a clear error for everything else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tests.products import FLOATS, PATIENT, close, filled, op
from tilewright.errors import ArgumentError, DTypeError
from tilewright.planning import dispatch

pytestmark = pytest.mark.cpu


@PATIENT
@given(
    st.sampled_from(FLOATS),
    st.sampled_from("ntc"),
    st.sampled_from("ntc"),
    st.sampled_from([1, 0, -1, 2.5, 1.5 - 2j]),
    st.sampled_from([0, 1, -0.5, 0.25 + 1j]),
    st.tuples(*[st.integers(1, 9)] * 3),
    st.sampled_from([(), (1,), (7,), (2, 3)]),
    st.sampled_from(["c", "out", "in place", "both"]),
)
def test_gemm_is_the_formula(
    dtype: str,
    trans_a: str,
    trans_b: str,
    alpha: complex,
    beta: complex,
    sizes: tuple[int, int, int],
    batch: tuple[int, ...],
    way: str,
) -> None:
    m, n, k = sizes
    if dtype[0] == "f":
        alpha, beta = complex(alpha).real, complex(beta).real
    a = filled((*batch, *((m, k) if trans_a == "n" else (k, m))), dtype, 1)
    b = filled((*batch, *((k, n) if trans_b == "n" else (n, k))), dtype, 2)
    c = filled((*batch, m, n), dtype, 3)
    want = (alpha * np.matmul(op(a, trans_a), op(b, trans_b)) + beta * c).astype(dtype)
    options: dict[str, Any] = {"alpha": alpha, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
    prepared = tw.plan(a, b, c, **options)
    for call in (lambda *x, **y: tw.gemm(*x, **options, **y), prepared, prepared):
        start, out = c.copy(), np.full_like(c, np.nan)
        if way == "c":
            close(call(a, b, start), want)
            np.testing.assert_array_equal(start, c)
        elif way == "out":
            assert call(a, b, start, out=out) is out
            close(out, want)
            np.testing.assert_array_equal(start, c)
        elif way == "in place":
            assert call(a, b, start, out=start) is start
            close(start, want)
        else:
            assert call(a, b, out=start) is start
            close(start, want)


def test_nothing_is_read_that_is_multiplied_by_zero() -> None:
    a, nan = filled((3, 6, 6)), np.full((3, 6, 6), np.nan)
    close(tw.gemm(a, a, nan, beta=0), np.matmul(a, a))
    close(tw.gemm(a, a, nan, beta=0, out=nan.copy()), np.matmul(a, a))
    assert (tw.gemm(nan, nan, alpha=0) == 0).all()
    close(tw.gemm(nan, a, a, alpha=0, beta=2), 2 * a)
    prepared = tw.plan(a, a, alpha=0)
    assert (prepared(nan, a) == 0).all()
    prepared = tw.plan(a, a, a, alpha=0, beta=1)
    close(prepared(nan, nan, a), a)
    out = a.copy()
    close(prepared(nan, nan, out=out), a)
    # With a beta it is read, as the definition says.
    assert np.isnan(tw.gemm(a, a, nan, beta=1)).all()
    assert np.isnan(tw.matmul(nan, a)).all()


def test_c_broadcasts_and_promotes() -> None:
    a, b = filled((4, 3, 5), "f4"), filled((5, 6), "f4", 1)
    for c in (filled((6,)), filled((1, 3, 6), "f4"), filled((3, 6), "c8"), filled((2, 1, 3, 6))):
        if c.ndim < 2:
            c = c[None, :].repeat(3, 0)
        want = np.matmul(a, b) + c
        for call in (lambda c: tw.gemm(a, b, c, beta=1), lambda c: tw.plan(a, b, c, beta=1)(a, b, c)):
            got = call(c)
            assert got.shape == want.shape
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    frozen = np.broadcast_to(filled((3, 6), "f4"), (4, 3, 6))
    close(tw.plan(a, b, frozen, beta=1)(a, b, frozen), np.matmul(a, b) + frozen)


def test_out_over_an_operand_and_c_elsewhere() -> None:
    for which in range(2):
        pair, c = [filled((5, 4, 4), seed=1), filled((5, 4, 4), seed=2)], filled((5, 4, 4), seed=3)
        want = np.matmul(*pair) + 2 * c
        assert tw.gemm(pair[0], pair[1], c, beta=2, out=pair[which]) is pair[which]
        close(pair[which], want)
    memory = filled((6, 4, 4))
    a, b = filled((5, 4, 4), seed=1), filled((5, 4, 4), seed=2)
    want = np.matmul(a, b) - memory[:5]
    tw.gemm(a, b, memory[:5], beta=-1, out=memory[1:])
    close(memory[1:], want)


@pytest.mark.parametrize("beta", [0, 1, -2])
@pytest.mark.parametrize("dtype", ["f8", "c8"])
def test_gemm_into_out_again_and_again(beta: float, dtype: str) -> None:
    a, b = filled((6, 9, 9), dtype, 1), filled((6, 9, 9), dtype, 2)
    for alpha in (1, 3, 1):
        for trans in ("n", "c"):
            for turn in range(3):
                out = filled((6, 9, 9), dtype, 3 + turn)
                want = (alpha * np.matmul(op(a, trans), b) + beta * out).astype(dtype)
                assert tw.gemm(a, b, out=out, alpha=alpha, beta=beta, trans_a=trans) is out
                close(out, want)
                out = filled((6, 9, 9), dtype, 3 + turn)
                c = filled((6, 9, 9), dtype, 8)
                tw.gemm(a, b, c, out=out, alpha=alpha, beta=beta, trans_a=trans)
                close(out, (alpha * np.matmul(op(a, trans), b) + beta * c).astype(dtype))
    # As planned but for where it lies: over an operand.
    x = a.copy()
    want = (np.matmul(a, b) + beta * a).astype(dtype)
    tw.gemm(x, b, out=x, beta=beta)
    close(x, want)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"trans_a": "x"}, ArgumentError, "trans_a='x'; accepted: 'n', 't', 'c'"),
        ({"trans_b": "T"}, ArgumentError, "trans_b='T'"),
        ({"trans_b": "j"}, ArgumentError, "trans_b='j'"),
        ({"trans_a": None}, ArgumentError, "trans_a=None"),
        ({"alpha": 1j}, ArgumentError, "alpha=1j for arrays of float64"),
        ({"beta": 1j, "c": np.ones((3, 3))}, ArgumentError, "beta=1j for arrays of float64"),
        ({"alpha": "1"}, ArgumentError, "alpha='1'; accepted: a number"),
        ({"alpha": [1.0]}, ArgumentError, "alpha"),
        ({"beta": None}, ArgumentError, "beta=None"),
        ({"beta": 1, "c": np.ones((3, 4))}, ArgumentError, r"c has shape \(3, 4\)"),
        ({"beta": 1, "c": np.ones((3, 3), "M8[s]")}, DTypeError, "c is datetime"),
        ({"beta": 1, "c": np.ones((3, 3)), "out": np.ones((3, 3), "f4")}, DTypeError, "out is float32"),
    ],
)
def test_what_gemm_and_plan_refuse(options: dict[str, Any], error: type[Exception], words: str) -> None:
    a = filled((3, 3))
    for call in (tw.gemm, tw.plan):
        with pytest.raises(error, match=words):
            call(a, a, **options)


def test_gemm_wants_matrices_and_something_to_update() -> None:
    for call in (tw.gemm, tw.plan):
        with pytest.raises(ArgumentError, match="two or more axes"):
            call(filled((3,)), filled((3, 3)))
    with pytest.raises(ArgumentError, match="without c; accepted"):
        tw.gemm(filled((3, 3)), filled((3, 3)), beta=1)


def test_conjugate_transposed_real_arrays_are_transposed_ones() -> None:
    a = filled((4, 4))
    assert tw.plan(a, a, trans_a="c").plan.problem == tw.plan(a, a, trans_a="t").plan.problem


def test_other_scalars_are_no_reason_to_plan_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step length that changes from call to call."""
    tw.forget()
    made, plan = [], dispatch.plan
    monkeypatch.setattr(dispatch, "plan", lambda *a, **k: made.append(a) or plan(*a, **k))
    a, b, c = filled((9, 5, 4)), filled((9, 4, 3), seed=1), filled((9, 5, 3), seed=2)
    for alpha in (0.5, -3, 0.25, 7):
        close(tw.gemm(a, b, alpha=alpha), alpha * np.matmul(a, b))
        out = c.copy()
        tw.gemm(a, b, alpha=alpha, beta=alpha / 3, out=out)
        close(out, alpha * np.matmul(a, b) + alpha / 3 * c)
    assert len(made) == 2
    tw.forget()
    close(tw.gemm(a, b, alpha=0.5), 0.5 * np.matmul(a, b))
    assert len(made) == 3
