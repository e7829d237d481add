"""Memory of streams without a GPU: a driver in place of the real one says what it was asked for."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.targets.cuda import workspace

RECORDED = 90
"""Streams from here on are being recorded."""


class Code(int):
    """A code of the driver's, which has a name."""

    name = "CUDA_ERROR"


@dataclass
class Streams:
    """The driver. ``said``: what was taken, given back and cleared, in order. ``room``: the most bytes that
    it gives at once, ``code`` what it says of more. ``clock``: the seconds that have gone by."""

    said: list[tuple[object, ...]] = field(default_factory=list)
    room: float = float("inf")
    code: int = 2
    clock: float = 1000.0
    memory: dict[int, Any] = field(default_factory=dict)
    CUresult = SimpleNamespace(
        CUDA_ERROR_OUT_OF_MEMORY=2,
        CUDA_ERROR_NOT_SUPPORTED=801,
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED=900,
    )
    CUmemoryPool = staticmethod(lambda pool: pool)

    @property
    def taken(self) -> int:
        """How often memory was asked for."""
        return [said[0] for said in self.said].count("take")

    def cuCtxGetDevice(self) -> tuple[int, int]:
        return 0, 0

    def cuStreamGetId(self, stream: int) -> tuple[int, int]:
        return 0, 1000 + stream

    def cuMemAllocFromPoolAsync(self, size: int, pool: int, stream: int) -> tuple[int, int]:
        self.said.append(("take", size, stream))
        if size > self.room:
            return Code(self.code), 0
        # Memory of the host that is there, for who writes to it.
        made = (ctypes.c_char * (min(size, 1 << 20) + 256))()
        address = -(-ctypes.addressof(made) // 256) * 256
        self.memory[address] = made
        return 0, address

    def cuMemFreeAsync(self, address: int, stream: int) -> tuple[int]:
        self.said.append(("give", address, stream))
        return (0,)

    def cuMemsetD32Async(self, address: int, value: int, words: int, stream: int) -> tuple[int]:
        self.said.append(("clear", address, words, stream))
        return (0,)


def check(found: tuple[Any, ...], what: str) -> Any:
    """In place of the one that asks the driver for an error's name."""
    assert found[0] == 0, what
    return found[1] if len(found) > 1 else None


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Streams:
    made = Streams()
    monkeypatch.setattr(workspace, "bindings", lambda: made)
    monkeypatch.setattr(workspace, "check", check)
    monkeypatch.setattr(workspace, "_pool", lambda device: 7)
    monkeypatch.setattr(workspace, "_HELD", workspace.Held())
    monkeypatch.setattr(workspace, "_REFUSED", {})
    monkeypatch.setattr(workspace, "monotonic", lambda: made.clock)
    monkeypatch.setattr(workspace.modules, "context", lambda: None)
    monkeypatch.setattr(workspace.memory, "capturing", lambda stream: stream >= RECORDED)
    return made
