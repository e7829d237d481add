"""Which of the two compiled ways a kernel of several parameters takes, and many threads on them."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest

from tests.cpu.patches.driver import CODE, MANY, TILE, Fake, Slow, bound, compiled
from tests.threads import at_once
from tilewright.model import Problem
from tilewright.runtime import fastcall_cuda
from tilewright.stencils.cuda import args
from tilewright.targets.cuda.arguments import (
    Argument,
    Pointer,
    Scalar,
    Struct,
)
from tilewright.targets.cuda.binding import Word

pytestmark = pytest.mark.cpu


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
    count = 1000

    def work(mine: int) -> None:
        for i in range(count):
            word = mine << 32 | i << 4
            start(word, word | 1 << 40, word | 2 << 40, word | 3 << 40)

    # The function in place of the driver's is Python's, so threads take turns in the middle of launches.
    at_once(4, work)
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
