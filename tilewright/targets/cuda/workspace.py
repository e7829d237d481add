"""Device memory for the time of one launch, in the order of a stream.

Each stream keeps what it was given last, for each host thread that launches there: work of a stream runs in
order, and no other thread's launch comes between the asking and the launch. To take memory anew and to give
it back would stand between two launches, for some 7 us on an H200. A kernel that begins before the one ahead
of it in the stream has ended (programmatic dependent launch) must not touch it until that one has.

It is the driver's memory of streams (``cuMemAllocFromPoolAsync``), from a pool of our own that keeps what is
given back: nothing waits, and launches of other streams and threads never meet in it. What is recorded into a
graph may run later beside anything, so there the graph has memory of its own; and the first ``STREAMS``
streams and threads alone keep theirs, others take it for each launch. What is kept comes to an end with the
process. It stands in a table that compiled code reads (``runtime.fastcall_cuda``), so that Python is asked
for what is not there alone.

**Where there is no room.** Whoever has another way asks without ``insist``: for as long as ``FIRST`` seconds
after the driver had no memory it is not asked again for as much or more of that device, then, if it still has
none, for twice as long, at most ``LONGEST``. A driver that has none gives back what its pools keep and may
wait for the device, which is no price for every call of a loop; and memory that was freed is noticed in a
minute. What a stream has already is never asked for. The rule holds while a stream is recorded, too: a graph
takes its memory when it is made ready to run, and then it is too late for another way.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, NamedTuple

from tilewright.errors import RoomError
from tilewright.targets.cuda import memory, modules
from tilewright.targets.cuda.bindings import bindings, check

STREAMS = 16
"""Pairs of a stream and a thread that keep their memory; large products take some 30 MB."""
KEPT = 2**64 - 1
"""Bytes that a pool keeps for later launches: all."""
FIRST, LONGEST = 1.0, 60.0
"""Seconds for which a device without room is not asked again by those who have another way."""


class _Refusal(NamedTuple):
    """The fewest bytes that a device had no room for, when it may be asked again, and the seconds between."""

    size: int
    until: float
    wait: float


_STAMPS = itertools.count(2 * secrets.randbits(61) + 1, 2)
"""Odd ones."""
STAMPS = (ctypes.c_uint64 * 1)(2 * secrets.randbits(61) + 2)
"""The next stamp of compiled code, which adds 2 to it: theirs are even, so that nobody has to be asked."""
_REFUSED: dict[int, _Refusal] = {}
"""By GPU; of devices that have had as much since there is none."""


class Held:
    """What streams keep: address and bytes by GPU, the number of a stream, which no other stream ever has,
    and thread, in a table of 64-bit words that compiled code reads while it holds the global lock.

    The table's first word is the number of its rows. A row's first three words never change, and it counts
    when it is whole. Its last two are changed by its own thread alone, which cannot be reading it then: other
    threads see by the third word that it is not theirs.
    """

    ROW = ("device", "stream", "thread", "address", "room")

    def __init__(self) -> None:
        self.table = (ctypes.c_uint64 * (1 + len(self.ROW) * STREAMS))()
        self._rows: dict[tuple[int, int, int], int] = {}
        self._lock = threading.Lock()

    def full(self) -> bool:
        """Whether no other stream and thread can keep any."""
        return len(self._rows) >= STREAMS

    def of(self, key: tuple[int, int, int]) -> tuple[int, int]:
        """Address and bytes; 0 bytes where there is none."""
        row = self._rows.get(key)
        return (0, 0) if row is None else (self.table[row + 3], self.table[row + 4])

    def put(self, key: tuple[int, int, int], address: int, room: int) -> bool:
        """Keep so many bytes, or with 0 none. False: there are too many others."""
        with self._lock:
            row = self._rows.get(key)
            if row is not None:
                # Nobody finds the new room at the old address.
                self.table[row + 4] = 0
                self.table[row + 3], self.table[row + 4] = address, room
                return True
            if self.full():
                return False
            count = len(self._rows)
            row = self._rows[key] = 1 + len(self.ROW) * count
            self.table[row : row + 5] = [*key, address, room]
            self.table[0] = count + 1
            return True


_HELD = Held()


def table() -> ctypes.Array[ctypes.c_uint64]:
    """The table of what streams keep (``Held``), for compiled code."""
    return _HELD.table


def stamp() -> int:
    """A number of 64 bits, not 0, that no launch of this process has had, nor, most likely, that of another
    one: what lies in the memory is not taken for it."""
    return next(_STAMPS)


@functools.cache
def _pool(device: int) -> int:
    """The pool of a device. Raises ``RoomError`` where the device has none."""
    api = bindings()
    asked = api.CUmemPoolProps()
    asked.allocType = api.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    asked.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    asked.location.id = device
    code, pool = api.cuMemPoolCreate(asked)
    if _roomless(api, code):
        raise RoomError(
            f"GPU {device} makes no pools of memory ({code.name}), from which workspaces are taken"
        )
    check((code,), "making a pool of device memory")
    threshold = api.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    kept = api.cuuint64_t(KEPT)
    check(api.cuMemPoolSetAttribute(pool, threshold, kept), "having a pool keep its memory")
    return int(pool)


def _roomless(api: Any, code: Any) -> bool:
    """Whether the driver says that there is no such memory, on this device or in the graph that a stream is
    recorded into, of which some parts may take none."""
    none = ("OUT_OF_MEMORY", "NOT_SUPPORTED", "STREAM_CAPTURE_UNSUPPORTED")
    return code in [getattr(api.CUresult, f"CUDA_ERROR_{name}") for name in none]


def _no_room(size: int) -> RoomError:
    return RoomError(
        f"size={size}: the device has no room for so many bytes of workspace; accepted: as many that "
        "are free (what a library of arrays keeps for later is not: torch.cuda.empty_cache() gives it back)"
    )


def _expect(size: int, device: int) -> None:
    """Raises ``RoomError`` where a device has just had no room for as much."""
    last = _REFUSED.get(device)
    if last is not None and size >= last.size and monotonic() < last.until:
        raise _no_room(size)


def _refused(size: int, device: int) -> None:
    """Note that a device has no room."""
    last = _REFUSED.get(device)
    again = last is not None and size >= last.size
    wait = min(2 * last.wait, LONGEST) if last is not None and again else FIRST
    least = last.size if last is not None and again else size
    _REFUSED[device] = _Refusal(least, monotonic() + wait, wait)


def _fresh(api: Any, size: int, device: int, stream: int, recorded: bool) -> int:
    """The address of ``size`` bytes for what a stream does from here on. ``recorded``: into a graph, whose
    memory is not there yet, so that having it says nothing."""
    try:
        code, address = api.cuMemAllocFromPoolAsync(max(1, size), api.CUmemoryPool(_pool(device)), stream)
    except RoomError:
        _refused(size, device)
        raise
    if _roomless(api, code):
        if code == api.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            _refused(size, device)
        raise _no_room(size)
    check((code,), f"taking {size} bytes of workspace")
    last = _REFUSED.get(device)
    if last is not None and size >= last.size and not recorded:
        _REFUSED.pop(device, None)
    return int(address)


def _held(api: Any, size: int, device: int, stream: int, insist: bool) -> int | None:
    """The address of what this thread keeps on a stream, made larger where it is too small; None where too
    many others keep theirs."""
    key = device, int(check(api.cuStreamGetId(stream), "asking for a stream's number")), threading.get_ident()
    held = _HELD
    address, room = held.of(key)
    # One byte is had for a size of 0, too.
    size = max(1, size)
    if size <= room:
        return address
    if not room and held.full():
        return None
    if not insist:
        # Before anything is given back: what is there serves smaller launches.
        _expect(size, device)
    if room:
        # Forgotten first: nobody may have it once it is given back, whatever comes after.
        held.put(key, 0, 0)
        check(api.cuMemFreeAsync(address, stream), f"giving back {room} bytes of workspace")
    address = _fresh(api, size, device, stream, recorded=False)
    if held.put(key, address, size):
        return address
    # Another thread was faster. It is given back in the order of the stream, and taken again.
    check(api.cuMemFreeAsync(address, stream), f"giving back {size} bytes of workspace")
    return None


@contextmanager
def taken(size: int, zeros: int, stream: int, insist: bool = True) -> Iterator[int]:
    """The address of ``size`` bytes for what this thread launches meanwhile on a stream; the first ``zeros``
    (a multiple of 4) are 0 by then, all others anything. ``insist``: ask the driver even if it has just had
    no room for as many (see the module).

    Raises ``RoomError`` where the device has not that many, ``DeviceError`` where it refuses.
    """
    modules.context()
    api = bindings()
    device = int(check(api.cuCtxGetDevice(), "asking for the current GPU"))
    recorded = memory.capturing(stream)
    kept = None if recorded else _held(api, size, device, stream, insist)
    if kept is None and not insist:
        _expect(size, device)
    address = _fresh(api, size, device, stream, recorded) if kept is None else kept
    try:
        if zeros:
            check(api.cuMemsetD32Async(address, 0, zeros // 4, stream), f"clearing {zeros} bytes")
        yield address
    finally:
        if kept is None:
            check(api.cuMemFreeAsync(address, stream), f"giving back {size} bytes of workspace")
