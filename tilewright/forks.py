"""Locks that a fork waits for.

A child of a fork has one thread, and finds every lock as it was: one that another thread of the parent held
is never released in the child, and what it guards may be half changed. So whoever forks takes these locks
first, always in the order of ``ORDER``, in which all other threads take those that they need together.
"""

from __future__ import annotations

import os
from threading import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

    Lock = Callable[[], AbstractContextManager[Any]]

ORDER = ("kernels", "records", "modules", "compiler")
"""What is guarded, from the outermost lock to the innermost: who makes a kernel asks records, who asks them
may load a stencil, and loading one may begin to use the compiler."""

making = RLock()
"""Held by the one thread that plans and makes a kernel: the loser of a race would unload code in use."""
loading = RLock()
"""Held by the thread that loads modules."""

_locks: dict[str, Lock] = {"kernels": lambda: making, "modules": lambda: loading}
_taken: list[AbstractContextManager[Any]] = []


def wait_for(guarded: str, lock: Lock) -> None:
    """Have every later fork of this process wait for a lock, which its holder may take again.

    ``guarded`` is a name of ``ORDER``; ``lock`` gives the lock that is the right one at that moment.
    """
    _locks[ORDER[ORDER.index(guarded)]] = lock


def _before() -> None:
    found = []
    for guarded in ORDER:
        # Asked for only now: a module that was being loaded may have named its lock meanwhile.
        if guarded in _locks:
            lock = _locks[guarded]()
            lock.__enter__()
            found.append(lock)
    # No other thread that forks is here at this moment.
    _taken[:] = found


def _after() -> None:
    found = _taken.copy()
    _taken.clear()
    for lock in reversed(found):
        lock.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
