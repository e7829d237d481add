"""Warps and blocks: which instruction of which lanes is next."""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.emulator import arithmetic
from tests.emulator.arithmetic import LANES, NUMPY
from tests.emulator.memory import Array, Fault, Memory, Segment
from tests.emulator.ptx import Instruction, Program
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


NAMES = {"np": np, **arithmetic.FUNCTIONS, **{k: v for k, v in NUMPY.items() if k != "f16"}}
NAMES |= {"SHARED": np.uint64(SHARED), "LOCAL": np.uint64(LOCAL)}
"""What expressions may name beside registers."""


@functools.cache
def _maker(argument: str, text: str, count: int) -> Callable[..., Callable[[Any], Array]]:
    """What makes functions of an expression, of the numbers of its registers: most differ in these alone."""
    numbers = ", ".join(f"n{i}" for i in range(count))
    made: Callable[..., Callable[[Any], Array]] = eval(f"lambda {numbers}: lambda {argument}: {text}", NAMES)
    return made


def function(argument: str, text: str) -> Callable[[Any], Array]:
    """An expression as a function of its one argument."""
    parts = re.split(r"(?<=r\[)(\d+)(?=\])", text)
    numbers = parts[1::2]
    for i in range(len(numbers)):
        parts[2 * i + 1] = f"n{i}"
    return _maker(argument, "".join(parts), len(numbers))(*map(int, numbers))


