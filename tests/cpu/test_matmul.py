"""``matmul``: shapes, strides, types and results of NumPy, and a clear error for everything else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import tilewright as tw
from tests.products import FLOATS, PATIENT, close, filled
from tilewright.errors import ArgumentError, DTypeError

pytestmark = pytest.mark.cpu


# ---- shapes


@st.composite
def shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that have a product: one axis or more each, stacks that broadcast, axes of length 0."""
    size = st.integers(0, 9)
    m, n, k = draw(size), draw(size), draw(size)
    batch = draw(st.lists(st.integers(0, 3), max_size=3))
    one = draw(st.sampled_from(["no", "a", "b", "both"]))

    def stack() -> list[int]:
        short = batch[draw(st.integers(0, len(batch))) :]
        return [1 if draw(st.booleans()) else extent for extent in short]

    a = (k,) if one in ("a", "both") else (*stack(), m, k)
    b = (k,) if one in ("b", "both") else (*stack(), k, n)
    return a, b


@PATIENT
@given(shapes(), st.sampled_from(FLOATS), st.sampled_from(FLOATS))
def test_shapes_and_types_are_numpys(pair: tuple[tuple[int, ...], tuple[int, ...]], x: str, y: str) -> None:
    a, b = filled(pair[0], x, 1), filled(pair[1], y, 2)
    want = np.matmul(a, b)
    for _ in range(3):
        got = tw.matmul(a, b)
        assert type(got) is type(want)
        close(got, want)


