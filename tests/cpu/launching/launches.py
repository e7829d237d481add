"""A launch, and a function in place of the driver's that says what it was given."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.model import Binary, Kernel, Launch
from tilewright.runtime import fastcall_cuda
from tilewright.stencils.cuda import args
from tilewright.targets.cuda import driver, launch, library
from tilewright.targets.cuda.binding import Word

KERNEL = 0x1234

CODE = 201
"""CUDA_ERROR_INVALID_CONTEXT, what a thread without one gets."""

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 4)


@dataclass
class Seen:
    """One launch as the driver got it: bytes as they were at that moment, and where they lay."""

    configuration: bytes
    argument: bytes
    kernel: int
    extra: int | None
    at: tuple[int, int]

    @property
    def stream(self) -> int | None:
        return driver.Configuration.from_buffer_copy(self.configuration).stream


@dataclass
class Fake:
    """``cuLaunchKernelEx``: ``codes`` are returned one after another, and then 0."""

    size: int = args.BLOCK.size
    codes: list[int] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def launch(self, configuration: int, kernel: int, parameters: int, extra: int | None) -> int:
        argument = ctypes.c_void_p.from_address(parameters).value
        assert argument is not None
        told = ctypes.string_at(configuration, ctypes.sizeof(driver.Configuration))
        block = ctypes.string_at(argument, self.size)
        self.seen.append(Seen(told, block, kernel, extra, (configuration, argument)))
        return self.codes.pop(0) if self.codes else 0


class Slow:
    """What is called instead, and with what."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.error: Exception | None = None

    def __call__(self, *arguments: Any) -> Any:
        self.calls.append(arguments)
        if self.error is not None:
            raise self.error


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    function = FUNCTION(made.launch)
    monkeypatch.setattr(library, "loaded", lambda: SimpleNamespace(cuLaunchKernelEx=function))
    monkeypatch.setattr(launch, "prepare", lambda *_: None)
    monkeypatch.setattr(launch, "_fits", lambda *_: None)
    return made


LAUNCH = Launch(grid=(5, 4, 3), block=(128, 2, 1), shared=60000, cluster=4, overlap=True)


def block_of(size: int = args.BLOCK.size) -> bytearray:
    return bytearray(range(7, 7 + size))


def launcher(block: bytearray) -> driver.Launcher:
    return driver.Launcher(Kernel(KERNEL, Binary(b"", "k", "")), LAUNCH, block)


def words_at(places: Sequence[int] = (0, 1, 2)) -> list[Word]:
    """The three addresses, each in one word."""
    return [Word(place, operand, 0) for operand, place in enumerate(places)]


def starting(block: bytearray, places: tuple[int, int, int] = (0, 1, 2)) -> tuple[Any, Slow]:
    slow = Slow()
    made = fastcall_cuda.starting(launcher(block), words_at(places), slow)
    assert made is not None
    return made, slow
