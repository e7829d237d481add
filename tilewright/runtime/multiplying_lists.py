"""The text of the program between a call on lists of NumPy's arrays and the kernels of their products, which
stands behind that of ``multiplying``: ``fastcall_cpu`` compiles both as one.

It reads a context of its own, 64-bit words by the names in ``WORDS``, and behind them where the context of
each product lies. Its arguments are all first operands, all second ones and all results. Nothing is written
before it is known that every product is as planned, and where results are the caller's that none of them
reaches a byte that another one or an operand reaches.
"""

from __future__ import annotations

from tilewright.runtime import multiplying
from tilewright.runtime.compiled import BYTES_HEAD
from tilewright.runtime.multiplying import DATA
from tilewright.runtime.words import field, word

WORDS = [
    "products",
    "given",
    "release",
    "not_implemented",
    "save_thread",
    "restore_thread",
    "incref",
]
AT = {name: index for index, name in enumerate(WORDS)}
ONCE = 4
"""Spans of bytes that one is compared with at once."""
FAR = 2**63 - 1
"""Where a span begins that meets none: no address is so high."""


def _word(name: str, value: str, kind: str = "i64") -> str:
    """IR that loads a word of the context of the list."""
    return word(AT[name], "%context", value, kind)


_NOTE = f"""
define internal void @note(ptr %array, ptr %plan, i64 %low.word, ptr %lows, ptr %highs, i64 %place) {{
entry:
{field(DATA, "%array", "data", "i64")}\
  %low.plan.at = getelementptr i64, ptr %plan, i64 %low.word
  %low.plan = load i64, ptr %low.plan.at
  %high.plan.at = getelementptr i64, ptr %low.plan.at, i64 1
  %high.plan = load i64, ptr %high.plan.at
  %low = add i64 %data, %low.plan
  %high = add i64 %data, %high.plan
  %low.at = getelementptr i64, ptr %lows, i64 %place
  store i64 %low, ptr %low.at
  %high.at = getelementptr i64, ptr %highs, i64 %place
  store i64 %high, ptr %high.at
  ret void
}}
"""
"""``note``: where the bytes begin and end that an array reaches, put down."""

_MEETS = f"""
define internal i1 @meets(i64 %low, i64 %high, ptr %lows, ptr %highs, i64 %count) {{
entry:
  %low.one = insertelement <{ONCE} x i64> poison, i64 %low, i64 0
  %low.all = shufflevector <{ONCE} x i64> %low.one, <{ONCE} x i64> poison, <{ONCE} x i32> zeroinitializer
  %high.one = insertelement <{ONCE} x i64> poison, i64 %high, i64 0
  %high.all = shufflevector <{ONCE} x i64> %high.one, <{ONCE} x i64> poison, <{ONCE} x i32> zeroinitializer
  br label %each
each:
  %j = phi i64 [ 0, %entry ], [ %j.next, %some ]
  %met = phi <{ONCE} x i1> [ zeroinitializer, %entry ], [ %met.next, %some ]
  %more = icmp slt i64 %j, %count
  br i1 %more, label %some, label %done
some:
  %lows.at = getelementptr i64, ptr %lows, i64 %j
  %those.low = load <{ONCE} x i64>, ptr %lows.at, align 8
  %highs.at = getelementptr i64, ptr %highs, i64 %j
  %those.high = load <{ONCE} x i64>, ptr %highs.at, align 8
  %begin = icmp slt <{ONCE} x i64> %those.low, %high.all
  %end = icmp slt <{ONCE} x i64> %low.all, %those.high
  %both = and <{ONCE} x i1> %begin, %end
  %met.next = or <{ONCE} x i1> %met, %both
  %j.next = add i64 %j, {ONCE}
  br label %each
done:
  %bits = bitcast <{ONCE} x i1> %met to i{ONCE}
  %any = icmp ne i{ONCE} %bits, 0
  ret i1 %any
}}
"""
"""``meets``: whether a span shares a byte with one of some others, of which a few more are read."""

_EACH = """
define internal void @each(ptr %plans, i64 %count, ptr %data) {
entry:
  %ys = getelementptr i64, ptr %data, i64 %count
  %cs = getelementptr i64, ptr %ys, i64 %count
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %one ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %done
one:
  %plan.at = getelementptr ptr, ptr %plans, i64 %i
  %plan = load ptr, ptr %plan.at
  %x.at = getelementptr i64, ptr %data, i64 %i
  %x = load i64, ptr %x.at
  %y.at = getelementptr i64, ptr %ys, i64 %i
  %y = load i64, ptr %y.at
  %c.at = getelementptr i64, ptr %cs, i64 %i
  %c = load i64, ptr %c.at
  %nothing = call i32 @raw(ptr %plan, i64 %x, i64 %y, i64 %c, i64 0)
  %i.next = add i64 %i, 1
  br label %next
done:
  ret void
}
"""
"""``each``: the products, at the addresses of the first operands, the second ones and the results."""

