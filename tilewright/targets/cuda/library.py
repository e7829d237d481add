"""The driver's library itself, for what is called by ``ctypes`` and by compiled code."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from tilewright.errors import DeviceError


@functools.cache
def loaded() -> ctypes.CDLL:
    """The library, with what a launch, a stopwatch and a fork of streams call in it."""
    library = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    library.cuLaunchKernelEx.argtypes = (ctypes.c_void_p,) * 4
    library.cuEventRecord.argtypes = (ctypes.c_void_p,) * 2
    library.cuStreamWaitEvent.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    library.cuLaunchKernelEx.restype = library.cuEventRecord.restype = ctypes.c_int
    library.cuStreamWaitEvent.restype = ctypes.c_int
    return library


def call(name: str, *arguments: Any) -> int:
    """The code that a function of the driver's library returns for arguments of ``ctypes``: for what is to
    lie at an address that NVIDIA's bindings do not choose.

    Raises ``DeviceError`` where the driver is older than the function.
    """
    try:
        function = getattr(loaded(), name)
    except AttributeError as error:
        raise DeviceError(f"the CUDA driver has no {name}: it is too old") from error
    return int(function(*arguments))


def entry(name: str) -> int:
    """The address of one of the driver's functions, for compiled code to call."""
    return ctypes.cast(getattr(loaded(), name), ctypes.c_void_p).value or 0
