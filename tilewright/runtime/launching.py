"""The program behind ``fastcall_cuda`` as text: words of its contexts, and entries that read them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tilewright.runtime.compiled import BYTES_HEAD
from tilewright.runtime.words import put, word
from tilewright.targets.cuda.arguments import MAP_ALIGNMENT, WORD
from tilewright.targets.cuda.binding import Word
from tilewright.targets.cuda.launch import Configuration
from tilewright.targets.cuda.workspace import Held

# The words that every context begins with, and what follows them for a launch and for a product.
COMMON = [
    "slow",
    "none",
    "as_word",
    "occurred",
    "clear",
    "save_thread",
    "restore_thread",
    "vectorcall",
    "incref",
    "thread",
]
WORDS = [
    *COMMON,
    "launch",
    "kernel",
    "configuration",
    "block",
    "block_words",
    "place_a",
    "place_b",
    "place_out",
]
PATCHED = [
    *COMMON,
    "launch",
    "kernel",
    "configuration",
    "block",
    "block_words",
    "parameters",
    "patches",
]
"""The words of ``start_patched``. Both tables begin with their number of rows; a row of ``parameters`` is the
word at which a parameter begins, one of ``patches`` is a ``Word``."""
KEPT = [*PATCHED, "device", "room", "cleared", "held", "stamps", "number", "recording", "memset"]
"""The words of ``start_kept``: ``held`` is where the table of workspaces lies, ``stamps`` where the next
stamp is; ``room`` are the bytes that a launch needs, ``cleared`` how many words of 32 bits in front are to be
0. The last three are functions of the driver."""
PRODUCT = [
    *COMMON,
    "matmul",
    "handle",
    "operation",
    "alpha",
    "beta",
    "layout_a",
    "layout_b",
    "layout_c",
    "algorithm",
    "size",
    "swap",
    "spaces",
    "capturing",
]
SPACES = ("stream", "thread", "space")
"""A row of the table of workspaces for products, behind the number of rows."""
GIVEN = ("a", "b", "out", "space", "stamp")
"""What a word of the block becomes in ``patched``, by number."""
SPACE, STAMP = 3, 4
AT = {name: index for names in (WORDS, KEPT, PRODUCT) for index, name in enumerate(names)}


def _word(name: str, value: str, kind: str = "ptr") -> str:
    """IR that loads a word of the context by its name."""
    return word(AT[name], "%context", value, kind)


def _argument(index: int, value: str) -> str:
    """IR that reads an argument of the call as 64 bits without a sign; all ones may be an exception."""
    return f"""\
  %{value}.at = getelementptr ptr, ptr %args, i64 {index}
  %{value}.object = load ptr, ptr %{value}.at
  %{value} = call i64 %as_word(ptr %{value}.object)
  %{value}.doubt = icmp eq i64 %{value}, -1
"""


def _placed(name: str, value: str) -> str:
    """IR that writes an address into the copy of the argument."""
    return f"""\
{_word(f"place_{name}", f"{value}.place", "i64")}\
  %{value}.to = getelementptr i64, ptr %block, i64 %{value}.place
  store i64 %{value}, ptr %{value}.to
"""


_READ = f"""\
  %four = icmp eq i64 %given, 4
  br i1 %four, label %read, label %slow
read:
{_word("as_word", "as_word")}\
{_argument(0, "a")}{_argument(1, "b")}{_argument(2, "out")}{_argument(3, "stream")}\
  %doubt.1 = or i1 %a.doubt, %b.doubt
  %doubt.2 = or i1 %out.doubt, %stream.doubt
  %doubt = or i1 %doubt.1, %doubt.2
  br i1 %doubt, label %ask, label %go
ask:
{_word("occurred", "occurred")}\
  %exception = call ptr %occurred()
  %fine = icmp eq ptr %exception, null
  br i1 %fine, label %go, label %forget
forget:
{_word("clear", "clear")}\
  call void %clear()
  br label %slow
"""
"""From the beginning of an entry to its label ``go``: the arguments as 64-bit words."""

_END = f"""\
done:
{_word("none", "none")}{_word("incref", "incref")}\
  call void %incref(ptr %none)
  ret ptr %none
