"""Arrays on one GPU: views of them, and what touches their elements by the library that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.arrays import backend
from tilewright.arrays.layout import ACCEPTED, LETTERS, paired
from tilewright.arrays.library import Library
from tilewright.arrays.numpy_ import handing
from tilewright.arrays.overlap import may_share, same
from tilewright.arrays.view import ArrayView, Owner, imagined, view_at
from tilewright.dtypes import COMPLEX_HALF, is_complex
from tilewright.errors import ArgumentError, DeviceError, DTypeError
from tilewright.targets.cuda import devices, driver

Wrap = Callable[[Any], Any]


def need_cuda() -> None:
    """Raises ``DeviceError`` with the reason when no GPU can be used from here."""
    reason = devices.missing()
    if reason is not None:
        raise DeviceError(reason)


@contextmanager
def current(library: Library | None, index: int) -> Iterator[None]:
    """Within it, work goes to a GPU: its context is current on this thread.

    Raises ``DeviceError`` for arrays of no known library on a GPU that is not the current one.
    """
    with nullcontext() if library is None else library.guard(index):
        driver.context(index)
        if library is None and driver.current_device() != index:
            raise DeviceError(
                f"the arrays lie on GPU {index} and GPU {driver.current_device()} is current; accepted: "
                "arrays on the current GPU, or torch or cupy imported, to change it"
            )
        yield


class GpuArrays:
    """Arrays on a GPU: see ``backend.ArrayBackend``. ``library`` makes what is new, and is None where nobody
    can; ``stream`` is the one that the caller's work goes to."""

    kind = "cuda"

    def __init__(self, library: Library | None, index: int, stream: int):
        self.library, self.index, self.stream = library, index, stream
        # Without a library of arrays nobody else can multiply, whatever the records say.
        self.vendor = library is not None

    def current(self) -> AbstractContextManager[None]:
        """Within it, work goes to this GPU."""
        return current(self.library, self.index)

    def view(self, value: Any, name: str) -> tuple[ArrayView, Wrap]:
        """An argument as a view, and how to hand a result back. What was written to it on another
        stream is waited for, on this one.

        Raises ``DTypeError`` for a type that neither kernels nor NumPy know.
        """
        found = backend.device_view(value, name, self.stream)
        if found is None:
            raise DTypeError(
                f"{name} is {getattr(value, 'dtype', type(value).__name__)}; accepted: {ACCEPTED}"
            )
        assert found.owner is not None
        stream = found.owner.stream
        if stream is not None and stream != self.stream:
            if self.library is None:
                raise ArgumentError(f"{name} is written on stream {stream}, and the call is on {self.stream}")
            self.library.wait(self.index, stream)
        if backend.library_of(value) is not None:
            return found, self.hand_back
        theirs = handing(value)
        return found, lambda result: theirs(self.hand_back(result))

    def view_out(self, value: Any) -> ArrayView:
        """``out`` as a view. Raises ``ArgumentError`` for what is to be conjugated or negated."""
        library = backend.library_of(value)
        if library is not None and library.put_off(value):
            raise ArgumentError("out is a lazily conjugated or negated tensor; accepted: out.resolve_conj()")
        return self.view(value, "out")[0]

    def hand_back(self, array: Any) -> Any:
        """A result as the caller's library has it."""
        owner = array.owner
        if owner is not None and self.library is not None and owner.library is self.library:
            # The very object that was made, where the result is all of it.
            whole = self.library.view(owner.value, "out")
            if whole is not None and same(whole, array):
                return owner.value
        made = self._real(array, "out")
        return self._library("out").in_kind(made) if array.dtype == COMPLEX_HALF else made

    def pairs(self, array: Any, wrap: Wrap) -> Any:
        """A result of complex half as float16 pairs (..., 2)."""
        return self._library("out=None").pairs(self._real(array, "out"))

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ArrayView:
        """A new array. Raises ``ArgumentError`` when there is no library to make it."""
        return self._made(self._library("out=None").empty(shape, dtype, self.index), dtype)

    def copy(self, array: Any) -> ArrayView:
        """A C-contiguous copy of what is in memory, to be conjugated if the array was."""
        memory = replace(array, conj=False)
        made = self._made(self._library("a copy").copied(self._real(memory, "a copy")), array.dtype)
        return replace(made, conj=array.conj)

    def cast(self, array: Any, dtype: np.dtype[Any]) -> ArrayView:
        """A copy of another type."""
        return self._made(self._library("a copy").cast(self._real(array, "a copy"), dtype), dtype)

    def _made(self, value: Any, dtype: np.dtype[Any]) -> ArrayView:
        """What the library made for elements of a type, which may be float16 pairs for complex half."""
        found: Any = self._library("a copy").view(value, "a copy")
        if dtype == COMPLEX_HALF and found.dtype != dtype:
            found = paired(found, "a copy")
        assert isinstance(found, ArrayView)
        return found

    imagined = staticmethod(imagined)

    def at(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        keep: Any = None,
        conj: bool = False,
    ) -> ArrayView:
        """The array that lies at an address, whose memory is ``keep``'s."""
        return view_at(address, shape, strides, dtype, Owner(keep, None, self.index, None), conj=conj)

    def assign(self, target: Any, source: Any) -> None:
        """target[...] = source."""
        if target.size == 0 or same(target, source):
            return
        if may_share(target, source):
            source = self.copy(source)
        if self._unwritable(target):
            axes = target.backwards
            target, source = target.reversed(axes), source.reversed(axes)
        self._library("a copy").assign(self._real(target, "out"), self._real(source, "c"))

    def scale(self, out: Any, beta: complex) -> None:
        """out = beta * out; zeros, whatever out held, for beta = 0."""
        if out.size == 0 or beta == 1:
            return
        # In whichever order.
        real = self._real(out.reversed(out.backwards), "out")
        if beta == 0:
            real[...] = 0
        elif out.dtype == COMPLEX_HALF:
            library = self._library("out")
            library.narrow(real, library.widened(real) * beta)
        else:
            real *= beta if is_complex(out.dtype) else beta.real

    def multiply(
        self, a: Any, b: Any, out: Any, scalars: tuple[complex, complex], conj: tuple[bool, bool]
    ) -> None:
        """The same product by the array library. ``conj``: what is to be conjugated beside what is lazily."""
        library = self._library("this product")
        if self._unwritable(out):
            apart = self.copy(out)
            self.multiply(a, b, apart, scalars, conj)
            self.assign(out, apart)
            return
        if out.dtype == COMPLEX_HALF:
            self._multiply_pairs(a, b, out, scalars, conj)
            return
        left, right = (
            library.conjugate(real) if turn else real
            for real, turn in zip((self._real(a, "a"), self._real(b, "b")), conj, strict=True)
        )
        alpha, beta = (x if is_complex(out.dtype) else x.real for x in scalars)
        if may_share(a, out) or may_share(b, out):
            apart = self.copy(out)
            library.gemm(left, right, self._real(apart, "out"), alpha, beta)
            self.assign(out, apart)
        else:
            library.gemm(left, right, self._real(out, "out"), alpha, beta)

    def _multiply_pairs(
        self, a: Any, b: Any, out: Any, scalars: tuple[complex, complex], conj: tuple[bool, bool]
    ) -> None:
        """``multiply`` of complex half, which no library has a product of: by way of complex64."""
        library, (alpha, beta) = self._library("this product"), scalars
        left, right = (
            library.conjugate(wide) if turn else wide
            for wide, turn in zip((self._wide(a, "a"), self._wide(b, "b")), conj, strict=True)
        )
        product = library.matmul(left, right)
        if alpha != 1:
            product *= alpha
        if beta != 0:
            product = product + beta * self._wide(out, "out")
        library.narrow(self._real(out, "out"), product)

    def _wide(self, array: Any, name: str) -> Any:
        """Complex half as complex64 of the library."""
        return self._library(name).widened(self._real(array, name))

    def plain(self, a: Any, b: Any, out: Any) -> Any:
        """The library's own product, on the caller's very arrays: for types that no stencil accepts.

        Raises ``DTypeError`` where there is no such product.
        """
        library, given = self.library, [value for value in (a, b, out) if value is not None]
        if library is None or any(backend.library_of(value) is not library for value in given):
            types = " and ".join(str(getattr(value, "dtype", type(value).__name__)) for value in (a, b))
            raise DTypeError(f"a and b are {types}; accepted: {ACCEPTED}")
        for name, value in zip(("a", "b", "out"), given, strict=False):
            library.check(value, name)
        made = library.matmul(a, b, out)
        return made if out is None else out

    def known(self, value: Any) -> bool:
        """Whether a kernel may take the type of an argument."""
        library = backend.library_of(value)
        return library is None or library.dtype(value) in LETTERS

    def _library(self, what: str) -> Library:
        if self.library is None:
            raise ArgumentError(
                f"{what}: needs a library that makes arrays; accepted: torch or cupy imported, or out= and "
                "operands with one unit stride and aligned elements"
            )
        return self.library

    def _unwritable(self, array: Any) -> bool:
        """Whether the library has no array that shares the memory of a view."""
        return bool(array.backwards) and self.library is not None and not self.library.backwards

    def _real(self, array: Any, name: str) -> Any:
        return self._library(name).real(array)