class Compiler:
    """A program as operations: one Python function an instruction, made once for all warps."""

    def __init__(self, program: Program):
        self.program = program
        self.index: dict[str, int] = {}
        self.initial: list[Array] = []
        for name, kind in program.registers.items():
            # What nobody has written is a NaN, and as an integer nowhere.
            empty = np.zeros(LANES, bool) if kind == "pred" else np.full(
                LANES * np.dtype(NUMPY[kind]).itemsize, 0xFF, np.uint8
            ).view(NUMPY[kind])  # fmt: skip
            self._register(name, empty)
        for name in (
            "%tid.x",
            "%ctaid.x",
            "%ctaid.y",
            "%ctaid.z",
            "%nctaid.x",
            "%nctaid.y",
            "%nctaid.z",
            "%ntid.x",
        ):
            self._register(name, np.zeros(LANES, np.uint32))
        self.code = [self._operation(i, instruction) for i, instruction in enumerate(program.instructions)]

    def _register(self, name: str, value: Array) -> int:
        self.index[name] = len(self.initial)
        self.initial.append(value)
        return self.index[name]

    def kind(self, register: str) -> Any:
        """The NumPy type of what a register holds."""
        return self.initial[self.index[register]].dtype.type

    def constant(self, text: str, kind: str) -> int:
        """The number of a register that holds a constant."""
        name = f"{text}:{kind}"
        if name in self.index:
            return self.index[name]
        numpy = NUMPY[kind]
        if text.startswith(("0f", "0F")):
            value = struct.unpack(">f", bytes.fromhex(text[2:]))[0]
        elif text.startswith(("0d", "0D")):
            value = struct.unpack(">d", bytes.fromhex(text[2:]))[0]
        elif text in self.program.shared:
            value = FIRST + self.program.shared[text]
        elif text in self.program.parameters:
            value = self.program.parameters[text]
        elif re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", text):
            value = int(text.rstrip("U"), 0)
        elif text in ("WARP_SZ",):
            value = LANES
        else:
            raise ValueError(f"not understood: {text}")
        if kind == "pred":
            return self._register(name, np.full(LANES, bool(value)))
        if numpy(0).dtype.kind in "iu":
            bits = 8 * np.dtype(numpy).itemsize
            return self._register(name, np.full(LANES, int(value) % 2**bits, f"u{bits // 8}").view(numpy))
        return self._register(name, np.full(LANES, value, numpy))

    def source(self, text: str, kind: str) -> str:
        """An operand read as a type, as an expression of the registers r."""
        text, minus = (text[1:], "~") if text.startswith("!") else (text, "")
        if text not in self.index or text.endswith(f":{kind}"):
            return f"r[{self.constant(text, kind)}]"
        have, want = self.kind(text), NUMPY[kind]
        register = f"{minus}r[{self.index[text]}]"
        if have == want:
            return register
        name = np.dtype(want).name
        if np.dtype(have).itemsize == np.dtype(want).itemsize:
            return f"{register}.view(np.{name})"
        return f"{register}.astype(np.uint{8 * np.dtype(want).itemsize}).view(np.{name})"

    def reader(self, text: str, kind: str) -> Callable[[Warp], Array]:
        """The same as a function of a warp."""
        return function("w", self.source(text, kind).replace("r[", "w.r["))

    def address(self, text: str) -> Callable[[Warp], Array]:
        """What an operand in brackets means, as int64."""
        base, _, offset = text.strip("[]").partition("+")
        at = self.reader(base.strip(), "u64" if self._wide(base.strip()) else "u32")
        by = int(offset or "0")
        return lambda w: at(w).astype(np.int64) + by

    def _wide(self, base: str) -> bool:
        return base not in self.index or np.dtype(self.kind(base)).itemsize == 8

    def write(self, register: str) -> Callable[[Warp, Array], None]:
        """Give the lanes that go on a new value of a register, which is brought to its size."""
        if register == "_":
            return lambda w, value: None
        d, kind = self.index[register], self.kind(register)
        size = np.dtype(kind).itemsize

        def put(w: Warp, value: Array) -> None:
            if value.dtype.type is not kind:
                if value.itemsize != size:
                    wider = f"{'i' if value.dtype.kind == 'i' else 'u'}{size}"
                    value = value.astype(wider)
                value = value.view(kind)
            w.r[d] = value if w.full else np.where(w.mask, value, w.r[d])

        return put

    def _operation(self, number: int, instruction: Instruction) -> Operation:
        following = number + 1
        made = self._branch(instruction, following) or self._pure(instruction, following)
        if made is not None:
            return made
        from tests.emulator import asynchronous, tensor

        for module in (asynchronous, tensor):
            found = module.operation(self, instruction, following)
            if found is not None:
                return self._guarded(instruction, found, following)
        raise ValueError(f"not understood: {instruction.text}")

    def _guarded(self, instruction: Instruction, inner: Operation, following: int) -> Operation:
        if not instruction.guard:
            return inner
        guard = self.index[instruction.guard]

        def operation(w: Warp) -> int:
            mask, full = w.mask, w.full
            w.mask = mask & (w.r[guard] ^ instruction.unless)
            w.full = bool(w.mask.all())
            pc = inner(w) if w.mask.any() else following
            if pc == STOP:
                raise Fault(f"a guarded instruction waits: {instruction.text}")
            w.mask, w.full = mask, full
            return pc

        return operation

    def _branch(self, instruction: Instruction, following: int) -> Operation | None:
        name = instruction.opcode.split(".")[0]
        if name in ("ret", "exit"):
            if instruction.guard:
                raise ValueError(f"not understood: {instruction.text}")
            return lambda w: w.end()
        if name != "bra":
            return None
        target = self.program.labels[instruction.operands[0]]
        if not instruction.guard:
            return lambda w: target
        guard, unless = self.index[instruction.guard], instruction.unless
        return lambda w: w.branch(target, following, w.mask & (w.r[guard] ^ unless))

    def _pure(self, instruction: Instruction, following: int) -> Operation | None:
        operands = instruction.operands
        if instruction.opcode.startswith("mov") and ("{" in "".join(operands)):
            return self._packed(instruction, following)
        found = arithmetic.expression(instruction.opcode, lambda i, kind: self.source(operands[i], kind))
        if found is None:
            return None
        text, _ = found
        value = function("r", text)
        put = self.write(operands[0])

        def operation(w: Warp) -> int:
            put(w, value(w.r))
            return following

        return self._guarded(instruction, operation, following)

    def _packed(self, instruction: Instruction, following: int) -> Operation:
        """mov between a register and the parts that it is made of."""
        to, source = instruction.operands
        bits = int(instruction.opcode[-2:])
        parts = [part.strip() for part in (to if to[0] == "{" else source).strip("{}").split(",")]
        part_kind = f"u{bits // len(parts)}"
        if to[0] == "{":
            whole, puts = self.reader(source, f"u{bits}"), [self.write(part) for part in parts]

            def operation(w: Warp) -> int:
                halves = np.ascontiguousarray(whole(w)).view(NUMPY[part_kind]).reshape(LANES, len(parts))
                for i, put in enumerate(puts):
                    put(w, np.ascontiguousarray(halves[:, i]))
                return following
        else:
            reads, put = [self.reader(part, part_kind) for part in parts], self.write(to)

            def operation(w: Warp) -> int:
                put(w, np.stack([read(w) for read in reads], axis=1).copy().view(NUMPY[f"u{bits}"])[:, 0])
                return following

        return self._guarded(instruction, operation, following)


