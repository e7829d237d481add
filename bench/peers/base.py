"""What every peer is: three small methods and a call, the same in each file and in the same order."""

from __future__ import annotations

from collections.abc import Callable

from bench.work import Operands


class Unavailable(Exception):
    """This peer cannot do what is asked; the message says why."""


class Peer:
    """A library that multiplies stacks of small matrices. It lives in a process of its own."""

    name: str
    run: Callable[[], object]
    """One pass over the batch, into ``operands.c``: what ``prepare`` leaves, or a method."""

    def available(self) -> str | None:
        """Why this peer cannot be used on this machine at all, or None if it can."""
        return None

    def version(self) -> str:
        """Version and, where the library tells, the kernels it has chosen for this processor."""
        raise NotImplementedError

    def prepare(self, operands: Operands) -> None:
        """Do everything that is not repeated in a pass: compile, dispatch, convert arguments.

        Raises ``Unavailable`` where the library has no such product.
        """
        raise NotImplementedError
