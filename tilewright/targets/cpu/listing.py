"""What a listing in assembly says that the code cannot hide: registers that were put on the stack.

LLVM marks every register that it stores for lack of room, and elsewhere than on x86 with the same words those
of the caller that a function saves before it uses them: the first store of each of these is no spill. On x86
they are pushed, without a mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BEGUN = re.compile(r"\t\.cfi_startproc|-- Begin function")
"""Where a function begins: those without tables of unwinding have the second alone."""
_SPILL = re.compile(r"(#|//).*\bSpill\b")
_X86_VECTOR = re.compile(r"%[xyz]mm")
_ARM_REGISTER = re.compile(r"\b([bhsdqvzxw])(\d+)\b")
_POWER_STORE = re.compile(r"\t(st\w+)\s+(\d+),")
_RISC_V_STORE = re.compile(r"\t(sd|sw|fsd|fsw|vs\d+r\.v)\s+(\w+),")
_PRESERVED = {
    "x86_64": (),
    # x19 to x30, and the lower halves of v8 to v15.
    "aarch64": (*((False, x) for x in range(19, 31)), *((True, d) for d in range(8, 16))),
    # r14 to r31, f14 to f31, and v20 to v31, which are the last of the 64 vectors.
    "ppc64le": (
        *((False, r) for r in range(14, 32)),
        *((True, vs) for vs in (*range(14, 32), *range(52, 64))),
    ),
    # ra, s0 to s11 and fs0 to fs11, which are numbered from 0 here; no vector.
    "riscv64": (
        *((False, f"s{number}") for number in range(12)),
        *((True, f"fs{number}") for number in range(12)),
        (False, "ra"),
    ),
}
"""By architecture the registers that a function leaves as they were: whether a vector, and its number."""


def spills(text: str, arch: str) -> tuple[int, int]:
    """Registers that the functions of a listing spill: vectors, and others (addresses, counters).

    ``arch``: as instruction sets name it. A number kept in a vector register counts as a vector.
    """
    found = [0, 0]
    for function in _BEGUN.split(text):
        unsaved = set(_PRESERVED[arch])
        for line in function.splitlines():
            if not _SPILL.search(line):
                continue
            for register in _stored(line, arch):
                if register in unsaved:
                    unsaved.remove(register)
                else:
                    found[not register[0]] += 1
    return found[0], found[1]


def _stored(line: str, arch: str) -> Iterator[tuple[bool, int | str]]:
    """The registers that a line stores: whether each is a vector, and its number where one is needed, or its
    name on RISC-V."""
    if arch == "x86_64":
        yield bool(_X86_VECTOR.search(line)), -1
    elif arch == "aarch64":
        for kind, number in _ARM_REGISTER.findall(line.partition("[")[0]):
            yield kind not in "xw", int(number)
    elif arch == "riscv64":
        # A group of several vector registers is stored at once.
        for kind, register in _RISC_V_STORE.findall(line):
            for _ in range(int(kind[2]) if kind[0] == "v" else 1):
                yield kind[0] != "s", register
    elif store := _POWER_STORE.match(line):
        vector = store[1].startswith(("stf", "stv", "stx"))
        upper = store[1].startswith("stv") or store[1] in ("stxsd", "stxssp")
        yield vector, int(store[2]) + 32 * upper
