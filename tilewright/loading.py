"""What is loaded when it is first asked for.

Forks wait for it: a child would wait for ever for a module that a thread of its parent was in the midst of
loading.
"""

from __future__ import annotations

from importlib import import_module

from tilewright.forks import loading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load(where: str) -> Any:
    """What ``module:name`` names. Raises ``ImportError`` or ``AttributeError`` where there is none."""
    module, _, name = where.partition(":")
    with loading:
        return getattr(import_module(module), name)
