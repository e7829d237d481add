"""Deterministic calls on this processor: a row has the same bits however many others come with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.products import filled
from tilewright.errors import ArgumentError, DTypeError

pytestmark = pytest.mark.cpu

SIZES = [(5, 7), (33, 300), (66, 20)]
"""n and k: by ``tile`` for few rows and by ``blocked`` for more, a sum in slices, a long C."""


def same(got: Any, want: Any) -> bool:
    return bool(np.array_equal(got, want))


@pytest.mark.parametrize(("n", "k"), SIZES)
@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_a_row_does_not_depend_on_how_many_there_are(dtype: str, n: int, k: int) -> None:
    a, b = filled((70, k), dtype, 1), filled((k, n), dtype, 2)
    whole = tw.matmul(a, b, deterministic=True)
    assert np.abs(whole - a @ b).max() < 1e-4
    assert same(tw.matmul(a, b, deterministic=True), whole)
    for first, rows in ((0, 1), (3, 2), (1, 65)):
        assert same(tw.matmul(a[first : first + rows], b, deterministic=True), whole[first : first + rows])
    stack = a[:60].reshape(3, 20, k)
    assert same(tw.matmul(stack, b, deterministic=True).reshape(60, n), whole[:60])


def test_it_does_not_depend_on_how_arrays_lie() -> None:
    a, b = filled((20, 9), "c8", 1), filled((9, 6), "c8", 2)
    whole = tw.matmul(a, b, deterministic=True)
    out = np.empty((20, 6), "c8", order="F")
    assert tw.matmul(np.asfortranarray(a), b, out, deterministic=True) is out
    assert same(out, whole)
    assert same(tw.matmul(a[:1].T.T, b, deterministic=True), whole[:1])
    assert same(tw.matmul(a[0], b, deterministic=True), whole[0])
    assert same(tw.matmul(a, b, axes=[(0, 1)] * 3, deterministic=True), whole)


def test_it_is_a_call_of_its_own() -> None:
    """Neither calls that were made before nor those after it take its kernel, and gemm and plan know it."""
    a, b, c = filled((150, 90), "f8", 1), filled((90, 200), "f8", 2), filled((150, 200), "f8", 3)
    tw.matmul(a, b)
    whole = tw.matmul(a, b, deterministic=True)
    plan = tw.plan(a, b, deterministic=True)
    assert plan.plan.origin == "deterministic"
    assert tw.plan(a, b).plan.origin != "deterministic"
    assert same(plan(a, b), whole)
    updated = tw.gemm(a, b, c, alpha=2, beta=3, deterministic=True)
    for _ in range(2):
        few = c[:4].copy()
        tw.gemm(a[:4], b, alpha=2, beta=3, out=few, deterministic=True)
        assert same(few, updated[:4])
    assert "deterministic: blocked" in tw.explain(a, b, deterministic=True)


def test_what_cannot_be_promised_is_refused() -> None:
    a, b = filled((3, 600), "f2", 1), filled((600, 4), "f2", 2)
    with pytest.raises(ArgumentError, match="sums of 600 steps"):
        tw.matmul(a, b, deterministic=True)
    with pytest.raises(DTypeError, match="deterministic=True"):
        tw.matmul(a.astype(np.longdouble), b.astype(np.longdouble), deterministic=True)
    with pytest.raises(ArgumentError, match="accepted: True, False"):
        tw.matmul(a, b, deterministic=1)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="math='tf32'"):
        tw.gemm(a, b, math="tf32", deterministic=True)
    with pytest.raises(ArgumentError, match="stencil='tile'"):
        tw.plan(a, b, stencil="tile", deterministic=True)
    whole = np.arange(6).reshape(2, 3)
    assert same(tw.matmul(whole, whole.T, deterministic=True), whole @ whole.T)
