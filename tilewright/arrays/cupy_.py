"""CuPy: arrays on GPUs with NumPy's names for everything."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tilewright.arrays.dlpack import Exported, default_stream
from tilewright.arrays.library import Library
from tilewright.arrays.view import ArrayView, Looker, Owner, address_of, view_at
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF, FLOAT16
from tilewright.errors import DTypeError


def is_array(value: Any) -> bool:
    """Whether an argument is an array of CuPy. Imports nothing."""
    cupy: Any = sys.modules.get("cupy")
    return cupy is not None and isinstance(value, getattr(cupy, "ndarray", ()))


def looker(value: Any) -> Looker:
    """What tells arrays apart."""
    kind = type(value)
    return Looker(
        lambda x: (x.shape, x.strides, x.dtype, x.data.device_id) if type(x) is kind else None,
        lambda x: int(x.data.ptr),
    )


class Cupy(Library):
    """CuPy. It has no complex half: ``new``, ``real`` and what they are given to have float16 pairs (..., 2)
    in its place."""

    name = "cupy"

    def on_gpu(self, value: Any) -> bool:
        return True

    def index(self, value: Any) -> int:
        return int(value.device.id)

    def dtype(self, value: Any) -> np.dtype[Any] | None:
        found: np.dtype[Any] = np.dtype(value.dtype)
        return found

    def view(self, value: Any, name: str) -> ArrayView | None:
        index = self.index(value)
        held = Owner(value, self, index, self.stream(index))
        return view_at(value.data.ptr, value.shape, value.strides, value.dtype, held)

    def stream(self, index: int) -> int:
        found: int = self.module.cuda.get_current_stream().ptr
        return default_stream(found)

    def wait(self, index: int, stream: int) -> None:
        gpu = self.module.cuda
        other = gpu.Stream.null if stream == 0 else gpu.ExternalStream(stream, index)
        gpu.get_current_stream().wait_event(other.record())

    def guard(self, index: int) -> AbstractContextManager[Any]:
        guard: AbstractContextManager[Any] = self.module.cuda.Device(index)
        return guard

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], index: int) -> Any:
        if dtype == COMPLEX_HALF:
            return self.module.empty((*shape, 2), FLOAT16)
        return self.module.empty(shape, dtype)

    def real(self, array: ArrayView) -> Any:
        owner = array.owner
        assert owner is not None
        if array.size == 0:
            return self.empty(array.shape, array.dtype, owner.index)
        if owner.library is self:
            memory = owner.value.data.mem
            start = self.module.cuda.MemoryPointer(memory, address_of(array) - memory.ptr)
            shape, dtype, strides = array.shape, array.dtype, array.strides
            if dtype == COMPLEX_HALF:
                shape, dtype, strides = (*shape, 2), FLOAT16, (*strides, FLOAT16.itemsize)
            made = self.module.ndarray(shape, dtype, start, strides)
        else:
            made = self.module.asarray(Exported(array))
            made = made.view(BFLOAT16) if array.dtype == BFLOAT16 else made
        return made.conj() if array.conj else made

    def pairs(self, value: Any) -> Any:
        return value

    def in_kind(self, value: Any) -> Any:
        return value.view(COMPLEX_HALF)[..., 0]

    def widened(self, value: Any) -> Any:
        return value.astype(np.float32, order="C").view(np.complex64)[..., 0]

    def narrow(self, target: Any, source: Any) -> None:
        target[..., 0] = source.real
        target[..., 1] = source.imag

    def copied(self, value: Any) -> Any:
        return value.copy(order="C")

    def assign(self, target: Any, source: Any) -> None:
        target[...] = source

    def conjugate(self, value: Any) -> Any:
        return value.conj()

    def matmul(self, a: Any, b: Any, out: Any = None) -> Any:
        if a.dtype == BFLOAT16 == b.dtype:
            # CuPy has no product of batches of them, or a slow one, depending on its version.
            product = self.module.matmul(a.astype(np.float32), b.astype(np.float32))
            if out is None:
                return product.astype(BFLOAT16)
            out[...] = product
            return out
        try:
            return self.module.matmul(a, b) if out is None else self.module.matmul(a, b, out=out)
        except TypeError as error:
            raise DTypeError(f"a and b are {a.dtype} and {b.dtype}: {error}") from error