_PRODUCTS = f"""
define ptr @products(ptr %self, ptr %args, i64 %passed) {{
entry:
  %context = getelementptr i8, ptr %self, i64 {BYTES_HEAD}
{_word("products", "count")}\
  %two = mul i64 %count, 2
  %three = mul i64 %count, 3
  %fits = icmp eq i64 %passed, %three
  br i1 %fits, label %begin, label %refuse
begin:
  %plans = getelementptr i64, ptr %context, i64 {len(WORDS)}
  %room = add i64 %three, {ONCE}
  %data = alloca i64, i64 %three
  %lows = alloca i64, i64 %room
  %highs = alloca i64, i64 %room
  %ys = getelementptr ptr, ptr %args, i64 %count
  %cs = getelementptr ptr, ptr %args, i64 %two
  br label %check
check:
  %i = phi i64 [ 0, %begin ], [ %i.next, %noted ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %checked
one:
  %plan.at = getelementptr ptr, ptr %plans, i64 %i
  %plan = load ptr, ptr %plan.at
  %x.at = getelementptr ptr, ptr %args, i64 %i
  %x = load ptr, ptr %x.at
  %y.at = getelementptr ptr, ptr %ys, i64 %i
  %y = load ptr, ptr %y.at
  %c.at = getelementptr ptr, ptr %cs, i64 %i
  %c = load ptr, ptr %c.at
  %as.planned = call i1 @planned(ptr %plan, ptr %x, ptr %y, ptr %c)
  br i1 %as.planned, label %noted, label %refuse
noted:
  %y.place = add i64 %count, %i
  %c.place = add i64 %two, %i
{field(DATA, "%x", "x.data", "i64")}{field(DATA, "%y", "y.data", "i64")}{field(DATA, "%c", "c.data", "i64")}\
  %x.to = getelementptr i64, ptr %data, i64 %i
  store i64 %x.data, ptr %x.to
  %y.to = getelementptr i64, ptr %data, i64 %y.place
  store i64 %y.data, ptr %y.to
  %c.to = getelementptr i64, ptr %data, i64 %c.place
  store i64 %c.data, ptr %c.to
  call void @note(ptr %x, ptr %plan, i64 {multiplying.AT["low0"]}, ptr %lows, ptr %highs, i64 %i)
  call void @note(ptr %y, ptr %plan, i64 {multiplying.AT["low1"]}, ptr %lows, ptr %highs, i64 %y.place)
  %i.next = add i64 %i, 1
  br label %check
checked:
{_word("given", "given")}\
  %theirs = icmp ne i64 %given, 0
  br i1 %theirs, label %clear, label %go
clear:
  ; Behind the spans that are there by then come as many as are compared at once, which meet none.
  %free = phi i64 [ %two, %checked ], [ %free.next, %clear ]
  %free.low = getelementptr i64, ptr %lows, i64 %free
  store i64 {FAR}, ptr %free.low
  %free.high = getelementptr i64, ptr %highs, i64 %free
  store i64 0, ptr %free.high
  %free.next = add i64 %free, 1
  %still = icmp slt i64 %free.next, %room
  br i1 %still, label %clear, label %results
results:
  %r = phi i64 [ 0, %clear ], [ %r.next, %apart ]
  %rest = icmp slt i64 %r, %count
  br i1 %rest, label %result, label %go
result:
  %r.plan.at = getelementptr ptr, ptr %plans, i64 %r
  %r.plan = load ptr, ptr %r.plan.at
  %r.place = add i64 %two, %r
  %r.data.at = getelementptr i64, ptr %data, i64 %r.place
  %r.data = load i64, ptr %r.data.at
{word(multiplying.AT["low2"], "%r.plan", "r.low", "i64")}\
{word(multiplying.AT["high2"], "%r.plan", "r.high", "i64")}\
  %low = add i64 %r.data, %r.low
  %high = add i64 %r.data, %r.high
  %met = call i1 @meets(i64 %low, i64 %high, ptr %lows, ptr %highs, i64 %r.place)
  br i1 %met, label %refuse, label %apart
apart:
  %low.to = getelementptr i64, ptr %lows, i64 %r.place
  store i64 %low, ptr %low.to
  %high.to = getelementptr i64, ptr %highs, i64 %r.place
  store i64 %high, ptr %high.to
  %r.next = add i64 %r, 1
  br label %results
go:
  %last.place = sub i64 %three, 1
  %last.at = getelementptr ptr, ptr %args, i64 %last.place
  %last = load ptr, ptr %last.at
{_word("release", "release")}\
  %long = icmp ne i64 %release, 0
  br i1 %long, label %unlocked, label %locked
locked:
  call void @each(ptr %plans, i64 %count, ptr %data)
  br label %finish
unlocked:
{_word("save_thread", "save", "ptr")}{_word("restore_thread", "restore", "ptr")}\
  %state = call ptr %save()
  call void @each(ptr %plans, i64 %count, ptr %data)
  call void %restore(ptr %state)
  br label %finish
refuse:
{_word("not_implemented", "none", "ptr")}\
  br label %finish
finish:
  %returned = phi ptr [ %last, %locked ], [ %last, %unlocked ], [ %none, %refuse ]
{_word("incref", "incref", "ptr")}\
  call void %incref(ptr %returned)
  ret ptr %returned
}}
"""
"""``products``: the entry for builtins of Python. What it puts down is on the stack."""

TEXT = _NOTE + _MEETS + _EACH + _PRODUCTS
