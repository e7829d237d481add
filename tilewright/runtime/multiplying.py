"""The text of the program between a call on NumPy's arrays and a kernel: ``fastcall_cpu`` compiles it.

It reads a *context*, 64-bit words by the names in ``WORDS``; behind them, for each array of the call, its
rank and as many extents and byte strides as ``RANK_MAX`` allows; and behind those, for each batch axis that
the kernel does not know, its extent and its byte strides in the kernel's operands and the result. Array
objects are read by the offsets of their fields.
"""

from __future__ import annotations

from tilewright.runtime.compiled import BYTES_HEAD
from tilewright.runtime.words import field, word
from tilewright.stencils.cpu.ir import LAYOUT_WORDS

WORDS = [
    "kernel",
    "scalar0",
    "scalar1",
    "scalar2",
    "scalar3",
    *LAYOUT_WORDS,
    "stride_a",
    "stride_b",
    "stride_c",
    "count",
    "outer",
    "itemsize",
    "threads",
    "alone",
    "unit",
    "swap",
    "release",
    "array_type",
    "descr",
    "not_implemented",
    "save_thread",
    "restore_thread",
    "incref",
    "parallel",
    "thread_num",
    "num_threads",
    "teams_allowed",
    "clock",
    "low0",
    "high0",
    "low1",
    "high1",
    "low2",
    "high2",
]
AT = {name: index for index, name in enumerate(WORDS)}
RANK_MAX = 8
# A core's share of a batch is cut in this many pieces, so that a core that is free can take over from
# one that the system has put to sleep or given to somebody else.
PIECES = 4
LINE_WORDS = 8
AWAKE = 1_000_000
"""Nanoseconds after a batch for which the threads of a team still wait for the next one awake, by any OpenMP
runtime's own rules: libgomp's do so for some milliseconds."""
LITTLE, SIZES = 900_000, 5
"""Nanoseconds that a batch takes one thread, by what kernels are counted on to do, up to which a team that
sleeps is not woken for it, and how often that doubles until it always is. Between them it is found out, for
each doubling: calls behind pauses of 20 ms took 0.23 ms more by 16 threads of a Xeon than calls in a row, and
on two cores of a virtual machine (Zen 3) 7 ms, as a thread that is woken may get the core on which the caller
waits for it."""
ONE, SLOW, HOPED, WORST = 1 << 16, 2 << 16, 3 << 14, 8 << 16
"""Times that a team takes which is woken, of what one thread is counted on to take: as long, from when on it
is not woken (where pages are touched first, either takes longer), what is expected where nothing was seen, or
long ago, and the most that one time says."""
NEW, FORGOTTEN = 2, 8
"""What is known moves by a fourth to what a team took, and by a 256th to what is hoped where none was woken:
one that took six times as long is tried again after some 150 such batches."""
ARRAY_WORDS = 1 + 2 * RANK_MAX
AXES_AT = len(WORDS) + 3 * ARRAY_WORDS
AXIS_WORDS = 4

# Byte offsets in a NumPy array object.
DATA, RANK, SHAPE, STRIDES, DESCR, FLAGS = 16, 24, 32, 40, 56, 64
ALIGNED, WRITEABLE = 0x100, 0x400


def _word(name: str, pointer: str, value: str, kind: str = "i64") -> str:
    """IR that loads a word of the context by its name."""
    return word(AT[name], pointer, value, kind)


PART = f"""
define internal void @part(ptr %context, ptr %a, ptr %b, ptr %c, i64 %first, i64 %count) {{
entry:
{_word("kernel", "%context", "kernel", "ptr")}{_word("itemsize", "%context", "size")}\
{_word("stride_a", "%context", "sa")}{_word("stride_b", "%context", "sb")}\
{_word("stride_c", "%context", "sc")}\
  %scalars = getelementptr i64, ptr %context, i64 {AT["scalar0"]}
  %skip = mul i64 %first, %size
  %a.skip = mul i64 %skip, %sa
  %b.skip = mul i64 %skip, %sb
  %c.skip = mul i64 %skip, %sc
  %a.here = getelementptr i8, ptr %a, i64 %a.skip
  %b.here = getelementptr i8, ptr %b, i64 %b.skip
  %c.here = getelementptr i8, ptr %c, i64 %c.skip
  call void %kernel(ptr %a.here, ptr %b.here, ptr %c.here, \
i64 %sa, i64 %sb, i64 %sc, i64 %count, ptr %scalars)
  ret void
}}
"""
"""``part``: the kernel on some products of its batch."""

