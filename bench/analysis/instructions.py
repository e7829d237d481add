"""The machine code of a kernel: its instructions by class, its loops, and the one that does the work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CLASSES = ("float", "tensor", "convert", "integer", "shared", "device", "control", "move")
"""Floating-point arithmetic; tensor cores; from one type to another; integers, addresses and predicates;
shared memory; device memory and bulk copies; branches, barriers and waiting; what is only moved."""
_CONVERT = {"F2F", "F2FP", "F2I", "F2IP", "I2F", "I2FP", "I2I", "FRND"}
_FLOAT = re.compile(r"[FDH](ADD|MUL|FMA|SET|SETP|MNMX|SEL|CHK|SWZADD|MIN3|MAX3)(2|32)?$|MUFU$")
_TENSOR = re.compile(r"([HDIBQO]|UTC[A-Z]+)?G?MMA$")
_SHARED = {"LDS", "STS", "LDSM", "STSM", "ATOMS", "LDSLK", "STSCUL"}
_DEVICE = re.compile(r"(LD|ST|ATOM|RED)(G|L|GSTS)?$|LDGSTS$|UBLK|UTMA(LDG|STG|RED|PF)|CCTL|TEX|TLD|SULD|SUST")
_CONTROL = {
    *("BRA", "BRX", "BREAK", "BSSY", "BSYNC", "BMOV", "CALL", "EXIT", "JMP", "JMX", "KILL", "RET"),
    *("BAR", "SYNCS", "MEMBAR", "FENCE", "DEPBAR", "LDGDEPBAR", "ERRBAR", "ELECT", "NANOSLEEP", "YIELD"),
    *("ARRIVES", "ACQBULK", "PREEXIT", "ENDCOLLECTIVE", "UCGABAR_ARV", "UCGABAR_WAIT", "UTMACMDFLUSH"),
    *("WARPSYNC", "WARPGROUP", "WARPGROUPSET", "VOTE", "VOTEU", "BPT", "RPCMOV"),
}
_MOVE = {
    *("MOV", "UMOV", "CS2R", "S2R", "S2UR", "R2UR", "R2P", "P2R", "UP2UR", "UR2UP", "LDC", "ULDC", "LDCU"),
    *("SHFL", "PRMT", "UPRMT", "SEL", "USEL", "MOVM"),
}
_STAGED = ("UBLKCP", "LDGSTS", "UTMALDG")
_LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P[0-9T]+\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
_LABEL = re.compile(r"\s*(\.L_?[\w.$]+):")
_TARGET = re.compile(r"`\((\.L_?[\w.$]+)\)|\b0x([0-9a-f]+)\s*$")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction: its address, its name with all modifiers, its operands as text."""

    address: int
    name: str
    operands: str

    @property
    def kind(self) -> str:
        """Which of ``CLASSES`` it belongs to."""
        base, _, rest = self.name.partition(".")
        if base in _CONVERT or (base == "HADD2" and rest.startswith("F32")):
            return "convert"
        if _TENSOR.match(base):
            return "tensor"
        if _FLOAT.match(base):
            return "float"
        if base in _SHARED:
            return "shared"
        if base in _CONTROL:
            return "control"
        if _DEVICE.match(base):
            return "device"
        return "move" if base in _MOVE or self.name.startswith("IMAD.MOV") else "integer"


def instructions(text: str) -> tuple[list[Instruction], dict[str, int]]:
    """The instructions of a listing of nvdisasm or cuobjdump without those that do nothing, and the
    addresses of its labels."""
    found: list[Instruction] = []
    labels: dict[str, int] = {}
    waiting: list[str] = []
    for line in text.splitlines():
        if label := _LABEL.match(line):
            waiting.append(label[1])
        elif read := _LINE.search(line):
            address = int(read[1], 16)
            labels |= dict.fromkeys(waiting, address)
            waiting = []
            if read[2] != "NOP":
                found.append(Instruction(address, read[2], read[3].strip()))
    return found, labels


def loops(text: str) -> list[list[Instruction]]:
    """The loops of a kernel: what lies between the target of each backward branch and the branch.

    What lies behind the last exit are waits that the compiler moved out of the way, and no loops.
    """
    found, labels = instructions(text)
    end = max((i.address for i in found if i.name.startswith("EXIT")), default=0)
    result = []
    for branch in found:
        target = _TARGET.search(branch.operands) if branch.name.startswith("BRA") else None
        if target is None or branch.address > end:
            continue
        start = labels.get(target[1], branch.address) if target[1] else int(target[2], 16)
        if start < branch.address:
            result.append([i for i in found if start <= i.address <= branch.address])
    return result


def hottest(text: str) -> list[Instruction]:
    """The loop that does the work: one with tensor cores before others, then one that asks for data ahead,
    then the one with the most instructions; what is left over of a batch may have a longer one."""

    def rank(loop: Sequence[Instruction]) -> tuple[bool, bool, int]:
        tensor = any(i.kind == "tensor" for i in loop)
        return tensor, any(i.name.startswith(_STAGED) for i in loop), len(loop)

    return max(loops(text), key=rank, default=[])


def mix(found: Iterable[Instruction]) -> dict[str, int]:
    """How many instructions there are of each class."""
    counted = Counter(i.kind for i in found)
    return {name: counted[name] for name in CLASSES}
