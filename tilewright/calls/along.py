"""The keyword ``axes``, with the meaning that it has for NumPy's ufuncs: which axes hold the matrices.

Arrays are turned so that their matrices come last, multiplied, and the result is turned back. Only strides
change: no element is moved. A call like an earlier one turns nothing: what serves the turned arrays knows as
well how they lay before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from tilewright.errors import ArgumentError
from tilewright.runtime.backend import Function
from tilewright.runtime.call_cache import ALONG, FAST, INTO, keep
from tilewright.runtime.fastcall_cpu import relaid
from tilewright.runtime.host_calls import looks, under

Axes = tuple[tuple[int, ...], ...]
MEANING = "a list of three tuples, the matrix axes of a, of b and of the result: two, or one of a vector"


def along(
    axes: Any,
    multiply: Callable[[Any, Any, Any], Any],
    a: Any,
    b: Any,
    out: Any,
    *,
    pairs: bool = False,
    tag: str | None = None,
) -> Any:
    """``multiply(a, b, out)`` of arrays whose matrices lie along ``axes``.

    ``axes`` is a list of one tuple for a, b and the result, of two axes, or of one for a vector (an integer
    will do). ``pairs``: the last axis of arrays holds real and imaginary parts, and is not counted.
    ``tag``: what ``matmul`` remembers such calls under without ``axes``, so that ``along_again`` is to serve
    them; None: nothing. ``out`` is returned where it is given.

    Raises ``ArgumentError`` for what is no such list, and for axes that an array does not have, twice.
    """
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if type(axes) is list:
        axes = [*axes]  # Another thread may change the caller's.
    a, b = (x if hasattr(x, "ndim") else np.asarray(x) for x in (a, b))
    ranks = a.ndim - pairs, b.ndim - pairs
    orders = _orders(axes, ranks, pairs)
    one, two, three = orders
    left, right = _moved(a, one), _moved(b, two)
    if out is not None:
        if not hasattr(out, "ndim"):
            raise ArgumentError(f"out of type {type(out).__name__}; accepted: an array")
        order = _last(out.ndim - pairs, three, "out", pairs)
        into = _moved(out, order)
        multiply(left, right, into)
        if tag is not None:
            _remember_into(axes, tag, orders, (a, b, out), (left, right, into), order)
        return out
    result = multiply(left, right, None)
    back = _inverse(_last(result.ndim - pairs, three, "the result", pairs)) if three else None
    if tag is not None:
        _remember_new(axes, tag, orders, (a, b), (left, right), back)
    return result if back is None else _moved(result, back)


def along_again(axes: Any, a: Any, b: Any, out: Any, tag: str) -> Any:
    """A call of a tag on an array of NumPy's like one before; else ``NotImplemented``."""
    if type(axes) is not list:
        return NotImplemented
    try:
        one, two, three = axes
        if out is None:
            known, function, shape, dtype, make, back = ALONG[
                a.shape, a.strides, a.dtype.char, b.shape, b.strides, one, two, three, tag
            ]
        else:
            known, function = ALONG[
                a.shape, a.strides, a.dtype.char, b.shape, b.strides, out.strides, one, two, three, tag
            ]
        first, second, third = known
        same = one is first and two is second and three is third
        # Other tuples that are equal may hold what is no axis, such as 1.0, and so is their sum then.
        if not same and type(sum((*one, *two, *three))) is not int:
            return NotImplemented
        if out is not None:
            return NotImplemented if function(a, b, out) is NotImplemented else out
        result = function(a, b, make(shape, dtype))
        return result if back is None or result is NotImplemented else result.transpose(back)
    except (KeyError, AttributeError, TypeError, ValueError):
        return NotImplemented


def _remember_into(
    axes: list[Any],
    tag: str,
    orders: Axes,
    given: tuple[Any, Any, Any],
    turned: tuple[Any, Any, Any],
    order: tuple[int, ...],
) -> None:
    """Serve calls into ``out`` like one that ran as what serves calls on the ``turned`` arrays."""
    if not (_lasting(axes) and all(type(x) is np.ndarray for x in given)):
        return
    (a, b, out), (left, right, into) = given, turned
    key = (*looks(a, b), out.strides, *axes, tag)
    function = INTO.get((*looks(left, right), into.strides, *under(tag)))
    if function is not None and key not in ALONG:
        call = relaid(function, [(x.shape, x.strides) for x in given]) or _turning(function, orders, order)
        keep(ALONG, key, (tuple(axes), call))


