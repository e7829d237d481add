"""What lanes do each by itself: PTX's arithmetic as expressions of NumPy on 32 lanes at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.emulator.memory import Array

LANES = 32
NUMPY: Mapping[str, Any] = {
    **{f"{letter}{bits}": np.dtype(f"{kind}{bits // 8}").type
       for letter, kind in (("b", "u"), ("u", "u"), ("s", "i"), ("f", "f")) for bits in (8, 16, 32, 64)
       if (letter, bits) != ("f", 8)},
    "pred": np.bool_,
    "f16": np.uint16,
    "bf16": np.uint16,
    "f16x2": np.uint32,
    "bf16x2": np.uint32,
}  # fmt: skip
"""Registers' contents by type. Numbers of 16 bits stay bits: only conversions look at them."""


def quotient(a: Array, b: Array) -> Array:
    """Division of integers as the hardware has it, towards zero."""
    whole = abs(a) // np.maximum(abs(b), 1)
    out: Array = np.where((a < 0) ^ (b < 0), -whole, whole).astype(a.dtype)
    return out


def remainder(a: Array, b: Array) -> Array:
    """What ``quotient`` leaves over."""
    left: Array = a - quotient(a, b) * b
    return left


def high(a: Array, b: Array) -> Array:
    """The upper half of the product of 32-bit integers."""
    wide = np.int64 if a.dtype.kind == "i" else np.uint64
    return ((a.astype(wide) * b.astype(wide)) >> wide(32)).astype(a.dtype)


def shifted(a: Array, by: Array, left: bool) -> Array:
    """A shift, where as many bits as there are or more leave nothing but signs."""
    bits = 8 * a.itemsize
    most = np.minimum(by, by.dtype.type(bits - 1)).astype(a.dtype)
    beyond = a >> a.dtype.type(bits - 1) if a.dtype.kind == "i" else a.dtype.type(0)
    out: Array = np.where(by < bits, a << most if left else a >> most, beyond)
    return out


def fused(a: Array, b: Array, c: Array) -> Array:
    """a * b + c; of float32 rounded once but for ties of ties, of float64 twice."""
    if a.dtype == np.float32:
        return (a.astype(np.float64) * b + c).astype(np.float32)
    out: Array = a * b + c
    return out


def permuted(a: Array, b: Array, selector: Array) -> Array:
    """``prmt.b32``: bytes of a (0 to 3) and b (4 to 7) as four nibbles say; bit 3 repeats a sign."""
    both = np.stack([a, b], axis=1).view(np.uint8)
    nibbles = selector[:, None] >> np.arange(0, 16, 4, dtype=np.uint32) & np.uint32(15)
    chosen = both[np.arange(LANES)[:, None], nibbles & np.uint32(7)]
    signs = np.where(chosen & np.uint8(0x80), np.uint8(0xFF), np.uint8(0))
    out: Array = np.where(nibbles & np.uint32(8), signs, chosen).view(np.uint32)[:, 0]
    return out


def inserted(a: Array, b: Array, begin: Array, length: Array) -> Array:
    """``bfi``: the low bits of a in place of those of b from ``begin`` on."""
    wide = a.astype(np.uint64)
    mask = ((np.uint64(1) << length.astype(np.uint64)) - np.uint64(1)) << begin.astype(np.uint64)
    return ((wide << begin.astype(np.uint64)) & mask | b.astype(np.uint64) & ~mask).astype(a.dtype)


def extracted(a: Array, begin: Array, length: Array) -> Array:
    """``bfe``: some bits of a, with the sign of the last one where a is signed."""
    bits = 8 * a.itemsize
    part = shifted(shifted(a, bits - length - begin, True), bits - length, False)
    return np.where(length == 0, a.dtype.type(0), part)


def funnel(a: Array, b: Array, by: Array, left: bool) -> Array:
    """``shf.wrap``: the words b (high) and a (low) shifted as one, of which one word is given."""
    wide, by64 = (b.astype(np.uint64) << np.uint64(32)) | a, (by & np.uint32(31)).astype(np.uint64)
    return ((wide << by64) >> np.uint64(32) if left else wide >> by64).astype(np.uint32)


