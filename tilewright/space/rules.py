"""Parameters of a space, and the named rules that every config must meet.

A rule belongs to one of five kinds. The first four are the taxonomy of Kurzak, Tomov and Dongarra,
"Autotuning GEMM kernels for the Fermi GPU" (2012), section 6.4; the last is its performance floor:

==========  =====================================================================
queryable   a hardware limit that the device itself reports
tabled      a hardware limit that follows from the model of the device
hard        the code would be wrong
soft        the code would be slow
guideline   a floor set by the user: occupancy, blocks in flight, register reuse
==========  =====================================================================

A rule's test is a function whose argument names are parameter names. It runs as soon as the last of
them has a value (a parameter with one value has it from the start), so a whole branch of the space
goes at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.errors import ArgumentError
from tilewright.model import Config

KINDS = ("queryable", "tabled", "hard", "soft", "guideline")
HARDWARE = ("queryable", "tabled", "hard")


@dataclass(frozen=True, slots=True)
class Param:
    """A name and the values it may take, in the order in which they are tried.

    ``absent`` is what a config means that does not name the parameter, because it was recorded before
    there was one; None where every config must name it.
    """

    name: str
    values: tuple[Any, ...]
    absent: Any = None


def completed(params: Sequence[Param], config: Mapping[str, Any]) -> Config:
    """A config with what it leaves out as it was before there was a choice."""
    absent = {q.name: q.absent for q in params if q.absent is not None and q.name not in config}
    return Config({**config, **absent})


@dataclass(frozen=True)
class Rule:
    """A condition that every config must meet, its kind, and the reason in one line."""

    name: str
    kind: str
    why: str
    test: Callable[..., bool]
    reads: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ArgumentError(f"kind={self.kind!r} of rule {self.name!r}; accepted: {', '.join(KINDS)}")
        object.__setattr__(self, "reads", arguments(self.test))


def arguments(test: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's arguments: those that it names itself as its ``reads``, those of a plain one
    as it is compiled, for a space has dozens of tests, and their signatures take longer than all that is
    asked of them."""
    own = getattr(test, "reads", None)
    if own is not None:
        return tuple(own)
    code = getattr(test, "__code__", None)
    if code is None or test.__dict__ or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return tuple(inspect.signature(test).parameters)
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def same(value: Any, other: Any) -> bool:
    """Whether two values of a parameter are one."""
    # True and 1.0 are equal to 1, and are no count of anything.
    return type(value) is type(other) and bool(value == other)
