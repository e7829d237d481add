"""Kernels in Python in the place of PyTorch's: what compiled entries cannot be, or where none can be had.

Each asks a ``Server`` for the result of a call and goes on to the kernel that PyTorch had there before where
that has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch

LONGEST = 64
"""The longest of the two short extents of a product alone that is looked at."""
PLAIN = (1, 0)
"""Alpha and beta where a call has none."""
REAL = (int, float)
"""Types of scalars that compiled entries take."""


class Server(Protocol):
    """Who decides on a call, and counts those that nobody looks at. ``added``: ``baddbmm`` as a compiled
    entry by kind of device, None where there is none."""

    small: int
    other: int
    added: dict[str, Any]

    def serve(self, tag: Any, a: Any, b: Any, out: Any, c: Any) -> Any:
        """alpha a b + beta c for a ``tag`` (alpha, beta): in ``out``, which is c then, else in a new tensor
        by rows. ``NotImplemented`` where PyTorch's kernel is to run; then nothing was written."""


def _new(server: Server, before: Any, keys: Any, small: int) -> Callable[[Any, Any], Any]:
    """``bmm``."""

    def kernel(a: Any, b: Any) -> Any:
        if small and a.numel() + b.numel() <= small:
            server.small += 1
            return before(keys, a, b)
        found = server.serve(PLAIN, a, b, None, None)
        return before(keys, a, b) if found is NotImplemented else found

    return kernel


def _alone(server: Server, before: Any, keys: Any, small: int) -> Callable[[Any, Any], Any]:
    """``mm``: only what is long in one direction at most is looked at."""

    def kernel(a: Any, b: Any) -> Any:
        m, k = a.shape
        n = b.shape[1]
        if (m > LONGEST) + (n > LONGEST) + (k > LONGEST) > 1 or (small and m * k + k * n <= small):
            server.other += 1
            return before(keys, a, b)
        found = server.serve(PLAIN, a, b, None, None)
        return before(keys, a, b) if found is NotImplemented else found

    return kernel


def _into(server: Server, before: Any, keys: Any, small: int) -> Callable[..., Any]:
    """``bmm.out``."""

    def kernel(a: Any, b: Any, *, out: Any) -> Any:
        if (small and a.numel() + b.numel() <= small) or not fits(out, a, b):
            server.small += 1
            return before(keys, a, b, out=out)
        found = server.serve(PLAIN, a, b, out, None)
        return before(keys, a, b, out=out) if found is NotImplemented else found

    return kernel


def _added(server: Server, before: Any, keys: Any, small: int) -> Callable[..., Any]:
    """``baddbmm``."""
    added = server.added["CUDA" if keys.has(torch._C.DispatchKey.CUDA) else "CPU"]

    def kernel(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        if small and a.numel() + b.numel() <= small:
            server.small += 1
            return before(keys, c, a, b, beta=beta, alpha=alpha)
        if added is not None and type(beta) in REAL and type(alpha) in REAL:
            made = added(c, a, b, float(beta), float(alpha))
            return before(keys, c, a, b, beta=beta, alpha=alpha) if made is a else made
        found: Any = NotImplemented
        if c.dtype is a.dtype and c.device == a.device:
            found = server.serve((alpha, beta), a, b, None, None if beta == 0 else c)
        return before(keys, c, a, b, beta=beta, alpha=alpha) if found is NotImplemented else found

    return kernel


def _updated(server: Server, before: Any, keys: Any, small: int) -> Callable[..., Any]:
    """``baddbmm_``."""

    def kernel(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        found: Any = NotImplemented
        if (small and a.numel() + b.numel() <= small) or not fits(c, a, b):
            server.small += 1
        else:
            found = server.serve((alpha, beta), a, b, c, None)
        return before(keys, c, a, b, beta=beta, alpha=alpha) if found is NotImplemented else found

    return kernel


def _added_into(server: Server, before: Any, keys: Any, small: int) -> Callable[..., Any]:
    """``baddbmm.out``."""

    def kernel(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1, out: Any) -> Any:
        found: Any = NotImplemented
        if (small and a.numel() + b.numel() <= small) or not fits(out, a, b):
            server.small += 1
        elif c is out or beta == 0:
            found = server.serve((alpha, beta), a, b, out, None)
        if found is NotImplemented:
            return before(keys, c, a, b, beta=beta, alpha=alpha, out=out)
        return found

    return kernel


def fits(out: Any, a: Any, b: Any) -> bool:
    """Whether ``out`` is what a result is written to as it is: PyTorch resizes, and refuses, what is not."""
    return bool(out.shape == (*a.shape[:-1], b.shape[-1]) and out.dtype is a.dtype and out.device == a.device)


KERNELS: dict[str, Callable[[Server, Any, Any, int], Callable[..., Any]]] = {
    "bmm": _new,
    "bmm.out": _into,
    "mm": _alone,
    "baddbmm": _added,
    "baddbmm_": _updated,
    "baddbmm.out": _added_into,
}
