"""Bound calls of stencils whose kernels have tensor maps or workspaces."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from tests.cpu.patches.driver import TILE, Fake, bound
from tilewright.arrays.layout import Job
from tilewright.catalog import STENCILS
from tilewright.model import Binary, Kernel, Plan, Problem
from tilewright.runtime import bound_cuda
from tilewright.targets.cuda import binding, capability, tensormap
from tilewright.targets.cuda.arguments import (
    Pointer,
    Scalar,
    Stamp,
    Struct,
    TensorMap,
    Workspace,
    pack,
)
from tilewright.targets.cuda.binding import Room, Word

pytestmark = pytest.mark.cpu


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
