"""PyTorch's tracer (``torch.compile``) kept out: it would follow calls into caches, ctypes and locks.

A call from a traced function is a break of its graph: what is before and after is compiled, and the call
runs as it always does. Nothing here imports PyTorch or costs a call anything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

ROOMS = (
    "api",
    "arrays",
    "calls",
    "catalog",
    "contract",
    "kernels",
    "loading",
    "planning",
    "runtime",
    "store",
)
"""Where the frames of a call are."""

F = TypeVar("F", bound=Callable[..., Any])

_passed_over: set[str] = set()


def untraced(function: F) -> F:
    """The same function, marked so that the tracer calls it and does not look inside."""
    # The mark of ``torch.compiler.disable``, which would put a frame around every call.
    marks: Any = function
    marks._torchdynamo_disable = True
    marks._torchdynamo_disable_msg = "Tilewright runs compiled kernels of its own"
    return function


@untraced
def settled() -> bool:
    """Whether the tracer, where there is one, leaves the frames of this package alone by now."""
    return bool(_passed_over) or "torch._dynamo.trace_rules" not in sys.modules


@untraced
def pass_over() -> None:
    """Has the tracer, where there is one, leave the frames of this package alone from now on.

    The mark alone keeps the tracer from following a call; once the call runs, it is a frame of its own.
    """
    rules: Any = sys.modules.get("torch._dynamo.trace_rules")
    if rules is None or _passed_over:
        return
    _passed_over.add(__name__)
    with suppress(Exception):  # Without it calls work too, traced at length.
        # All but the room ``torch``, whose calls the tracer is to follow to its operators.
        for room in ROOMS:
            rules.add(f"{__name__.partition('.')[0]}.{room}")
