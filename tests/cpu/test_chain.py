"""Chains of products on arrays of this process: right in any layout, and in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.calls import chains, product
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF
from tilewright.errors import ArgumentError, DTypeError

pytestmark = pytest.mark.cpu

Array = np.ndarray[Any, np.dtype[Any]]
RANDOM = np.random.default_rng(0)


def drawn(*shape: int, dtype: Any = np.float64) -> Array:
    kind = np.dtype(dtype)
    real, imaginary = RANDOM.standard_normal((2, *shape))
    return (real + 1j * imaginary if kind.kind == "c" else real).astype(kind)


@pytest.mark.parametrize(
    ("dtype", "bound"),
    [("f2", 2e-2), (BFLOAT16, 2e-1), ("f4", 1e-4), ("f8", 1e-12), ("c8", 1e-4), ("c16", 1e-12)],
)
def test_a_covariance_and_its_step(dtype: Any, bound: float) -> None:
    f, p, q = (drawn(50, 6, 6, dtype=dtype) for _ in range(3))
    right = f.astype("c16") @ p.astype("c16") @ f.astype("c16").conj().mT + q.astype("c16")
    got = tw.chain(f, p, f.conj().mT, add=q)
    assert got.dtype == np.dtype(dtype)
    assert abs(got.astype("c16") - right).max() <= bound * abs(right).max()
    out = np.empty_like(p)
    assert tw.chain(f, p, f.conj().mT, add=q, out=out) is out
    assert np.array_equal(out, got)
    # In place, where the operand is read as it was.
    assert tw.chain(f, p, f.conj().mT, add=q, out=p) is p
    assert np.array_equal(p, got)


@pytest.mark.parametrize("rows", [6, 140])
def test_a_second_chain_plans_no_product(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels' products, and NumPy's."""
    tw.forget()
    ways = [
        (drawn(3, rows, rows), drawn(3, rows, rows), drawn(3, rows, rows), drawn(rows, rows))
        for _ in range(2)
    ]

    def check(a: Array, b: Array, c: Array, add: Array) -> None:
        out = np.empty_like(a)
        np.testing.assert_allclose(tw.chain(a, b, c), a @ b @ c, rtol=1e-10, atol=1e-8)
        np.testing.assert_allclose(tw.chain(a, b.mT, add=add), a @ b.mT + add, rtol=1e-10, atol=1e-8)
        assert tw.chain(a, b, c, add=add, out=out) is out
        np.testing.assert_allclose(out, a @ b @ c + add, rtol=1e-10, atol=1e-8)

    check(*ways[0])

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the slow path")

    monkeypatch.setattr(product, "run", refuse)
    check(*ways[1])


def refuse(*_: Any) -> None:
    raise AssertionError("the slow path")


class Other(np.ndarray):
    """A class of arrays that may mean something else by everything."""


def summed(a: Array, b: Array, c: Array | None, add: Array | None) -> Array:
    found = a @ b if c is None else a @ b @ c
    return found if add is None else found + add


