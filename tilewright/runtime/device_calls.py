"""Calls made before on arrays of a GPU: from the arguments to the launch in a few microseconds.

A call is remembered under all that its kernel depends on: shapes, strides, types, the GPU, lazy
conjugation, how well the addresses are aligned, and the scalars. Nothing is asked twice and nothing is
checked that the key already says; what is not there gives ``NotImplemented``, and the caller goes the
slow path, which finds every error. Each library has its own cheapest way to ask, so each has a class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.arrays.cupy_ import Cupy
from tilewright.arrays.layout import WIDEST
from tilewright.arrays.library import Library
from tilewright.arrays.overlap import bounds
from tilewright.arrays.torch_ import Torch
from tilewright.arrays.view import Layout
from tilewright.dtypes import FLOAT16, is_complex
from tilewright.errors import ArgumentError, RoomError
from tilewright.runtime import call_cache
from tilewright.targets.cuda import devices

Memo = dict[Any, "Prepared"]
Run = Callable[[int, int, int, int], None]
Call = Callable[[Any, Any, Any], Any]


def distances(a: Layout, b: Layout, out: Layout) -> tuple[int, int, int, int]:
    """Bytes from the end of a and of b to the beginning of out, and from their beginnings to its end, for
    arrays at the same address: see ``Prepared.clear``."""
    (from_a, to_a), (from_b, to_b), (from_c, to_c) = (bounds(array) for array in (a, b, out))
    return from_c - to_a, from_c - to_b, to_c - from_a, to_c - from_b


class Prepared:
    """What a remembered call needs.

    ``run`` launches for the addresses of a, b and out and a stream; None: the library multiplies.
    ``shape`` and ``dtype`` are the result's, ``alpha``, ``beta`` and ``trans`` what the library is to do.
    With ``pairs`` the caller's arrays are float16 pairs (..., 2) of the complex half in ``arrays``.
    """

    __slots__ = (
        "alpha",
        "beta",
        "dtype",
        "high_a",
        "high_b",
        "index",
        "low_a",
        "low_b",
        "run",
        "shape",
        "trans",
    )

    def __init__(
        self,
        run: Run | None,
        index: int,
        arrays: tuple[Layout, Layout, Layout],
        scalars: tuple[complex, complex],
        trans: tuple[str, str],
        pairs: bool = False,
    ):
        self.run, self.index, self.trans = run, index, trans
        out = arrays[2]
        self.shape: tuple[int, ...] = (*out.shape, 2) if pairs else out.shape
        self.dtype: np.dtype[Any] = FLOAT16 if pairs else out.dtype
        self.alpha, self.beta = (x if is_complex(out.dtype) else x.real for x in scalars)
        self.low_a, self.low_b, self.high_a, self.high_b = distances(*arrays)

    def clear(self, a: int, b: int, out: int) -> bool:
        """Whether out at its address shares no byte with a and b at theirs."""
        apart_a = out + self.low_a >= a or out + self.high_a <= a
        return apart_a and (out + self.low_b >= b or out + self.high_b <= b)


class Calls:
    """The remembered calls on arrays of one library."""

    types: tuple[type, ...] = ()
    """The very classes of the library's arrays: a subclass may mean something else by everything."""

    def __init__(self, library: Library):
        self.library, self.memo = library, Memo()
        # With one GPU nobody has to ask which one is current.
        self.several = devices.count() > 1

    def __call__(self, memo: Memo, tag: Any, a: Any, b: Any, out: Any = None) -> Any:
        """The result of a call that was remembered in ``memo`` under ``tag``, else ``NotImplemented``."""
        raise NotImplementedError

    def drop(self) -> None:
        """Forget all calls: the call cache is emptied."""
        self.memo.clear()

    def gemm(self, memo: Memo, tag: Any, a: Any, b: Any, c: Any, out: Any, beta: complex) -> Any:
        """The same with a c to be added, which is copied first unless it is ``out``."""
        if c is None or c is out or beta == 0:
            # Without out there is nothing to update, and the slow path says so.
            return self(memo, tag, a, b, out)
        if out is not None or type(c) not in self.types or not memo:
            return NotImplemented
        return self(memo, tag, a, b, self.library.copied(c))

    def plan(self, memo: Memo, tag: Any, a: Any, b: Any, out: Any) -> Call | None:
        """``planned`` for a call that is remembered; None for one that is not."""
        looked = self.key(tag, a, b, out) if type(a) in self.types else None
        found = None if looked is None else memo.get(looked[1])
        return None if found is None else self.planned(found, a, b, out)

    def planned(self, found: Prepared, a: Any, b: Any, out: Any) -> Call | None:
        """A function of a, b and out for calls just like this one alone; None where there is none."""
        return None

    def key(self, tag: Any, a: Any, b: Any, out: Any) -> tuple[tuple[int, int, int], Any] | None:
        """The addresses of the three arrays, and what a call goes by; None for other types."""
        raise NotImplementedError

    def remember(self, memo: Memo, tag: Any, a: Any, b: Any, out: Any, prepared: Prepared) -> None:
        """Do calls like this one the short way from now on."""
        try:
            found = self.key(tag, a, b, out)
            if found is not None:
                call_cache.keep(memo, found[1], prepared)
        except (TypeError, RuntimeError):
            pass  # Not to be hashed, or without memory: the slow path serves it.

    def multiply(self, found: Prepared, a: Any, b: Any, out: Any) -> Any:
        """The library's own product, where the records say that it is faster or no stencil accepts."""
        library = self.library
        left, right = (library.op(value, letter) for value, letter in zip((a, b), found.trans, strict=True))
        if out is None and (found.alpha, found.beta) == (1, 0):
            return library.matmul(left, right)
        if out is None:
            out = library.empty(found.shape, found.dtype, found.index)
        library.gemm(left, right, out, found.alpha, found.beta)
        return out


