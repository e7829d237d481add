"""Matrices that are known by their addresses: lists of pointers, and what can be said of them beforehand.

``Pointers`` and ``Groups`` describe matrices on a GPU that belong to no array of the caller's. Both look
at all their numbers when they are made, and never again: what lies in an integer array on the GPU is
copied to this process once for that.
"""

from __future__ import annotations

import ctypes
import operator
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.arrays import backend, dlpack
from tilewright.arrays.gpu import current, need_cuda
from tilewright.arrays.layout import ACCEPTED, LETTERS
from tilewright.arrays.overlap import Integers, Placement, even_step
from tilewright.arrays.view import address_of
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import DTYPES
from tilewright.targets.cuda import driver, modules
from tilewright.targets.cuda.bindings import bindings, check
from tilewright.targets.cuda.modules import Owned

_LOOKED_AT = 256
"""Addresses of a list that the driver is asked about."""


# ---- numbers from anywhere


def dtype_of(value: Any, name: str = "dtype") -> np.dtype[Any]:
    """A type by NumPy's name, PyTorch's object or BLAS letter. Raises ``DTypeError`` for another."""
    if isinstance(value, str) and value in DTYPES:
        return DTYPES[value].numpy
    words = str(value).rpartition(".")[2]
    by_name = {d.name: d.numpy for d in DTYPES.values()}
    found = by_name.get(words)
    if found is None:
        try:
            found = np.dtype(value)
        except TypeError:
            found = None
    if found is None or found not in LETTERS:
        raise DTypeError(f"{name}={value!r}; accepted: {ACCEPTED}, or a letter of {', '.join(DTYPES)}")
    return found


def integers(value: Any, name: str) -> tuple[Integers, int | None, Any]:
    """A row of integers as an array here; the address of the same 64-bit numbers on a GPU, if they lie
    there, and what keeps them alive.

    Raises ``ArgumentError`` and ``DTypeError`` for what is no row of integers.
    """
    if not backend.on_gpu(value):
        return _plain_integers(value, name), None, value
    need_cuda()
    index = backend.index_of(value, name) or 0
    library = backend.library_of(value)
    with current(library, index):
        found = backend.device_view(value, name, library.stream(index) if library is not None else 0)
        if found is None or found.dtype.kind not in "iu":
            raise DTypeError(f"{name} is {getattr(value, 'dtype', '?')}; accepted: 64-bit integers")
        if found.ndim != 1 or (found.size > 1 and found.strides[0] != found.itemsize):
            raise ArgumentError(
                f"{name} has shape {found.shape} and strides {found.strides}; accepted: one contiguous row"
            )
        here = np.empty(found.shape, found.dtype)
        # Whatever stream they are being written on.
        driver.synchronize()
        driver.download(here, address_of(found))
    there = address_of(found) if found.itemsize == 8 else None
    return _within(here, name), there, value


def _plain_integers(value: Any, name: str) -> Integers:
    try:
        found = np.asarray(value)
        if found.dtype == object:
            found = np.array([operator.index(x) for x in value])
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise ArgumentError(
            f"{name} of type {type(value).__name__} is no row of integers: {error}"
        ) from error
    if found.size == 0:
        found = found.astype(np.int64)
    if found.dtype.kind not in "iu":
        raise DTypeError(f"{name} is {found.dtype}; accepted: integers")
    if found.ndim != 1:
        raise ArgumentError(f"{name} has shape {found.shape}; accepted: one row")
    return _within(found, name)


def _within(found: NDArray[Any], name: str) -> Integers:
    if found.dtype.kind == "u" and found.size and int(found.max()) >= 1 << 63:
        place = int(found.argmax())
        raise ArgumentError(f"{name}[{place}]={int(found[place]):#x}; accepted: numbers below 2^63")
    return found.astype(np.int64)


def _device_number(device: Any) -> int | None:
    """``0``, ``"cuda:0"``, ``"cuda"`` or a device of PyTorch as a number."""
    if device is None:
        return None
    try:
        return operator.index(device)
    except TypeError:
        kind, _, number = str(device).partition(":")
        if kind == "cuda" and (number.isdigit() or not number):
            return int(number or 0)
    raise ArgumentError(f"device={device!r}; accepted: a number, 'cuda' or 'cuda:0'")


def _checked(addresses: Integers, size: int, name: str) -> None:
    """Raises ``ArgumentError`` for null pointers and addresses that no element begins at."""
    for bad, why in (
        (addresses == 0, "is null"),
        (addresses < 0, "is negative"),
        (addresses % size != 0, f"is no multiple of an element's {size} bytes"),
    ):
        if bad.any():
            place = int(bad.argmax())
            raise ArgumentError(
                f"{name}[{place}]={int(addresses[place]):#x} {why}; accepted: addresses of matrices, "
                f"multiples of {size} bytes"
            )


