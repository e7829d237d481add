"""The text of the handlers that XLA calls, in LLVM's language: ``cpu`` and ``cuda``, and ``setup``.

A handler answers when it is asked what it is, finds its plan by the key of the call, and runs that. On a
processor a batch that several threads share is cut in pieces. Threads of XLA's own pool are asked to help,
and whoever comes takes the next piece, the caller first of all: nobody waits for a thread that has not begun.
"""

from __future__ import annotations

import ctypes

from tilewright.jax import frames
from tilewright.jax.frames import at, end
from tilewright.jax.table import DEVICE_BITS, PLAN
from tilewright.runtime import multiplying
from tilewright.runtime.words import field, put, word

PIECES = 4
"""A thread's share of a batch is cut in so many pieces."""
JOB = [
    *("readers", "wanted", "next", "done"),
    *("pieces", "piece", "count", "context", "a", "b", "c"),
    *("xla", "schedule", "destroy"),
]
"""Words of a batch that is shared: who may still read them, how many more are to be asked to come, the next
piece, how many are done; how many there are and of how many products, and what ``part`` is called with; what
XLA is asked for threads with."""


def _load(structure: type[ctypes.Structure], name: str, pointer: str, value: str, kind: str = "ptr") -> str:
    """IR that loads a field of a structure."""
    return field(at(structure, name), pointer, value, kind)


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
    "odd": "a call of Tilewright's has other results or attributes than it was made with",
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


_KINDS = {
    "function": "ptr",
    "context": "ptr",
    "swap": "i64",
    "runs": "i64",
    "starts": "ptr",
    "threads": "i64",
    "room": "i64",
}
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
{"".join(word(place, "%words", name, _KINDS[name]) for place, name in enumerate(PLAN))}\
  %args = getelementptr i8, ptr %frame, i64 {at(frames.Frame, "args")}
  %rets = getelementptr i8, ptr %frame, i64 {at(frames.Frame, "rets")}
  %second = and i64 %swap, 1
  %one = sub i64 1, %second
  %a = call i64 @data(ptr %args, i64 %second)
  %b = call i64 @data(ptr %args, i64 %one)
  %c = call i64 @data(ptr %rets, i64 0)
  br label %each
each:
  %i = phi i64 [ 0, %planned ], [ %i.next, %done ]
  %more = icmp ult i64 %i, %runs
  br i1 %more, label %start, label %good
start:
  %skipped = mul i64 %i, 3
  %start.at = getelementptr i64, ptr %starts, i64 %skipped
{"".join(_step(index, name) for index, name in enumerate("abc"))}\
"""
"""IR from the plan as it was found to one of its runs, with the addresses of that in ``a.here`` and so on."""


def _count(name: str, value: str) -> str:
    """IR that loads a word of a kernel's context."""
    return word(multiplying.AT[name], "%context", value, "i64")


def _job(name: str, value: str, kind: str = "i64") -> str:
    """IR that loads a word of a shared batch."""
    return word(JOB.index(name), "%job", value, kind)


def _put(name: str, value: str, kind: str = "i64") -> str:
    """IR that writes a word of a shared batch."""
    return put(JOB.index(name), "%job", value, f"job.{name}", kind)


def _place(name: str) -> str:
    """IR of where a word of a shared batch lies."""
    return f"  %{name} = getelementptr i64, ptr %job, i64 {JOB.index(name)}\n"


