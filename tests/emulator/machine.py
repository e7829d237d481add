"""Warps and blocks: which instruction of which lanes is next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tests.emulator.arithmetic import LANES
from tests.emulator.memory import Array, Fault, Memory
from tests.emulator.ptx import Program
from tests.emulator.races import Watch

SHARED, LOCAL = 1 << 60, 1 << 61
"""Where shared memory and a thread's own memory begin among all addresses."""
FIRST = 1024
"""The address of the first byte within shared memory: aligned as much as anything asks for."""
BLOCK = 1 << 24
"""From one block of a cluster to the next, in addresses of shared memory."""
STEPS = 4_000_000
"""Instructions of one block of threads before it is taken for endless."""
STOP = -1
ALL = np.ones(LANES, bool)

Operation = Callable[["Warp"], int]


@dataclass(frozen=True)
class Schedule:
    """What hardware leaves open. ``last``: of the warps that can go on, the last one does, not the first.
    ``soon``: copies happen when they are asked for, not when they are waited for."""

    last: bool = False
    soon: bool = False


SCHEDULES = (Schedule(), Schedule(last=True), Schedule(soon=True), Schedule(last=True, soon=True))


@dataclass
class Barrier:
    """A barrier of threads. ``generation`` counts how often it was passed."""

    arrived: int = 0
    generation: int = 0

    def arrive(self, threads: int, expected: int) -> bool:
        """Whether these were the last."""
        self.arrived += threads
        if self.arrived < expected:
            return False
        self.arrived, self.generation = 0, self.generation + 1
        return True


@dataclass
class Phases:
    """A barrier in shared memory (mbarrier): a phase ends when all have arrived and all bytes are there."""

    expected: int
    pending: int
    bytes: int = 0
    phase: int = 0

    def settle(self) -> None:
        """Begin the next phase if this one is over."""
        if self.pending == 0 and self.bytes == 0:
            self.phase, self.pending = self.phase ^ 1, self.expected


@dataclass
class Cluster:
    """Blocks that run together, and what they share."""

    schedule: Schedule
    shared: Memory
    textures: Mapping[int, Texture]
    watch: Watch
    warps: list[Warp] = field(default_factory=list)
    barrier: Barrier = field(default_factory=Barrier)
    bars: dict[tuple[int, int], Barrier] = field(default_factory=dict)
    phases: dict[int, Phases] = field(default_factory=dict)
    flying: list[Callable[[], None]] = field(default_factory=list)
    steps: int = 0

    def run(self) -> None:
        """All warps to their ends. Raises ``Fault`` where none can go on."""
        while waiting := [warp for warp in self.warps if not warp.done]:
            able = [warp for warp in waiting if warp.until is None or warp.until()]
            if able:
                able[-1 if self.schedule.last else 0].run()
            elif self.flying:
                self.flying.pop(0)()
            else:
                raise Fault(f"nothing can go on; the first warp waits at {waiting[0].where}")
        for land in self.flying:
            land()


@dataclass(frozen=True)
class Texture:
    """Elements of ``size`` bytes from ``address`` on, in rows that are ``pitch`` bytes apart."""

    address: int
    size: int
    pitch: int


class Warp:
    """32 threads. ``mask`` are the lanes that go on at ``pc``; ``others`` wait elsewhere in the program.

    Lanes that are behind in the program go first, so that those of a branch meet again where it ends.
    """

    def __init__(self, number: int, block: Block, code: list[Operation], registers: list[Array]):
        self.number, self.block, self.cluster, self.code = number, block, block.cluster, code
        self.r = registers
        self.mask, self.full, self.live = ALL, True, ALL
        self.others: dict[int, Array] = {}
        self.stalled: set[int] = set()
        self.pc, self.soonest = 0, 1 << 60
        self.done = False
        self.until: Callable[[], bool] | None = None
        self.open: list[Callable[[], None]] = []  # copies of no group yet
        self.groups: list[list[Callable[[], None]]] = []
        self.stores: list[Callable[[], None]] = []  # bulk stores, the same
        self.store_groups: list[list[Callable[[], None]]] = []
        # Its lanes are ordered up to here.
        self.epoch = self.cluster.watch.epoch()

    @property
    def identity(self) -> int:
        """A number of this warp's alone in the cluster."""
        return self.block.rank << 6 | self.number

    def barrier(self) -> None:
        """All lanes have met: what they have done comes before what they will do."""
        self.epoch = self.cluster.watch.epoch()

    @property
    def where(self) -> str:
        """The instruction that is next."""
        return self.block.program.instructions[self.pc].text

    def run(self) -> None:
        """Until it has to wait, or is done."""
        self.until = None
        code, pc, cluster = self.code, self.pc, self.cluster
        while True:
            self.pc = pc
            cluster.steps += 1
            pc = code[pc](self)
            if pc < 0:
                break
            if pc >= self.soonest:
                pc = self.settle(pc)
        if cluster.steps > STEPS:
            raise Fault("this does not end")

    def wait(self, pc: int, until: Callable[[], bool]) -> int:
        """Stop; go on at an instruction when something is true."""
        self.pc, self.until = pc, until
        return STOP

    def settle(self, pc: int) -> int:
        """Where the lanes go on that are farthest behind, with all others that are there."""
        if pc in self.others:
            self.mask = self.mask | self.others[pc]
            self.stalled.discard(pc)
        self.others[pc] = self.mask
        return self._next()

    def _next(self) -> int:
        able = [pc for pc in self.others if pc not in self.stalled]
        if not able:
            raise Fault(f"lanes of a warp wait for each other, some at {self.where}")
        pc = min(able)
        self.mask = self.others.pop(pc)
        self.full = bool(self.mask.all())
        self.soonest = min(self.others, default=1 << 60)
        return pc

    def branch(self, target: int, following: int, taken: Array) -> int:
        """Some of the lanes go to the target, the rest go on."""
        if not taken.any():
            return following
        left = self.mask & ~taken
        if not left.any():
            return target
        for pc, lanes in ((following, left), (target, taken)):
            self.others[pc] = self.others[pc] | lanes if pc in self.others else lanes
            self.stalled.discard(pc)
        return self._next()

    def together(self) -> bool:
        """Whether all lanes that have not ended are here."""
        return not self.others or bool((self.mask == self.live).all())

    def stall(self) -> int:
        """The lanes here wait until the others are here, too."""
        self.others[self.pc] = self.mask
        self.stalled.add(self.pc)
        return self._next()

    def end(self) -> int:
        """The lanes here are done."""
        self.live = self.live & ~self.mask
        if self.others:
            return self._next()
        if self.stores or self.store_groups:
            raise Fault("bulk stores are on their way when the thread ends")
        self.done = True
        return STOP


@dataclass
class Block:
    """What the warps of a block share; ``rank`` is its number in the cluster."""

    program: Program
    cluster: Cluster
    rank: int
    threads: int
    memory: Memory  # global
    parameters: Memory

    def memory_of(self, space: str, warp: Warp) -> Memory:
        """The memory behind a state space."""
        return {"global": self.memory, "shared": self.cluster.shared, "param": self.parameters}[space]