def _placed(addresses: Integers, device: int | None, name: str) -> int:
    """The GPU that addresses belong to. Raises ``ArgumentError`` when they are of none, or of several."""
    if not addresses.size:
        return device or 0
    need_cuda()
    driver.context(device or 0)
    step = max(1, addresses.size // _LOOKED_AT)
    said = {place: dlpack.device_of(int(addresses[place]), f"{name}[{place}]")
            for place in range(0, addresses.size, step)}  # fmt: skip
    index = said[0] if device is None else device
    for place, other in said.items():
        if other != index:
            raise ArgumentError(f"{name}[{place}] lies on GPU {other}; accepted: addresses of GPU {index}")
    return index


class Pointers:
    """Matrices of one shape, type and layout that lie where a row of addresses says.

    ``addresses``: a list of integers, or an array of 64-bit integers in this process or on the GPU (of
    PyTorch or CuPy, or with ``__cuda_array_interface__``); ``shape``: (rows, columns) of each matrix;
    ``dtype``: a NumPy or PyTorch type, its name, or a BLAS letter. ``order``: "C", rows one after
    another, or "F", columns; ``ld``: elements from one to the next, as many as one has if None.
    ``device``: the number of the GPU; it goes without saying as a rule.

    Everything is checked here and only here: an array on the GPU is copied to this process for it, once,
    and read by the kernels afterwards, so it must not be changed. The matrices are the caller's to keep.

    Raises ``ArgumentError`` for null or misaligned addresses, an ``ld`` that is too small and addresses
    of no GPU, ``DTypeError`` for other types.
    """

    def __init__(
        self,
        addresses: Any,
        shape: tuple[int, int],
        dtype: Any,
        *,
        ld: int | None = None,
        order: str = "C",
        device: Any = None,
    ):
        self.dtype = dtype_of(dtype)
        if order not in ("C", "F"):
            raise ArgumentError(f"order={order!r}; accepted: 'C', 'F'")
        try:
            rows, columns = (operator.index(x) for x in shape)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"shape={shape!r}; accepted: (rows, columns)") from error
        least = columns if order == "C" else rows
        lead = least if ld is None else operator.index(ld)
        if rows < 0 or columns < 0 or lead < least:
            raise ArgumentError(f"shape={shape!r} with ld={ld!r}; accepted: ld from {max(least, 0)}")
        self.shape, self.ld, self.order = (rows, columns), lead, order
        self.addresses, self._there, self._held = integers(addresses, "addresses")
        size = self.dtype.itemsize
        if rows and columns:
            _checked(self.addresses, size, "addresses")
        self.index = _placed(self.addresses, _device_number(device), "addresses")
        self.strides = (lead * size, size) if order == "C" else (size, lead * size)
        # Found once: what a call asks of all addresses.
        self.step = even_step(self.addresses)
        self.together = int(np.bitwise_or.reduce(self.addresses)) if len(self.addresses) else 0
        self._apart: weakref.WeakSet[Pointers] = weakref.WeakSet()

    def __len__(self) -> int:
        return len(self.addresses)

    def there(self) -> int:
        """The address of the row of addresses on the GPU, put there at the first call if it is not."""
        if self._there is None:
            memory = driver.allocate(8 * len(self))
            driver.upload(memory.address, self.addresses)
            self._there, self._held = memory.address, memory
        return self._there

    def placement(self) -> Placement:
        """Where the matrices lie."""
        rows, columns = self.shape if self.order == "F" else self.shape[::-1]
        return Placement(self.addresses, self.ld, rows, columns, self.dtype.itemsize)

    def known_apart(self, *others: Pointers) -> bool:
        """Whether these matrices, as outputs, were found to be apart from one another and from others."""
        return all(other in self._apart for other in (self, *others))

    def note_apart(self, *others: Pointers) -> None:
        """They were: nobody needs to look again."""
        self._apart.update((self, *others))

    def __repr__(self) -> str:
        return (
            f"<Pointers to {len(self)} matrices {self.shape} of {self.dtype}, order {self.order}, "
            f"ld {self.ld}, on GPU {self.index}>"
        )


