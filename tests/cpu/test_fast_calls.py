"""The second call of a kind: what it leaves out, and what it still sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.products import close, filled
from tilewright.calls import product
from tilewright.errors import ArgumentError

pytestmark = pytest.mark.cpu


# What a kernel multiplies, and what NumPy does.
SHAPES = [(6, 5, 5), (2, 150, 150)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_second_call_takes_the_fast_way(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    tw.forget()
    a, b = filled(shape), filled(shape, seed=1)
    assert ("numpy.matmul" in tw.explain(a, b)) == (shape[-1] == 150)
    first = tw.matmul(a, b)

    def refuse(*_: Any) -> None:
        raise AssertionError("the slow path")

    monkeypatch.setattr(product, "matmul", refuse)
    np.testing.assert_array_equal(tw.matmul(a, b), first)
    with pytest.raises(AssertionError, match="slow path"):
        tw.matmul(a, b, np.empty_like(a))
    with pytest.raises(AssertionError, match="slow path"):
        tw.matmul(a, b.swapaxes(1, 2))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("change", ["transposed", "type", "readonly out", "matrix", "order", "unaligned"])
def test_the_fast_way_sees_what_is_not_as_planned(change: str, shape: tuple[int, ...]) -> None:
    a, b = filled(shape), filled(shape, seed=1)
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
    found = tw.matmul(a, other)
    close(found, np.matmul(a, other))
    assert found.dtype == np.matmul(a, other).dtype
    if change == "readonly out":
        out = np.zeros_like(a)
        out.flags.writeable = False
        with pytest.raises(ArgumentError, match="read-only"):
            tw.plan(a, b)(a, b, out=out)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_result_that_may_not_be_written_or_overlaps(shape: tuple[int, ...]) -> None:
    a, b = filled(shape), filled(shape, seed=1)
    out = np.empty_like(a)
    for _ in range(2):
        assert tw.matmul(a, b, out) is out
    wanted = a @ b
    close(out, wanted)
    out.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        tw.matmul(a, b, out)
    assert tw.matmul(a, b, a) is a
    close(a, wanted)


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


LETTERS = ("n", "t", "c")
SCALARS: list[tuple[complex, complex]] = [(1, 0), (-2.5, 0), (1, 1), (0.5, -3)]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_second_gemm_is_not_planned_either(
    shape: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into an array that is there, into a new one, with one to add and without, in all transpositions."""
    turn = {"n": lambda x: x, "t": lambda x: x.swapaxes(1, 2), "c": lambda x: x.conj().swapaxes(1, 2)}
    first, second = ([filled(shape, dtype, seed=seed + i) for i in range(3)] for seed in (0, 7))

    def calls(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Iterator[None]:
        for at, (alpha, beta) in enumerate(SCALARS):
            left, right = LETTERS[at % 3], LETTERS[(at + 1) % 3]
            options: dict[str, Any] = {"alpha": alpha, "beta": beta, "trans_a": left, "trans_b": right}
            product = alpha * np.matmul(turn[left](a), turn[right](b))
            before = c.copy()
            made = tw.gemm(a, b, c, **options)
            close(made, (product + beta * before).astype(dtype))
            np.testing.assert_array_equal(c, before)
            assert made.base is None or not np.shares_memory(made, c)
            into = c.copy()
            assert tw.gemm(a, b, **options, out=into) is into
            close(into, (product + beta * before).astype(dtype))
            if beta == 0:
                close(tw.gemm(a, b, **options), product.astype(dtype))
            yield

    tw.forget()
    assert len(list(calls(*first))) == len(SCALARS)

    def refuse(*_: Any) -> None:
        raise AssertionError("the slow path")

    monkeypatch.setattr(product, "gemm", refuse)
    assert len(list(calls(*second))) == len(SCALARS)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_second_gemm_sees_what_is_not_as_before(shape: tuple[int, ...]) -> None:
    a, b, c = (filled(shape, seed=seed) for seed in range(3))
    want = np.matmul(a, b) + 2 * c
    for _ in range(2):
        close(tw.gemm(a, b, c, beta=2), want)
    # What is added may be of another shape or class, and has to be there.
    close(tw.gemm(a, b, c[:1], beta=2), np.matmul(a, b) + 2 * c[:1])
    close(np.asarray(tw.gemm(a, b, c.view(Other), beta=2)), want)
    close(tw.gemm(a, b, c.tolist(), beta=2), want)
    with pytest.raises(ArgumentError, match="without c"):
        tw.gemm(a, b, beta=2)
    close(tw.gemm(a.astype("f4"), b.astype("f4"), c.astype("f4"), beta=2), want.astype("f4"))
    readonly = np.zeros(shape)
    close(tw.gemm(a, b, out=readonly), np.matmul(a, b))
    readonly.flags.writeable = False
    with pytest.raises(ArgumentError, match="out"):
        tw.gemm(a, b, out=readonly)
    # A result over its own operand.
    both = a.copy()
    tw.gemm(both, b, out=both)
    close(both, np.matmul(a, b))


def test_a_second_deterministic_call_is_not_planned_either(monkeypatch: pytest.MonkeyPatch) -> None:
    tw.forget()
    a, b, c = (filled((6, 5, 5), seed=seed) for seed in range(3))

    def calls() -> list[np.ndarray]:
        made = tw.matmul(a, b, deterministic=True)
        into = tw.matmul(a, b, np.empty_like(a), deterministic=True)
        added = tw.gemm(a, b, c, beta=2, deterministic=True)
        return [made, into, added, tw.gemm(a, b, out=np.empty_like(a), deterministic=True)]

    first = calls()
    close(first[0], np.matmul(a, b))
    close(first[2], np.matmul(a, b) + 2 * c)

    def refuse(*_: Any) -> None:
        raise AssertionError("the slow path")

    for name in ("matmul", "gemm"):
        monkeypatch.setattr(product, name, refuse)
    for before, again in zip(first, calls(), strict=True):
        np.testing.assert_array_equal(before, again)
    # A call that promises nothing has a kernel of its own.
    with pytest.raises(AssertionError, match="slow path"):
        tw.matmul(a, b)


class Other(np.ndarray):
    """A class of arrays that may mean something else by everything."""


def test_a_plan_of_numpys_takes_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c = (filled(SHAPES[1], seed=seed) for seed in range(3))
    plain, added = tw.plan(a, b), tw.plan(a, b, c, alpha=2, beta=-1, trans_a="t")
    assert plain.plan.stencil is None
    real = product.gemm

    def refuse(*_: Any) -> None:
        raise AssertionError("the slow path")

    monkeypatch.setattr(product, "gemm", refuse)
    close(plain(a, b), np.matmul(a, b))
    into = c.copy()
    assert added(a, b, into, out=into) is into
    close(into, 2 * np.matmul(a.swapaxes(1, 2), b) - c)
    monkeypatch.setattr(product, "gemm", real)
    # Other shapes and types are planned for.
    close(plain(a[:1], b[:1]), np.matmul(a[:1], b[:1]))
    close(plain(a.astype("f4"), b.astype("f4")), np.matmul(a, b).astype("f4"))
    with pytest.raises(ArgumentError, match="out"):
        plain(a, b, out=np.empty((3, 150, 150)))
