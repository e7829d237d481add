"""What of an array's layout a kernel is told: batch axes as one, and the bytes that an array reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arrays import layout
from tilewright.arrays.overlap import bounds
from tilewright.arrays.view import view_at, view_of
from tilewright.calls.spec import Options

pytestmark = pytest.mark.pure


def job(a: Any, b: Any, out: Any) -> layout.Job:
    found = layout.problem_of(a, b, out, conj_a=False, conj_b=False, alpha="1", beta="0")
    assert isinstance(found, layout.Job)
    return found


def test_batch_axes_are_one_only_where_all_three_arrays_agree() -> None:
    """One stride must lead from any matrix to the next, in the result as in the operands."""
    a, b = np.zeros((4, 3, 2, 2)), np.zeros((4, 3, 2, 2))
    packed = job(a, b, np.zeros((4, 3, 2, 2)))
    assert (packed.problem.batch, packed.outer) == (12, ())
    wide = np.zeros((4, 5, 2, 2))
    for trio in ((a, b, wide[:, :3]), (a, wide[:, :3], b), (wide[:, :3], a, b)):
        found = job(*trio)
        assert (found.problem.batch, found.outer) == (4, (3,))
    found = job(a, b, wide[:, :3])
    assert found.outer_steps == ((a.strides[1], b.strides[1], wide.strides[1]),)
    assert found.problem.stride_c == wide.strides[0] // 8


@given(st.data())
def test_bounds_hold_every_element_and_no_other_byte(data: st.DataObject) -> None:
    """Overlaps are found by these bounds: a reversed axis reaches back from the data pointer."""
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    array = np.zeros(shape, "f8")
    cuts = [
        data.draw(st.sampled_from([slice(None), slice(None, None, -1), slice(None, None, 2)])) for _ in shape
    ]
    array = array[tuple(cuts)]
    offsets = np.zeros(array.shape, int)
    for axis, (extent, step) in enumerate(zip(array.shape, array.strides, strict=True)):
        offsets += np.expand_dims(
            np.arange(extent) * step, [other for other in range(array.ndim) if other != axis]
        )
    assert bounds(array) == (offsets.min(), offsets.max() + 8)
    assert bounds(array[:0]) == (0, 0)


@pytest.mark.parametrize("asked", ["n", "c"])
@pytest.mark.parametrize("which", [0, 1])
def test_a_conjugate_of_a_conjugate_is_the_memory_itself(asked: str, which: int) -> None:
    plain = np.zeros((2, 2), complex)
    pair: list[Any] = [plain, plain]
    pair[which] = view_at(0, (2, 2), None, plain.dtype, conj=True)
    letters = ["n", "n"]
    letters[which] = asked
    found = Options(1, 0, *letters).conjugated(*pair)
    assert found[which] is (asked == "n")
    assert found[1 - which] is False
    assert Options(1, 0, *letters).conjugated(plain, plain)[which] is (asked == "c")


def test_a_view_reversed_where_it_runs_backwards_is_the_same_memory_forwards() -> None:
    array = np.arange(24.0).reshape(2, 3, 4)[::-1, :, ::-2]
    view = view_of(array)
    assert view.backwards == (0, 2)
    forwards = view.reversed(view.backwards)
    assert forwards.backwards == ()
    turned = array[::-1, :, ::-1]
    assert (forwards.address, forwards.shape, forwards.strides) == (
        turned.ctypes.data,
        turned.shape,
        turned.strides,
    )
    assert forwards.reversed(view.backwards) == view
