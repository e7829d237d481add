"""The second call of a kind: what it leaves out, and what it still sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.products import close, filled
from tilewright.calls import along, product
from tilewright.errors import ArgumentError, DTypeError
from tilewright.runtime import contraction_calls
from tilewright.runtime.fastcall_cpu import relaid

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


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "g"])
def test_what_no_kernel_knows_is_looked_up(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tw.forget()
    kinds = [((6, 5, 4), (6, 4, 3)), ((5, 4), (4,)), ((4,), (4,)), ((2, 3, 1, 4), (1, 4, 5))]

    def calls(seed: int) -> list[Any]:
        found = []
        for left, right in kinds:
            a, b = filled(left, seed=seed).astype(dtype), filled(right, seed=seed + 1).astype(dtype)
            want = np.matmul(a, b)
            out = np.zeros_like(want)
            assert out.ndim == 0 or tw.matmul(a, b, out) is out
            found += [(tw.matmul(a, b), want), (out if out.ndim else want, want)]
            if dtype != "g":
                found.append((tw.matmul(a, b, deterministic=True), want))
        return found

    calls(0)
    monkeypatch.setattr(product, "matmul", refuse)
    for got, want in calls(2):
        np.testing.assert_array_equal(got, want)
        assert (type(got), np.asarray(got).dtype) == (type(want), np.asarray(want).dtype)
    a, b = filled((6, 5, 4)).astype(dtype), filled((6, 4, 3)).astype(dtype)
    for other in (b.astype("f4"), b[..., :2], np.asfortranarray(b)):
        with pytest.raises(AssertionError, match="slow path"):
            tw.matmul(a, other)


@pytest.mark.parametrize("dtype", ["i8", "f8"])
def test_results_of_one_look_and_another_shape(dtype: str) -> None:
    """NumPy's product, too, is called for what was asked before alone."""
    n = 150
    a, b = filled((n, n)).astype(dtype), filled((n, n), seed=1).astype(dtype)
    room = np.zeros((n + 2, n), dtype)
    for _ in range(2):
        np.testing.assert_array_equal(tw.matmul(a, b, room[:n]), np.matmul(a, b))
    room[...] = 0
    with pytest.raises(ArgumentError, match="out has shape"):
        tw.matmul(a, b, room[1:])
    with pytest.raises(ArgumentError, match="out has shape"):
        tw.matmul(a, b, room[: n - 1])
    frozen = room[:n]
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        tw.matmul(a, b, frozen)
    assert not room.any()
    # A result over its own operand.
    both, want = a.copy(), np.matmul(a, b)
    tw.matmul(both, b, both)
    np.testing.assert_array_equal(both, want)


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


# ---- axes, and contractions of two

LAST = [(0, 1), (0, 1), (0, 1)]
# Arrays, the axes of their matrices and an equation of the same product: batches last, first and in between,
# vectors, axes counted from the end, and what NumPy multiplies.
ALONG: list[tuple[tuple[int, ...], tuple[int, ...], list[Any], str]] = [
    ((2, 3, 8), (3, 4, 8), LAST, "ijn,jkn->ikn"),
    ((2, 3, 8), (3, 4, 8), [(-3, -2), (-3, -2), (-3, -2)], "ijn,jkn->ikn"),
    ((3, 2, 8), (3, 4, 8), [(1, 0), (0, 1), (1, 0)], "jin,jkn->kin"),
    ((6, 2, 3), (6, 3, 4), [(1, 2), (1, 2), (1, 2)], "nij,njk->nik"),
    ((2, 6, 3), (3, 6, 4), [(0, 2), (0, 2), (0, 2)], "inj,jnk->ink"),
    ((6, 3, 2), (3,), [(2, 1), 0, (0,)], "nji,j->in"),
    ((3,), (3,), [0, 0, ()], "j,j->"),
    ((150, 150, 2), (150, 150, 2), LAST, "ijn,jkn->ikn"),
]
ALONG_IDS = [f"{equation} {axes}" for _, _, axes, equation in ALONG]


def refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("the slow path")


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize(("left", "right", "axes", "equation"), ALONG, ids=ALONG_IDS)
def test_a_second_call_along_axes_turns_nothing(
    left: tuple[int, ...],
    right: tuple[int, ...],
    axes: list[Any],
    equation: str,
    deterministic: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same elements, shape and strides as the first time, for other numbers, without and with ``out``."""
    tw.forget()
    how = {"deterministic": deterministic}
    a, b = filled(left), filled(right, seed=1)
    first = tw.matmul(a, b, axes=axes, **how)
    into = np.zeros(np.shape(first))
    tw.matmul(a, b, into, axes=axes, **how)
    with pytest.raises(ArgumentError, match="deterministic"):
        tw.matmul(a, b, axes=axes, deterministic=int(deterministic))  # type: ignore[arg-type]
    a, b = filled(left, seed=2), filled(right, seed=3)
    monkeypatch.setattr(along, "_moved", refuse)
    monkeypatch.setattr(product, "matmul", refuse)
    again = tw.matmul(a, b, axes=list(axes), **how)
    close(again, np.matmul(a, b, axes=axes))
    assert (type(again), np.shape(again)) == (type(first), np.shape(first))
    if isinstance(first, np.ndarray):
        assert (again.strides, again.dtype) == (first.strides, first.dtype)
        out = np.zeros_like(into)
        assert tw.matmul(a, b, out, axes=[*axes], **how) is out
        np.testing.assert_array_equal(out, again)
        with pytest.raises(AssertionError, match="slow path"):
            tw.matmul(a, b, np.zeros((*out.shape, 2))[..., 0], axes=axes, **how)
    # A call that promises the other thing has a kernel of its own.
    with pytest.raises(AssertionError, match="slow path"):
        tw.matmul(a, b, axes=axes, deterministic=not deterministic)
    tw.forget()
    with pytest.raises(AssertionError, match="slow path"):
        tw.matmul(a, b, axes=axes, **how)


def test_a_call_along_axes_goes_through_little(calls_of: Callable[[Callable[[], object]], int]) -> None:
    a, b = filled((2, 2, 8)), filled((2, 2, 8), seed=1)
    views = [x.transpose(2, 0, 1) for x in (a, b, np.empty_like(a))]
    out = np.empty_like(a)
    equal = [tuple(range(2)) for _ in range(3)]
    calls: list[Callable[[], object]] = [
        lambda: tw.matmul(*views),
        lambda: tw.matmul(a, b, axes=[(0, 1)] * 3),
        lambda: tw.matmul(a, b, out, axes=[(0, 1)] * 3),
        lambda: tw.matmul(a, b, out, axes=equal),
        lambda: tw.einsum("ijn,jkn->ikn", a, b),
        lambda: tw.einsum("ijn,jkn->ikn", a, b, out=out),
    ]
    for call in calls:
        call()
    # The lambda, the public function, and the look.
    assert [calls_of(call) for call in calls] == [2, 3, 3, 3, 3, 3]


@pytest.mark.parametrize("made", [lambda x: float(x), lambda x: np.float32(x), lambda x: complex(x), str])
def test_what_equals_axes_and_is_none(made: Callable[[int], Any]) -> None:
    a, b = filled((2, 3, 8)), filled((3, 4, 8), seed=1)
    for into in (None, np.empty((2, 4, 8))):
        for _ in range(2):
            tw.matmul(a, b, into, axes=LAST)
            for at in range(3):
                axes = [entry if number != at else (0, made(1)) for number, entry in enumerate(LAST)]
                with pytest.raises(ArgumentError, match=rf"axes\[{at}\]"):
                    tw.matmul(a, b, into, axes=axes)
                with pytest.raises(ArgumentError, match=rf"axes\[{at}\]"):
                    tw.matmul(a, b, into, axes=[*axes[:at], list(LAST[at]), *axes[at + 1 :]])
            for wrong in (tuple(LAST), LAST[:2], [*LAST, (0, 1)], 3):
                with pytest.raises(ArgumentError, match="a list of three"):
                    tw.matmul(a, b, into, axes=wrong)
    v = filled((3,))
    close(tw.matmul(v, v, axes=[0, 0, ()]), v @ v)
    with pytest.raises(ArgumentError, match=r"axes\[0\]"):
        tw.matmul(v, v, axes=[made(0), 0, ()])


class Place:
    """An axis that is no integer."""

    def __init__(self, at: int):
        self.at = at

    def __index__(self) -> int:
        return self.at


def test_axes_of_other_types_and_lists_that_change() -> None:
    a, b = filled((3, 3, 3)), filled((3, 3, 3), seed=1)
    axes: list[Any] = [(0, 1), (0, 1), (0, 1)]
    for out in (None, np.empty((3, 3, 3))):
        for second in (1, 2, np.int64(1), np.int8(-1), True, 2, 1, Place(1), np.array(1)):
            axes[0] = (0, second)
            close(
                tw.matmul(a, b, out, axes=axes),
                np.matmul(a, b, axes=[(0, int(second.__index__())), *LAST[1:]]),
            )


@pytest.mark.parametrize("count", [8, 600])
@pytest.mark.parametrize("way", ["axes", "einsum"])
def test_arrays_along_axes_that_are_not_as_before(way: str, count: int) -> None:
    def multiply(a: Any, b: Any, out: Any = None) -> Any:
        if way == "axes":
            return tw.matmul(a, b, out, axes=LAST)
        return tw.einsum("ijn,jkn->ikn", a, b, out=out)

    def wanted(a: Any, b: Any) -> Any:
        return np.einsum("ijn,jkn->ikn", a, b)

    a, b, out = filled((3, 3, count)), filled((3, 3, count), seed=1), np.zeros((3, 3, count))
    for _ in range(2):
        close(multiply(a, b), wanted(a, b))
        assert multiply(a, b, out) is out
        close(out, wanted(a, b))
    # Types, of which the first one's is looked up alone, and memory that is not aligned.
    close(multiply(a, b.astype("c16")), wanted(a, b.astype("c16")))
    odd = np.frombuffer(b"\0" + b.tobytes(), "f8", offset=1).reshape(b.shape)
    close(multiply(a, odd), wanted(a, b))
    swapped = b.astype(b.dtype.newbyteorder())
    close(multiply(a, swapped), wanted(a, b))
    close(np.asarray(multiply(a, b.view(Other))), wanted(a, b))
    close(multiply(a, b.tolist()), wanted(a, b))
    # A result over an operand, and over a part of one.
    memory = np.zeros((3, 3, count + 3))
    part, moved = memory[..., :count], memory[..., 3:]
    for into in (part, moved):
        part[...] = a
        multiply(part.copy(), b, into)
        part[...] = a
        assert multiply(part, b, into) is into
        close(into, wanted(a, b))
    # Results that cannot be written to, or are of another shape or type.
    frozen = np.zeros_like(out)
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        multiply(a, b, frozen)
    with pytest.raises(ArgumentError, match="out"):
        multiply(a, b, np.zeros((3, 2, count)))
    with pytest.raises((ArgumentError, DTypeError), match="out"):
        multiply(a, b, np.zeros((3, 3, count), "i8"))
    with pytest.raises((ArgumentError, DTypeError), match="out"):
        multiply(a, b, [1.0])


def test_calls_along_axes_with_options_are_those_with_options() -> None:
    a, b = filled((6, 3, 4)), filled((6, 4, 5), seed=1)
    axes = [(1, 2)] * 3
    close(tw.matmul(a, b, axes=axes), a @ b)
    np.testing.assert_array_equal(
        tw.matmul(a, b, axes=axes, deterministic=True), tw.matmul(a, b, deterministic=True)
    )
    with pytest.raises(ArgumentError, match="math"):
        tw.matmul(a, b, axes=axes, math="tf64")
    with pytest.raises(ArgumentError, match="dtype"):
        tw.matmul(a, b, axes=axes, dtype="f8")


EQUATIONS = [
    *[(left, right, equation) for left, right, _, equation in ALONG[:-1]],
    ((8, 2, 3), (8, 3, 4), "nij,njk->nki"),
    ((2, 3, 1, 8), (1, 3, 4, 8), "ijan,ajkn->aikn"),
    ((3, 3, 8, 2), (2, 4), "iinj,jk->nik"),
    ((3, 2, 4, 5), (4, 5), "abij,ij->ab"),
    ((4, 5), (3, 2, 4, 5), "ij,abij->ab"),
]


@pytest.mark.parametrize(("left", "right", "equation"), EQUATIONS, ids=[row[2] for row in EQUATIONS])
def test_a_second_contraction_of_two_is_one_call(
    left: tuple[int, ...], right: tuple[int, ...], equation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tw.forget()
    a, b = filled(left), filled(right, seed=1)
    first = tw.einsum(equation, a, b)
    into = np.zeros(np.shape(first))
    tw.einsum(equation, a, b, out=into)
    a, b = filled(left, seed=2), filled(right, seed=3)
    wanted = np.einsum(equation, a, b)
    monkeypatch.setattr(contraction_calls, "_key", refuse)
    again = tw.einsum(equation, a, b)
    close(again, wanted)
    assert (type(again), again.shape, again.strides) == (type(first), first.shape, first.strides)
    out = np.full_like(into, 7)
    assert tw.einsum(equation, a, b, out=out) is out
    close(out, wanted)
    for other in ({"optimize": "greedy"}, {"out": np.zeros((*into.shape, 2))[..., 0]}):
        if into.shape or "optimize" in other:
            with pytest.raises(AssertionError, match="slow path"):
                tw.einsum(equation, a, b, **other)


def test_contractions_that_are_more_than_one_product_go_their_ways() -> None:
    a, b, c = (filled((3, 3, 8), seed=seed) for seed in range(3))
    for _ in range(3):
        # Sums and copies before the product, a copy after it, three operands, lists of labels and a path.
        close(tw.einsum("ijn,jkm->ik", a, b), np.einsum("ijn,jkm->ik", a, b))
        close(
            tw.einsum("ijn,ikn->jk", a[..., ::2], b[..., 1::2]),
            np.einsum("ijn,ikn->jk", a[..., ::2], b[..., 1::2]),
        )
        close(tw.einsum("ijn,jkn,kln->iln", a, b, c), np.einsum("ijn,jkn,kln->iln", a, b, c))
        close(tw.einsum(a, [0, 1, 2], b, [1, 3, 2], [0, 3, 2]), np.einsum("ijn,jkn->ikn", a, b))
        close(tw.einsum("ijn,jkn->ikn", a, b, optimize=[(0, 1)]), np.einsum("ijn,jkn->ikn", a, b))
        close(tw.einsum("ijn,ijn->ijn", a, b), a * b)


def test_contractions_whose_arrays_are_not_those_of_the_product() -> None:
    """Operands that are copied first, labels in arrays, and a given result that is written to at the end."""
    parts = np.zeros((2, 3, 3, 8), [("z", "c16"), ("more", "f8")])["z"]
    parts[...] = filled(parts.shape, "c16")
    free = [filled((8, 8, 8)).transpose(1, 0, 2), filled((3, 8, 8), seed=1).transpose(1, 0, 2)]
    spread = np.zeros((8, 3, 9, 2)).transpose(2, 1, 0, 3)[:8, :, :, 0]
    for _ in range(3):
        close(tw.einsum("ijn,jkn->ikn", *parts), np.einsum("ijn,jkn->ikn", *parts))
        left, right = free
        labels = [np.array(x) for x in ([0, 1, 2], [1, 3, 2], [0, 3, 2])]
        close(tw.einsum(left, labels[0], right, labels[1], labels[2]), np.einsum("ijn,jkn->ikn", left, right))
        assert tw.einsum("ijn,jkn->ikn", left, right, out=spread) is spread
        close(spread, np.einsum("ijn,jkn->ikn", left, right))
        spread[...] = 0


def test_builtins_for_arrays_that_lie_otherwise() -> None:
    a, b, out = filled((6, 5, 5)), filled((6, 5, 5), seed=1), np.zeros((6, 5, 5))
    function = tw.plan(a, b)._function
    assert function is not None
    turned = [x.transpose(1, 2, 0) for x in (a, b, out)]
    other = relaid(function, [(x.shape, x.strides) for x in turned])
    assert other is not None
    assert other(a, b, out) is NotImplemented
    assert other(*turned) is turned[2]
    close(out, a @ b)
    # The first alone; the others lie as before.
    first = relaid(function, [(turned[0].shape, turned[0].strides)])
    assert first is not None
    assert first(turned[0], b, out) is out
    assert first(*turned) is NotImplemented
    assert relaid(function, [((1,) * 9, (8,) * 9)]) is None
    assert relaid(len, [(a.shape, a.strides)]) is None
