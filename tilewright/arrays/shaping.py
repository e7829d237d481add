"""What is asked of an array library while a contraction runs: axes reordered, merged, summed, multiplied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tilewright.dtypes import WIDE, is_half


class Look(NamedTuple):
    """How an array lies: shape, strides in elements (None where those are no whole ones), and the type as
    NumPy has it (None for one that no kernel knows)."""

    shape: tuple[int, ...]
    elements: tuple[int, ...] | None
    dtype: Any


class Shaping:
    """What is asked of a library while a contraction runs, as NumPy and CuPy do it. ``module`` is theirs."""

    follows = False
    """Whether what is done with arrays is followed, for gradients say: then results are always new arrays."""

    def __init__(self, module: Any):
        self.module = module

    def traced(self) -> bool:
        """Whether somebody follows all calls of the library at the moment."""
        return False

    def key(self, x: Any) -> Any:
        """What arrays have in common that are treated alike: quickly had, and hashable."""
        return x.shape, x.strides, x.dtype

    def look(self, key: Any) -> Look:
        """How arrays of a key lie."""
        shape, strides, dtype = key
        whole = not any(step % dtype.itemsize for step in strides)
        return Look(shape, tuple(step // dtype.itemsize for step in strides) if whole else None, dtype)

    def own(self, equation: str, arrays: Sequence[Any]) -> Any:
        """The library's own contraction."""
        return self.module.einsum(equation, *arrays, optimize=True)

    def viewed(
        self, x: Any, axes: tuple[int, ...] | None, shape: tuple[int, ...], steps: tuple[int, ...] | None
    ) -> Any:
        """Axes in another order (None: as they are), then another shape. ``steps`` are the strides of that in
        elements, so that it is the same memory; None: it is a copy."""
        if axes is not None:
            x = x.transpose(axes)
        return (self.copied(x) if steps is None else x).reshape(shape)

    def shaped(self, x: Any, shape: tuple[int, ...]) -> Any:
        """The same elements in another shape."""
        return x.reshape(shape)

    def copied(self, x: Any) -> Any:
        """A C-contiguous copy."""
        return self.module.array(x, order="C", copy=True)

    def cast(self, x: Any, dtype: np.dtype[Any]) -> Any:
        """A copy of another type."""
        return x.astype(dtype)

    def new(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any) -> Any:
        """A new array, C-contiguous, in the memory of another."""
        return self.module.empty(shape, dtype)

    def maker(
        self,
        made: tuple[int, ...],
        axes: tuple[int, ...] | None,
        shape: tuple[int, ...],
        steps: tuple[int, ...],
        dtype: np.dtype[Any],
        like: Any,
    ) -> Callable[[], Any]:
        """What makes new arrays: C-contiguous as ``made``, and seen as ``viewed`` sees that."""
        # What is kept must not keep an array of the caller alive.
        if axes is None and made == shape:
            return lambda: self.new(made, dtype, None)
        return lambda: self.viewed(self.new(made, dtype, None), axes, shape, steps)

    def diagonal(self, x: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        """A view with other strides, in elements, from the same first element."""
        return self.module.lib.stride_tricks.as_strided(
            x, shape, tuple(step * x.itemsize for step in strides)
        )

    def summed(self, x: Any, axes: tuple[int, ...]) -> Any:
        """Sums along some axes, in the array's own type, C-contiguous; of 16-bit types in float32, rounded
        once."""
        # NumPy's sum takes types of this machine's byte order alone.
        kind = x.dtype.newbyteorder("=")
        found = x.sum(axes, dtype=WIDE[kind] if is_half(kind) else kind)
        return self.module.ascontiguousarray(found, dtype=kind).reshape(found.shape)

    def times(self, a: Any, b: Any) -> Any:
        """Element by element, C-contiguous."""
        return self.module.multiply(a, b, order="C")

    def assign(self, target: Any, source: Any) -> None:
        """target[...] = source."""
        target[...] = source
