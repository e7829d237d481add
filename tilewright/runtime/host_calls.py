"""Calls made before on arrays of this process: the dictionaries that the public functions look into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.arrays.numpy_ import ALIGN_FROM, new_output
from tilewright.arrays.view import Array, Layout
from tilewright.runtime import call_cache
from tilewright.runtime.backend import Call, Function
from tilewright.runtime.call_cache import FAST, GEMM, INTO

MATMUL = "matmul"
"""The tag of ``matmul``'s calls; those of ``gemm`` are its scalars and letters."""


def remember(call: Call, function: Function) -> None:
    """Serve calls like this one by a builtin, where a public function looks for it."""
    a, b, result = call.arrays
    if call.out is None and call.tag == MATMUL:
        made = scalar(function) if result.shape == () else function
        call_cache.keep(FAST, looks(a, b), (made, result.shape, result.dtype, maker(result)))
    elif call.out is result and not call.moved:
        # The very array, so that the next call finds its strides by asking it.
        entries, tag = (INTO, ()) if call.tag == MATMUL else (GEMM, call.tag)
        call_cache.keep(entries, (*looks(a, b), result.strides, *tag), function)


def of_numpy(kind: np.dtype[Any]) -> Function:
    """What serves calls that NumPy's own product was planned for, on arrays of one of NumPy's types. That
    takes any layout and whatever overlaps, so the types, which live for ever, are all that is compared."""

    def call(a: Any, b: Any, out: Any) -> Any:
        if not (a.dtype is b.dtype is out.dtype is kind and type(b) is type(out) is np.ndarray):
            return NotImplemented
        return np.matmul(a, b, out) if out.flags.writeable else NotImplemented

    return call


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
