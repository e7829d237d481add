"""What holds for all calls: how many cores they may use, and that plans are to be made anew."""

from __future__ import annotations

import operator

from tilewright.errors import ArgumentError
from tilewright.runtime import build, call_cache

_threads: int | None = None


def threads() -> int | None:
    """The most cores that a call may use; None: as many as the process may use."""
    return _threads


def set_threads(count: int | None) -> None:
    """Use at most ``count`` cores from now on; None: as many as the process may use.

    Raises ``ArgumentError`` for what is no whole number from 1.
    """
    global _threads
    try:
        whole = None if count is None else operator.index(count)
    except TypeError:
        whole = 0
    if whole is not None and whole < 1:
        raise ArgumentError(f"count={count!r}; accepted: a whole number from 1, or None")
    _threads = whole
    forget()


def forget() -> None:
    """Drop every plan made so far, so that new records are seen, and unload the processor's kernels that
    nothing else holds. Plans that a caller holds plan again at their next call."""
    call_cache.clear()
    build.forget()
