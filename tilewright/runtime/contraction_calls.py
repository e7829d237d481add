"""Contractions computed before: from the arguments to the first step by one look.

A call is remembered under its equation and all that its steps depend on: classes, shapes, strides and types
of the operands and of ``out``, and what else a library tells arrays apart by (the GPU, lazy conjugation). On
a GPU all addresses have to be multiples of the widest access, as those of new arrays are. What is not there
gives ``NotImplemented``, and the caller goes the slow path, which finds every error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.arrays.backend import looker
from tilewright.arrays.layout import WIDEST
from tilewright.runtime import call_cache
from tilewright.runtime.call_cache import CONTRACTIONS, LOOKERS

Run = Callable[[Sequence[Any], Any], Any]
"""The steps of a contraction, from its operands and ``out`` (None: a new array) to its result."""


def again(arguments: Sequence[Any], out: Any, optimize: Any) -> Any:
    """The result of a call that was remembered, else ``NotImplemented``."""
    try:
        key = _key(arguments, out, optimize)
        found: Run | None = CONTRACTIONS.get(key)
    except (TypeError, IndexError, RuntimeError):
        return NotImplemented  # No operands, not to be hashed, or without memory.
    return NotImplemented if found is None else found(arguments[1:], out)


def remember(arguments: Sequence[Any], out: Any, optimize: Any, make: Callable[[], Run]) -> None:
    """Do calls like this one the short way from now on: as ``make`` says, if they can be told apart."""
    if len(arguments) < 2 or not isinstance(arguments[0], str):
        return
    given = [*arguments[1:], *(() if out is None else (out,))]
    # Whether gradients are recorded is no property of an array.
    if any(getattr(x, "requires_grad", False) for x in given):
        return
    kind = type(arguments[1])
    if kind not in LOOKERS:
        found = looker(arguments[1])
        if found is None:
            return
        LOOKERS[kind] = found
    try:
        key = _key(arguments, out, optimize)
        hash(key)
    except (TypeError, RuntimeError):
        return
    if key is not None:
        call_cache.keep(CONTRACTIONS, key, make())


def _key(arguments: Sequence[Any], out: Any, optimize: Any) -> Any:
    """What a call goes by; None where an argument is of another class than the first, or lies unaligned."""
    kind = type(arguments[1])
    found = LOOKERS.get(kind)
    if found is None:
        return None
    look, key = found.look, [arguments[0], optimize, kind, out is None]
    given = arguments[1:] if out is None else (*arguments[1:], out)
    for value in given:
        looked = look(value)
        if looked is None:
            return None
        key.append(looked)
    if kind is not np.ndarray:
        address, lies = found.address, 0
        for value in given:
            lies |= address(value)
        if lies % WIDEST:
            return None
    return tuple(key)
