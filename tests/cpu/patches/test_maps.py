"""Kernels of several parameters, and tensor maps, on other addresses than before."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.cpu.patches.driver import CODE, MANY, NUMBER, TILE, Fake, Slow, bound, compiled, expected
from tilewright.errors import ArgumentError, DeviceError
from tilewright.runtime import fastcall_cuda
from tilewright.targets.cuda import binding, library, tensormap, workspace
from tilewright.targets.cuda.arguments import (
    Pointer,
    Struct,
    TensorMap,
    Workspace,
)

pytestmark = pytest.mark.cpu


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
