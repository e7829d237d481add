"""Locks that a fork waits for.

A child of a fork has one thread, and finds every lock as it was: one that another thread of the parent held
is never released in the child, and what it guards may be half changed. So whoever forks takes these locks
first, always in the order of ``ORDER``, in which all other threads take those that they need together.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

ORDER = ("kernels", "records", "compiler")
"""What is guarded, from the outermost lock to the innermost: who makes a kernel asks records and compiles."""

Lock = Callable[[], AbstractContextManager[Any]]

_locks: dict[str, Lock] = dict.fromkeys(ORDER, nullcontext)
_taken: list[AbstractContextManager[Any]] = []


def wait_for(guarded: str, lock: Lock) -> None:
    """Have every later fork of this process wait for a lock, which its holder may take again.

    ``guarded`` is a name of ``ORDER``; ``lock`` gives the lock that is the right one at that moment.
    """
    if guarded not in _locks:
        raise KeyError(guarded)
    _locks[guarded] = lock


def _before() -> None:
    found = [_locks[name]() for name in ORDER]
    for lock in found:
        lock.__enter__()
    # Only now is no other thread that forks here.
    _taken[:] = found


def _after() -> None:
    found = _taken.copy()
    _taken.clear()
    for lock in reversed(found):
        lock.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