class TorchCalls(Calls):
    """Calls on tensors of PyTorch."""

    def __init__(self, library: Torch):
        super().__init__(library)
        torch = library.module
        self.stream = library.raw_stream
        self.types = (torch.Tensor, torch.nn.Parameter)
        self.grad = torch.is_grad_enabled
        self.current = torch.cuda.current_device
        self.empty = torch.empty
        self.kinds = library.names
        # The call that came last, and what was made of it when it came again: most loops make one call.
        self.last: Prepared | None = None
        self.again: tuple[Memo, Any, Call] | None = None

    def drop(self) -> None:
        super().drop()
        self.last = self.again = None

    def key(self, tag: Any, a: Any, b: Any, out: Any) -> tuple[tuple[int, int, int], Any] | None:
        types = self.types
        if type(b) not in types:
            return None
        x, y = a.data_ptr(), b.data_ptr()
        if out is None:
            z, into = 0, None
        elif type(out) not in types:
            return None
        else:
            z = out.data_ptr()
            into = (out.shape, out.stride(), out.dtype, out.get_device(), out.is_conj(), out.is_neg())
        return (x, y, z), (
            *(tag, (x | y | z) % WIDEST, into),
            *(a.shape, a.stride(), a.dtype, a.get_device(), a.is_conj(), a.is_neg()),
            *(b.shape, b.stride(), b.dtype, b.get_device(), b.is_conj(), b.is_neg()),
        )

    def __call__(self, memo: Memo, tag: Any, a: Any, b: Any, out: Any = None) -> Any:
        again = self.again
        if out is not None and again is not None and again[0] is memo and again[1] == tag:
            made = again[2](a, b, out)
            if made is not NotImplemented:
                return made
        try:
            looked = self.key(tag, a, b, out)
            found = memo.get(looked[1]) if looked is not None else None
        except (TypeError, RuntimeError):
            return NotImplemented
        if looked is None or found is None:
            return NotImplemented
        wants = a.requires_grad or b.requires_grad or (out is not None and out.requires_grad)
        if wants and self.grad():
            return NotImplemented
        index = found.index
        if self.several and self.current() != index:
            return NotImplemented
        x, y, z = looked[0]
        if out is not None and not found.clear(x, y, z):
            return NotImplemented
        if found.run is None:
            return self.multiply(found, a, b, out)
        given = out is not None
        if not given:
            out = self.empty(found.shape, dtype=self.kinds[found.dtype], device=a.device)
            z = out.data_ptr()
        try:
            found.run(x, y, z, self.stream(index))
        except (ArgumentError, RoomError):
            # No texture over these addresses, or no room for a workspace: the slow path knows what to do.
            return NotImplemented
        if given:
            self._came(found, memo, tag, a, b, out)
        return out

    def _came(self, found: Prepared, memo: Memo, tag: Any, a: Any, b: Any, out: Any) -> None:
        """Make a function of a call that came twice in a row, which costs half of looking it up."""
        if self.last is not found:
            self.last = found
            return
        call = self.planned(found, a, b, out)
        self.again = (memo, tag, call) if call is not None else None

    def planned(self, found: Prepared, a: Any, b: Any, out: Any) -> Call | None:
        # What ``key`` gathers, compared one by one: the hash alone costs as much as all of it.
        if found.run is None or not all(type(x) in self.types for x in (a, b, out)):
            return None
        run, stream, grad, index = found.run, self.stream, self.grad, found.index
        # ``found.clear``, written out again: a call of a function costs as much as what it says.
        low_a, low_b, high_a, high_b = found.low_a, found.low_b, found.high_a, found.high_b
        kind_a, shape_a, steps_a, type_a, device_a = type(a), a.shape, a.stride(), a.dtype, a.get_device()
        kind_b, shape_b, steps_b, type_b, device_b = type(b), b.shape, b.stride(), b.dtype, b.get_device()
        kind_c, shape_c, steps_c, type_c, device_c = (
            *(type(out), out.shape, out.stride()),
            *(out.dtype, out.get_device()),
        )
        lies = (a.data_ptr() | b.data_ptr() | out.data_ptr()) % WIDEST
        lazy, of_complex = (a.is_conj(), b.is_conj(), out.is_conj()), a.is_complex()
        several, current = self.several, self.current

        def call(a: Any, b: Any, out: Any) -> Any:
            if (
                type(a) is not kind_a
                or type(b) is not kind_b
                or type(out) is not kind_c
                or a.dtype is not type_a
                or b.dtype is not type_b
                or out.dtype is not type_c
                or a.shape != shape_a
                or b.shape != shape_b
                or out.shape != shape_c
                or a.get_device() != device_a
                or b.get_device() != device_b
                or out.get_device() != device_c
            ):
                return NotImplemented
            try:
                x, y, z = a.data_ptr(), b.data_ptr(), out.data_ptr()
                other = a.stride() != steps_a or b.stride() != steps_b or out.stride() != steps_c
            except RuntimeError:  # Without memory of its own.
                return NotImplemented
            if (
                other
                or (x | y | z) % WIDEST != lies
                or a.is_neg()
                or b.is_neg()
                or out.is_neg()
                or (of_complex and (a.is_conj(), b.is_conj(), out.is_conj()) != lazy)
                or ((a.requires_grad or b.requires_grad or out.requires_grad) and grad())
                or (several and current() != index)
                or not (z + low_a >= x or z + high_a <= x)
                or not (z + low_b >= y or z + high_b <= y)
            ):
                return NotImplemented
            try:
                run(x, y, z, stream(index))
            except (ArgumentError, RoomError):
                return NotImplemented
            return out

        return call


