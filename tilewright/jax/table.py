"""The plans of this process by key, in memory that compiled handlers read while plans are added."""

from __future__ import annotations

import ctypes
import hashlib
import threading
from dataclasses import dataclass, field
from typing import Any

PLAN = ["function", "context", "swap", "runs", "starts", "threads", "room"]
"""Words of a plan: what launches (a raw entry of ``fastcall_cuda``; 0 on a processor, where the context says
the kernel) and its context; whether b goes first; how many runs there are, and where the bytes from the first
to each lie, three words each; how many threads share a run; the bytes of the workspace that the runs have one
after the other. Where that is not 0, what launches takes its address as well."""
DEVICE_BITS = 12
"""Bits of a key that are free for the number of a GPU."""
SMALLEST = 64
"""Entries of the first table; later ones are twice as long each."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan as handlers read it: the address of its words, and what they point to."""

    words: ctypes.Array[ctypes.c_int64]
    bound: Any
    keep: Any = None

    @property
    def room(self) -> int:
        """The bytes of the workspace that a call has to come with."""
        return self.words[PLAN.index("room")]

    @staticmethod
    def of(
        context: int,
        swap: bool,
        starts: list[tuple[int, int, int]],
        bound: Any,
        *,
        function: int = 0,
        threads: int = 1,
        room: int = 0,
        keep: Any = None,
    ) -> Planned:
        """A plan of one run for each of ``starts``: bytes for a, b and c, in the kernel's order. ``context``
        lies in what is ``bound`` or in ``keep``, which are held."""
        flat = [step for start in starts for step in start]
        table = (ctypes.c_int64 * len(flat))(*flat)
        values = (function, context, int(swap), len(starts), ctypes.addressof(table), threads, room)
        return Planned((ctypes.c_int64 * len(PLAN))(*values), bound, (table, keep))


@dataclass
class Table:
    """Plans by key. What a handler has once read stays in memory: it may be at it for a long time.

    Where a call is planned anew, after tuning say, compiled programs go by the new plan, too, if it needs no
    other workspace: the bytes that a program has for that are part of the key.
    """

    made: dict[int, Planned] = field(default_factory=dict)
    replaced: list[Planned] = field(default_factory=list)
    tables: list[ctypes.Array[ctypes.c_int64]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.tables.append(_empty(SMALLEST))

    @property
    def address(self) -> int:
        """Where the newest table lies."""
        return ctypes.addressof(self.tables[-1])

    def add(self, key: int, plan: Planned) -> bool:
        """Add a plan, or put it in the place of one that was bound to something else; whether that made a new
        table."""
        with self.lock:
            before = self.made.get(key)
            if before is not None and before.bound is plan.bound:
                return False
            if before is not None:
                self.replaced.append(before)
            self.made[key] = plan
            table = self.tables[-1]
            if 2 * len(self.made) <= table[0] + 1:
                _enter(table, key, plan)
                return False
            # Handlers may be reading the old one.
            larger = _empty(2 * (table[0] + 1))
            for each, found in self.made.items():
                _enter(larger, each, found)
            self.tables.append(larger)
            return True


def _empty(entries: int) -> ctypes.Array[ctypes.c_int64]:
    table = (ctypes.c_int64 * (1 + 2 * entries))()
    table[0] = entries - 1
    return table


def _enter(table: ctypes.Array[ctypes.c_int64], key: int, plan: Planned) -> None:
    """Write an entry. Whoever reads the key finds the plan beside it, so that is written first."""
    mask = table[0]
    i = (key >> DEVICE_BITS) & mask
    while table[1 + 2 * i] not in (0, key):
        i = (i + 1) & mask
    table[2 + 2 * i] = ctypes.addressof(plan.words)
    table[1 + 2 * i] = key


def key_of(call: str) -> int:
    """The key of a call by its text: 63 bits, not 0, the last ``DEVICE_BITS`` of them free."""
    digest = int.from_bytes(hashlib.sha256(call.encode()).digest()[:8], "little")
    return (digest >> (1 + DEVICE_BITS) or 1) << DEVICE_BITS
