"""Products of arrays that have to be copied, a piece of the batch at a time.

A copy of a whole batch goes out to memory, where its pages are new, and comes back from there. The copy of a
piece stays in a cache, and so does a result that lies elsewhere than where it was asked for: one set of
buffers serves all pieces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tilewright.arrays.overlap import may_share
from tilewright.arrays.view import Array, Layout
from tilewright.calls import product_plans
from tilewright.calls.settings import threads
from tilewright.calls.spec import Options
from tilewright.dtypes import is_complex
from tilewright.runtime.backend import Backend

PIECE = 2 << 20
"""Bytes of operands and results of a piece, for each core. 30,000 products of 9x9 in float64 on one core of a
Zen 3, of which one array has its batch last: 6.4 to 7 ms by pieces of one or two MB, 8 to 10 by a quarter of
that, where calls cost as much as copies, and 7.9 to 8.4 (an operand) and 18 (the result) in one piece."""
PAGE, LINE, WAYS = 4096, 64, 8
"""Bytes of a page and of a line, and the ways of a first-level cache, of a page each."""
LEAST = 4
"""Pieces fewer than which are not worth planning for twice."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a batch is cut: ``axis``, counted from the end of the shape, into pieces of ``length``."""

    axis: int
    length: int

    def piece(self, array: Array, first: int, last: int) -> Array:
        """What belongs to some of the products: all of an array that does not have the axis, or shares it."""
        if array.ndim < -self.axis or array.shape[self.axis] == 1:
            return array
        some: Array = array[(..., slice(first, last)) + (slice(None),) * (-self.axis - 1)]
        return some


def cut_of(a: Array, b: Array, out: Array) -> Cut | None:
    """Along the longest batch axis; None where there are too few pieces."""
    batch = out.shape[:-2]
    count = max(batch, default=0)
    if count < LEAST:
        return None
    cut = Cut(batch.index(count) - out.ndim, 1)
    each = sum(math.prod(cut.piece(array, 0, 1).shape) * array.itemsize for array in (a, b, out))
    length = max(1, PIECE * (threads() or 1) // max(1, each))
    return Cut(cut.axis, length) if count >= LEAST * length else None


def run(backend: Backend, options: Options, a: Layout, b: Layout, out: Layout, *, fresh: bool) -> bool:
    """out = alpha a b + beta out, if that is worth being done by pieces; whether it was.

    Arrays in this process's memory alone, and what neither has to be deterministic nor is forced.
    ``fresh``: out was made for this call, so it overlaps nothing.
    """
    if backend.kind != "cpu" or options.forced or options.deterministic:
        return False
    given = tuple(array for array in (a, b, out) if isinstance(array, np.ndarray))
    assert len(given) == 3
    cut = cut_of(*given)
    if cut is None or (not fresh and (may_share(a, out) or may_share(b, out))):
        return False
    whole = product_plans.plan(backend, options, *given, fresh=True, imagine=True)
    if whole.a is a and whole.b is b and whole.out is out:
        return False
    return _run(backend, options, cut, given)


def _run(backend: Backend, options: Options, cut: Cut, given: tuple[Array, Array, Array]) -> bool:
    count = given[2].shape[cut.axis]
    buffers: list[Buffer | None] = []
    for first in range(0, count, cut.length):
        last = min(first + cut.length, count)
        pieces = [cut.piece(array, first, last) for array in given]
        if first == 0 or last - first < cut.length:
            # The first piece, like which are all but a shorter last one.
            found = product_plans.plan(backend, options, *pieces, fresh=True, imagine=True)
            if found.bound is None and first == 0:
                return False
            held = zip((found.a, found.b, found.out), pieces, strict=True)
            buffers = [None if layout is piece else Buffer(backend, piece) for layout, piece in held]
        if found.bound is None:
            conj = options.conj if is_complex(pieces[2].dtype) else (False, False)
            backend.multiply(pieces[0], pieces[1], pieces[2], options.scalars, conj)
            continue
        read = (True, True, options.beta != 0)
        taken = [
            piece if buffer is None else buffer.taken(piece, values)
            for buffer, piece, values in zip(buffers, pieces, read, strict=True)
        ]
        backend.run(found.bound, *taken)
        if buffers[2] is not None:
            backend.assign(pieces[2], buffers[2].values)
    return True


class Buffer:
    """The copy of a piece, C-contiguous.

    Where more rows than a cache has ways begin at multiples of a page, as in a batch of a power of two, each
    is copied as it lies first: NumPy goes from row to row for each element, and by then lines are gone.
    """

    def __init__(self, backend: Backend, piece: Array):
        self.backend, self.values = backend, backend.empty(piece.shape, piece.dtype)
        self.rows: Array | None = None
        self.held: Array | None = None
        order = sorted(range(piece.ndim), key=lambda axis: -abs(piece.strides[axis]))
        shape = [piece.shape[axis] for axis in order]
        steps = [abs(piece.strides[axis]) for axis in order if piece.shape[axis] > 1]
        long = shape[-1] * piece.itemsize >= LINE and math.prod(shape[:-1]) > WAYS
        if long and all(step % PAGE == 0 for step in steps[:-1]):
            wide: Array = np.empty((*shape[:-1], shape[-1] + LINE // piece.itemsize), piece.dtype)
            back = sorted(range(piece.ndim), key=order.__getitem__)
            self.rows = wide[..., : shape[-1]].transpose(back)

    def taken(self, piece: Array, values: bool) -> Layout:
        """The buffer in place of a piece, ``values`` and all. What pieces share is copied once."""
        if values and piece is not self.held:
            self.held = piece
            rows: Layout = piece
            if self.rows is not None:
                self.backend.assign(self.rows, piece)
                rows = self.rows
            self.backend.assign(self.values, rows)
        return self.values
