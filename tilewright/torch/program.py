"""The program behind compiled entries in PyTorch's tables, as LLVM IR: see ``entries``.

``read`` asks a tensor, ``find`` looks a key up, ``put`` adds a row, ``serve`` is what every entry does.
Tensors come as *handles*, pointers to PyTorch's own objects, and are asked by functions of PyTorch's whose
addresses are words of the entry's context.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.runtime.words import put, word

AXES = 3
"""The most axes of an operand."""
KEY = 1 + 3 * 2 * AXES + 2
"""Words of a key: kind of call, types, devices and alignment in one; sizes and strides of a, b and out or c;
beta and alpha as numbers of 64 bits, 0 where there are none."""
ROWS = 1 << 13
"""Rows of a table. Half of them at most are ever used, so that one that is not there is soon known."""
ROW = [
    *(f"key{at}" for at in range(KEY)),
    "launch",
    "context",
    "calls",
    *(f"size{at}" for at in range(AXES)),
    *(f"step{at}" for at in range(AXES)),
    *("low_a", "low_b", "high_a", "high_b"),
    "asks",
    "copies",
]
"""The words of a row. ``launch`` is a function of ``context``, three addresses and a stream that returns 0;
where it is 0 itself, PyTorch's kernel runs, or Python is asked where ``asks`` is not 0. ``calls`` counts.
Then come sizes and strides of a result, and how far one that is given has to lie from a and b
(``device_calls.distances``). In ``copies`` bit 0 says that a is to be copied by rows first, bit 1 that b
is."""
CONTEXT = [
    *("table", "which", "axes", "device", "small", "longest", "several", "smalls", "others"),
    *("fallback", "ask", "stream", "current", "dim", "sizes", "strides", "dtype", "index", "kind", "data"),
    *("lazy", "empty", "blank", "delete", "copy"),
]
"""The words of what an entry knows. ``small``: elements of both operands up to which a call is not looked at;
``longest``: of m, n and k one at most may be longer."""
ENTRIES = {"bmm": ("bmm", 3, 2), "bmm.out": ("bmm_outf", 3, 3), "mm": ("mm", 2, 2)}
"""By name of the operator: PyTorch's function, the axes of an operand, and how many tensors it takes."""
ADDED = "added"
"""The entry of an operator of ours: PyTorch's interface for C knows no scalars of any type, so ``baddbmm`` is
replaced by a kernel in Python, which calls this one."""
KINDS = {"CPU": ("cpu", 0), "CUDA": ("cuda", 1)}
"""By dispatch key: the namespace of PyTorch's functions, and its number of the kind of device."""
LAZY = (8, 9, 10)
"""PyTorch's numbers of the complex types, whose conjugation may have been put off."""
HASH = 0x9E3779B97F4A7C15


def _at(names: Sequence[str], name: str, of: str, value: str, kind: str = "i64") -> str:
    return word(names.index(name), of, value, kind)


def _known(name: str, kind: str = "ptr") -> str:
    """IR that loads a word of the context to a value of its name."""
    return _at(CONTEXT, name, "%context", name, kind)


def _of_row(name: str, kind: str = "i64") -> str:
    return _at(ROW, name, "%row", name, kind)


def _counted(name: str) -> str:
    """IR that adds one to a word of the context."""
    at = f"%{name}.count.at"
    return (
        f"  {at} = getelementptr i64, ptr %context, i64 {CONTEXT.index(name)}\n"
        f"  %{name}.before = atomicrmw add ptr {at}, i64 1 monotonic\n"
    )


_CLEARED = "".join(put(at, "%key", "0", f"zero.{at}") for at in range(KEY))
"""IR that makes a key of zeros."""
_STREAM = f"""\
  store i64 0, ptr %stream.to
{_known("stream")}\
  %streamed = icmp ne ptr %stream, null
  br i1 %streamed, label %current.stream, label %start
current.stream:
  %stream.code = call i32 %stream(i32 %index, ptr %stream.to)
  br label %start
start:
  %stream.value = load i64, ptr %stream.to
"""
"""IR that asks for the current stream of the device ``index``, 0 of a processor."""


