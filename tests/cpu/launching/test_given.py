"""What the compiled program that launches hands the driver."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from tests.cpu.launching.launches import (
    CODE,
    KERNEL,
    LAUNCH,
    Fake,
    Slow,
    block_of,
    launcher,
    starting,
    words_at,
)
from tilewright.runtime import fastcall_cuda
from tilewright.targets.cuda import driver
from tilewright.targets.cuda.binding import Word

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("places", [(0, 1, 2), (1, 0, 2), (16, 3, 9)])
def test_addresses_land_where_they_belong(fake: Fake, places: tuple[int, int, int]) -> None:
    block = block_of()
    before = bytes(block)
    start, slow = starting(block, places)
    addresses = (0x7F00_0000_1000, 2**64 - 2, 0)
    assert start(*addresses, 0xABCD) is None
    (seen,) = fake.seen
    want = list(struct.unpack("<17Q", before))
    for place, address in zip(places, addresses, strict=True):
        want[place] = address
    assert struct.unpack("<17Q", seen.argument) == tuple(want)
    assert block == before
    assert (seen.kernel, seen.extra) == (KERNEL, None)
    assert slow.calls == []


@pytest.mark.parametrize("words", [words_at(), [Word(0, 0, 63), Word(1, 1, 0), Word(2, 2, 0)]])
def test_compiled_callers_launch_as_python_does(fake: Fake, words: list[Word]) -> None:
    slow = Slow()
    start = fastcall_cuda.starting(launcher(block_of()), words, slow)
    assert start is not None
    found = fastcall_cuda.raw(start)
    assert found is not None
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint64] * 4)(found[0])
    start(64, 2, 3, 9)
    assert function(found[1], 64, 2, 3, 9) == 0
    one, other = fake.seen
    assert (one.argument, one.configuration) == (other.argument, other.configuration)
    fake.codes = [CODE]
    assert function(found[1], 64, 2, 3, 9) == CODE
    assert function(found[1], 65, 2, 3, 9) == int(words[0].mask > 0)
    assert slow.calls == []
    assert fastcall_cuda.raw(slow) is None
    assert fastcall_cuda.raw(len) is None


def test_the_configuration_is_the_launchers_with_the_stream_of_the_call(fake: Fake) -> None:
    block = block_of()
    made = launcher(block)
    start = fastcall_cuda.starting(made, words_at(), Slow())
    assert start is not None
    made(77)
    for stream in (5, 0, 2**64 - 1):
        start(1, 2, 3, stream)
    made(0)
    by_python, *compiled, again = fake.seen
    size = driver.Configuration.stream.offset
    assert [each.stream for each in compiled] == [5, None, 2**64 - 1]
    for each in compiled:
        assert each.configuration[:size] == by_python.configuration[:size]
        assert each.configuration[size + 8 :] == by_python.configuration[size + 8 :]
    assert again.configuration == compiled[1].configuration
    told = driver.Configuration.from_buffer_copy(compiled[0].configuration)
    assert (tuple(told.grid), tuple(told.block), told.shared) == (LAUNCH.grid, LAUNCH.block, LAUNCH.shared)
    assert [told.attributes[i].id for i in range(told.count)] == [driver.CLUSTER_DIMENSION, driver.OVERLAP]


def test_the_copies_are_the_calls_own(fake: Fake) -> None:
    made = launcher(block_of())
    start = fastcall_cuda.starting(made, words_at(), Slow())
    assert start is not None
    start(1, 2, 3, 4)
    (seen,) = fake.seen
    assert seen.at[0] != made.parameters.configuration
    assert seen.at[1] != made.parameters.block
    assert seen.at[1] % 16 == 0


def test_what_is_constant_is_read_at_every_call(fake: Fake) -> None:
    block = block_of()
    start, _ = starting(block)
    start(1, 2, 3, 4)
    block[24:32] = b"changed!"
    start(1, 2, 3, 4)
    first, second = fake.seen
    assert first.argument[24:32] == bytes(range(31, 39))
    assert second.argument[24:32] == b"changed!"
    assert first.argument[32:] == second.argument[32:]


@pytest.mark.parametrize("size", [24, 64, 4096])
def test_arguments_of_other_sizes(fake: Fake, size: int) -> None:
    fake.size = size
    block = bytearray(np.random.default_rng(size).bytes(size))
    start, _ = starting(block)
    start(10, 20, 30, 0)
    assert fake.seen[0].argument == struct.pack("<3Q", 10, 20, 30) + block[24:]


def test_what_no_program_is_made_for(fake: Fake) -> None:
    assert fastcall_cuda.starting(launcher(block_of(60)), words_at(), Slow()) is None
    assert fastcall_cuda.starting(launcher(block_of(64)), words_at((0, 1, 8)), Slow()) is None
    assert fastcall_cuda.starting(launcher(block_of(64)), words_at((-1, 1, 2)), Slow()) is None
