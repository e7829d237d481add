"""Candidates on a GPU, without one: what is right, what is given up, and what memory they are timed in."""

from __future__ import annotations

import json
import math

import pytest

from tests.pure.evaluation.pretence import (
    DEVICE,
    FakeDriver,
    Pretence,
    array,
    compiled,
    evaluation,
    one,
)
from tilewright.errors import DeviceError, TilewrightError
from tilewright.model import Config, Device, Kernel, Problem, Source
from tilewright.tuning import tasks, workers
from tilewright.tuning import timing as measure
from tilewright.tuning.evaluate import cuda_sizes

pytestmark = pytest.mark.pure


# ---- right


@pytest.mark.parametrize("fields", [{}, {"beta": "1"}, {"alpha": "any", "beta": "any"}])
@pytest.mark.parametrize(
    "spelling",
    [
        *("s:320x312x304", "d:tn:320x312x304", "c:nc:160x152x144", "z:jt:99x98x97"),
        *("h:tn:160x152x144", "b:160x152x144", "hc:nc:160x152x144"),
    ],
)
def test_right_candidates_are_timed_and_stand_the_finals(
    driver: FakeDriver, spelling: str, fields: dict[str, str]
) -> None:
    problem = one(spelling, **fields)
    bench = evaluation(problem)
    candidates = [compiled(problem, wide=wide) for wide in (1, 2)]
    for candidate in candidates[: 1 if problem.dtype.letter == "z" else 2]:
        verdict, timing, clocks = bench.attempt(candidate, 3, 0.01, math.inf)
        assert verdict.ok, verdict.why
        assert 0 < verdict.error <= 1
        assert timing is not None
        assert (timing.batch, timing.regime, timing.protocol) == (1, "memory", measure.ALONE)
        assert clocks == "1980 MHz"
    # Bases as they were promised and no better, and better ones.
    assert driver.residues >= {0, 16}
    last_round = bench.final(candidates[:1], 5)
    assert last_round.missing == ""
    assert last_round.vendor is not None
    assert last_round.vendor[0] == "vendor 1"
    (outcome,) = last_round.outcomes
    assert outcome.verdict.ok, outcome.verdict.why
    assert outcome.timing is not None
    assert measure.ratio(outcome.timing, last_round.vendor[1])[0] > 0


@pytest.mark.parametrize("read", ["tex1d", "tex2d"])
def test_textures_are_made_over_single_aligned_matrices(driver: FakeDriver, read: str) -> None:
    problem = one("d:320x312x304")
    verdict, timing, _ = evaluation(problem).attempt(compiled(problem, read=read), 3, 0.01, math.inf)
    assert verdict.ok, verdict.why
    assert timing is not None
    assert driver.textures


def test_blocks_that_share_k_are_checked_on_longer_ones(driver: FakeDriver) -> None:
    problem = one("s:320x312x304")
    bench = evaluation(problem)
    chosen = bench._chosen(compiled(problem, split=8))
    assert len(chosen) == 3
    assert all(small.k >= 128 for small, _ in chosen)
    assert bench.attempt(compiled(problem, split=8), 3, 0.01, math.inf).verdict.ok


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("remainder", "right is"),
        ("guard", "guards of C"),
        ("reads c", "right is"),
        ("conjugates", "right is"),
        ("wide", "right is"),
        ("batch", "batch 3"),
        ("short k", "right is"),
    ],
)
def test_faults_are_found_on_small_problems(driver: FakeDriver, fault: str, says: str) -> None:
    problem = one("z:nn:320x312x304")
    verdict, timing, _ = evaluation(problem).attempt(compiled(problem, fault=fault), 3, 0.01, math.inf)
    assert not verdict.ok
    assert timing is None
    assert says in verdict.why


def test_what_is_wrong_on_the_timed_problem_alone_loses_the_finals(driver: FakeDriver) -> None:
    problem = one("d:320x312x304", beta="any")
    bench = evaluation(problem)
    pair = [compiled(problem, fault="large"), compiled(problem)]
    assert all(bench.attempt(candidate, 3, 0.01, math.inf).verdict.ok for candidate in pair)
    last_round = bench.final([*pair, pair[0]], 5)
    assert [outcome.verdict.ok for outcome in last_round.outcomes] == [False, True, False]
    assert [outcome.timing is None for outcome in last_round.outcomes] == [True, False, True]
    assert "320x312x304@1 itself" in last_round.outcomes[0].verdict.why


def test_damage_by_another_is_not_a_candidates_fault(driver: FakeDriver) -> None:
    problem = one("d:320x312x304")
    bench = evaluation(problem)
    array(bench.pointers[0][0], "f8", (320 * 304,), (1,))[...] = 0
    last_round = bench.final([compiled(problem)], 5)
    assert last_round.outcomes[0].verdict.ok
    assert last_round.missing == ""


