"""Arrays in this process's memory: NumPy's, what NumPy makes arrays of, and tensors of PyTorch on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from tilewright.arrays import torch_
from tilewright.arrays.shaping import Shaping
from tilewright.arrays.view import Array, Looker, address_of, imagined
from tilewright.dtypes import is_complex, is_half, narrowed, unpaired, widened
from tilewright.errors import ArgumentError, DTypeError

Wrap = Callable[[Any], Any]

# Outputs from this size on are allocated on cache-line boundaries, which streaming stores need.
ALIGN_FROM = 1 << 16


# ---- arguments


def adopt(value: Any, name: str) -> tuple[Array, Callable[[Array], Any]]:
    """An argument as a NumPy array that shares its memory, and how to hand a result back in kind.

    NumPy arrays and what NumPy makes arrays of come back as NumPy arrays; PyTorch tensors on the CPU
    as tensors, and arrays of other libraries as theirs (``handing``). Raises ``DTypeError`` for tensors
    that are elsewhere, that want a gradient or that NumPy has no type for, and for masked arrays;
    ``ArgumentError`` for rows of unequal length.
    """
    if type(value) is np.ndarray:
        return value, itself
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError(f"{name} is a masked array, whose mask no product reads; accepted: {name}.filled(x)")
    if torch_.is_tensor(value):
        return torch_.shared(value, name), torch_.tensor_of
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ArgumentError(f"{name} of type {type(value).__name__} is no array: {error}") from error
    if array.dtype == object and not hasattr(value, "__array__"):
        kind = type(value).__name__
        raise DTypeError(f"{name} of type {kind} is no array of numbers; accepted: what NumPy makes one of")
    return array, handing(value)


def adopt_out(value: Any) -> Array:
    """``out`` as a NumPy array whose memory is that of the argument, so that it receives what is written.

    Raises ``ArgumentError`` for what could only be copied, ``DTypeError`` as ``adopt`` does.
    """
    array, _ = adopt(value, "out")
    if torch_.is_tensor(value):
        if torch_.put_off(value):
            raise ArgumentError("out is a lazily conjugated or negated tensor; accepted: out.resolve_conj()")
    elif array.base is None and not isinstance(value, np.ndarray):
        raise ArgumentError(f"out is of type {type(value).__name__}; accepted: an array, tensor or buffer")
    return array


LOOKED = 0x100 | 0x400
"""The flags of an array that say that it is aligned, and that it may be written to."""
LOOKER = Looker(
    lambda x: (x.shape, x.strides, x.dtype, x.flags.num & LOOKED) if type(x) is np.ndarray else None,
    address_of,
)
"""What tells arrays of NumPy apart."""


def itself(array: Any) -> Any:
    """How a result goes to a caller who gave arrays."""
    return array


def handing(value: Any) -> Callable[[Any], Any]:
    """How a result goes to a caller who gave an array of any library: as that library's, by DLPack.

    The library is what the array says by ``__array_namespace__`` of the array API (JAX does). A result
    that it does not take over as it is, of the same type and shape, comes back as it was made.
    """
    if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__dlpack__"):
        return itself
    try:
        take: Callable[[Any], Any] = value.__array_namespace__().from_dlpack
    except Exception:  # It does not say, or has no such thing.
        return itself

    def handed(made: Any) -> Any:
        try:
            theirs = take(made)
            # A type's name is what libraries have in common: "float64", "torch.float64".
            kinds = {str(array.dtype).rpartition(".")[2] for array in (theirs, made)}
            same = len(kinds) == 1 and tuple(theirs.shape) == tuple(made.shape)
        except Exception:  # A type, an order or a device that is not theirs.
            return made
        return theirs if same else made

    return handed


# ---- memory


def empty_aligned(shape: tuple[int, ...], dtype: np.dtype[Any], alignment: int = 64) -> Array:
    """A new array whose data starts at a multiple of ``alignment`` bytes: streaming stores need it."""
    count = math.prod(shape) * dtype.itemsize
    raw = np.empty(count + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + count].view(dtype).reshape(shape)


def new_output(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A fresh array for a result; a large one starts on a cache line."""
    if dtype.itemsize * math.prod(shape) < ALIGN_FROM:
        return np.empty(shape, dtype)
    return empty_aligned(shape, dtype)


class _Interface:
    """What NumPy makes an array of."""

    def __init__(self, interface: dict[str, Any]):
        self.__array_interface__ = interface


def memory_at(address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array over memory of this process."""
    if 0 in shape:
        return np.empty(shape, dtype)
    words = f"<u{dtype.itemsize}" if dtype.kind == "V" and dtype.names is None else dtype.str
    interface: dict[str, Any] = {"data": (address, False), "shape": shape, "strides": strides, "version": 3}
    if dtype.names is not None:
        words = f"|V{dtype.itemsize}"
    made = np.asarray(_Interface(interface | {"typestr": words}))
    view: Array = made.view(dtype)
    return view


class Numpy(Shaping):
    """NumPy."""

    def new(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any) -> Any:
        return new_output(shape, dtype)


NUMPY = Numpy(np)


class NumpyArrays:
    """Arrays in this process's memory: see ``backend.ArrayBackend``."""

    kind = "cpu"
    index = 0
    stream = 0
    vendor = True
    current = nullcontext
    view = staticmethod(adopt)
    view_out = staticmethod(adopt_out)
    empty = staticmethod(new_output)
    imagined = staticmethod(imagined)
    hand_back = staticmethod(itself)

    def known(self, value: Any) -> bool:
        return True

    def pairs(self, array: Any, wrap: Wrap) -> Any:
        return wrap(unpaired(array))

    def plain(self, a: Any, b: Any, out: Any) -> Any:
        (x, wrap), (y, _) = adopt(a, "a"), adopt(b, "b")
        if out is not None:
            np.matmul(x, y, out=adopt_out(out))
            return out
        made = np.matmul(x, y)
        return made if wrap is itself else wrap(np.asarray(made))

    def at(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any], **_: Any
    ) -> Array:
        return memory_at(address, shape, strides, dtype)

    def copy(self, array: Any) -> Array:
        return np.array(array, order="C")

    def cast(self, array: Any, dtype: np.dtype[Any]) -> Array:
        made: Array = array.astype(dtype)
        return made

    def assign(self, target: Any, source: Any) -> None:
        target[...] = source

    def scale(self, out: Any, beta: complex) -> None:
        if beta == 0:
            out[...] = 0
        elif beta != 1:
            factor = beta if is_complex(out.dtype) else beta.real
            if is_half(out.dtype):
                # NumPy would round the factor to 16 bits first.
                out[...] = narrowed(widened(out) * factor, out.dtype)
            else:
                out *= factor

    def multiply(
        self, a: Any, b: Any, out: Any, scalars: tuple[complex, complex], conj: tuple[bool, bool]
    ) -> None:
        # Sums of 16-bit numbers are kept in float32 and rounded once.
        a, b = widened(a), widened(b)
        a = a.conj() if conj[0] else a
        b = b.conj() if conj[1] else b
        alpha, beta = scalars if is_complex(out.dtype) else (scalars[0].real, scalars[1].real)
        half = is_half(out.dtype)
        if (alpha, beta) == (1, 0) and not half:
            np.matmul(a, b, out=out)
            return
        product = np.matmul(a, b)
        if alpha != 1:
            product *= alpha
        if half:
            if beta != 0:
                product = product + beta * widened(out)
            out[...] = narrowed(product, out.dtype)
        elif beta != 0:
            self.scale(out, beta)
            out += product
        else:
            out[...] = product