def looked_up(a: Array, b: Array, c: Array, table: Array) -> Array:
    """``lop3``: any function of three bits."""
    out = np.zeros(LANES, np.uint32)
    for i in range(8):
        x, y, z = (word if i >> shift & 1 else ~word for word, shift in ((a, 2), (b, 1), (c, 0)))
        out |= np.where((table >> np.uint32(i)) & np.uint32(1), x & y & z, np.uint32(0))
    return out


def widened(bits: Array, kind: str) -> Array:
    """Numbers of 16 bits as float32."""
    if kind == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return bits.view(np.float16).astype(np.float32)


def narrowed(x: Array, kind: str) -> Array:
    """float32 rounded to the nearest of 16 bits, as bits."""
    if kind == "f16":
        return x.astype(np.float16).view(np.uint16)
    bits = x.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(x), np.uint16(0x7FFF), rounded.astype(np.uint16)).astype(np.uint16)


def converted(x: Array, to: str, kind: str) -> Array:
    """``cvt`` from one type to another; floating-point numbers to integers are not needed."""
    if kind in ("f16", "bf16") and to != kind:
        x, kind = widened(x, kind), "f32"
    if to in ("f16", "bf16"):
        return x if kind == to else narrowed(x.astype(np.float32), to)
    return x.astype(NUMPY[to])


LARGEST = {"f16": 65504.0, "bf16": float(np.array(0x7F7F0000, np.uint32).view(np.float32))}
"""Finite numbers of 16 bits."""


def pair(high_: Array, low: Array, kind: str, finite: bool = False) -> Array:
    """Two float32 as one word of 16 bits each; ``finite``: what is too large becomes the largest number."""
    if finite:
        high_, low = (np.clip(x, -LARGEST[kind], LARGEST[kind]) for x in (high_, low))
    return narrowed(high_, kind).astype(np.uint32) << np.uint32(16) | narrowed(low, kind)


COMPARISONS: Mapping[str, str] = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "lo": "<", "ls": "<=", "hi": ">", "hs": ">="
}  # fmt: skip


def comparison(name: str, a: str, b: str) -> str:
    """The expression of a comparison; those that hold for NaN, too, end in u."""
    if name in COMPARISONS:
        # NumPy's != holds for NaN where PTX's does not.
        ordered = f" & ({a} == {a}) & ({b} == {b})" if name == "ne" else ""
        return f"(({a} {COMPARISONS[name]} {b}){ordered})"
    if name.endswith("u") and name[:-1] in COMPARISONS:
        return f"(({a} {COMPARISONS[name[:-1]]} {b}) | ({a} != {a}) | ({b} != {b}))"
    if name == "nan":
        return f"(({a} != {a}) | ({b} != {b}))"
    if name == "num":
        return f"(({a} == {a}) & ({b} == {b}))"
    raise KeyError(name)


FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    function.__name__: function
    for function in (
        quotient, remainder, high, shifted, fused, permuted, inserted, extracted, funnel, looked_up,
        converted, pair
    )
}  # fmt: skip


