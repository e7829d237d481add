"""What a caller hands in, as problems: arrays of any stride become BLAS layouts, copied only if they must.

``problem_of`` is the only place that knows that a row-major product is the column-major one with A
and B swapped (of a chain, ``chains.chain_of``), and the only one that refuses shapes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.arrays import view
from tilewright.arrays.view import Layout, address_of, aligned, broadcast_to
from tilewright.dtypes import COMPLEX_HALF, FLOAT16
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import DTYPES, OUTER_AXES, Problem

LETTERS = {d.numpy: d for d in DTYPES.values()}
ACCEPTED = "float16, bfloat16, float32, float64, complex64, complex128 and complex half"
TRANSPOSITIONS = ("n", "t", "c")
WIDEST = 16
"""Bytes of the widest access to memory that an alignment is good for. How addresses lie within them is
part of the keys by which calls are remembered."""


def paired(array: Layout, name: str, gpu: bool = False) -> Layout | None:
    """Float16 pairs (..., 2) as complex half (...) in the same memory; None where only a copy is that: where
    parts lie apart, or on a GPU at addresses that are aligned to one part alone.

    Reads no element. Raises ``DTypeError`` for another type, ``ArgumentError`` for another last axis.
    """
    if array.dtype != FLOAT16:
        raise DTypeError(f"{name} is {array.dtype}; accepted with dtype='hc': float16 pairs (..., 2)")
    if array.ndim == 0 or array.shape[-1] != 2:
        raise ArgumentError(
            f"{name} has shape {array.shape}; accepted with dtype='hc': (..., 2), the last axis real and "
            "imaginary parts"
        )
    size, places = COMPLEX_HALF.itemsize, (address_of(array), *array.strides[:-1])
    if array.size and (array.strides[-1] != FLOAT16.itemsize or (gpu and any(x % size for x in places))):
        return None
    return view.paired(array)


def promoted(arrays: dict[str, Layout]) -> np.dtype[Any]:
    """The type that NumPy gives a product of these arrays, by ``ml_dtypes`` where one is bfloat16.

    Complex half goes with complex half alone: NumPy has no common type of it and another. Raises
    ``DTypeError`` when there is none.
    """
    found = [name for name, array in arrays.items() if array.dtype == COMPLEX_HALF]
    for name, array in arrays.items():
        if found and array.dtype != COMPLEX_HALF:
            raise DTypeError(
                f"{name} is {array.dtype} and {found[0]} is complex half; accepted: complex half alone, or "
                f"{found[0]} as complex64"
            )
    try:
        return np.result_type(*(array.dtype for array in arrays.values()))
    except TypeError as error:
        types = ", ".join(f"{name} is {array.dtype}" for name, array in arrays.items())
        raise DTypeError(f"{types}: no common type") from error


def no_numbers(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy has no product of a type: text, dates and bytes of no meaning."""
    others = (np.void, np.character, np.datetime64, np.timedelta64)
    return dtype not in LETTERS and (issubclass(dtype.type, others) or dtype.kind == "T")


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to, of any number of axes: ``numpy.broadcast_shapes`` stops at 32.

    Raises ``ValueError`` when there is none.
    """
    rank = max(map(len, shapes))
    wide = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    found = []
    for extents in zip(*wide, strict=True):
        several = {extent for extent in extents if extent != 1}
        if len(several) > 1:
            raise ValueError(f"{' and '.join(map(str, shapes))} do not broadcast")
        found.append(several.pop() if several else 1)
    return tuple(found)


def transposed(array: Layout, trans: str, name: str) -> tuple[Layout, bool]:
    """op(array) over its last two axes as a view, and whether it is to be conjugated."""
    if trans not in TRANSPOSITIONS:
        raise ArgumentError(f"{name}={trans!r}; accepted: 'n', 't', 'c'")
    return (array if trans == "n" else array.swapaxes(-1, -2)), trans == "c"


@dataclass(frozen=True, slots=True)
class Job:
    """A product as the kernels see it: the problem for one run, and the runs that cover all batches.

    ``swap``: the kernel's A is the caller's second operand. ``outer`` are the extents of batch axes
    that the problem does not cover, and ``outer_steps`` their byte strides for (a, b, out).
    """

    problem: Problem
    swap: bool
    outer: tuple[int, ...]
    outer_steps: tuple[tuple[int, int, int], ...]

    def starts(self) -> list[tuple[int, int, int]]:
        """Bytes from the first run to each, for (a, b, out)."""
        found = np.zeros((1, 3), np.int64)
        for extent, steps in zip(self.outer[::-1], self.outer_steps[::-1], strict=True):
            here = np.arange(extent)[:, None, None] * np.array(steps, np.int64)
            found = (here + found).reshape(-1, 3)
        return [(a, b, out) for a, b, out in found.tolist()]

    def apart(self) -> Job:
        """The same product for kernels of one product: in runs over all batch axes."""
        p = self.problem
        axes = [*p.outer, (p.batch, *p.strides)]
        order, size = (2, 1, 3) if self.swap else (1, 2, 3), p.dtype.itemsize
        steps = [tuple(axis[which] * size for which in order) for axis in axes]
        align = math.gcd(p.align, *(step for axis in steps for step in axis))
        strides: dict[str, Any] = {"stride_a": None, "stride_b": None, "stride_c": None}
        problem = replace(p, batch=1, outer=(), align=align, **strides)
        outer = (*self.outer, *(extent for extent, *_ in axes))
        return Job(problem, self.swap, outer, (*self.outer_steps, *steps))  # type: ignore[arg-type]

    def looped(self) -> Job:
        """The same product for kernels that know one batch axis: the longest one, in runs over all others."""
        p = self.problem
        axes = [*p.outer, (p.batch, *p.strides)]
        inner = axes.pop(max(range(len(axes)), key=lambda axis: axes[axis][0]))
        order = (2, 1, 3) if self.swap else (1, 2, 3)
        size = p.dtype.itemsize
        steps = [tuple(axis[which] * size for which in order) for axis in axes]
        align = math.gcd(p.align, *(step for axis in steps for step in axis))
        batch, a, b, c = inner
        problem = p.with_(batch=batch, outer=(), align=align, stride_a=a, stride_b=b, stride_c=c)
        outer = (*self.outer, *(extent for extent, *_ in axes))
        return Job(problem, self.swap, outer, (*self.outer_steps, *steps))  # type: ignore[arg-type]


def problem_of(
    a: Layout,
    b: Layout,
    out: Layout,
    *,
    conj_a: bool,
    conj_b: bool,
    alpha: str,
    beta: str,
    gpu: bool = False,
    by_rows: bool = False,
) -> Job | str:
    """The job that computes out = alpha a b + beta out, or the name of the array that must be copied first.

    a, b, out: (..., m, k), (..., k, n), (..., m, n) of one supported type, batch axes broadcast to
    out's. Any strides that are whole elements; each operand needs one unit stride and aligned elements.
    On a GPU an element is aligned to its whole size, ``Problem.align`` says how well all runs are, and batch
    axes that one stride does not cover are ``Problem.outer``, in the order in which they lie in out.
    ``by_rows``: a and out are to lie by rows, so that the job is the same one however many rows there are.
    """
    m, k = a.shape[-2:]
    n = b.shape[-1]
    size = out.itemsize
    for name, array in (("a", a), ("b", b), ("out", out)):
        if any(step % size for step in array.strides) or not aligned(array):
            return name
        if gpu and address_of(array) % size:
            return name
    (row_a, col_a), (row_b, col_b), (row_c, col_c) = (
        (x.strides[-2] // size, x.strides[-1] // size) for x in (a, b, out)
    )
    row_major, column_major = col_c == 1 or n == 1, row_c == 1 or m == 1
    if by_rows:
        column_major = False
        if col_a != 1 and k > 1:
            return "a"
    if row_major and (n >= m or not column_major):
        left = _operand(n, k, col_b, row_b, conj_b)
        right = _operand(k, m, col_a, row_a, conj_a)
        rows, columns, ldc, swap, names = n, m, row_c, True, ("b", "a")
    elif column_major:
        left = _operand(m, k, row_a, col_a, conj_a)
        right = _operand(k, n, row_b, col_b, conj_b)
        rows, columns, ldc, swap, names = m, n, col_c, False, ("a", "b")
    else:
        return "out"
    for name, operand in zip(names, (left, right), strict=True):
        if operand is None:
            return name
    assert left is not None
    assert right is not None
    if by_rows and m == 1:
        # As it is with more rows: how far apart they lie decides how well they are aligned.
        right, ldc = (right[0], max(row_a, right[1])), max(row_c, n)
    extents, steps = collapsed(a, b, out, ordered=gpu)
    # A processor's loop over runs costs little, so it takes the longest; a GPU's kernel has all axes.
    longest = max(range(len(extents)), key=lambda axis: extents[axis]) if extents else -1
    inner = len(extents) - 1 if gpu else longest
    batch, (step_a, step_b, step_c) = (extents[inner], steps[inner]) if extents else (1, (0, 0, 0))
    stride_left, stride_right = (step_b, step_a) if swap else (step_a, step_b)
    rest = [axis for axis in range(len(extents)) if axis != inner]
    # The longest of them, where there are more than a problem may have.
    covered = sorted(sorted(rest, key=lambda axis: -extents[axis])[:OUTER_AXES]) if gpu else []
    rest = [axis for axis in rest if axis not in covered]
    starts = [address_of(array) for array in (a, b, out)] if gpu else []
    # Every run begins some of the outer steps further on.
    align = math.gcd(WIDEST, *starts, *(step for axis in rest for step in steps[axis] if gpu))
    order = (1, 0, 2) if swap else (0, 1, 2)
    problem = Problem(
        LETTERS[out.dtype],
        rows,
        columns,
        k,
        left[0],
        right[0],
        batch=batch,
        lda=left[1],
        ldb=right[1],
        ldc=ldc if columns > 1 or by_rows else rows,
        stride_a=stride_left // size if batch > 1 else None,
        stride_b=stride_right // size if batch > 1 else None,
        stride_c=step_c // size if batch > 1 else None,
        alpha=alpha,
        beta=beta,
        align=align,
        outer=tuple((extents[x], *(steps[x][which] // size for which in order)) for x in covered),  # type: ignore[misc]
    )
    return Job(problem, swap, tuple(extents[x] for x in rest), tuple(steps[x] for x in rest))


def _operand(rows: int, columns: int, row: int, column: int, conj: bool) -> tuple[str, int] | None:
    """(transposition letter, leading dimension) for these element strides; None if neither is 1."""
    if row == 1 or rows == 1:
        return ("j" if conj else "n"), (column if columns > 1 else rows)
    if column == 1 or columns == 1:
        return ("c" if conj else "t"), (row if rows > 1 else columns)
    return None


def collapsed(
    a: Layout, b: Layout, out: Layout, ordered: bool = False
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """The batch axes of out with neighbours merged where one stride covers both, for all three arrays.
    ``ordered``: neighbours are those that lie next to each other in out."""
    shape = out.shape[:-2]
    wide = [broadcast_to(x, shape + x.shape[-2:]).strides[:-2] for x in (a, b)] + [out.strides[:-2]]
    axes = [axis for axis in zip(shape, *wide, strict=True) if axis[0] != 1]
    if ordered:
        axes.sort(key=lambda axis: -abs(axis[3]))
    extents: list[int] = []
    steps: list[tuple[int, int, int]] = []
    for extent, *step in axes:
        here = (step[0], step[1], step[2])
        if steps and all(outer == inner * extent for outer, inner in zip(steps[-1], here, strict=True)):
            extents[-1] *= extent
            steps[-1] = here
        else:
            extents.append(extent)
            steps.append(here)
    return extents, steps
