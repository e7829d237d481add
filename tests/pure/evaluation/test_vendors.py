"""What a candidate is timed beside, on a GPU, without one: cuBLAS, PyTorch and CuPy."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.pure.evaluation.pretence import FakeDriver, compiled, evaluation, one, product, seen
from tilewright.model import Config, Problem
from tilewright.stencils.cuda.args import BLOCK, pack
from tilewright.tuning.baselines import cublas
from tilewright.tuning.evaluate import cuda
from tilewright.tuning.gemm.operands import operands, reference
from tilewright.tuning.gemm.verify import against

pytestmark = pytest.mark.pure


def test_a_vendor_that_is_wrong_or_absent_is_not_timed(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = one("d:64x64x64@4")
    bench = evaluation(problem)
    monkeypatch.setattr(cublas, "vendor", lambda *_: "torch: not here")
    last_round = bench.final([compiled(problem)], 5)
    assert (last_round.vendor, last_round.missing) == (None, "torch: not here")
    assert last_round.outcomes[0].timing is not None
    monkeypatch.setattr(cublas, "vendor", lambda *_: ("vendor 2", lambda: None, lambda: None))
    last_round = bench.final([compiled(problem)], 5)
    assert last_round.vendor is None
    assert "vendor 2: d:nn:64x64x64@4 itself" in last_round.missing


class Algorithm:
    """An algorithm of cuBLASLt that takes a while, and may be wrong."""

    def __init__(self, problem: Problem, scalars: tuple[complex, complex], wait: float, wrong: bool = False):
        self.problem, self.scalars, self.wait, self.wrong = problem, scalars, wait, wrong

    def starting(self, swap: bool) -> Any:
        assert not swap
        p = self.problem
        classes = [p.dtype.letter, p.trans_a, p.trans_b, p.beta]

        def start(a: int, b: int, c: int, stream: int) -> None:
            assert stream == 0
            words = BLOCK.unpack_from(pack(p, (a, b, c), *self.scalars))
            product(classes, words, "wide" if self.wrong else "")
            end = time.perf_counter() + self.wait
            while time.perf_counter() < end:
                pass

        return start


@pytest.mark.parametrize("waits", [(0.02, 0.0, 0.01), (0.02, 0.02, 0.02)])
def test_the_fastest_right_algorithm_stands_for_the_vendor(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, waits: tuple[float, ...]
) -> None:
    # Of odd columns, where what is "wide" goes wrong.
    problem = one("d:61x59x64@4")
    asked = []

    def candidates(problem: Problem, scalars: Any, index: int, count: int) -> Any:
        asked.append((index, count))
        made = [(Config({"id": i}), Algorithm(problem, scalars, wait)) for i, wait in enumerate(waits)]
        return [(Config({"id": 9}), Algorithm(problem, scalars, 0.0, wrong=True)), *made]

    monkeypatch.setattr(cuda.cublaslt, "candidates", candidates)
    monkeypatch.setattr(cuda.cublaslt_library, "version", lambda: 130100)
    bench = evaluation(problem)
    # The array library's product, which is faster than an algorithm that waits.
    last_round = bench.final([], 5)
    assert last_round.missing == ""
    assert last_round.vendor is not None
    if waits[1]:
        assert (last_round.vendor[0], last_round.config) == ("vendor 1", Config({"by": "library"}))
    else:
        assert last_round.config in (Config({"id": 1}), Config({"by": "library"}))
    monkeypatch.setattr(cublas, "vendor", lambda *_: "torch: not here")
    last_round = bench.final([], 5)
    assert last_round.vendor is not None
    assert last_round.vendor[0] == "cublas by cublasLt 130100"
    assert last_round.config == Config({"id": 1}) if not waits[1] else last_round.config["id"] in (0, 1, 2)
    assert asked == [(0, cuda.ALGORITHMS)], "once for a problem"
    bench.prepare(problem, "memory")
    monkeypatch.setattr(
        cuda.cublaslt,
        "candidates",
        lambda problem, scalars, *_: [(Config({}), Algorithm(problem, scalars, 0.0, wrong=True))],
    )
    last_round = bench.final([], 5)
    assert (last_round.vendor, last_round.missing) == (None, "torch: not here")


PADDED = {"lda": 11, "ldb": 9, "ldc": 7, "stride_a": 90, "stride_b": 80, "stride_c": 40}


def check_vendor(multiply: Callable[..., Any], problem: Problem) -> None:
    """A vendor's product against the right answer, in the layout of the problem."""
    made = operands(problem, 5)
    right = reference(problem, made)
    with np.errstate(invalid="ignore"):
        run = multiply(problem, made.pointers, made.alpha, made.beta)
        getattr(run, "whole", run)()
    said = against(made.c[right.which], right, problem, "vendor", cublas.roundings(problem) + 1)
    assert said.error <= 2, (problem, said.why)
    assert made.intact()


