"""PTX as NVRTC writes it, read into instructions, labels and registers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_LABEL = re.compile(r"^(\$?\w+):")
_GUARD = re.compile(r"^@(!?)(%?\w+)\s+")
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(%?\w+)(?:<(\d+)>)?$")
_LOCAL = re.compile(r"\.local\s+(?:\.align\s+\d+\s+)?\.b8\s+(\w+)\[(\d+)\]$")
_SHARED = re.compile(r"(\.extern )?\.shared \.align (\d+) \.b8 (\w+)\[(\d*)\]")
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.([bfus])(\d+)\s+(\w+)(?:\[(\d+)\])?")
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*")

DYNAMIC = 1024
"""What the shared memory that a launch gives is aligned to."""


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
    ``parameters`` are offsets in the block of arguments, ``shared`` in shared memory, of which what is given
    at the launch begins at ``dynamic``."""

    entry: str
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    registers: dict[str, str]
    local: dict[str, int]
    parameters: dict[str, int]
    shared: dict[str, int]
    dynamic: int

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
    shared, dynamic = _shared(text)
    return Program(entry, tuple(made), labels, registers, local, _parameters(found[2]), shared, dynamic)


def _shared(text: str) -> tuple[dict[str, int], int]:
    """Where each array of shared memory begins, those of no size behind all others, and where that is."""
    at, found, last = 0, dict[str, int](), list[str]()
    for given, align, name, size in _SHARED.findall(text):
        if given:
            last.append(name)
        else:
            found[name] = at = -(-at // int(align)) * int(align)
            at += int(size)
    dynamic = -(-at // DYNAMIC) * DYNAMIC
    return found | dict.fromkeys(last, dynamic), dynamic


def _parameters(text: str) -> dict[str, int]:
    """Where each parameter begins, as ``arguments.pack`` lays them out: at words, or as it is aligned."""
    at, found = 0, {}
    for align, _, bits, name, count in _PARAMETER.findall(text):
        at = -(-at // max(8, int(align or 8))) * max(8, int(align or 8))
        found[name] = at
        at += int(bits) // 8 * int(count or 1)
    return found


def _statement(text: str, registers: dict[str, str], local: dict[str, int], made: list[Instruction]) -> None:
    if found := _REGISTERS.match(text):
        kind, name, count = found.groups()
        for register in [f"{name}{i}" for i in range(int(count))] if count else [name]:
            registers[register] = kind
    elif found := _LOCAL.match(text):
        local[found[1]] = int(found[2])
    elif text.startswith("."):
        if not text.startswith((".pragma", ".loc", ".shared")):
            raise ValueError(f"not understood: {text}")
    elif text:
        guard = _GUARD.match(text)
        if guard:
            text = text[guard.end() :]
        opcode, _, operands = text.partition(" ") if "\t" not in text else text.partition("\t")
        found_operands = tuple(operand.strip() for operand in _OPERAND.findall(operands.strip()))
        name, unless = (guard[2], bool(guard[1])) if guard else ("", False)
        made.append(Instruction(opcode.strip(), found_operands, name, unless))
