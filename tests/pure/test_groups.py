"""Lists of products as problems: their spelling, their class, their records, and how they are evaluated."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright import api
from tilewright.calls import settings
from tilewright.catalog import STENCILS
from tilewright.cli.commands import arguments
from tilewright.dtypes import narrowed, widened
from tilewright.errors import ArgumentError, RecordsError
from tilewright.model import (
    MANY,
    Binary,
    Config,
    GroupedProblem,
    Kernel,
    Launch,
    Problem,
    Record,
    Timing,
    parsed,
)
from tilewright.planning import roofline
from tilewright.planning.dispatch import plan, refusal
from tilewright.stencils.cuda.grouped.descriptors import ARGUMENT
from tilewright.stencils.protocol import refused
from tilewright.store.jsonl import decode, encode
from tilewright.store.records import Records
from tilewright.targets.cuda import driver, modules
from tilewright.targets.cuda.capability import named
from tilewright.tuning import timing as measure
from tilewright.tuning.evaluate import Candidate, cuda_grouped, cuda_sizes
from tilewright.tuning.evaluate import cuda as evaluate_cuda
from tilewright.tuning.evaluate.cuda_grouped import GroupedEvaluation, List, hard_lists

pytestmark = pytest.mark.pure

H200, A100 = named("h200"), named("a100")
MIX = "d:8x8x8@100+16x16x16@50"
RANGES = "s:nn:1..32x1..32x1..32@10000"


def listed(text: str, **fields: Any) -> GroupedProblem:
    return GroupedProblem.parse(text, **fields)


# ---- spelling


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (RANGES, RANGES),
        (MIX, "d:nn:8x8x8@100+16x16x16@50"),
        ("hc:ct:1..4x5x6..7@3+9x9x9@1", "hc:ct:1..4x5x6..7@3+9x9x9@1"),
        ("d:8..8x8x8@5", "d:nn:8..8x8x8@5"),
        (" z:tn:3x4..5x6@7 ", "z:tn:3x4..5x6@7"),
    ],
)
def test_a_spelling_comes_back(text: str, same: str) -> None:
    assert GroupedProblem.spells(text)
    (found,) = parsed(text)
    assert isinstance(found, GroupedProblem)
    assert found.spelling == same
    assert GroupedProblem.parse(found.spelling) == found
    assert GroupedProblem.parse(found.spelling).terms == found.terms


@pytest.mark.parametrize("text", ["d:8x8x8@100", "d:2..32", "d:2..32@10", "z:nt:4x4x4", "hc:nn:1x2x3@4"])
def test_problems_and_ranges_of_problems_are_no_lists(text: str) -> None:
    assert not GroupedProblem.spells(text)
    assert parsed(text) == Problem.parse(text)
    with pytest.raises(ArgumentError, match="is not understood"):
        GroupedProblem.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("d:8x8x8+4x4x4@2", "is not understood"),
        ("d:1..4x2x2", "is not understood"),
        ("q:1..4x2x2@3", "is not understood"),
        ("d:4..1x2x2@3", "runs backwards"),
        ("d:0..4x2x2@3", "has a zero"),
        ("d:1x1x1@0+2x2x2@1", "has a zero"),
    ],
)
def test_what_is_not_understood(text: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        parsed(text)


# ---- what a list is


def test_operations_and_bytes_are_those_of_its_products() -> None:
    p = listed("z:nt:3x4x5@10+20x1x7@30", beta="any")
    m, n, k = p.sizes(3)
    assert (
        sorted(zip(m.tolist(), n.tolist(), k.tolist(), strict=True)) == [(3, 4, 5)] * 10 + [(20, 1, 7)] * 30
    )
    assert p.flops * p.batch == pytest.approx(8 * (m * n * k).sum())
    assert p.footprint == 16 * (m * k + k * n + m * n).sum()
    assert p.bytes * p.batch == pytest.approx(16 * (m * k + k * n + 2 * m * n).sum())
    assert p.updated == 16 * (m * n).sum()
    assert replace(p, beta="0").updated == 0
    assert (p.batch, p.m, p.n, p.k) == (40, 24, 4, 8)


def test_what_is_drawn_is_random_and_the_same_every_time() -> None:
    p = listed(RANGES)
    first, second, other = p.sizes(1), p.sizes(1), p.sizes(2)
    for a, b, c in zip(first, second, other, strict=True):
        assert (a == b).all()
        assert (a != c).any()
        assert (int(a.min()), int(a.max())) == (1, 32)
    assert abs((first[0] * first[1] * first[2]).mean() / p.work - 1) < 0.05
    # The arrays of such a list are of its class.
    assert GroupedProblem.of(p.dtype, "nn", first) == p
    assert GroupedProblem.of(p.dtype, "nn", first).key == p.key
    with pytest.raises(ArgumentError, match="a list of arrays is not drawn"):
        GroupedProblem.of(p.dtype, "nn", first).sizes(1)


def test_a_class_is_what_the_speed_of_a_config_follows_from() -> None:
    p = listed(RANGES)
    for like in ("s:1..31x1..32x1..29@9000", "s:1..32x1..32x1..32@12000"):
        assert listed(like).key == p.key
    others = [
        "s:1..32x1..32x1..32@100",
        "s:1..32x1..32x1..16@10000",
        "s:1..4x1..4x1..4@9990+32x32x32@10",
        "d:1..32x1..32x1..32@10000",
        "s:tn:1..32x1..32x1..32@10000",
    ]
    variants = [listed(text) for text in others]
    variants += [listed(RANGES, alpha="any"), listed(RANGES, beta="1"), listed(RANGES, align=4)]
    variants.append(replace(p, math="tf32"))
    assert len({p.key, *(one.key for one in variants)}) == len(variants) + 1
    assert all(one != p for one in variants)
    assert listed("s:1..4x1..4x1..4@10000000").count == MANY
    assert p.with_(batch=1).key == p.key


def test_lists_are_for_the_stencil_of_lists_alone() -> None:
    p = listed(RANGES)
    for name, stencil in STENCILS.items():
        device = H200 if stencil.target == "cuda" else named("h200")
        assert (refused(stencil, p, device) is None) == (name == "grouped")
        assert (refusal(stencil, p, device) is None) == (name == "grouped")


# ---- records


def record(problem: GroupedProblem, config: Config, regime: str = "memory", seconds: float = 1.0) -> Record:
    timing = Timing((seconds,), seconds, seconds, seconds, regime, problem.batch, measure.INTERLEAVED)
    return Record(
        problem,
        regime,
        "grouped",
        config,
        "ok",
        H200.key,
        "test",
        timing=timing,
        seconds=seconds,
        protocol=measure.INTERLEAVED,
        when="2026-01-01",
    )


@pytest.mark.parametrize("fields", [{}, {"alpha": "any", "beta": "1"}, {"align": 4}])
@pytest.mark.parametrize("text", [MIX, RANGES, "d:8..8x8x8@5"])
def test_records_of_lists_come_back(text: str, fields: dict[str, Any]) -> None:
    made = record(listed(text, **fields), Config({"depth": 2}))
    line = encode(made)
    back = decode(line)
    assert back.problem == made.problem
    assert isinstance(back.problem, GroupedProblem)
    assert back.problem.terms == made.problem.terms
    assert back.problem.key == made.problem.key
    assert back == made
    assert made.problem.to_json() == {"problem": made.problem.spelling, **fields}
    with pytest.raises(RecordsError, match="has a zero"):
        decode(line | {"problem": "d:0..1x1x1@1"})


def test_records_plan_lists_of_their_class_and_near_ones_and_no_usual_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Records(tmp_path / "records.sqlite", shipped=tmp_path)
    monkeypatch.setattr("tilewright.planning.dispatch.records", lambda: store)
    settings.forget()
    p = listed(RANGES)
    default = plan(p, H200, vendor=False)
    assert default.origin == "default"
    assert default.stencil == "grouped"
    tuned = (default.config or Config({})).with_(deep=2)
    store.append(record(p, tuned, default.regime))
    store.append(replace(record(p, Config({}), default.regime, 1e-9), stencil="vendor"))
    settings.forget()
    found = plan(p, H200, vendor=False)
    assert (found.origin, found.stencil, found.config) == ("tuned", "grouped", tuned)
    assert plan(listed(RANGES, alpha="any"), H200, vendor=False).origin == "near"
    usual = Problem.parse("s:32x32x32@10000")[0]
    assert store.near(usual, "memory", H200.key) == []
    assert plan(usual, H200).origin in ("default", "vendor")
    forced = plan(p, H200, config={"deep": 1}, vendor=False)
    assert (forced.origin, (forced.config or {})["deep"]) == ("forced", 1)
    with pytest.raises(ArgumentError, match="no stencil accepts it"):
        plan(listed("s:1..65x1x1@3"), H200, vendor=False)
    settings.forget()


def test_bounds_are_of_the_mean_product() -> None:
    ceilings = {"peak.d.1": 1e15, "bandwidth.copy.1": 1e12}
    device = replace(H200, ceilings=ceilings)
    p = listed("d:8x8x8@10000+24x24x24@10000", beta="1")
    found = roofline.bound(p, device, "memory")
    assert found.seconds == pytest.approx(p.bytes / 1e12)


def test_the_command_knows_lists_and_where_they_are_not_served() -> None:
    kinds = [type(p) for p in arguments.problems_of([RANGES, "d:2..3"], "0,1")]
    assert kinds == [GroupedProblem] * 2 + [Problem] * 4
    assert [p.beta for p in arguments.problems_of([RANGES], "0,1")] == ["0", "1"]
    with pytest.raises(ArgumentError, match="is a list; accepted: products of one size"):
        arguments.of_one_size([RANGES], "0")
    assert "numpy" in api.explain(MIX)


# ---- evaluation


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
