"""C to machine code by the compiler of this machine, for kernels that are handed in.

It is asked for an object file, which is loaded like what LLVM makes: one way from a binary to a call, and no
shared library on the disk. Nothing of this package's own needs it.
"""

from __future__ import annotations

import functools
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tilewright.errors import CompileError, DeviceError
from tilewright.model import Binary, Device, Source

NAMES = ("cc", "gcc", "clang")
OPTIONS = ("-std=gnu17", "-O3", "-march=native", "-fPIC", "-fno-math-errno", "-c")
"""What it is told for every kernel: the code of this very processor, which another may not run. The code does
not depend on where it lies, so that it can be loaded anywhere."""
PATIENCE = 120.0
"""Seconds that one kernel may take."""
TURNS = 3
"""How often a compiler is called that somebody ends, or a system without memory: that says nothing of the
source."""
SHOWN = 4
"""Lines of errors that a message holds."""


@functools.cache
def compiler() -> str | None:
    """The path of the machine's C compiler; None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@functools.cache
def toolchain() -> str:
    """What the compiler says that it is; "no C compiler" where there is none."""
    path = compiler()
    if path is None:
        return "no C compiler"
    said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    return said.stdout.partition("\n")[0]


def compile(source: Source, device: Device) -> Binary:
    """Machine code for a source in C, of this processor. Facts: ``code_bytes``.

    Raises ``CompileError`` with the first errors, and ``DeviceError`` where there is no compiler.
    """
    path = compiler()
    if path is None:
        raise DeviceError(f"there is no C compiler ({', '.join(NAMES)}) on this machine; install one")
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        for name, text in source.headers:
            target = Path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        written, made = Path(folder, f"{source.entry}.c"), Path(folder, f"{source.entry}.o")
        written.write_text(source.text)
        defines = [f"-D{name}={value}" for name, value in source.defines]
        command = [path, *OPTIONS, *source.options, *defines, f"-I{folder}", str(written), "-o", str(made)]
        for _ in range(TURNS):
            said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
            if not _ended_from_outside(said):
                break
        if said.returncode:
            lines = [line for line in said.stderr.replace(f"{folder}/", "").splitlines() if "error" in line]
            shown = "\n".join(lines[:SHOWN]) or said.stderr[-400:]
            raise CompileError(f"{Path(path).name} refused {source.entry}: {shown}")
        code = made.read_bytes()
    return Binary(code, source.entry, source.digest, {"code_bytes": len(code)})


def _ended_from_outside(said: subprocess.CompletedProcess[str]) -> bool:
    """Whether the compiler, or a program that it called, was ended by a signal that is not its own fault."""
    outside = -said.returncode in (signal.SIGKILL, signal.SIGTERM)
    return outside or any(f"{name} signal terminated" in said.stderr for name in ("Killed", "Terminated"))
