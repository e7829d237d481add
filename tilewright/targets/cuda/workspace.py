"""Device memory for the time of one launch, taken and given back in the order of a stream.

It is the driver's memory of streams (``cuMemAllocFromPoolAsync``), from a pool of our own that keeps what is
given back: nothing waits, launches of other streams and threads never meet in it, and where a stream is
recorded into a graph the graph has the memory. What is kept comes to an end with the process.
"""

from __future__ import annotations

import functools
import itertools
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from tilewright.errors import DeviceError
from tilewright.targets.cuda import modules
from tilewright.targets.cuda.bindings import bindings, check

KEPT = 2**64 - 1
"""Bytes that a pool keeps for later launches: all."""
_STAMPS = itertools.count(secrets.randbits(62) + 1)


def stamp() -> int:
    """A number of 64 bits, not 0, that no launch of this process has had, nor, most likely, that of another
    one: what lies in fresh memory is not taken for it."""
    return next(_STAMPS)


@functools.cache
def _pool(device: int) -> int:
    """The pool of a device. Raises ``DeviceError`` where the device has none."""
    api = bindings()
    asked = api.CUmemPoolProps()
    asked.allocType = api.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    asked.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    asked.location.id = device
    pool = check(api.cuMemPoolCreate(asked), "making a pool of device memory")
    threshold = api.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    kept = api.cuuint64_t(KEPT)
    check(api.cuMemPoolSetAttribute(pool, threshold, kept), "having a pool keep its memory")
    return int(pool)


@contextmanager
def taken(size: int, zeros: int, stream: int) -> Iterator[int]:
    """The address of ``size`` bytes for what is launched meanwhile on a stream; the first ``zeros`` (a
    multiple of 4) are 0 by then.

    Raises ``DeviceError`` where the device has not that many, or refuses.
    """
    modules.context()
    api = bindings()
    device = int(check(api.cuCtxGetDevice(), "asking for the current GPU"))
    code, address = api.cuMemAllocFromPoolAsync(max(1, size), api.CUmemoryPool(_pool(device)), stream)
    if code == api.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        raise DeviceError(f"size={size}: the device has not that many bytes for a workspace")
    check((code,), f"taking {size} bytes of workspace")
    try:
        if zeros:
            check(api.cuMemsetD32Async(address, 0, zeros // 4, stream), f"clearing {zeros} bytes")
        yield int(address)
    finally:
        check(api.cuMemFreeAsync(address, stream), f"giving back {size} bytes of workspace")
