"""Cycles by LLVM's scheduling models: what a processor that is not here may need for a piece of code.

``llvm-mca`` of LLVM simulates how a core issues instructions: ports, latencies, the width of its front end,
by the tables that LLVM's own schedulers go by. It knows nothing of caches and memory: every load hits the
first level, and no two addresses meet. So these are predictions of code in cache, no measurements; how far
they are off where there is a processor to measure says docs/predictions.md.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError, DeviceError
from tilewright.model import Device
from tilewright.targets.cpu.isa import ISAS

NAME = "llvm-mca"
OLDEST = 19
"""The version of LLVM from which on all the models are there that ``named.CORES`` has."""
PATIENCE = 120.0
"""Seconds that one simulation may take."""
ENOUGH = 3_000
"""Instructions of a simulation after which what its beginning and its end cost does not show."""


@functools.cache
def tool() -> tuple[str, str]:
    """The path of the newest ``llvm-mca`` here, and its version.

    Raises ``DeviceError``, which says what to install, where there is none that is new enough.
    """
    plain = shutil.which(NAME)
    found = [Path(plain)] if plain else []
    found += [path for path in Path("/usr/lib").glob(f"llvm-*/bin/{NAME}") if path.is_file()]
    known = [(_version(path), str(path)) for path in found]
    version, path = max(known, default=((0,), ""))
    if version[0] < OLDEST:
        there = f"the newest here is {'.'.join(map(str, version))}" if path else "there is none here"
        raise DeviceError(
            f"cycles are predicted by {NAME} of LLVM {OLDEST} or later, and {there}; "
            f"install it (Debian: apt-get install llvm-{OLDEST})"
        )
    return path, ".".join(map(str, version))


def _version(path: Path) -> tuple[int, ...]:
    words = [str(path), "--version"]
    said = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False).stdout
    found = re.search(r"LLVM version (\d+)\.(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else (0,)


def toolchain() -> str:
    """What predicts, as records name it. Raises as ``tool``."""
    return f"{NAME} {tool()[1]}"


@dataclass(frozen=True, slots=True)
class Counts:
    """What a piece of code executes: instructions, those that read and those that write memory, and vector
    multiply-adds (with the multiplications that begin a sum; an outer product is several)."""

    instructions: int
    loads: int
    stores: int
    multiply_adds: int


def ask(regions: Mapping[str, Sequence[str]], device: Device, *views: str) -> dict[str, Any]:
    """What ``llvm-mca`` says of pieces of code, each executed once, by their names.

    Raises ``DeviceError`` as ``tool``, ``CompileError`` with its message where it refuses an instruction, has
    no model of the device, or gives no answer in time.
    """
    path, _ = tool()
    arch, _, rest = device.features.partition("/")
    core, _, features = rest.partition(" ")
    words = [path, f"-mtriple={arch}-unknown-linux-gnu", f"-mcpu={core}", f"-mattr={features}"]
    words += ["--json", "--iterations=1", "--resource-pressure=false", "--instruction-info=false", *views]
    put = _unqueued if core == "pwr8" else str
    text = "".join(
        f"# LLVM-MCA-BEGIN {name}\n"
        + "\n".join(map(put, filter(_modelled, lines)))
        + f"\n# LLVM-MCA-END {name}\n"
        for name, lines in regions.items()
    )
    try:
        done = subprocess.run(
            words, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise CompileError(f"{NAME} on {device.key}: no answer within {PATIENCE:g} s") from None
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        raise CompileError(f"{NAME} on {device.key}: {first.strip()}")
    return {region["Name"]: region for region in json.loads(done.stdout)["CodeRegions"]}


def _modelled(line: str) -> bool:
    """Whether models know of an instruction. POWER8's and 9's lack the one that sets the counter of a loop,
    once before the loop."""
    return line.split(None, 1)[0] != "mtctr"


_PERMUTE = re.compile(
    r"\txx(?:mrg[hl][wd]|permdi|spltw|spltd|swapd|sldwi)\s+(\d+), (\d+)(?:, (\d+))?(, \d+)?$"
)
_OF_ONE = ("\txxsplt", "\txxswap")
"""Permutes whose last operand is no register."""


def _unqueued(line: str) -> str:
    """An instruction as POWER8's model is asked of it.

    LLVM gives its two permute units a queue of one entry together, in its own words a workaround for the
    scheduler: 64 permutes that wait for nothing then take 64 cycles, where the same model says that two begin
    in each. A logical instruction of the same registers takes the same issue port for as long and comes as
    late, and has no such queue.
    """
    found = _PERMUTE.match(line)
    if not found:
        return line
    last = found[2] if line.startswith(_OF_ONE) else found[3]
    return f"\txxlor\t{found[1]}, {found[2]}, {last}"


def cycles(lines: Sequence[str], device: Device, before: Sequence[str] = ()) -> float:
    """Cycles of code that is executed again and again, for each time, as the model of a device has it: what
    further times cost once it runs. Of long code once is enough. ``before``: what is executed once ahead of
    it, as that which says how long vectors are. Raises as ``ask``."""
    if len(lines) >= ENOUGH:
        return float(ask({"once": [*before, *lines]}, device)["once"]["SummaryView"]["TotalCycles"])
    more = max(2, -(-ENOUGH // max(1, len(lines))))
    found = ask({"once": [*before, *lines], "again": [*before, *list(lines) * (1 + more)]}, device)
    once, again = (found[name]["SummaryView"]["TotalCycles"] for name in ("once", "again"))
    return float(again - once) / more


def counts(lines: Iterable[str], device: Device) -> Counts:
    """What code executes, by what LLVM knows of its instructions. Raises as ``ask``."""
    every = list(lines)
    known = list(dict.fromkeys(filter(_modelled, every)))
    said = ask({"all": known}, device, "--instruction-info=true")["all"]["InstructionInfoView"]
    facts = dict(zip(known, said["InstructionList"], strict=True))
    return Counts(
        len(every),
        sum(line in facts and facts[line]["mayLoad"] for line in every),
        sum(line in facts and facts[line]["mayStore"] for line in every),
        sum(multiplies(line, device) for line in every),
    )


def multiplies(line: str, device: Device) -> int:
    """How many vector multiply-adds an instruction is, or multiplications that begin a sum: 0 for others.

    An outer product in ARM's streaming mode counts as one, whatever its tile holds: no model has it.
    """
    word = line.split(None, 1)[0]
    starts = next(isa.fma_text for isa in ISAS if isa.arch == device.features.partition("/")[0])
    if not word.startswith((*starts, *_FIRST)):
        return 0
    return next((count for start, count in _OUTER.items() if word.startswith(start)), 1)


_OUTER = {"xvf64ger": 4, "xvf32ger": 4, "xvf16ger2": 8, "xvbf16ger2": 8}
"""Outer products by how they begin: multiply-adds of vectors of 128 bits, of pairs twice as many."""


_FIRST = ("fmul", "vmul", "xvmul", "xsmul")
"""How multiplications begin."""


def rate(lines: Iterable[str], device: Device, before: Sequence[str] = ()) -> float:
    """Multiply-adds in a cycle, of the widest vectors that a piece of code multiplies: what the model's units
    could do if nothing else were asked of them. ``before`` as for ``cycles``. Raises ``CompileError`` for
    code that has none, else as ``ask``."""
    said, found = "", dict[tuple[str, str], int]()
    for line in (*before, *lines):
        if line.lstrip().startswith("vset"):
            said = line
        elif multiplies(line, device):
            found[said, line] = _width(line, said)
    if not found:
        raise CompileError("the code has no multiply-add")
    widest = max(found.values())
    listed = [part for pair, width in found.items() if width == widest for part in pair if part]
    said_of = ask({"all": listed}, device, "--instruction-info=true")["all"]["InstructionInfoView"]
    return max(
        multiplies(line, device) / float(entry["RThroughput"])
        for line, entry in zip(listed, said_of["InstructionList"], strict=True)
        if multiplies(line, device)
    )


_WIDTHS = {"%zmm": 512, "%ymm": 256} | dict.fromkeys((".2d", ".4s", "\txv", "pd\t", "ps\t"), 128)
"""What in the text of a multiply-add says how wide its vectors are, in bits."""


_LENGTH = re.compile(r"vsetivli\s+\w+, (\d+), e(\d+)")


def _width(line: str, said: str) -> int:
    """Bits of the vectors that an instruction multiplies, of RISC-V by what ``said`` how long they are; 64
    for a single number."""
    length = _LENGTH.search(said)
    if length and line.lstrip().startswith("v"):
        return int(length[1]) * int(length[2])
    return next((bits for mark, bits in _WIDTHS.items() if mark in line), 64)