class CupyCalls(Calls):
    """Calls on arrays of CuPy."""

    def __init__(self, library: Cupy):
        super().__init__(library)
        cupy = library.module
        self.stream = library.stream
        self.types = (cupy.ndarray,)
        self.current = cupy.cuda.runtime.getDevice
        self.make = cupy.ndarray

    def key(self, tag: Any, a: Any, b: Any, out: Any) -> tuple[tuple[int, int, int], Any] | None:
        types = self.types
        if type(b) not in types:
            return None
        at, bt = a.data, b.data
        x, y = at.ptr, bt.ptr
        if out is None:
            z, into = 0, None
        elif type(out) not in types:
            return None
        else:
            ct = out.data
            z, into = ct.ptr, (out.shape, out.strides, out.dtype, ct.device_id)
        return (x, y, z), (
            *(tag, (x | y | z) % WIDEST, into),
            *(a.shape, a.strides, a.dtype, at.device_id),
            *(b.shape, b.strides, b.dtype, bt.device_id),
        )

    def __call__(self, memo: Memo, tag: Any, a: Any, b: Any, out: Any = None) -> Any:
        try:
            looked = self.key(tag, a, b, out)
            found = memo.get(looked[1]) if looked is not None else None
        except TypeError:
            return NotImplemented
        if looked is None or found is None:
            return NotImplemented
        index = found.index
        if self.several and self.current() != index:
            return NotImplemented
        x, y, z = looked[0]
        if out is not None and not found.clear(x, y, z):
            return NotImplemented
        if found.run is None:
            return self.multiply(found, a, b, out)
        if out is None:
            out = self.make(found.shape, found.dtype)
            z = out.data.ptr
        try:
            found.run(x, y, z, self.stream(index))
        except (ArgumentError, RoomError):
            # No texture over these addresses, or no room for a workspace: the slow path knows what to do.
            return NotImplemented
        return out


CALLS: dict[type, Calls] = call_cache.DEVICE
"""By the class of the first argument. Filled by the first call of a library on the slow path."""


def calls_of(library: Library | None) -> Calls | None:
    """The remembered calls of a library; None where there is none."""
    for calls in CALLS.values():
        if calls.library is library:
            return calls
    made: Calls
    if isinstance(library, Torch):
        made = TorchCalls(library)
    elif isinstance(library, Cupy):
        made = CupyCalls(library)
    else:
        return None
    CALLS.update(dict.fromkeys(made.types, made))
    call_cache.watch(made)
    return made
