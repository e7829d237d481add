"""Calls made before on arrays of this process: the dictionaries that the public functions look into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.arrays.numpy_ import ALIGN_FROM, new_output
from tilewright.arrays.view import Array, Layout, aligned
from tilewright.runtime import call_cache
from tilewright.runtime.backend import Call, Function, Order
from tilewright.runtime.call_cache import FAST, GEMM, INTO, NEW

MATMUL = "matmul"
"""The tag of ``matmul``'s plain calls; those of others are words, too, and those of ``gemm`` its scalars, its
letters and words."""
ALIGNED = (True, True, True)
"""All arrays of a call, each element at a multiple of what its type wants."""


def remember(call: Call, function: Function) -> None:
    """Serve calls like this one by a builtin, where a public function looks for it."""
    a, b, result = call.arrays
    look = looks(a, b)
    if isinstance(call.tag, str):
        tag = under(call.tag)
        if call.out is None:
            made = scalar(function) if result.shape == () else function
            _keep_new(FAST, (*look, *tag), call, made)
        elif call.out is result:
            # The very array, so that the next call finds its strides by asking it.
            key = *look, result.strides, *tag
            call_cache.keep(INTO, key, by_alignment(INTO.get(key), function, call))
    elif call.out is result and not call.moved:
        key = *look, result.strides, *call.tag
        call_cache.keep(GEMM, key, by_alignment(GEMM.get(key), function, call))
    elif isinstance(result, np.ndarray) and result.flags.c_contiguous:
        # A result like those that are made, with a copy of c in it if there is one.
        _keep_new(NEW, (*look, *call.tag), call, function)


def _keep_new(entries: dict[Any, Any], key: Any, call: Call, function: Function) -> None:
    """Keep what serves calls that make their results, and what makes these."""
    result = call.arrays[2]
    before = entries.get(key)
    function = by_alignment(None if before is None else before[0], function, call)
    call_cache.keep(entries, key, (function, result.shape, result.dtype, maker(result)))


class ByAlignment:
    """What serves calls on arrays of one look, which does not say whether they are aligned: one way for each
    answer, for a copy that one call needs another must not make."""

    def __init__(self, ways: dict[tuple[bool, ...], Function]):
        self.ways = ways

    def __call__(self, a: Any, b: Any, out: Any) -> Any:
        way = self.ways.get((a.flags.aligned, b.flags.aligned, out.flags.aligned))
        return NotImplemented if way is None else way(a, b, out)


def by_alignment(before: Function | None, function: Function, call: Call) -> Function:
    """A function for calls like one, beside what serves those on arrays that are aligned otherwise."""
    lie = tuple(map(aligned, call.arrays))
    ways: dict[tuple[bool, ...], Function] = {} if before is None else {ALIGNED: before}
    ways = before.ways if isinstance(before, ByAlignment) else ways
    if lie == ALIGNED and ways.keys() <= {ALIGNED}:
        return function
    return ByAlignment({**ways, lie: function})


def under(tag: str) -> tuple[str, ...]:
    """What the keys of ``matmul``'s calls of a tag end in: those of plain ones are shortest."""
    return () if tag == MATMUL else (tag,)


def again(a: Layout, b: Layout, out: Layout | None) -> Any:
    """``matmul`` of arrays like those of a call that was remembered; NotImplemented where there was none."""
    if out is not None:
        function = INTO.get((*looks(a, b), out.strides))
        return NotImplemented if function is None else function(a, b, out)
    found = FAST.get(looks(a, b))
    if found is None:
        return NotImplemented
    function, shape, dtype, make = found
    return function(a, b, make(shape, dtype))


def gemm_again(tag: tuple[Any, ...], a: Any, b: Any, c: Any, out: Any) -> Any:
    """A call of ``gemm`` on an array of NumPy's like one before, which was remembered under ``tag``, its
    scalars first; else ``NotImplemented``."""
    try:
        look, added = (a.shape, a.strides, a.dtype.char, b.shape, b.strides), tag[1] != 0
        if out is not None:
            if added and c is not None and c is not out:
                return NotImplemented
            return (
                out if GEMM[(*look, out.strides, *tag)](a, b, out) is not NotImplemented else NotImplemented
            )
        function, shape, kind, make = NEW[(*look, *tag)]
        if added and not (type(c) is np.ndarray and c.shape == shape and c.dtype is kind):
            return NotImplemented
        made = make(shape, kind)
        if added:
            made[...] = c
        return made if function(a, b, made) is not NotImplemented else NotImplemented
    except (KeyError, AttributeError, TypeError):
        return NotImplemented