def _type(info: str) -> str:
    """IR of PyTorch's number of the type of a tensor, by what ``read`` says of that."""
    return f"""\
  %type.wide = and i64 {info}, 255
  %type = trunc i64 %type.wide to i32
"""


def _index(info: str) -> str:
    """IR of the number of a tensor's device, by what ``read`` says of that."""
    return f"""\
  %index.up = lshr i64 {info}, 8
  %index.wide = and i64 %index.up, 127
  %index = trunc i64 %index.wide to i32
"""


def _made(data: str, to: str, failed: str) -> str:
    """IR that makes the result that a row says, by the type of a, and puts its address to ``to`` by the
    function ``data``; it goes on at ``failed`` without memory."""
    return f"""\
  %sizes.at = getelementptr i64, ptr %row, i64 {ROW.index("size0")}
  %steps.at = getelementptr i64, ptr %row, i64 {ROW.index("step0")}
{_type("%a.info")}\
  %device.short = trunc i64 %device to i32
  %empty.code = call i32 %empty(i64 %axes, ptr %sizes.at, ptr %steps.at, i32 %type, i32 %device.short, \
i32 %index, ptr %hold)
  %empty.made = icmp eq i32 %empty.code, 0
  br i1 %empty.made, label %address, label %{failed}
address:
  %made = load ptr, ptr %hold
  %made.code = call i32 %{data}(ptr %made, ptr %{to})
"""


def _read() -> str:
    """``read``: sizes, strides and address of a tensor; its type and device as one number, -1 for another."""
    asked = ("sizes", "strides", "dtype", "index", "kind", "data")
    calls = "".join(
        f"{_known(name)}  %{name}.code = call i32 %{name}(ptr %tensor, ptr %{name}.to)\n" for name in asked
    )
    codes = "".join(
        f"  %codes.{at} = or i32 %codes.{at - 1}, %{name}.code\n" for at, name in enumerate(asked, 1)
    )
    lazy = "".join(f"  %lazy.{at} = icmp eq i32 %dtype.value, {number}\n" for at, number in enumerate(LAZY))
    return f"""
define internal i64 @read(ptr %context, ptr %tensor, ptr %to, ptr %data.to) uwtable {{
entry:
  %dim.to = alloca i64
  %sizes.to = alloca ptr
  %strides.to = alloca ptr
  %dtype.to = alloca i32
  %index.to = alloca i32
  %kind.to = alloca i32
{_known("dim")}{_known("axes", "i64")}{_known("device", "i64")}\
  %codes.0 = call i32 %dim(ptr %tensor, ptr %dim.to)
  %dim.value = load i64, ptr %dim.to
  %dim.fits = icmp eq i64 %dim.value, %axes
  br i1 %dim.fits, label %ask, label %other
ask:
{calls}{codes}\
  %known = icmp eq i32 %codes.{len(asked)}, 0
  br i1 %known, label %copy, label %other
copy:
  %from.sizes = load ptr, ptr %sizes.to
  %from.strides = load ptr, ptr %strides.to
  br label %axis
axis:
  %i = phi i64 [ 0, %copy ], [ %i.next, %axis ]
  %size.at = getelementptr i64, ptr %from.sizes, i64 %i
  %size = load i64, ptr %size.at
  %stride.at = getelementptr i64, ptr %from.strides, i64 %i
  %stride = load i64, ptr %stride.at
  %size.to = getelementptr i64, ptr %to, i64 %i
  store i64 %size, ptr %size.to
  %stride.to = getelementptr i64, ptr %size.to, i64 {AXES}
  store i64 %stride, ptr %stride.to
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %axes
  br i1 %more, label %axis, label %kinds
kinds:
  %dtype.value = load i32, ptr %dtype.to
  %index.value = load i32, ptr %index.to
  %kind.value = load i32, ptr %kind.to
  %data.value = load i64, ptr %data.to
  %kind.wide = sext i32 %kind.value to i64
  %kind.fits = icmp eq i64 %kind.wide, %device
  %data.fits = icmp ne i64 %data.value, 0
  %fits = and i1 %kind.fits, %data.fits
  br i1 %fits, label %type, label %other
type:
{lazy}\
  %lazy.01 = or i1 %lazy.0, %lazy.1
  %complex = or i1 %lazy.01, %lazy.2
  br i1 %complex, label %look, label %done
look:
{_known("lazy")}\
  %conjugate.byte = call i8 %lazy(ptr %tensor)
  %conjugate.bit = and i8 %conjugate.byte, 1
  %conjugate.wide = zext i8 %conjugate.bit to i64
  br label %done
done:
  %conjugate = phi i64 [ 0, %type ], [ %conjugate.wide, %look ]
  %dtype.wide = zext i32 %dtype.value to i64
  %index.byte = and i32 %index.value, 127
  %index.wide = zext i32 %index.byte to i64
  %index.up = shl i64 %index.wide, 8
  %conjugate.up = shl i64 %conjugate, 15
  %info.1 = or i64 %dtype.wide, %index.up
  %info = or i64 %info.1, %conjugate.up
  ret i64 %info
other:
  ret i64 -1
}}
"""