@st.composite
def stridden(draw: st.DrawFn, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An array of that shape in one of the layouts that people make."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2])) for _ in shape]
    pads = [draw(st.sampled_from([0, 0, 1, 5])) for _ in shape]
    held = [shape[axis] * abs(steps[axis]) + pads[axis] for axis in order]
    whole = filled(tuple(held), dtype, 7).transpose(np.argsort(order))
    cut = tuple(
        slice(0, extent * step, step) if step > 0 else slice(extent * -step - 1, None, step)
        for extent, step in zip(shape, steps, strict=True)
    )
    view = whole[cut]
    if draw(st.booleans()) and len(shape) > 2:
        view = np.broadcast_to(view[:1], view.shape)
    kept = view[tuple(slice(0, extent) for extent in shape)]
    assert kept.shape == shape
    return kept


@PATIENT
@given(st.data(), st.sampled_from(FLOATS))
def test_any_strides(data: st.DataObject, dtype: str) -> None:
    m, n, k = (data.draw(st.integers(1, 6)) for _ in range(3))
    batch = tuple(data.draw(st.lists(st.integers(1, 3), max_size=2)))
    a = data.draw(stridden((*batch, m, k), dtype))
    b = data.draw(stridden((*batch, k, n), dtype))
    want = np.matmul(a, b)
    close(tw.matmul(a, b), want)
    close(tw.matmul(a, b), want)
    out = data.draw(stridden((*batch, m, n), dtype))
    if not out.flags.writeable:
        out = out.copy()
    assert tw.matmul(a, b, out=out) is out
    close(out, want)


def test_batch_axes_that_one_stride_cannot_cover() -> None:
    a = filled((6, 5, 4, 3, 3))[::2, 1:, :, :, :].transpose(1, 0, 2, 3, 4)
    b = np.broadcast_to(filled((1, 3, 1, 3, 3)), (4, 3, 4, 3, 3))
    close(tw.matmul(a, b), np.matmul(a, b))
    assert tw.plan(a, b).builtin is not None, "one builtin serves all runs"


@pytest.mark.parametrize("byte", [1, 4])
def test_elements_that_are_not_aligned(byte: int) -> None:
    raw = np.zeros(8 * 27 + 8, np.uint8)
    a = raw[byte : byte + 8 * 27].view("f8").reshape(3, 3, 3)
    a[...] = filled((3, 3, 3))
    assert not a.flags.aligned
    assert set(tw.plan(a, a).copies) == {"a", "b"}
    close(tw.matmul(a, a), np.matmul(a.copy(), a.copy()))
    close(tw.matmul(a, a, out=a), np.matmul(filled((3, 3, 3)), filled((3, 3, 3))))


def test_fields_of_a_record_array() -> None:
    rows = np.zeros((5, 5), np.dtype([("x", "f8"), ("flag", "u1"), ("y", "f8")]))
    rows["x"], rows["y"] = filled((5, 5)), filled((5, 5), seed=1)
    want = np.matmul(rows["x"], rows["y"])
    close(tw.matmul(rows["x"], rows["y"]), want)
    tw.matmul(rows["x"], rows["y"], out=rows["y"])
    close(rows["y"], want)


def test_large_leading_dimensions_and_windows() -> None:
    a = filled((40, 64))[:8, 3:11]
    windows = as_strided(filled((100,)), (8, 8), (8, 8))
    close(tw.matmul(a, windows), np.matmul(a, windows))


@pytest.mark.parametrize(
    ("a", "b"),
    [((), (3, 3)), ((3, 3), ()), ((2, 3), (2, 3)), ((3,), (4,)), ((2, 3, 3), (4, 3, 3)), ((3, 0), (1, 3))],
)
def test_shapes_that_do_not_match(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  what NumPy raises too
        np.matmul(filled(a), filled(b))
    with pytest.raises(ArgumentError, match=r"a is a scalar|b is a scalar|columns|broadcast"):
        tw.matmul(filled(a), filled(b))


# ---- types


@pytest.mark.parametrize("x", ["?", "i1", "u8", "i4", "f2", "f4", "g", ">f8", ">c8", "c16", "O"])
@pytest.mark.parametrize("y", ["i8", "f4", "f2", ">f4", "c8"])
def test_other_types_are_numpys(x: str, y: str) -> None:
    a, b = filled((3, 4, 5), "f8" if x == "O" else x, 1).astype(x), filled((3, 5, 2), y, 2)
    want = np.matmul(a, b)
    for _ in range(2):
        got = tw.matmul(a, b)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.astype("c16"), want.astype("c16"), rtol=2e-2, atol=2e-2)


def test_booleans_are_numpys() -> None:
    a = filled((4, 4), "?")
    np.testing.assert_array_equal(tw.matmul(a, a), np.matmul(a, a))
    assert tw.matmul(a[0], a[0]) == np.matmul(a[0], a[0])


@pytest.mark.parametrize(
    ("a", "error"),
    [
        (None, DTypeError),
        ({"a": 1}, DTypeError),
        (np.ma.masked_array(np.ones((2, 2)), [[1, 0], [0, 0]]), DTypeError),
        ([[1.0, 2.0], [3.0]], ArgumentError),
        (np.zeros((2, 2), "M8[s]"), DTypeError),
        (np.zeros((2, 2), "U3"), TypeError),
    ],
)
def test_what_holds_no_numbers(a: Any, error: type[Exception]) -> None:
    for call in (lambda: tw.matmul(a, np.ones((2, 2))), lambda: tw.gemm(np.ones((2, 2)), a)):
        with pytest.raises(error):
            call()


def test_gemm_and_plan_take_seven_types() -> None:
    for dtype in ("i8", "u2", "?", "O"):
        for call in (tw.gemm, tw.plan):
            with pytest.raises(DTypeError, match="float32, float64, complex64, complex128"):
                call(np.ones((2, 2), dtype), np.ones((2, 2), dtype))


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_lists_buffers_and_subclasses() -> None:
    a, b = filled((3, 4)), filled((4, 5))
    want = np.matmul(a, b)
    close(tw.matmul(a.tolist(), b.tolist()), want)
    close(tw.matmul(memoryview(a), b), want)
    close(tw.matmul(np.asmatrix(a), np.asmatrix(b)), want)
    out = np.zeros((3, 5))
    view = memoryview(out)
    assert tw.matmul(a, b, out=view) is view
    close(out, want)


# ---- out


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (np.zeros((3, 4)), ArgumentError, r"out has shape \(3, 4\); accepted: \(3, 3\)"),
        (np.zeros((3, 3), "f4"), DTypeError, "out is float32; accepted: float64"),
        (np.zeros((3, 3), ">f8"), DTypeError, "out is >f8"),
        (np.broadcast_to(np.zeros(3), (3, 3)), ArgumentError, "read-only"),
        (as_strided(np.zeros(3), (3, 3), (0, 8)), ArgumentError, "share one place"),
        ([[0.0] * 3] * 3, ArgumentError, "out is of type list"),
        (1.0, ArgumentError, "out is of type float"),
    ],
)
def test_an_out_that_cannot_be_used(out: Any, error: type[Exception], words: str) -> None:
    a = filled((3, 3))
    for call in (tw.gemm, tw.plan(a, a)):
        with pytest.raises(error, match=words):
            call(a, a, out=out)
    with pytest.raises(error, match=words):
        tw.plan(a, a, out=out)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3, 3), (300, 4, 4), (3, 37, 37)])
