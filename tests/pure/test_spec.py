"""What a call asks for, from layouts and options alone: shapes, types, and what is refused.

Most layouts here lie at an address that no process can read: an access would end this one.
"""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tilewright.arrays.layout import paired
from tilewright.arrays.view import ArrayView, address_of, view_at
from tilewright.calls.spec import (
    PLAIN,
    Options,
    ProductSpec,
    apart,
    castable_out,
    checked_out,
    exact,
    gemm_spec,
    matmul_spec,
    number,
    of_pairs,
    product_shape,
)
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF
from tilewright.errors import ArgumentError, DTypeError

pytestmark = pytest.mark.pure

NOWHERE = 0x10


def lying(*shape: int, dtype: Any = "f8", strides: tuple[int, ...] | None = None, **more: Any) -> ArrayView:
    """An array that is nowhere."""
    return view_at(NOWHERE, shape, strides, np.dtype(dtype), **more)


def matmul(a: Any, b: Any) -> ProductSpec:
    return matmul_spec(PLAIN[False], a, b)


# ---- shapes

extents = st.integers(0, 3)


@given(st.lists(extents, max_size=4), st.lists(extents, max_size=4))
def test_matmul_has_numpys_shapes_and_refuses_what_numpy_refuses(one: list[int], other: list[int]) -> None:
    a, b = np.zeros(one), np.zeros(other)
    try:
        want = np.matmul(a, b)
    except ValueError:
        with pytest.raises(ArgumentError):
            matmul(lying(*one), lying(*other))
        return
    spec = matmul(lying(*one), lying(*other))
    assert spec.final == want.shape
    assert spec.shape == (*spec.shape[:-2], spec.left.shape[-2], spec.right.shape[-1])
    assert spec.left.shape[-1] == spec.right.shape[-2]
    assert spec.matrices(lying(*spec.final)).shape == spec.shape
    assert matmul(a, b).final == want.shape


@given(st.lists(extents, min_size=2, max_size=4), st.lists(extents, min_size=2, max_size=4), st.data())
def test_gemm_is_matmul_of_transposed_matrices(one: list[int], other: list[int], data: st.DataObject) -> None:
    letters = data.draw(st.tuples(st.sampled_from("ntc"), st.sampled_from("ntc")))
    a, b = lying(*one, dtype="c16"), lying(*other, dtype="c16")
    sides = [x if letter == "n" else x.swapaxes(-1, -2) for x, letter in zip((a, b), letters, strict=True)]
    options = Options(1, 0, *letters)
    try:
        want = matmul(*sides)
    except ArgumentError as error:
        with pytest.raises(ArgumentError, match=f"^{re.escape(str(error))}$"):
            gemm_spec(options, a, b)
        return
    spec = gemm_spec(options, a, b)
    assert (spec.shape, spec.final, spec.dtype) == (want.shape, want.final, want.dtype)
    assert (spec.left, spec.right) == (want.left, want.right)
    assert (spec.a, spec.b, spec.update) == (a, b, None)


