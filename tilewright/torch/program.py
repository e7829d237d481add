"""The program behind compiled entries in PyTorch's tables, as LLVM IR: see ``entries``.

``serve`` is what every entry does but that of ``added``, ``add`` what this one does: both read their tensors
(``handles``), look the call up (``rows``), and launch what the row says.
"""

from __future__ import annotations

from tilewright.runtime.words import put, word
from tilewright.torch.handles import STREAM, index_of, made, packed, read
from tilewright.torch.rows import AXES, CLEARED, CONTEXT, KEY, ROW, counted, find, known, of_row

ENTRIES = {"bmm": ("bmm", 3, 2), "bmm.out": ("bmm_outf", 3, 3), "mm": ("mm", 2, 2)}
"""By name of the operator: PyTorch's function, the axes of an operand, and how many tensors it takes."""
ADDED = "added"
"""The entry of an operator of ours: PyTorch's interface for C knows no scalars of any type, so ``baddbmm`` is
replaced by a kernel in Python, which calls this one."""
KINDS = {"CPU": ("cpu", 0), "CUDA": ("cuda", 1)}
"""By dispatch key: the namespace of PyTorch's functions, and its number of the kind of device."""


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
{of_row("launch", "ptr")}{of_row("context", "ptr").replace("%context", "%its.context")}{of_row("asks")}\
  %launches = icmp ne ptr %launch, null
  br i1 %launches, label %where, label %unlaunched
unlaunched:
  %python = icmp ne i64 %asks, 0
  br i1 %python, label %question, label %{passed}
where:
{index_of("%a.info")}\
{known("several", "i64")}\
  %alone = icmp eq i64 %several, 0
  br i1 %alone, label %{served}, label %which.one
which.one:
{known("current")}\
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
{of_row(f"low_{name}")}{of_row(f"high_{name}")}\
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
{CLEARED}{keys}\
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
{counted("others")}\
  br label %pass

measure:
{known("axes", "i64")}{known("small", "i64")}{known("longest", "i64")}\
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
{counted("others").replace("%others", "%others.long")}\
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
{counted("smalls")}\
  br label %pass

look:
{known("table")}{known("which", "i64")}\
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
{known("empty")}{known("device", "i64")}{known("data").replace("%data", "%data.of")}\
{made("data.of", "out.data", "pass")}\
  br label %streams
streams:
  %result = phi ptr [ %out, %overlap ], [ %made, %address ]
  %out.address = load i64, ptr %out.data
{of_row("copies")}\
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
{STREAM}\
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
{known("delete").replace("%delete", "%delete.made")}\
  %drop.code = call i32 %delete.made(ptr %result)
  br label %question
question:
  %again = phi i64 [ 0, %look ], [ 1, %unlaunched ], [ 1, %refused ], [ 1, %drop ]
{known("ask")}\
  %answer = call i64 %ask(i64 %which, i64 %again, ptr %key, ptr %a, ptr %b, ptr %out)
  %answered = icmp ne i64 %answer, 0
  br i1 %answered, label %take, label %pass
take:
  %answer.handle = inttoptr i64 %answer to ptr
  %taken = select i1 %writes, ptr %out, ptr %answer.handle
  br label %done

pass:
{known("fallback")}\
  br i1 %writes, label %pass.into, label %pass.new
pass.into:
  %same = invoke ptr %fallback(ptr %a, ptr %b, ptr %out) to label %done unwind label %fail
pass.new:
{known("blank")}\
  %blank.code = call i32 %blank(ptr %hold)
  %room = load ptr, ptr %hold
  invoke void %fallback(ptr sret(i8) %room, ptr %a, ptr %b) to label %done unwind label %fail
done:
  %returned = phi ptr [ %result, %judge ], [ %taken, %take ], [ %out, %pass.into ], [ %room, %pass.new ]
{known("delete")}\
  store ptr %returned, ptr %stack
  %a.gone = call i32 %delete(ptr %a)
  %b.gone = call i32 %delete(ptr %b)
  ret void
fail:
  %kept = phi ptr [ %out, %pass.into ], [ %room, %pass.new ]
  %exception = landingpad {{ ptr, i32 }} cleanup
{known("delete").replace("%delete", "%delete.failed")}\
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
{given}{CLEARED}{scalars}{keys}\
  %infos.1 = or i64 %a.info, %b.info
  %infos = or i64 %infos.1, %c.info
  %strange = icmp slt i64 %infos, 0
  br i1 %strange, label %other, label %look
other:
{counted("others")}\
  br label %nothing
look:
{known("table")}{known("which", "i64")}\
  %a.address = load i64, ptr %a.data
  %b.address = load i64, ptr %b.data
  %lies.both = or i64 %a.address, %b.address
  %lies = and i64 %lies.both, 15
{_looked_up("c", "make", "nothing")}\
make:
{known("empty")}{known("device", "i64")}{known("data")}{known("copy")}{known("axes", "i64")}\
{made("data", "c.data", "nothing")}\
  %out.address = load i64, ptr %c.data
  %reads = icmp ne i64 %beta, 0
  br i1 %reads, label %copying, label %streams
copying:
  %copy.code = call i32 %copy(ptr %made, ptr %c, i32 0)
  %copied = icmp eq i32 %copy.code, 0
  br i1 %copied, label %streams, label %drop
streams:
{STREAM}\
  %code = call i32 %launch(ptr %its.context, i64 %a.address, i64 %b.address, i64 %out.address, \
i64 %stream.value)
  %started = icmp eq i32 %code, 0
  br i1 %started, label %done, label %drop
drop:
{known("delete").replace("%delete", "%delete.made")}\
  %drop.code = call i32 %delete.made(ptr %made)
  br label %nothing
question:
  %again = phi i64 [ 0, %look ], [ 1, %unlaunched ]
{known("ask")}\
  %answer = call i64 %ask(i64 %which, i64 %again, ptr %key, ptr %a, ptr %b, ptr %c)
  %answered = icmp ne i64 %answer, 0
  %taken = inttoptr i64 %answer to ptr
  br i1 %answered, label %done, label %nothing
done:
  %result = phi ptr [ %made, %start ], [ %taken, %question ]
{known("delete").replace("%delete", "%delete.a")}\
  %a.gone = call i32 %delete.a(ptr %a)
  br label %end
nothing:
  br label %end
end:
  %returned = phi ptr [ %result, %done ], [ %a, %nothing ]
{known("delete")}\
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
    return "".join([read(), packed(), find(), _serve(), _add(), *entries])