def _packed() -> str:
    """``packed``: a copy of a tensor by rows, and its address, 0 without memory; ``release`` deletes it."""
    return f"""
define internal i64 @packed(ptr %context, ptr %tensor, ptr %sizes, i64 %info, i64 %wanted, i64 %address, \
ptr %hold) uwtable {{
entry:
  %steps = alloca [{AXES} x i64]
  %at = alloca i64
  store ptr null, ptr %hold
  %copies = icmp ne i64 %wanted, 0
  br i1 %copies, label %begin, label %same
same:
  ret i64 %address
begin:
{_known("axes", "i64")}{_known("empty")}{_known("device", "i64")}{_known("data")}{_known("copy")}\
  br label %step
step:
  %left = phi i64 [ %axes, %begin ], [ %axis, %step ]
  %size = phi i64 [ 1, %begin ], [ %size.next, %step ]
  %axis = sub i64 %left, 1
  %step.to = getelementptr i64, ptr %steps, i64 %axis
  store i64 %size, ptr %step.to
  %extent.at = getelementptr i64, ptr %sizes, i64 %axis
  %extent = load i64, ptr %extent.at
  %size.next = mul i64 %size, %extent
  %more = icmp ugt i64 %axis, 0
  br i1 %more, label %step, label %make
make:
{_type("%info")}\
{_index("%info")}\
  %device.short = trunc i64 %device to i32
  %empty.code = call i32 %empty(i64 %axes, ptr %sizes, ptr %steps, i32 %type, i32 %device.short, \
i32 %index, ptr %hold)
  %made = icmp eq i32 %empty.code, 0
  br i1 %made, label %fill, label %failed
fill:
  %room = load ptr, ptr %hold
  %copy.code = call i32 %copy(ptr %room, ptr %tensor, i32 0)
  %data.code = call i32 %data(ptr %room, ptr %at)
  %codes = or i32 %copy.code, %data.code
  %filled = icmp eq i32 %codes, 0
  br i1 %filled, label %done, label %failed
done:
  %found = load i64, ptr %at
  ret i64 %found
failed:
  ret i64 0
}}

define internal void @release(ptr %context, ptr %hold) uwtable {{
entry:
  %made = load ptr, ptr %hold
  %some = icmp ne ptr %made, null
  br i1 %some, label %delete.it, label %done
delete.it:
{_known("delete")}\
  %code = call i32 %delete(ptr %made)
  br label %done
done:
  ret void
}}
"""