_SAME = f"""
define internal i1 @same(ptr %array, ptr %plan, ptr %context, i32 %need) {{
entry:
  %kind.at = getelementptr i8, ptr %array, i64 8
  %kind = load ptr, ptr %kind.at
{_word("array_type", "%context", "type", "ptr")}  %is.array = icmp eq ptr %kind, %type
  br i1 %is.array, label %fields, label %no
fields:
{field(RANK, "%array", "rank", "i32")}{field(DESCR, "%array", "descr", "ptr")}\
{field(FLAGS, "%array", "flags", "i32")}{field(SHAPE, "%array", "shape", "ptr")}\
{field(STRIDES, "%array", "strides", "ptr")}{_word("descr", "%context", "descr.plan", "ptr")}\
  %rank.plan = load i64, ptr %plan
  %rank.wide = sext i32 %rank to i64
  %rank.ok = icmp eq i64 %rank.wide, %rank.plan
  %descr.ok = icmp eq ptr %descr, %descr.plan
  %flags.has = and i32 %flags, %need
  %flags.ok = icmp eq i32 %flags.has, %need
  %ok.1 = and i1 %rank.ok, %descr.ok
  %ok.2 = and i1 %ok.1, %flags.ok
  br i1 %ok.2, label %axes, label %no
axes:
  %i = phi i64 [ 0, %fields ], [ %i.next, %axis ]
  %more = icmp slt i64 %i, %rank.plan
  br i1 %more, label %axis, label %yes
axis:
  %i.next = add i64 %i, 1
  %extent.at = getelementptr i64, ptr %shape, i64 %i
  %extent = load i64, ptr %extent.at
  %step.at = getelementptr i64, ptr %strides, i64 %i
  %step = load i64, ptr %step.at
  %extent.plan.at = getelementptr i64, ptr %plan, i64 %i.next
  %extent.plan = load i64, ptr %extent.plan.at
  %step.plan.at = getelementptr i64, ptr %extent.plan.at, i64 {RANK_MAX}
  %step.plan = load i64, ptr %step.plan.at
  %extent.ok = icmp eq i64 %extent, %extent.plan
  %step.ok = icmp eq i64 %step, %step.plan
  %axis.ok = and i1 %extent.ok, %step.ok
  br i1 %axis.ok, label %axes, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}
"""
"""``same``: whether an array is as planned."""

_APART = f"""
define internal i1 @apart(ptr %x, ptr %c, ptr %context, i64 %low.word) {{
entry:
{field(DATA, "%x", "x.data", "i64")}{field(DATA, "%c", "c.data", "i64")}\
{_word("low2", "%context", "c.low")}{_word("high2", "%context", "c.high")}\
  %x.low.at = getelementptr i64, ptr %context, i64 %low.word
  %x.low = load i64, ptr %x.low.at
  %x.high.at = getelementptr i64, ptr %x.low.at, i64 1
  %x.high = load i64, ptr %x.high.at
  %c.first = add i64 %c.data, %c.low
  %c.last = add i64 %c.data, %c.high
  %x.first = add i64 %x.data, %x.low
  %x.last = add i64 %x.data, %x.high
  %before = icmp ule i64 %x.last, %c.first
  %after = icmp ule i64 %c.last, %x.first
  %apart = or i1 %before, %after
  ret i1 %apart
}}
"""
"""``apart``: whether an operand and the result share no memory."""