def expression(
    opcode: str, operands: tuple[str, ...], source: Callable[[int, str], str]
) -> tuple[str, str] | None:
    """The result of an instruction as an expression and its type, None where this file has no such one.

    ``source(i, kind)`` is the expression of operand i, of whose text there is need where it is a number.
    """
    parts = opcode.split(".")
    name, kind = parts[0], parts[-1]
    unsigned = kind.replace("s", "u")
    match name:
        case "mov":
            return source(1, kind), kind
        case "add" | "sub" | "and" | "or" | "xor":
            sign = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}[name]
            return f"{source(1, unsigned)} {sign} {source(2, unsigned)}", unsigned
        case "mul" | "mad" if kind[0] == "f" or "lo" in parts:
            product = f"{source(1, unsigned)} * {source(2, unsigned)}"
            return (product if name == "mul" else f"{product} + {source(3, unsigned)}"), unsigned
        case "mul" | "mad" if "wide" in parts:
            wide = f"{kind[0]}{2 * int(kind[1:])}"
            product = " * ".join(f"{source(i, kind)}.astype({wide})" for i in (1, 2))
            return (product if name == "mul" else f"{product} + {source(3, wide)}"), wide
        case "mul" if "hi" in parts and kind[1:] == "32":
            return f"high({source(1, kind)}, {source(2, kind)})", kind
        case "div" | "rem" if kind[0] in "su":
            function = "quotient" if name == "div" else "remainder"
            return f"{function}({source(1, kind)}, {source(2, kind)})", kind
        case "div":
            return f"{source(1, kind)} / {source(2, kind)}", kind
        case "sqrt":
            return f"np.sqrt({source(1, kind)})", kind
        case "rcp":
            return f"np.reciprocal({source(1, kind)})", kind
        case "fma":
            return f"fused({source(1, kind)}, {source(2, kind)}, {source(3, kind)})", kind
        case "min" | "max":
            return f"np.{name}imum({source(1, kind)}, {source(2, kind)})", kind
        case "neg":
            return f"-{source(1, kind)}", kind
        case "popc":
            return f"np.bitwise_count({source(1, kind)}).astype(np.uint32)", "u32"
        case "abs":
            return f"abs({source(1, kind)})", kind
        case "not":
            return f"~{source(1, kind)}", kind
        case "shl" | "shr":
            kind = unsigned if name == "shl" else kind.replace("b", "u")
            if operands[2].isdigit() and int(operands[2]) < int(kind[1:]):
                return f"{source(1, kind)} {'<<' if name == 'shl' else '>>'} {source(2, kind)}", kind
            return f"shifted({source(1, kind)}, {source(2, 'u32')}, {name == 'shl'})", kind
        case "shf":
            return (
                f"funnel({source(1, 'u32')}, {source(2, 'u32')}, {source(3, 'u32')}, {parts[1] == 'l'})",
                "u32",
            )
        case "setp" if len(parts) == 3:
            return comparison(parts[1], source(1, kind), source(2, kind)), "pred"
        case "setp" if len(parts) == 4:
            sign = {"and": "&", "or": "|", "xor": "^"}[parts[2]]
            return (
                f"{comparison(parts[1], source(1, kind), source(2, kind))} {sign} {source(3, 'pred')}",
                "pred",
            )
        case "selp":
            return f"np.where({source(3, 'pred')}, {source(1, kind)}, {source(2, kind)})", kind
        case "prmt":
            return f"permuted({source(1, 'u32')}, {source(2, 'u32')}, {source(3, 'u32')})", "u32"
        case "bfi":
            sources = ", ".join([source(1, kind), source(2, kind), source(3, "u32"), source(4, "u32")])
            return f"inserted({sources})", kind
        case "bfe":
            return f"extracted({source(1, kind)}, {source(2, 's32')}, {source(3, 's32')})", kind
        case "dp2a" if parts[2:] == ["u32", "u32"]:
            products = (
                f"({source(1, 'u32')} >> np.uint32({16 * i}) & np.uint32(0xFFFF))"
                f" * ({source(2, 'u32')} >> np.uint32({8 * (i + 2 * (parts[1] == 'hi'))}) & np.uint32(0xFF))"
                for i in range(2)
            )
            return f"{source(3, 'u32')} + {' + '.join(products)}", "u32"
        case "lop3":
            return f"looked_up({', '.join(source(i, 'u32') for i in (1, 2, 3, 4))})", "u32"
        case "cvt" if parts[-2].endswith("x2"):
            finite = "satfinite" in parts
            return f"pair({source(1, 'f32')}, {source(2, 'f32')}, {parts[-2][:-2]!r}, {finite})", parts[-2]
        case "cvt" if kind[0] != "f" or parts[-2] in ("f16", "bf16", "f32", "f64"):
            return f"converted({source(1, kind)}, {parts[-2]!r}, {kind!r})", parts[-2]
        case "cvta":
            return _address(parts, source)
        case _:
            return None


def _address(parts: list[str], source: Callable[[int, str], str]) -> tuple[str, str]:
    """``cvta``: shared memory has a window of its own among all addresses, global memory is as it is."""
    windows = {"shared": "SHARED", "local": "LOCAL"}
    space = next((windows[part] for part in parts if part in windows), None)
    sign = "-" if "to" in parts else "+"
    address = source(1, "u64")
    return (address if space is None else f"{address} {sign} {space}"), "u64"
