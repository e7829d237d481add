"""What kernels execute, counted while QEMU runs them: ``python -m bench.counted --out FILE``.

The default kernels of problems for processors that are not here are linked with a small program by a cross
compiler and run in QEMU's user mode, one instruction at a time, which writes where each of them stood. The
instructions of one turn of the loop over the batch, which is what two turns differ by from one, are held
against what ``targets.cpu.trace`` says is executed: all of them but what fills the space before loops, and
the multiply-adds. QEMU counts; it says nothing of time. What is missing is named and skipped; exit code 1: a
count differs.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import lines
from bench.exported import TOOLS
from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import Config, Device, Problem
from tilewright.targets.cpu import cycles, llvm, named, trace

PROBLEMS = "d:3 d:8 d:13 s:8 s:17 z:5 c:8 d:nt:24x7x30"
PROCESSORS = {
    "cortex-a57": "cortex-a57",
    "neoverse-v2-neon": "max",
    "apple-m4": "max,sme-default-vector-length=64",
    "pwr8": "power8",
    "pwr10-vsx": "power10",
}
"""LLVM's names of processors and those under which QEMU runs their code."""
PROGRAM = """
#include <stdlib.h>
#include <string.h>
void KERNEL(void *, void *, void *, long, long, long, long, void *);
static double a[1 << 18], b[1 << 18], c[1 << 18], scalars[4] = {1, 0, 0, 0};
int main(int count, char **words)
{
    KERNEL(a, b, c, SA, SB, SC, count > 1 ? atol(words[1]) : 0, scalars);
    return 0;
}
"""
KERNEL = "counted"


def lacking(device: Device) -> list[str]:
    """The programs that are missing here to count what a processor's code executes."""
    arch = device.features.partition("/")[0]
    return [
        each for each in (f"{TOOLS[arch]}-gcc", f"qemu-{arch}", *_objdump()[:1]) if not shutil.which(each)
    ]


def _objdump() -> tuple[str, ...]:
    """The disassembler beside the simulator, which knows all instructions that this one does."""
    beside = Path(cycles.tool()[0]).with_name("llvm-objdump")
    return str(beside), "-d", "--no-show-raw-insn"


def executed(problem: Problem, device: Device, stencil: str, config: Config, qemu: str) -> Counter[str]:
    """The mnemonics that QEMU executes for one turn of the loop over the batch, with how often it does.

    Raises ``subprocess.CalledProcessError`` where the program cannot be built or run.
    """
    arch = device.features.partition("/")[0]
    unit = STENCILS[stencil].launch(problem, config).unit
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code, _ = llvm.library({KERNEL: STENCILS[stencil].source(problem, config, device)}, device)
        (folder / "kernel.o").write_bytes(code)
        steps = dict(zip(("SA", "SB", "SC"), problem.strides, strict=True))
        text = re.sub("SA|SB|SC", lambda found: str(steps[found[0]]), PROGRAM)
        (folder / "run.c").write_text(text.replace("KERNEL", KERNEL))
        _called([f"{TOOLS[arch]}-gcc", "-static", "-O1", "run.c", "kernel.o", "-orun"], folder)
        names = _instructions(_called([*_objdump(), "run"], folder))
        once, twice = (_ran([f"qemu-{arch}", "-cpu", qemu], count * unit, names, folder) for count in (1, 2))
    return twice - once


def _called(words: list[str], folder: Path) -> str:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


def _instructions(listing: str) -> dict[int, str]:
    """Address and mnemonic of the instructions of the kernel's functions."""
    found: dict[int, str] = {}
    inside = False
    for line in listing.splitlines():
        if begun := re.match(r"[0-9a-f]+ <(\w+)>:", line):
            inside = begun[1].startswith(KERNEL)
        elif inside and (one := re.match(r"\s*([0-9a-f]+):\s+(\S+)", line)):
            found[int(one[1], 16)] = one[2]
    return found


def _ran(qemu: list[str], count: int, names: dict[int, str], folder: Path) -> Counter[str]:
    """The mnemonics of the kernel that are executed for ``count`` products."""
    places = f"{min(names):#x}..{max(names):#x}"
    log = folder / "log"
    options = ["-singlestep", "-d", "exec,nochain", "-dfilter", places, "-D", str(log)]
    _called([*qemu, *options, "./run", str(count)], folder)
    where = (re.search(r"\[[0-9a-f]+/([0-9a-f]+)/", line) for line in log.read_text().splitlines())
    return Counter(names[int(found[1], 16)] for found in where if found and int(found[1], 16) in names)


def checked(name: str, problem: Problem) -> Iterator[dict[str, Any]]:
    """A line for each stencil that takes a problem: what its default executes, and what was foreseen."""
    device = named.device(name)
    for stencil in (each for each in STENCILS.values() if each.target == "cpu"):
        if stencil.accepts(problem, device) is not None:
            continue
        config = stencil.default(problem, device)
        source = stencil.source(problem, config, device)
        foreseen = trace.executed(source, llvm.assembly(source, device)).lines
        ran = executed(problem, device, stencil.name, config, PROCESSORS[name])
        # What fills the space before a loop is in no listing.
        padding = ran.pop("nop", 0)
        adds = sum(times * cycles.multiplies(f"\t{word}\t", device) for word, times in ran.items())
        yield {
            "kind": "counts",
            "processor": name,
            "stencil": stencil.name,
            "problem": problem.spelling,
            "products": stencil.launch(problem, config).unit,
            "executed": ran.total(),
            "padding": padding,
            "foreseen": len(foreseen),
            "multiply_adds": adds,
            "multiply_adds_foreseen": sum(cycles.multiplies(line, device) for line in foreseen),
        }


def main() -> None:
    """Count what the command line asks for."""
    parser = argparse.ArgumentParser(prog="bench.counted", description=__doc__.splitlines()[0])
    parser.add_argument("--processors", default=",".join(PROCESSORS))
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    console = lines.console()
    sink = lines.Sink(given.out, "counted", TARGETS["cpu"].probe(), vars(given))
    failed = False
    for name in lines.words(given.processors):
        missing = lacking(named.device(name))
        if missing:
            console.print(f"skipped {name}: {', '.join(missing)} missing")
            continue
        for text in given.problems.split():
            for problem in Problem.parse(text):
                for row in checked(name, problem.with_(batch=2)):
                    same = (row["executed"], row["multiply_adds"]) == (
                        row["foreseen"],
                        row["multiply_adds_foreseen"],
                    )
                    failed |= not same
                    sink.write(row)
                    word = "same" if same else "DIFFERENT"
                    console.print(
                        f"{word:10}{name} {row['stencil']} {row['problem']}: {row['executed']} executed, "
                        f"{row['foreseen']} foreseen"
                    )
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