def known(call: Call) -> Function | None:
    """What serves a call of ``gemm`` into ``out`` like one that was remembered."""
    a, b, result = call.arrays
    found: Function | None = GEMM.get((*looks(a, b), result.strides, *call.tag))
    return found


def of_numpy(kind: np.dtype[Any], shape: tuple[int, ...]) -> Function:
    """What serves calls that NumPy's own product was planned for, on arrays of one of NumPy's types. That
    takes any layout and whatever overlaps, so the types, which live for ever, and the shape of the result,
    which no look has of ``out``, are all that is compared."""

    def call(a: Any, b: Any, out: Any) -> Any:
        if not (a.dtype is b.dtype is out.dtype is kind and type(b) is type(out) is np.ndarray):
            return NotImplemented
        return np.matmul(a, b, out) if out.shape == shape and out.flags.writeable else NotImplemented

    return call


def by_numpy(
    multiply: Callable[..., None],
    arrays: tuple[Layout, Layout, Layout],
    scalars: tuple[complex, complex],
    trans: tuple[str, str],
) -> Function:
    """The same for ``gemm`` on arrays with the shapes and the type of these: ``multiply`` is the backend's,
    which takes what is to be conjugated."""
    kind, shapes = arrays[2].dtype, tuple(array.shape for array in arrays)
    turned_a, turned_b = (letter != "n" for letter in trans)
    conj = tuple(letter == "c" and kind.kind == "c" for letter in trans)

    def call(a: Any, b: Any, out: Any) -> Any:
        if not (type(a) is type(b) is type(out) is np.ndarray and a.dtype is b.dtype is out.dtype is kind):
            return NotImplemented
        if (a.shape, b.shape, out.shape) != shapes or not out.flags.writeable:
            return NotImplemented
        left = a.swapaxes(-2, -1) if turned_a else a
        multiply(left, b.swapaxes(-2, -1) if turned_b else b, out, scalars, conj)
        return out

    return call


def by_copies(inner: Function, call: Call, checks: bool) -> Function:
    """What serves calls on arrays with the layouts of a call's, some of which are copied, or cast, first, as
    its ``held`` says; ``inner`` serves the copies, and what is taken as it is.

    ``checks``: ``inner`` looks at all that it gets, as builtins do; else the arguments are looked at here.
    """
    kind_a, kind_b, kind = (array.dtype for array in call.arrays)
    shape, reads = call.arrays[2].shape, call.scalars[1] != 0
    turned_a, turned_b = (letter != "n" for letter in call.trans)
    as_they_are: tuple[Order, Order, Order] = ("", "", "")
    order_a, order_b, order_out = as_they_are if call.held is None else call.held.orders
    layouts = [(array.shape, array.strides) for array in call.arrays]

    def serve(a: Any, b: Any, out: Any) -> Any:
        if not (type(a) is type(b) is type(out) is np.ndarray and out.shape == shape):
            return NotImplemented
        if not (a.dtype is kind_a and b.dtype is kind_b and out.dtype is kind):
            return NotImplemented
        if not checks and not (apart(a, b, out) and [(x.shape, x.strides) for x in (a, b, out)] == layouts):
            return NotImplemented
        if order_out and not out.flags.writeable:
            return NotImplemented
        left = a.swapaxes(-2, -1) if turned_a else a
        right = b.swapaxes(-2, -1) if turned_b else b
        left = left.astype(kind, order_a) if order_a else left
        right = right.astype(kind, order_b) if order_b else right
        result = out if not order_out else out.copy() if reads else np.empty(shape, kind)
        if inner(left, right, result) is NotImplemented:
            return NotImplemented
        if order_out:
            out[...] = result
        return out

    return serve


def apart(a: Array, b: Array, out: Array) -> bool:
    """Whether a result may be written where arguments are read, each element at a multiple of its size."""
    if not out.flags.writeable or np.may_share_memory(a, out) or np.may_share_memory(b, out):
        return False
    return bool(a.flags.aligned and b.flags.aligned and out.flags.aligned)


def looks(a: Layout, b: Layout) -> tuple[Any, ...]:
    """What the call cache goes by, written out again where every nanosecond counts."""
    return a.shape, a.strides, a.dtype.char, b.shape, b.strides


def maker(result: Layout) -> Callable[..., Array]:
    """What makes arrays like a result: small ones NumPy itself, large ones on cache lines for streaming."""
    return np.empty if result.nbytes < ALIGN_FROM else new_output


def scalar(function: Function) -> Function:
    """A builtin whose array without axes comes back as a number, as NumPy returns it."""

    def call(a: Any, b: Any, out: Any) -> Any:
        result = function(a, b, out)
        return result if result is NotImplemented else result[()]

    return call