_SHARED = f"""
; Who takes a piece asks for one more to come, as long as some are wanted: so many are woken in little time,
; and none for nothing. Until the piece is done the call is not, nor what XLA answers by.
define internal void @work(ptr %job) {{
entry:
  %asked = alloca [{ctypes.sizeof(frames.Schedule)} x i8], align 8
  %dropped = alloca [{ctypes.sizeof(frames.Destroy)} x i8], align 8
{_job("pieces", "pieces")}{_job("piece", "piece")}{_job("count", "count")}{_job("context", "context", "ptr")}\
{_job("a", "a", "ptr")}{_job("b", "b", "ptr")}{_job("c", "c", "ptr")}{_job("xla", "xla", "ptr")}\
{_job("schedule", "schedule", "ptr")}{_job("destroy", "destroy", "ptr")}\
{_place("next")}{_place("done")}{_place("wanted")}{_place("readers")}\
  br label %take
take:
  %number = atomicrmw add ptr %next, i64 1 monotonic
  %some = icmp slt i64 %number, %pieces
  br i1 %some, label %look, label %out
look:
  %lacking = load atomic i64, ptr %wanted monotonic, align 8
  %lack = icmp sgt i64 %lacking, 0
  br i1 %lack, label %claim, label %run
claim:
  %lacked = atomicrmw sub ptr %wanted, i64 1 monotonic
  %mine.to.ask = icmp sgt i64 %lacked, 0
  br i1 %mine.to.ask, label %ask, label %run
ask:
  %readers.before = atomicrmw add ptr %readers, i64 1 monotonic
{_head(frames.Schedule, "data", "%asked")}{_store(frames.Schedule, "context", "%asked", "%xla")}\
{_store(frames.Schedule, "task", "%asked", "@task")}{_store(frames.Schedule, "data", "%asked", "%job")}\
  %error = call ptr %schedule(ptr %asked)
  %comes = icmp eq ptr %error, null
  br i1 %comes, label %run, label %refused
refused:
  ; There is no pool.
{_head(frames.Destroy, "error", "%dropped")}{_store(frames.Destroy, "error", "%dropped", "%error")}\
  call void %destroy(ptr %dropped)
  %readers.less = atomicrmw sub ptr %readers, i64 1 monotonic
  store atomic i64 0, ptr %wanted monotonic, align 8
  br label %run
run:
  %first = mul i64 %number, %piece
  %left = sub i64 %count, %first
  %mine = call i64 @llvm.smin.i64(i64 %left, i64 %piece)
  call void @part(ptr %context, ptr %a, ptr %b, ptr %c, i64 %first, i64 %mine)
  %before = atomicrmw add ptr %done, i64 1 release
  br label %take
out:
  ret void
}}

; The last who leaves gives the memory back: a task may begin when all is done.
define internal void @leave(ptr %job) {{
entry:
{_place("readers")}\
  %before = atomicrmw sub ptr %readers, i64 1 acq_rel
  %last = icmp eq i64 %before, 1
  br i1 %last, label %empty, label %out
empty:
  call void @free(ptr %job)
  ret void
out:
  ret void
}}

define internal void @task(ptr %job) {{
entry:
  call void @work(ptr %job)
  call void @leave(ptr %job)
  ret void
}}

define internal void @share(ptr %frame, ptr %context, ptr %a, ptr %b, ptr %c, i64 %threads) {{
entry:
{_count("count", "count")}{_count("unit", "unit")}\
  %alone = icmp slt i64 %threads, 2
  br i1 %alone, label %one, label %several
one:
  call void @part(ptr %context, ptr %a, ptr %b, ptr %c, i64 0, i64 %count)
  ret void
several:
  %job = call ptr @malloc(i64 {8 * len(JOB)})
  %none = icmp eq ptr %job, null
  br i1 %none, label %one, label %cut
cut:
  ; A piece is a whole number of units.
  %cuts = mul i64 %threads, {PIECES}
  %span = mul i64 %cuts, %unit
  %count.up = add i64 %count, %span
  %count.less = sub i64 %count.up, 1
  %piece.units = sdiv i64 %count.less, %span
  %piece = mul i64 %piece.units, %unit
  %pieces.up = add i64 %count, %piece
  %pieces.less = sub i64 %pieces.up, 1
  %pieces = sdiv i64 %pieces.less, %piece
  %most = call i64 @llvm.smin.i64(i64 %threads, i64 %pieces)
  %helpers = sub i64 %most, 1
{_load(frames.Frame, "api", "%frame", "api")}{_load(frames.Frame, "context", "%frame", "xla")}\
{_load(frames.Api, "schedule", "%api", "schedule")}{_load(frames.Api, "error_destroy", "%api", "destroy")}\
{_put("readers", "1")}{_put("wanted", "%helpers")}{_put("next", "0")}{_put("done", "0")}\
{_put("pieces", "%pieces")}{_put("piece", "%piece")}{_put("count", "%count")}\
{_put("context", "%context", "ptr")}{_put("a", "%a", "ptr")}{_put("b", "%b", "ptr")}{_put("c", "%c", "ptr")}\
{_put("xla", "%xla", "ptr")}{_put("schedule", "%schedule", "ptr")}{_put("destroy", "%destroy", "ptr")}\
  call void @work(ptr %job)
  br label %wait
wait:
  %done = load atomic i64, ptr %job.done acquire, align 8
  %all = icmp eq i64 %done, %pieces
  br i1 %all, label %out, label %yield
yield:
  %yielded = call i32 @sched_yield()
  br label %wait
out:
  call void @leave(ptr %job)
  ret void
}}

declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @sched_yield()
declare i64 @llvm.smin.i64(i64, i64)
"""

