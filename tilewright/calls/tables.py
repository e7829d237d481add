"""Tables of matrices of different sizes beside each other, for ``gemm_grouped``: what has to go together, and
new ones for results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.arrays.tables import Table, usable_output
from tilewright.arrays.view import address_of
from tilewright.calls.spec import number
from tilewright.dtypes import is_complex
from tilewright.errors import ArgumentError
from tilewright.runtime.backend import Backend


def scalars_of(value: Any, name: str, count: int) -> np.ndarray[Any, Any]:
    """One complex number for each of ``count`` elements. Raises ``ArgumentError`` for as many others, and for
    what is no number."""
    if isinstance(value, Sequence | np.ndarray) and np.ndim(value) == 1:
        found = np.asarray(value)
        if found.dtype.kind not in "biufc" or len(found) != count:
            raise ArgumentError(
                f"{name} has {len(found)} elements of {found.dtype}; accepted: a number, or {count} numbers"
            )
        return found.astype(np.complex128)
    return np.full(count, number(value, name), np.complex128)


def need_real(scalars: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]], dtype: np.dtype[Any]) -> None:
    """Raises ``ArgumentError`` when real products are given complex scalars."""
    for name, row in zip(("alpha", "beta"), scalars, strict=True):
        if not is_complex(dtype) and (row.imag != 0).any():
            which = int((row.imag != 0).argmax())
            raise ArgumentError(f"{name}[{which}]={row[which]} for arrays of {dtype}; accepted: real numbers")


def letter_of(trans: str) -> str:
    """What ``trans`` does to the layout of a matrix. Raises ``ArgumentError`` for other letters."""
    if trans not in ("n", "t", "c"):
        raise ArgumentError(f"trans={trans!r}; accepted: 'n', 't', 'c'")
    return "n" if trans == "n" else "t"


def alike(table: Table, like: Table, name: str) -> Table:
    """A table with as many matrices for each element as another: those of an element that is no stack serve
    all of the other's. Raises ``ArgumentError`` for stacks of other lengths."""
    if len(table) == len(like) and (table.element == like.element).all():
        return table
    mine, theirs = (
        np.bincount(x.element, minlength=int(like.element.max(initial=0)) + 1) for x in (table, like)
    )
    wrong = (mine != theirs) & ((mine != 1) | (name in ("out", "c")))
    if len(mine) != len(theirs) or wrong.any():
        which = int(wrong.argmax()) if len(mine) == len(theirs) else 0
        raise ArgumentError(
            f"{name}[{which}] is a stack of {int(mine[which])} and a[{which}] of {int(theirs[which])}"
        )
    first = np.concatenate(([0], np.cumsum(mine)[:-1]))
    inside = np.arange(len(like)) - np.concatenate(([0], np.cumsum(theirs)[:-1]))[like.element]
    at = first[like.element] + np.where(mine[like.element] == 1, 0, inside)
    return replace(table.some(at), element=like.element)


def need_fit(left: Table, right: Table) -> None:
    """Raises ``ArgumentError`` where columns of a matrix do not meet the rows of that beside it."""
    wrong = left.columns != right.rows
    if wrong.any():
        which = int(wrong.argmax())
        element = int(left.element[which])
        raise ArgumentError(
            f"op(a[{element}]) has shape {_shape(left, which)} and op(b[{element}]) {_shape(right, which)}: "
            f"{int(left.columns[which])} columns do not meet {int(right.rows[which])} rows"
        )


def need_outputs(target: Table, left: Table, right: Table, name: str) -> None:
    """Raises ``ArgumentError`` where a matrix has not the shape of its product, or of ``out`` no unit
    stride."""
    wrong = (target.rows != left.rows) | (target.columns != right.columns)
    if wrong.any():
        which = int(wrong.argmax())
        raise ArgumentError(
            f"{name}[{int(left.element[which])}] has shape {_shape(target, which)}; "
            f"accepted: {(int(left.rows[which]), int(right.columns[which]))}"
        )
    bad = ~usable_output(target)
    if name == "out" and bad.any():
        which = int(bad.argmax())
        raise ArgumentError(
            f"out[{int(left.element[which])}] has strides of {int(target.row[which])} and "
            f"{int(target.column[which])} elements; accepted: one of them 1"
        )


def _shape(table: Table, which: int) -> tuple[int, int]:
    return int(table.rows[which]), int(table.columns[which])


def new_results(
    backend: Backend, left: Table, right: Table, dtype: np.dtype[Any], values: Any, first: Table, pairs: bool
) -> tuple[Table, list[Any]]:
    """New outputs by rows, each on a multiple of 16 bytes of one allocation, and as the
    caller's library has them."""
    size = dtype.itemsize
    unit = max(1, 16 // size)
    rows, columns = left.rows, right.columns
    # The matrices of a stack follow one another without gaps.
    elements = len(values)
    area = np.bincount(left.element, weights=(rows * columns).astype(float), minlength=elements).astype(
        np.int64
    )
    start = np.concatenate(([0], np.cumsum(-(-area // unit) * unit)))
    count = np.bincount(left.element, minlength=elements)
    inside = np.arange(len(left)) - np.concatenate(([0], np.cumsum(count)[:-1]))[left.element]
    offset = start[left.element] + inside * rows * columns
    flat = backend.empty((int(start[-1]),), dtype)
    table = Table(
        backend,
        "out",
        dtype,
        address_of(flat) + offset * size,
        rows,
        columns,
        columns.copy(),
        np.ones(len(left), np.int64),
        np.zeros(len(left), bool),
        left.element,
        None,
        [flat],
    )
    wrap = first.wrap
    assert wrap is not None
    whole: Any = wrap(flat)
    assert left.shapes is not None
    assert right.shapes is not None
    results = []
    for element in range(elements):
        deep, high = (int(x) for x in left.shapes[element, :2])
        shape: tuple[int, ...] = (high, int(right.shapes[element, 2]))
        shape = shape if deep < 0 else (deep, *shape)
        piece = whole[int(start[element]) : int(start[element]) + int(area[element])]
        results.append(piece.reshape((*shape, 2) if pairs else shape))
    return table, results
