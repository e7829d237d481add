"""What a system lets a process use when it asks: the tile registers of x86.

Their 8 KiB are kept for every thread from their first use on, so that Linux wants to be asked before, once a
process. A process that was not asked for ends at its first such instruction. Threads that begin later, and
children by fork, may use what their process may.
"""

from __future__ import annotations

import ctypes
import functools
import platform

ARCH_PRCTL = 158
"""The number of the system call on x86-64."""
REQUEST_PERMISSION = 0x1023
TILE_DATA = 18
"""The part of a thread's state that holds tile registers, as XCR0 numbers it."""


@functools.cache
def tiles() -> bool:
    """Whether this process may use tile registers; the system is asked when this is first called.

    False where it refuses, does not know the question (Linux before 5.16), or is not Linux on x86-64.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return False
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return bool(
        call(ctypes.c_long(ARCH_PRCTL), ctypes.c_long(REQUEST_PERMISSION), ctypes.c_long(TILE_DATA)) == 0
    )
