"""What lists of matrices on a GPU are refused for, and what in their memory meets what, without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.arrays import pointers
from tilewright.arrays.overlap import Placement, even_step, overlapping, shared
from tilewright.arrays.pointers import Staging
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError, DTypeError
from tilewright.model import Problem
from tilewright.planning import candidates
from tilewright.stencils.cuda.grouped.stencil import products
from tilewright.targets.cuda import capability, modules

pytestmark = pytest.mark.pure


# ---- what is refused


def misplaced() -> Any:
    return tw.Pointers([4096, 4098], (2, 2), "s")


REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda t: tw.Pointers([4096, 0], (2, 2), "s"), ArgumentError, r"addresses\[1\]=0x0 is null"),
    (lambda t: misplaced(), ArgumentError, r"addresses\[1\]=0x1002 is no multiple of an element's 4"),
    (lambda t: tw.Pointers([-8], (2, 2), "s"), ArgumentError, "negative"),
    (lambda t: tw.Pointers([8.5], (2, 2), "s"), DTypeError, "accepted: integers"),
    (lambda t: tw.Pointers([[8]], (2, 2), "s"), ArgumentError, "one row"),
    (lambda t: tw.Pointers(t.ones(3), (2, 2), "s"), DTypeError, "64-bit integers"),
    (lambda t: tw.Pointers([64], (2, 2), "int32"), DTypeError, "dtype='int32'"),
    (lambda t: tw.Pointers([64], (2, 4), "s", ld=3), ArgumentError, "accepted: ld from 4"),
    (lambda t: tw.Pointers([64], (2, 4), "s", order="K"), ArgumentError, "order='K'"),
    (lambda t: tw.Pointers([64], 5, "s"), ArgumentError, "shape=5"),
    (
        lambda t: tw.Groups([1], None, [1], [64], [64], [64], dtype="s"),
        ArgumentError,
        "n=None; accepted: numbers",
    ),
    (lambda t: tw.Pointers([64], (2, 2), "s", device="cpu"), ArgumentError, "device='cpu'"),
    (lambda t: tw.gemm_batched([t.ones(2, 2)], [np.ones((2, 2))]), ArgumentError, r"b\[0\] .* not on a GPU"),
    (
        lambda t: tw.gemm_batched([t.ones(2, 2)] * 2, [t.ones(2, 2), np.ones((2, 2))]),
        ArgumentError,
        r"b\[1\] .* not on a GPU",
    ),
    (
        lambda t: tw.gemm_batched([t.ones(2, 2)], [t.ones(2, 2)], out=tw.Pointers([64], (2, 3), "s")),
        ArgumentError,
        r"out has matrices of shape \(2, 3\)",
    ),
    (
        lambda t: tw.gemm_batched(
            [t.ones(2, 2)] * 2, [t.ones(2, 2)] * 2, out=tw.Pointers([64, 64], (2, 2), "s")
        ),
        ArgumentError,
        r"out\[0\] and out\[1\] share memory at 0x40 \(the same address\)",
    ),
    (
        lambda t: tw.gemm_batched(
            tw.Pointers([128, 256], (2, 2), "s"), [t.ones(2, 2)] * 2, out=tw.Pointers([64, 268], (2, 2), "s")
        ),
        ArgumentError,
        r"out\[1\] shares memory with a\[1\] at 0x100",
    ),
    (
        lambda t: tw.gemm_batched([t.ones(2, 2)], [t.ones(2, 2)], tw.Pointers([64], (2, 2), "s"), beta=1),
        ArgumentError,
        "c is Pointers and out is None",
    ),
    (
        lambda t: tw.gemm_grouped(tw.Pointers([64], (2, 2), "s"), [t.ones(2, 2)]),
        ArgumentError,
        "a is Pointers, of one size",
    ),
    (lambda t: tw.Groups([1], [1], [-1], [64], [64], [64], dtype="s"), ArgumentError, r"k\[0\]=-1"),
    (lambda t: tw.Groups([1], [1], [1], [64], [0], [64], dtype="s"), ArgumentError, r"b\[0\]=0x0 is null"),
    (lambda t: tw.Groups([1, 2], [1], [1], [64], [64], [64], dtype="s"), ArgumentError, "m has 2 numbers"),
    (
        lambda t: tw.gemm_grouped(tw.Groups(1, 4, 1, [64], [64], [128], ldc=3, dtype="s")),
        ArgumentError,
        r"ldc\[0\]=3; accepted: from 4",
    ),
    (
        lambda t: tw.gemm_grouped(tw.Groups(2, 2, 2, [64, 64], [64, 64], [128, 136], dtype="s")),
        ArgumentError,
        r"c\[0\] and c\[1\] share memory",
    ),
    (
        lambda t: tw.gemm_grouped(tw.Groups(1, 1, 1, [64], [64], [99], dtype="s")),
        ArgumentError,
        "no multiple",
    ),
    (
        lambda t: tw.gemm_grouped(tw.Groups(1, 1, 1, [64], [64], [96], dtype="s"), 5),
        ArgumentError,
        "b beside Groups",
    ),
]


@pytest.mark.parametrize(("made", "error", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(torch: Any, made: Callable[[Any], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        made(torch)


# ---- what meets what


def brute(x: Placement, i: int, y: Placement, j: int) -> bool:
    def cells(p: Placement, which: int) -> set[int]:
        return {
            int(p.start[which]) + (r + q * int(p.ld[which])) * p.size
            for r in range(int(p.rows[which]))
            for q in range(int(p.columns[which]))
        }

    return bool(cells(x, i) & cells(y, j))


@pytest.mark.parametrize("seed", range(30))
def test_overlaps_are_found_and_no_others_in_blocks_of_one_matrix(seed: int) -> None:
    draw = np.random.default_rng(seed)
    ld = int(draw.integers(6, 14))

    def some(count: int) -> Placement:
        rows, columns = draw.integers(0, 5, count), draw.integers(0, 4, count)
        start = 800 + 8 * (draw.integers(0, ld - rows + 1) + ld * draw.integers(0, 30, count))
        return Placement(start, ld, rows, columns, 8)

    outputs, inputs = some(int(draw.integers(1, 9))), some(6)
    every = [(i, j) for i in range(len(outputs.start)) for j in range(i) if brute(outputs, i, outputs, j)]
    found = overlapping(outputs)
    assert (found is None) == (not every)
    assert found is None or found[::-1] in every
    every = [(i, j) for i in range(len(outputs.start)) for j in range(6) if brute(outputs, i, inputs, j)]
    met = shared(outputs, inputs)
    assert (met is None) == (not every)
    assert met is None or met in every


def test_even_steps() -> None:
    assert even_step(np.array([8, 16, 24])) == 8
    assert even_step(np.array([8, 8, 8])) == 0
    assert even_step(np.array([8, 16, 25])) is None
    assert even_step(np.array([8])) == 0


def test_pinned_memory_is_used_again_only_when_it_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece whose copy is on its way is not written to."""
    pending: set[int] = set()
    copies: list[tuple[int, int]] = []
    rooms: list[np.ndarray] = []

    class Api:
        CU_MEMHOSTALLOC_PORTABLE = 1

        class CUevent_flags:
            CU_EVENT_DISABLE_TIMING = 2

        capturing = 0

        def CUstream(self, stream: int) -> int:
            return stream

        def cuStreamIsCapturing(self, stream: int) -> tuple[int, int]:
            return 0, self.capturing

        def cuEventQuery(self, event: int) -> tuple[int]:
            return (600 if event in pending else 0,)

        def cuEventCreate(self, flags: int) -> tuple[int, int]:
            return 0, len(rooms)

        def cuEventRecord(self, event: int, stream: int) -> tuple[int]:
            pending.add(event)
            return (0,)

        def cuMemHostAlloc(self, size: int, flags: int) -> tuple[int, int]:
            rooms.append(np.zeros(size, np.uint8))
            return 0, rooms[-1].ctypes.data

        def cuMemcpyHtoDAsync(self, to: int, start: int, size: int, stream: int) -> tuple[int]:
            copies.append((start, size))
            return (0,)

    api = Api()
    monkeypatch.setattr(pointers, "bindings", lambda: api)
    monkeypatch.setattr(modules, "context", lambda: 1)
    monkeypatch.setattr(pointers, "Owned", lambda handle, *_: type("Owned", (), {"handle": handle})())
    staging = Staging()
    row = np.arange(100)
    for _ in range(3):
        staging.send(64, row, 5)
    assert len(rooms) == 3
    assert len({start for start, _ in copies}) == 3
    assert all((x[:800].view(np.int64) == row).all() for x in rooms)
    pending.clear()
    staging.send(64, row[::2], 5)
    assert len(rooms) == 3
    api.capturing = 1
    with pytest.raises(ArgumentError, match="graph cannot record"):
        staging.send(64, row, 5)


def test_the_problem_of_a_list_is_of_its_own_kind() -> None:
    p = products(Problem.parse("d:1x1x1")[0].dtype, 20, 9, 30, "nt", 1000)
    assert (p.m, p.n, p.k, p.batch) == (24, 16, 32, 1000)
    assert p.with_(batch=1).key != Problem.parse("d:nt:24x16x32")[0].key
    assert candidates.refusal(STENCILS["grouped"], p, capability.named("h200")) is None
