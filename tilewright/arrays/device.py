"""Arrays on NVIDIA GPUs, as NumPy views of memory that is never read.

The analysis of layouts asks an array for its shape, strides, type, address and flags only, so one
analysis serves both kinds of memory: an array on a GPU is described by a ``Phantom``, an ndarray whose
data pointer is the address on the GPU. That is safe because making it, slicing it, turning it and asking
where it lies read no element (``tests/pure/test_device_arrays.py`` makes phantoms of addresses that no
process can read), and because whatever of an ndarray does read elements is refused by the class: ufuncs,
NumPy's functions but for a few that look at layouts, conversion, assignment and printing. An array
without elements may have a null pointer, which NumPy would take as a request for memory: its phantom has
a made-up address.

Whatever must touch elements (copies, casts, the product of the array's own library) is done by that
library, on an array that ``Library.real`` makes of a phantom.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.arrays.layout import LETTERS, Array, address_of
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF, FLOAT16, WIDE, is_half
from tilewright.errors import ArgumentError, DeviceError, DTypeError
from tilewright.targets.cuda import bindings, devices, driver

NOWHERE = 1 << 12
"""The address of phantoms that stand for no memory: as aligned as that of any allocation."""

ACCEPTED = "arrays of PyTorch or CuPy, or with __cuda_array_interface__ or DLPack, on one GPU"


@dataclass(frozen=True, slots=True)
class Held:
    """What a phantom stands for.

    ``value`` keeps the memory alive: the library's array, without lazy conjugation. ``library`` is
    None for arrays of no library that is known. ``stream`` is where the array's owner says that its
    elements are written last, None where it says nothing.
    """

    value: Any
    library: Library | None
    index: int
    stream: int | None


_LAYOUT_ONLY = {np.broadcast_to, np.may_share_memory, np.shape, np.ndim, np.size}


class Phantom(np.ndarray[Any, np.dtype[Any]]):
    """The layout of an array on a GPU. Slices and turned views of it are phantoms of the same array.

    ``lazy``: the array is the conjugate of what is in its memory.
    """

    held: Held | None
    lazy: bool
    __array_ufunc__: Any = None  # NumPy's way to refuse all of them

    def __array_finalize__(self, parent: Any) -> None:
        self.held = getattr(parent, "held", None)
        self.lazy = getattr(parent, "lazy", False)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in _LAYOUT_ONLY:
            raise TypeError(f"numpy.{function.__name__} would read memory of a GPU")
        return super().__array_function__(function, types, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        if not all(part is None or part is Ellipsis or isinstance(part, slice) for part in parts):
            raise TypeError("an element of an array on a GPU cannot be read from here")
        return super().__getitem__(index)

    def __repr__(self) -> str:
        return f"<{self.dtype} {self.shape} at {address_of(self):#x} of a GPU>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)


def _refuse(name: str) -> Any:
    def refuse(self: Phantom, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{name} would touch memory of a GPU")

    return refuse


# What reads or writes elements without being a ufunc or a function of NumPy.
for _name in (
    *("__setitem__", "__iter__", "__contains__", "__bool__", "__int__", "__float__", "__complex__"),
    *("__index__", "__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__dlpack__"),
    *("tolist", "item", "tobytes", "tofile", "dump", "dumps", "copy", "astype", "fill", "put", "take"),
    *("ravel", "flatten", "reshape", "byteswap", "sort", "argsort", "dot", "conj", "conjugate", "nonzero"),
    *("choose", "compress", "repeat", "resize", "searchsorted", "partition", "argpartition", "trace"),
):
    setattr(Phantom, _name, _refuse(_name))


class _Interface:
    """What ``numpy.asarray`` makes a view of."""

    def __init__(self, interface: dict[str, Any]):
        self.__array_interface__ = interface


def phantom(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    dtype: np.dtype[Any],
    held: Held | None = None,
    *,
    lazy: bool = False,
    readonly: bool = False,
) -> Phantom:
    """The layout of an array at an address. ``strides`` in bytes; None: contiguous, last axis first.

    Raises ``DTypeError`` for a type whose elements are not plain numbers.
    """
    if dtype.kind not in "biufc" and dtype not in WIDE:
        raise DTypeError(f"an array of {dtype} on a GPU; accepted: numbers")
    interface = {
        "data": (address if 0 not in shape else NOWHERE, readonly),
        "shape": shape,
        "strides": strides,
        # What NumPy has no letter for goes as a word of its size first.
        "typestr": dtype.str if dtype.kind != "V" else f"<u{dtype.itemsize}",
        "version": 3,
    }
    made = np.asarray(_Interface(interface)).view(dtype).view(Phantom)
    made.held, made.lazy = held, lazy
    return made


def imagined(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Phantom:
    """The layout of a new array, without the array: for plans."""
    return phantom(NOWHERE, shape, None, dtype)


def same(one: Array, other: Array) -> bool:
    """Whether two phantoms are the same elements in the same order."""
    return (
        address_of(one) == address_of(other)
        and (one.shape, one.strides, one.dtype) == (other.shape, other.strides, other.dtype)
        and getattr(one, "lazy", False) == getattr(other, "lazy", False)
    )


# ---- what is on a GPU

CUDA_DEVICE, CUDA_MANAGED = 2, 13
"""kDLCUDA and kDLCUDAManaged of dlpack.h."""


def on_gpu(value: Any) -> bool:
    """Whether an argument is an array in the memory of a GPU. Imports nothing."""
    if isinstance(value, np.ndarray | np.generic | int | float | complex | list | tuple) or value is None:
        return False
    library = library_of(value)
    if library is not None:
        return library.on_gpu(value)
    if torch_tensor(value):
        return False
    if hasattr(value, "__cuda_array_interface__"):
        return True
    device = getattr(value, "__dlpack_device__", None)
    try:
        return device is not None and int(device()[0]) in (CUDA_DEVICE, CUDA_MANAGED)
    except Exception:  # Whatever it is, the host's way will say so.
        return False


def torch_tensor(value: Any) -> bool:
    """Whether an argument is a tensor of PyTorch, wherever it lies."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def library_of(value: Any) -> Library | None:
    """The array library that an argument belongs to; None: none that is known, or none at all."""
    # An argument can only belong to a library that somebody has imported.
    cupy: Any = sys.modules.get("cupy")
    if cupy is not None and isinstance(value, getattr(cupy, "ndarray", ())):
        return library("cupy")
    return library("torch") if torch_tensor(value) else None


