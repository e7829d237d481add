"""``matmul`` beside ``numpy.matmul``: what ``out`` may be, how many axes there may be, what is refused."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import tilewright as tw
from tilewright.errors import ArgumentError, DTypeError

pytestmark = pytest.mark.cpu

# One letter a kind and width, both byte orders, and what has no product of ours.
TYPES = ["?", "i1", "i4", "u2", "u8", "f2", "f4", "f8", ">f4", ">f8", "g", "c8", "c16", ">c16", "O"]
PATIENT = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))


def outcome(call: Callable[..., Any], a: Any, b: Any, out: Any) -> tuple[str, Any]:
    """Which of NumPy's two refusals a call ends in, or what it wrote."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            assert call(a, b, out=out) is out
    except TypeError:
        return "TypeError", None
    except ValueError:
        return "ValueError", None
    return "written", out


def both(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """The same refusal, or the same numbers: small whole ones, which every type holds exactly."""
    want, expected = outcome(np.matmul, a, b, out.copy())
    got, written = outcome(tw.matmul, a, b, out)
    assert got == want, f"{a.dtype}{a.shape} {b.dtype}{b.shape} -> {out.dtype}{out.shape}"
    if got == "written":
        np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("into", TYPES)
def test_types_of_out_are_numpys(kind: str, into: str) -> None:
    a, b = np.arange(6).reshape(3, 2).astype(kind), (np.arange(8).reshape(2, 4) % 3).astype(kind)
    for _ in range(2):
        both(a, b, np.zeros((3, 4), into))


@st.composite
def products(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Operands that have a product, and an ``out`` that may or may not take it."""
    m, n, k = (draw(st.integers(1, 3)) for _ in range(3))
    stack = draw(st.lists(st.integers(0, 3), max_size=2))

    def stacked() -> list[int]:
        short = stack[draw(st.integers(0, len(stack))) :]
        return [1 if draw(st.booleans()) else extent for extent in short]

    vector = draw(st.sampled_from(["no", "a", "b", "both"]))
    shape_a = (k,) if vector in ("a", "both") else (*stacked(), m, k)
    shape_b = (k,) if vector in ("b", "both") else (*stacked(), k, n)
    kinds = st.sampled_from(["i4", "f4", "f8", ">f8", "c16"])
    a = np.ones(shape_a, draw(kinds)) * 2
    b = np.ones(shape_b, draw(kinds))
    shape = list(np.shape(np.matmul(a, b)))
    change = draw(st.sampled_from(["as it is", "more", "fewer", "longer", "longer core", "cut"]))
    if change == "more":
        shape = [*draw(st.lists(st.integers(0, 3), min_size=1, max_size=2)), *shape]
    elif change == "fewer":
        shape = shape[1:]
    elif change == "cut":
        shape = shape[:-1]
    elif change in ("longer", "longer core") and shape:
        shape[0 if change == "longer" else -1] += draw(st.integers(1, 2))
    return a, b, np.zeros(shape, draw(kinds))


@PATIENT
@given(products())
def test_shapes_of_out_are_numpys(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    a, b, out = case
    if out.ndim < (a.ndim > 1) + (b.ndim > 1):
        # NumPy takes a scalar for the result of one row by a vector, though it lacks that row's axis.
        assert outcome(tw.matmul, *case)[0] != "written"
    else:
        both(*case)


def test_a_wider_out_over_an_operand() -> None:
    memory = np.arange(12.0).reshape(3, 2, 2)
    want = np.matmul(memory[0], memory[1])
    out = memory[:2]
    assert tw.matmul(memory[0].copy(), memory[1], out=out) is out
    np.testing.assert_array_equal(out, np.stack([want, want]))


def test_an_out_whose_elements_share_memory() -> None:
    a, b = np.ones((3, 2)), np.full((2, 3), 2.0)
    got, want = np.zeros(3), np.zeros(3)
    tw.matmul(a, b, out=as_strided(got, (3, 3), (0, 8)))
    np.matmul(a, b, out=as_strided(want, (3, 3), (0, 8)))
    np.testing.assert_array_equal(got, want)


def test_what_out_says_of_itself_when_it_is_refused() -> None:
    a = np.ones((5, 2))
    with pytest.raises(DTypeError, match=r"out is int32; accepted: float64, or a type that it casts to"):
        tw.matmul(a, np.ones((2, 2)), out=np.zeros((5, 2), "i4"))
    with pytest.raises(DTypeError, match="out is float32; accepted: complex64, or"):
        tw.matmul(a.astype("c8"), np.ones((2, 2), "f4"), out=np.zeros((5, 2), "f4"))
    with pytest.raises(ArgumentError, match=r"out has shape \(5, 2\); accepted: \(3, 5, 2\), or"):
        tw.matmul(np.ones((3, 5, 2), int), np.ones((2, 2), int), out=np.zeros((5, 2), int))
    with pytest.raises(ArgumentError, match="out is read-only"):
        tw.matmul(np.eye(2, dtype=int), np.eye(2, dtype=int), out=np.broadcast_to(0, (2, 2)))


# ---- many axes


@pytest.mark.parametrize("axes", [31, 33, 34, 35, 48, 63, 64])
def test_as_many_axes_as_numpy_has(axes: int) -> None:
    a = np.arange(24.0).reshape((3, *(1,) * (axes - 4), 2, 2, 2))
    b = np.arange(4.0).reshape(2, 2)
    want = np.matmul(a, b)
    for _ in range(2):
        np.testing.assert_array_equal(tw.matmul(a, b), want)
    np.testing.assert_array_equal(tw.gemm(a, b), want)
    np.testing.assert_array_equal(tw.plan(a, b)(a, b), want)
    np.testing.assert_array_equal(tw.gemm(a, b, want.copy(), alpha=2, beta=1), 3 * want)
    np.testing.assert_array_equal(tw.gemm(a, b, np.ones((2, 2)), beta=1), want + 1)
    assert "runs" in tw.explain(a, b)
    into = np.zeros_like(want)
    assert tw.matmul(a, b, out=into) is into
    np.testing.assert_array_equal(into, want)
    np.testing.assert_array_equal(tw.matmul(a, b[0]), np.matmul(a, b[0]))
    np.testing.assert_array_equal(tw.matmul(b[0], a), np.matmul(b[0], a))
    whole = a.astype(int)
    np.testing.assert_array_equal(tw.matmul(whole, b.astype(int)), np.matmul(whole, b.astype(int)))


def test_many_axes_that_do_not_broadcast() -> None:
    a, b = np.ones((2, *(1,) * 40, 2, 2)), np.ones((3, *(1,) * 40, 2, 2))
    for call in (tw.matmul, tw.gemm, tw.plan, tw.explain):
        with pytest.raises(ArgumentError, match="do not broadcast"):
            call(a, b)
    with pytest.raises(ArgumentError, match="c has shape"):
        tw.gemm(a, a, np.ones((3, *(1,) * 40, 2, 2)), beta=1)


# ---- what is no number


@pytest.mark.parametrize(
    "value",
    [
        np.void(b"abc"), np.zeros((2, 2), "V8"), np.zeros((2, 2), "M8[s]"), np.zeros((2, 2), "m8[s]"),
        np.str_("a"), np.array([["a", "b"]] * 2), np.bytes_(b"a"),
    ],
    ids=lambda value: str(value.dtype),
)  # fmt: skip
def test_types_that_are_no_numbers_are_type_errors(value: Any) -> None:
    for pair in ((value, value), (value, np.eye(2)), (np.eye(2), value)):
        with pytest.raises(TypeError):
            np.matmul(*pair)
        with pytest.raises(DTypeError, match=f"is {value.dtype}".replace("[", r"\[")):
            tw.matmul(*pair)


def test_none_is_a_type_error() -> None:
    for pair in itertools.permutations((None, np.eye(2))):
        with pytest.raises(DTypeError, match="NoneType is no array of numbers"):
            tw.matmul(*pair)
    assert "None" in str(tw.matmul.__doc__)