def test_out_over_an_operand(shape: tuple[int, ...], dtype: str) -> None:
    for which in range(2):
        pair = [filled(shape, dtype, 1), filled(shape, dtype, 2)]
        want = np.matmul(*pair)
        assert tw.matmul(*pair, out=pair[which]) is pair[which]
        close(pair[which], want)
    a = filled(shape, dtype, 1)
    want = np.matmul(a, a)
    tw.matmul(a, a, out=a)
    close(a, want)


def test_out_that_overlaps_in_part() -> None:
    memory = filled((9, 4, 4))
    a, out = memory[:8], memory[1:]
    want = np.matmul(a, filled((8, 4, 4), seed=3))
    tw.matmul(a, filled((8, 4, 4), seed=3), out=out)
    close(out, want)
    # A planned call sees the overlap too, though shapes and strides are as planned.
    memory = filled((9, 4, 4))
    apart = tw.plan(filled((8, 4, 4)), filled((8, 4, 4)))
    assert apart._function is not None
    want = np.matmul(memory[:8], filled((8, 4, 4), seed=3))
    apart(memory[:8], filled((8, 4, 4), seed=3), out=memory[1:])
    close(memory[1:], want)
    # The second operand overlaps, the first does not.
    memory = filled((9, 4, 4))
    want = np.matmul(filled((8, 4, 4), seed=3), memory[:8])
    apart(filled((8, 4, 4), seed=3), memory[:8], out=memory[1:])
    close(memory[1:], want)


def test_out_in_other_layouts() -> None:
    a, b = filled((7, 3, 4)), filled((7, 4, 5))
    want = np.matmul(a, b)
    for out in (
        np.zeros((7, 5, 3)).swapaxes(1, 2),
        np.zeros((3, 5, 7)).transpose(2, 0, 1),
        np.zeros((7, 3, 10))[:, :, ::2],
        np.zeros((7, 3, 5))[::-1, ::-1, ::-1],
    ):
        around = out.base if out.base is not None else out
        tw.matmul(a, b, out=out)
        close(out, want)
        # Nothing but the elements of out was written.
        assert np.isclose(np.abs(around).sum(), np.abs(want).sum())


def test_empty_arrays() -> None:
    for a, b in (
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
        ((0, 2, 2), (0, 2, 2)),
        ((0,), (0,)),
        ((3, 0, 4), (4, 0)),
    ):
        want = np.matmul(filled(a), filled(b))
        close(tw.matmul(filled(a), filled(b)), want)
        if want.ndim:
            out = np.full(want.shape, np.nan)
            tw.matmul(filled(a), filled(b), out=out)
            close(out, want)


def test_out_is_poison_and_is_not_read() -> None:
    for n in (2, 5, 17):
        a = filled((9, n, n))
        out = np.full((9, n, n), np.nan)
        tw.matmul(a, a, out=out)
        close(out, np.matmul(a, a))
