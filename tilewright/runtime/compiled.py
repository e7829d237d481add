"""Compiled programs as functions of Python: loaded from the disk or made, and called by CPython's fast
calling convention (``METH_FASTCALL``) with a *context* for ``self``, a bytes object of 64-bit words."""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import sysconfig
from collections.abc import Callable, Mapping
from typing import Any

from tilewright.model import Device, Kernel, Source
from tilewright.store import binaries
from tilewright.targets.cpu import llvm

BYTES_HEAD = bytes.__basicsize__ - 1
"""Bytes of a bytes object in front of what it holds."""


class MethodDef(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METH_FASTCALL = 0x0080
_make_builtin = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def method(entry: int, name: str = "tilewright") -> MethodDef:
    """What makes builtins of a name of a compiled entry ``ptr entry(ptr self, ptr arguments, i64 count)``."""
    return MethodDef(name.encode(), entry, _METH_FASTCALL, None)


def builtin(made_of: MethodDef, context: bytes, keep: object) -> Callable[..., Any]:
    """A builtin function whose ``self`` is a context. It holds ``made_of`` and ``keep`` while it lives."""
    # CPython asks nothing of the module of a builtin but to hold it, and its garbage collector looks in.
    function: Callable[..., Any] = _make_builtin(ctypes.addressof(made_of), context, (made_of, keep))
    return function


def rebuilt(function: Any, context: bytes) -> Callable[..., Any]:
    """A builtin of the same entry as one that ``builtin`` made, over another context. It holds the same."""
    made_of, keep = function.__module__
    return builtin(made_of, context, keep)


def context_at(context: bytes) -> int:
    """Where the words of a context lie, for as long as it lives."""
    return id(context) + BYTES_HEAD


def address_of(function: Any) -> int:
    """Where a function of ``ctypes`` lies."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def ordinary() -> bool:
    """Whether Python and the system call compiled code as the programs of this package are written."""
    return (
        sys.implementation.name == "cpython"
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and sys.byteorder == "little"
        and os.name == "posix"
    )


def load(
    text: str, entries: tuple[str, ...], device: Device, imports: Mapping[str, int] | None = None
) -> tuple[Kernel, dict[str, int]]:
    """A program in memory, from the disk or compiled and put there, and the address of each entry.
    ``imports``: where names lie that it refers to.

    Raises ``CompileError`` when LLVM refuses it.
    """
    source = Source(text, entries[0])
    name = hashlib.sha256(f"{source.digest} {device.features} {llvm.toolchain()}".encode()).hexdigest()[:32]
    return binaries.loaded(
        name, lambda binary: llvm.load_entries(binary, entries, imports), lambda: llvm.compile(source, device)
    )
