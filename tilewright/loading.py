"""What is loaded when it is first asked for, and forks that wait for it.

A child of a fork has none of the parent's threads: where one of them is in the midst of loading a module, the
child would wait for that module for ever.
"""

from __future__ import annotations

import os
from importlib import import_module
from threading import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_loading = RLock()

if hasattr(os, "register_at_fork"):
    # Nothing that is loaded takes another lock, so this one may be the last that a fork waits for.
    os.register_at_fork(
        before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release
    )


def load(where: str) -> Any:
    """What ``module:name`` names. Raises ``ImportError`` or ``AttributeError`` where there is none."""
    module, _, name = where.partition(":")
    with _loading:
        return getattr(import_module(module), name)