slow:
{_word("vectorcall", "vectorcall")}{_word("slow", "function")}\
  %made = call ptr %vectorcall(ptr %function, ptr %args, i64 %given, ptr null)
  ret ptr %made
"""
"""What a call returns: None, or what the function of Python makes of its arguments."""


def _entry(name: str) -> str:
    """The entry of Python's calling convention over a raw one, during which the global lock is released."""
    return f"""
define ptr @{name}(ptr %self, ptr %args, i64 %given) {{
entry:
  %context = getelementptr i8, ptr %self, i64 {BYTES_HEAD}
{_READ}\
go:
{_word("save_thread", "save")}{_word("restore_thread", "restore")}\
  %state = call ptr %save()
  %code = call i32 @raw_{name}(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream)
  call void %restore(ptr %state)
  %started = icmp eq i32 %code, 0
  br i1 %started, label %done, label %slow
{_END}\
}}
"""


def _eager(asks: str, then: str) -> str:
    """IR that goes on at a label unless the driver says that the stream is being recorded; ``asks`` is its
    function in the context, ``%status`` room for its answer."""
    return f"""\
{_word(asks, asks)}\
  %asked = call i32 %{asks}(i64 %stream, ptr %status)
  %recording.status = load i32, ptr %status
  %either = or i32 %asked, %recording.status
  %eager = icmp eq i32 %either, 0
  br i1 %eager, label %{then}, label %slow
"""


def _found(table: str, names: Sequence[str], **keys: str) -> str:
    """IR from the label ``look`` to ``found``: the row of a table in which the words of these names have
    these values, as ``%row.NAME`` all of its words. A table without it is slow."""
    words = "".join(word(index, "%row", f"row.{name}", "i64") for index, name in enumerate(names))
    compared = "".join(f"  %same.{key} = icmp eq i64 %row.{key}, {value}\n" for key, value in keys.items())
    same, *others = (f"%same.{key}" for key in keys)
    for index, other in enumerate(others):
        compared += f"  %same.{index} = and i1 {same}, {other}\n"
        same = f"%same.{index}"
    return f"""\
  %rows = load i64, ptr {table}
  %first = getelementptr i64, ptr {table}, i64 1
  br label %next
next:
  %i = phi i64 [ 0, %look ], [ %i.next, %other ]
  %more = icmp ult i64 %i, %rows
  br i1 %more, label %compare, label %slow
compare:
  %skipped = mul i64 %i, {len(names)}
  %row = getelementptr i64, ptr %first, i64 %skipped
{words}\
{compared}\
  br i1 {same}, label %found, label %other
other:
  %i.next = add i64 %i, 1
  br label %next
found:
"""


def _product() -> str:
    """The entries ``multiply`` and ``raw_multiply``."""
    pointers = (
        *("matmul", "handle", "operation", "alpha", "beta"),
        *("layout_a", "layout_b", "layout_c", "algorithm"),
    )
    return f"""
define internal i32 @product(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream, i64 %space) {{
entry:
{_word("swap", "swap", "i64")}{"".join(_word(name, name) for name in pointers)}{_word("size", "size", "i64")}\
  %swapped = icmp ne i64 %swap, 0
  %left = select i1 %swapped, i64 %b, i64 %a
  %right = select i1 %swapped, i64 %a, i64 %b
  %code = call i32 %matmul(ptr %handle, ptr %operation, ptr %alpha, i64 %left, ptr %layout_a, i64 %right, \
ptr %layout_b, ptr %beta, i64 %out, ptr %layout_c, i64 %out, ptr %layout_c, ptr %algorithm, i64 %space, \
i64 %size, i64 %stream)
  ret i32 %code
}}

define i32 @raw_multiply(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream) {{
entry:
  %code = call i32 @product(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream, i64 0)
  ret i32 %code
}}

define ptr @multiply(ptr %self, ptr %args, i64 %given) {{
entry:
  %context = getelementptr i8, ptr %self, i64 {BYTES_HEAD}
  %status = alloca i32
{_READ}\
go:
{_word("spaces", "spaces")}\
  %needs = icmp ne ptr %spaces, null
  br i1 %needs, label %look, label %call
look:
{_word("thread", "thread")}\
  %me.thread = call i64 %thread()
{_found("%spaces", SPACES, stream="%stream", thread="%me.thread")}\
{_eager("capturing", "call")}\
call:
  %space = phi i64 [ 0, %go ], [ %row.space, %found ]
{_word("save_thread", "save")}{_word("restore_thread", "restore")}\
  %state = call ptr %save()
  %code = call i32 @product(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream, i64 %space)
  call void %restore(ptr %state)
  %started = icmp eq i32 %code, 0
  br i1 %started, label %done, label %slow
{_END}\
}}
"""


