"""The functions that XLA calls: one for processors and one for GPUs, compiled once, without Python in a call.

XLA calls a handler with a *frame*: the addresses of the operands and of the result, the attributes of the call
and functions to ask for more (``frames``). Ours has two attributes: ``call``, which says as text what is to be
computed, and ``key``, a number made of that text. The handler looks the key up in a table, finds the *plan*
(``plans``), which holds a bound kernel, and runs that on the addresses. On a GPU it launches on the stream that
XLA gives, and waits for nothing, so that calls can be recorded into command buffers, and says so when it
is asked.

A key that is not in the table was lowered by another process (a program that was exported, or taken
from a cache of compiled ones), or is wanted on another GPU than it was lowered on: then ``missing``, in Python,
makes the plan, once.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax

from tilewright.errors import UnsupportedError
from tilewright.jax import frames
from tilewright.jax.frames import at, end
from tilewright.model import Kernel
from tilewright.runtime import fastcall_cpu
from tilewright.runtime.fastcall_cpu import word
from tilewright.targets.cpu import processor

TARGETS = {"cpu": "tilewright_cpu", "cuda": "tilewright_cuda"}
"""The names of the handlers in compiled programs, by kind of device."""
PLATFORMS = {"cpu": "cpu", "cuda": "CUDA"}

PLAN = ["function", "context", "swap", "count", "starts"]
"""Words of a plan: what runs (``run`` of ``fastcall_cpu`` or ``launch`` of ``fastcall_cuda``) and its context;
whether b goes first; how many runs there are, and where the bytes from the first to each lie, three words
each."""
DEVICE_BITS = 12
"""Bits of a key that are free for the number of a GPU."""
SMALLEST = 64
"""Entries of the first table; later ones are twice as long each."""


# ---- the program


def _load(structure: type[ctypes.Structure], name: str, pointer: str, value: str, kind: str = "ptr") -> str:
    """IR that loads a field of a structure."""
    place = f"%{value}.at = getelementptr i8, ptr {pointer}, i64 {at(structure, name)}"
    return f"  {place}\n  %{value} = load {kind}, ptr %{value}.at\n"


def _store(structure: type[ctypes.Structure], name: str, pointer: str, value: str, kind: str = "ptr") -> str:
    """IR that stores a field of a structure."""
    place = f"%{pointer[1:]}.{name} = getelementptr i8, ptr {pointer}, i64 {at(structure, name)}"
    return f"  {place}\n  store {kind} {value}, ptr %{pointer[1:]}.{name}\n"


def _head(structure: type[ctypes.Structure], last: str, pointer: str) -> str:
    """IR that fills in the first two fields of a structure whose last field is ``last``."""
    return _store(structure, "struct_size", pointer, str(end(structure, last)), "i64") + _store(
        structure, "extension_start", pointer, "null"
    )


def _text(name: str, text: str) -> str:
    """IR of a constant text."""
    return f'@{name} = internal constant [{len(text) + 1} x i8] c"{text}\\00"\n'


_TEXTS = {
    "old": "jaxlib has another interface for handlers than Tilewright was written for (0.3)",
    "odd": "a call of Tilewright's has other operands or attributes than it was made with",
}

_COMMON = f"""
{"".join(_text(name, text) for name, text in _TEXTS.items())}
@table = internal global ptr null
@missing = internal global ptr null
@failed = internal global ptr null

define void @setup(ptr %table, ptr %missing, ptr %failed) {{
entry:
  store atomic ptr %table, ptr @table release, align 8
  store ptr %missing, ptr @missing
  store ptr %failed, ptr @failed
  ret void
}}

define internal ptr @error(ptr %frame, ptr %message, i32 %code) {{
entry:
  %error = alloca [{ctypes.sizeof(frames.Error)} x i8], align 8
{_head(frames.Error, "code", "%error")}\
{_store(frames.Error, "message", "%error", "%message")}\
{_store(frames.Error, "code", "%error", "%code", "i32")}\
{_load(frames.Frame, "api", "%frame", "api")}{_load(frames.Api, "error_create", "%api", "create")}\
  %made = call ptr %create(ptr %error)
  ret ptr %made
}}

