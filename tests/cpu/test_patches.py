"""Launches on other addresses than before: kernels of several parameters, and tensor maps, which contain one.

A function in place of the driver's says what it was given, and functions in place of its encoder make tensor
maps of a known layout.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.arrays.layout import Job
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError, DeviceError
from tilewright.model import Binary, Kernel, Launch, Plan, Problem
from tilewright.runtime import bound_cuda, fastcall_cuda
from tilewright.stencils.cuda import args
from tilewright.targets.cuda import binding, capability, driver, launch, library, tensormap, workspace
from tilewright.targets.cuda.arguments import (
    Argument,
    Pointer,
    Scalar,
    Stamp,
    Struct,
    TensorMap,
    Workspace,
    pack,
)
from tilewright.targets.cuda.binding import Binding, Room, Word

pytestmark = pytest.mark.cpu

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


def test_every_parameter_is_what_the_driver_would_make_of_the_addresses(fake: Fake) -> None:
    made = bound(fake, MANY, {"beta": 0.5 - 2j})
    start, slow = compiled(made)
    encoded = len(fake.encoded)
    for addresses in ((0x7F00_0000_1000, 0x7F00_1234_5680, 0x7F55_0000_0001), (16, 32, 3)):
        start(*addresses, 9)
        assert fake.seen[-1].parameters == (want := expected(addresses))
        made.put(addresses)(9)
        assert fake.seen[-1].parameters == want
        assert [each.stream for each in fake.seen[-2:]] == [9, 9]
    assert slow.calls == []
    # Only what this test asked for was encoded: launches patched what there was.
    assert len(fake.encoded) == encoded + 4
    before = bytes(made.packed.block)
    start(1 << 30, 1 << 31, 3, 9)
    assert bytes(made.packed.block) == before


def test_compiled_code_launches_as_python_does(fake: Fake) -> None:
    made = bound(fake, MANY, {"beta": 0.5 - 2j})
    start, slow = compiled(made)
    found = fastcall_cuda.raw(start)
    assert found is not None
    entry, context = found
    launch = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, *[ctypes.c_uint64] * 4)(entry)
    addresses = 0x7F00_0000_1000, 0x7F00_1234_5680, 0x7F55_0000_0001
    assert launch(context, *addresses, 9) == 0
    assert fake.seen[-1].parameters == expected(addresses)
    assert fake.seen[-1].stream == 9
    # No map has such an address; and what the driver says is handed on.
    assert launch(context, 24, 32, 48, 9) != 0
    assert len(fake.seen) == 1
    fake.codes = [CODE]
    assert launch(context, 16, 32, 48, 9) == CODE
    assert slow.calls == []


def test_parameters_are_copied_to_where_the_hardware_may_read_them(fake: Fake) -> None:
    made = bound(fake, MANY, {"beta": 0})
    start, _ = compiled(made)
    start(16, 32, 48, 0)
    (seen,) = fake.seen
    assert all(at % 8 == 0 for at in seen.at)
    assert (seen.at[1] % 64, seen.at[4] % 64) == (0, 0)
    assert not set(seen.at) & {made.launcher.parameters.block + at for at in made.launcher.parameters.offsets}


def test_addresses_that_no_map_can_have_are_refused(fake: Fake) -> None:
    made = bound(fake, MANY, {"beta": 0})
    start, slow = compiled(made)
    # That of `out` is a pointer's alone, which may be anything.
    start(16, 32, 1, 0)
    for addresses in ((24, 32, 48), (16, 33, 48), (1, 1, 1)):
        start(*addresses, 5)
        assert slow.calls.pop() == (*addresses, 5)
        with pytest.raises(ArgumentError, match="accepted by its tensor map: multiples of 16 bytes"):
            made.put(addresses)
    assert len(fake.seen) == 1


@pytest.mark.parametrize("layout", ["word", "moved"])
def test_a_map_of_a_tensor_in_the_workspace_is_of_that_of_the_launch(
    fake: Fake, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.layout = layout
    places = [1 << 30, 1 << 34]

    @contextmanager
    def given(size: int, zeros: int, stream: int, insist: bool) -> Iterator[int]:
        assert (size, zeros, stream, insist) == (4096, 8, 9, True)
        yield places[len(fake.seen)]

    monkeypatch.setattr(binding.workspace, "taken", given)
    inside = replace(TILE, space=256)
    made = bound(fake, (Struct("S", (Pointer("a", 0), Workspace("space", 4096, 8))), inside))
    # Compiled code takes the workspace that the stream has, and cannot encode a map.
    assert (made.words is None) == (layout == "moved")
    for place in places:
        made.put((1 << 20, 0, 0))(9)
        want = struct.pack("<QQ", 1 << 20, place), tensormap.encode(TILE, place + 256)
        assert fake.seen[-1].parameters == want
    if layout == "word":
        held = workspace.Held()
        monkeypatch.setattr(workspace, "_HELD", held)
        slow = Slow()
        start = fastcall_cuda.starting(made.launcher, made.words or (), slow, made.room)
        assert start is not None
        start(1 << 20, 0, 0, 9)
        assert slow.calls.pop() == (1 << 20, 0, 0, 9)
        for place in (1 << 35, 1 << 36):
            assert held.put((0, NUMBER, threading.get_ident()), place, 4096)
            start(1 << 20, 0, 0, 9)
            want = struct.pack("<QQ", 1 << 20, place), tensormap.encode(TILE, place + 256)
            assert fake.seen[-1].parameters == want
        assert slow.calls == []


@pytest.mark.parametrize("layout", ["moved", "counted"])
def test_where_the_address_is_not_one_word_the_driver_encodes_every_map(fake: Fake, layout: str) -> None:
    fake.layout = layout
    made = bound(fake, MANY, {"beta": 1})
    assert made.words is None
    for addresses in ((1 << 20, 1 << 21, 5), (1 << 22, 1 << 23, 7)):
        made.put(addresses)(0)
        found = fake.seen[-1].parameters
        assert found[1] == tensormap.encode(TILE, addresses[0])
        assert found[4] == tensormap.encode(MANY[4], addresses[1])  # type: ignore[arg-type]
        assert found[0] == struct.pack("<Q", addresses[2])


def test_a_driver_that_takes_no_address_of_no_tensor(fake: Fake) -> None:
    fake.strict = True
    made = bound(fake, (TILE,))
    assert made.words is None
    made.put((1 << 20, 0, 0))(0)
    assert fake.seen[-1].parameters == (tensormap.encode(TILE, 1 << 20),)


def test_a_driver_that_encodes_nothing_says_so_at_the_launch(fake: Fake) -> None:
    fake.layout = ""
    made = bound(fake, (TILE,))
    with pytest.raises(DeviceError, match="encoding TensorMap"):
        made.put((1 << 20, 0, 0))


def test_what_no_map_is_of(fake: Fake) -> None:
    with pytest.raises(ArgumentError, match="type='float8' of tile; accepted: uint8, uint16"):
        bound(fake, (TensorMap("tile", 0, "float8", (8,), (), (8,)),))
    with pytest.raises(ArgumentError, match="swizzle=16 of tile; accepted: 0, 32, 64, 128"):
        bound(fake, (TensorMap("tile", 0, "float32", (8, 8), (32,), (8, 8), swizzle=16),))


def test_a_driver_too_old_for_tensor_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "loaded", SimpleNamespace)
    with pytest.raises(DeviceError, match="the CUDA driver has no cuTensorMapEncodeTiled"):
        tensormap.encode(TILE, 0)


def test_the_address_is_found_wherever_it_is_and_seen_to_be_alone(fake: Fake) -> None:
    words = tensormap.encode(TILE, 1 << 30)
    assert tensormap.address_at(words, 1 << 30) == 40
    assert tensormap.address_at(words, 1 << 31) is None
    for layout in ("moved", "counted"):
        fake.layout = layout
        assert tensormap.address_at(tensormap.encode(TILE, 1 << 30), 1 << 30) is None


# ---- which of the two compiled ways


@pytest.mark.parametrize(
    ("arguments", "entry"),
    [
        (args.gemm(Problem.parse("s:8x8x8")[0]), "start"),
        ((Struct("S", (Pointer("c", 2), Pointer("b", 1), Scalar("n", "q", 3), Pointer("a", 0))),), "start"),
        ((Pointer("a", 0), Pointer("b", 1), Pointer("c", 2)), "start_patched"),
        ((Struct("S", (Pointer("a", 0), Pointer("b", 1))),), "start_patched"),
        ((Struct("S", tuple(Pointer(name, i) for name, i in zip("abcd", (0, 1, 2, 0), strict=True))),),
         "start_patched"),
        ((Struct("S", (TILE, Pointer("b", 1), Pointer("c", 2))),), "start_patched"),
    ],
)  # fmt: skip
def test_kernels_of_one_block_and_three_pointers_pay_for_nothing_else(
    fake: Fake, arguments: tuple[Argument, ...], entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = bound(fake, arguments, {"alpha": 1, "beta": 0})
    asked: list[str] = []
    make = fastcall_cuda._builtin
    monkeypatch.setattr(
        fastcall_cuda, "_builtin", lambda name, *more: asked.append(name) or make(name, *more)
    )
    start, slow = compiled(made)
    assert asked == [entry]
    start(1 << 20, 1 << 21, 1 << 22, 4)
    made.put((1 << 20, 1 << 21, 1 << 22))(4)
    one, two = fake.seen
    assert one.parameters == two.parameters
    assert slow.calls == []


def test_words_that_are_not_there_are_refused(fake: Fake) -> None:
    made = bound(fake, MANY, {"beta": 0})
    last = len(made.packed.block) // 8
    for word in (Word(last, 0, 0), Word(-1, 0, 0), Word(0, 3, 0)):
        assert fastcall_cuda.starting(made.launcher, [word], Slow()) is None


def test_what_the_driver_refuses_goes_to_python(fake: Fake) -> None:
    start, slow = compiled(bound(fake, MANY, {"beta": 0}))
    fake.codes.append(CODE)
    start(16, 32, 48, 5)
    assert slow.calls == [(16, 32, 48, 5)]
    start(16, 32, "c", 5)
    assert slow.calls[1:] == [(16, 32, "c", 5)]
    assert len(fake.seen) == 1


def test_threads_never_mix_their_addresses(fake: Fake) -> None:
    start, slow = compiled(bound(fake, MANY, {"beta": 0}))
    count, before = 1000, sys.getswitchinterval()
    together = threading.Barrier(4)

    def work(mine: int) -> None:
        together.wait()
        for i in range(count):
            word = mine << 32 | i << 4
            start(word, word | 1 << 40, word | 2 << 40, word | 3 << 40)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in range(4)]
    # The function in place of the driver's is Python's, so threads take turns in the middle of launches.
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
    assert slow.calls == []
    turns = []
    for seen in fake.seen:
        out, tile, _, block, other = seen.parameters
        _, b, a = struct.unpack_from("<dQQ", block)
        assert struct.unpack_from("<Q", tile, 40) == (a,)
        assert struct.unpack_from("<Q", other, 40) == (b,)
        assert (b, *struct.unpack("<Q", out), seen.stream) == (a | 1 << 40, a | 2 << 40, a | 3 << 40)
        turns.append(a >> 32)
    assert sorted(turns) == sorted(list(range(4)) * count)
    assert sum(x != y for x, y in pairwise(turns)) > 3, "one thread ran after another"


# ---- the bound call of such a stencil


@pytest.mark.parametrize("layout", ["word", "moved"])
@pytest.mark.parametrize("swap", [False, True])
def test_a_bound_call_puts_the_callers_addresses_into_maps(
    fake: Fake, swap: bool, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.layout = layout
    stencil = type(STENCILS["tiny"])()
    second = TensorMap("b", 1, "float32", (8, 8), (32,), (8, 8))
    described = (TILE, second, Pointer("c", 2), Scalar("alpha", "f"))
    monkeypatch.setattr(type(stencil), "arguments", lambda *_: described)
    monkeypatch.setattr(bound_cuda, "kernel", lambda *_: Kernel(1, Binary(b"", "k", "")))
    (problem,) = Problem.parse("s:8x8x8@100")
    device = capability.named("h200")
    plan = Plan(problem, device, "cached", "default", "", "tiny", stencil.default(problem, device))
    steps = ((1 << 12, 0, 1 << 14),)
    for job in (Job(problem, swap, (), ()), Job(problem, swap, (2,), steps)):
        fake.seen.clear()
        made = bound_cuda.Bound(job, plan, (3, 0), 0)
        fake.sizes = tuple(size for _, size in made.binding.packed.spans)
        made.run(1 << 20, 1 << 21, 1 << 22, 6)
        assert len(fake.seen) == (2 if job.outer else 1)
        for number, seen in enumerate(fake.seen):
            caller = ((1 << 20) + number * (1 << 12), 1 << 21, (1 << 22) + number * (1 << 14))
            a, b, c = (caller[1], caller[0], caller[2]) if swap else caller
            assert seen.parameters[0] == tensormap.encode(TILE, a)
            assert seen.parameters[1] == tensormap.encode(second, b)
            assert seen.parameters[2:] == (struct.pack("<Q", c), struct.pack("<f", 3))


def test_every_launch_has_a_workspace_of_its_own(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken for the launch alone, on its stream, and given back behind it."""
    said: list[Any] = []

    @contextmanager
    def taken(size: int, zeros: int, stream: int, insist: bool) -> Iterator[int]:
        said.append((size, zeros, stream))
        yield 1000 * len(said)
        said.append(len(fake.seen))

    monkeypatch.setattr(binding.workspace, "taken", taken)
    made = bound(fake, (Pointer("a", 0), Workspace("room", 48, 16)))
    assert (made.words, made.room) == ((Word(0, 0, 0),), Room(48, 16, (Word(1, 0, 0),), ()))
    assert made.start is made
    for address, stream in ((16, 5), (32, 6)):
        made.put((address, 0, 0))(stream)
    assert [each.parameters for each in fake.seen] == [
        (struct.pack("<Q", 16), struct.pack("<Q", 1000)),
        (struct.pack("<Q", 32), struct.pack("<Q", 3000)),
    ]
    assert said == [(48, 16, 5), 1, (48, 16, 6), 2]


def test_no_two_launches_have_the_same_stamp(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding.workspace, "taken", lambda *_: nullcontext(4096))
    made = bound(fake, (Struct("S", (Workspace("room", 48), Stamp("stamp"))),))
    for stream in (5, 5, 6):
        made(stream)
    found = [struct.unpack("<QQ", *each.parameters) for each in fake.seen]
    assert [room for room, _ in found] == [4096] * 3
    stamps = {stamp for _, stamp in found}
    assert len(stamps) == 3
    assert 0 not in stamps


def test_a_packed_block_is_whole_words() -> None:
    packed = pack((Scalar("x", "b", 1), Scalar("y", "h", 2)))
    assert (len(packed.block), packed.spans) == (16, ((0, 1), (8, 2)))
