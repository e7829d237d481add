"""Arrays of no known library: by ``__cuda_array_interface__`` or DLPack, and views for others to see so."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tilewright.arrays.view import ArrayView, Owner, address_of, view_at
from tilewright.dtypes import BFLOAT16, COMPLEX_HALF, FLOAT16
from tilewright.errors import ArgumentError, DTypeError

CUDA_DEVICE, CUDA_MANAGED = 2, 13
"""kDLCUDA and kDLCUDAManaged of dlpack.h."""


def on_gpu(value: Any) -> bool:
    """Whether an array says by an interface that it lies on a GPU."""
    if hasattr(value, "__cuda_array_interface__"):
        return True
    device = getattr(value, "__dlpack_device__", None)
    try:
        return device is not None and int(device()[0]) in (CUDA_DEVICE, CUDA_MANAGED)
    except Exception:  # Whatever it is, the host's way will say so.
        return False


def device_of(address: int, name: str) -> int:
    """The GPU whose memory an address belongs to. Raises ``ArgumentError`` for one of no GPU."""
    # Asked of arrays on GPUs alone, and what asks whether an array is one is asked of every array.
    from tilewright.targets.cuda.bindings import bindings

    api = bindings()
    which = api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    code, index = api.cuPointerGetAttribute(which, address)
    if code:
        raise ArgumentError(f"{name} says that it lies at {address:#x}, which is no memory of a GPU")
    return int(index)


def index_of(value: Any, name: str) -> int | None:
    """The GPU that an array lies on; None for one without elements that does not say."""
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return int(value.__dlpack_device__()[1])
    address = (interface.get("data") or (0,))[0]
    return device_of(address, name) if address and 0 not in interface["shape"] else None


def stream_of(value: Any) -> int | None:
    """The stream that an array says it is written on; None where it says nothing."""
    interface = getattr(value, "__cuda_array_interface__", None) or {}
    stream = interface.get("stream")
    return None if stream is None else default_stream(int(stream))


def default_stream(stream: int) -> int:
    """The default stream goes by two numbers: 1 to interfaces, 0 to libraries."""
    return 0 if stream == 1 else stream


def view(value: Any, name: str, stream: int | None) -> ArrayView | None:
    """An array as a view; None where NumPy has no such type. ``stream`` is where its elements will be used.

    Raises ``ArgumentError`` and ``DTypeError`` for what is not understood.
    """
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
    held = Owner(
        value, None, index_of(value, name) or 0, None if waits is None else default_stream(int(waits))
    )
    return view_at(
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


def _from_dlpack(value: Any, name: str, stream: int | None) -> ArrayView | None:
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
    # The capsule, unused, gives the memory back when it goes: it has to live as long as the view.
    held = Owner((value, capsule), None, tensor.device_id, None)
    return view_at((tensor.data or 0) + tensor.byte_offset, shape, steps, dtype, held)


class Exported:
    """A view for another library to see."""

    def __init__(self, array: ArrayView):
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