def _find() -> str:
    """``find``: the row of a key, or the empty one that it would be in; ``put``: add a row."""
    return f"""
define internal ptr @find(ptr %table, ptr %key) {{
entry:
  br label %mix
mix:
  %i = phi i64 [ 0, %entry ], [ %i.next, %mix ]
  %hash = phi i64 [ 0, %entry ], [ %hash.next, %mix ]
  %word.at = getelementptr i64, ptr %key, i64 %i
  %word = load i64, ptr %word.at
  %mixed = xor i64 %hash, %word
  %spread = mul i64 %mixed, {HASH}
  %high = lshr i64 %spread, 29
  %hash.next = xor i64 %spread, %high
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, {KEY}
  br i1 %more, label %mix, label %probe
probe:
  %number = phi i64 [ %hash.next, %mix ], [ %number.next, %next ]
  %slot = and i64 %number, {ROWS - 1}
  %skipped = mul i64 %slot, {len(ROW)}
  %row = getelementptr i64, ptr %table, i64 %skipped
  %first = load atomic i64, ptr %row acquire, align 8
  %free = icmp eq i64 %first, 0
  br i1 %free, label %done, label %compare
compare:
  %j = phi i64 [ 0, %probe ], [ %j.next, %same ]
  %mine.at = getelementptr i64, ptr %key, i64 %j
  %mine = load i64, ptr %mine.at
  %its.at = getelementptr i64, ptr %row, i64 %j
  %its = load i64, ptr %its.at
  %equal = icmp eq i64 %mine, %its
  br i1 %equal, label %same, label %next
same:
  %j.next = add i64 %j, 1
  %rest = icmp ult i64 %j.next, {KEY}
  br i1 %rest, label %compare, label %done
next:
  %number.next = add i64 %number, 1
  br label %probe
done:
  ret ptr %row
}}

define ptr @put(ptr %table, ptr %from) {{
entry:
  %row = call ptr @find(ptr %table, ptr %from)
  br label %copy
copy:
  %i = phi i64 [ 1, %entry ], [ %i.next, %copy ]
  %from.at = getelementptr i64, ptr %from, i64 %i
  %value = load i64, ptr %from.at
  %to.at = getelementptr i64, ptr %row, i64 %i
  store i64 %value, ptr %to.at
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, {len(ROW)}
  br i1 %more, label %copy, label %publish
publish:
  %first = load i64, ptr %from
  store atomic i64 %first, ptr %row release, align 8
  ret ptr %row
}}
"""


def _looked_up(third: str, served: str, passed: str) -> str:
    """IR that makes the first word of a key, whose third tensor has that name, and looks the key up: it goes
    on at ``served`` with a row that launches, and at ``passed`` where PyTorch's kernel is to run."""
    return f"""\
  %b.up = shl i64 %b.info, 16
  %{third}.up = shl i64 %{third}.info, 32
  %lies.up = shl i64 %lies, 48
  %which.up = shl i64 %which, 52
  %word.1 = or i64 %a.info, %b.up
  %word.2 = or i64 %{third}.up, %lies.up
  %word.3 = or i64 %word.1, %word.2
  %word.4 = or i64 %word.3, %which.up
  %word = or i64 %word.4, {-(1 << 63)}
  store i64 %word, ptr %key
  %row = call ptr @find(ptr %table, ptr %key)
  %first = load i64, ptr %row
  %new = icmp eq i64 %first, 0
  br i1 %new, label %question, label %known
known:
  %calls.at = getelementptr i64, ptr %row, i64 {ROW.index("calls")}
  %calls = atomicrmw add ptr %calls.at, i64 1 monotonic
{_of_row("launch", "ptr")}{_of_row("context", "ptr").replace("%context", "%its.context")}{_of_row("asks")}\
  %launches = icmp ne ptr %launch, null
  br i1 %launches, label %where, label %unlaunched
unlaunched:
  %python = icmp ne i64 %asks, 0
  br i1 %python, label %question, label %{passed}
where:
{_index("%a.info")}\
{_known("several", "i64")}\
  %alone = icmp eq i64 %several, 0
  br i1 %alone, label %{served}, label %which.one
which.one:
{_known("current")}\
  %current.code = call i32 %current(ptr %current.to)
  %current.index = load i32, ptr %current.to
  %current.same = icmp eq i32 %current.index, %index
  br i1 %current.same, label %{served}, label %{passed}
"""


