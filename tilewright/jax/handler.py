"""The functions that XLA calls: one for processors and one for GPUs, compiled once, without Python in a call.

XLA calls a handler with a *frame*: the addresses of the operands and of the result, the attributes of the
call and functions to ask for more (``frames``). Ours has two attributes: ``call``, which says as text what is
to be computed, and ``key``, a number made of that text. The handler looks the key up in a table, finds the
*plan* (``plans``), which holds a bound kernel, and runs that on the addresses. On a GPU it launches on the
stream that XLA gives, and waits for nothing, so that calls can be recorded into command buffers, and says so
when it is asked. A kernel's workspace is a second result of the call, for which XLA plans memory as for any
other: what it gives on request the handler has to give back, and a command buffer would go on writing there.

A key that is not in the table was lowered by another process (a program that was exported, or taken
from a cache of compiled ones), or is wanted on another GPU than it was lowered on: then ``missing``, in
Python, makes the plan, once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import jax

from tilewright.errors import UnsupportedError
from tilewright.jax.program import ENTRIES, TEXT
from tilewright.jax.table import Planned, Table, key_of
from tilewright.runtime import compiled
from tilewright.targets.cpu import processor

TARGETS = {"cpu": "tilewright_cpu", "cuda": "tilewright_cuda"}
"""The names of the handlers in compiled programs, by kind of device."""
PLATFORMS = {"cpu": "cpu", "cuda": "CUDA"}

Make = Callable[[str, int], Planned]
"""Makes the plan of a call, by its text and the number of the device."""


class Handlers:
    """The compiled handlers, registered with XLA. ``make`` makes the plans that nobody added."""

    def __init__(self, make: Make):
        self.make = make
        self.table = Table()
        # Messages stay for good: nobody says when XLA has read one.
        self._messages: list[Any] = []
        self.program, self.entries = compiled.load(TEXT, ENTRIES, processor.probe())
        self._missing = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)(
            self._make
        )
        self._failed = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int)(self._say)
        self._setup = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(self.entries["setup"])
        self._show()
        for kind, name in TARGETS.items():
            capsule = jax.ffi.pycapsule(ctypes.c_void_p(self.entries[kind]))
            try:
                jax.ffi.register_ffi_target(name, capsule, platform=PLATFORMS[kind])
            except Exception as error:
                raise UnsupportedError(f"JAX {jax.__version__} does not take a handler: {error}") from error

    def _show(self) -> None:
        """Have handlers read the newest table."""
        self._setup(
            self.table.address, *(ctypes.cast(x, ctypes.c_void_p) for x in (self._missing, self._failed))
        )

    def add(self, call: str, device: int, plan: Planned) -> None:
        """Add a plan for a call on one device."""
        if self.table.add(key_of(call) + device, plan):
            self._show()

    def _make(self, text: int, length: int, device: int) -> int:
        """What a handler asks for a key that it does not find: a plan, or a message, marked by an odd
        address."""
        try:
            call = ctypes.string_at(text, length).decode()
            self.add(call, device, self.make(call, device))
            return ctypes.addressof(self.table.made[key_of(call) + device].words)
        except Exception as error:
            return self._kept(f"tilewright: {error}") + 1

    def _say(self, code: int) -> int:
        """The message for what the driver answered to a launch."""
        # The driver's code for arguments that are none, too.
        why = " (an operand at an address that the kernel cannot read from?)" if code == 1 else ""
        return self._kept(f"tilewright: launching a kernel failed with code {code} of the CUDA driver{why}")

    def _kept(self, message: str) -> int:
        """The address of a message, even, which stays for good."""
        held = ctypes.create_string_buffer(message.encode() + b"\0")
        self._messages.append(held)
        return ctypes.addressof(held)