def _patched() -> str:
    """The entries ``start_patched`` and ``raw_start_patched``, and ``patched``, which they and ``start_kept``
    call."""
    words, stream = ctypes.sizeof(Configuration) // WORD, Configuration.stream.offset // WORD
    row = "".join(word(index, "%patch", f"patch.{name}", "i64") for index, name in enumerate(Word._fields))
    given = "".join(put(index, "%addresses", f"%{name}", f"given.{name}") for index, name in enumerate(GIVEN))
    return f"""
define internal i32 @patched(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream, i64 %space, i64 %stamp) {{
entry:
  %configuration = alloca [{words} x i64], align 16
  %addresses = alloca [{len(GIVEN)} x i64], align 8
{given}\
{_word("configuration", "configuration.from")}{_word("block", "block.from")}\
{_word("block_words", "block.words", "i64")}\
{_word("parameters", "offsets")}{_word("patches", "patches")}\
  call void @copy(ptr %configuration, ptr %configuration.from, i64 {words})
  %block = alloca i64, i64 %block.words, align {MAP_ALIGNMENT}
  call void @copy(ptr %block, ptr %block.from, i64 %block.words)
  %offsets.count = load i64, ptr %offsets
  %offsets.first = getelementptr i64, ptr %offsets, i64 1
  %parameters = alloca ptr, i64 %offsets.count
  %patches.count = load i64, ptr %patches
  %patches.first = getelementptr i64, ptr %patches, i64 1
  br label %parameter
parameter:
  %i = phi i64 [ 0, %entry ], [ %i.next, %point ]
  %i.more = icmp ult i64 %i, %offsets.count
  br i1 %i.more, label %point, label %patching
point:
  %offset.at = getelementptr i64, ptr %offsets.first, i64 %i
  %offset = load i64, ptr %offset.at
  %parameter.from = getelementptr i64, ptr %block, i64 %offset
  %parameter.to = getelementptr ptr, ptr %parameters, i64 %i
  store ptr %parameter.from, ptr %parameter.to
  %i.next = add i64 %i, 1
  br label %parameter
patching:
  %j = phi i64 [ 0, %parameter ], [ %j.next, %write ]
  %odd = phi i64 [ 0, %parameter ], [ %odd.next, %write ]
  %j.more = icmp ult i64 %j, %patches.count
  br i1 %j.more, label %write, label %patched
write:
  %skipped = mul i64 %j, {len(Word._fields)}
  %patch = getelementptr i64, ptr %patches.first, i64 %skipped
{row}\
  %address.at = getelementptr i64, ptr %addresses, i64 %patch.operand
  %address = load i64, ptr %address.at
  %odd.here = and i64 %address, %patch.mask
  %odd.next = or i64 %odd, %odd.here
  %patch.to = getelementptr i64, ptr %block, i64 %patch.at
  %patch.value = add i64 %address, %patch.plus
  store i64 %patch.value, ptr %patch.to
  %j.next = add i64 %j, 1
  br label %patching
patched:
  %aligned = icmp eq i64 %odd, 0
  br i1 %aligned, label %launched, label %refuse
launched:
  %stream.to = getelementptr i64, ptr %configuration, i64 {stream}
  store i64 %stream, ptr %stream.to
{_word("launch", "launch")}{_word("kernel", "kernel")}\
  %code = call i32 %launch(ptr %configuration, ptr %kernel, ptr %parameters, ptr null)
  ret i32 %code
refuse:
  ret i32 1
}}

define i32 @raw_start_patched(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream) {{
entry:
  %code = call i32 @patched(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream, i64 0, i64 0)
  ret i32 %code
}}
{_entry("start_patched")}"""


