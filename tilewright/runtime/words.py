"""What the compiled programs between callers and kernels read and write, as text of LLVM IR: words of 64 bits
and fields of structures, each by a line for its address and one for itself."""

from __future__ import annotations


def word(index: int, pointer: str, value: str, kind: str) -> str:
    """IR that loads one of the 64-bit words at a pointer."""
    address = f"%{value}.at = getelementptr i64, ptr {pointer}, i64 {index}"
    return f"  {address}\n  %{value} = load {kind}, ptr %{value}.at\n"


def put(index: int, pointer: str, value: str, place: str, kind: str = "i64") -> str:
    """IR that stores one of the 64-bit words at a pointer; ``place`` names where that is."""
    address = f"%{place} = getelementptr i64, ptr {pointer}, i64 {index}"
    return f"  {address}\n  store {kind} {value}, ptr %{place}\n"


def field(offset: int, pointer: str, value: str, kind: str) -> str:
    """IR that loads what lies so many bytes behind a pointer."""
    address = f"%{value}.at = getelementptr i8, ptr {pointer}, i64 {offset}"
    return f"  {address}\n  %{value} = load {kind}, ptr %{value}.at\n"
