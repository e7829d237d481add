"""Copies to and from shared memory that land later: by words, in bulk, and of boxes of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.emulator import barriers, boxes
from tests.emulator.memory import Fault

if TYPE_CHECKING:
    from tests.emulator.compiler import Compiler
    from tests.emulator.machine import Operation, Phases, Warp
    from tests.emulator.ptx import Instruction


def operation(compiler: Compiler, instruction: Instruction, following: int) -> Operation | None:
    """An instruction of this file as an operation, None for others."""
    opcode, operands = instruction.opcode, instruction.operands
    parts = opcode.split(".")
    if opcode.startswith("cp.async.bulk.tensor.3d."):
        return boxes.copy(compiler, parts, operands, following)
    if opcode.startswith("cp.async.bulk"):
        return _bulk(compiler, parts, operands, following)
    if opcode.startswith("cp.async"):
        return _copy(compiler, parts, operands, following)
    return None


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
        awaited = [barriers.started(w, int(address(w)[lane])) for lane in lanes]

        def land() -> None:
            for each in copies:
                each()
            # Who waits for the barrier is ordered behind these.
            w.cluster.watch.released(w.epoch, lanes)
            for barrier in awaited:
                barriers.arrived(barrier)

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
                _bulk_load(w, here, there, many, barriers.started(w, int(barrier_at(w)[lane])))
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
