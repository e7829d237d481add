"""Memory whose pages are put on nodes: calls of Linux's that the C library has no functions for.

``mbind`` says on which nodes pages will lie that nobody has touched; ``move_pages`` without nodes says where
pages lie (both: set_mempolicy's manual and <linux/mempolicy.h>). No library for it is needed.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.errors import DeviceError

CALLS = {
    "x86_64": {"mbind": 237, "move_pages": 279},
    "aarch64": {"mbind": 235, "move_pages": 239},
    "riscv64": {"mbind": 235, "move_pages": 239},
    "ppc64le": {"mbind": 259, "move_pages": 301},
}
"""Numbers of the calls, from each architecture's table in Linux."""
INTERLEAVE = 3
LOOKED_AT = 4096
"""Pages, evenly spread, that speak for an array."""


def fresh(size: int, kind: Any) -> np.ndarray[Any, Any]:
    """An array of ``size`` numbers in whole pages that nobody has touched. Pages are small ones: with large
    ones a page may hold the shares of several cores."""
    bytes_ = max(1, size * np.dtype(kind).itemsize)
    memory = mmap.mmap(-1, -(-bytes_ // mmap.PAGESIZE) * mmap.PAGESIZE)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        try:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
        except OSError as error:  # A system without large pages knows no such advice.
            if error.errno != errno.EINVAL:
                raise
    return np.frombuffer(memory, kind, size)


def mask(nodes: Sequence[int]) -> tuple[Any, int]:
    """Numbers of nodes as bits of words, and how many bits the system is to look at: it takes one less."""
    bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    words = (ctypes.c_ulong * (max(nodes) // bits + 1))()
    for node in nodes:
        words[node // bits] |= 1 << node % bits
    return words, len(words) * bits + 1


def interleave(array: np.ndarray[Any, Any], nodes: Sequence[int]) -> None:
    """Spread the pages of an array of ``fresh`` over nodes in turns, as they are first touched.

    Raises ``DeviceError`` where the system refuses, as containers often do.
    """
    words, bits = mask(nodes)
    _call("mbind", _begin(array), _length(array), INTERLEAVE, words, bits, 0)


def placed(array: np.ndarray[Any, Any]) -> dict[int, float]:
    """The part of an array's pages that lies on each node, of ``LOOKED_AT`` at most. Raises ``DeviceError``
    where the system does not say, or where none was touched."""
    pages = range(0, _length(array), mmap.PAGESIZE)
    some = [_begin(array) + offset for offset in pages[:: -(-len(pages) // LOOKED_AT)]]
    addresses = (ctypes.c_void_p * len(some))(*some)
    status = (ctypes.c_int * len(some))()
    _call("move_pages", 0, len(some), addresses, None, status, 0)
    found = Counter(node for node in status if node >= 0)
    if not found:
        raise DeviceError("move_pages finds no page of the array on a node; touch it first")
    return {node: count / found.total() for node, count in sorted(found.items())}


def _begin(array: np.ndarray[Any, Any]) -> int:
    return int(array.ctypes.data)


def _length(array: np.ndarray[Any, Any]) -> int:
    return -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE


def _call(name: str, *arguments: Any) -> None:
    """A call by its number. Raises ``DeviceError`` with the system's reason."""
    numbers = CALLS.get(platform.machine())
    if numbers is None or os.name != "posix":
        raise DeviceError(f"{name} is known for Linux on {', '.join(CALLS)}, not on {platform.machine()}")
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    whole = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in arguments]
    if call(ctypes.c_long(numbers[name]), *whole) < 0:
        reason = ctypes.get_errno()
        raise DeviceError(f"{name} is refused ({errno.errorcode.get(reason, reason)}: {os.strerror(reason)})")
