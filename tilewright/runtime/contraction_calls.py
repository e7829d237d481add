"""Contractions computed before: from the arguments to the first step by one look.

A call is remembered under its equation and all that its steps depend on: classes, shapes, strides and types
of the operands and of ``out``, and what else a library tells arrays apart by (the GPU, lazy conjugation). On
a GPU all addresses have to be multiples of the widest access, as those of new arrays are. What is not there
gives ``NotImplemented``, and the caller goes the slow path, which finds every error.

Two arrays of this process that are one product where they lie need no step: a builtin takes them as they are,
and compares all that the look does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from tilewright.arrays.backend import looker
from tilewright.arrays.layout import WIDEST
from tilewright.runtime import call_cache
from tilewright.runtime.backend import Function
from tilewright.runtime.call_cache import CONTRACTIONS, LOOKERS, PAIRS
from tilewright.runtime.host_calls import looks

Run = Callable[[Sequence[Any], Any], Any]
"""The steps of a contraction, from its operands and ``out`` (None: a new array) to its result."""


class Direct(NamedTuple):
    """A contraction of two of NumPy's arrays by one builtin: what that is, and of new results the shape, the
    type, what makes them and how they are seen (None: as they are made)."""

    function: Function
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    make: Callable[..., Any]
    view: Callable[[Any], Any] | None


def again(arguments: Sequence[Any], out: Any, optimize: Any) -> Any:
    """The result of a call that was remembered, else ``NotImplemented``."""
    if len(arguments) == 3 and type(arguments[1]) is np.ndarray:
        try:
            equation, a, b = arguments
            key = (equation, optimize, a.shape, a.strides, a.dtype.char, b.shape, b.strides)
            if out is None:
                function, shape, dtype, make, view = PAIRS[key]
                result = function(a, b, make(shape, dtype))
                if view is not None and result is not NotImplemented:
                    return view(result)
            else:
                result = PAIRS[*key, out.strides](a, b, out)
            if result is not NotImplemented:
                return result
        except (KeyError, AttributeError, TypeError):
            pass
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


def remember_direct(arguments: Sequence[Any], out: Any, optimize: Any, direct: Direct) -> None:
    """Do calls like this one by a builtin alone from now on."""
    equation, *operands = arguments
    # Lists of labels may be changed, and what is no array is made one at each call.
    if not (isinstance(equation, str) and all(type(x) is np.ndarray for x in operands)):
        return
    key = (equation, optimize, *looks(*operands))
    with suppress(TypeError):  # A path may be a list, by which nothing is looked up.
        if out is None:
            call_cache.keep(PAIRS, key, direct)
        elif type(out) is np.ndarray:
            call_cache.keep(PAIRS, (*key, out.strides), direct.function)


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