_TEAM = f"""
define internal void @team(ptr %job) {{
entry:
  %context = load ptr, ptr %job
  %a.at = getelementptr ptr, ptr %job, i64 1
  %a = load ptr, ptr %a.at
  %b.at = getelementptr ptr, ptr %job, i64 2
  %b = load ptr, ptr %b.at
  %c.at = getelementptr ptr, ptr %job, i64 3
  %c = load ptr, ptr %c.at
  %taken.at = getelementptr ptr, ptr %job, i64 4
  %taken = load ptr, ptr %taken.at
{_word("thread_num", "%context", "thread_num", "ptr")}\
{_word("num_threads", "%context", "num_threads", "ptr")}\
{_word("count", "%context", "count")}{_word("unit", "%context", "unit")}\
  %me.short = call i32 %thread_num()
  %me = sext i32 %me.short to i64
  %all.short = call i32 %num_threads()
  %all = sext i32 %all.short to i64
  %units.up = add i64 %count, %unit
  %units.less = sub i64 %units.up, 1
  %units = sdiv i64 %units.less, %unit
  ; A share is a whole number of pieces, and a piece of units.
  %pieces = mul i64 %all, {PIECES}
  %piece.up = add i64 %units, %pieces
  %piece.less = sub i64 %piece.up, 1
  %piece.units = sdiv i64 %piece.less, %pieces
  %piece = mul i64 %piece.units, %unit
  br label %owners
owners:
  ; First the own share, then what is left of the others', the next one's first.
  %round = phi i64 [ 0, %entry ], [ %round.next, %owner.done ]
  %busy = icmp slt i64 %round, %all
  br i1 %busy, label %owner, label %idle
owner:
  %place = add i64 %me, %round
  %who = srem i64 %place, %all
  %line = mul i64 %who, {LINE_WORDS}
  %counter = getelementptr i64, ptr %taken, i64 %line
  %first.piece = mul i64 %who, {PIECES}
  br label %pieces.next
pieces.next:
  %number = atomicrmw add ptr %counter, i64 1 monotonic
  %some = icmp slt i64 %number, {PIECES}
  br i1 %some, label %work, label %owner.done
work:
  %which = add i64 %first.piece, %number
  %first = mul i64 %which, %piece
  %left = sub i64 %count, %first
  %mine = call i64 @llvm.smin.i64(i64 %left, i64 %piece)
  %any = icmp sgt i64 %mine, 0
  br i1 %any, label %run.it, label %owner.done
run.it:
  call void @part(ptr %context, ptr %a, ptr %b, ptr %c, i64 %first, i64 %mine)
  br label %pieces.next
owner.done:
  %round.next = add i64 %round, 1
  br label %owners
idle:
  ret void
}}
"""
"""``team``: what each thread of a team does."""

_WAKING = f"""
@last = internal global i64 0
@seen = internal global [{SIZES} x i64] [{", ".join([f"i64 {HOPED}"] * SIZES)}]

define internal i64 @now(ptr %context) {{
entry:
{_word("clock", "%context", "clock", "ptr")}\
  %time = alloca {{ i64, i64 }}
  %failed = call i32 %clock(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}

define internal ptr @seen.of(i64 %alone) {{
entry:
  %times = sdiv i64 %alone, {LITTLE}
  %zeros = call i64 @llvm.ctlz.i64(i64 %times, i1 false)
  %size = sub i64 63, %zeros
  %seen.at = getelementptr i64, ptr @seen, i64 %size
  ret ptr %seen.at
}}

define internal i64 @begun(ptr %context) {{
entry:
{_word("clock", "%context", "clock")}{_word("alone", "%context", "alone")}\
  %unknown = icmp eq i64 %clock, 0
  br i1 %unknown, label %awake, label %look
look:
  %now = call i64 @now(ptr %context)
  %before = atomicrmw xchg ptr @last, i64 %now monotonic
  %gap = sub i64 %now, %before
  %long = icmp sgt i64 %gap, {AWAKE}
  %much = icmp sge i64 %alone, {LITTLE << SIZES}
  %not.much = xor i1 %much, true
  %asks = and i1 %long, %not.much
  br i1 %asks, label %sleeps, label %awake
awake:
  ret i64 1
sleeps:
  %little = icmp slt i64 %alone, {LITTLE}
  br i1 %little, label %alone.it.is, label %between
between:
  %seen.at = call ptr @seen.of(i64 %alone)
  %seen = load atomic i64, ptr %seen.at monotonic, align 8
  %slow = icmp sgt i64 %seen, {SLOW}
  br i1 %slow, label %forget, label %wake
forget:
  %above = sub i64 %seen, {HOPED}
  %step = ashr i64 %above, {FORGOTTEN}
  %less = sub i64 %seen, %step
  store atomic i64 %less, ptr %seen.at monotonic, align 8
  br label %alone.it.is
alone.it.is:
  ret i64 0
wake:
  ret i64 %now
}}

define internal void @done(ptr %context, i64 %begun) {{
entry:
{_word("clock", "%context", "clock")}{_word("alone", "%context", "alone")}\
  %known = icmp ne i64 %clock, 0
  br i1 %known, label %note, label %end
note:
  %now = call i64 @now(ptr %context)
  store atomic i64 %now, ptr @last monotonic, align 8
  %slept = icmp sgt i64 %begun, 1
  br i1 %slept, label %learn, label %end
learn:
  %took = sub i64 %now, %begun
  %scaled = mul i64 %took, {ONE}
  %times = sdiv i64 %scaled, %alone
  %said = call i64 @llvm.smin.i64(i64 %times, i64 {WORST})
  %seen.at = call ptr @seen.of(i64 %alone)
  %seen = load atomic i64, ptr %seen.at monotonic, align 8
  %further = sub i64 %said, %seen
  %step = ashr i64 %further, {NEW}
  %then = add i64 %seen, %step
  store atomic i64 %then, ptr %seen.at monotonic, align 8
  br label %end
end:
  ret void
}}
"""
"""``begun``: 0 for a batch that one thread multiplies, as a team would have to be woken for it, of calls that
follow each other the second one wakes it; 1 for a team that is awake, or that is worth waking in any case;
else when one began that is woken. ``done``: it has ended; how long it took is remembered for batches of its
size (``seen``)."""