def _serve() -> str:
    """``serve``: a call of any entry."""
    keys = "".join(
        f"  %{name}.key = getelementptr i64, ptr %key, i64 {1 + at * 2 * AXES}\n"
        for at, name in enumerate(("a", "b", "out"))
    )

    def apart(name: str) -> str:
        return f"""\
{_of_row(f"low_{name}")}{_of_row(f"high_{name}")}\
  %{name}.first = add i64 %out.given, %low_{name}
  %{name}.last = add i64 %out.given, %high_{name}
  %{name}.after = icmp sge i64 %{name}.first, %{name}.address
  %{name}.before = icmp sle i64 %{name}.last, %{name}.address
  %{name}.apart = or i1 %{name}.after, %{name}.before
"""

    return f"""
define internal void @serve(ptr %context, ptr %stack, i64 %given) uwtable \
personality ptr @__gxx_personality_v0 {{
entry:
  %key = alloca [{KEY} x i64], align 16
  %a.data = alloca i64
  %b.data = alloca i64
  %out.data = alloca i64
  %hold = alloca ptr
  %a.hold = alloca ptr
  %b.hold = alloca ptr
  %stream.to = alloca i64
  %current.to = alloca i32
  %a = load ptr, ptr %stack
  %b.at = getelementptr ptr, ptr %stack, i64 1
  %b = load ptr, ptr %b.at
  %writes = icmp eq i64 %given, 3
{_CLEARED}{keys}\
  store i64 0, ptr %out.data
  br i1 %writes, label %third, label %two
third:
  %out.at = getelementptr ptr, ptr %stack, i64 2
  %out.tensor = load ptr, ptr %out.at
  br label %two
two:
  %out = phi ptr [ null, %entry ], [ %out.tensor, %third ]
  %a.info = call i64 @read(ptr %context, ptr %a, ptr %a.key, ptr %a.data)
  %b.info = call i64 @read(ptr %context, ptr %b, ptr %b.key, ptr %b.data)
  br i1 %writes, label %into, label %looked
into:
  %out.read = call i64 @read(ptr %context, ptr %out, ptr %out.key, ptr %out.data)
  br label %looked
looked:
  %out.info = phi i64 [ 0, %two ], [ %out.read, %into ]
  %infos.1 = or i64 %a.info, %b.info
  %infos = or i64 %infos.1, %out.info
  %strange = icmp slt i64 %infos, 0
  br i1 %strange, label %other, label %measure
other:
{_counted("others")}\
  br label %pass

measure:
{_known("axes", "i64")}{_known("small", "i64")}{_known("longest", "i64")}\
  %last = sub i64 %axes, 1
  %last.but = sub i64 %axes, 2
  %m.at = getelementptr i64, ptr %a.key, i64 %last.but
  %m = load i64, ptr %m.at
  %k.at = getelementptr i64, ptr %a.key, i64 %last
  %k = load i64, ptr %k.at
  %n.at = getelementptr i64, ptr %b.key, i64 %last
  %n = load i64, ptr %n.at
  %m.long = icmp sgt i64 %m, %longest
  %n.long = icmp sgt i64 %n, %longest
  %k.long = icmp sgt i64 %k, %longest
  %long.1 = and i1 %m.long, %n.long
  %long.2 = and i1 %m.long, %k.long
  %long.3 = and i1 %n.long, %k.long
  %long.12 = or i1 %long.1, %long.2
  %long = or i1 %long.12, %long.3
  br i1 %long, label %other.long, label %little
other.long:
{_counted("others").replace("%others", "%others.long")}\
  br label %pass
little:
  %batched = icmp eq i64 %axes, 3
  %batch.first = load i64, ptr %a.key
  %batch = select i1 %batched, i64 %batch.first, i64 1
  %mk = mul i64 %m, %k
  %kn = mul i64 %k, %n
  %elements.1 = add i64 %mk, %kn
  %elements = mul i64 %elements.1, %batch
  %few = icmp sle i64 %elements, %small
  br i1 %few, label %unseen, label %look
unseen:
{_counted("smalls")}\
  br label %pass

look:
{_known("table")}{_known("which", "i64")}\
  %a.address = load i64, ptr %a.data
  %b.address = load i64, ptr %b.data
  %out.given = load i64, ptr %out.data
  %lies.1 = or i64 %a.address, %b.address
  %lies.2 = or i64 %lies.1, %out.given
  %lies = and i64 %lies.2, 15
{_looked_up("out", "target", "pass")}\
target:
  br i1 %writes, label %overlap, label %make
overlap:
{apart("a")}{apart("b")}\
  %apart = and i1 %a.apart, %b.apart
  br i1 %apart, label %streams, label %pass
make:
{_known("empty")}{_known("device", "i64")}{_known("data").replace("%data", "%data.of")}\
{_made("data.of", "out.data", "pass")}\
  br label %streams
streams:
  %result = phi ptr [ %out, %overlap ], [ %made, %address ]
  %out.address = load i64, ptr %out.data
{_of_row("copies")}\
  %copying = icmp ne i64 %copies, 0
  br i1 %copying, label %copy, label %ready
copy:
  %copies.a = and i64 %copies, 1
  %copies.b = and i64 %copies, 2
  %a.packed = call i64 @packed(ptr %context, ptr %a, ptr %a.key, i64 %a.info, i64 %copies.a, \
i64 %a.address, ptr %a.hold)
  %b.packed = call i64 @packed(ptr %context, ptr %b, ptr %b.key, i64 %b.info, i64 %copies.b, \
i64 %b.address, ptr %b.hold)
  %a.there = icmp ne i64 %a.packed, 0
  %b.there = icmp ne i64 %b.packed, 0
  %there = and i1 %a.there, %b.there
  br i1 %there, label %ready, label %release
ready:
  %x = phi i64 [ %a.address, %streams ], [ %a.packed, %copy ]
  %y = phi i64 [ %b.address, %streams ], [ %b.packed, %copy ]
{_STREAM}\
  %launched = call i32 %launch(ptr %its.context, i64 %x, i64 %y, i64 %out.address, i64 %stream.value)
  br i1 %copying, label %release, label %judge
release:
  %release.code = phi i32 [ 1, %copy ], [ %launched, %start ]
  call void @release(ptr %context, ptr %a.hold)
  call void @release(ptr %context, ptr %b.hold)
  br label %judge
judge:
  %code = phi i32 [ %launched, %start ], [ %release.code, %release ]
  %started = icmp eq i32 %code, 0
  br i1 %started, label %done, label %refused
refused:
  br i1 %writes, label %question, label %drop
drop:
{_known("delete").replace("%delete", "%delete.made")}\
  %drop.code = call i32 %delete.made(ptr %result)
  br label %question
question:
  %again = phi i64 [ 0, %look ], [ 1, %unlaunched ], [ 1, %refused ], [ 1, %drop ]
{_known("ask")}\
  %answer = call i64 %ask(i64 %which, i64 %again, ptr %key, ptr %a, ptr %b, ptr %out)
  %answered = icmp ne i64 %answer, 0
  br i1 %answered, label %take, label %pass
take:
  %answer.handle = inttoptr i64 %answer to ptr
  %taken = select i1 %writes, ptr %out, ptr %answer.handle
  br label %done

pass:
{_known("fallback")}\
  br i1 %writes, label %pass.into, label %pass.new
pass.into:
  %same = invoke ptr %fallback(ptr %a, ptr %b, ptr %out) to label %done unwind label %fail
pass.new:
{_known("blank")}\
  %blank.code = call i32 %blank(ptr %hold)
  %room = load ptr, ptr %hold
  invoke void %fallback(ptr sret(i8) %room, ptr %a, ptr %b) to label %done unwind label %fail
done:
  %returned = phi ptr [ %result, %judge ], [ %taken, %take ], [ %out, %pass.into ], [ %room, %pass.new ]
{_known("delete")}\
  store ptr %returned, ptr %stack
  %a.gone = call i32 %delete(ptr %a)
  %b.gone = call i32 %delete(ptr %b)
  ret void
fail:
  %kept = phi ptr [ %out, %pass.into ], [ %room, %pass.new ]
  %exception = landingpad {{ ptr, i32 }} cleanup
{_known("delete").replace("%delete", "%delete.failed")}\
  %a.failed = call i32 %delete.failed(ptr %a)
  %b.failed = call i32 %delete.failed(ptr %b)
  %kept.failed = call i32 %delete.failed(ptr %kept)
  resume {{ ptr, i32 }} %exception
}}

declare i32 @__gxx_personality_v0(...)
"""


