"""Lists of matrices as tables: where each one lies and with which strides.

``oriented`` makes column-major products of tables, as ``layout.problem_of`` does of one product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.arrays.backend import ArrayBackend
from tilewright.arrays.overlap import Integers, Placement
from tilewright.arrays.view import Layout

Truth = NDArray[np.bool_]

_ROWS = ("address", "rows", "columns", "row", "column", "lazy", "element")


@dataclass
class Table:
    """Matrices of one operand. ``row`` and ``column``: elements from one row, or column, to the next.
    ``element``: the place in the caller's list; stacks have several matrices in one. ``shapes``: extents of
    a stack (-1 where an element is none), rows and columns of each element."""

    backend: ArrayBackend
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

    def op(self, letter: str) -> Table:
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


# ---- column-major products


@dataclass
class Oriented:
    """Column-major products: C is m x n, A and B where they are needed. ``transposed_a``, ``transposed_b``:
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
    transposed_a: Truth
    transposed_b: Truth
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
    lda, transposed_a = _stored(rows, k, np.where(swap, b.column, a.row), np.where(swap, b.row, a.column))
    ldb, transposed_b = _stored(k, columns, np.where(swap, a.column, b.row), np.where(swap, a.row, b.column))
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
        transposed_a,
        transposed_b,
        np.where(swap, conj_b, conj_a),
        np.where(swap, conj_a, conj_b),
    )


def _stored(rows: Integers, columns: Integers, row: Integers, column: Integers) -> tuple[Integers, Truth]:
    """Leading dimensions, and what is stored transposed."""
    # A row or a column of one element each, or a matrix without elements, is stored either way.
    empty = (rows == 0) | (columns == 0)
    straight, across = (row == 1) | (rows == 1) | empty, (column == 1) | (columns == 1) | empty
    transposed = ~straight if not across.all() or straight.all() else np.full(len(rows), True)
    ld = np.where(transposed, np.where(rows > 1, row, columns), np.where(columns > 1, column, rows))
    return ld, transposed
