"""Loads, stores, textures and atomic additions, which happen where they stand, and what orders memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from tests.emulator.arithmetic import LANES
from tests.emulator.machine import BLOCK, SHARED
from tests.emulator.memory import Array, Memory

if TYPE_CHECKING:
    from tests.emulator.compiler import Compiler
    from tests.emulator.machine import Operation, Warp
    from tests.emulator.ptx import Instruction

LANE = np.arange(LANES)
NOTHING = (
    "fence.", "membar.", "griddepcontrol.", "createpolicy.", "prefetch.", "prefetchu.", "setmaxnreg.",
)  # fmt: skip
"""Opcodes that change no number."""
_SPACES = ("global", "shared", "param", "local")


def operation(compiler: Compiler, instruction: Instruction, following: int) -> Operation | None:
    """An instruction of this file as an operation, None for others."""
    opcode, operands = instruction.opcode, instruction.operands
    parts = opcode.split(".")
    if opcode.startswith("fence.proxy.async"):
        return _fence(following)
    if opcode.startswith(NOTHING):
        return _nothing(compiler, instruction, following)
    if opcode.startswith("nanosleep."):
        return _sleep(following)
    if opcode.startswith("ld."):
        return _load(compiler, parts, operands, following)
    if opcode.startswith("st."):
        return _store(compiler, parts, operands, following)
    if opcode.startswith("tex."):
        return _texture(compiler, parts, operands, following)
    if opcode.startswith("atom.shared.inc"):
        return _counter(compiler, operands, following)
    if opcode in ("atom.global.add.u32", "atom.global.exch.b64"):
        return _atomic(compiler, opcode, operands, following)
    if opcode.startswith("mapa."):
        return _mapped(compiler, operands, following)
    return None


def _nothing(compiler: Compiler, instruction: Instruction, following: int) -> Operation:
    if instruction.opcode.startswith("createpolicy"):
        put = compiler.write(instruction.operands[0])

        def policy(w: Warp) -> int:
            put(w, np.zeros(LANES, np.uint64))
            return following

        return policy
    return lambda w: following


def _sleep(following: int) -> Operation:
    """Who sleeps has others go on, for which it looks again and again; it alone would never end."""

    def sleep(w: Warp) -> int:
        asleep = w.cluster.steps
        return w.wait(following, lambda: w.cluster.steps > asleep)

    return sleep


def _fence(following: int) -> Operation:
    def fence(w: Warp) -> int:
        w.cluster.watch.fenced(w.identity, w.mask)
        return following

    return fence


def _behind(w: Warp, space: str, addresses: Array) -> tuple[Memory, Array]:
    """The memory of a state space; an address of no space says itself where it belongs."""
    if space:
        return w.block.memory_of(space, w), addresses
    if (addresses >= SHARED).all():
        return w.cluster.shared, addresses - SHARED
    return w.block.memory, addresses


def _kinds(parts: list[str]) -> tuple[str, int, int]:
    """State space, bytes of a number, how many numbers."""
    space = next((part.split("::")[0] for part in parts if part.split("::")[0] in _SPACES), "")
    count = next((int(part[1:]) for part in parts if re.fullmatch(r"v\d", part)), 1)
    return space, int(re.sub(r"\D", "", parts[-1])) // 8, count


def _load(compiler: Compiler, parts: list[str], operands: tuple[str, ...], following: int) -> Operation:
    space, size, count = _kinds(parts)
    address = compiler.address(operands[1])
    puts = [compiler.write(name.strip()) for name in operands[0].strip("{}").split(",")]
    signed = f"i{size}" if parts[-1][0] == "s" else f"u{size}"

    def load(w: Warp) -> int:
        if w.full:
            memory, at = _behind(w, space, address(w))
            found = memory.load(at, size, count)
        else:
            memory, at = _behind(w, space, address(w)[w.mask])
            found = np.zeros((count, LANES), f"u{size}")
            found[:, w.mask] = memory.load(at, size, count)
        if memory is w.cluster.shared:
            w.cluster.watch.loaded(w.epoch, LANE if w.full else LANE[w.mask], at, size * count)
        for put, value in zip(puts, found.view(signed), strict=True):
            put(w, value)
        return following

    return load


def _store(compiler: Compiler, parts: list[str], operands: tuple[str, ...], following: int) -> Operation:
    space, size, _ = _kinds(parts)
    address = compiler.address(operands[0])
    reads = [compiler.reader(name.strip(), f"u{8 * size}") for name in operands[1].strip("{}").split(",")]

    def store(w: Warp) -> int:
        lanes = slice(None) if w.full else w.mask
        memory, at = _behind(w, space, address(w)[lanes])
        memory.store(at, np.stack([read(w)[lanes] for read in reads]))
        if memory is w.cluster.shared:
            w.cluster.watch.stored(w.epoch, w.identity, LANE[lanes], at, size * len(reads))
        return following

    return store


def _texture(compiler: Compiler, parts: list[str], operands: tuple[str, ...], following: int) -> Operation:
    puts = [compiler.write(name.strip()) for name in operands[0].strip("{}").split(",")]
    inner = operands[1].strip("[]")
    handle_text, _, coordinates = inner.partition(",")
    handle = compiler.reader(handle_text.strip(), "u64")
    at = [compiler.reader(name.strip(), "s32") for name in coordinates.strip(" {}").split(",")]

    def texel(w: Warp) -> int:
        lanes = slice(None) if w.full else w.mask
        texture = w.cluster.textures[int(handle(w)[lanes][0])]
        x, y = at[0](w).astype(np.int64), at[1](w).astype(np.int64) if len(at) > 1 else 0
        addresses = texture.address + x * texture.size + y * texture.pitch
        found = np.zeros((4, LANES), np.uint32)
        # Outside of it hardware gives some texel, and compilers rely on that: here it is one of NaN.
        inside = w.mask & w.block.memory.readable(addresses, texture.size)
        found[:, ~inside] = 0xFFFFFFFF
        found[: texture.size // 4, inside] = w.block.memory.load(addresses[inside], 4, texture.size // 4)
        for put, value in zip(puts, found, strict=True):
            put(w, value)
        return following

    return texel


def _counter(compiler: Compiler, operands: tuple[str, ...], following: int) -> Operation:
    put, address, most = (
        compiler.write(operands[0]),
        compiler.address(operands[1]),
        compiler.reader(operands[2], "u32"),
    )

    def count(w: Warp) -> int:
        out, limit = np.zeros(LANES, np.uint32), most(w)
        for lane in np.flatnonzero(w.mask):
            at = address(w)[lane : lane + 1]
            out[lane] = w.cluster.shared.load(at, 4)[0, 0]
            more = 0 if out[lane] >= limit[lane] else int(out[lane]) + 1
            w.cluster.shared.store(at, np.array([[more]], np.uint32))
        put(w, out)
        return following

    return count


def _atomic(compiler: Compiler, opcode: str, operands: tuple[str, ...], following: int) -> Operation:
    """A number that is added, or put in place of what is there, lane after lane."""
    adds, kind = ".add." in opcode, np.dtype(f"u{int(opcode[-2:]) // 8}")
    put, address = compiler.write(operands[0]), compiler.address(operands[1])
    given = compiler.reader(operands[2], f"u{8 * kind.itemsize}")

    def change(w: Warp) -> int:
        out, by = np.zeros(LANES, kind), given(w)
        for lane in np.flatnonzero(w.mask):
            at = address(w)[lane : lane + 1]
            out[lane] = w.block.memory.load(at, kind.itemsize)[0, 0]
            new = out[lane] + by[lane] if adds else by[lane]
            w.block.memory.store(at, np.array([[new]], kind))
        put(w, out)
        return following

    return change


def _mapped(compiler: Compiler, operands: tuple[str, ...], following: int) -> Operation:
    put, address, rank = (
        compiler.write(operands[0]),
        compiler.reader(operands[1], "u32"),
        compiler.reader(operands[2], "u32"),
    )

    def mapped(w: Warp) -> int:
        put(w, address(w) % np.uint32(BLOCK) + rank(w) * np.uint32(BLOCK))
        return following

    return mapped
