"""What XLA hands to a handler: the structures of its C interface, as far as they are read here.

Source: ``xla/ffi/api/c_api.h`` of OpenXLA, which jaxlib ships (``jax.ffi.include_dir()``), interface 0.3.
Fields are only ever added at the end of a structure, and each says its own size, which ``handler`` compares
with the sizes below before it reads.
"""

from __future__ import annotations

import ctypes
from typing import Any

MAJOR, MINOR = 0, 3
"""The interface that is read and answered."""
METADATA = 1
"""XLA_FFI_Extension_Metadata: a handler is asked what it is, and not to run."""
EXECUTE = 3
"""XLA_FFI_ExecutionStage_EXECUTE."""
FIT_FOR_COMMAND_BUFFERS = 1
"""XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE."""
INVALID_ARGUMENT, FAILED_PRECONDITION, INTERNAL = 3, 9, 13
"""Codes of errors."""

_HEAD = (("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p))


class Extension(ctypes.Structure):
    """``XLA_FFI_Metadata_Extension``."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("metadata", ctypes.c_void_p),
    )


class Version(ctypes.Structure):
    """``XLA_FFI_Api_Version``."""

    _fields_ = (*_HEAD, ("major", ctypes.c_int), ("minor", ctypes.c_int))


class Metadata(ctypes.Structure):
    """``XLA_FFI_Metadata``."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("version", Version),
        ("traits", ctypes.c_uint32),
        ("state_type", ctypes.c_int64),
    )


class Buffer(ctypes.Structure):
    """``XLA_FFI_Buffer``: an operand or a result."""

    _fields_ = (
        *_HEAD,
        ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.c_void_p),
    )


class Values(ctypes.Structure):
    """``XLA_FFI_Args`` and ``XLA_FFI_Rets``, which are alike."""

    _fields_ = (
        *_HEAD,
        ("size", ctypes.c_int64),
        ("types", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
    )


class Attributes(ctypes.Structure):
    """``XLA_FFI_Attrs``, sorted by name."""

    _fields_ = (
        *_HEAD,
        ("size", ctypes.c_int64),
        ("types", ctypes.c_void_p),
        ("names", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
    )


class Span(ctypes.Structure):
    """``XLA_FFI_ByteSpan``: a text."""

    _fields_ = (("text", ctypes.c_void_p), ("length", ctypes.c_size_t))


class Number(ctypes.Structure):
    """``XLA_FFI_Scalar``."""

    _fields_ = (("dtype", ctypes.c_int), ("value", ctypes.c_void_p))


class Frame(ctypes.Structure):
    """``XLA_FFI_CallFrame``, to the last field that is read."""

    _fields_ = (
        *_HEAD,
        ("api", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("args", Values),
        ("rets", Values),
        ("attrs", Attributes),
    )


class Api(ctypes.Structure):
    """``XLA_FFI_Api``, to the last function that is called."""

    _fields_ = (
        *_HEAD,
        ("version", Version),
        ("internal", ctypes.c_void_p),
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("error_create", "error_get", "error_destroy", "handler_register", "stream_get"),
                *("type_register", "context_get", "state_set", "state_get", "allocate", "free"),
                *("schedule", "threads", "future_create", "future_available", "future_error"),
                *("run_id", "device_ordinal"),
            )
        ),
    )


class Error(ctypes.Structure):
    """``XLA_FFI_Error_Create_Args``."""

    _fields_ = (*_HEAD, ("message", ctypes.c_void_p), ("code", ctypes.c_int))


class Destroy(ctypes.Structure):
    """``XLA_FFI_Error_Destroy_Args``."""

    _fields_ = (*_HEAD, ("error", ctypes.c_void_p))


class Schedule(ctypes.Structure):
    """``XLA_FFI_ThreadPool_Schedule_Args``."""

    _fields_ = (*_HEAD, ("context", ctypes.c_void_p), ("task", ctypes.c_void_p), ("data", ctypes.c_void_p))


class Asked(ctypes.Structure):
    """``XLA_FFI_Stream_Get_Args`` and ``XLA_FFI_DeviceOrdinal_Get_Args``: ``found`` is the answer, of 64 bits
    in the one and of 32 in the other."""

    _fields_ = (*_HEAD, ("context", ctypes.c_void_p), ("found", ctypes.c_void_p))


def at(structure: type[ctypes.Structure], field: str) -> int:
    """The offset of a field in bytes."""
    found: Any = getattr(structure, field)
    return int(found.offset)


def end(structure: type[ctypes.Structure], field: str) -> int:
    """The bytes of a structure up to and with a field: what ``struct_size`` says where that is the last."""
    found: Any = getattr(structure, field)
    return int(found.offset + found.size)
