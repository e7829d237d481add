"""How kernels of lists of products are checked and timed."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.pure.groups.lists import H200, listed
from tilewright.catalog import STENCILS
from tilewright.dtypes import narrowed, widened
from tilewright.model import (
    Binary,
    GroupedProblem,
    Kernel,
    Launch,
    Problem,
)
from tilewright.stencils.cuda.grouped.descriptors import ARGUMENT
from tilewright.targets.cuda import driver, modules
from tilewright.tuning.evaluate import Candidate, cuda_grouped, cuda_sizes
from tilewright.tuning.evaluate import cuda as evaluate_cuda
from tilewright.tuning.evaluate.cuda_grouped import GroupedEvaluation, List, hard_lists

pytestmark = pytest.mark.pure


class Memory:
    """What ``driver.allocate`` gives, in this process."""

    def __init__(self, size: int):
        self.words = np.zeros(max(1, size), np.uint8)
        self.address = self.words.ctypes.data


def array(address: int, count: int, dtype: Any) -> np.ndarray:
    raw = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(address)
    return np.frombuffer(raw, np.uint8).view(dtype)


def stored(
    address: int, ld: int, rows: int, cols: int, p: GroupedProblem, transposed: bool = False
) -> np.ndarray:
    """op of a matrix in this process, without conjugation."""
    rows, cols = (cols, rows) if transposed else (rows, cols)
    dtype = p.dtype.numpy
    raw = array(address, ld * (cols - 1) + rows if rows and cols else 0, dtype)
    strides = (dtype.itemsize, ld * dtype.itemsize)
    made = np.lib.stride_tricks.as_strided(raw, (rows, cols), strides)
    return made.T if transposed else made


class Fault:
    """What the kernel does wrong."""

    kind = ""


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> list[Launch]:
    """A GPU that is this processor; every launch in a list."""
    launches: list[Launch] = []

    class Launcher:
        def __init__(self, kernel: Kernel, launch: Launch, block: bytearray):
            self.problem, self.launch, self.block = kernel.owner, launch, block

        def __call__(self, stream: int = 0) -> None:
            launches.append(self.launch)
            p = self.problem
            start, own, ar, ai, br, bi, count, _ = ARGUMENT.unpack(self.block)
            assert own == 0
            alpha, beta = complex(ar, ai), complex(br, bi)
            if not p.dtype.is_complex:
                alpha, beta = alpha.real, beta.real  # type: ignore[assignment]
            size = p.dtype.itemsize
            words = array(start, 16 * count, np.uint32).reshape(count, 16).astype(np.int64)
            for w in words:
                where = [int(w[4 * i] | w[4 * i + 1] << 32) for i in range(3)]
                ld = [int(w[4 * i + 3]) for i in range(3)]
                m, n, k = (int(w[12] >> 8 * i & 255) for i in range(3))

                out = stored(where[2], ld[2], m, n, p)
                made = np.zeros((m, n), widened(out).dtype)
                if k:
                    a = widened(stored(where[0], ld[0], m, k, p, p.transposed_a))
                    b = widened(stored(where[1], ld[1], k, n, p, p.transposed_b))
                    a, b = (a.conj() if p.conj_a else a), (b.conj() if p.conj_b else b)
                    made = alpha * (a @ b)
                if p.beta != "0":
                    made = made + beta * widened(out)
                if Fault.kind == "value" and m > 1:
                    made[-1, -1] *= 1.01
                out[...] = narrowed(made, p.dtype.numpy)
                if Fault.kind == "guard":
                    array(where[2] - size, 1, p.dtype.numpy)[...] = out[0, 0]
                if Fault.kind == "operand" and k:
                    array(where[0], 1, p.dtype.numpy)[...] = 0

    class Watch:
        def time(self, run: Any, repeats: int) -> float:
            for _ in range(min(repeats, 2)):
                run()
            return 1e-3 * repeats

    def copy(to: int, of: np.ndarray) -> None:
        ctypes.memmove(to, np.ascontiguousarray(of).ctypes.data, of.nbytes)

    monkeypatch.setattr(Fault, "kind", "")
    monkeypatch.setattr(driver, "Launcher", Launcher)
    monkeypatch.setattr(driver, "Stopwatch", Watch)
    monkeypatch.setattr(driver, "allocate", Memory)
    monkeypatch.setattr(driver, "upload", copy)
    monkeypatch.setattr(driver, "download", lambda to, at: ctypes.memmove(to.ctypes.data, at, to.nbytes))
    monkeypatch.setattr(driver, "synchronize", lambda: None)
    monkeypatch.setattr(driver, "clocks", lambda: "1 MHz")
    monkeypatch.setattr(modules, "load", lambda binary: Kernel(1, binary, Fault.problem))  # type: ignore[attr-defined]
    return launches


def candidate(problem: GroupedProblem) -> Candidate:
    Fault.problem = problem  # type: ignore[attr-defined]
    config = STENCILS["grouped"].default(problem, H200)
    return Candidate("grouped", config, Binary(b"", "grouped", ""))


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("s:1..9x1..17x1..12@40", {}),
        ("d:ct:1..9x1..17x1..12@40", {"alpha": "any", "beta": "any"}),
        ("z:jn:1..9x1..7x1..12@40+20x20x20@2", {"beta": "1"}),
        ("h:tn:1..20x1..17x1..12@40", {"align": 2}),
        ("hc:nc:1..9x1..7x1..12@40", {"alpha": "any", "beta": "any"}),
        ("b:1..9x1..7x1..12@40", {}),
    ],
)
def test_a_right_kernel_passes_and_is_timed_on_the_list(
    gpu: list[Launch], text: str, fields: dict[str, Any]
) -> None:
    p = listed(text, **fields)
    evaluation = GroupedEvaluation(H200)
    evaluation.prepare(p, "cached")
    outcome = evaluation.attempt(candidate(p), 3, 0.01, float("inf"))
    assert outcome.verdict.ok, outcome.verdict.why
    assert 0 < outcome.verdict.error <= 1
    assert outcome.timing is not None
    assert (outcome.timing.batch, outcome.timing.regime, outcome.clocks) == (p.batch, "cached", "1 MHz")
    checks = [len(list_.sizes[0]) for list_ in hard_lists(p)]
    # A grid has no more blocks than the list has products.
    assert [launch.grid[0] for launch in gpu[: len(checks)]] == [min(n, H200["sms"]) for n in checks]
    last_round = evaluation.final([candidate(p)], 3)
    assert last_round.outcomes[0].verdict.ok, last_round.outcomes[0].verdict.why
    assert last_round.outcomes[0].timing is not None
    assert last_round.vendor is None
    assert "no library" in last_round.missing


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("value", "times the bound"),
        ("guard", "guards of C were written"),
        ("operand", "A, its gaps or its guards were written"),
    ],
)
def test_a_wrong_kernel_does_not_pass(gpu: list[Launch], fault: str, words: str) -> None:
    p = listed("d:2..9x2..17x2..12@40", beta="any")
    evaluation = GroupedEvaluation(H200)
    evaluation.prepare(p, "cached")
    Fault.kind = fault
    outcome = evaluation.attempt(candidate(p), 3, 0.01, float("inf"))
    assert not outcome.verdict.ok
    assert words in outcome.verdict.why
    assert outcome.timing is None
    last_round = evaluation.final([candidate(p)], 3)
    assert not last_round.outcomes[0].verdict.ok
    assert last_round.outcomes[0].timing is None
    # Operands are as they were made for the next one.
    Fault.kind = ""
    assert evaluation.attempt(candidate(p), 3, 0.01, float("inf")).verdict.ok


def test_copies_fill_twice_the_cache_and_launches_go_through_them(gpu: list[Launch]) -> None:
    p = listed("d:32x32x32@500+32x32x31@500")
    evaluation = GroupedEvaluation(H200)
    evaluation.device = replace(H200, limits={**H200.limits, "l2": 20 << 20})
    evaluation.prepare(p, "memory")
    assert len(evaluation._copies) == -(
        -2 * (20 << 20) // sum(x.words.nbytes for x in evaluation._copies[0].list.operands)
    )
    assert len({copy.bases[2] for copy in evaluation._copies}) == len(evaluation._copies)
    evaluation.prepare(p, "cached")
    assert len(evaluation._copies) == 1


def test_hard_lists_have_every_size_gaps_and_a_product_without_terms() -> None:
    p = listed("s:tn:1..32x1..20x1..9@40", beta="any")
    first, one, few = hard_lists(p)
    m, n, k = first.sizes
    assert (int(m.max()), int(n.max()), int(k.max()), int(k.min())) == (p.m, p.n, p.k, 0)
    assert (first.operands[0].ld > np.maximum(first.operands[0].rows, 1)).any()
    assert (first.operands[0].begin % 4 != 0).any()
    assert [int(x[0]) for x in one.sizes] == [p.m, p.n, p.k]
    assert (few.operands[1].begin % 4 == 0).all()
    assert (few.operands[1].ld == few.operands[1].rows).all()
    for operand in first.operands:
        inside = operand.at
        assert len(set(inside.tolist())) == len(inside)
        assert int(inside.min()) * 4 >= cuda_grouped.GUARD
        assert (len(operand.values) - 1 - int(inside.max())) * 4 >= cuda_grouped.GUARD
        assert np.isfinite(operand.of(operand.words)).all()
        around = operand.values.copy()
        around[inside] = np.nan
        assert np.isnan(around).all()


def test_the_reference_is_the_product_of_each_pair() -> None:
    p = listed("z:ct:1..7x1..6x1..5@20", alpha="any", beta="any")
    made = List(p, p.sizes(1), 1, gaps=True)
    which = np.array([2, 5, 19])
    right, at = made.right(which)
    a, b, c = made.operands
    place = 0
    for number in which:
        x, y, z = (part.padded(np.array([number]), int(part.rows[number]), int(part.columns[number]))[0]
                   for part in (a, b, c))  # fmt: skip
        want = made.alpha * (x.conj().T @ y.T) + made.beta * z
        got = right.expected[place : place + want.size].reshape(want.shape[::-1]).T
        np.testing.assert_allclose(got.astype(complex), want, rtol=1e-12)
        assert (c.values[at[place : place + want.size]] == z.T.ravel()).all()
        place += want.size
    assert place == len(at)


def test_lists_and_products_take_turns_in_one_child(
    gpu: list[Launch], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    evaluation = evaluate_cuda.GpuEvaluation(H200)
    monkeypatch.setattr(evaluation.products, "prepare", lambda problem, regime: said.append("products"))
    monkeypatch.setattr(evaluation.products, "release", lambda: said.append("released"))
    p = listed("d:2..9x2..17x2..12@40")
    evaluation.prepare(Problem.parse("d:8x8x8")[0], "cached")
    evaluation.prepare(p, "cached")
    assert said == ["released", "products", "released"]
    assert evaluation.attempt(candidate(p), 3, 0.01, float("inf")).verdict.ok
    assert evaluation.final([], 3).outcomes == []
    evaluation.prepare(Problem.parse("d:8x8x8")[0], "cached")
    assert evaluation.lists._copies == []
    assert cuda_sizes.sized(p, "memory", H200) is p
