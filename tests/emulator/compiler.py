"""Programs as operations: one Python function an instruction."""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.emulator import accesses, arithmetic, asynchronous, barriers, tensor
from tests.emulator.arithmetic import LANES, NUMPY
from tests.emulator.machine import FIRST, LOCAL, SHARED, STOP, Operation, Warp
from tests.emulator.memory import Array, Fault
from tests.emulator.ptx import Instruction, Program

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
        # The registers of addresses of shared memory.
        self.shared = [i for text, i in self.index.items() if text.partition(":")[0] in program.shared]

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
        for module in (accesses, barriers, asynchronous, tensor):
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
        found = arithmetic.expression(
            instruction.opcode, operands, lambda i, kind: self.source(operands[i], kind)
        )
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
