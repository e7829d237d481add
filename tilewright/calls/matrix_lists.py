"""Lists of matrices as tables: where each one lies and with which strides.

What both batch forms begin with. ``gather`` asks for a view only for arrays unlike all before (shape,
strides, type, device): of the others it reads the address. ``oriented`` makes column-major products of
tables, as ``arrays.problem_of`` does of one product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.arrays import backend as lookup
from tilewright.arrays.layout import ACCEPTED, LETTERS
from tilewright.arrays.overlap import Integers, Placement, overlapping, shared
from tilewright.arrays.pointers import Groups, Pointers
from tilewright.arrays.view import Layout, address_of, conjugated
from tilewright.calls.product import Taken, take
from tilewright.calls.spec import checked_out
from tilewright.errors import ArgumentError, DTypeError
from tilewright.runtime.backend import Backend
from tilewright.runtime.backends import backend_of, on_gpu

Truth = NDArray[np.bool_]

_ROWS = ("address", "rows", "columns", "row", "column", "lazy", "element")


@dataclass
class Table:
    """Matrices of one operand. ``row`` and ``column``: elements from one row, or column, to the next.
    ``element``: the place in the caller's list; stacks have several matrices in one. ``shapes``: extents of
    a stack (-1 where an element is none), rows and columns of each element."""

    backend: Backend
    name: str
    dtype: np.dtype[Any]
    address: Integers
    rows: Integers
    columns: Integers
    row: Integers
    column: Integers
    lazy: Truth
    element: Integers
    wrap: Callable[[Any], Any] | None = None
    keep: list[Any] = field(default_factory=list)
    shapes: Integers | None = None

    def __len__(self) -> int:
        return len(self.address)

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def turned(self, letter: str) -> Table:
        """op of the matrices, without conjugation."""
        if letter == "n":
            return self
        shapes = None if self.shapes is None else self.shapes[:, [0, 2, 1]]
        rows, columns, row, column = self.columns, self.rows, self.column, self.row
        return replace(self, rows=rows, columns=columns, row=row, column=column, shapes=shapes)

    def some(self, which: Integers) -> Table:
        """Some of the matrices, in another order or several times."""
        rows = {name: getattr(self, name)[which] for name in _ROWS}
        return replace(self, **rows)

    def of(self, which: int) -> Layout:
        """One matrix."""
        size = self.size
        return self.backend.at(
            int(self.address[which]),
            (int(self.rows[which]), int(self.columns[which])),
            (int(self.row[which]) * size, int(self.column[which]) * size),
            self.dtype,
            keep=self.keep,
            conj=bool(self.lazy[which]),
        )

    def of_one_layout(self) -> bool:
        """Whether all matrices have the strides of the first, and are conjugated if it is."""
        return all(bool((x == x[0]).all()) for x in (self.row, self.column, self.lazy))

    def placement(self) -> Placement:
        """Where the matrices lie, as column-major ones. What has no unit stride counts as all between."""
        upright = (self.row == 1) | (self.rows <= 1)
        across = ~upright & ((self.column == 1) | (self.columns <= 1))
        rows, columns = (
            np.where(across, self.columns, self.rows),
            np.where(across, self.rows, self.columns),
        )
        ld = np.where(across, self.row, self.column)
        ld = np.where(columns > 1, ld, np.maximum(rows, 1))
        neither = ~upright & ~across
        some = (self.rows > 0) & (self.columns > 0)
        back = np.minimum(self.row, 0) * (self.rows - 1) + np.minimum(self.column, 0) * (self.columns - 1)
        reach = abs(self.row) * (self.rows - 1) + abs(self.column) * (self.columns - 1) + 1
        start = self.address + np.where(neither & some, back, 0) * self.size
        rows = np.where(neither & some, reach, rows)
        columns = np.where(neither & some, 1, columns)
        ld = np.where(neither & some, reach, ld)
        return Placement(start, ld, rows, columns, self.size)


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


# ---- column-major products


@dataclass
class Oriented:
    """Column-major products: C is m x n, with A and B where they are needed. ``turned_a`` and ``turned_b``:
    whether they are stored transposed; ``swap``: whether the caller's A is the second operand."""

    m: Integers
    n: Integers
    k: Integers
    a: Integers
    b: Integers
    c: Integers
    lda: Integers
    ldb: Integers
    ldc: Integers
    turned_a: Truth
    turned_b: Truth
    conj_a: Truth
    conj_b: Truth


def usable_output(c: Table) -> Truth:
    """Which outputs have columns or rows that lie without gaps."""
    found: Truth = (c.row == 1) | (c.column == 1) | (c.rows <= 1) | (c.columns <= 1)
    return found


def usable_input(x: Table) -> Truth:
    """Which operands have a unit stride."""
    found: Truth = usable_output(x) | (x.rows == 0) | (x.columns == 0)
    return found


def oriented(a: Table, b: Table, c: Table, conj: tuple[bool, bool]) -> Oriented:
    """The products c = a b as column-major ones; every operand has a unit stride.

    Where a matrix is a row, a column or one element there is a choice, and the one that all products can
    take is taken, so that one launch serves them all.
    """
    m, n, k = a.rows, b.columns, a.columns
    by_rows, by_columns = (c.column == 1) | (n == 1), (c.row == 1) | (m == 1)
    swap = np.full(len(m), True) if by_rows.all() else ~by_columns
    conj_a, conj_b = (a.lazy != conj[0], b.lazy != conj[1])
    rows, columns = np.where(swap, n, m), np.where(swap, m, n)
    ldc = np.where(swap, c.row, c.column)
    lda, turned_a = _stored(rows, k, np.where(swap, b.column, a.row), np.where(swap, b.row, a.column))
    ldb, turned_b = _stored(k, columns, np.where(swap, a.column, b.row), np.where(swap, a.row, b.column))
    return Oriented(
        rows,
        columns,
        k,
        np.where(swap, b.address, a.address),
        np.where(swap, a.address, b.address),
        c.address,
        lda,
        ldb,
        np.where(columns > 1, ldc, rows),
        turned_a,
        turned_b,
        np.where(swap, conj_b, conj_a),
        np.where(swap, conj_a, conj_b),
    )


def _stored(rows: Integers, columns: Integers, row: Integers, column: Integers) -> tuple[Integers, Truth]:
    """Leading dimensions, and what is stored transposed."""
    # A row or a column of one element each, or a matrix without elements, is stored either way.
    empty = (rows == 0) | (columns == 0)
    straight, across = (row == 1) | (rows == 1) | empty, (column == 1) | (columns == 1) | empty
    turned = ~straight if not across.all() or straight.all() else np.full(len(rows), True)
    ld = np.where(turned, np.where(rows > 1, row, columns), np.where(columns > 1, column, rows))
    return ld, turned


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
    except TypeError as error:
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
    lookup.need_cuda()
    if found.kind != "cuda":
        if first:
            raise ArgumentError(
                f"{next(iter(first))} is not on a GPU, and {name} is; accepted: all on one GPU"
            )
        found = on_gpu(given.index)
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
