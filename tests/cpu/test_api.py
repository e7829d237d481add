"""The public calls: NumPy's rules, BLAS's rules, and a clear error for everything else."""

from __future__ import annotations

import gc
import multiprocessing
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import tilewright as tw
from tilewright.calls import product
from tilewright.calls.settings import forget
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import Config, Problem, Record, Timing
from tilewright.planning import dispatch
from tilewright.runtime import bound_cpu, build, call_cache, fastcall_cpu
from tilewright.tuning import timing as measure

pytestmark = pytest.mark.cpu

FLOATS = ["f4", "f8", "c8", "c16"]
# Kernels are compiled as shapes come: the first call of a shape takes its time.
PATIENT = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def filled(shape: tuple[int, ...], dtype: Any = "f8", seed: int = 0) -> np.ndarray:
    """Random numbers of any type; whole numbers where the type has no others."""
    draw = np.random.default_rng((seed, *shape))
    kind = np.dtype(dtype).kind
    if kind in "iub":
        return draw.integers(0, 5, shape).astype(dtype)
    values = draw.standard_normal(shape)
    if kind == "c":
        values = values + 1j * draw.standard_normal(shape)
    return values.astype(dtype)


def close(got: Any, want: Any, k: int = 64) -> None:
    """Same shape and type as NumPy's result, and the values within rounding of both."""
    assert np.shape(got) == np.shape(want)
    assert np.asarray(got).dtype == np.asarray(want).dtype
    real = np.asarray(want).real.dtype
    eps = float(np.finfo(real).eps) if real.kind == "f" else 0.0
    np.testing.assert_allclose(got, want, rtol=8 * k * eps, atol=32 * k * eps, equal_nan=True)


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
    assert tw.plan(a, b)._function is None, "more than one run, so the slow path"


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


# ---- the fast way


def test_a_second_call_takes_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    tw.forget()
    a, b = filled((50, 8, 8)), filled((50, 8, 8), seed=1)
    first = tw.matmul(a, b)

    def refuse(*_: Any) -> None:
        raise AssertionError("the slow path")

    monkeypatch.setattr(product, "matmul", refuse)
    np.testing.assert_array_equal(tw.matmul(a, b), first)
    with pytest.raises(AssertionError, match="slow path"):
        tw.matmul(a, b.swapaxes(1, 2))


@pytest.mark.parametrize("change", ["transposed", "type", "readonly out", "matrix", "order", "unaligned"])
def test_the_fast_way_sees_what_is_not_as_planned(change: str) -> None:
    a, b = filled((6, 5, 5)), filled((6, 5, 5), seed=1)
    for _ in range(2):
        close(tw.matmul(a, b), np.matmul(a, b))
    changed: dict[str, Callable[[], np.ndarray]] = {
        "transposed": lambda: b.swapaxes(1, 2),
        "type": lambda: b.astype("f4"),
        "readonly out": lambda: b,
        "matrix": lambda: b.view(np.matrix) if b.ndim == 2 else b,
        "order": lambda: np.asfortranarray(b),
        "unaligned": lambda: np.frombuffer(b"\0" + b.tobytes(), "f8", offset=1).reshape(b.shape),
    }
    other = changed[change]()
    close(tw.matmul(a, other), np.matmul(a, other))
    if change == "readonly out":
        out = np.zeros_like(a)
        out.flags.writeable = False
        with pytest.raises(ArgumentError, match="read-only"):
            tw.plan(a, b)(a, b, out=out)


def test_a_planned_call_refuses_operands_that_are_not_aligned() -> None:
    a, b, out = filled((6, 5, 5)), filled((6, 5, 5), seed=1), np.zeros((6, 5, 5))
    function = tw.plan(a, b)._function
    assert function is not None
    assert function(a, b, out) is out
    odd = [np.frombuffer(b"\0" + x.tobytes(), "f8", offset=1).reshape(x.shape) for x in (a, b)]
    assert function(odd[0], b, out) is NotImplemented
    assert function(a, odd[1], out) is NotImplemented


def test_types_that_are_equal_but_not_numpys_own() -> None:
    tagged = np.dtype("f8", metadata={"unit": "m"})
    a = filled((4, 4)).astype(tagged)
    for _ in range(3):
        close(np.asarray(tw.matmul(a, a), "f8"), np.matmul(filled((4, 4)), filled((4, 4))))


