"""Loads, stores, copies, and all that waits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.emulator import boxes
from tests.emulator.arithmetic import LANES
from tests.emulator.machine import BLOCK, SHARED, Barrier, Phases
from tests.emulator.memory import Array, Fault, Memory

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
    if opcode == "atom.global.add.u32":
        return _added(compiler, operands, following)
    if opcode.startswith("mapa."):
        return _mapped(compiler, operands, following)
    if opcode.startswith("barrier.cluster"):
        return _cluster_barrier(parts, following)
    if opcode == "bar.warp.sync":
        return _warp_barrier(following)
    if opcode in ("bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.arrive"):
        return _barrier(compiler, operands, following, waits=opcode != "bar.arrive")
    if opcode.startswith("mbarrier."):
        return _phases(compiler, parts, operands, following)
    if opcode.startswith("cp.async.bulk.tensor.3d."):
        return boxes.copy(compiler, parts, operands, following, _started)
    if opcode.startswith("cp.async.bulk"):
        return _bulk(compiler, parts, operands, following)
    if opcode.startswith("cp.async"):
        return _copy(compiler, parts, operands, following)
    return None


def _sleep(following: int) -> Operation:
    """Who sleeps has others go on, for which it looks again and again; it alone would never end."""

    def sleep(w: Warp) -> int:
        asleep = w.cluster.steps
        return w.wait(following, lambda: w.cluster.steps > asleep)

    return sleep


# ---- loads and stores -----------------------------------------------------------------------------------


def _nothing(compiler: Compiler, instruction: Instruction, following: int) -> Operation:
    if instruction.opcode.startswith("createpolicy"):
        put = compiler.write(instruction.operands[0])

        def policy(w: Warp) -> int:
            put(w, np.zeros(LANES, np.uint64))
            return following

        return policy
    return lambda w: following


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


def _added(compiler: Compiler, operands: tuple[str, ...], following: int) -> Operation:
    put, address = compiler.write(operands[0]), compiler.address(operands[1])
    more = compiler.reader(operands[2], "u32")

    def added(w: Warp) -> int:
        out, by = np.zeros(LANES, np.uint32), more(w)
        for lane in np.flatnonzero(w.mask):
            at = address(w)[lane : lane + 1]
            out[lane] = w.block.memory.load(at, 4)[0, 0]
            w.block.memory.store(at, np.array([[out[lane] + by[lane]]], np.uint32))
        put(w, out)
        return following

    return added


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


# ---- barriers -------------------------------------------------------------------------------------------


def _fence(following: int) -> Operation:
    def fence(w: Warp) -> int:
        w.cluster.watch.fenced(w.identity, w.mask)
        return following

    return fence


def _warp_barrier(following: int) -> Operation:
    def sync(w: Warp) -> int:
        if not w.together():
            return w.stall()
        w.barrier()
        return following

    return sync


def _pass(w: Warp, barrier: Barrier, expected: int, following: int) -> int:
    generation = barrier.generation
    w.barrier()
    barrier.arrive(LANES, expected)
    return w.wait(following, lambda: barrier.generation != generation)


def _barrier(compiler: Compiler, operands: tuple[str, ...], following: int, waits: bool) -> Operation:
    number = compiler.reader(operands[0], "u32")
    threads = compiler.reader(operands[1], "u32") if len(operands) > 1 else None

    def sync(w: Warp) -> int:
        if not w.together():
            return w.stall()
        which = (w.block.rank, int(number(w)[0]))
        barrier = w.cluster.bars.setdefault(which, Barrier())
        expected = int(threads(w)[0]) if threads else w.block.threads
        if not waits:
            barrier.arrive(LANES, expected)
            return following
        return _pass(w, barrier, expected, following)

    return sync


def _cluster_barrier(parts: list[str], following: int) -> Operation:
    """All threads of all blocks. They wait where they arrive: what comes next is the wait."""
    if parts[2] == "wait":
        return lambda w: following

    def sync(w: Warp) -> int:
        if not w.together():
            return w.stall()
        return _pass(w, w.cluster.barrier, LANES * len(w.cluster.warps), following)

    return sync


def _phases(compiler: Compiler, parts: list[str], operands: tuple[str, ...], following: int) -> Operation:
    name = parts[1]
    address = compiler.address(operands[1] if name in ("arrive", "try_wait", "test_wait") else operands[0])
    if name == "init":
        count = compiler.reader(operands[1], "u32")

        def init(w: Warp) -> int:
            for lane in np.flatnonzero(w.mask):
                w.cluster.phases[int(address(w)[lane])] = Phases(*2 * (int(count(w)[lane]),))
            return following

        return init
    if name == "arrive":
        more = compiler.reader(operands[2], "u32") if "expect_tx" in parts else None

        def arrive(w: Warp) -> int:
            for lane in np.flatnonzero(w.mask):
                barrier = _started(w, int(address(w)[lane]))
                w.cluster.watch.released(w.epoch, np.array([lane]))
                barrier.bytes += int(more(w)[lane]) if more else 0
                barrier.pending -= 1
                if barrier.pending < 0:
                    raise Fault("more threads arrive at a barrier than it expects")
                barrier.settle()
            return following

        return arrive
    put, parity = compiler.write(operands[0]), compiler.reader(operands[2], "u32")

    def test(w: Warp) -> int:
        found = np.zeros(LANES, bool)
        for lane in np.flatnonzero(w.mask):
            found[lane] = _started(w, int(address(w)[lane])).phase != int(parity(w)[lane]) & 1
        if found[w.mask].all():
            put(w, found)
            return following
        if w.others:
            raise Fault("a part of a warp waits for copies")
        waiting = [(_started(w, int(address(w)[i])), int(parity(w)[i]) & 1) for i in np.flatnonzero(w.mask)]
        return w.wait(following - 1, lambda: all(barrier.phase != odd for barrier, odd in waiting))

    return test


def _started(w: Warp, address: int) -> Phases:
    if address not in w.cluster.phases:
        raise Fault(f"no barrier was made at {address} of shared memory")
    return w.cluster.phases[address]


# ---- copies ---------------------------------------------------------------------------------------------


def _finish(groups: list[list[Callable[[], None]]], but: int) -> None:
    """All groups of copies but the last few."""
    while len(groups) > but:
        for land in groups.pop(0):
            land()


def _arrival(compiler: Compiler, operands: tuple[str, ...], following: int) -> Operation:
    """Arrivals at a barrier when the copies by words that were asked for so far are there."""
    address = compiler.address(operands[0])

    def arrive(w: Warp) -> int:
        copies, w.open = w.open, []
        lanes = np.flatnonzero(w.mask)
        barriers = [_started(w, int(address(w)[lane])) for lane in lanes]

        def land() -> None:
            for each in copies:
                each()
            # Who waits for the barrier is ordered behind these.
            w.cluster.watch.released(w.epoch, lanes)
            for barrier in barriers:
                barrier.pending -= 1
                if barrier.pending < 0:
                    raise Fault("more threads arrive at a barrier than it expects")
                barrier.settle()

        if w.cluster.schedule.soon:
            land()
        else:
            w.cluster.flying.append(land)
        return following

    return arrive


def _copy(compiler: Compiler, parts: list[str], operands: tuple[str, ...], following: int) -> Operation:
    """Copies by words: every lane its own, in groups."""
    if parts[2] == "mbarrier":
        return _arrival(compiler, operands, following)
    if parts[2] == "commit_group":

        def commit(w: Warp) -> int:
            w.groups.append(w.open)
            w.open = []
            return following

        return commit
    if parts[2] in ("wait_group", "wait_all"):
        but = int(operands[0]) if operands else 0

        def wait(w: Warp) -> int:
            if parts[2] == "wait_all":
                w.groups.append(w.open)
                w.open = []
            _finish(w.groups, but)
            return following

        return wait
    to, source, size = compiler.address(operands[0]), compiler.address(operands[1]), int(operands[2])
    count = compiler.reader(operands[3], "u32") if len(operands) > 3 else None

    def copy(w: Warp) -> int:
        which = np.flatnonzero(w.mask)
        there, here = source(w)[which], to(w)[which]
        many = count(w)[which].astype(int) if count else np.full(len(which), size)
        memory, shared = w.block.memory, w.cluster.shared
        if (many > size).any() or ((here | there) % size).any():
            raise Fault(f"a copy of {size} bytes is larger, or not aligned")
        whole, part = many == size, (many > 0) & (many < size)
        words, unit = max(size // 8, 1), min(size, 8)
        memory.load(there[whole], unit, words)  # What must not be read is seen where it is asked for.

        def land() -> None:
            found = np.zeros((words, len(which)), f"u{unit}")
            if whole.any():
                found[:, whole] = memory.load(there[whole], unit, words)
            for i in np.flatnonzero(part):
                word = np.zeros(size, np.uint8)
                word[: many[i]] = memory.bytes(int(there[i]), int(many[i]))
                found[:, i] = word.view(f"u{unit}")
            shared.store(here, found)
            w.cluster.watch.stored(w.epoch, w.identity, which, here, size)

        if w.cluster.schedule.soon:
            land()
        else:
            w.open.append(land)
        return following

    return copy


def _bulk(compiler: Compiler, parts: list[str], operands: tuple[str, ...], following: int) -> Operation:
    """Copies of any number of bytes by one thread."""
    if parts[3] == "commit_group":

        def commit(w: Warp) -> int:
            w.store_groups.append(w.stores)
            w.stores = []
            return following

        return commit
    if parts[3] == "wait_group":
        but = int(operands[0])

        def wait(w: Warp) -> int:
            _finish(w.store_groups, but)
            return following

        return wait
    to, source = compiler.address(operands[0]), compiler.address(operands[1])
    count = compiler.reader(operands[2], "u32")
    barrier_at = compiler.address(operands[3]) if parts[3].startswith("shared") else None

    def copy(w: Warp) -> int:
        for lane in np.flatnonzero(w.mask):
            here, there, many = int(to(w)[lane]), int(source(w)[lane]), int(count(w)[lane])
            if (here | there | many) % 16 or not many:
                raise Fault(f"a bulk copy of {many} bytes from {there:#x} to {here:#x} is no multiple of 16")
            if barrier_at is None:
                _bulk_store(w, here, there, many)
            else:
                _bulk_load(w, here, there, many, _started(w, int(barrier_at(w)[lane])))
        return following

    return copy


def _bulk_load(w: Warp, here: int, there: int, many: int, barrier: Phases) -> None:
    data, room = w.block.memory.bytes(there, many), w.cluster.shared.bytes(here, many)
    w.cluster.watch.copied(here, many)

    def land() -> None:
        room[:] = data
        barrier.bytes -= many
        barrier.settle()

    if w.cluster.schedule.soon:
        land()
    else:
        w.cluster.flying.append(land)


def _bulk_store(w: Warp, here: int, there: int, many: int) -> None:
    data, room = w.cluster.shared.bytes(there, many), w.block.memory.bytes(here, many, write=True)
    w.cluster.watch.copied(there, many)

    def land() -> None:
        room[:] = data

    if w.cluster.schedule.soon:
        land()
        w.stores.append(lambda: None)
    else:
        w.stores.append(land)
