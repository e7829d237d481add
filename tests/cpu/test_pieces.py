"""Arrays that no kernel takes as they are: copied a piece at a time, with the results of one copy of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.calls import pieces
from tilewright.runtime.bound_cpu import HOST

pytestmark = pytest.mark.cpu

LAYOUTS = ("rows", "columns", "last", "middle", "steps")


def laid(values: np.ndarray, layout: str) -> np.ndarray:
    """The same values (..., batch, rows, columns) elsewhere in memory."""
    order: tuple[int, ...] = {"last": (1, 2, 0), "middle": (1, 0, 2), "columns": (0, 2, 1)}.get(
        layout, (0, 1, 2)
    )
    if layout == "steps":
        wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
        wide[..., ::2] = values
        return wide[..., ::2]
    ahead = tuple(range(values.ndim - 3))
    order = (*ahead, *(len(ahead) + axis for axis in order))
    back = tuple(int(axis) for axis in np.argsort(order))
    return np.ascontiguousarray(values.transpose(order)).transpose(back)


def made(rng: np.random.Generator, *shape: int, dtype: str) -> np.ndarray:
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Pieces of 4 KiB, and for each product whether it was done by pieces."""
    monkeypatch.setattr(pieces, "PIECE", 4096)
    found: list[bool] = []
    run = pieces.run

    def noted(*arguments: Any, **keywords: Any) -> bool:
        found.append(run(*arguments, **keywords))
        return found[-1]

    monkeypatch.setattr(pieces, "run", noted)
    return found


def close(got: np.ndarray, want: np.ndarray) -> None:
    loose = np.finfo(want.dtype).precision < 10
    np.testing.assert_allclose(got, want, rtol=1e-3 if loose else 1e-10, atol=1e-4 if loose else 1e-11)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("which", ["a", "b", "out"])
def test_every_layout_of_every_array(counted: list[bool], layout: str, which: str) -> None:
    """A batch whose rows conflict in caches where it is last, and one that leaves a short piece."""
    rng = np.random.default_rng(3)
    dtype = ("f4", "c16")[(LAYOUTS.index(layout) + len(which)) % 2]
    for count in (512, 401):
        shapes = {"a": (count, 5, 3), "b": (count, 3, 4), "out": (count, 5, 4)}
        arrays = {
            name: laid(made(rng, *shape, dtype=dtype), layout if name == which else "rows")
            for name, shape in shapes.items()
        }
        want = np.matmul(arrays["a"], arrays["b"])
        before = arrays["out"].copy()
        assert tw.matmul(arrays["a"], arrays["b"], out=arrays["out"]) is arrays["out"]
        close(arrays["out"], want)
        arrays["out"][...] = before
        tw.gemm(arrays["a"], arrays["b"], out=arrays["out"], alpha=2, beta=0.5)
        close(arrays["out"], 2 * want + before / 2)
    # Calls that need no copy are remembered, and come here once.
    assert counted == [True] * 4 if layout in ("last", "steps") else not any(counted)


@pytest.mark.parametrize(("count", "conflict"), [(512, True), (516, False)])
def test_rows_that_conflict_are_copied_as_they_lie(count: int, conflict: bool) -> None:
    values = np.arange(count * 15.0).reshape(count, 5, 3)
    piece = laid(values, "last")[100:300]
    buffer = pieces.Buffer(HOST, piece)
    assert (buffer.rows is not None) == conflict
    np.testing.assert_array_equal(buffer.taken(piece, True), values[100:300])
    assert buffer.values.flags.c_contiguous
    # Columns of a matrix that lie far apart are few.
    assert pieces.Buffer(HOST, np.zeros((9, 8, 512))[:, :, :1]).rows is None


def test_several_batch_axes_and_operands_that_are_shared(counted: list[bool]) -> None:
    """The longest axis is cut, wherever it is, and what does not have it is taken whole."""
    rng = np.random.default_rng(4)
    for axes, shared in (((3, 500), (1, 500)), ((500, 3), (3,)), ((500, 3), ()), ((2, 400), (2, 1))):
        a = laid(made(rng, *axes, 4, 3, dtype="f8"), "last")
        b = made(rng, *shared, 3, 5, dtype="f8")
        close(tw.matmul(a, b), np.matmul(a, b))
        out = laid(np.zeros((*axes, 4, 5)), "last")
        tw.matmul(a, b, out=out)
        close(out, np.matmul(a, b))
    assert any(counted)


def test_what_pieces_share_is_copied_once() -> None:
    """That is the very array; every other piece is a view of its own."""
    values = np.zeros((1, 6, 10))
    shared = values[..., ::2]
    cut = pieces.Cut(-3, 10)
    assert cut.piece(shared, 0, 10) is cut.piece(shared, 10, 20) is shared
    buffer = pieces.Buffer(HOST, shared)
    assert not buffer.taken(shared, True).any()
    values[...] = 1
    assert not buffer.taken(shared, True).any()
    assert buffer.taken(values[..., ::2], True).all()


def test_what_overlaps_is_not_cut(counted: list[bool]) -> None:
    """A piece that is written must not be one that is still to be read."""
    rng = np.random.default_rng(5)
    values = made(rng, 600, 4, 4, dtype="f8")
    a, b = laid(values, "steps"), made(rng, 4, 4, dtype="f8")
    base = a.base
    assert base is not None
    out = base.reshape(600, 4, 8)[::-1, :, 1::2]
    want = np.matmul(a, b)
    tw.matmul(a, b, out=out)
    close(out, want)
    assert not any(counted)


def test_what_needs_no_copy_or_is_small_is_not_cut(counted: list[bool]) -> None:
    rng = np.random.default_rng(6)
    a, b = made(rng, 500, 4, 3, dtype="f8"), made(rng, 500, 3, 5, dtype="f8")
    close(tw.matmul(a, laid(b, "columns")), np.matmul(a, b))
    few = laid(a[:9], "last")
    close(tw.matmul(few, b[:9]), np.matmul(few, b[:9]))
    assert not any(counted)
    # Nor what has to be done in the same way whatever the batch.
    close(tw.gemm(laid(a, "last"), b, deterministic=True), np.matmul(a, b))
    assert not any(counted)
