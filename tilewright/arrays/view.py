"""An array as its layout: where it lies, with which shape, strides and type. No element is ever read.

Arrays of this process are NumPy's own, and an array on a GPU is an ``ArrayView``; the analysis of layouts
asks both for the same few things, so that one analysis serves both kinds of memory. Whatever must touch
elements (copies, casts, the product of the array's own library) is done by that library, on an array that
``Library.real`` makes of a view.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.dtypes import COMPLEX_HALF, FLOAT16, WIDE
from tilewright.errors import ArgumentError, DTypeError

Array = np.ndarray[Any, np.dtype[Any]]

NOWHERE = 1 << 12
"""The address of views that stand for no memory: as aligned as that of any allocation."""


@dataclass(frozen=True, slots=True, eq=False)
class Owner:
    """What keeps the memory of a view alive.

    ``value`` is the library's array, without lazy conjugation. ``library`` is the ``Library`` that it
    belongs to, None for arrays of no library that is known. ``stream`` is where the array's owner says that
    its elements are written last, None where it says nothing.
    """

    value: Any
    library: Any
    index: int
    stream: int | None


@dataclass(frozen=True, slots=True)
class ArrayView:
    """The layout of an array. ``strides`` are in bytes; ``conj``: it is the conjugate of its memory."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    # Whose memory it is makes no layout: it is not compared, and printing it would read elements.
    owner: Owner | None = field(default=None, compare=False)
    conj: bool = False
    readonly: bool = False

    def __repr__(self) -> str:
        return f"<{self.dtype} {self.shape} at {self.address:#x}{' conjugated' if self.conj else ''}>"

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def swapaxes(self, one: int, other: int) -> ArrayView:
        """The same memory with two axes exchanged."""
        shape, strides = list(self.shape), list(self.strides)
        shape[one], shape[other] = shape[other], shape[one]
        strides[one], strides[other] = strides[other], strides[one]
        return replace(self, shape=tuple(shape), strides=tuple(strides))

    @property
    def backwards(self) -> tuple[int, ...]:
        """The axes that run backwards in memory."""
        return tuple(axis for axis, step in enumerate(self.strides) if step < 0)

    def reversed(self, axes: tuple[int, ...]) -> ArrayView:
        """The same memory with the elements along some axes in reverse order."""
        address, strides = self.address, list(self.strides)
        for axis in axes:
            address += max(self.shape[axis] - 1, 0) * strides[axis]
            strides[axis] = -strides[axis]
        return replace(self, address=address, strides=tuple(strides))


@dataclass(frozen=True, slots=True)
class Looker:
    """How arrays of one class are told apart without a view of each, for long lists of them.

    ``look`` gives all that two arrays have to have in common but for the address, None for another class;
    ``address`` reads that. Either may raise ``RuntimeError`` for an array without memory.
    """

    look: Callable[[Any], Any]
    address: Callable[[Any], int]


Layout = Array | ArrayView
"""Whatever says how it lies in memory."""


def view_at(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    dtype: np.dtype[Any],
    owner: Owner | None = None,
    *,
    conj: bool = False,
    readonly: bool = False,
) -> ArrayView:
    """The view of an array at an address. ``strides`` in bytes; None: contiguous, last axis first.

    Raises ``DTypeError`` for a type whose elements are not plain numbers, ``ArgumentError`` for a shape and
    strides of different length and negative extents.
    """
    if dtype.kind not in "biufc" and dtype not in WIDE:
        raise DTypeError(f"an array of {dtype} on a GPU; accepted: numbers")
    steps = contiguous(shape, dtype.itemsize) if strides is None else strides
    if len(steps) != len(shape) or any(extent < 0 for extent in shape):
        raise ArgumentError(f"an array of shape {shape} and strides {steps}; accepted: one for each axis")
    return ArrayView(address, shape, steps, dtype, owner, conj, readonly)


def view_of(array: Layout) -> ArrayView:
    """The layout of an array without the array: nothing is kept alive by it."""
    readonly = array.readonly if isinstance(array, ArrayView) else not array.flags.writeable
    return ArrayView(
        address_of(array), array.shape, array.strides, array.dtype, None, conjugated(array), readonly
    )


def imagined(shape: tuple[int, ...], dtype: np.dtype[Any]) -> ArrayView:
    """The layout of a new array, without the array: for plans."""
    return view_at(NOWHERE, shape, None, dtype)


def contiguous(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The strides in bytes of an array without gaps, its last axis first."""
    steps, step = [], size
    for extent in reversed(shape):
        steps.append(step)
        step *= max(extent, 1)
    return tuple(reversed(steps))


def address_of(array: Layout) -> int:
    """Where the first element of an array lies."""
    if isinstance(array, ArrayView):
        return array.address
    address: int = array.__array_interface__["data"][0]
    return address


def conjugated(array: Layout) -> bool:
    """Whether an array is the conjugate of what is in its memory."""
    return isinstance(array, ArrayView) and array.conj


def writeable(array: Layout) -> bool:
    """Whether elements of an array may be written."""
    return not array.readonly if isinstance(array, ArrayView) else array.flags.writeable


def aligned(array: Layout) -> bool:
    """Whether the first element lies at a multiple of what its type wants, as NumPy has it."""
    if isinstance(array, ArrayView):
        return array.size == 0 or array.address % array.dtype.alignment == 0
    return array.flags.aligned


def with_axis(array: Layout, at: int) -> Layout:
    """The same memory with an axis of one element more, ``at`` counted in the result."""
    if not isinstance(array, ArrayView):
        return np.expand_dims(array, at)
    at = at if at >= 0 else at + array.ndim + 1
    shape, strides = array.shape, array.strides
    return replace(array, shape=(*shape[:at], 1, *shape[at:]), strides=(*strides[:at], 0, *strides[at:]))


def broadcast_to(array: Layout, shape: tuple[int, ...]) -> Layout:
    """The same memory repeated along axes that an array lacks, or has one element of.

    Raises ``ValueError`` where shapes do not broadcast.
    """
    if not isinstance(array, ArrayView):
        found: Array = np.broadcast_to(array, shape)
        return found
    new = len(shape) - array.ndim
    wide = (1,) * new + array.shape
    if new < 0 or any(extent not in (1, want) for extent, want in zip(wide, shape, strict=True)):
        raise ValueError(f"{array.shape} does not broadcast to {shape}")
    steps = (0,) * new + array.strides
    # What is repeated does not move on; an axis of one element that stays one keeps its stride.
    strides = tuple(
        0 if extent != want else step for extent, want, step in zip(wide, shape, steps, strict=True)
    )
    return replace(array, shape=shape, strides=strides)


def paired(array: Layout) -> Layout:
    """Float16 pairs (..., 2), their parts side by side, as complex half (...): the same memory."""
    if not isinstance(array, ArrayView):
        return dtypes.paired(array)
    assert array.dtype == FLOAT16
    return replace(array, shape=array.shape[:-1], strides=array.strides[:-1], dtype=COMPLEX_HALF)
