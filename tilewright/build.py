"""(stencil, problem, config, device) to a kernel in memory, through a cache of objects on disk.

A stencil is pure, so what a CPU stencil writes is fixed by its own program text, the problem, the
config and the device: the cache key hashes these and the toolchain, and a warm start needs no source
at all. A CUDA stencil's source is a file and a list of definitions, cheap to make, and much of the
problem stays outside it: there the key hashes the source itself, so that all sizes share a binary.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import Binary, Config, Device, Kernel, Problem
from tilewright.objects import read, write
from tilewright.stencils.cuda.program import writers

_SCHEMA = 1
_STENCILS = Path(__file__).parent / "stencils"


@functools.cache
def generators(stencil: str, folder: Path = _STENCILS) -> str:
    """Hash of the program text that writes a stencil's sources, found in ``folder``.

    CPU stencils share what emits their code, so one hash is all of theirs. That of a CUDA stencil covers its
    own files and the headers that its kernel includes: a change of any other leaves its records as they are.
    """
    digest = hashlib.sha256()
    if STENCILS[stencil].target == "cuda":
        for name, text in writers(stencil, folder / "cuda"):
            digest.update(f"{name}\0{text}\0".encode())
    else:
        for path in sorted((folder / STENCILS[stencil].target).rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def key(stencil: str, problem: Problem, config: Mapping[str, object], device: Device) -> str:
    """The name of a binary: everything that decides its bytes, and nothing else."""
    if device.kind == "cuda":
        written = STENCILS[stencil].source(problem, Config(config), device)
        parts = [_SCHEMA, written.digest, device.features, TARGETS[device.kind].toolchain()]
        return _hash(parts)
    fixed = problem.with_(batch=1).to_json()
    # A batch stride is a run-time argument; whether an operand is shared is compiled in.
    fixed |= {name: bool(fixed[name]) for name in ("stride_a", "stride_b", "stride_c")}
    if stencil == "lanes":
        fixed["packed"] = True
    parts = [
        _SCHEMA,
        stencil,
        fixed,
        dict(config),
        device.features,
        TARGETS[device.kind].toolchain(),
        generators(stencil),
    ]
    return _hash(parts)


def _hash(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


_loaded: dict[str, Kernel] = {}


def kernel(stencil: str, problem: Problem, config: Config, device: Device) -> Kernel:
    """A kernel ready to launch: from memory, else from disk, else compiled (and put on disk).

    Raises ``CompileError`` when the compiler refuses what the stencil wrote.
    """
    name = key(stencil, problem, config, device)
    found = _loaded.get(name)
    if found is None:
        target = TARGETS[device.kind]
        binary = read(name)
        if binary is None:
            binary = compile(stencil, problem, config, device, target)
            write(name, binary)
        found = _loaded[name] = target.load(binary)
    return found


def facts(stencil: str, problem: Problem, config: Config, device: Device) -> Mapping[str, int]:
    """What the compiler said of a kernel that was compiled in this process; nothing of another."""
    found = _loaded.get(key(stencil, problem, config, device))
    return found.binary.facts if found is not None else {}


def compile(stencil: str, problem: Problem, config: Config, device: Device, target: ModuleType) -> Binary:
    """The binary for a config, straight from the compiler."""
    binary: Binary = target.compile(STENCILS[stencil].source(problem, config, device), device)
    return binary