def _remember_new(
    axes: list[Any],
    tag: str,
    orders: Axes,
    given: tuple[Any, Any],
    turned: tuple[Any, Any],
    back: tuple[int, ...] | None,
) -> None:
    """The same for calls that make their results, which are turned ``back`` (None: not at all)."""
    if not (_lasting(axes) and all(type(x) is np.ndarray for x in given)):
        return
    key, found = (*looks(*given), *axes, tag), FAST.get((*looks(*turned), *under(tag)))
    if found is not None and key not in ALONG:
        function, *making = found
        call = relaid(function, [(x.shape, x.strides) for x in given]) or _turning(function, orders, None)
        keep(ALONG, key, (tuple(axes), call, *making, back))


def _lasting(axes: list[Any]) -> bool:
    """Whether axes can be looked up, and mean the same for ever: a list of numbers, alone or in tuples."""
    numbers = [x for entry in axes for x in (entry if type(entry) is tuple else (entry,))]
    return type(axes) is list and all(type(x) is int for x in numbers)


def _turning(function: Function, orders: Axes, order: tuple[int, ...] | None) -> Function:
    """A function that is no builtin, on arrays before they are turned; None: a new result is not."""
    one, two, _ = orders

    def call(a: Any, b: Any, out: Any) -> Any:
        into = out if order is None else out.transpose(order)
        return function(a.transpose(one), b.transpose(two), into)

    return call


def _orders(axes: Any, ranks: tuple[int, int], pairs: bool) -> Axes:
    """The orders of the axes of a and of b, and which axes of the result hold its matrices."""
    if type(axes) is list and len(axes) == 3:
        one, two, three = axes
        if type(one) is type(two) is type(three) is tuple:
            try:
                return _known(pairs, *ranks, len(one), len(two), *one, *two, *three)
            except TypeError:
                pass  # What cannot be looked up is no axis, and is told so below.
    return _checked(axes, ranks, pairs)


@lru_cache(maxsize=1024, typed=True)
def _known(pairs: bool, rank_a: int, rank_b: int, first: int, second: int, *axes: Any) -> Axes:
    """``_checked`` of axes in one row, which is looked up in a fraction of the time. Axes of other types,
    such as 1.0, have places of their own."""
    entries = [axes[:first], axes[first : first + second], axes[first + second :]]
    return _checked(entries, (rank_a, rank_b), pairs)


def _checked(axes: Any, ranks: tuple[int, int], pairs: bool) -> Axes:
    """``_orders``, by looking at everything."""
    cores = [min(rank, 2) for rank in ranks]
    if min(cores) < 1:
        raise ArgumentError(f"a and b have {ranks[0]} and {ranks[1]} axes; accepted: one or more")
    cores.append(sum(cores) - 2)
    if not isinstance(axes, list) or len(axes) != 3:
        raise ArgumentError(f"axes={axes!r}; accepted: {MEANING}")
    one, two, three = (_entry(axes, at, count) for at, count in enumerate(cores))
    return _last(ranks[0], one, "a", pairs), _last(ranks[1], two, "b", pairs), three


def _entry(axes: list[Any], at: int, count: int) -> tuple[int, ...]:
    """The axes of one array, of which there are to be so many, as a tuple."""
    entry = axes[at]
    try:
        found = tuple(map(index, entry)) if isinstance(entry, tuple) else (index(entry),)
    except TypeError:
        found = None
    if found is None:
        raise ArgumentError(f"axes[{at}]={entry!r} has what is no whole number; accepted: {MEANING}")
    if len(found) != count:
        raise ArgumentError(f"axes[{at}]={entry!r} for {count} matrix axes; accepted: {MEANING}")
    return found


def _last(rank: int, axes: tuple[int, ...], name: str, pairs: bool) -> tuple[int, ...]:
    """The order of an array's axes that has some last, and the parts of pairs after them."""
    for axis in axes:
        if not -rank <= axis < rank:
            raise ArgumentError(
                f"axes has axis {axis} of {name}, which has {rank}; accepted: {-rank}..{rank - 1}"
            )
    return _order(rank, axes, name, pairs)


@lru_cache(maxsize=1024)
def _order(rank: int, axes: tuple[int, ...], name: str, pairs: bool) -> tuple[int, ...]:
    chosen = [axis % rank for axis in axes]
    if len(set(chosen)) < len(chosen):
        raise ArgumentError(f"axes has axis {axes[0]} of {name} twice; accepted: different axes")
    rest = [axis for axis in range(rank) if axis not in chosen]
    return (*rest, *chosen, *([rank] if pairs else []))


@lru_cache(maxsize=1024)
def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def _moved(array: Any, order: Sequence[int]) -> Any:
    """The same memory with its axes in another order, by the array's own library."""
    if type(array) is np.ndarray:  # Asking it for what it lacks takes longer than to turn it.
        return array.transpose(order)
    if hasattr(array, "permute"):
        return array.permute(order)  # PyTorch's word for it
    if hasattr(array, "__array_namespace__") and not hasattr(array, "__array_interface__"):
        return array.__array_namespace__().permute_dims(array, tuple(order))
    return array.transpose(order)
