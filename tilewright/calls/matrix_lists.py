"""What both batch forms begin with: lists of matrices become tables.

``gather`` asks for a view only for arrays unlike all before (shape,
strides, type, device): of the others it reads the address."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.arrays import backend as lookup
from tilewright.arrays.gpu import need_cuda
from tilewright.arrays.layout import ACCEPTED, LETTERS
from tilewright.arrays.overlap import Integers, Placement, overlapping, shared
from tilewright.arrays.pointers import Groups, Pointers
from tilewright.arrays.tables import Table
from tilewright.arrays.view import address_of, conjugated
from tilewright.calls.product import Taken, take
from tilewright.calls.spec import checked_out
from tilewright.errors import ArgumentError, DTypeError
from tilewright.runtime.backend import Backend
from tilewright.runtime.backends import backend_of, default_gpu


def gather(
    backend: Backend, values: Sequence[Any], name: str, pairs: bool, *, output: bool = False, axes: int = 2
) -> Table:
    """The table of a list of matrices, or with ``axes`` 3 of matrices and stacks of them.

    Raises ``ArgumentError`` and ``DTypeError`` with the place in the list for what cannot be used.
    """
    looker = lookup.looker(values[0])
    known: dict[Any, int] = {}
    kinds: list[tuple[int, ...]] = []
    which = np.empty(len(values), np.int64)
    address = np.empty(len(values), np.int64)
    # Not the list, whose elements may be changed.
    keep: list[Any] = [tuple(values)]
    dtype: np.dtype[Any] | None = None
    wrap: Callable[[Any], Any] | None = None
    for number, value in enumerate(values):
        found = None
        look = None
        if looker is not None:
            try:
                look = looker.look(value)
            except RuntimeError:  # A tensor without strides: ``_checked`` says so.
                look = None
            found = known.get(look) if look is not None else None
        if found is not None and looker is not None:
            which[number], address[number] = found, looker.address(value)
            continue
        label = f"{name}[{number}]"
        taken = _checked(backend, value, label, pairs, output)
        array = taken.array
        if not 2 <= array.ndim <= axes:
            accepted = "two axes" if axes == 2 else "two axes, or three"
            raise ArgumentError(f"{label} has shape {array.shape}; accepted: {accepted}")
        if dtype is None:
            dtype, wrap = array.dtype, taken.wrap
        elif array.dtype != dtype:
            raise DTypeError(f"{label} is {array.dtype} and {name}[0] {dtype}; accepted: one type")
        size = array.dtype.itemsize
        start = address_of(array)
        if array.size and (start % size or any(step % size for step in array.strides)):
            raise ArgumentError(
                f"{label} lies at {start:#x} with strides {array.strides}; accepted: multiples of an "
                f"element's {size} bytes"
            )
        deep = array.ndim == 3
        kind = (
            array.shape[0] if deep else -1,
            *array.shape[-2:],
            array.strides[0] // size if deep else 0,
            *(step // size for step in array.strides[-2:]),
            int(conjugated(array)),
        )
        which[number], address[number] = len(kinds), start
        # What had to be copied is kept, and says nothing of the next.
        own = looker is not None and look is not None and (start == looker.address(value) or not array.size)
        if own:
            known[look] = len(kinds)
        else:
            keep.append(array)
        kinds.append(kind)
    assert dtype is not None
    columns = np.array(kinds, np.int64)[which].T
    deep_of, rows, across, step, row, column, lazy = columns
    shapes = columns[:3].T.copy()
    element = np.repeat(np.arange(len(values)), abs(deep_of))
    if (abs(deep_of) != 1).any():
        first = np.concatenate(([0], np.cumsum(abs(deep_of))[:-1]))
        inside = np.arange(len(element)) - first[element]
        address = address[element] + inside * step[element] * dtype.itemsize
        rows, across, row, column, lazy = (x[element] for x in (rows, across, row, column, lazy))
    return Table(
        *(backend, name, dtype, address, rows, across, row, column),
        *(lazy != 0, element, wrap, keep, shapes),
    )


def _checked(backend: Backend, value: Any, label: str, pairs: bool, output: bool) -> Taken:
    """An element of a list as an array, with every check."""
    there = backend.kind == "cuda"
    if lookup.on_gpu(value) != there:
        raise ArgumentError(
            f"{label} of type {type(value).__name__} is {'not ' if there else ''}on a GPU, unlike the first "
            "matrices; accepted: one place for all"
        )
    if there:
        index = lookup.index_of(value, label)
        if index is not None and index != backend.index:
            raise ArgumentError(f"{label} lies on GPU {index}; accepted: GPU {backend.index}, as the others")
    found = take(backend, value, label, pairs)
    if not output:
        return found
    if not found.own:
        raise ArgumentError(f"{label} cannot be written to as it is; accepted: pairs side by side in memory")
    array = found.array
    try:
        given = backend.view_out(value)
        checked = checked_out(given, array.shape, array.dtype, pairs=pairs, gpu=there)
    except ArgumentError as error:
        raise ArgumentError(f"{label}: {error}") from error
    return replace(found, array=checked)


# ---- what both begin with


def listed(value: Any, name: str) -> Any:
    """An argument as a list, or the ``Pointers`` that it is."""
    if isinstance(value, Pointers):
        return value
    if isinstance(value, Groups):
        raise ArgumentError(
            f"{name} is Groups, which say all of a call; accepted: them alone, to gemm_grouped"
        )
    if isinstance(value, list | tuple):
        return value
    try:
        return list(value)
    except (TypeError, NotImplementedError) as error:  # The latter of a memoryview of several axes.
        kind = type(value).__name__
        raise ArgumentError(
            f"{name} of type {kind} is no sequence; accepted: a sequence of matrices, or Pointers"
        ) from error


def counted(lists: Mapping[str, Any]) -> int:
    """The length of all lists. Raises ``ArgumentError`` where they differ."""
    count = len(lists["a"])
    for name, values in lists.items():
        if len(values) != count:
            raise ArgumentError(f"{name} has {len(values)} elements and a has {count}; accepted: {count}")
    return count


def backend_of_lists(lists: Mapping[str, Any]) -> Backend:
    """Where the matrices lie. Raises ``ArgumentError`` when they lie apart."""
    pointers = {name: x for name, x in lists.items() if isinstance(x, Pointers)}
    first = {f"{name}[0]": x[0] for name, x in lists.items() if name not in pointers and len(x)}
    found = backend_of(**first)
    if not pointers:
        return found
    name, given = next(iter(pointers.items()))
    need_cuda()
    if found.kind != "cuda":
        if first:
            raise ArgumentError(
                f"{next(iter(first))} is not on a GPU, and {name} is; accepted: all on one GPU"
            )
        found = default_gpu(given.index)
    for name, other in pointers.items():
        if other.index != found.index:
            raise ArgumentError(f"{name} lies on GPU {other.index}; accepted: GPU {found.index}")
    return found


def typed(tables: Mapping[str, np.dtype[Any]]) -> np.dtype[Any]:
    """The type of all operands. Raises ``DTypeError`` where they differ or no kernel knows it."""
    name, dtype = next(iter(tables.items()))
    for other, found in tables.items():
        if found != dtype:
            raise DTypeError(f"{other} is {found} and {name} is {dtype}; accepted: one type for all")
    if dtype not in LETTERS:
        raise DTypeError(f"{name} is {dtype}; accepted: {ACCEPTED}")
    return dtype


def apart(
    c: Placement, inputs: Mapping[str, Placement], where: str, elements: Mapping[str, Integers]
) -> None:
    """Raises ``ArgumentError`` for outputs that share memory with one another or with an input."""

    def said(name: str, place: int) -> str:
        return f"{name}[{int(elements[name][place]) if name in elements else place}]"

    met = overlapping(c)
    if met is not None:
        first, second = met
        same = " (the same address)" if c.start[first] == c.start[second] else ""
        raise ArgumentError(
            f"{said(where, first)} and {said(where, second)} share memory at "
            f"{int(c.start[second]):#x}{same}; accepted: outputs apart from one another"
        )
    for name, other in inputs.items():
        found = shared(c, other)
        if found is not None:
            raise ArgumentError(
                f"{said(where, found[0])} shares memory with {said(name, found[1])} at "
                f"{int(other.start[found[1]]):#x}; accepted: outputs apart from the inputs"
            )


def same_matrices(one: Table, other: Table) -> bool:
    """Whether two lists are the same matrices."""
    rows = ("address", "row", "column")
    return all(bool((getattr(one, row) == getattr(other, row)).all()) for row in rows)