def problems() -> list[Problem]:
    found = []
    kinds = (("s", "nn"), ("d", "tn"), ("c", "nc"), ("z", "jt"), ("z", "cc"), ("h", "tn"), ("b", "nt"))
    for letter, trans in (*kinds, ("hc", "nn"), ("hc", "cj"), ("hc", "tc")):
        for classes in ({}, {"beta": "1"}, {"alpha": "any"}, {"alpha": "any", "beta": "any"}):
            base = one(f"{letter}:{trans}:4x5x6", **classes)
            found += [base, base.with_(batch=3), base.with_(batch=3, **PADDED), base.with_(**PADDED)]
            found.append(base.with_(batch=3, stride_a=0))
    return found


def test_pytorchs_product_is_the_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "as_tensor", lambda memory, device: torch.from_numpy(seen(memory)))
    for problem in problems():
        check_vendor(cublas.torch_product, problem)


def test_the_planar_way_is_timed_without_its_conversions(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "as_tensor", lambda memory, device: torch.from_numpy(seen(memory)))
    monkeypatch.setattr(cublas, "has_torch", lambda: "cublas by torch 9")
    problem = one("hc:nn:5x6x7@3", beta="1")
    made = operands(problem, 3)
    before, right = made.c.copy(), reference(problem, made)
    found = cublas.vendor(problem, [made.pointers], made.alpha, made.beta)
    assert not isinstance(found, str)
    version, first, turns = found
    assert version == "planar cublas by torch 9"
    turns()
    assert (made.c == before).all(), "the timed product writes to planes"
    first()
    assert against(made.c, right, problem, "planar", cublas.roundings(problem)).ok
    # A twisted sign is more than its roundings explain.
    stored = [cublas.tensor(x) for x in cublas.memories(problem, made.pointers)]
    wrong = cublas.Planar(torch, problem.with_(trans_a="j"), stored, 1, 1)
    made.c[...] = before
    wrong.whole()
    assert not against(made.c, right, problem, "planar", cublas.roundings(problem)).ok


def test_cupys_product_is_the_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("matmul", "multiply", "add", "empty")
    cupy = SimpleNamespace(asarray=seen, **{name: getattr(np, name) for name in names})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for problem in problems():
        if problem.dtype.letter == "b":
            continue  # NumPy has no product of it that could stand for CuPy's.
        if problem.dtype.letter == "hc":
            with pytest.raises(TypeError, match="complex half"):
                cublas.cupy_product(problem, (0, 0, 0), 1, 0)
            continue
        check_vendor(cublas.cupy_product, problem)


def test_a_vendor_that_cannot_be_asked_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "cupy", None)
    said = cublas.vendor(one("d:4x4x4"), [(0, 0, 0)], 1, 0)
    assert isinstance(said, str)
    assert "torch: ModuleNotFoundError" in said
    assert "cupy: ModuleNotFoundError" in said
