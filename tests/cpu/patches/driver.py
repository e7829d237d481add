"""A function in place of the driver's that launches says what it was given, and functions in place of its
encoder make tensor maps of a known layout."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.model import Binary, Kernel, Launch
from tilewright.runtime import fastcall_cuda
from tilewright.targets.cuda import driver, launch, library, tensormap
from tilewright.targets.cuda.arguments import (
    Argument,
    Pointer,
    Scalar,
    Struct,
    TensorMap,
)
from tilewright.targets.cuda.binding import Binding

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 4)

ASK = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_uint64,) * 2)

CLEAR = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint32, *(ctypes.c_uint64,) * 2)

NUMBER = 4242
"""That of every stream."""

CODE = 201
"""CUDA_ERROR_INVALID_CONTEXT."""

TILE = TensorMap("tile", 0, "float32", (1024, 512), (4096,), (32, 16), swizzle=128, promotion=256)


@dataclass
class Seen:
    """One launch: each parameter as it was, where they lay, and the stream."""

    parameters: tuple[bytes, ...]
    at: tuple[int, ...]
    stream: int | None


@dataclass
class Fake:
    """The driver's library. ``layout`` is how a map has its address: "word", "moved" (not in one word),
    "counted" (another byte changes with it) or "" (the driver encodes nothing)."""

    sizes: tuple[int, ...] = ()
    layout: str = "word"
    codes: list[int] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    encoded: list[int] = field(default_factory=list)
    strict: bool = False

    def launch(self, configuration: int, kernel: int, parameters: int, extra: int | None) -> int:
        at = tuple((ctypes.c_uint64 * len(self.sizes)).from_address(parameters))
        found = tuple(ctypes.string_at(x, size) for x, size in zip(at, self.sizes, strict=True))
        stream = driver.Configuration.from_address(configuration).stream
        self.seen.append(Seen(found, at, stream))
        return self.codes.pop(0) if self.codes else 0

    def map_of(self, address: int, seed: int) -> bytes:
        """A map of a tensor at an address."""
        words = [(seed * (i + 3)) & (1 << 64) - 1 for i in range(16)]
        words[5] = address if self.layout != "moved" else address >> 4
        if self.layout == "counted":
            words[9] = address & 0xFFF00
        return struct.pack("<16Q", *words)

    def encode(self, to: Any, kind: Any, rank: Any, address: Any, *more: Any) -> int:
        assert to.value % 64 == 0
        place = address.value or 0
        if not self.layout or (self.strict and place == tensormap.PLACEHOLDER):
            return 1
        extents, strides, box, steps, interleave, swizzle, promotion, nan = more
        said = (kind.value, *extents, *strides, *box, *steps, interleave.value, swizzle.value)
        self.encoded.append(place)
        seed = hash((*said, promotion.value, nan.value)) & 0xFFFFFFFF
        ctypes.memmove(to.value, self.map_of(place, seed | 1), 128)
        return 0

    def number(self, stream: int, to: int) -> int:
        ctypes.c_uint64.from_address(to).value = NUMBER
        return 0

    def recording(self, stream: int, to: int) -> int:
        ctypes.c_int.from_address(to).value = 0
        return 0

    def replace(self, to: Any, address: Any) -> int:
        words = struct.unpack("<16Q", ctypes.string_at(to.value, 128))
        # The first word is three times the number that all are made of.
        ctypes.memmove(to.value, self.map_of(address.value or 0, words[0] // 3), 128)
        return 0


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    functions = SimpleNamespace(
        cuLaunchKernelEx=FUNCTION(made.launch),
        cuTensorMapEncodeTiled=made.encode,
        cuTensorMapReplaceAddress=made.replace,
        cuStreamGetId=ASK(made.number),
        cuStreamIsCapturing=ASK(made.recording),
        cuMemsetD32Async=CLEAR(lambda *_: 0),
    )
    monkeypatch.setattr(library, "loaded", lambda: functions)
    monkeypatch.setattr(launch, "prepare", lambda *_: None)
    monkeypatch.setattr(launch, "_fits", lambda *_: None)
    return made


class Slow:
    """What is called instead of the driver, with what."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *arguments: Any) -> None:
        self.calls.append(arguments)


def bound(fake: Fake, arguments: Sequence[Argument], scalars: dict[str, complex] | None = None) -> Binding:
    made = Binding(Kernel(0x1234, Binary(b"", "k", "")), Launch(), arguments, scalars or {})
    fake.sizes = tuple(size for _, size in made.packed.spans)
    return made


def compiled(made: Binding) -> tuple[Callable[..., None], Slow]:
    slow, words = Slow(), made.words
    assert words is not None
    start = fastcall_cuda.starting(made.launcher, words, slow)
    assert start is not None
    return start, slow


MANY = (
    Pointer("out", 2),
    TILE,
    Scalar("count", "i", 77),
    Struct("S", (Scalar("x", "d", 1.5), Pointer("b", 1), Pointer("also_a", 0), Scalar("beta", "2d"))),
    TensorMap("other", 1, "bfloat16", (64, 64, 3), (128, 8192), (64, 8, 1)),
)


def expected(addresses: tuple[int, int, int]) -> tuple[bytes, ...]:
    """All parameters as the driver's own functions would make them."""
    a, b, out = addresses
    return (
        struct.pack("<Q", out),
        tensormap.encode(TILE, a),
        struct.pack("<i", 77),
        struct.pack("<dQQ2d", 1.5, b, a, 0.5, -2.0),
        tensormap.encode(MANY[4], b),  # type: ignore[arg-type]
    )
