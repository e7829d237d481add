"""Compiling the small C and C++ drivers at first use, and keeping what was compiled."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import platformdirs

from bench import machine
from bench.peers.base import Unavailable

_COMPILERS = {".c": ("CC", "cc"), ".cpp": ("CXX", "c++")}
_FLAGS = ("-O3", "-march=native", "-DNDEBUG", "-fopenmp", "-shared", "-fPIC")


def compiler(source: Path) -> str | None:
    """Path of the compiler for that file (``$CC`` or ``$CXX`` if set), None if there is none."""
    variable, default = _COMPILERS[source.suffix]
    return shutil.which(os.environ.get(variable) or default)


def missing_compiler(source: Path) -> str | None:
    """Why that file cannot be compiled, None if it can."""
    if compiler(source):
        return None
    return f"no {'C' if source.suffix == '.c' else 'C++'} compiler to build {source.name}"


def load(source: Path, *flags: str) -> ctypes.CDLL:
    """The file compiled as a library with further flags; raises ``Unavailable`` with the first error.

    Compiled files are kept under a hash of the text, the flags, the compiler and the processor.
    """
    program = compiler(source)
    if not program:
        raise Unavailable(missing_compiler(source))
    facts = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    content = "\0".join([source.read_text(), *_FLAGS, *flags, program, facts, machine.processor()])
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    library = _folder() / f"{source.stem}-{digest}.so"
    if not library.exists():
        _compile(program, source, flags, library)
    return ctypes.CDLL(str(library))


def _compile(program: str, source: Path, flags: tuple[str, ...], library: Path) -> None:
    """Compile into a temporary name and move it into place, so that nobody loads half a file."""
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        built = Path(folder) / library.name
        # Libraries named in ``flags`` must follow the source that needs them.
        command = [program, *_FLAGS, str(source), "-o", str(built), *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line or "cannot find" in line]
            raise Unavailable(f"{source.name} does not compile: {(lines or ['unknown error'])[0]}")
        os.replace(built, library)


def _folder() -> Path:
    home = os.environ.get("TILEWRIGHT_HOME") or platformdirs.user_cache_dir("tilewright")
    folder = Path(home) / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
