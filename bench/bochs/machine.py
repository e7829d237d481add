"""Kernels on a Sapphire Rapids that Bochs emulates: one disk image without an operating system.

``start.S`` is the first sector, which reads the rest and turns on every vector and tile register; ``check.c``
holds each kernel of a table against sums in double and says the outcome on Bochs's own port. Bochs 3.0 or
later is asked for, configured with ``--enable-x86-64 --enable-avx --enable-evex --enable-amx`` and any
display (``--with-nogui`` is enough). It says what is right; nothing of time.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench import spills
from tilewright.catalog import STENCILS
from tilewright.errors import DeviceError
from tilewright.model import Config, Device, Problem, Source
from tilewright.stencils.cpu.ir import ENTRY
from tilewright.targets.cpu import llvm
from tilewright.targets.cpu.isa import ASKED, supported

MODEL = "sapphire_rapids"
FEATURES = "amx_fp16"
"""What Bochs adds to the model: tile products of float16 came with the one after it."""
MEBIBYTES = 32
PAGES = (0, 1, 3, 5, 7)
"""Pages of 2 MiB that are mapped: the image, the stack and the test's own data, A, B and C."""
STACK = 0x3F0000
CYLINDER = 16 * 63 * 512
"""Bytes that the size of a disk is a multiple of."""
COMPILER = (
    *("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib", "-static", "-no-pie"),
    # No call of memset within memset, no guard that a C library would check, no stack below its pointer.
    *("-fno-tree-loop-distribute-patterns", "-fno-stack-protector", "-fno-pic", "-mno-red-zone"),
)
HERE = Path(__file__).parent
FAULTY = "FAULTY: vcvtne2ps2bf16"
"""What the check says of an emulator that cannot run it."""


@dataclass(frozen=True, slots=True)
class Job:
    """A kernel to check: a problem, and which stencil with which config is to compute it."""

    problem: Problem
    stencil: str
    config: Config
    flushes: bool = False
    """Whether subnormal operands are to be taken for zeros."""
    older: bool = False
    """Whether it is written for a processor whose tiles multiply no float16."""

    @property
    def name(self) -> str:
        """What the outcome is said of."""
        p = self.problem
        which = self.stencil + "-split" * self.older
        return f"{which} {p.dtype.letter}:{p.trans}:{p.m}x{p.n}x{p.k} {p.alpha},{p.beta} {self.config}"


def device(name: str = "sapphirerapids", features: Sequence[str] = ASKED) -> Device:
    """A server with AMX by LLVM's name, as ``processor.probe`` would find it with these features."""
    base = spills.processor("sapphirerapids")
    compiled_for = ",".join(
        [base.features.replace("/sapphirerapids", f"/{name}"), *(f"+{x}" for x in features)]
    )
    found = base.supports | supported({*features, "f16c", "avx512fp16"})
    return replace(base, name=name, key=f"{name}-avx512", features=compiled_for, supports=found)


def older() -> Device:
    """The same without tile products of float16."""
    return device(features=[name for name in ASKED if name != "amx-fp16"])


def missing() -> list[str]:
    """What is not here: programs by name."""
    lacking = [each for each in ("bochs", "gcc", "objcopy") if not shutil.which(each)]
    if platform.machine() != "x86_64":
        lacking.append("a compiler for x86-64")
    if "bochs" not in lacking:
        said = subprocess.run(["bochs", "--help", "cpu"], capture_output=True, text=True, check=False)
        lacking += [] if MODEL in said.stdout + said.stderr else [f"a bochs that knows {MODEL}"]
    return lacking


def row(job: Job, entry: str) -> str:
    """A kernel as ``struct problem`` of ``check.h``."""
    p = job.problem
    values = (
        *(entry, f'"{job.name}"', f"'{p.dtype.letter}'", p.m, p.n, p.k, p.transposed_a, p.transposed_b),
        *(p.lda, p.ldb, p.ldc, p.stride_a == 0, p.stride_b == 0, p.alpha == "any"),
        *("'a'" if p.beta == "any" else f"'{p.beta}'", p.stride_c == p.ldc * p.n, job.flushes),  # type: ignore[operator]
    )
    return "{" + ", ".join(str(int(v) if isinstance(v, bool) else v) for v in values) + "}"


def image(jobs: Sequence[Job], target: Device, folder: Path) -> str:
    """Write ``image.img`` into a folder; "" or what the compiler objects to. Raises ``CompileError`` where
    LLVM refuses a program."""
    programs: dict[str, Source] = {}
    for number, job in enumerate(jobs):
        source = STENCILS[job.stencil].source(job.problem, job.config, older() if job.older else target)
        assert source.entry == ENTRY
        programs[f"kernel_{number}"] = source
    code, _ = llvm.library(programs, target)
    (folder / "kernels.o").write_bytes(code)
    declared = "".join(f"Kernel {name};\n" for name in programs)
    rows = ",\n".join(row(job, name) for job, name in zip(jobs, programs, strict=True))
    table = f"const struct problem problems[] = {{\n{rows}}};\nconst int problem_count = {len(jobs)};\n"
    (folder / "table.c").write_text(f'#include "check.h"\n{declared}{table}')
    mapped = sum(1 << page for page in PAGES)
    words = [
        *("gcc", *COMPILER, f"-DMAPPED={mapped}", f"-DSTACK={STACK}", f"-I{HERE}", HERE / "start.S"),
        *(HERE / "check.c", "table.c", "kernels.o", "-Wl,--build-id=none,--no-warn-rwx-segments"),
        *(f"-Wl,-T,{HERE / 'image.ld'}", "-oimage.elf"),
    ]
    for each in (words, ["objcopy", "-Obinary", "-j.image", "image.elf", "image.img"]):
        done = subprocess.run(list(map(str, each)), cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip() or f"{each[0]} exits with {done.returncode}"
    path = folder / "image.img"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(-size % CYLINDER))
    return ""


def outcomes(jobs: Sequence[Job], target: Device, folder: Path, seconds: float = 300) -> list[str]:
    """What the check says of each job, in their order: what begins with "right", or what is wrong with it.

    A job that was not come to because one before it ended in an exception, or because the time was up, was
    "not run". Raises ``CompileError`` as ``image`` does, ``OSError`` where the compiler objects.
    """
    if objection := image(jobs, target, folder):
        raise OSError(objection)
    (folder / "bochsrc").write_text(
        f"megs: {MEBIBYTES}\n"
        f'cpu: model={MODEL}, add_features="{FEATURES}", ips=100000000\n'
        "display_library: nogui\n"
        "ata0-master: type=disk, path=image.img, mode=flat\n"
        "boot: disk\nport_e9_hack: enabled=1\nlog: bochs.log\npanic: action=fatal\n"
    )
    try:
        done = subprocess.run(
            ["bochs", "-q", "-f", "bochsrc"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        said = done.stdout
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode()
    if FAULTY in said:
        raise DeviceError(
            "this bochs takes the upper half of vcvtne2ps2bf16 from beyond its operand; "
            "accepted: one that was built with bench/bochs/pairs.patch"
        )
    found = []
    for job in jobs:
        after = said.partition(job.name + " ")[2].partition("\n")[0]
        found.append(after or "not run")
    return found
