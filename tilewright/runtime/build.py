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
import weakref
from collections import OrderedDict
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from tilewright.catalog import STENCILS, TARGETS
from tilewright.forks import making
from tilewright.model import Binary, Config, Device, Kernel
from tilewright.store import binaries
from tilewright.targets.protocol import Target
from tilewright.task import Task

_SCHEMA = 1
_STENCILS = Path(__file__).parents[1] / "stencils"


@functools.cache
def generators(stencil: str, folder: Path = _STENCILS) -> str:
    """Hash of the program text that writes a stencil's sources, found in ``folder``.

    CPU stencils share what emits their code, so one hash is all of theirs. That of a CUDA stencil covers its
    own files and the headers that its kernel includes: a change of any other leaves its records as they are.
    """
    digest = hashlib.sha256()
    if STENCILS[stencil].custom:
        # The text is the problem's own, which is in every key; what compiles it is the target's.
        digest.update(TARGETS[STENCILS[stencil].target].other_toolchain().encode())
    elif STENCILS[stencil].target == "cuda":
        from tilewright.stencils.cuda.source import writers

        for name, text in writers(stencil, folder / "cuda"):
            digest.update(f"{name}\0{text}\0".encode())
    else:
        for path in sorted((folder / STENCILS[stencil].target).rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def key(stencil: str, problem: Task, config: Mapping[str, object], device: Device) -> str:
    """The name of a binary: everything that decides its bytes, and nothing else."""
    if device.kind == "cuda" or STENCILS[stencil].custom:
        written = STENCILS[stencil].source(problem, Config(config), device)
        parts = [_SCHEMA, written.digest, device.features, TARGETS[device.kind].toolchain()]
        return _hash([*parts, generators(stencil)] if written.language else parts)
    parts = [
        _SCHEMA,
        stencil,
        STENCILS[stencil].compiled(problem),
        dict(config),
        device.features,
        TARGETS[device.kind].toolchain(),
        generators(stencil),
    ]
    return _hash(parts)


def _hash(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


KEPT = 512
"""Kernels of the processor that stay loaded though no plan holds them: some 80 KB and 2.5 mappings each."""

# Every kernel that somebody holds; those used last; and those of GPUs, which stay: a recorded CUDA graph
# goes on calling a kernel without holding anything that Python could see.
_loaded: MutableMapping[str, Kernel] = weakref.WeakValueDictionary()
_recent: OrderedDict[str, Kernel] = OrderedDict()
_resident: dict[str, Kernel] = {}


def kernel(stencil: str, problem: Task, config: Config, device: Device) -> Kernel:
    """A kernel ready to launch: from memory, else from disk, else compiled (and put on disk).

    Its code is unloaded once nobody holds it: whoever calls it holds it until the call is over. Raises
    ``CompileError`` when the compiler refuses what the stencil wrote.
    """
    name = key(stencil, problem, config, device)
    with making:
        found = _loaded.get(name)
        if found is None:
            target = TARGETS[device.kind]
            made: Kernel = binaries.loaded(
                name, target.load, lambda: compile(stencil, problem, config, device, target)
            )
            found = _loaded[name] = made
        _keep(name, found, device)
    return found


def _keep(name: str, kernel: Kernel, device: Device) -> None:
    """Hold a kernel that was asked for, and let go of the one that was not for the longest time."""
    if device.kind == "cuda":
        _resident[name] = kernel
        return
    _recent[name] = kernel
    _recent.move_to_end(name)
    while len(_recent) > KEPT:
        _recent.popitem(last=False)


def forget() -> None:
    """Let go of the processor's kernels: those that no plan holds are unloaded."""
    with making:
        _recent.clear()


def facts(stencil: str, problem: Task, config: Config, device: Device) -> Mapping[str, int]:
    """What the compiler said of a kernel that was compiled in this process; nothing of another."""
    found = _loaded.get(key(stencil, problem, config, device))
    return found.binary.facts if found is not None else {}


def compile(stencil: str, problem: Task, config: Config, device: Device, target: Target) -> Binary:
    """The binary for a config, straight from the compiler."""
    binary: Binary = target.compile(STENCILS[stencil].source(problem, config, device), device)
    return binary
