"""Threads of Python that do the same at the same time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable


def at_once(count: int, work: Callable[[int], None]) -> None:
    """Call ``work`` with 0, 1, ... on ``count`` threads that begin together and take turns as often as Python
    lets them: in the middle of whatever goes back to it."""
    together, before = threading.Barrier(count), sys.getswitchinterval()

    def begin(mine: int) -> None:
        together.wait()
        work(mine)

    threads = [threading.Thread(target=begin, args=(mine,)) for mine in range(count)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