_BATCH = f"""
define internal void @batch(ptr %context, ptr %a, ptr %b, ptr %c) noinline {{
entry:
{_word("count", "%context", "count")}{_word("threads", "%context", "threads")}\
{_word("parallel", "%context", "parallel", "ptr")}{_word("teams_allowed", "%context", "flag", "ptr")}\
  %allowed = load i64, ptr %flag
  %several = icmp sgt i64 %threads, 1
  %open = icmp ne i64 %allowed, 0
  %split = and i1 %several, %open
  br i1 %split, label %awake, label %one
awake:
  %begun = call i64 @begun(ptr %context)
  %declined = icmp eq i64 %begun, 0
  br i1 %declined, label %one, label %many
one:
  call void @part(ptr %context, ptr %a, ptr %b, ptr %c, i64 0, i64 %count)
  ret void
many:
  %job = alloca [5 x ptr]
  %words = mul i64 %threads, {LINE_WORDS}
  %taken = alloca i64, i64 %words, align 64
  br label %clear
clear:
  %i = phi i64 [ 0, %many ], [ %i.next, %clear ]
  %cell = getelementptr i64, ptr %taken, i64 %i
  store i64 0, ptr %cell
  %i.next = add i64 %i, {LINE_WORDS}
  %more = icmp slt i64 %i.next, %words
  br i1 %more, label %clear, label %launch
launch:
  store ptr %context, ptr %job
  %a.at = getelementptr ptr, ptr %job, i64 1
  store ptr %a, ptr %a.at
  %b.at = getelementptr ptr, ptr %job, i64 2
  store ptr %b, ptr %b.at
  %c.at = getelementptr ptr, ptr %job, i64 3
  store ptr %c, ptr %c.at
  %taken.at = getelementptr ptr, ptr %job, i64 4
  store ptr %taken, ptr %taken.at
  %team.size = trunc i64 %threads to i32
  call void %parallel(ptr @team, ptr %job, i32 %team.size, i32 0)
  call void @done(ptr %context, i64 %begun)
  ret void
}}
"""
"""``batch``: all products that one stride covers, by one thread or a team. What a team needs is on the stack,
so it must be a function of its own where it is called in a loop."""

_ALONG = f"""
define internal void @along(ptr %context, ptr %axis, i64 %axes, ptr %a, ptr %b, ptr %c) {{
entry:
  %some = icmp sgt i64 %axes, 0
  br i1 %some, label %begin, label %last
last:
  call void @batch(ptr %context, ptr %a, ptr %b, ptr %c)
  ret void
begin:
{word(0, "%axis", "extent", "i64")}{word(1, "%axis", "step.a", "i64")}\
{word(2, "%axis", "step.b", "i64")}{word(3, "%axis", "step.c", "i64")}\
  %axis.next = getelementptr i64, ptr %axis, i64 {AXIS_WORDS}
  %axes.left = sub i64 %axes, 1
  br label %each
each:
  %i = phi i64 [ 0, %begin ], [ %i.next, %each ]
  %a.here = phi ptr [ %a, %begin ], [ %a.next, %each ]
  %b.here = phi ptr [ %b, %begin ], [ %b.next, %each ]
  %c.here = phi ptr [ %c, %begin ], [ %c.next, %each ]
  call void @along(ptr %context, ptr %axis.next, i64 %axes.left, ptr %a.here, ptr %b.here, ptr %c.here)
  %a.next = getelementptr i8, ptr %a.here, i64 %step.a
  %b.next = getelementptr i8, ptr %b.here, i64 %step.b
  %c.next = getelementptr i8, ptr %c.here, i64 %step.c
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %extent
  br i1 %more, label %each, label %done
done:
  ret void
}}
"""
"""``along``: a batch at each place along so many axes, the first of which is the slowest."""

_RUN = f"""
define void @run(ptr %context, ptr %a, ptr %b, ptr %c) {{
entry:
{_word("outer", "%context", "outer")}\
  %axes = getelementptr i64, ptr %context, i64 {AXES_AT}
  call void @along(ptr %context, ptr %axes, i64 %outer, ptr %a, ptr %b, ptr %c)
  ret void
}}
"""
"""``run``: all products of a call."""