def _add() -> str:
    """``add``: a call of ``added``, of c, a, b, beta and alpha. The result is a new tensor, or a itself where
    nothing was done."""
    keys = "".join(
        f"  %{name}.key = getelementptr i64, ptr %key, i64 {1 + at * 2 * AXES}\n"
        f"  %{name}.info = call i64 @read(ptr %context, ptr %{name}, ptr %{name}.key, ptr %{name}.data)\n"
        for at, name in enumerate(("a", "b", "c"))
    )
    given = "".join(
        f"  %{name}.at = getelementptr ptr, ptr %stack, i64 {at}\n  %{name} = load ptr, ptr %{name}.at\n"
        for at, name in enumerate(("c", "a", "b"))
    )
    scalars = "".join(
        word(3 + at, "%stack", name, "i64") + put(KEY - 2 + at, "%key", f"%{name}", f"{name}.key")
        for at, name in enumerate(("beta", "alpha"))
    )
    return f"""
define internal void @add(ptr %context, ptr %stack) uwtable {{
entry:
  %key = alloca [{KEY} x i64], align 16
  %a.data = alloca i64
  %b.data = alloca i64
  %c.data = alloca i64
  %hold = alloca ptr
  %stream.to = alloca i64
  %current.to = alloca i32
{given}{_CLEARED}{scalars}{keys}\
  %infos.1 = or i64 %a.info, %b.info
  %infos = or i64 %infos.1, %c.info
  %strange = icmp slt i64 %infos, 0
  br i1 %strange, label %other, label %look
other:
{_counted("others")}\
  br label %nothing
look:
{_known("table")}{_known("which", "i64")}\
  %a.address = load i64, ptr %a.data
  %b.address = load i64, ptr %b.data
  %lies.both = or i64 %a.address, %b.address
  %lies = and i64 %lies.both, 15
{_looked_up("c", "make", "nothing")}\
make:
{_known("empty")}{_known("device", "i64")}{_known("data")}{_known("copy")}{_known("axes", "i64")}\
{_made("data", "c.data", "nothing")}\
  %out.address = load i64, ptr %c.data
  %reads = icmp ne i64 %beta, 0
  br i1 %reads, label %copying, label %streams
copying:
  %copy.code = call i32 %copy(ptr %made, ptr %c, i32 0)
  %copied = icmp eq i32 %copy.code, 0
  br i1 %copied, label %streams, label %drop
streams:
{_STREAM}\
  %code = call i32 %launch(ptr %its.context, i64 %a.address, i64 %b.address, i64 %out.address, \
i64 %stream.value)
  %started = icmp eq i32 %code, 0
  br i1 %started, label %done, label %drop
drop:
{_known("delete").replace("%delete", "%delete.made")}\
  %drop.code = call i32 %delete.made(ptr %made)
  br label %nothing
question:
  %again = phi i64 [ 0, %look ], [ 1, %unlaunched ]
{_known("ask")}\
  %answer = call i64 %ask(i64 %which, i64 %again, ptr %key, ptr %a, ptr %b, ptr %c)
  %answered = icmp ne i64 %answer, 0
  %taken = inttoptr i64 %answer to ptr
  br i1 %answered, label %done, label %nothing
done:
  %result = phi ptr [ %made, %start ], [ %taken, %question ]
{_known("delete").replace("%delete", "%delete.a")}\
  %a.gone = call i32 %delete.a(ptr %a)
  br label %end
nothing:
  br label %end
end:
  %returned = phi ptr [ %result, %done ], [ %a, %nothing ]
{_known("delete")}\
  store ptr %returned, ptr %stack
  %b.gone = call i32 %delete(ptr %b)
  %c.gone = call i32 %delete(ptr %c)
  ret void
}}
"""


def named(kind: str, name: str) -> str:
    return f"{kind}_{name.replace('.', '_')}".lower()


def _entry(name: str, call: str) -> str:
    """An entry with a context of its own, and where that is."""
    return f"""
@{name}.context = internal global [{len(CONTEXT)} x i64] zeroinitializer, align 64
define ptr @{name}_at() {{
  ret ptr @{name}.context
}}
define void @{name}(ptr %stack, i64 %given, i64 %returned) uwtable {{
  call void {call}
  ret void
}}
"""


def text() -> str:
    """The program: an entry by operator and kind of device."""
    products = (named(kind, operator) for kind in KINDS for operator in ENTRIES)
    sums = (named(kind, ADDED) for kind in KINDS)
    entries = [
        *(_entry(name, f"@serve(ptr @{name}.context, ptr %stack, i64 %given)") for name in products),
        *(_entry(name, f"@add(ptr @{name}.context, ptr %stack)") for name in sums),
    ]
    return "".join([_read(), _packed(), _find(), _serve(), _add(), *entries])