def _kept() -> str:
    """The entries ``start_kept`` and ``raw_start_kept``, which takes the address of a workspace as well."""
    return f"""
define i32 @raw_start_kept(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream, i64 %space) {{
entry:
{_word("stamps", "stamps")}{_word("cleared", "cleared", "i64")}\
  %stamp = atomicrmw add ptr %stamps, i64 2 monotonic
  %clears = icmp ne i64 %cleared, 0
  br i1 %clears, label %clearing, label %starting
clearing:
{_word("memset", "memset")}\
  %uncleared = call i32 %memset(i64 %space, i32 0, i64 %cleared, i64 %stream)
  %zeroed = icmp eq i32 %uncleared, 0
  br i1 %zeroed, label %starting, label %refused
starting:
  %code = call i32 @patched(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream, i64 %space, i64 %stamp)
  ret i32 %code
refused:
  ret i32 %uncleared
}}

define ptr @start_kept(ptr %self, ptr %args, i64 %given) {{
entry:
  %context = getelementptr i8, ptr %self, i64 {BYTES_HEAD}
  %status = alloca i32
  %me.stream.at = alloca i64
{_READ}\
go:
{_eager("recording", "numbering")}\
numbering:
{_word("number", "number")}\
  %unknown = call i32 %number(i64 %stream, ptr %me.stream.at)
  %numbered = icmp eq i32 %unknown, 0
  br i1 %numbered, label %look, label %slow
look:
{_word("thread", "thread")}{_word("device", "me.device", "i64")}{_word("room", "needed", "i64")}\
  %me.stream = load i64, ptr %me.stream.at
  %me.thread = call i64 %thread()
{_word("held", "held")}\
{_found("%held", Held.ROW, device="%me.device", stream="%me.stream", thread="%me.thread")}\
  %roomy = icmp uge i64 %row.room, %needed
  br i1 %roomy, label %starting, label %slow
starting:
{_word("save_thread", "save")}{_word("restore_thread", "restore")}\
  %state = call ptr %save()
  %code = call i32 @raw_start_kept(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream, i64 %row.address)
  call void %restore(ptr %state)
  %started = icmp eq i32 %code, 0
  br i1 %started, label %done, label %slow
{_END}\
}}
"""


def program() -> str:
    """The program: ``copy``, the entries, and the raw ones."""
    words, stream = ctypes.sizeof(Configuration) // WORD, Configuration.stream.offset // WORD
    return f"""{_product()}{_patched()}{_kept()}
define internal void @copy(ptr %to, ptr %from, i64 %words) {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %word ]
  %more = icmp ult i64 %i, %words
  br i1 %more, label %word, label %done
word:
  %from.at = getelementptr i64, ptr %from, i64 %i
  %value = load i64, ptr %from.at
  %to.at = getelementptr i64, ptr %to, i64 %i
  store i64 %value, ptr %to.at
  %i.next = add i64 %i, 1
  br label %next
done:
  ret void
}}

define i32 @raw_start(ptr %context, i64 %a, i64 %b, i64 %out, i64 %stream) {{
entry:
  %configuration = alloca [{words} x i64], align 16
  %parameters = alloca ptr
{_word("configuration", "configuration.from")}{_word("block", "block.from")}\
{_word("block_words", "block.words", "i64")}\
  call void @copy(ptr %configuration, ptr %configuration.from, i64 {words})
  %block = alloca i64, i64 %block.words, align 16
  call void @copy(ptr %block, ptr %block.from, i64 %block.words)
{_placed("a", "a")}{_placed("b", "b")}{_placed("out", "out")}\
  %stream.to = getelementptr i64, ptr %configuration, i64 {stream}
  store i64 %stream, ptr %stream.to
  store ptr %block, ptr %parameters
{_word("launch", "launch")}{_word("kernel", "kernel")}\
  %code = call i32 %launch(ptr %configuration, ptr %kernel, ptr %parameters, ptr null)
  ret i32 %code
}}
{_entry("start")}"""


HANDED = ("start", "start_patched", "multiply")
"""The entries whose raw one takes the context, the three addresses and the stream."""
ENTRIES = (*HANDED, "start_kept")
RAW = tuple(f"raw_{name}" for name in ENTRIES)
