"""The call cache: all that a call may be served from, with one bound and one ``clear``.

A plan follows from the records, so all that was made of plans has to go when records change: whatever a
module keeps of calls is a dictionary of this module, a function that it hands to ``adopt``, or an object
that it hands to ``watch``. Dictionaries are emptied and never replaced, for the fast paths import them by
name: a look-up costs what a look-up in a module's own dictionary costs, and no generation is compared.

Loaded kernels, what a device is and what a stencil thinks of a config do not follow from records; the
modules that found them out keep them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

from tilewright.planning import dispatch

MOST = 4096
"""Entries of a dictionary before all of them are forgotten: keys may go on changing for ever."""

FAST: dict[Any, Any] = {}
"""Functions for ``matmul`` without ``out``, by shapes and strides of the arguments and the first one's type.
Each compares everything else, so that a hit that does not fit falls through to the slow path."""

INTO: dict[Any, Any] = {}
"""The same for ``matmul`` with ``out``."""

ALONG: dict[Any, Any] = {}
"""The same for ``matmul`` with ``axes``, without and with ``out``, by the axes, too, as they were given, and
by the tag of the call."""

GEMM: dict[Any, Any] = {}
"""The same for ``gemm`` into ``out``."""

NEW: dict[Any, Any] = {}
"""The same for ``gemm`` without ``out``; beside each what makes its result."""

BOUND: dict[Any, Any] = {}
"""Plans with their bound kernels, by the memory that the arrays are in, job, scalars and what is forced."""

PLANS: dict[Any, Any] = {}
"""Plans, by the memory that the arrays are in, job and what is forced: scalars have no say in them."""

LISTS: dict[Any, Any] = {}
"""Lists of small arrays of this process, and what serves each of their products, by the form of the call, its
scalars, how many there are, and how the first ones lie."""

POINTERS: dict[Any, Any] = {}
"""Bound kernels over arrays of addresses, by the memory that the arrays are in, job and scalars; and whole
calls on ``Pointers``, by which objects they are, scalars and transpositions."""

CHAINS: dict[Any, Any] = {}
"""Remembered chains: on a GPU by all that their kernels depend on, in this process by how arrays lie."""

CONTRACTIONS: dict[Any, Any] = {}
"""Remembered contractions, by equation and all that their steps depend on."""

PAIRS: dict[Any, Any] = {}
"""Functions for contractions of two arrays of this process that are one product where they lie, by equation,
path, shapes and strides of the arguments and the first one's type. Each compares everything else."""

LOOKERS: dict[type, Any] = {}
"""What tells arrays of the classes apart that ``CHAINS`` and ``CONTRACTIONS`` are on."""

DEVICE: dict[type, Any] = {}
"""The remembered calls of each library of arrays on a GPU, by the class of the first argument."""


class Holder(Protocol):
    """What keeps calls in attributes of its own: a plan in a user's hands, say."""

    def drop(self) -> None:
        """Forget them; the next use finds them out again."""


_DICTIONARIES: tuple[dict[Any, Any], ...] = (
    *(FAST, INTO, ALONG, GEMM, NEW, BOUND, PLANS, LISTS, POINTERS),
    *(CHAINS, CONTRACTIONS, PAIRS, LOOKERS, DEVICE),
)
_functions: list[Callable[..., Any]] = [*dispatch.CACHED]
_holders: dict[int, weakref.ref[Any]] = {}


def keep(entries: dict[Any, Any], key: Any, value: Any) -> None:
    """Put an entry into a dictionary, which is emptied first when it is full."""
    if len(entries) >= MOST:
        entries.clear()
    entries[key] = value


def adopt(*functions: Callable[..., Any]) -> None:
    """Let ``clear`` empty the caches of functions, which ``functools.cache`` or ``lru_cache`` made."""
    _functions.extend(functions)


def watch(holder: Holder) -> None:
    """Let ``clear`` call ``drop`` of an object for as long as it lives."""
    number = id(holder)
    _holders[number] = weakref.ref(holder, lambda _: _holders.pop(number, None))


def adopted() -> tuple[Callable[..., Any], ...]:
    """The functions whose caches ``clear`` empties."""
    return tuple(_functions)


def clear() -> None:
    """Forget every call, so that the next one of each kind is planned by the records as they then are."""
    # What plans are made from goes first: a call of another thread then finds no old plan to keep.
    for function in _functions:
        function.cache_clear()  # type: ignore[attr-defined]  # see ``adopt``
    for entries in _DICTIONARIES:
        entries.clear()
    # Other threads may make holders meanwhile, and the collector may take some.
    for reference in list(_holders.values()):
        holder = reference()
        if holder is not None:
            holder.drop()
