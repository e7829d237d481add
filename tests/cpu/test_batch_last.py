"""Batches along the last axis, and packs of matrices: ``matmul`` beside ``numpy.matmul`` on any layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import tilewright as tw
from tilewright.errors import ArgumentError

pytestmark = pytest.mark.cpu

FIRST = [(0, 1), (0, 1), (0, 1)]
RNG = np.random.default_rng(5)


def made(*shape: int, dtype: str = "f8") -> np.ndarray:
    values = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


def runs(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None, **options: Any) -> str:
    """The stencil that a call runs, and "copies" where an argument is not taken as it is."""
    text = tw.plan(a, b, out=out, **options).explain()
    return "compact" if "compact" in text else "other"


def close(got: Any, want: Any, dtype: str = "f8") -> None:
    loose = np.dtype(dtype).itemsize <= (8 if np.dtype(dtype).kind == "c" else 4)
    np.testing.assert_allclose(got, want, rtol=1e-3 if loose else 1e-11, atol=1e-4 if loose else 1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("count", [1, 2, 7, 64, 1001])
def test_arrays_whose_last_axis_is_the_batch(dtype: str, count: int) -> None:
    a, b = made(3, 4, count, dtype=dtype), made(4, 5, count, dtype=dtype)
    want = np.einsum("ijn,jkn->ikn", a, b)
    for _ in range(2):  # planned, and from the call cache
        close(tw.matmul(a, b, axes=FIRST), want, dtype)
        out = np.full((3, 5, count), 7, dtype)
        assert tw.matmul(a, b, out, axes=FIRST) is out
        close(out, want, dtype)
    if count > 1:
        views = (np.moveaxis(x, -1, 0) for x in (a, b, out))
        assert runs(*views) == "compact"


def test_a_result_lies_as_numpys() -> None:
    for shapes, axes in (
        (((3, 4, 7), (4, 5, 7)), FIRST),
        (((6, 3, 4, 8), (6, 4, 5, 8)), [(1, 2)] * 3),
        (((3, 4, 7), (4, 5, 7)), [(0, 1), (0, 1), (2, 1)]),
        (((3, 4, 7, 6), (4, 5, 7, 6)), FIRST),
        (((3, 4, 7), (4, 5)), FIRST),
        (((3, 4, 7), (4,)), [(0, 1), 0, (1,)]),
    ):
        a, b = (made(*shape) for shape in shapes)
        got, want = tw.matmul(a, b, axes=axes), np.matmul(a, b, axes=axes)
        close(got, want)
        assert (got.shape, got.strides) == (want.shape, want.strides)


def laid(draw: Callable[..., Any], shape: tuple[int, int, int], dtype: str) -> np.ndarray:
    """Matrices (m, n, batch) that lie in one of many ways, as (batch, m, n)."""
    m, n, count = shape
    way = draw(
        st.sampled_from(["last", "padded", "odd", "backwards", "turned", "middle", "reversed", "first"])
    )
    if way == "padded":
        return made(m + 1, n + 2, count + 3, dtype=dtype)[:m, 1 : n + 1, 2 : count + 2].transpose(2, 0, 1)
    if way == "odd":
        return made(m * n * count + 1, dtype=dtype)[1:].reshape(m, n, count).transpose(2, 0, 1)
    if way == "backwards":
        return made(m, n, count, dtype=dtype)[::-1, ::-1].transpose(2, 0, 1)
    if way == "turned":
        return made(n, m, count, dtype=dtype).transpose(2, 1, 0)
    if way == "middle":
        return made(m, count, n, 1, dtype=dtype)[..., 0].transpose(1, 0, 2)
    if way == "reversed":
        return made(m, n, count, dtype=dtype)[..., ::-1].transpose(2, 0, 1)
    if way == "first":
        return made(count, m, n, dtype=dtype)
    return made(m, n, count, dtype=dtype).transpose(2, 0, 1)


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_layout_of_operands_and_result(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["f4", "f8", "c8", "c16"]))
    m, n, k = (data.draw(st.integers(1, 4)) for _ in range(3))
    count = data.draw(st.sampled_from([0, 1, 2, 9, 33]))
    a, b = (laid(data.draw, shape, dtype) for shape in ((m, k, count), (k, n, count)))
    if count and data.draw(st.booleans()):
        a = a[0] if data.draw(st.booleans()) else np.broadcast_to(a[:1], a.shape)
    want = np.matmul(a, b)
    close(tw.matmul(a, b), want, dtype)
    out = laid(data.draw, (m, n, count), dtype)
    before = out.copy()
    base = out
    while base.base is not None:
        base = base.base
    left = base.copy()
    alpha, beta = data.draw(st.sampled_from([(1, 0), (1, 1), (0.5, -0.25)]))
    assert tw.gemm(a, b, out, alpha=alpha, beta=beta, out=out) is out
    close(out, alpha * want + beta * before, dtype)
    # Nothing of the memory around it has changed.
    out[...] = before
    np.testing.assert_array_equal(base, left)


def test_several_batch_axes_and_packs() -> None:
    a, b = made(7, 3, 4, 8), made(7, 4, 2, 8)
    want = np.einsum("gikp,gkjp->gijp", a, b)
    out = np.zeros((7, 3, 2, 8))
    views = [np.moveaxis(x, -1, 1) for x in (a, b, out)]
    assert runs(*views) == "compact"
    tw.matmul(a, b, out, axes=[(1, 2)] * 3)
    close(out, want)
    close(tw.matmul(a, b, axes=[(1, 2)] * 3), want)
    # Rows that are padded keep two batch axes apart, and a third goes in turns.
    wide, other = made(3, 4, 5, 6, 10)[..., :9], made(4, 2, 5, 6, 9)
    close(tw.matmul(wide, other, axes=FIRST), np.matmul(wide, other, axes=FIRST))
    # One operand for all packs, and one for the matrices of each.
    close(tw.matmul(a, b[:1], axes=[(1, 2)] * 3), np.einsum("gikp,kjp->gijp", a, b[0]))
    close(tw.matmul(a, b[..., :1], axes=[(1, 2)] * 3), np.einsum("gikp,gkj->gijp", a, b[..., 0]))


@pytest.mark.parametrize("trans", ["nn", "tn", "nt", "ct", "nc", "cc"])
def test_transposed_and_conjugated(trans: str) -> None:
    a = made(*((3, 4) if trans[0] == "n" else (4, 3)), 21, dtype="c16").transpose(2, 0, 1)
    b = made(*((4, 2) if trans[1] == "n" else (2, 4)), 21, dtype="c16").transpose(2, 0, 1)
    out = made(3, 2, 21, dtype="c16").transpose(2, 0, 1)
    left, right = (x if t == "n" else x.swapaxes(1, 2) for x, t in zip((a, b), trans, strict=True))
    left, right = (x.conj() if t == "c" else x for x, t in zip((left, right), trans, strict=True))
    want = (1 + 2j) * (left @ right) - 1j * out
    assert runs(a, b, out, alpha=1 + 2j, beta=-1j, trans_a=trans[0], trans_b=trans[1]) == "compact"
    tw.gemm(a, b, out, alpha=1 + 2j, beta=-1j, trans_a=trans[0], trans_b=trans[1], out=out)
    close(out, want)


def test_a_result_that_overlaps_an_operand() -> None:
    memory = made(3, 3, 50)
    a, b = memory[..., :40].transpose(2, 0, 1), made(3, 3, 40).transpose(2, 0, 1)
    out = memory[..., 10:].transpose(2, 0, 1)
    want = np.matmul(a, b)
    tw.matmul(a, b, out)
    close(out, want)


def test_windows_of_one_row_are_matrices_side_by_side() -> None:
    row = made(60)
    a = as_strided(row, (40, 3, 4), (8, 16, 24))
    b = made(4, 2, 40).transpose(2, 0, 1)
    out = np.zeros((3, 2, 40)).transpose(2, 0, 1)
    assert runs(a, b, out) == "compact"
    close(tw.matmul(a, b, out), np.matmul(a, b))


def test_what_else_goes_the_way_it_went() -> None:
    a, b = made(3, 4, 30), made(4, 5, 30)
    views = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    assert runs(*(x.copy() for x in views)) == "other"
    assert runs(views[0], views[1].copy()) == "other"
    assert runs(made(33, 3, 9).transpose(2, 0, 1), made(3, 3, 9).transpose(2, 0, 1)) == "other"
    numbers = made(9, 1, 1), made(9, 1, 1)
    assert runs(*numbers) == "other"
    forced = tw.plan(*views, stencil="tile")
    close(forced(*views), views[0] @ views[1])
    for kind in ("i8", "O", "g"):
        got = tw.matmul((8 * a).astype(kind), (8 * b).astype(kind), axes=FIRST)
        want = np.matmul((8 * a).astype(kind), (8 * b).astype(kind), axes=FIRST)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=1e-12)


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        (3, "a list of three"),
        ([(0, 1), (0, 1)], "a list of three"),
        (((0, 1), (0, 1), (0, 1)), "a list of three"),
        ([(0, 1), 0, (0, 1)], r"axes\[1\]=0"),
        ([(0, 1), [0, 1], (0, 1)], r"axes\[1\]=\[0, 1\]"),
        ([(0, 1.0), (0, 1), (0, 1)], r"axes\[0\]"),
        ([(0, 1, 2), (0, 1), (0, 1)], r"axes\[0\]"),
        # In one row the same numbers as right ones.
        ([(0, 1, 0), (1,), (0, 1)], r"axes\[0\]=\(0, 1, 0\)"),
        ([(0, 1), ([0], 1), (0, 1)], r"axes\[1\]"),
        ([(0, 1), (0, 5), (0, 1)], "axis 5 of b, which has 3"),
        ([(0, 0), (0, 1), (0, 1)], "axis 0 of a twice"),
        ([(0, 1), (0, 1), (0, -3)], "axis 0 of the result twice"),
    ],
)
def test_axes_that_are_none(axes: Any, words: str) -> None:
    a, b = made(3, 4, 7), made(4, 5, 7)
    tw.matmul(a, b, axes=FIRST)  # Right ones are looked up from then on, and wrong ones are not among them.
    for _ in range(2):
        with pytest.raises(ArgumentError, match=words):
            tw.matmul(a, b, axes=axes)
    with pytest.raises((ValueError, TypeError)):
        np.matmul(a, b, axes=axes)


def test_axes_of_pairs_and_of_what_is_no_array() -> None:
    a, b = made(2, 3, 5, 2).astype("f2"), made(3, 2, 5, 2).astype("f2")
    left, right = ((x[..., 0] + 1j * x[..., 1]).astype("c8") for x in (a, b))
    got = tw.matmul(a, b, dtype="hc", axes=FIRST)
    want = np.matmul(left, right, axes=FIRST)
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], want, rtol=1e-2, atol=1e-2)
    lists = [[[1.0, 2.0]]], [[[3.0, 4.0]]]
    close(tw.matmul(*lists, axes=FIRST), np.matmul(*lists, axes=FIRST))
    with pytest.raises(ArgumentError, match="out of type list"):
        tw.matmul(made(3, 4, 7), made(4, 5, 7), [1.0], axes=FIRST)
