"""From a Python call to a running kernel in well under a microsecond: one small program, compiled once, whose
text is in ``multiplying``.

A *context* is a bytes object that holds, as 64-bit words, all that a call needs: the kernel, its
strides and scalars, the batch axes that take a launch at each place, and the exact shapes and strides of the
arrays it was planned for. The compiled
entry is a C function of CPython's fast calling convention (``METH_FASTCALL``) whose ``self`` is the
context: it compares the arrays of the call with the plan, word by word, and runs the kernel on
their data, on one core or on a team of OpenMP threads. Every thread of a team has a share of the
batch, always the same one, so that memory stays where it was first touched; who is done early takes
pieces of the shares of others. Whatever is not exactly as planned gives
``NotImplemented`` back, and the caller takes the slow path in Python.

It reads array objects by the field offsets that NumPy's C interface has kept fixed since 1.7
(``PyArrayObject_fields``). ``Native.trusted`` compares these offsets with what NumPy says of a real
array before the first use; where they differ (a free-threaded build, say) the slow path is the
only one.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from tilewright.arrays import view
from tilewright.model import Device, Kernel
from tilewright.runtime import multiplying_lists
from tilewright.runtime.compiled import (
    MethodDef,
    address_of,
    builtin,
    context_at,
    load,
    method,
    ordinary,
    rebuilt,
)
from tilewright.runtime.multiplying import (
    ALIGNED,
    ARRAY_WORDS,
    AT,
    AXES_AT,
    DATA,
    DESCR,
    FLAGS,
    RANK,
    RANK_MAX,
    SHAPE,
    STRIDES,
    TEXT,
    WORDS,
    WRITEABLE,
)
from tilewright.runtime.team import ALLOWED, clock, find_team

METHOD, LISTED = "call", "products"
"""The names of builtins that serve a call on arrays, and a call on lists of them."""


def raw(function: Callable[..., Any], threads: int) -> tuple[int, bytes] | None:
    """For compiled callers: the address of ``Native.raw`` behind a builtin of ``Native.function``, and a
    context of its call on no more than ``threads`` threads; None for any other function. The context has to
    be kept, and its kernel is there as long as the builtin is."""
    found = _context_of(function)
    if found is None:
        return None
    context = bytearray(found)
    place = 8 * AT["threads"]
    (most,) = struct.unpack_from("<q", context, place)
    struct.pack_into("<q", context, place, min(most, threads))
    return next(iter(_natives.values())).raw, bytes(context)


def relaid(
    function: Callable[..., Any], arrays: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]
) -> Callable[[Any, Any, Any], Any] | None:
    """A builtin like one of ``Native.function`` for arrays that lie otherwise, its first ones or all of them:
    the same elements from the same first one, in these shapes and byte strides, as before a transposition.
    None for any other function, and for arrays of more axes than a context has room for."""
    context = _context_of(function)
    if context is None or any(len(shape) > RANK_MAX for shape, _ in arrays):
        return None
    rest = len(WORDS) + len(arrays) * ARRAY_WORDS
    return rebuilt(function, context[: 8 * len(WORDS)] + _laid(arrays) + context[8 * rest :])


def together(
    functions: Sequence[Callable[..., Any]], given: bool, release: bool
) -> Callable[..., Any] | None:
    """A builtin for products one after the other that builtins of ``Native.function`` serve: its arguments
    are all first operands, all second ones and all results. Before it writes anything it sees that each
    product is as planned, else it gives ``NotImplemented``; ``given``: and that the results are apart from
    all other arrays. ``release``: other threads of Python may run meanwhile. None where another function is
    among them."""
    contexts = [_context_of(function) for function in functions]
    if not contexts or None in contexts:
        return None
    found = next(iter(_natives.values()))
    words = {**dict.fromkeys(multiplying_lists.WORDS, 0), **_only(found.common, multiplying_lists.WORDS)}
    words |= {"products": len(contexts), "given": int(given), "release": int(release)}
    values = [*words.values(), *(context_at(context) for context in contexts if context is not None)]
    context = struct.pack(f"<{len(values)}q", *values)
    return builtin(found.listed, context, tuple(functions))


def _only(words: dict[str, int], names: Sequence[str]) -> dict[str, int]:
    return {name: value for name, value in words.items() if name in names}


def _context_of(function: Any) -> bytes | None:
    """The context of a builtin of ``Native.function``; None for any other function."""
    if getattr(function, "__name__", "") != METHOD or not isinstance(function, BuiltinFunctionType):
        return None
    context: bytes = function.__self__  # type: ignore[assignment]  # a builtin's context
    return context


def _laid(arrays: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> bytes:
    """The part of a context that says how arrays lie."""
    flat: list[int] = []
    for shape, steps in arrays:
        pad = (0,) * (RANK_MAX - len(shape))
        flat += [len(shape), *shape, *pad, *steps, *pad]
    return struct.pack(f"<{len(flat)}q", *flat)


@dataclass(frozen=True)
class Native:
    """The compiled program and the addresses that every context holds.

    ``raw`` is the address of a function of C, for compiled callers: of a context, three addresses and a word
    that it does not read; it runs the kernel, compares nothing and returns 0.
    """

    program: Kernel
    call: int
    raw: int
    run: Callable[..., None]
    common: dict[str, int]
    trusted: bool
    method: MethodDef
    listed: MethodDef

    def context(
        self,
        words: dict[str, int],
        scalars: bytes,
        outer: Sequence[tuple[int, int, int, int]] = (),
        arrays: Sequence[tuple[tuple[int, ...], tuple[int, ...]]] = (),
    ) -> bytes:
        """The bytes of a context. ``outer``: extents of batch axes beside the kernel's and their byte strides
        in its A, B and C, the slowest first. ``arrays``: shape and byte strides of the two operands and the
        result."""
        values = {**dict.fromkeys(WORDS, 0), **self.common, **words, "outer": len(outer)}
        values |= {f"scalar{i}": v for i, v in enumerate(struct.unpack("<4q", scalars.ljust(32, b"\0")))}
        head = struct.pack(f"<{len(WORDS)}q", *(values[name] for name in WORDS)) + _laid(arrays)
        return head.ljust(8 * AXES_AT, b"\0") + b"".join(struct.pack("<4q", *axis) for axis in outer)

    def function(self, context: bytes, kernel: Kernel) -> Callable[[Any, Any, Any], Any]:
        """A builtin ``f(a, b, out)``: out where the arrays are as planned, else ``NotImplemented``.

        It holds the kernel that its context names by address.
        """
        return builtin(self.method, context, (self.program, kernel))


_natives: dict[Device, Native] = {}


def native(device: Device) -> Native:
    """The program for this machine: from the disk, or compiled once (about 30 ms)."""
    found = _natives.get(device)
    # Of two threads that come here first, both must get the same one: builtins point into it.
    return found or _natives.setdefault(device, _make(device))


def _make(device: Device) -> Native:
    text = TEXT + multiplying_lists.TEXT
    program, addresses = load(text, (METHOD, "run", "raw", LISTED), device)
    team = find_team()
    api = ctypes.pythonapi
    common = {
        "array_type": id(np.ndarray),
        "not_implemented": id(NotImplemented),
        "save_thread": address_of(api.PyEval_SaveThread),
        "restore_thread": address_of(api.PyEval_RestoreThread),
        "incref": address_of(api.Py_IncRef),
        "parallel": team.parallel if team else 0,
        "thread_num": team.thread_num if team else 0,
        "num_threads": team.num_threads if team else 0,
        "teams_allowed": ctypes.addressof(ALLOWED),
        "clock": clock() if sys.platform.startswith("linux") else 0,
    }
    run = ctypes.CFUNCTYPE(None, ctypes.c_char_p, *[ctypes.c_void_p] * 3)(addresses["run"])
    return Native(
        program,
        addresses[METHOD],
        addresses["raw"],
        run,
        common,
        _trusted(),
        method(addresses[METHOD], METHOD),
        method(addresses[LISTED], LISTED),
    )


@cache
def reader() -> Callable[[Any], int]:
    """What reads where the first element of one of NumPy's arrays lies: in a fraction of the time in which
    NumPy says it, where array objects look as they are believed to."""
    read = ctypes.c_size_t.from_address
    return (lambda array: read(id(array) + DATA).value) if _trusted() else view.address_of


def _trusted() -> bool:
    """Whether array objects look as the program believes they do."""
    if not ordinary():
        return False
    probe = np.arange(24.0).reshape(2, 3, 4)[:, ::-1]
    raw = id(probe)

    def read(offset: int, kind: Any) -> int:
        return int(kind.from_address(raw + offset).value or 0)

    shape, strides = read(SHAPE, ctypes.c_void_p), read(STRIDES, ctypes.c_void_p)
    words = ctypes.c_longlong * 3
    frozen = probe.view()
    frozen.flags.writeable = False
    flags = ctypes.c_int.from_address(id(frozen) + FLAGS).value
    return (
        read(8, ctypes.c_void_p) == id(np.ndarray)
        and read(DATA, ctypes.c_void_p) == probe.__array_interface__["data"][0]
        and read(RANK, ctypes.c_int) == 3
        and tuple(words.from_address(shape)) == probe.shape
        and tuple(words.from_address(strides)) == probe.strides
        and read(DESCR, ctypes.c_void_p) == id(probe.dtype)
        and read(FLAGS, ctypes.c_int) & (ALIGNED | WRITEABLE) == ALIGNED | WRITEABLE
        and flags & (ALIGNED | WRITEABLE) == ALIGNED
    )
