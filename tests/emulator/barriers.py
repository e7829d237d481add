"""Barriers of warps, blocks and clusters, and those in shared memory (mbarrier)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.emulator.arithmetic import LANES
from tests.emulator.machine import ALL, Barrier, Phases
from tests.emulator.memory import Fault

if TYPE_CHECKING:
    from tests.emulator.compiler import Compiler
    from tests.emulator.machine import Operation, Warp
    from tests.emulator.ptx import Instruction


def operation(compiler: Compiler, instruction: Instruction, following: int) -> Operation | None:
    """An instruction of this file as an operation, None for others."""
    opcode, operands = instruction.opcode, instruction.operands
    parts = opcode.split(".")
    if opcode.startswith("barrier.cluster"):
        return _cluster_barrier(parts, following)
    if opcode == "bar.warp.sync":
        return _warp_barrier(following)
    if opcode in ("bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.arrive"):
        return _barrier(compiler, operands, following, waits=opcode != "bar.arrive")
    if opcode.startswith("mbarrier."):
        return _phases(compiler, parts, operands, following)
    return None


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
            w.cluster.watch.released(w.epoch, np.flatnonzero(w.mask))
            for lane in np.flatnonzero(w.mask):
                barrier = started(w, int(address(w)[lane]))
                barrier.bytes += int(more(w)[lane]) if more else 0
                arrived(barrier)
            return following

        return arrive
    put, parity = compiler.write(operands[0]), compiler.reader(operands[2], "u32")

    def test(w: Warp) -> int:
        # Most often all lanes ask for one phase of one barrier.
        asked = set(zip(address(w)[w.mask].tolist(), (parity(w)[w.mask] & 1).tolist(), strict=True))
        waiting = [(started(w, at), odd) for at, odd in asked]
        if all(barrier.phase != odd for barrier, odd in waiting):
            put(w, ALL)
            return following
        if w.others:
            raise Fault("a part of a warp waits for copies")
        return w.wait(following - 1, lambda: all(barrier.phase != odd for barrier, odd in waiting))

    return test


def started(w: Warp, address: int) -> Phases:
    """The barrier at an address of shared memory. Raises ``Fault`` where none was made."""
    if address not in w.cluster.phases:
        raise Fault(f"no barrier was made at {address} of shared memory")
    return w.cluster.phases[address]


def arrived(barrier: Phases) -> None:
    """One more thread is there. Raises ``Fault`` if that is one too many."""
    barrier.pending -= 1
    if barrier.pending < 0:
        raise Fault("more threads arrive at a barrier than it expects")
    barrier.settle()
