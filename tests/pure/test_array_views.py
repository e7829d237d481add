"""Views of memory that nobody reads: addresses, shapes and strides alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arrays.overlap import may_share
from tilewright.arrays.view import (
    ArrayView,
    Owner,
    address_of,
    broadcast_to,
    view_at,
    view_of,
    with_axis,
)
from tilewright.errors import ArgumentError, DTypeError

pytestmark = pytest.mark.pure


def test_a_view_of_no_memory_is_transposed_and_repeated_and_asked_where_it_lies() -> None:
    nowhere = 0x10
    x = view_at(nowhere, (4, 5, 6), None, np.dtype("f8"))
    assert (x.strides, x.ndim, x.size, x.itemsize, x.nbytes) == ((240, 48, 8), 3, 120, 8, 960)
    transposed = x.swapaxes(-1, -2)
    assert isinstance(transposed, ArrayView)
    assert (transposed.shape, transposed.strides) == ((4, 6, 5), (240, 8, 48))
    assert address_of(transposed) == nowhere
    wide = broadcast_to(with_axis(x, 0), (9, 4, 5, 6))
    assert wide.strides == (0, 240, 48, 8)
    assert may_share(x, wide)
    assert (repr(x), f"{x}") == ("<float64 (4, 5, 6) at 0x10>",) * 2


@given(st.data())
def test_a_view_is_changed_as_numpy_changes_an_array(data: st.DataObject) -> None:
    """The same shapes and strides for whatever an array is asked to look like, and the same refusals."""
    shape = tuple(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)))
    cuts = tuple(data.draw(st.sampled_from([slice(None), slice(None, None, -1)])) for _ in shape)
    array = np.zeros(shape, "f4")[cuts]
    view = view_at(address_of(array), array.shape, array.strides, array.dtype)
    one, other = (data.draw(st.integers(-len(shape), len(shape) - 1)) for _ in range(2))
    at = data.draw(st.integers(-len(shape) - 1, len(shape)))
    wanted = tuple(data.draw(st.lists(st.integers(0, 3), max_size=4)))

    def layout(x: Any) -> Any:
        steps = tuple(step if extent > 1 else 0 for extent, step in zip(x.shape, x.strides, strict=True))
        return x.shape, x.dtype, (steps if x.size else None)

    assert layout(view.swapaxes(one, other)) == layout(array.swapaxes(one, other))
    assert layout(with_axis(view, at)) == layout(np.expand_dims(array, at))
    try:
        want = np.broadcast_to(array, wanted)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            broadcast_to(view, wanted)
    else:
        assert layout(broadcast_to(view, wanted)) == layout(want)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x + 1,
        lambda x: x @ x,
        lambda x: x[0, 0],
        lambda x: x[0],
        lambda x: x.copy(),
        lambda x: x.astype("f4"),
        lambda x: x.reshape(-1),
        lambda x: x.sum(),
        lambda x: x.tolist(),
        lambda x: list(x),
        lambda x: float(x),
        lambda x: x.__setitem__(..., 0),
        lambda x: np.linalg.norm(x),
        lambda x: np.matmul(x, x),
        lambda x: np.zeros(3) + x,
    ],
)
def test_what_would_read_is_refused(read: Any) -> None:
    with pytest.raises((TypeError, AttributeError, ValueError)):
        read(view_at(0x10, (4, 4), None, np.dtype("f8")))


class Unreadable:
    """An array of another process: whoever prints or compares it reads it."""

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise AssertionError("read")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("read")


def test_a_view_is_a_value() -> None:
    owners = [Owner(Unreadable(), None, 0, None) for _ in range(2)]
    x, y = (view_at(0x10, (4, 4), None, np.dtype("f8"), owner) for owner in owners)
    assert x == y == view_at(0x10, (4, 4), (32, 8), np.dtype("f8"))
    assert repr(x) == repr(y)
    assert len({x, y}) == 1
    with pytest.raises(AttributeError):
        x.address = 0  # type: ignore[misc]


@pytest.mark.parametrize(("conj", "readonly"), [(False, False), (True, False), (False, True)])
def test_a_layout_without_its_array_is_the_same_layout(conj: bool, readonly: bool) -> None:
    owner = Owner(Unreadable(), None, 0, None)
    x = view_at(0x10, (4, 4), (8, 32), np.dtype("c8"), owner, conj=conj, readonly=readonly)
    assert view_of(x) == x
    assert view_of(x).owner is None


def test_views_of_nothing_and_of_more_than_memory() -> None:
    assert view_at(0, (0, 3), None, np.dtype("f8")).shape == (0, 3)
    big = view_at(1 << 40, (1 << 33, 1 << 20), (1 << 22, 4), np.dtype("f4"))
    assert big.strides == (1 << 22, 4)
    with pytest.raises(DTypeError, match="numbers"):
        view_at(64, (2,), None, np.dtype("V8"))
    with pytest.raises(ArgumentError, match="one for each axis"):
        view_at(64, (2, 2), (8,), np.dtype("f8"))
