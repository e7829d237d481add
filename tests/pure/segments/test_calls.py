"""Calls on groups on the device: shapes, layouts, what is launched, borders."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.pure.segments.pretence import Bare
from tilewright.arrays import backend as lookup
from tilewright.arrays.library import Library
from tilewright.arrays.segments import shapes_of
from tilewright.arrays.view import ArrayView, Looker, Owner, address_of, view_at
from tilewright.calls import segments as calls
from tilewright.calls import settings
from tilewright.calls.segments import clamped
from tilewright.dtypes import COMPLEX_HALF, FLOAT16
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import SegmentedProblem

pytestmark = pytest.mark.pure


def wanted(a: np.ndarray, b: np.ndarray, ranges: list[tuple[int, int]], split: str) -> np.ndarray:
    if split == "k":
        return np.stack([a[..., x:y] @ b[..., x:y, :] for x, y in ranges])
    lead = a[..., 0, 0] if split == "m" else a[0, ..., 0, 0]
    other = b[0, ..., 0, 0] if split == "m" else b[..., 0, 0]
    batch = np.broadcast_shapes(lead.shape, other.shape)
    out = np.zeros((*batch, a.shape[-2], b.shape[-1]), a.dtype)
    for group, (x, y) in enumerate(ranges):
        if split == "m":
            out[..., x:y, :] = a[..., x:y, :] @ b[group]
        else:
            out[..., x:y] = a[group] @ b[..., x:y]
    return out


def filled(draw: random.Random, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Whole numbers, stored by rows, by columns, with gaps or backwards."""
    numbers = np.random.default_rng(draw.getrandbits(32))
    values = numbers.integers(-3, 4, shape).astype(dtype)
    values = values + (1j * numbers.integers(-3, 4, shape)).astype(dtype) if dtype[0] == "c" else values
    way = draw.choice(("rows", "columns", "gaps", "backwards"))
    if way == "columns":
        return np.ascontiguousarray(values.swapaxes(-1, -2)).swapaxes(-1, -2)
    if way == "gaps":
        wide = np.zeros((*shape[:-1], shape[-1] + draw.randint(1, 4)), dtype)
        wide[..., : shape[-1]] = values
        return wide[..., : shape[-1]]
    return np.ascontiguousarray(values[..., ::-1, :])[..., ::-1, :] if way == "backwards" else values


BATCHES = [((), ()), ((3,), ()), ((), (2,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 1, 2), (1, 3, 2))]


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, str, bool, list[tuple[int, int]]]:
    draw = random.Random(seed)
    split, dtype = "mnk"[seed % 3], draw.choice(("f4", "f8", "c8", "c16"))
    length, x, y = (draw.choice((1, 4, 7, 16)) for _ in range(3))
    groups, (one, other) = draw.choice((1, 2, 5)), draw.choice(BATCHES)
    if split == "m":
        a, b = filled(draw, (*one, length, x), dtype), filled(draw, (groups, *other, x, y), dtype)
    elif split == "n":
        a, b = filled(draw, (groups, *one, x, y), dtype), filled(draw, (*other, y, length), dtype)
    else:
        a, b = filled(draw, (*one, x, length), dtype), filled(draw, (*other, length, y), dtype)
    given = [draw.randint(-2, length + 3) for _ in range(groups)]
    sizes = draw.random() < 0.3
    if not sizes and split != "k" and draw.random() < 0.3:
        given.insert(0, draw.randint(0, length))
    ends = np.array(given, draw.choice(("i4", "i8")))
    return a, b, ends, split, sizes, clamped(ends, length, groups, sizes)


@pytest.mark.parametrize("seed", range(40))
def test_any_layout_is_launched_or_said_to_need_a_copy(gpu: list[SegmentedProblem], seed: int) -> None:
    a, b, ends, split, sizes, ranges = drawn(seed)
    want = wanted(a, b, ranges, split)
    out = np.full(want.shape, np.nan, want.dtype)
    if seed % 4 == 0:
        out = np.full((*want.shape[:-2], want.shape[-1], want.shape[-2]), np.nan, want.dtype).swapaxes(-1, -2)
    borders = {"sizes" if sizes else "offsets": Bare(ends)}
    taken = Bare(out)
    assert tw.segment_matmul(Bare(a), Bare(b), **borders, split=split, out=taken) is taken
    np.testing.assert_array_equal(out, want)
    assert gpu
    assert {p.groups for p in gpu} == {len(ranges)}


@pytest.mark.parametrize("seed", range(60))
def test_a_processor_loops_over_the_groups(seed: int) -> None:
    a, b, ends, split, sizes, ranges = drawn(seed)
    want = wanted(a, b, ranges, split)
    borders = {"sizes" if sizes else "offsets": ends}
    got = tw.segment_matmul(a, b, **borders, split=split)
    np.testing.assert_array_equal(got, want)
    out = np.full_like(want, np.nan)
    assert tw.segment_matmul(a, b, **borders, split=split, out=out) is out
    np.testing.assert_array_equal(out, want)