def test_no_element_is_read_and_no_memory_is_another() -> None:
    a, b = lying(5, 4), lying(3, 4, 6)
    spec = gemm_spec(Options(1, 1, "n", "n"), a, b, lying(6))
    assert {address_of(x) for x in (spec.left, spec.right, spec.update) if x is not None} == {NOWHERE}
    with pytest.raises(FrozenInstanceError):
        spec.shape = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ((2, 3), (4, 2), "3 columns do not meet 4 rows"),
        ((3,), (4,), "3 columns do not meet 4 rows"),
        ((2, 3, 3), (4, 3, 3), r"leading axes of a \(2,\) and b \(4,\) do not broadcast"),
        ((), (2, 2), "a is a scalar"),
        ((2, 2), (), "b is a scalar"),
    ],
)
def test_shapes_without_a_product(a: tuple[int, ...], b: tuple[int, ...], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        matmul(lying(*a), lying(*b))


def test_gemm_wants_matrices_and_letters() -> None:
    x = lying(3, 3)
    for a, b, name in ((lying(3), x, "a"), (x, lying(3), "b")):
        with pytest.raises(ArgumentError, match=rf"{name} has shape \(3,\); accepted: two or more axes"):
            gemm_spec(Options(), a, b)
    for letters, name in (("xn", "trans_a='x'"), ("nT", "trans_b='T'")):
        with pytest.raises(ArgumentError, match=f"{name}; accepted: 'n', 't', 'c'"):
            gemm_spec(Options(1, 0, *letters), x, x)


def test_many_leading_axes() -> None:
    """More than NumPy broadcasts."""
    ones = (1,) * 40
    assert product_shape((*ones, 5, 2, 3), (7, 5, 3, 4)) == (*ones[:-1], 7, 5, 2, 4)


# ---- types


@pytest.mark.parametrize("one", ["i4", "f2", "f4", "f8", "c8", "c16", "b1"])
@pytest.mark.parametrize("other", ["i4", "f2", "f4", "f8", "c8", "c16", "b1"])
def test_types_are_promoted_as_numpy_does(one: str, other: str) -> None:
    a, b = lying(2, 2, dtype=one), lying(2, 2, dtype=other)
    want = np.result_type(np.dtype(one), np.dtype(other))
    spec = matmul(a, b)
    assert spec.dtype == want
    assert spec.supported is (want.kind in "fc")
    if spec.supported:
        assert gemm_spec(Options(), a, b).dtype == want
    else:
        with pytest.raises(DTypeError, match="accepted: float16, bfloat16"):
            gemm_spec(Options(), a, b)


def test_c_takes_part_in_the_type_where_it_is_added() -> None:
    a, c = lying(2, 2, dtype="f4"), lying(2, 2, dtype="f8")
    assert gemm_spec(Options(beta=2), a, a, c).dtype == np.dtype("f8")
    plain = gemm_spec(Options(beta=0), a, a, c)
    assert (plain.dtype, plain.update) == (np.dtype("f4"), None)


def test_halves_and_complex_halves() -> None:
    b, hc = lying(2, 2, dtype=BFLOAT16), lying(2, 2, dtype=COMPLEX_HALF)
    assert matmul(b, b).dtype == BFLOAT16
    assert matmul(b, lying(2, 2, dtype="f4")).dtype == np.dtype("f4")
    assert matmul(hc, hc).dtype == COMPLEX_HALF
    for pair, name in (((hc, b), "b"), ((b, hc), "a")):
        with pytest.raises(DTypeError, match=f"{name} is bfloat16 .* complex half alone"):
            matmul(*pair)


@pytest.mark.parametrize("dtype", ["U3", "S2", "M8[s]", "m8[s]", "V8"])
def test_what_holds_no_numbers(dtype: str) -> None:
    x = np.zeros((2, 2))
    for a, b, name in ((np.zeros((2, 2), dtype), x, "a"), (x, np.zeros((2, 2), dtype), "b")):
        with pytest.raises(DTypeError, match=f"{name} is .*; accepted: numbers"):
            matmul(a, b)


# ---- options


@pytest.mark.parametrize(
    ("alpha", "beta", "classes"),
    [(1, 0, ("1", "0")), (1.0, 1, ("1", "1")), (2, 0.5, ("any", "any")), (0, -1, ("any", "any"))],
)
def test_classes_of_scalars(alpha: float, beta: float, classes: tuple[str, str]) -> None:
    options = Options.of(alpha, beta, "n", "n")
    assert options.classes == classes
    assert options.scalars == (alpha, beta)
    assert not options.forced


@pytest.mark.parametrize("value", ["1", None, [1, 2], np.zeros(2), object(), np.datetime64(1, "s")])
def test_scalars_are_numbers(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"alpha=.*; accepted: a number"):
        Options.of(value, 0, "n", "n")
    with pytest.raises(ArgumentError, match=r"beta=.*; accepted: a number"):
        Options.of(1, value, "n", "n")


def test_numbers_of_every_kind() -> None:
    for value in (1, True, 1.0, 1 + 0j, np.float32(1), np.array(1), np.ones((), BFLOAT16)):
        assert number(value, "alpha") == 1


def test_real_products_have_real_scalars() -> None:
    x, z = lying(2, 2), lying(2, 2, dtype="c16")
    for options, name in ((Options(alpha=1j), "alpha"), (Options(beta=1j), "beta")):
        with pytest.raises(ArgumentError, match=f"{name}=1j for arrays of float64; accepted: a real number"):
            gemm_spec(options, x, x, x)
        assert gemm_spec(options, z, x, x).dtype == np.dtype("c16")


def test_what_is_forced() -> None:
    assert Options.of(1, 0, "n", "n", stencil="tile").forced
    found = Options.of(1, 0, "n", "n", config={"rows": 4})
    assert found.forced
    assert found.config is not None
    assert found.config["rows"] == 4
    for config in (3, {"rows": []}, "tile"):
        with pytest.raises(ArgumentError, match=r"config=.*; accepted: a map from names to plain values"):
            Options.of(1, 0, "n", "n", config=config)  # type: ignore[arg-type]


def test_pairs_are_asked_for_by_one_word() -> None:
    assert of_pairs("hc")
    assert not of_pairs(None)
    for dtype in ("h", "", 1, np.float16):
        with pytest.raises(ArgumentError, match=r"dtype=.*; accepted: 'hc'"):
            of_pairs(dtype)  # type: ignore[arg-type]


@pytest.mark.parametrize("letter", ["n", "t", "c"])
@pytest.mark.parametrize("conj", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_what_enters_conjugated(letter: str, conj: bool, dtype: str) -> None:
    x, y = lying(2, 2, dtype=dtype, conj=conj), lying(2, 2, dtype=dtype)
    wants = dtype == "c16" and conj != (letter == "c")
    assert Options(1, 0, letter, "n").conjugated(x, y) == (wants, False)
    assert Options(1, 0, "n", letter).conjugated(y, x) == (False, wants)


# ---- c


@pytest.mark.parametrize("c", [(4, 5), (5,), (4, 1), (1, 1), (), (3, 4, 5), (2, 3, 4, 5), (1, 4, 5)])
def test_c_is_broadcast_and_widens_the_result(c: tuple[int, ...]) -> None:
    for made in (lying(*c), np.zeros(c)):
        spec = gemm_spec(Options(beta=1), lying(3, 4, 2), lying(2, 5), made)
        assert spec.update is not None
        assert spec.update.shape == spec.shape == spec.final == np.broadcast_shapes((3, 4, 5), c)
    with pytest.raises(ArgumentError, match="c has shape"):
        gemm_spec(Options(beta=1), lying(3, 4, 2), lying(2, 5), lying(2, 4, 5))
    with pytest.raises(ArgumentError, match="c has shape"):
        gemm_spec(Options(beta=1), lying(3, 4, 2), lying(2, 1), lying(4, 5))


# ---- out


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (lying(4, 5), ArgumentError, r"out has shape \(4, 5\); accepted: \(4, 4\)"),
        (lying(4, 4, dtype="f4"), DTypeError, "out is float32; accepted: float64"),
        (lying(4, 4, readonly=True), ArgumentError, "out is read-only"),
        (lying(4, 4, strides=(0, 8)), ArgumentError, "several elements share one place"),
    ],
)
def test_an_out_that_is_refused(out: ArrayView, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        checked_out(out, (4, 4), np.dtype("f8"))


def test_an_out_of_pairs() -> None:
    pairs = lying(4, 4, 2, dtype="f2")
    found = checked_out(pairs, (4, 4), COMPLEX_HALF, pairs=True, gpu=True)
    assert (found.shape, found.dtype, address_of(found)) == ((4, 4), COMPLEX_HALF, NOWHERE)
    split = lying(4, 4, 2, dtype="f2", strides=(16, 4, 8))
    with pytest.raises(ArgumentError, match="out has strides"):
        checked_out(split, (4, 4), COMPLEX_HALF, pairs=True)
    with pytest.raises(ArgumentError, match=r"accepted: \(3, 4, 2\)"):
        checked_out(pairs, (3, 4), COMPLEX_HALF, pairs=True)


@pytest.mark.parametrize(
    ("address", "strides", "whole"),
    [
        (0x10, (16, 4, 2), True),
        (0x12, (16, 4, 2), False),
        (0x10, (18, 4, 2), False),
        (0x10, (26, 6, 2), False),
    ],
)
def test_pairs_on_a_gpu_begin_at_multiples_of_their_size(
    address: int, strides: tuple[int, ...], whole: bool
) -> None:
    pairs = view_at(address, (4, 4, 2), strides, np.dtype("f2"))
    assert paired(pairs, "a") is not None
    assert (paired(pairs, "a", gpu=True) is not None) is whole


@example([3, 2], "f8")
@given(st.lists(st.integers(1, 3), max_size=4), st.sampled_from(["f2", "f4", "f8", "c16", "i8", ">f8"]))
def test_an_out_of_matmul_takes_what_numpys_does(shape: list[int], dtype: str) -> None:
    a, b, out = np.ones((2, 3, 2)), np.ones((2, 2)), np.zeros(shape, dtype)
    spec = matmul(a, b)
    try:
        np.matmul(a, b, out=out)
    except (TypeError, ValueError):
        with pytest.raises((ArgumentError, DTypeError)):
            castable_out(out, spec)
        return
    assert castable_out(out, spec) is out
    assert exact(out, spec.final, spec.dtype) is (shape == [2, 3, 2] and dtype == "f8")


def test_apart() -> None:
    assert apart(lying(3, 1, strides=(8, 0)))
    assert apart(lying(0, 3, strides=(0, 0)))
    assert not apart(lying(3, 2, strides=(8, 0)))
