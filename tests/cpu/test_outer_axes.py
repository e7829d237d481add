"""Batches along axes that no one stride covers: one call of a builtin, which runs a batch at each place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import tilewright as tw
from tests.products import PATIENT, close, filled
from tilewright.calls import product
from tilewright.errors import ArgumentError
from tilewright.runtime import bound_cpu

pytestmark = pytest.mark.cpu

# Rows, terms and columns: few sizes, so that few kernels are compiled.
M, K, N = 3, 2, 4


def refuse(*_: Any, **__: Any) -> None:
    raise AssertionError("the slow path")


def lying(values: np.ndarray, order: list[int], steps: list[int]) -> np.ndarray:
    """The same numbers in memory of their own, batch axes in an order and with gaps, or backwards."""
    lead = len(order)
    shape = [abs(steps[axis]) * values.shape[axis] for axis in order]
    room = np.full((*shape, *values.shape[lead:]), 7, values.dtype)
    back = [order.index(axis) for axis in range(lead)]
    view = room.transpose(*back, lead, lead + 1)[tuple(slice(None, None, step) for step in steps)]
    view[...] = values
    return view


@st.composite
def stacks(draw: st.DrawFn) -> tuple[Any, Any, Any, str]:
    """How a, b and a result lie: the extents, order and steps of their batch axes, and which are repeated."""
    extents = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    rank = len(extents)

    def laid(operand: bool) -> tuple[list[int], list[int], list[int], list[bool]]:
        shape = [1 if operand and draw(st.integers(0, 3)) == 0 else extent for extent in extents]
        order = draw(st.permutations(range(rank)))
        steps = [draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in range(rank)]
        zero = [operand and draw(st.integers(0, 4)) == 0 for _ in range(rank)]
        return shape, list(order), steps, zero

    return laid(True), laid(True), laid(False), draw(st.sampled_from(["f8", "c8"]))


def operand(how: Any, matrix: tuple[int, int], dtype: str, seed: int) -> np.ndarray:
    shape, order, steps, zero = how
    few = [1 if repeated else extent for extent, repeated in zip(shape, zero, strict=True)]
    values = lying(filled((*few, *matrix), dtype, seed), order, steps)
    # Axes of stride zero that are there, beside those that broadcast.
    return np.broadcast_to(values, (*shape, *matrix))


@settings(PATIENT, max_examples=40)
@given(stacks())
def test_any_batch_axes_are_numpys_and_looked_up(case: tuple[Any, Any, Any, str]) -> None:
    how_a, how_b, how_out, dtype = case
    for turn in range(2):
        a, b = operand(how_a, (M, K), dtype, turn), operand(how_b, (K, N), dtype, turn + 2)
        want = np.matmul(a, b)
        out = lying(filled(want.shape, dtype, 9), *how_out[1:3])
        with pytest.MonkeyPatch.context() as patch:
            if turn:
                for name in ("matmul", "gemm"):
                    patch.setattr(product, name, refuse)
            close(tw.matmul(a, b), want)
            before = out.copy()
            assert tw.gemm(a, b, out=out, alpha=2, beta=-0.5) is out
            close(out, (2 * want - before / 2).astype(dtype))
            assert tw.matmul(a, b, out) is out
            close(out, want)
            # Nothing beside the result was written.
            room = out if out.base is None else out.base
            assert (room == 7).sum() >= room.size - out.size


CUT = slice(None), slice(0, 3)


def cut(dtype: str = "f8", seed: int = 0) -> np.ndarray:
    """A stack whose two batch axes no stride covers."""
    return filled((6, 5, 4, 4), dtype, seed)[CUT]


def called(a: Any, b: Any, out: Any = None) -> Any:
    """The call, and what it has to give: by what was looked up before, if that may serve it."""
    want = np.matmul(a, b)
    close(tw.matmul(a, b, out), want)
    return want


def test_the_second_call_is_one_builtin(calls_of: Callable[[Callable[[], object]], int]) -> None:
    a, b, out = cut(), filled((6, 3, 4, 4), seed=1), np.empty((6, 3, 4, 4))
    turned = filled((6, 4, 3, 4))
    calls: list[Callable[[], object]] = [
        lambda: tw.matmul(a, b),
        lambda: tw.matmul(a, b, out),
        lambda: tw.gemm(a, b, out=out, alpha=2, beta=0.5),
        lambda: tw.matmul(filled_a, filled_b),
        lambda: tw.matmul(turned, turned, axes=[(1, 3)] * 3),
        lambda: tw.matmul(a, b, deterministic=True),
    ]
    filled_a, filled_b = filled((6, 1, 4, 4)), filled((1, 5, 4, 4))
    for call in calls:
        call()
    # The lambda, the public function, what that looks things up by, and NumPy's product where it is planned.
    for call, few in zip(calls, (2, 2, 3, 2, 3, 6), strict=True):
        assert few <= calls_of(call) <= few + 1


def test_a_plan_is_a_builtin_and_vectors_are_numbers() -> None:
    a, b, out = cut(), cut(seed=1), np.zeros((6, 3, 4, 4))
    plan = tw.plan(a, b, out=out)
    assert plan.builtin is not None
    assert plan.builtin(a, b, out) is out
    close(out, np.matmul(a, b))
    v = filled((4,))
    for _ in range(2):
        close(tw.matmul(a, v), np.matmul(a, v))
        close(tw.matmul(v, a), np.matmul(v, a))


CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "steps": lambda x: filled((6, 6, 4, 4), seed=5)[:, ::2],
    "backwards": lambda x: x[::-1, ::-1],
    "one for all": lambda x: np.broadcast_to(x[:1, :1], x.shape),
    "type": lambda x: x.astype("f4"),
    "byte order": lambda x: x.astype(">f8"),
    "class": lambda x: x.view(Other),
    "unaligned": lambda x: odd(x),
    "list": lambda x: x.tolist(),
    "fewer": lambda x: x[:, :1],
}


class Other(np.ndarray):
    """A class of arrays that may mean something else by everything."""


def odd(x: np.ndarray) -> np.ndarray:
    """The same numbers with the same strides, a byte further on."""
    low = min(0, *(step * (extent - 1) for step, extent in zip(x.strides, x.shape, strict=True)))
    assert low == 0
    size = sum(step * (extent - 1) for step, extent in zip(x.strides, x.shape, strict=True)) + x.itemsize
    made = np.ndarray(x.shape, x.dtype, bytearray(size + 1), 1, x.strides)
    made[...] = x
    return made


@pytest.mark.parametrize("change", list(CHANGES))
def test_what_is_not_as_planned_is_seen(change: str) -> None:
    a, b = cut(), filled((6, 3, 4, 4), seed=1)
    out = np.empty_like(b)
    for _ in range(2):
        called(a, b)
        called(a, b, out)
    for _ in range(2):
        other = CHANGES[change](a)
        close(np.asarray(tw.matmul(other, b)), np.matmul(other, b))
        close(np.asarray(tw.matmul(b, other)), np.matmul(b, other))
        got = np.empty(np.shape(np.matmul(other, b)))
        close(np.asarray(tw.matmul(other, b, got)), np.matmul(other, b).astype("f8"))
        called(a, b)
        called(a, b, out)


def test_results_that_overlap_operands_or_may_not_be_written() -> None:
    memory = np.zeros((8, 5, 4, 4))
    b = filled((6, 3, 4, 4), seed=1)
    a = memory[:6, :3]
    # Elsewhere, one row of matrices further, between the operand's matrices, and the operand itself.
    for out in (np.zeros((6, 5, 4, 4))[CUT], memory[2:, :3], memory[:6, 2:], a):
        for _ in range(2):
            memory[...] = filled(memory.shape)
            want = np.matmul(a, b)
            assert tw.matmul(a, b, out) is out
            close(out, want)
            memory[...] = filled(memory.shape)
            before = out.copy()
            want = np.matmul(b, a) + 2 * before
            tw.gemm(b, a, out=out, beta=2)
            close(out, want)
    frozen = np.zeros((6, 3, 4, 4))
    for _ in range(2):
        tw.matmul(a, b, frozen)
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        tw.matmul(a, b, frozen)
    # Several elements in one place.
    repeated = as_strided(np.zeros((6, 4, 4)), (6, 3, 4, 4), (128, 0, 32, 8))
    with pytest.raises(ArgumentError, match="strides"):
        tw.gemm(a, b, out=repeated)


@pytest.mark.parametrize("count", [2, 3])
def test_teams_of_cores_run_each_batch(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = filled((40, 5, 4, 4))[CUT], filled((3, 4, 4), seed=1)
    want = tw.matmul(a, b)
    close(want, np.matmul(a, b))
    tw.forget()
    monkeypatch.setattr("tilewright.planning.dispatch.threads", lambda problem, grain, cores: count)
    monkeypatch.setattr("tilewright.runtime.bound_cpu.alone", lambda problem: 10**9)
    monkeypatch.setattr("tilewright.runtime.bound_cpu.POOLED", 0)
    plan = tw.plan(a, b).plan
    assert plan.stencil is None or plan.threads == count
    for _ in range(3):
        assert tw.matmul(a, b).tobytes() == want.tobytes()
    # And without an OpenMP runtime, by Python's own threads.
    tw.forget()
    monkeypatch.setattr(bound_cpu, "find_team", lambda: None)
    for _ in range(2):
        assert tw.matmul(a, b).tobytes() == want.tobytes()
    monkeypatch.undo()
    tw.forget()


def test_more_axes_than_a_builtin_compares() -> None:
    shape = (2, 1, 2, 1, 2, 1, 2, 1, 3, 3)
    a = filled(shape)
    b = filled(shape, seed=1).swapaxes(0, 1).swapaxes(2, 3).copy()
    for _ in range(2):
        called(a, b, np.empty(called(a, b).shape))