; What a handler is: null, or an error where XLA hands over other structures than are read here.
define internal ptr @answer(ptr %frame, ptr %extension, i32 %traits) {{
entry:
{_load(frames.Frame, "struct_size", "%frame", "frame.size", "i64")}\
{_load(frames.Frame, "api", "%frame", "api")}{_load(frames.Api, "struct_size", "%api", "api.size", "i64")}\
  %version = getelementptr i8, ptr %api, i64 {at(frames.Api, "version")}
{_load(frames.Version, "major", "%version", "major", "i32")}\
{_load(frames.Extension, "metadata", "%extension", "metadata")}\
{_load(frames.Metadata, "struct_size", "%metadata", "metadata.size", "i64")}\
  %frame.ok = icmp uge i64 %frame.size, {end(frames.Frame, "attrs")}
  %api.ok = icmp uge i64 %api.size, {end(frames.Api, "device_ordinal")}
  %major.ok = icmp eq i32 %major, {frames.MAJOR}
  %metadata.ok = icmp uge i64 %metadata.size, {end(frames.Metadata, "traits")}
  %ok.1 = and i1 %frame.ok, %api.ok
  %ok.2 = and i1 %major.ok, %metadata.ok
  %ok = and i1 %ok.1, %ok.2
  br i1 %ok, label %tell, label %old
old:
  %made = call ptr @error(ptr %frame, ptr @old, i32 {frames.FAILED_PRECONDITION})
  ret ptr %made
tell:
  %said = getelementptr i8, ptr %metadata, i64 {at(frames.Metadata, "version")}
{_head(frames.Version, "minor", "%said")}\
{_store(frames.Version, "major", "%said", str(frames.MAJOR), "i32")}\
{_store(frames.Version, "minor", "%said", str(frames.MINOR), "i32")}\
{_store(frames.Metadata, "traits", "%metadata", "%traits", "i32")}\
  ret ptr null
}}

; The plan of a call on a device; an odd address is that of a message, less one.
define internal i64 @find(ptr %frame, i64 %device) {{
entry:
  %attributes = getelementptr i8, ptr %frame, i64 {at(frames.Frame, "attrs")}
{_load(frames.Attributes, "size", "%attributes", "given", "i64")}\
  %two = icmp eq i64 %given, 2
  br i1 %two, label %read, label %odd
odd:
  %odd.address = ptrtoint ptr @odd to i64
  %odd.marked = add i64 %odd.address, 1
  ret i64 %odd.marked
read:
{_load(frames.Attributes, "values", "%attributes", "values")}\
{word(0, "%values", "call", "ptr")}{word(1, "%values", "number", "ptr")}\
{_load(frames.Number, "value", "%number", "key.place")}\
  %key = load i64, ptr %key.place
  %wanted = add i64 %key, %device
  %table = load atomic ptr, ptr @table acquire, align 8
  %mask = load i64, ptr %table
  %first = getelementptr i64, ptr %table, i64 1
  %spread = lshr i64 %wanted, {DEVICE_BITS}
  %begin = and i64 %spread, %mask
  br label %look
look:
  %i = phi i64 [ %begin, %read ], [ %i.wrapped, %next ]
  %place = shl i64 %i, 1
  %entry.at = getelementptr i64, ptr %first, i64 %place
  %entry.key = load atomic i64, ptr %entry.at acquire, align 8
  %same = icmp eq i64 %entry.key, %wanted
  br i1 %same, label %found, label %other
found:
  %plan.at = getelementptr i64, ptr %entry.at, i64 1
  %plan = load i64, ptr %plan.at
  ret i64 %plan
other:
  %empty = icmp eq i64 %entry.key, 0
  br i1 %empty, label %ask, label %next
next:
  %i.next = add i64 %i, 1
  %i.wrapped = and i64 %i.next, %mask
  br label %look
ask:
{_load(frames.Span, "text", "%call", "text")}{_load(frames.Span, "length", "%call", "length", "i64")}\
  %python = load ptr, ptr @missing
  %made = call i64 %python(ptr %text, i64 %length, i64 %device)
  ret i64 %made
}}

; The address of the operand or result of a number.
define internal i64 @data(ptr %all, i64 %number) {{
entry:
{_load(frames.Values, "values", "%all", "buffers")}\
  %buffer.at = getelementptr ptr, ptr %buffers, i64 %number
  %buffer = load ptr, ptr %buffer.at
{_load(frames.Buffer, "data", "%buffer", "data", "i64")}\
  ret i64 %data
}}
"""


def _begin(traits: int) -> str:
    """IR from the beginning of a handler to its label ``run``."""
    return f"""\
{_load(frames.Frame, "extension_start", "%frame", "extension")}\
  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %staged, label %extended
