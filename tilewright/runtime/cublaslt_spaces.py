"""Workspaces of cuBLASLt and cuBLAS: device memory of the library's own algorithms.

Some algorithms need device memory of their own, and two products in the same workspace must not run at once.
Each pair of a stream and a host thread has one: work of a stream runs in order, and as no other thread starts
work in this workspace, the launches of two products are not mixed either. The memory is the driver's and
stays until the process ends; none is PyTorch's or CuPy's, whose allocators hand memory out again when their
own streams are done with it. What is recorded into a graph may run later on any stream beside anything, so
there, and on the default stream of each thread, which has one number for all threads, an algorithm without a
workspace is used.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable

from tilewright.errors import DeviceError
from tilewright.runtime import launching
from tilewright.targets.cuda import devices, driver

PER_THREAD = 2
"""CU_STREAM_PER_THREAD: another stream on each thread."""


def workspace_bytes(index: int) -> int:
    """Bytes of a workspace on a GPU: 32 MiB from capability 9.0 on, where algorithms split more, else 8."""
    return (32 if devices.attribute("COMPUTE_CAPABILITY_MAJOR", index) >= 9 else 8) << 20


class Workspaces:
    """The workspaces of one GPU, by stream and thread, in a table that compiled code reads.

    The table's first word is the number of its rows; ``launching.SPACES`` is what a row holds. Rows are
    added and never changed: a thread or stream with the number of one that has ended has its workspace, in
    which nothing runs any more once later work does.
    """

    ROWS = 64
    WORDS = len(launching.SPACES)

    def __init__(self, index: int, size: int, allocate: Callable[[int], driver.Memory] = driver.allocate):
        self.index, self.size, self._allocate = index, size, allocate
        self.table = (ctypes.c_uint64 * (1 + self.WORDS * self.ROWS))()
        self._known: dict[tuple[int, int], int | None] = {}
        self._memory: list[driver.Memory] = []
        self._lock = threading.Lock()

    def of(self, stream: int) -> int | None:
        """The workspace of this thread on a stream; None where there can be none: see the module."""
        # A thread that has never used the GPU cannot ask about its streams.
        driver.context(self.index)
        if stream == PER_THREAD or driver.capturing(stream):
            return None
        key = stream, threading.get_ident()
        with self._lock:
            if key not in self._known:
                self._known[key] = self._added(*key)
            return self._known[key]

    def _added(self, stream: int, thread: int) -> int | None:
        count = self.table[0]
        if count >= self.ROWS:
            return None
        try:
            memory = self._allocate(self.size)
        except DeviceError:
            # The array library may hold all memory: there is an algorithm that needs none.
            return None
        self._memory.append(memory)
        row = 1 + self.WORDS * count
        self.table[row : row + self.WORDS] = [stream, thread, memory.address]
        # A row counts when it is whole.
        self.table[0] = count + 1
        return memory.address


@functools.cache
def workspaces(index: int) -> Workspaces:
    """The workspaces of a GPU."""
    return Workspaces(index, workspace_bytes(index))