def test_an_out_over_an_operand_is_written_at_the_end() -> None:
    a, b = np.arange(12.0).reshape(4, 3), np.arange(18.0).reshape(2, 3, 3)
    want = tw.segment_matmul(a.copy(), b, np.array([1, 3]))
    tw.segment_matmul(a, b, np.array([1, 3]), out=a)
    np.testing.assert_array_equal(a, want)
    assert not a[3].any()


def test_nothing_to_add_up_and_nothing_at_all() -> None:
    none = np.zeros((0, 3))
    assert tw.segment_matmul(none, np.ones((2, 3, 4)), np.array([0, 0])).shape == (0, 4)
    got = tw.segment_matmul(none.T, np.ones((0, 4)), np.array([0, 0]), split="k")
    np.testing.assert_array_equal(got, np.zeros((2, 3, 4)))
    got = tw.segment_matmul(np.ones((2, 0)), np.ones((3, 0, 4)), np.array([1, 1, 2]))
    np.testing.assert_array_equal(got, np.zeros((2, 4)))
    got = tw.segment_matmul(np.ones((2, 3)), np.ones((0, 3, 4)), np.zeros(0, np.int32))
    np.testing.assert_array_equal(got, np.zeros((2, 4)))


class Arrays(Library):
    """A library whose arrays are ``Bare``, and which has float16 pairs for complex half, as CuPy."""

    name = "bare"

    def __init__(self) -> None:
        super().__init__(None)

    def on_gpu(self, value: Any) -> bool:
        return True

    def index(self, value: Any) -> int:
        return 0

    def view(self, value: Any, name: str) -> Any:
        x = value.array
        return view_at(address_of(x), x.shape, x.strides, x.dtype, Owner(value, self, 0, 0))

    def stream(self, index: int) -> int:
        return 0

    def guard(self, index: int) -> Any:
        return contextlib.nullcontext()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, index: int) -> Bare:
        if dtype == COMPLEX_HALF:
            shape, dtype = (*shape, 2), FLOAT16
        room = np.empty(int(np.prod(shape)) * dtype.itemsize + 16, np.uint8)
        at = -address_of(room) % 16
        return Bare(room[at : len(room) - 16 + at].view(dtype).reshape(shape))

    def assign(self, target: Any, source: Any) -> None:
        target.array[...] = source.array

    def real(self, array: ArrayView) -> Any:
        return array.owner.value

    def pairs(self, value: Any) -> Any:
        return value


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Arrays:
    """A library whose calls are remembered."""
    library = Arrays()
    monkeypatch.setattr(lookup, "library_of", lambda value: library if isinstance(value, Bare) else None)
    look = Looker(
        lambda x: (x.array.shape, x.array.strides, x.array.dtype) if isinstance(x, Bare) else None,
        lambda x: address_of(x.array),
    )
    monkeypatch.setattr(calls, "looker", lambda value: look if isinstance(value, Bare) else None)
    return library


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One for each call whose shapes are looked at."""
    made: list[int] = []
    monkeypatch.setattr(calls, "shapes_of", lambda *given: made.append(1) or shapes_of(*given))
    return made


def test_a_call_that_was_made_before_is_not_looked_at_again(
    gpu: list[SegmentedProblem], library: Arrays, made: list[int]
) -> None:
    a, b = (library.empty(shape, np.dtype("f4"), 0) for shape in ((8, 4), (2, 4, 4)))
    ends = Bare(np.array([3, 6]))
    for turn in range(3):
        a.array[...], b.array[...], ends.array[0] = turn + np.arange(32).reshape(8, 4), turn + 1, turn
        want = wanted(a.array, b.array, clamped(ends.array, 8, 2, False), "m")
        np.testing.assert_array_equal(tw.segment_matmul(a, b, ends).array, want)
        out = library.empty((8, 4), np.dtype("f4"), 0)
        assert tw.segment_matmul(a, b, ends, out=out) is out
        np.testing.assert_array_equal(out.array, want)
    # Once with a new result, and once with an array for it.
    assert len(made) == 2
    # Another split, sizes, and an out over an operand are other calls.
    np.testing.assert_array_equal(
        tw.segment_matmul(a, b, sizes=ends).array,
        wanted(a.array, b.array, clamped(ends.array, 8, 2, True), "m"),
    )
    want = tw.segment_matmul(a, b, ends).array
    tw.segment_matmul(a, b, ends, out=a)
    np.testing.assert_array_equal(a.array, want)
    assert len(made) == 4
    settings.forget()
    tw.segment_matmul(a, b, ends)
    assert len(made) == 5


def test_a_call_of_pairs_that_was_made_before_is_not_looked_at_again(
    gpu: list[SegmentedProblem], library: Arrays, made: list[int]
) -> None:
    half = np.dtype("f2")
    a, b = (library.empty(shape, half, 0) for shape in ((8, 3, 2), (2, 3, 5, 2)))
    ends = Bare(np.array([3, 6]))

    def numbers(pairs: Bare) -> np.ndarray:
        return pairs.array[..., 0] + 1j * pairs.array[..., 1].astype(np.float32)

    for turn in range(3):
        a.array[...], b.array[...] = (np.arange(48).reshape(8, 3, 2) + turn) % 5, turn + 1
        ends.array[0] = turn
        want = wanted(numbers(a), numbers(b), clamped(ends.array, 8, 2, False), "m")
        got = tw.segment_matmul(a, b, ends, dtype="hc")
        assert (got.array.shape, got.array.dtype) == ((8, 5, 2), half)
        np.testing.assert_array_equal(numbers(got), want)
        out = library.empty((8, 5, 2), half, 0)
        assert tw.segment_matmul(a, b, ends, out=out, dtype="hc") is out
        np.testing.assert_array_equal(numbers(out), want)
    # Once with a new result, and once with an array for it.
    assert len(made) == 2
    assert gpu[-1].dtype.letter == "hc"
    # The same arrays as float16 are another call: 2 columns of A do not meet 5 rows.
    with pytest.raises(ArgumentError, match="2 columns do not meet 5 rows"):
        tw.segment_matmul(a, b, ends)


A, B, ENDS = np.ones((6, 3)), np.ones((2, 3, 4)), np.array([2, 6])


@pytest.mark.parametrize(
    ("a", "b", "more", "words"),
    [
        (A, B, {}, "offsets and sizes"),
        (A, B, {"offsets": ENDS, "sizes": ENDS}, "offsets and sizes"),
        (A, B, {"offsets": ENDS, "split": "rows"}, "split='rows'"),
        (A, B, {"offsets": ENDS.astype(float)}, r"offsets has shape \(2,\) of float64"),
        (A, B, {"offsets": ENDS[None]}, r"offsets has shape \(1, 2\)"),
        (A, B, {"offsets": np.arange(4)}, "offsets has 4 elements and b 2 matrices"),
        (A, B, {"sizes": np.arange(3)}, "sizes has 3 elements; accepted: 2"),
        (A, B[0], {"offsets": ENDS}, r"b has shape \(3, 4\); accepted with split='m': 3 or more axes"),
        (A[:, :2], B, {"offsets": ENDS}, "2 columns do not meet 3 rows"),
        (A, B, {"offsets": ENDS, "split": "n"}, r"a has shape \(6, 3\); accepted with split='n': 3 or more"),
        (np.ones((2, 6, 3)), np.ones((2, 3, 3, 4)), {"offsets": ENDS}, "do not broadcast"),
        (A, B, {"offsets": ENDS, "out": np.ones((6, 5))}, r"out has shape \(6, 5\)"),
    ],
)
def test_what_does_not_go_together_is_named(a: Any, b: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        tw.segment_matmul(a, b, **more)


def test_types_that_no_kernel_knows_are_refused() -> None:
    with pytest.raises(DTypeError, match="accepted"):
        tw.segment_matmul(A.astype(int), B.astype(int), ENDS)
    with pytest.raises(DTypeError, match="out is float32"):
        tw.segment_matmul(A, B, ENDS, out=np.ones((6, 4), np.float32))


def test_borders_in_another_memory_are_named(gpu: list[SegmentedProblem]) -> None:
    with pytest.raises(ArgumentError, match="offsets of type ndarray is not on a GPU"):
        tw.segment_matmul(Bare(A), Bare(B), ENDS, out=Bare(np.ones((6, 4))))


def test_groups_follow_one_another_whatever_the_borders_are() -> None:
    assert clamped(np.array([3, 1, 9, 20]), 10, 4, False) == [(0, 3), (3, 3), (3, 9), (9, 10)]
    assert clamped(np.array([-4, 2]), 10, 2, False) == [(0, 0), (0, 2)]
    assert clamped(np.array([4, 2, 7]), 10, 2, False) == [(4, 4), (4, 7)]
    assert clamped(np.array([3, -1, 4, 9]), 10, 4, True) == [(0, 3), (3, 3), (3, 7), (7, 10)]


def test_shapes_of_all_forms() -> None:
    assert shapes_of((5, 7, 3), (4, 1, 3, 2), 4, "m").out == (5, 7, 2)
    assert shapes_of((4, 5, 7, 3), (3, 9), 5, "n").out == (5, 7, 9)
    assert shapes_of((7, 9), (5, 9, 2), 4, "k").out == (4, 5, 7, 2)