def test_a_stencil_with_sizes_compiled_in_is_checked_on_its_own(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def source(self: Pretence, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        text = json.dumps([[p.dtype.letter, p.trans_a, p.trans_b, p.beta], dict(config)])
        return Source(text, "pretence", defines=(("M", str(p.m)),))

    monkeypatch.setattr(Pretence, "source", source)
    problem = one("d:8x8x8@1000")
    bench = evaluation(problem)
    assert [p.batch for p, _ in bench._chosen(compiled(problem))] == [1, 3, 7]
    verdict, timing, _ = bench.attempt(compiled(problem), 3, 0.01, math.inf)
    assert verdict.ok, verdict.why
    assert timing is not None
    assert timing.batch == 1000
    large = one("d:320x312x304")
    bench.prepare(large, "memory")
    verdict = bench.attempt(compiled(large), 3, 0.01, math.inf).verdict
    assert "no small problem" in verdict.why


# ---- fast


def test_a_candidate_beyond_the_limit_gets_one_sample(driver: FakeDriver) -> None:
    problem = one("d:64x64x64@4")
    bench = evaluation(problem, "cached")
    outcome = bench.attempt(compiled(problem, fault="slow"), 3, 0.5, 0.001)
    assert outcome.timing is not None
    assert len(outcome.timing.samples) == 1


def test_copies_fill_twice_the_cache_in_memory_alone(driver: FakeDriver) -> None:
    problem = one("d:64x64x64@1")
    bench = evaluation(problem)
    bytes_ = 3 * 64 * 64 * 8
    assert len(bench.pointers) == -(-2 * DEVICE.last_cache // bytes_)
    assert len({a for a, _, _ in bench.pointers}) == len(bench.pointers)
    seen = set()
    run = bench.turns(compiled(problem), Kernel(1, compiled(problem).binary))
    for _ in bench.pointers:
        before = [array(c, "f8", (64,), (1,)).tobytes() for _, _, c in bench.pointers]
        run()
        after = [array(c, "f8", (64,), (1,)).tobytes() for _, _, c in bench.pointers]
        seen.add([x == y for x, y in zip(before, after, strict=True)].index(False))
    assert len(seen) == len(bench.pointers)
    bench.prepare(problem, "cached")
    assert len(bench.pointers) == 1
    bench.prepare(one("d:320x320x320"), "memory")
    assert len(bench.pointers) == 1


@pytest.mark.parametrize(
    ("spelling", "regime", "batch"),
    [
        ("s:4096x4096x4096", "memory", 1),
        ("s:4096x4096x4096", "cached", 1),
        ("s:8192x8192x64", "memory", 1),
        ("d:16x16x16@50000", "memory", 50000),
        ("d:16x16x16@50000", "cached", 50000),
        ("d:16x16x16", "memory", (128 << 20) // 6144),
        ("d:16x16x16", "cached", (1 << 17) // 6144),
        ("d:2x2x2@2", "memory", -(-(1 << 19) // (256 * 96))),
    ],
)
def test_sizes(spelling: str, regime: str, batch: int) -> None:
    assert cuda_sizes.sized(one(spelling), regime, DEVICE).batch == batch
    assert tasks.sized(one(spelling), regime, DEVICE).batch == batch


def test_too_large_a_problem_says_how_many_bytes(driver: FakeDriver) -> None:
    driver.room = 1 << 20
    problem = one("z:256x256x256")
    with pytest.raises(TilewrightError, match=r"z:nn:256x256x256@1.* 3145728 bytes"):
        evaluation(problem)
    # And nothing stays of what had been there.
    assert driver.used < 1 << 20
    evaluation(one("z:32x32x32"))


def test_operands_go_when_others_come(driver: FakeDriver) -> None:
    bench = evaluation(one("d:320x320x320"), "cached")
    first = driver.used
    for _ in range(3):
        bench.prepare(one("d:320x320x320"), "cached")
    assert driver.used == first


def test_a_fault_that_costs_the_context_ends_the_process(driver: FakeDriver) -> None:
    problem = one("d:64x64x64@4")
    bench = evaluation(problem)
    with pytest.raises(DeviceError, match="INVALID_VALUE"):
        bench.attempt(compiled(problem, fault="launch"), 3, 0.01, math.inf)
    assert bench.attempt(compiled(problem), 3, 0.01, math.inf).verdict.ok
    with pytest.raises(workers.Fatal, match="ILLEGAL_ADDRESS"):
        bench.attempt(compiled(problem, fault="lost"), 3, 0.01, math.inf)