_CPU = f"""
define ptr @cpu(ptr %frame) {{
entry:
{_begin(0)}\
run:
  %plan = call i64 @find(ptr %frame, i64 0)
{_PLANNED}\
  %a.ptr = inttoptr i64 %a.here to ptr
  %b.ptr = inttoptr i64 %b.here to ptr
  %c.ptr = inttoptr i64 %c.here to ptr
  call void @share(ptr %frame, ptr %context, ptr %a.ptr, ptr %b.ptr, ptr %c.ptr, i64 %threads)
  br label %done
done:
  %i.next = add i64 %i, 1
  br label %each
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
{_begin(frames.FIT_FOR_COMMAND_BUFFERS)}\
run:
{_load(frames.Frame, "api", "%frame", "api")}{_load(frames.Frame, "context", "%frame", "xla")}\
{_ask("device_ordinal", "i32", "%device.asked")}\
{_ask("stream_get", "i64", "%stream.asked")}\
  %device = sext i32 %device_ordinal.found to i64
  %plan = call i64 @find(ptr %frame, i64 %device)
{_PLANNED}\
  %roomless = icmp eq i64 %room, 0
  br i1 %roomless, label %alone, label %within
alone:
  %code.alone = call i32 %function(ptr %context, i64 %a.here, i64 %b.here, i64 %c.here, i64 %stream_get.found)
  br label %called
within:
  ; The workspace is the second result, which nobody reads.
{_load(frames.Values, "size", "%rets", "results", "i64")}\
  %both = icmp eq i64 %results, 2
  br i1 %both, label %roomy, label %lacking
lacking:
  %lacked = call ptr @error(ptr %frame, ptr @odd, i32 {frames.INVALID_ARGUMENT})
  ret ptr %lacked
roomy:
  %space = call i64 @data(ptr %rets, i64 1)
  %code.within = call i32 %function(ptr %context, i64 %a.here, i64 %b.here, i64 %c.here, \
i64 %stream_get.found, i64 %space)
  br label %called
called:
  %code = phi i32 [ %code.alone, %alone ], [ %code.within, %roomy ]
  %started = icmp eq i32 %code, 0
  br i1 %started, label %done, label %broken
done:
  %i.next = add i64 %i, 1
  br label %each
broken:
  %python = load ptr, ptr @failed
  %why = call ptr %python(i32 %code)
  %unstarted = call ptr @error(ptr %frame, ptr %why, i32 {frames.INTERNAL})
  ret ptr %unstarted
}}
"""

ENTRIES = ("setup", "cpu", "cuda")
TEXT = _COMMON + multiplying.PART + _SHARED + _CPU + _CUDA
"""The whole program, whose entries these are."""