@pytest.mark.parametrize("dtype", ["f8", "c8"])
@pytest.mark.parametrize("factors", [2, 3])
@pytest.mark.parametrize("added", ["nothing", "a stack", "a row"])
def test_a_chain_that_comes_again_is_its_products(
    dtype: str, factors: int, added: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = drawn(4, 3, 5, dtype=dtype), drawn(4, 5, 3, dtype=dtype)
    c = drawn(3, 3, dtype=dtype) if factors == 3 else None
    add = {"nothing": None, "a stack": drawn(4, 3, 3, dtype=dtype), "a row": drawn(3, dtype=dtype)[None]}[
        added
    ]
    out = np.empty((4, 3, 3), dtype)
    want = summed(a, b, c, add)
    # Once to plan the products, once to know what serves them.
    for _ in range(2):
        np.testing.assert_allclose(tw.chain(a, b, c, add=add), want, rtol=1e-4)
        assert tw.chain(a, b, c, add=add, out=out) is out
    with monkeypatch.context() as patch:
        patch.setattr(chains, "chain", refuse)
        for _ in range(2):
            a *= 2
            out[...] = 7
            want = summed(a, b, c, add)
            np.testing.assert_allclose(tw.chain(a, b, c, add=add), want, rtol=1e-4)
            assert tw.chain(a, b, c, add=add, out=out) is out
            np.testing.assert_allclose(out, want, rtol=1e-4)
            if add is not None and added == "a stack":
                # The sum goes on where it lies.
                total = add.copy()
                assert tw.chain(a, b, c, add=total, out=total) is total
                np.testing.assert_allclose(total, want, rtol=1e-4)


@pytest.mark.parametrize("factors", [2, 3])
def test_a_result_over_an_operand_that_is_not_aligned(factors: int) -> None:
    """What serves arrays that are aligned refuses it when what is added would be there already."""
    odd = np.ndarray((3, 4, 4), "f8", bytearray(3 * 4 * 4 * 8 + 1), 1)
    add, aligned = drawn(3, 4, 4), np.empty((3, 4, 4))
    for place in range(factors):
        for _ in range(3):
            odd[...] = drawn(3, 4, 4)
            given = [drawn(3, 4, 4) for _ in range(factors)]
            tw.chain(*given, add=add, out=aligned)
            given[place] = odd
            want = summed(given[0], given[1], given[2] if factors == 3 else None, add)
            assert tw.chain(*given, add=add, out=odd) is odd
            np.testing.assert_allclose(odd, want)


@pytest.mark.parametrize("factors", [2, 3])
def test_what_is_not_as_it_was_is_seen(factors: int) -> None:
    memory = np.zeros((7, 4, 4))
    a, b, c = memory[:3], drawn(3, 4, 4), drawn(3, 4, 4) if factors == 3 else None
    add, elsewhere = drawn(3, 4, 4), np.zeros((3, 4, 4))
    for _ in range(3):
        memory[...] = drawn(7, 4, 4)
        for more in (None, add):
            want = summed(a, b, c, more)
            np.testing.assert_allclose(tw.chain(a, b, c, add=more), want)
            np.testing.assert_allclose(tw.chain(a, b, c, add=more, out=elsewhere), want)
            # Results over operands, in part and whole, and over what is added.
            for start in (0, 1, 3):
                kept, want = memory.copy(), summed(a, b, c, more)
                out = memory[start : start + 3]
                assert tw.chain(a, b, c, add=more, out=out) is out
                np.testing.assert_allclose(out, want)
                memory[...] = kept
        for shift in (0, 1):
            kept, want = memory.copy(), summed(b, b, c, memory[3:6])
            out = memory[3 + shift : 6 + shift]
            tw.chain(b, b, c, add=memory[3:6], out=out)
            np.testing.assert_allclose(out, want)
            memory[...] = kept
        # Other types, classes and lists of the same shapes, and what may not be written.
        want = summed(a, b, c, add)
        for other in (lambda x: x.astype("f4"), lambda x: x.view(Other), lambda x: x.astype(">f8")):
            np.testing.assert_allclose(
                np.asarray(tw.chain(a, other(b), c, add=add)), want, rtol=1e-3, atol=1e-3
            )
            np.testing.assert_allclose(
                np.asarray(tw.chain(a, b, c, add=other(add))), want, rtol=1e-3, atol=1e-3
            )
        np.testing.assert_allclose(np.asarray(tw.chain(a, b, c, add=add.tolist())), want)
        elsewhere.flags.writeable = False
        with pytest.raises(ArgumentError, match="read-only"):
            tw.chain(a, b, c, add=add, out=elsewhere)
        elsewhere.flags.writeable = True


def test_complex_half() -> None:
    a = np.zeros((5, 3, 3), COMPLEX_HALF)
    a["re"], a["im"] = RANDOM.integers(-2, 3, (2, 5, 3, 3))
    wide = a["re"] + 1j * a["im"]
    got = tw.chain(a, a, a.swapaxes(-1, -2))
    right = wide @ wide @ wide.mT
    assert np.array_equal(got["re"] + 1j * got["im"], right)


def test_two_factors_and_what_broadcasts() -> None:
    h, s = drawn(7, 1, 4, 3), drawn(4, 4)
    np.testing.assert_allclose(tw.chain(h, h.mT, add=s), h @ h.mT + s)
    np.testing.assert_allclose(tw.chain(h, h.mT), h @ h.mT)
    a, b, c = drawn(7, 1, 4, 3), drawn(5, 3, 2), drawn(2, 6)
    np.testing.assert_allclose(tw.chain(a, b, c), a @ b @ c)
    np.testing.assert_allclose(
        tw.chain(a, b, c, add=drawn(2, 1, 1, 4, 6) * 0 + 1), np.stack([a @ b @ c + 1] * 2)
    )
    wide = tw.chain(drawn(4, 4, dtype="f4"), s)
    assert wide.dtype == np.float64


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (3, 0, 4, 5), (3, 4, 0, 5), (3, 4, 5, 0)])
def test_extents_of_zero(shape: tuple[int, int, int, int]) -> None:
    m, k, l, n = shape  # noqa: E741
    a, b, c, q = drawn(2, m, k), drawn(2, k, l), drawn(2, l, n), drawn(2, m, n)
    np.testing.assert_array_equal(tw.chain(a, b, c, add=q), a @ b @ c + q)
    np.testing.assert_array_equal(tw.chain(a, b, c), np.zeros((2, m, n)))


def test_what_is_refused_names_the_argument() -> None:
    a = drawn(4, 3)
    with pytest.raises(ArgumentError, match="3 columns do not meet 4 rows"):
        tw.chain(a, a)
    with pytest.raises(ArgumentError, match=r"out has shape \(3, 3\); accepted: \(4, 4\)"):
        tw.chain(a, a.T, out=np.empty((3, 3)))
    with pytest.raises(DTypeError, match="out is float32; accepted: float64"):
        tw.chain(a, a.T, out=np.empty((4, 4), np.float32))
    with pytest.raises(DTypeError, match="a is int64"):
        tw.chain(np.ones((2, 2), int), np.ones((2, 2), int))