@functools.cache
def library(name: str) -> Library:
    """A library that has been imported."""
    return {"torch": Torch, "cupy": Cupy}[name](sys.modules[name])


def default_library() -> Library | None:
    """What makes results for arrays of no known library: PyTorch if it is imported and sees a GPU, else
    CuPy if it is imported, else nothing."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return library("torch")
    return library("cupy") if "cupy" in sys.modules else None


# ---- libraries


class Library:
    """What is asked of an array library. ``index`` is a device's number, ``stream`` the driver's own number
    of one (0: the default stream)."""

    name: str

    def __init__(self, module: Any):
        self.module = module

    def on_gpu(self, value: Any) -> bool:
        """Whether one of the library's arrays lies on a GPU."""
        raise NotImplementedError

    def index(self, value: Any) -> int:
        """The GPU that one of the library's arrays lies on."""
        raise NotImplementedError

    def dtype(self, value: Any) -> np.dtype[Any] | None:
        """The type of one of the library's arrays; None where NumPy has no such type."""
        raise NotImplementedError

    def check(self, value: Any, name: str) -> None:
        """Raises ``DTypeError`` for an array that no product reads."""

    def turned(self, value: Any, letter: str) -> Any:
        """op of one of the library's arrays: "n", "t" or "c", over the last two axes."""
        if letter == "n":
            return value
        flipped = value.swapaxes(-1, -2)
        return self.conjugate(flipped) if letter == "c" else flipped

    def adopt(self, value: Any, name: str) -> Phantom | None:
        """One of the library's arrays; None where NumPy has no such type.

        Raises ``DTypeError`` for what no product reads.
        """
        raise NotImplementedError

    def stream(self, index: int) -> int:
        """The stream that the caller's work goes to."""
        raise NotImplementedError

    def wait(self, index: int, stream: int) -> None:
        """Let the caller's stream wait for what another stream holds so far."""
        raise NotImplementedError

    def guard(self, index: int) -> AbstractContextManager[Any]:
        """Within it, a GPU is the current one."""
        raise NotImplementedError

    def new(self, shape: tuple[int, ...], dtype: np.dtype[Any], index: int) -> Any:
        """A new array, C-contiguous, holding anything."""
        raise NotImplementedError

    def real(self, array: Phantom) -> Any:
        """The library's array with the elements of a phantom, conjugated if they are to be."""
        raise NotImplementedError

    def copied(self, value: Any) -> Any:
        """A C-contiguous copy."""
        raise NotImplementedError

    def cast(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """A copy of another type."""
        raise NotImplementedError

    def assign(self, target: Any, source: Any) -> None:
        """target[...] = source."""
        raise NotImplementedError

    def conjugate(self, value: Any) -> Any:
        """The conjugate: put off, where the library can."""
        raise NotImplementedError

    def pairs(self, value: Any) -> Any:
        """What ``real`` makes of complex half as float16 pairs (..., 2): the same memory."""
        raise NotImplementedError

    def handed(self, value: Any) -> Any:
        """What ``real`` makes of complex half as its owner has such numbers: the same memory."""
        return value

    def widened(self, value: Any) -> Any:
        """What ``real`` makes of complex half as complex64: a copy."""
        raise NotImplementedError

    def narrow(self, target: Any, source: Any) -> None:
        """target[...] = source, where the target is what ``real`` makes of complex half, and the source
        complex64: each part is rounded once."""
        raise NotImplementedError

    def matmul(self, a: Any, b: Any, out: Any = None) -> Any:
        """The library's own product. Raises ``DTypeError`` for types that it has none for."""
        raise NotImplementedError

    def narrows(self, letter: str) -> bool:
        """Whether the library's own product of a type may add up parts of a sum in 16 bits."""
        return letter in ("h", "b")

    def gemm(self, a: Any, b: Any, out: Any, alpha: complex, beta: complex) -> None:
        """out = alpha a b + beta out, where out overlaps neither; beta 0 does not read out."""
        if (alpha, beta) == (1, 0):
            self.matmul(a, b, out)
            return
        half = self.dtype(out)
        if half is not None and is_half(half):
            # In steps of 16 bits each would be rounded.
            product = self.matmul(self.cast(a, WIDE[half]), self.cast(b, WIDE[half]))
            product *= alpha
            if beta != 0:
                product = product + beta * self.cast(out, WIDE[half])
            self.assign(out, product)
            return
        product = self.matmul(a, b)
        if alpha != 1:
            product *= alpha
        if beta == 0:
            self.assign(out, product)
            return
        if beta != 1:
            out *= beta
        out += product


class Torch(Library):
    """PyTorch. Tensors are seen through ``detach``, so nothing here makes a graph for gradients."""

    name = "torch"

    def __init__(self, module: Any):
        super().__init__(module)
        t = module
        self.types = {getattr(t, known.name): dtype for dtype, known in LETTERS.items()}
        others = ("bool", "uint8", "int8", "int16", "int32", "int64")
        self.types |= {getattr(t, name): np.dtype(name) for name in others}
        self.names = {dtype: kind for kind, dtype in self.types.items()}
        # The public way makes an object of the stream: a microsecond.
        self.raw_stream = getattr(t._C, "_cuda_getCurrentRawStream", self._stream)

    def _stream(self, index: int) -> int:
        found: int = self.module.cuda.current_stream(index).cuda_stream
        return found

    def stream(self, index: int) -> int:
        return int(self.raw_stream(index))

    def on_gpu(self, value: Any) -> bool:
        return bool(value.device.type == "cuda")

    def index(self, value: Any) -> int:
        return int(value.get_device())

    def dtype(self, value: Any) -> np.dtype[Any] | None:
        return self.types.get(value.dtype)

    def check(self, value: Any, name: str) -> None:
        """Raises ``DTypeError`` for a tensor that wants a gradient or is not strided."""
        t = self.module
        if value.requires_grad and t.is_grad_enabled():
            raise DTypeError(
                f"{name} is a tensor that requires a gradient, which this product does not record; "
                f"accepted: {name}.detach(), or any tensor under torch.no_grad()"
            )
        if value.layout != t.strided:
            raise DTypeError(f"{name} is a tensor of layout {value.layout}; accepted: torch.strided")

    def adopt(self, value: Any, name: str) -> Phantom | None:
        self.check(value, name)
        dtype = self.types.get(value.dtype)
        if dtype is None:
            return None
        tensor = value.detach()
        # Negation was put off by .imag of a conjugated tensor: rare, so a copy.
        tensor = tensor.resolve_neg() if tensor.is_neg() else tensor
        lazy = bool(tensor.is_conj())
        # Conjugating what is to be conjugated gives what is in memory.
        tensor = tensor.conj() if lazy else tensor
        index = self.index(tensor)
        try:
            address = tensor.data_ptr()
        except RuntimeError as error:
            raise DTypeError(f"{name} is a tensor without memory: {error}") from error
        size = dtype.itemsize
        return phantom(
            address,
            tuple(tensor.shape),
            tuple(step * size for step in tensor.stride()),
            dtype,
            Held(tensor, self, index, self.stream(index)),
            lazy=lazy,
        )

    def wait(self, index: int, stream: int) -> None:
        gpu = self.module.cuda
        other = gpu.default_stream(index) if stream == 0 else gpu.ExternalStream(stream, device=index)
        gpu.current_stream(index).wait_stream(other)

    @contextmanager
    def guard(self, index: int) -> Iterator[None]:
        with self.module.cuda.device(index):
            yield

    def new(self, shape: tuple[int, ...], dtype: np.dtype[Any], index: int) -> Any:
        return self.module.empty(shape, dtype=self.names[dtype], device=f"cuda:{index}")

    def real(self, array: Phantom) -> Any:
        held = array.held
        assert held is not None
        if array.size == 0:
            return self.new(array.shape, array.dtype, held.index)
        if held.library is self:
            tensor, size, shape, steps = held.value, array.itemsize, array.shape, array.strides
            start = address_of(array) - tensor.data_ptr()
            of_pairs = array.dtype == COMPLEX_HALF and tensor.dtype == self.module.float16
            if of_pairs:
                size //= 2
                shape, steps = (*shape, 2), (*steps, size)
            made = tensor.as_strided(
                shape, [step // size for step in steps], tensor.storage_offset() + start // size
            )
            made = self.module.view_as_complex(made) if of_pairs else made
        else:
            made = self.module.as_tensor(_Exported(array), device=f"cuda:{held.index}")
            if array.dtype == BFLOAT16:
                made = made.view(self.module.bfloat16)
            elif array.dtype == COMPLEX_HALF:
                made = self.module.view_as_complex(made)
        return made.conj() if array.lazy else made

    def pairs(self, value: Any) -> Any:
        return self.module.view_as_real(value)

    def widened(self, value: Any) -> Any:
        # By way of the parts: float16 has every operation that is needed, complex half only some.
        t, lazy = self.module, value.is_conj()
        made = t.view_as_complex(t.view_as_real(value.conj() if lazy else value).float())
        return made.conj() if lazy else made

    def narrow(self, target: Any, source: Any) -> None:
        t = self.module
        t.view_as_real(target).copy_(t.view_as_real(source.resolve_conj()))

    def copied(self, value: Any) -> Any:
        return value.resolve_conj().clone(memory_format=self.module.contiguous_format)

    def cast(self, value: Any, dtype: np.dtype[Any]) -> Any:
        return value.resolve_conj().to(self.names[dtype])

    def assign(self, target: Any, source: Any) -> None:
        target.copy_(source)

    def conjugate(self, value: Any) -> Any:
        return value.conj()

    def matmul(self, a: Any, b: Any, out: Any = None) -> Any:
        try:
            return self.module.matmul(a, b) if out is None else self.module.matmul(a, b, out=out)
        except RuntimeError as error:
            # A type that it has no product for; what else it says (no memory left) is its own to say.
            if "not implemented for" in str(error) or "same dtype" in str(error):
                raise DTypeError(f"a and b are {a.dtype} and {b.dtype}: {error}") from error
            raise

    def narrows(self, letter: str) -> bool:
        switches = {
            "h": "allow_fp16_reduced_precision_reduction",
            "b": "allow_bf16_reduced_precision_reduction",
        }
        found = getattr(self.module.backends.cuda.matmul, switches.get(letter, ""), False)
        # Newer versions have a second switch beside it, and tell both.
        return bool(found[0] if isinstance(found, tuple) else found)

    def gemm(self, a: Any, b: Any, out: Any, alpha: complex, beta: complex) -> None:
        plain = not (out.is_conj() or out.is_neg())
        if (alpha, beta) != (1, 0) and plain and a.dim() == b.dim() == out.dim():
            # One call of cuBLAS, which neither reads nor writes anything twice.
            if out.dim() == 2:
                out.addmm_(a, b, alpha=alpha, beta=beta)
                return
            if out.dim() == 3 and a.shape[0] == b.shape[0] == out.shape[0]:
                out.baddbmm_(a, b, alpha=alpha, beta=beta)
                return
        super().gemm(a, b, out, alpha, beta)


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

    def adopt(self, value: Any, name: str) -> Phantom | None:
        index = self.index(value)
        held = Held(value, self, index, self.stream(index))
        return phantom(value.data.ptr, value.shape, value.strides, value.dtype, held)

    def stream(self, index: int) -> int:
        found: int = self.module.cuda.get_current_stream().ptr
        return usual(found)

    def wait(self, index: int, stream: int) -> None:
        gpu = self.module.cuda
        other = gpu.Stream.null if stream == 0 else gpu.ExternalStream(stream, index)
        gpu.get_current_stream().wait_event(other.record())

    def guard(self, index: int) -> AbstractContextManager[Any]:
        guard: AbstractContextManager[Any] = self.module.cuda.Device(index)
        return guard

    def new(self, shape: tuple[int, ...], dtype: np.dtype[Any], index: int) -> Any:
        if dtype == COMPLEX_HALF:
            return self.module.empty((*shape, 2), FLOAT16)
        return self.module.empty(shape, dtype)

    def real(self, array: Phantom) -> Any:
        held = array.held
        assert held is not None
        if array.size == 0:
            return self.new(array.shape, array.dtype, held.index)
        if held.library is self:
            memory = held.value.data.mem
            start = self.module.cuda.MemoryPointer(memory, address_of(array) - memory.ptr)
            shape, dtype, strides = array.shape, array.dtype, array.strides
            if dtype == COMPLEX_HALF:
                shape, dtype, strides = (*shape, 2), FLOAT16, (*strides, FLOAT16.itemsize)
            made = self.module.ndarray(shape, dtype, start, strides)
        else:
            made = self.module.asarray(_Exported(array))
            made = made.view(BFLOAT16) if array.dtype == BFLOAT16 else made
        return made.conj() if array.lazy else made

    def pairs(self, value: Any) -> Any:
        return value

    def handed(self, value: Any) -> Any:
        return value.view(COMPLEX_HALF)[..., 0]

    def widened(self, value: Any) -> Any:
        return value.astype(np.float32, order="C").view(np.complex64)[..., 0]

    def narrow(self, target: Any, source: Any) -> None:
        target[..., 0] = source.real
        target[..., 1] = source.imag

    def copied(self, value: Any) -> Any:
        return value.copy(order="C")

    def cast(self, value: Any, dtype: np.dtype[Any]) -> Any:
        return value.astype(dtype)

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


class _Exported:
    """A phantom for another library to see."""

    def __init__(self, array: Phantom):
        shape, strides, typestr = array.shape, array.strides, array.dtype.str
        # What the interface has no letter for: bfloat16 as integers, complex half as float16 pairs.
        if array.dtype == BFLOAT16:
            typestr = "<i2"
        elif array.dtype == COMPLEX_HALF:
            shape, strides, typestr = (*shape, 2), (*strides, FLOAT16.itemsize), FLOAT16.str
        # Who asks orders the streams itself, and writes only where it was told to.
        self.__cuda_array_interface__ = {
            "data": (address_of(array), False),
            "shape": shape,
            "strides": strides,
            "typestr": typestr,
            "version": 3,
            "stream": None,
        }
        self.array = array


def usual(stream: int) -> int:
    """The default stream goes by two numbers: 1 to interfaces, 0 to libraries."""
    return 0 if stream == 1 else stream


# ---- arrays of no known library


def device_of(address: int, name: str) -> int:
    """The GPU whose memory an address belongs to. Raises ``ArgumentError`` for one of no GPU."""
    api = bindings.bindings()
    which = api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    code, index = api.cuPointerGetAttribute(which, address)
    if code:
        raise ArgumentError(f"{name} says that it lies at {address:#x}, which is no memory of a GPU")
    return int(index)


def index_of(value: Any, name: str) -> int | None:
    """The GPU that an argument lies on; None for one without elements that does not say."""
    found = library_of(value)
    if found is not None:
        return found.index(value)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return int(value.__dlpack_device__()[1])
    address = (interface.get("data") or (0,))[0]
    return device_of(address, name) if address and 0 not in interface["shape"] else None


def adopt(value: Any, name: str, stream: int | None) -> Phantom | None:
    """Any array on a GPU as a phantom; None where NumPy has no such type.

    ``stream`` is where the elements will be used. Raises ``ArgumentError`` and ``DTypeError`` for what
    is not understood.
    """
    found = library_of(value)
    if found is not None:
        return found.adopt(value, name)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return _from_dlpack(value, name, stream)
    if interface.get("mask") is not None:
        raise DTypeError(f"{name} has a mask, which no product reads; accepted: an array without one")
    try:
        address, readonly = interface["data"]
        shape, strides = tuple(interface["shape"]), interface.get("strides")
        dtype = np.dtype(interface["typestr"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArgumentError(f"{name} has a __cuda_array_interface__ that is not one: {error}") from error
    waits = interface.get("stream")
    held = Held(value, None, index_of(value, name) or 0, None if waits is None else usual(int(waits)))
    return phantom(
        int(address or 0),
        shape,
        None if strides is None else tuple(strides),
        dtype,
        held,
        readonly=bool(readonly),
    )


class _Tensor(ctypes.Structure):
    """``DLTensor`` of dlpack.h, the beginning of what a capsule named ``dltensor`` points to."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
# By code and bits: what NumPy has not of its own.
_HALVES = {(4, 16): BFLOAT16, (5, 32): COMPLEX_HALF}


def _from_dlpack(value: Any, name: str, stream: int | None) -> Phantom | None:
    """An array that speaks DLPack alone. Its owner makes ``stream`` wait for what it has yet to write."""
    try:
        # The protocol's number of the default stream is 1, as is the interface's.
        capsule = value.__dlpack__(stream=stream or 1)
    except (BufferError, TypeError, RuntimeError) as error:
        raise DTypeError(f"{name} of type {type(value).__name__} is not handed over: {error}") from error
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    kind, lanes = _KINDS.get(tensor.code), tensor.lanes
    dtype = _HALVES.get((tensor.code, tensor.bits))
    if (kind is None and dtype is None) or lanes != 1:
        return None
    dtype = np.dtype(f"{kind}{tensor.bits // 8}") if dtype is None else dtype
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    steps = None
    if tensor.strides:
        steps = tuple(tensor.strides[axis] * dtype.itemsize for axis in range(tensor.ndim))
    # The capsule, unused, gives the memory back when it goes: it has to live as long as the phantom.
    held = Held((value, capsule), None, tensor.device_id, None)
    return phantom((tensor.data or 0) + tensor.byte_offset, shape, steps, dtype, held)


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