class Groups:
    """Products of different sizes, by rows of integers: sizes, addresses and leading dimensions.

    op(A) of product i is ``m[i]`` x ``k[i]``, op(B) ``k[i]`` x ``n[i]`` and C ``m[i]`` x ``n[i]``; they lie
    at the addresses ``a[i]``, ``b[i]`` and ``c[i]``. Each argument is a list or an array of integers, in
    this process or on the GPU, or one number for all products. ``order``: "C", rows one after another, or
    "F", columns. ``lda``, ``ldb``, ``ldc``: elements from one row (or column) to the next; None: as many
    as one has. ``dtype`` and ``device`` as for ``Pointers``.

    Everything is copied to this process once, when this is made: later changes are not seen.
    Raises as ``Pointers`` does, and ``ArgumentError`` for rows of different length and negative sizes.
    """

    def __init__(
        self,
        m: Any,
        n: Any,
        k: Any,
        a: Any,
        b: Any,
        c: Any,
        lda: Any = None,
        ldb: Any = None,
        ldc: Any = None,
        dtype: Any = None,
        *,
        order: str = "C",
        device: Any = None,
    ):
        self.dtype = dtype_of(dtype)
        if order not in ("C", "F"):
            raise ArgumentError(f"order={order!r}; accepted: 'C', 'F'")
        self.order = order
        given = {"m": m, "n": n, "k": k, "a": a, "b": b, "c": c, "lda": lda, "ldb": ldb, "ldc": ldc}
        for name in ("m", "n", "k", "a", "b", "c"):
            if given[name] is None:
                raise ArgumentError(f"{name}=None; accepted: numbers, one for each product")
        rows = {name: _row(value, name) for name, value in given.items() if value is not None}
        count = max((x.size for name, x in rows.items() if name in ("a", "b", "c")), default=0)
        for name, row in rows.items():
            single = row.size == 1 and not isinstance(given[name], Sequence | np.ndarray)
            if row.size != count and not single:
                raise ArgumentError(
                    f"{name} has {row.size} numbers and another row {count}; accepted: {count}"
                )
        full = {name: np.broadcast_to(row, (count,)) for name, row in rows.items()}
        for name in ("m", "n", "k"):
            if (full[name] < 0).any():
                place = int((full[name] < 0).argmax())
                raise ArgumentError(f"{name}[{place}]={int(full[name][place])}; accepted: sizes from 0")
        self.m, self.n, self.k = full["m"], full["n"], full["k"]
        self.a, self.b, self.c = full["a"], full["b"], full["c"]
        self.lda, self.ldb, self.ldc = full.get("lda"), full.get("ldb"), full.get("ldc")
        self.index = 0
        for name, used in (
            ("a", self.m * self.k > 0),
            ("b", self.k * self.n > 0),
            ("c", self.m * self.n > 0),
        ):
            row = full[name]
            _checked(np.where(used, row, self.dtype.itemsize), self.dtype.itemsize, name)
            some = row[used]
            if some.size:
                self.index = _placed(some, _device_number(device), name)

    def __len__(self) -> int:
        return len(self.m)

    def __repr__(self) -> str:
        return f"<Groups of {len(self)} products of {self.dtype}, order {self.order}, on GPU {self.index}>"


def _row(value: Any, name: str) -> Integers:
    try:
        return np.array([operator.index(value)], np.int64)
    except TypeError:
        return integers(value, name)[0]
    except OverflowError as error:
        raise ArgumentError(f"{name}={value!r}; accepted: numbers below 2^63") from error


# ---- numbers on their way to a GPU


class Staging:
    """Pinned memory of this process that copies to a GPU start from. A piece is used again when the copy
    that started from it is done, and not before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pieces: list[tuple[Owned, int, Owned, Any]] = []

    def send(self, address: int, numbers: NDArray[Any], stream: int) -> None:
        """Copy an array's bytes to an address, in the order of a stream, and return at once.

        Raises ``ArgumentError`` while the stream is captured into a graph, which would read this
        process's memory at every replay.
        """
        if not numbers.nbytes:
            return
        modules.context()
        api = bindings()
        to = api.CUstream(stream)
        code, status = api.cuStreamIsCapturing(to)[:2]
        if not code and int(status):
            raise ArgumentError(
                "addresses of a list go to the GPU at every call, which a graph cannot record; accepted: "
                "tw.Pointers, or tw.plan_grouped made before"
            )
        with self._lock:
            piece = self._piece(numbers.nbytes)
            memory, _, _, event = piece
            ctypes.memmove(memory.handle, np.ascontiguousarray(numbers).ctypes.data, numbers.nbytes)
            copied = api.cuMemcpyHtoDAsync(address, memory.handle, numbers.nbytes, to)
            check(copied, f"copying {numbers.nbytes} bytes to the device")
            check(api.cuEventRecord(event, to), "marking the end of a copy")
            self._pieces.append(piece)

    def _piece(self, size: int) -> tuple[Owned, int, Owned, Any]:
        api = bindings()
        for place, (_, room, _, event) in enumerate(self._pieces):
            if room >= size and not api.cuEventQuery(event)[0]:
                return self._pieces.pop(place)
        room = max(1 << 12, 1 << (size - 1).bit_length())
        pointer = int(check(api.cuMemHostAlloc(room, api.CU_MEMHOSTALLOC_PORTABLE), "pinning memory"))
        event = check(api.cuEventCreate(api.CUevent_flags.CU_EVENT_DISABLE_TIMING), "making an event")
        return (
            Owned(pointer, "cuMemFreeHost", pointer),
            room,
            Owned(int(event), "cuEventDestroy", event),
            event,
        )


_staging: dict[int, Staging] = {}


def staging(index: int) -> Staging:
    """The pinned memory for copies to a GPU: an event belongs to one."""
    return _staging.setdefault(index, Staging())