def test_a_number_comes_back_as_a_number() -> None:
    v = filled((5,))
    for _ in range(3):
        got = tw.matmul(v, v)
        assert type(got) is np.float64
        assert got == pytest.approx(float(np.matmul(v, v)))
    assert type(tw.matmul(v.astype("i4"), v.astype("i4"))) is np.int32


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [2, 3, 5, 8, 13])
def test_the_bits_do_not_depend_on_the_batch_or_the_cores(dtype: str, n: int) -> None:
    a, b = filled((1000, n, n), dtype, 1), filled((1000, n, n), dtype, 2)
    try:
        tw.set_threads(1)
        whole = tw.matmul(a, b)
        for count in (1, 2, 7, 64, 131):
            assert tw.matmul(a[:count], b[:count]).tobytes() == whole[:count].tobytes()
        assert tw.matmul(a[17], b[17]).tobytes() == whole[17].tobytes()
        for threads in (2, 3):
            tw.set_threads(threads)
            for _ in range(2):
                assert tw.matmul(a, b).tobytes() == whole.tobytes()
    finally:
        tw.set_threads(None)


def force_cores(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Every call over ``count`` cores, however small and however few there are."""
    tw.forget()
    monkeypatch.setattr("tilewright.planning.dispatch.threads", lambda problem, grain, cores: count)


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("batch", [1, 2, 3, 64, 65, 200, 321])
def test_any_split_over_cores_is_the_same(count: int, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = filled((batch, 3, 3)), filled((batch, 3, 3), seed=1)
    shared = b[:1]
    want, want_shared = tw.matmul(a, b), tw.matmul(a, shared)
    force_cores(monkeypatch, count)
    for _ in range(2):
        assert tw.matmul(a, b).tobytes() == want.tobytes()
        assert tw.matmul(a, shared).tobytes() == want_shared.tobytes()
    # And without an OpenMP runtime, by Python's own threads.
    tw.forget()
    monkeypatch.setattr(bound_cpu, "find_team", lambda: None)
    for _ in range(2):
        assert tw.matmul(a, b).tobytes() == want.tobytes()
    monkeypatch.undo()
    tw.forget()


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", [1]])
def test_a_number_of_cores_is_a_whole_number(count: Any) -> None:
    with pytest.raises(ArgumentError, match="accepted: a whole number from 1, or None"):
        tw.set_threads(count)


def test_more_cores_than_there_are() -> None:
    try:
        tw.set_threads(10_000)
        a = filled((200_000, 2, 2))
        assert 1 < tw.plan(a, a).plan.threads <= len_cores() or len_cores() == 1
        tw.set_threads(1)
        assert tw.plan(a, a).plan.threads == 1
    finally:
        tw.set_threads(None)


def len_cores() -> int:
    return dispatch.device()["cores"]


# ---- gemm


def op(x: np.ndarray, letter: str) -> np.ndarray:
    x = x if letter == "n" else x.swapaxes(-1, -2)
    return x.conj() if letter == "c" else x


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


# ---- plans


def test_a_plan_serves_other_arrays_too() -> None:
    a, b = filled((5, 4, 3)), filled((5, 3, 2))
    call = tw.plan(a, b)
    assert call._function is not None
    assert call.copies == ()
    for x, y in (
        (a, b),
        (filled((5, 4, 3), seed=9), b),
        (filled((9, 7, 7)), filled((9, 7, 7))),
        (a.astype("f4"), b),
        (a[::-1], b),
        (a.tolist(), b),
        (filled((0, 2, 2)), filled((0, 2, 2))),
    ):
        close(call(x, y), np.matmul(x, y))
    with pytest.raises(ArgumentError):
        call(a, a)
    with pytest.raises(ArgumentError):
        call(a[0, 0], b)


def test_a_plan_of_nothing() -> None:
    for a, b in (((0, 3, 3), (0, 3, 3)), ((2, 0), (0, 2)), ((0, 2), (2, 4))):
        call = tw.plan(filled(a), filled(b))
        for _ in range(2):
            close(call(filled(a), filled(b)), np.matmul(filled(a), filled(b)))


def test_a_plan_says_what_it_copies() -> None:
    a = filled((6, 8, 16))[:, :, ::2]
    call = tw.plan(a, filled((6, 8, 8)))
    assert call.copies == ("a",)
    close(call(a, filled((6, 8, 8))), np.matmul(a, filled((6, 8, 8))))


def test_a_plan_shows_itself() -> None:
    a = filled((100, 8, 8))
    assert "d:nn:8x8x8@100" in repr(tw.plan(a, a))
    # A machine that records ship for starts tuned.
    assert any(f"runs   {origin}: " in tw.explain(a, a) for origin in ("tuned", "near", "kin", "default"))
    assert tw.explain("d:8x8x8@100").count("runs") == 1
    assert tw.explain(Problem.parse("d:8x8x8")[0]).count("runs") == 1
    assert tw.explain("d:2..4").count("runs") == 3
    with pytest.raises(ArgumentError, match="alpha goes with arrays"):
        tw.explain("d:8x8x8", alpha=2)
    with pytest.raises(ArgumentError, match="problem=5"):
        tw.explain(5)
    with pytest.raises(ArgumentError, match="is not understood"):
        tw.explain("8x8")


@pytest.mark.parametrize("stencil", ["lanes", "tile"])
def test_a_stencil_can_be_forced(stencil: str) -> None:
    a = filled((20, 4, 4))
    call = tw.plan(a, a, stencil=stencil)
    assert (call.plan.stencil, call.plan.origin) == (stencil, "forced")
    close(call(a, a), np.matmul(a, a))


def test_a_config_can_be_forced() -> None:
    a = filled((20, 4, 4))
    default = tw.plan(a, a, stencil="tile").plan.config
    for blk_n in (1, 2, 4):
        call = tw.plan(a, a, stencil="tile", config={"blk_n": blk_n, "inner": "column"})
        assert call.plan.config is not None
        assert default is not None
        assert call.plan.config["blk_n"] == blk_n
        assert {**call.plan.config, "blk_n": 0} == {**default, "blk_n": 0, "inner": "column"}
        close(call(a, a), np.matmul(a, a))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stencil": "none"}, "stencil='none'; accepted: lanes, tile"),
        ({"stencil": "tile", "config": {"colour": 3}}, "config names 'colour'; accepted: vector_bits"),
        ({"stencil": "tile", "config": {"blk_n": 0}}, "config says blk_n=0; accepted: 1, 2"),
        ({"stencil": "tile", "config": {"vector_bits": 333}}, "vector_bits=333"),
        ({"stencil": "tile", "config": {"tail": "curly"}}, "tail='curly'; accepted: mask"),
        ({"stencil": "tile", "config": {"tail": ["mask"]}}, "accepted: a map"),
        ({"stencil": "tile", "config": "blk_n"}, "accepted: a map"),
        ({"stencil": "tile", "config": {"blk_m": 1, "reg_a": 2}}, "breaks 'reg-a-in-tile'"),
    ],
)
def test_what_cannot_be_forced(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        tw.plan(filled((16, 16)), filled((16, 16)), **options)


def test_a_stencil_that_does_not_fit() -> None:
    with pytest.raises(ArgumentError, match="does not accept"):
        tw.plan(filled((100, 100)), filled((100, 100)), stencil="tile")
    with pytest.raises(ArgumentError, match="no stencil accepts"):
        tw.plan(filled((100, 100)), filled((100, 100)), config={"blk_n": 1})


def test_what_no_stencil_takes_goes_to_numpy() -> None:
    a, b, c = filled((2, 90, 70), "c16"), filled((2, 70, 80), "c16"), filled((2, 90, 80), "c16")
    call = tw.plan(a, b)
    assert (call.plan.origin, call.plan.stencil) == ("vendor", None)
    close(call(a, b), np.matmul(a, b), k=512)
    close(tw.matmul(a, b), np.matmul(a, b), k=512)
    want = (2 - 1j) * np.matmul(a.conj(), b) + 1j * c
    got = tw.gemm(a.swapaxes(1, 2), b, c, alpha=2 - 1j, beta=1j, trans_a="c")
    close(got, want, k=512)
    close(tw.gemm(a, b, c, beta=1, out=c), np.matmul(a, b) + filled((2, 90, 80), "c16"), k=512)


# ---- tuning, as far as arguments go


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (
            ("d:2",),
            {"effort": "mighty"},
            "effort='mighty'; accepted: records-only, estimate, quick, patient, exhaustive",
        ),
        (("d:2",), {"regimes": ("disk",)}, "regime='disk'; accepted: "),
        (("d:2",), {"regimes": "disk"}, "regime='disk'"),
        (("d:2",), {"betas": ("0", "2")}, "beta='2'; accepted: 0, 1, any"),
        (("d:2",), {"betas": "yes"}, "beta='yes'"),
        (("d:2",), {"budget": -1}, "budget=-1"),
        (("d:2",), {"budget": float("nan")}, "budget=nan"),
        (("e:2",), {}, "problem='e:2' is not understood"),
        ((["d:2", 7],), {}, "problems holds 7"),
        (("d:100",), {"budget": 1}, "no stencil accepts it"),
    ],
)
def test_what_tune_refuses(arguments: tuple[Any, ...], options: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        tw.tune(*arguments, **options)


# ---- tensors


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128):
        a, b = torch.randn(6, 4, 5, dtype=dtype), torch.randn(6, 5, 3, dtype=dtype)
        want = np.matmul(a.numpy(), b.numpy())
        for _ in range(2):
            for got in (tw.matmul(a, b), tw.gemm(a, b), tw.plan(a, b)(a, b)):
                assert isinstance(got, torch.Tensor)
                close(got.numpy(), want)
        out = torch.zeros(6, 4, 3, dtype=dtype)
        assert tw.matmul(a, b, out=out) is out
        close(out.numpy(), want)
        transposed = tw.gemm(b, a, trans_a="c", trans_b="c")
        close(transposed.numpy(), np.matmul(b.numpy().conj().swapaxes(1, 2), a.numpy().conj().swapaxes(1, 2)))
        mixed = tw.matmul(a.numpy(), b)
        assert isinstance(mixed, np.ndarray)
        close(mixed, want)
    whole = torch.ones(3, 3, dtype=torch.int64)
    assert torch.equal(tw.matmul(whole, whole), whole @ whole)
    into = torch.zeros(3, 3, dtype=torch.int64)
    assert tw.matmul(whole, whole, out=into) is into
    assert torch.equal(into, whole @ whole)
    v = torch.randn(4, dtype=torch.float64)
    for _ in range(2):
        assert isinstance(tw.matmul(v, v), torch.Tensor)


def test_tensors_that_put_off_work() -> None:
    torch = pytest.importorskip("torch")
    a = torch.randn(4, 4, dtype=torch.complex128)
    lazy = a.conj()
    close(tw.matmul(lazy, a).numpy(), np.matmul(a.numpy().conj(), a.numpy()))
    with pytest.raises(ArgumentError, match="lazily conjugated"):
        tw.matmul(a, a, out=torch.zeros(4, 4, dtype=torch.complex128).conj())


def test_tensors_that_are_refused() -> None:
    torch = pytest.importorskip("torch")
    a = torch.randn(3, 3, dtype=torch.float64)
    wants = a.clone().requires_grad_()
    for call in (lambda: tw.matmul(wants, a), lambda: tw.matmul(a, wants), lambda: tw.plan(a, a)(wants, a)):
        with pytest.raises(DTypeError, match="requires a gradient"):
            call()
    with torch.no_grad():
        close(tw.matmul(wants, a).numpy(), np.matmul(a.numpy(), a.numpy()))
    close(tw.matmul(wants.detach(), a).numpy(), np.matmul(a.numpy(), a.numpy()))
    with pytest.raises(DTypeError, match="tensor on meta"):
        tw.matmul(torch.ones(3, 3, device="meta"), a)
    with pytest.raises(DTypeError, match="float8"):
        tw.matmul(a.to(torch.float8_e4m3fn), a.to(torch.float8_e4m3fn))
    with pytest.raises(DTypeError):
        tw.matmul(a.to_sparse(), a)


# ---- threads and processes


def test_several_threads_at_once(new_home: Any) -> None:
    """Started together on nothing: every kernel is made once and is the same for all."""
    sizes = [2, 3, 7, 12]
    pairs = {n: (filled((3000, n, n)), filled((3000, n, n), seed=1)) for n in sizes}
    start, wrong = threading.Barrier(4), []

    def work(shift: int) -> None:
        try:
            start.wait()
            for turn in range(12):
                a, b = pairs[sizes[(turn + shift) % 4]]
                if turn % 5 == 4:
                    forget()
                np.testing.assert_allclose(tw.matmul(a, b), np.matmul(a, b), rtol=1e-12, atol=1e-12)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert len(fastcall_cpu._natives) == 1
    assert len(build._loaded) == len({k.address for k in build._loaded.values()}) <= 2 * len(sizes)


def in_child(pipe: Any, a: np.ndarray, b: np.ndarray, twice: bool) -> None:
    try:
        for _ in range(3):
            got = tw.matmul(a, b)
        small = tw.matmul(filled((40, 6, 6)), filled((40, 6, 6)))
        np.testing.assert_allclose(small, np.matmul(filled((40, 6, 6)), filled((40, 6, 6))), rtol=1e-12)
        pipe.send(bool(np.allclose(got, np.matmul(a, b))))
    except BaseException as error:
        pipe.send(repr(error))
    finally:
        pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("team", [True, False])
def test_a_forked_child_still_computes(team: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads of the parent are not in the child, which must not wait for them."""
    force_cores(monkeypatch, 2)
    if not team:
        monkeypatch.setattr(bound_cpu, "find_team", lambda: None)
    a, b = filled((100_000, 4, 4)), filled((100_000, 4, 4), seed=1)
    for _ in range(5):
        close(tw.matmul(a, b), np.matmul(a, b))
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=in_child, args=(theirs, a, b, team))
    child.start()
    theirs.close()
    try:
        assert ours.poll(30), "the child hangs"
        assert ours.recv() is True
    finally:
        child.kill()
        child.join()
    close(tw.matmul(a, b), np.matmul(a, b))
    monkeypatch.undo()
    tw.forget()


