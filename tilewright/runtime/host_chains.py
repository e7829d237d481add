"""Chains computed before on arrays of this process: one builtin for each of their products.

A chain is composed of products here (``calls.chains``). What each of them was served by, how its arrays lie
and which two were multiplied first follows from how the arguments lie, which is what a call is looked up by;
builtins compare every array once more. What is not there gives ``NotImplemented``, and the caller goes the
slow path, which finds every error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tilewright.arrays.numpy_ import new_output
from tilewright.arrays.view import Array
from tilewright.runtime import call_cache
from tilewright.runtime.backend import Function

Arguments = tuple[Any, Any, Any, Any, Any]
"""a, b, c, add and out of a call; None for those that there are not."""


class Products(NamedTuple):
    """What serves a chain: of three factors the product that comes ``first``, the shape of its result and
    whether it is of the two on the right; then the ``last`` one, which adds to its result where something is
    added; and shape and type of the result."""

    first: Function | None
    between: tuple[int, ...]
    right: bool
    last: Function
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    make: Callable[..., Array] = new_output


def again(arguments: Arguments) -> Any:
    """The result of a call on arrays of NumPy that was remembered, else ``NotImplemented``."""
    try:
        found: Products | None = call_cache.CHAINS.get(_key(arguments))
    except (AttributeError, TypeError):
        return NotImplemented
    if found is None:
        return NotImplemented
    a, b, c, add, out = arguments
    left, right = a, b
    if found.first is not None:
        between = found.make(found.between, found.dtype)
        one, other = (b, c) if found.right else (a, b)
        if found.first(one, other, between) is NotImplemented:
            return NotImplemented
        left, right = (a, between) if found.right else (between, c)
    result = found.make(found.shape, found.dtype) if out is None else out
    if add is not None:
        # The last product may still refuse the arrays, and the slow way then needs all that was given.
        if type(add) is not np.ndarray or not (out is None or _apart(out, found, (a, b, c), add)):
            return NotImplemented
        result[...] = add
    return NotImplemented if found.last(left, right, result) is NotImplemented else result


def remember(arguments: Arguments, products: Products) -> None:
    """Serve calls like this one by these products from now on."""
    call_cache.keep(call_cache.CHAINS, _key(arguments), products)


def _apart(out: Array, found: Products, factors: tuple[Any, Any, Any], add: Array) -> bool:
    """Whether what is added may be written to ``out`` while it is not known what becomes of the call."""
    return (
        type(out) is np.ndarray
        and out.shape == found.shape
        and out.dtype is found.dtype
        and out.flags.writeable
        and not any(x is not None and np.may_share_memory(out, x) for x in factors)
        and (out is add or not np.may_share_memory(out, add))
    )


def _key(arguments: Arguments) -> Any:
    """How the arguments lie. Raises ``AttributeError`` for what is no array of NumPy."""
    a, b, c, add, out = arguments
    return (
        *("host", a.shape, a.strides, a.dtype.char, b.shape, b.strides),
        None if c is None else (c.shape, c.strides),
        None if add is None else (add.shape, add.strides, add.dtype.char),
        None if out is None else out.strides,
    )