def launch(
    compiled: Compiler,
    grid: tuple[int, int, int],
    threads: int,
    shared: int,
    parameters: bytes,
    memory: Memory,
    *,
    cluster: int = 1,
    schedule: Schedule = SCHEDULES[0],
    textures: Mapping[int, Texture] | None = None,
) -> None:
    """Every block of a grid, one cluster (of blocks along y) after the other. Raises ``Fault``."""
    # Words of 16 bytes are read of it.
    block = np.frombuffer(parameters + bytes(-len(parameters) % 16), np.uint8).copy()
    given = Memory([Segment("the arguments", 0, block, None, np.zeros(block.size, bool))])
    with np.errstate(all="ignore"):
        for z in range(grid[2]):
            for y in range(0, grid[1], cluster):
                for x in range(grid[0]):
                    places = [(x, y + rank, z) for rank in range(cluster)]
                    _cluster(
                        compiled, grid, threads, shared, given, memory, places, schedule, textures or {}
                    ).run()


def _cluster(
    compiled: Compiler,
    grid: tuple[int, int, int],
    threads: int,
    shared: int,
    parameters: Memory,
    memory: Memory,
    places: list[tuple[int, int, int]],
    schedule: Schedule,
    textures: Mapping[int, Texture],
) -> Cluster:
    room = compiled.program.dynamic + -(-shared // 16) * 16
    banks = [
        Segment("shared memory", rank * BLOCK + FIRST, np.full(room, 0xFF, np.uint8), None, None)
        for rank in range(len(places))
    ]
    watch = Watch(FIRST, room, BLOCK, len(places))
    cluster = Cluster(schedule, Memory(banks), textures, watch)
    for rank, place in enumerate(places):
        block = Block(compiled.program, cluster, rank, threads, memory, parameters)
        for number in range(threads // LANES):
            registers = list(compiled.initial)
            values = {"%tid.x": np.arange(LANES, dtype=np.uint32) + np.uint32(LANES * number)}
            for name, value in zip("xyz", place, strict=True):
                values[f"%ctaid.{name}"] = np.full(LANES, value, np.uint32)
            for name, value in zip("xyz", grid, strict=True):
                values[f"%nctaid.{name}"] = np.full(LANES, value, np.uint32)
            values["%ntid.x"] = np.full(LANES, threads, np.uint32)
            for name, array in values.items():
                registers[compiled.index[name]] = array
            # Addresses of shared memory tell the blocks of a cluster apart.
            for text, index in compiled.index.items():
                if text.partition(":")[0] in compiled.program.shared:
                    registers[index] = registers[index] + registers[index].dtype.type(rank * BLOCK)
            cluster.warps.append(Warp(number, block, compiled.code, registers))
    return cluster
