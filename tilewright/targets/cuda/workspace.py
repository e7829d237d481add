"""Device memory for the time of one launch, in the order of a stream.

Each stream keeps what it was given last, for each host thread that launches there: work of a stream runs in
order, and no other thread's launch comes between the asking and the launch. To take memory anew and to give
it back would stand between two launches, for some 7 us on an H200. A kernel that begins before the one ahead
of it in the stream has ended (programmatic dependent launch) must not touch it until that one has.

It is the driver's memory of streams (``cuMemAllocFromPoolAsync``), from a pool of our own that keeps what is
given back: nothing waits, and launches of other streams and threads never meet in it. What is recorded into a
graph may run later beside anything, so there the graph has memory of its own; and the first ``STREAMS``
streams and threads alone keep theirs, others take it for each launch. What is kept comes to an end with the
process.
"""

from __future__ import annotations

import functools
import itertools
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tilewright.errors import DeviceError
from tilewright.targets.cuda import memory, modules
from tilewright.targets.cuda.bindings import bindings, check

STREAMS = 16
"""Pairs of a stream and a thread that keep their memory; large products take some 30 MB."""
KEPT = 2**64 - 1
"""Bytes that a pool keeps for later launches: all."""
_STAMPS = itertools.count(secrets.randbits(62) + 1)
_HELD: dict[tuple[int, int, int], tuple[int, int]] = {}
"""Address and bytes, by GPU, the number of a stream, which no other stream ever has, and thread."""


def stamp() -> int:
    """A number of 64 bits, not 0, that no launch of this process has had, nor, most likely, that of another
    one: what lies in the memory is not taken for it."""
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


def _fresh(api: Any, size: int, device: int, stream: int) -> int:
    """The address of ``size`` bytes for what a stream does from here on."""
    code, address = api.cuMemAllocFromPoolAsync(max(1, size), api.CUmemoryPool(_pool(device)), stream)
    if code == api.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        raise DeviceError(f"size={size}: the device has not that many bytes for a workspace")
    check((code,), f"taking {size} bytes of workspace")
    return int(address)


def _held(api: Any, size: int, device: int, stream: int) -> int | None:
    """The address of what this thread keeps on a stream, made larger where it is too small; None where the
    stream is recorded into a graph, or too many others keep theirs."""
    if memory.capturing(stream):
        return None
    key = device, int(check(api.cuStreamGetId(stream), "asking for a stream's number")), threading.get_ident()
    address, room = _HELD.get(key, (0, 0))
    if size <= room:
        return address
    if not room and len(_HELD) >= STREAMS:
        return None
    if room:
        # Forgotten first: nobody may have it once it is given back, whatever comes after.
        del _HELD[key]
        check(api.cuMemFreeAsync(address, stream), f"giving back {room} bytes of workspace")
    address = _fresh(api, size, device, stream)
    _HELD[key] = address, size
    return address


@contextmanager
def taken(size: int, zeros: int, stream: int) -> Iterator[int]:
    """The address of ``size`` bytes for what this thread launches meanwhile on a stream; the first ``zeros``
    (a multiple of 4) are 0 by then, all others anything.

    Raises ``DeviceError`` where the device has not that many, or refuses.
    """
    modules.context()
    api = bindings()
    device = int(check(api.cuCtxGetDevice(), "asking for the current GPU"))
    kept = _held(api, size, device, stream)
    address = _fresh(api, size, device, stream) if kept is None else kept
    try:
        if zeros:
            check(api.cuMemsetD32Async(address, 0, zeros // 4, stream), f"clearing {zeros} bytes")
        yield address
    finally:
        if kept is None:
            check(api.cuMemFreeAsync(address, stream), f"giving back {size} bytes of workspace")