# ---- plans that a caller holds, and the call cache


def recorded(problem: Problem, regime: str, stencil: str, config: Config, device: str) -> Record:
    timing = Timing((1e-9,), 1e-9, 1e-9, 1e-9, regime, 1000, measure.INTERLEAVED)
    return Record(
        problem,
        regime,
        stencil,
        config,
        "ok",
        device,
        "test",
        timing=timing,
        seconds=1e-9,
        protocol=measure.INTERLEAVED,
    )


@pytest.mark.parametrize("ask", ["call", "look"])
def test_a_plan_in_hand_follows_new_records(
    new_home: Path, ask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = filled((50, 9, 9)), filled((50, 9, 9), seed=1)
    plan = tw.plan(a, b)
    before = plan.plan
    assert before.origin != "tuned"
    stencil, config = before.stencil, before.config
    assert stencil is not None
    assert config is not None
    space = STENCILS[stencil].space(before.problem, before.device)
    other = next(
        config.with_(**{param.name: value})
        for param in space.params
        for value in param.values
        if value != config[param.name] and not space.why(config.with_(**{param.name: value}))
    )
    dispatch.records().append(recorded(before.problem, before.regime, stencil, other, before.device.key))
    assert plan.plan is before
    tw.forget()
    if ask == "call":
        close(plan(a, b), np.matmul(a, b))
        # What is planned again is as fast as before.
        monkeypatch.setattr(product, "gemm", None)
        close(plan(a, b), np.matmul(a, b))
    assert (plan.plan.origin, plan.plan.config) == ("tuned", other)
    assert "tuned" in plan.explain()


def test_a_plan_keeps_no_memory_of_the_callers(new_home: Path) -> None:
    a, b = filled((50, 6, 6)), filled((50, 6, 6), seed=1)
    alive = weakref.ref(a)
    plan = tw.plan(a, b)
    del a
    tw.forget()
    gc.collect()
    assert alive() is None
    assert plan.plan.problem.m == 6


def test_a_forced_kernel_is_no_kernel_of_other_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    tw.forget()
    a, b = filled((40, 7, 7)), filled((40, 7, 7), seed=1)
    out = np.empty((40, 7, 7))
    config = tw.plan(a, b).plan.config
    assert config is not None
    plan = tw.plan(filled((2, 3, 3)), filled((2, 3, 3)), stencil="tile")
    # Arrays of another shape: the plan goes the slow path with its forced stencil.
    for _ in range(2):
        close(plan(a, b, out=out), np.matmul(a, b))
    assert call_cache.GEMM == {}
    said = []
    real = dispatch.plan

    def spy(*args: Any, **options: Any) -> Any:
        said.append(options["stencil"])
        return real(*args, **options)

    monkeypatch.setattr(dispatch, "plan", spy)
    call_cache.clear()
    tw.gemm(a, b, out=out)
    assert said == [None]
    assert len(call_cache.GEMM) == 1
