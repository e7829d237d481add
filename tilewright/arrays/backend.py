"""Where the arrays of a call lie: what is asked of that memory, and how the library of an array is found.

An ``ArrayBackend`` is what touches elements: ``numpy_.NumpyArrays`` in this process's memory, and on a GPU
``gpu.GpuArrays`` by the library that the arrays belong to. Everybody else asks arrays for their layout.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from tilewright.arrays import cupy_, dlpack, numpy_, torch_
from tilewright.arrays.library import Library
from tilewright.arrays.view import ArrayView, Layout, Looker

Wrap = Callable[[Any], Any]
"""How a result is handed back in kind."""


class ArrayBackend(Protocol):
    """Where the arrays of a call lie, and what touches their elements there.

    Arrays are NumPy's in this process's memory, and views on a GPU.
    """

    @property
    def kind(self) -> str:
        """The kind of the device: ``cpu`` or ``cuda``."""

    @property
    def index(self) -> int:
        """The number of the device among those of its kind."""

    @property
    def stream(self) -> int:
        """The driver's number of the stream that work goes to; 0 where there are none."""

    @property
    def vendor(self) -> bool:
        """Whether there is a library of arrays whose own product can be called."""

    def current(self) -> AbstractContextManager[None]:
        """Within it, work goes there."""

    def view(self, value: Any, name: str) -> tuple[Layout, Wrap]:
        """An argument as an array that shares its memory, and how to hand a result back in kind."""

    def view_out(self, value: Any) -> Layout:
        """``out`` as an array that shares its memory."""

    def hand_back(self, array: Layout) -> Any:
        """A result that no argument says the kind of."""

    def pairs(self, array: Layout, wrap: Wrap) -> Any:
        """A result of complex half as float16 pairs (..., 2), handed back as ``wrap`` hands an array."""

    def known(self, value: Any) -> bool:
        """Whether ``view`` understands the type of an argument; else ``plain`` is all there is."""

    def plain(self, a: Any, b: Any, out: Any) -> Any:
        """The product of types that no stencil accepts, by the arrays' library."""

    def at(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        keep: Any = None,
        conj: bool = False,
    ) -> Layout:
        """The array that lies at an address, whose memory is ``keep``'s."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Layout:
        """A new array, C-contiguous."""

    def imagined(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Layout:
        """The layout of a new array, without memory: for planning."""

    def copy(self, array: Layout) -> Layout:
        """A C-contiguous copy."""

    def cast(self, array: Layout, dtype: np.dtype[Any]) -> Layout:
        """A copy of another type."""

    def assign(self, target: Layout, source: Layout) -> None:
        """target[...] = source."""

    def scale(self, out: Layout, beta: complex) -> None:
        """out = beta * out; zeros, whatever out held, for beta = 0."""

    def multiply(
        self, a: Layout, b: Layout, out: Layout, scalars: tuple[complex, complex], conj: tuple[bool, bool]
    ) -> None:
        """out = alpha a b + beta out by the arrays' library, ``conj`` saying what is conjugated first."""


# ---- what is on a GPU, and whose it is


def on_gpu(value: Any) -> bool:
    """Whether an argument is an array in the memory of a GPU. Imports nothing."""
    if isinstance(value, np.ndarray | np.generic | int | float | complex | list | tuple) or value is None:
        return False
    library = library_of(value)
    if library is not None:
        return library.on_gpu(value)
    return not torch_.is_tensor(value) and dlpack.on_gpu(value)


def library_of(value: Any) -> Library | None:
    """The array library that an argument belongs to; None: none that is known, or none at all."""
    # An argument can only belong to a library that somebody has imported.
    if cupy_.is_array(value):
        return library("cupy")
    return library("torch") if torch_.is_tensor(value) else None


@functools.cache
def library(name: str) -> Library:
    """A library that has been imported; ``followed`` is PyTorch where it is to know of what is done."""
    kinds = {"torch": torch_.Torch, "followed": torch_.Followed, "cupy": cupy_.Cupy}
    return kinds[name](sys.modules["cupy" if name == "cupy" else "torch"])


def follower(*values: Any) -> Library | None:
    """The library of arguments that is to know what is done with them, for gradients say; else None."""
    return library("followed") if torch_.listening(*values) else None


def default_library() -> Library | None:
    """What makes results for arrays of no known library: PyTorch if it is imported and sees a GPU, else
    CuPy if it is imported, else nothing."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return library("torch")
    return library("cupy") if "cupy" in sys.modules else None


def index_of(value: Any, name: str) -> int | None:
    """The GPU that an argument lies on; None for one without elements that does not say."""
    found = library_of(value)
    return found.index(value) if found is not None else dlpack.index_of(value, name)


def looker(value: Any) -> Looker | None:
    """What tells arrays of a library apart by their layouts, and reads their addresses; None for arrays of
    which nobody knows how."""
    if torch_.is_tensor(value):
        return torch_.looker(value)
    if cupy_.is_array(value):
        return cupy_.looker(value)
    return numpy_.LOOKER if type(value) is np.ndarray else None


def device_view(value: Any, name: str, stream: int | None) -> ArrayView | None:
    """Any array on a GPU as a view; None where NumPy has no such type.

    ``stream`` is where the elements will be used. Raises ``ArgumentError`` and ``DTypeError`` for what
    is not understood.
    """
    found = library_of(value)
    return found.view(value, name) if found is not None else dlpack.view(value, name, stream)
