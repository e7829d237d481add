"""Device memory, and the streams of what happens to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ArgumentError, DeviceError
from tilewright.targets.cuda import modules
from tilewright.targets.cuda.bindings import bindings, check
from tilewright.targets.cuda.modules import Owned


class Memory(Owned):
    """``size`` bytes of device memory at ``address`` (a multiple of 256), freed with the object.

    Freeing waits for the kernels that run.
    """

    def __init__(self, address: int, size: int):
        super().__init__(address, "cuMemFree", address)
        self.address, self.size = address, size


def allocate(size: int) -> Memory:
    """Device memory of ``size`` bytes, with anything in it.

    Raises ``DeviceError`` with the bytes asked for and free when there is not enough.
    """
    if size < 0:
        raise ArgumentError(f"size={size}; accepted: a number of bytes, 0 or more")
    modules.context()
    api = bindings()
    # The driver refuses 0 bytes, and an empty array has an address as well.
    code, address = api.cuMemAlloc(max(1, size))
    if code == api.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        free, total = check(api.cuMemGetInfo(), "asking for free memory")
        raise DeviceError(
            f"size={size}: the device has not that many bytes in one piece; {free} of its {total} are free "
            "(CUDA_ERROR_OUT_OF_MEMORY)"
        )
    check((code,), f"allocating {size} bytes")
    return Memory(int(address), size)


def upload(address: int, array: np.ndarray[Any, Any]) -> None:
    """Copy an array's elements, in the order they lie in memory, to a device address. Waits for it.

    Raises ``ArgumentError`` when they do not lie without gaps.
    """
    _gapless(array)
    if array.nbytes:
        modules.context()
        copied = bindings().cuMemcpyHtoD(address, array.ctypes.data, array.nbytes)
        check(copied, f"copying {array.nbytes} bytes to the device")


def download(array: np.ndarray[Any, Any], address: int) -> None:
    """Fill an array, in the order it lies in memory, from a device address. Waits for it.

    Raises ``ArgumentError`` when it has gaps or is read-only.
    """
    _gapless(array)
    if not array.flags.writeable:
        raise ArgumentError("array is read-only; accepted: one that can be written to")
    if array.nbytes:
        modules.context()
        copied = bindings().cuMemcpyDtoH(array.ctypes.data, address, array.nbytes)
        check(copied, f"copying {array.nbytes} bytes from the device")


def _gapless(array: np.ndarray[Any, Any]) -> None:
    if not array.flags.forc:
        raise ArgumentError(
            f"array of shape {array.shape} has strides {array.strides}; accepted: contiguous, in either order"
        )


def fill(address: int, size: int, byte: int) -> None:
    """Set ``size`` bytes of device memory to ``byte`` (0 to 255), in the order of the default stream."""
    if not 0 <= byte <= 255:
        raise ArgumentError(f"byte={byte}; accepted: 0 to 255")
    if size:
        modules.context()
        check(bindings().cuMemsetD8(address, byte, size), f"filling {size} bytes")


def stream_new() -> Owned:
    """A stream, by its ``handle``; it keeps the order of the default stream, so copies see its results."""
    modules.context()
    stream = check(bindings().cuStreamCreate(0), "making a stream")
    return Owned(int(stream), "cuStreamDestroy", stream)


def capturing(stream: int) -> bool:
    """Whether what goes to a stream is recorded into a graph, or a recording keeps it from being asked."""
    api = bindings()
    code, status = api.cuStreamIsCapturing(api.CUstream(stream))
    return bool(code) or status != api.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE
