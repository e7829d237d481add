"""What a compiled entry in PyTorch's tables knows, and the table of calls that it looks into.

A key says what a call is of, a row what was found out about such calls, a context what an entry knows. All
three are words of 64 bits by the names below.
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
HASH = 0x9E3779B97F4A7C15


def _at(names: Sequence[str], name: str, of: str, value: str, kind: str = "i64") -> str:
    return word(names.index(name), of, value, kind)


def known(name: str, kind: str = "ptr") -> str:
    """IR that loads a word of the context to a value of its name."""
    return _at(CONTEXT, name, "%context", name, kind)


def of_row(name: str, kind: str = "i64") -> str:
    """IR that loads a word of the row to a value of its name."""
    return _at(ROW, name, "%row", name, kind)


def counted(name: str) -> str:
    """IR that adds one to a word of the context."""
    at = f"%{name}.count.at"
    return (
        f"  {at} = getelementptr i64, ptr %context, i64 {CONTEXT.index(name)}\n"
        f"  %{name}.before = atomicrmw add ptr {at}, i64 1 monotonic\n"
    )


CLEARED = "".join(put(at, "%key", "0", f"zero.{at}") for at in range(KEY))
"""IR that makes a key of zeros."""


def find() -> str:
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
