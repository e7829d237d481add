"""What a fork waits for, so that a child never inherits a lock from a thread that it does not have.

One hook takes all locks, in one order. While a fork waits for modules that are being loaded, hooks that these
register are not seen by it any more, and their locks would be in the hands of the very thread that loads.
"""

from __future__ import annotations

import os
from threading import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

making = RLock()
"""Held by the one thread that plans and makes a kernel: the loser of a race would unload code in use. A fork
that waits for it waits for whoever is within SQLite, too."""
loading = RLock()
"""Held by the thread that loads modules; always taken after ``making``."""

_locks: list[tuple[Callable[[], object], Callable[[], object]]] = [
    (making.acquire, making.release),
    (loading.acquire, loading.release),
]
_taken: list[Callable[[], object]] = []


def wait_for(acquire: Callable[[], object], release: Callable[[], object]) -> None:
    """Let forks take one more lock, whose holders take none of those that came before."""
    _locks.append((acquire, release))


def _before() -> None:
    # The list may grow until nobody loads any more, and is walked to its end.
    for acquire, release in _locks:
        acquire()
        _taken.append(release)


def _after() -> None:
    # Once ``making`` is free another thread may be within its own fork.
    releases = [*reversed(_taken)]
    _taken.clear()
    for release in releases:
        release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
