"""PTX as NVRTC writes it, read into instructions, labels and registers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_LABEL = re.compile(r"^(\$?\w+):")
_GUARD = re.compile(r"^@(!?)(%?\w+)\s+")
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(%?\w+)(?:<(\d+)>)?$")
_LOCAL = re.compile(r"\.local\s+(?:\.align\s+\d+\s+)?\.b8\s+(\w+)\[(\d+)\]$")
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*")


@dataclass(frozen=True)
class Instruction:
    """``opcode operands``, guarded by a predicate: ``guard`` names it, ``unless`` inverts it."""

    opcode: str
    operands: tuple[str, ...]
    guard: str = ""
    unless: bool = False

    @property
    def text(self) -> str:
        """The instruction as it was written, but for spaces."""
        guard = f"@{'!' if self.unless else ''}{self.guard} " if self.guard else ""
        return f"{guard}{self.opcode} {', '.join(self.operands)}"


@dataclass(frozen=True)
class Program:
    """One kernel. ``labels`` are numbers of instructions; ``registers`` are names with their PTX types;
    ``parameters`` say where each parameter begins."""

    entry: str
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    registers: dict[str, str]
    local: dict[str, int]
    parameters: tuple[int, ...] = ()

    def count(self) -> Counter[str]:
        """How often each opcode is written."""
        return Counter(instruction.opcode for instruction in self.instructions)


def parse(text: str) -> Program:
    """The only kernel of a PTX module. Raises ``ValueError`` where the text is not understood."""
    found = re.search(r"\.visible \.entry (\w+)\((.*?)\)(.*)", text, re.S)
    if found is None:
        raise ValueError("no .visible .entry in this PTX")
    entry, body = found[1], found[3]
    labels: dict[str, int] = {}
    registers: dict[str, str] = {}
    local: dict[str, int] = {}
    made: list[Instruction] = []
    rest = ""
    for line in re.sub(r"//[^\n]*", "", body[body.index("{") :]).splitlines():
        rest = f"{rest} {line.strip()}".strip()
        while rest:
            if rest[0] in "{}":
                rest = rest[1:].lstrip()
            elif label := _LABEL.match(rest):
                labels[label[1]] = len(made)
                rest = rest[label.end() :].lstrip()
            elif ";" in rest:
                statement, _, rest = rest.partition(";")
                rest = rest.lstrip()
                _statement(statement.strip(), registers, local, made)
            else:
                break
    return Program(entry, tuple(made), labels, registers, local, _offsets(found[2]))


def _offsets(parameters: str) -> tuple[int, ...]:
    """Where each parameter begins in the block of all: at multiples of 8 bytes."""
    at, found = 0, []
    for declared in parameters.split(","):
        if size := re.search(r"\.[a-z](\d+)\s+\w+(?:\[(\d+)\])?\s*$", declared):
            found.append(at)
            at += -(-(int(size[1]) // 8 * int(size[2] or 1)) // 8) * 8
    return tuple(found)


def _statement(text: str, registers: dict[str, str], local: dict[str, int], made: list[Instruction]) -> None:
    if found := _REGISTERS.match(text):
        kind, name, count = found.groups()
        for register in [f"{name}{i}" for i in range(int(count))] if count else [name]:
            registers[register] = kind
    elif found := _LOCAL.match(text):
        local[found[1]] = int(found[2])
    elif text.startswith("."):
        if not text.startswith((".pragma", ".loc")):
            raise ValueError(f"not understood: {text}")
    elif text:
        guard = _GUARD.match(text)
        if guard:
            text = text[guard.end() :]
        opcode, _, operands = text.partition(" ") if "\t" not in text else text.partition("\t")
        found_operands = tuple(operand.strip() for operand in _OPERAND.findall(operands.strip()))
        name, unless = (guard[2], bool(guard[1])) if guard else ("", False)
        made.append(Instruction(opcode.strip(), found_operands, name, unless))
