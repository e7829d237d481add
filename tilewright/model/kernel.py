"""A kernel on its way from text to a launch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """Program text with its entry point: the only thing that crosses from a stencil to a target.

    ``expect`` holds facts that the compiled code must show (``fma``: fused multiply-adds in the
    text of the program), so that a target can gate on them without knowing what is computed.
    ``language`` is "" for the target's own (CUDA C++ or LLVM IR) and "c" for C; ``options`` are further
    options of the compiler.
    """

    text: str
    entry: str
    headers: tuple[tuple[str, str], ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    expect: tuple[tuple[str, int], ...] = ()
    language: str = ""
    options: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Hash of all that is compiled."""
        parts: list[Any] = [self.text, self.entry, self.headers, self.defines]
        # What most sources have not is not hashed, so that their binaries keep their names.
        content = json.dumps(
            [*parts, self.language, self.options] if self.language or self.options else parts
        )
        return hashlib.sha256(content.encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Binary:
    """Compiled bytes and the compiler's own facts (``spills``, ``fma``, ``code_bytes``, ...)."""

    code: bytes
    entry: str
    digest: str
    facts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Kernel:
    """A binary in memory, ready to be launched. ``owner`` keeps the loaded code alive."""

    address: int
    binary: Binary
    owner: Any = None


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is started.

    On a CPU: how many products a core needs to be worth waking (``grain``), and the number that a
    core's share should be a multiple of (``unit``). On a GPU: blocks (``grid``), threads of a block
    (``block``), bytes of dynamic shared memory (``shared``), blocks of a cluster along y
    (``cluster``), what the operands are read through (``reading``: "" for plain loads, "tex1d" or
    "tex2d" for textures that the launching side makes), and whether the kernel waits by itself for those
    before it in its stream, so that its blocks may start while they end (``overlap``, from capability 9.0).
    """

    grain: int = 1
    unit: int = 1
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    cluster: int = 1
    reading: str = ""
    overlap: bool = False