extended:
{_load(frames.Extension, "type", "%extension", "type", "i32")}\
  %asked = icmp eq i32 %type, {frames.METADATA}
  br i1 %asked, label %asking, label %staged
asking:
  %answered = call ptr @answer(ptr %frame, ptr %extension, i32 {traits})
  ret ptr %answered
staged:
{_load(frames.Frame, "stage", "%frame", "stage", "i32")}\
  %execute = icmp eq i32 %stage, {frames.EXECUTE}
  br i1 %execute, label %run, label %good
good:
  ret ptr null
"""


def _step(index: int, name: str) -> str:
    """IR of an operand's address in one run."""
    step = word(index, "%start.at", f"{name}.step", "i64")
    return f"{step}  %{name}.here = add i64 %{name}, %{name}.step\n"


_POINTERS = {"function", "context", "starts"}
_PLANNED = f"""\
  %marked = and i64 %plan, 1
  %fine = icmp eq i64 %marked, 0
  br i1 %fine, label %planned, label %refused
refused:
  %message.address = sub i64 %plan, 1
  %message = inttoptr i64 %message.address to ptr
  %said = call ptr @error(ptr %frame, ptr %message, i32 {frames.FAILED_PRECONDITION})
  ret ptr %said
planned:
  %words = inttoptr i64 %plan to ptr
{"".join(word(place, "%words", name, "ptr" if name in _POINTERS else "i64") for place, name in enumerate(PLAN))}\
  %args = getelementptr i8, ptr %frame, i64 {at(frames.Frame, "args")}
  %rets = getelementptr i8, ptr %frame, i64 {at(frames.Frame, "rets")}
  %second = and i64 %swap, 1
  %one = sub i64 1, %second
  %a = call i64 @data(ptr %args, i64 %second)
  %b = call i64 @data(ptr %args, i64 %one)
  %c = call i64 @data(ptr %rets, i64 0)
  br label %runs
runs:
  %i = phi i64 [ 0, %planned ], [ %i.next, %done ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %start, label %good
start:
  %skipped = mul i64 %i, 3
  %start.at = getelementptr i64, ptr %starts, i64 %skipped
{"".join(_step(index, name) for index, name in enumerate("abc"))}\
"""
"""IR from the plan as it was found to one of its runs, with the addresses of that in ``a.here`` and so on."""

_CPU = f"""
define ptr @cpu(ptr %frame) {{
entry:
{_begin(0)}\
run:
  %plan = call i64 @find(ptr %frame, i64 0)
{_PLANNED}\
  call void %function(ptr %context, i64 %a.here, i64 %b.here, i64 %c.here)
  br label %done
done:
  %i.next = add i64 %i, 1
  br label %runs
}}
"""


def _ask(function: str, kind: str, place: str) -> str:
    """IR that asks XLA for something of the call, by a function of its interface."""
    size = at(frames.Asked, "found") + (8 if kind == "i64" else 4)
    return f"""\
{_store(frames.Asked, "struct_size", place, str(size), "i64")}\
{_store(frames.Asked, "extension_start", place, "null")}\
{_store(frames.Asked, "context", place, "%xla")}\
{_load(frames.Api, function, "%api", function)}\
  %{function}.error = call ptr %{function}(ptr {place})
  %{function}.ok = icmp eq ptr %{function}.error, null
  br i1 %{function}.ok, label %{function}.told, label %{function}.untold
{function}.untold:
  ret ptr %{function}.error
{function}.told:
{_load(frames.Asked, "found", place, f"{function}.found", kind)}\
"""