_RAW = f"""
define i32 @raw(ptr %context, i64 %x, i64 %y, i64 %c, i64 %stream) {{
entry:
{_word("swap", "%context", "swap")}\
  %swapped = icmp ne i64 %swap, 0
  %a.address = select i1 %swapped, i64 %y, i64 %x
  %b.address = select i1 %swapped, i64 %x, i64 %y
  %a = inttoptr i64 %a.address to ptr
  %b = inttoptr i64 %b.address to ptr
  %out = inttoptr i64 %c to ptr
  call void @run(ptr %context, ptr %a, ptr %b, ptr %out)
  ret i32 0
}}
"""
"""``raw``: the entry for compiled callers, which compares nothing."""

_PLANNED = f"""
define internal i1 @planned(ptr %context, ptr %x, ptr %y, ptr %c) {{
entry:
  %x.plan = getelementptr i64, ptr %context, i64 {len(WORDS)}
  %y.plan = getelementptr i64, ptr %context, i64 {len(WORDS) + ARRAY_WORDS}
  %c.plan = getelementptr i64, ptr %context, i64 {len(WORDS) + 2 * ARRAY_WORDS}
  %x.ok = call i1 @same(ptr %x, ptr %x.plan, ptr %context, i32 {ALIGNED})
  br i1 %x.ok, label %check.b, label %refuse
check.b:
  %y.ok = call i1 @same(ptr %y, ptr %y.plan, ptr %context, i32 {ALIGNED})
  br i1 %y.ok, label %check.c, label %refuse
check.c:
  %c.ok = call i1 @same(ptr %c, ptr %c.plan, ptr %context, i32 {ALIGNED | WRITEABLE})
  br i1 %c.ok, label %check.memory, label %refuse
check.memory:
  %x.apart = call i1 @apart(ptr %x, ptr %c, ptr %context, i64 {AT["low0"]})
  %y.apart = call i1 @apart(ptr %y, ptr %c, ptr %context, i64 {AT["low1"]})
  %apart = and i1 %x.apart, %y.apart
  ret i1 %apart
refuse:
  ret i1 false
}}
"""
"""``planned``: whether the arrays of a call are as planned, and its result is apart from its operands."""

_CALL = f"""
define ptr @call(ptr %self, ptr %args, i64 %given) {{
entry:
  %context = getelementptr i8, ptr %self, i64 {BYTES_HEAD}
  %three = icmp eq i64 %given, 3
  br i1 %three, label %check, label %refuse
check:
  %x = load ptr, ptr %args
  %y.at = getelementptr ptr, ptr %args, i64 1
  %y = load ptr, ptr %y.at
  %c.at = getelementptr ptr, ptr %args, i64 2
  %c = load ptr, ptr %c.at
  %as.planned = call i1 @planned(ptr %context, ptr %x, ptr %y, ptr %c)
  br i1 %as.planned, label %go, label %refuse
go:
{field(DATA, "%x", "x.data", "ptr")}{field(DATA, "%y", "y.data", "ptr")}\
{field(DATA, "%c", "c.data", "ptr")}\
{_word("swap", "%context", "swap")}{_word("release", "%context", "release")}\
  %swapped = icmp ne i64 %swap, 0
  %a = select i1 %swapped, ptr %y.data, ptr %x.data
  %b = select i1 %swapped, ptr %x.data, ptr %y.data
  %long = icmp ne i64 %release, 0
  br i1 %long, label %unlocked, label %locked
locked:
  call void @run(ptr %context, ptr %a, ptr %b, ptr %c.data)
  br label %finish
unlocked:
{_word("save_thread", "%context", "save", "ptr")}{_word("restore_thread", "%context", "restore", "ptr")}\
  %state = call ptr %save()
  call void @run(ptr %context, ptr %a, ptr %b, ptr %c.data)
  call void %restore(ptr %state)
  br label %finish
refuse:
{_word("not_implemented", "%context", "none", "ptr")}\
  br label %finish
finish:
  %result = phi ptr [ %c, %locked ], [ %c, %unlocked ], [ %none, %refuse ]
{_word("incref", "%context", "incref", "ptr")}\
  call void %incref(ptr %result)
  ret ptr %result
}}
"""
"""``call``: the entry for builtins of Python."""

TEXT = (
    _SAME
    + _APART
    + PART
    + _TEAM
    + _WAKING
    + _BATCH
    + _ALONG
    + _RUN
    + _RAW
    + _PLANNED
    + _CALL
    + "\ndeclare i64 @llvm.smin.i64(i64, i64)\ndeclare i64 @llvm.ctlz.i64(i64, i1)\n"
)
