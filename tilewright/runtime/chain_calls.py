"""Chains computed before on arrays of a GPU: from the arguments to the launch in some ten microseconds.

As in ``device_calls`` a call is remembered under all that its kernel depends on: shapes, strides, types, the
GPU, lazy conjugation, how well the addresses are aligned, and which arguments begin at one address. What is
not there gives ``NotImplemented``, and the caller goes the slow path, which finds every error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.arrays.backend import looker
from tilewright.arrays.layout import WIDEST
from tilewright.arrays.library import Library
from tilewright.arrays.overlap import bounds
from tilewright.arrays.view import Layout, Looker
from tilewright.runtime import call_cache

Arguments = tuple[Any, Any, Any, Any, Any]
"""a, b, c, add and out of a call; None for those that there are not."""
Run = Callable[[Sequence[int], int], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a remembered chain needs: ``run`` for addresses and a stream, which argument each operand's
    address is, the result's shape and type, and ``current``, whether the GPU is the current one. ``spans``
    are the first byte and one past the last one that each argument reaches, from its address."""

    run: Run
    which: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    library: Library
    index: int
    current: Callable[[], bool]
    spans: tuple[tuple[int, int], ...]

    def clear(self, addresses: Sequence[int]) -> bool:
        """Whether out shares no byte with an argument that begins elsewhere."""
        at = addresses[-1]
        first, last = self.spans[-1]
        return all(
            address == at or at + first >= address + high or at + last <= address + low
            for address, (low, high) in zip(addresses, self.spans, strict=True)
        )


def again(arguments: Arguments) -> Any:
    """The result of a call that was remembered, else ``NotImplemented``."""
    try:
        looked = _key(arguments)
        found: Prepared | None = None if looked is None else call_cache.CHAINS.get(looked[1])
    except (TypeError, RuntimeError):
        return NotImplemented  # Not to be hashed, or without memory.
    if looked is None or found is None or not found.current():
        return NotImplemented
    addresses, out = looked[0], arguments[-1]
    if out is None:
        out = found.library.empty(found.shape, found.dtype, found.index)
        addresses[-1] = looked[2].address(out)
    elif not found.clear(addresses):
        return NotImplemented
    found.run([addresses[number] for number in found.which], found.library.stream(found.index))
    return out


def prepared(arguments: Arguments) -> Prepared | None:
    """What a call was remembered by; None where it was not."""
    try:
        looked = _key(arguments)
    except (TypeError, RuntimeError):
        return None
    return None if looked is None else call_cache.CHAINS.get(looked[1])


def remember(
    arguments: Arguments,
    arrays: Sequence[Layout | None],
    addresses: Sequence[int],
    run: Run,
    place: tuple[Library, int, Callable[[], bool]],
) -> None:
    """Do calls like this one the short way from now on.

    ``arrays`` are the arguments as arrays, the result among them, ``addresses`` those that the kernel was
    called with, and ``place`` the library, the GPU's number, and whether that is the current one.
    """
    kind = type(arguments[0])
    if kind not in call_cache.LOOKERS:
        found = looker(arguments[0])
        if found is None:
            return
        call_cache.LOOKERS[kind] = found
    # Whether gradients are recorded is no property of an array.
    if any(getattr(x, "requires_grad", False) for x in arguments):
        return
    try:
        looked = _key(arguments)
    except (TypeError, RuntimeError):
        return
    result = arrays[-1]
    if looked is None or result is None:
        return
    known = [*looked[0][:-1], addresses[-1]]
    if not set(addresses) <= set(known):
        return  # Something was copied first.
    spans = tuple((0, 0) if x is None else bounds(x) for x in arrays)
    which = (*(known.index(x) for x in addresses[:-1]), len(known) - 1)
    call_cache.keep(
        call_cache.CHAINS, looked[1], Prepared(run, which, result.shape, result.dtype, *place, spans)
    )


def _key(arguments: Arguments) -> tuple[list[int], Any, Looker] | None:
    """The addresses of the arguments, 0 for those that there are not, what a call goes by, and what looked;
    None where an argument is of another class than the first."""
    kind = type(arguments[0])
    found: Looker | None = call_cache.LOOKERS.get(kind)
    if found is None:
        return None
    looks: list[Any] = []
    addresses: list[int] = []
    lies = 0
    for value in arguments:
        if value is None:
            looks.append(None)
            addresses.append(0)
            continue
        look = found.look(value)
        if look is None:
            return None
        looks.append(look)
        addresses.append(found.address(value))
        lies |= addresses[-1]
    return addresses, (kind, *looks, lies % WIDEST, *map(addresses.index, addresses)), found