_CUDA = f"""
define ptr @cuda(ptr %frame) {{
entry:
  %stream.asked = alloca [{ctypes.sizeof(frames.Asked)} x i8], align 8
  %device.asked = alloca [{ctypes.sizeof(frames.Asked)} x i8], align 8
  %addresses = alloca [3 x i64], align 8
{_begin(frames.FIT_FOR_COMMAND_BUFFERS)}\
run:
{_load(frames.Frame, "api", "%frame", "api")}{_load(frames.Frame, "context", "%frame", "xla")}\
{_ask("device_ordinal", "i32", "%device.asked")}\
{_ask("stream_get", "i64", "%stream.asked")}\
  %device = sext i32 %device_ordinal.found to i64
  %plan = call i64 @find(ptr %frame, i64 %device)
{_PLANNED}\
  store i64 %a.here, ptr %addresses
  %addresses.b = getelementptr i64, ptr %addresses, i64 1
  store i64 %b.here, ptr %addresses.b
  %addresses.c = getelementptr i64, ptr %addresses, i64 2
  store i64 %c.here, ptr %addresses.c
  %code = call i32 %function(ptr %context, ptr %addresses, i64 %stream_get.found)
  %started = icmp eq i32 %code, 0
  br i1 %started, label %done, label %broken
done:
  %i.next = add i64 %i, 1
  br label %runs
broken:
  %python = load ptr, ptr @failed
  %why = call ptr %python(i32 %code)
  %unstarted = call ptr @error(ptr %frame, ptr %why, i32 {frames.INTERNAL})
  ret ptr %unstarted
}}
"""

ENTRIES = ("setup", "cpu", "cuda")


# ---- the table


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan as handlers read it: the address of its words, and what they point to."""

    words: ctypes.Array[ctypes.c_int64]
    keep: Any

    @staticmethod
    def of(
        function: int, context: bytes, swap: bool, starts: list[tuple[int, int, int]], keep: Any
    ) -> Planned:
        """A plan that calls ``function`` with ``context`` once for each of ``starts``: bytes for a, b and c,
        as the function has them."""
        flat = [step for start in starts for step in start]
        table = (ctypes.c_int64 * len(flat))(*flat)
        held = ctypes.create_string_buffer(context, len(context))
        values = (function, ctypes.addressof(held), int(swap), len(starts), ctypes.addressof(table))
        return Planned((ctypes.c_int64 * len(PLAN))(*values), (table, held, keep))


Make = Callable[[str, int], Planned]
"""Makes the plan of a call, by its text and the number of the device."""


@dataclass
class Table:
    """The plans of this process by key, in memory that handlers read while plans are added. Nothing in it is
    ever taken back: a compiled program may come back to any of its plans."""

    made: dict[int, Planned] = field(default_factory=dict)
    tables: list[ctypes.Array[ctypes.c_int64]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.tables.append(_empty(SMALLEST))

    @property
    def address(self) -> int:
        """Where the newest table lies."""
        return ctypes.addressof(self.tables[-1])

    def add(self, key: int, plan: Planned) -> bool:
        """Add a plan; whether that made a new table. The first of a key stays."""
        with self.lock:
            if key in self.made:
                return False
            self.made[key] = plan
            table = self.tables[-1]
            if 2 * len(self.made) <= table[0] + 1:
                _enter(table, key, plan)
                return False
            # Handlers may be reading the old one, which therefore stays.
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
    while table[1 + 2 * i]:
        i = (i + 1) & mask
    table[2 + 2 * i] = ctypes.addressof(plan.words)
    table[1 + 2 * i] = key


def key_of(call: str) -> int:
    """The key of a call by its text: 63 bits, not 0, the last ``DEVICE_BITS`` of them free."""
    digest = int.from_bytes(hashlib.sha256(call.encode()).digest()[:8], "little")
    return (digest >> (1 + DEVICE_BITS) or 1) << DEVICE_BITS


# ---- handlers in XLA


class Handlers:
    """The compiled handlers, registered with XLA. ``make`` makes the plans that nobody added."""

    def __init__(self, make: Make):
        self.make = make
        self.table = Table()
        # Messages stay for good: nobody says when XLA has read one.
        self._messages: list[Any] = []
        self.program: Kernel
        self.program, self.entries = fastcall_cpu.load(_COMMON + _CPU + _CUDA, ENTRIES, processor.probe())
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
            # Of two threads that made it, the first one's stays.
            return ctypes.addressof(self.table.made[key_of(call) + device].words)
        except Exception as error:
            return self._kept(f"tilewright: {error}") + 1

    def _say(self, code: int) -> int:
        """The message for what the driver answered to a launch."""
        if code < 0:
            return self._kept("tilewright: an operand lies at an address that the kernel cannot read from")
        return self._kept(f"tilewright: launching a kernel failed with code {code} of the CUDA driver")

    def _kept(self, message: str) -> int:
        """The address of a message, even, which stays for good."""
        held = ctypes.create_string_buffer(message.encode() + b"\0")
        self._messages.append(held)
        return ctypes.addressof(held)
