"""Tuning on a GPU: right kernels win, wrong and harmful ones are recorded, cuBLAS is timed beside them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright.catalog import STENCILS
from tilewright.errors import TilewrightError
from tilewright.model import Binary, Config, Device, Problem, Source
from tilewright.space import HARDWARE, Space
from tilewright.store.records import Records
from tilewright.targets.cuda import devices, nvrtc
from tilewright.tuning import farm, timing
from tilewright.tuning.evaluate import Candidate
from tilewright.tuning.evaluate.cuda import CudaEvaluation
from tilewright.tuning.results import Result
from tilewright.tuning.tuner import Tuner

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

# The package has a function of the name of that module.
TUNE: Any = sys.modules[Tuner.__module__]


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    made = Records(tmp_path / "records.sqlite")
    yield made
    made.close()


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


def run(records: Records, problem: Problem, regime: str = "memory", **options: Any) -> Result:
    settings = {"search": "sample", "budget": 15.0, "stencils": ("classic",)} | options
    timeout = settings.pop("timeout", 30.0)
    with Tuner(devices.probe(), records, timeout=timeout) as tuner:
        return tuner.tune(problem, regime, **settings)


def candidate(problem: Problem, **values: Any) -> Candidate:
    stencil, device = STENCILS["classic"], devices.probe()
    config = stencil.default(problem, device).with_(**values)
    return Candidate("classic", config, nvrtc.compile(stencil.source(problem, config, device), device))


@pytest.mark.parametrize("regime", ["memory", "cached"])
def test_a_sweep_finds_a_right_kernel_and_times_cublas_beside_it(records: Records, regime: str) -> None:
    problem = one("s:nn:1024x1024x1024")
    result = run(records, problem, regime)
    assert result.missing == ""
    assert result.best is not None
    assert result.vendor is not None
    assert result.vendor.toolchain.startswith("cublas by ")
    assert set(result.statuses) <= {"ok", "spills"}, result.statuses
    assert result.statuses["ok"] >= 2
    assert result.device_seconds > 0
    best, vendor = result.best, result.vendor
    assert best.driver == vendor.driver == devices.driver_version() != ""
    assert best.toolchain.startswith(nvrtc.toolchain())
    assert best.clocks == "" or "MHz" in best.clocks
    assert best.error is not None
    assert 0 < best.error <= 1
    assert best.timing is not None
    assert vendor.timing is not None
    assert 0.2 < timing.ratio(best.timing, vendor.timing)[1] < 20
    # The same again begins with the best of before, which is not tried again.
    count = len([row for row in records.all() if row.protocol == timing.ALONE])
    again = run(records, problem, regime, budget=1.0)
    assert again.best is not None
    assert len([row for row in records.all() if row.protocol == timing.ALONE]) < count + again.tried


@pytest.mark.parametrize("fields", [{}, {"beta": "1"}, {"alpha": "any", "beta": "any"}])
@pytest.mark.parametrize(
    "spelling",
    ["s:nn:1000x1004x500", "d:tn:777x555x333", "c:nc:512x512x512", "z:ct:300x200x100", "c:jn:256x320x384"],
)
def test_the_default_is_right_and_so_is_cublas(spelling: str, fields: dict[str, str]) -> None:
    problem = one(spelling, **fields)
    evaluation = CudaEvaluation(devices.probe())
    evaluation.prepare(problem, "memory")
    chosen = candidate(problem)
    outcome = evaluation.attempt(chosen, 3, 0.03, float("inf"))
    assert outcome.verdict.ok, outcome.verdict.why
    last_round = evaluation.final([chosen], 5)
    assert last_round.outcomes[0].verdict.ok, last_round.outcomes[0].verdict.why
    assert last_round.missing == ""
    assert last_round.vendor is not None


@pytest.mark.parametrize("fields", [{}, {"beta": "1"}, {"alpha": "any", "beta": "any"}])
@pytest.mark.parametrize("spelling", ["h:nn:16x16x16", "b:tn:13x9x21", "hc:nc:16x16x16", "hc:jt:7x5x9"])
def test_batches_of_halves_are_tuned_beside_the_vendors_product(
    records: Records, spelling: str, fields: dict[str, str]
) -> None:
    problem = one(spelling, **fields)
    reason = STENCILS["tiny"].accepts(problem, devices.probe())
    if reason is not None:
        pytest.skip(f"tiny: {reason}")
    result = run(records, problem, "cached", stencils=("tiny",), budget=6.0)
    assert result.missing == ""
    assert result.best is not None
    assert result.vendor is not None
    assert result.vendor.toolchain.startswith("planar " if problem.dtype.letter == "hc" else "cublas by ")
    assert "wrong" not in result.statuses, result.statuses
    assert result.best.error is not None
    assert 0 < result.best.error <= 1


def test_bases_that_are_aligned_to_one_element(records: Records) -> None:
    problem = one("s:nn:512x512x512", align=4)
    evaluation = CudaEvaluation(devices.probe())
    evaluation.prepare(problem, "cached")
    outcome = evaluation.attempt(candidate(problem), 3, 0.03, float("inf"))
    assert outcome.verdict.ok, outcome.verdict.why
    assert all(a % 8 == 4 for pointers in evaluation.pointers for a in pointers)


@pytest.mark.parametrize("read", ["ldg", "tex1d", "tex2d"])
@pytest.mark.parametrize("letter", "sdcz")
def test_every_way_of_reading_is_right(letter: str, read: str) -> None:
    problem = one(f"{letter}:nn:512x512x512")
    chosen = candidate(problem, read=read, wide=1)
    space = STENCILS["classic"].space(problem, devices.probe())
    if any(rule.kind in HARDWARE for rule in space.why(chosen.config)):
        pytest.skip("the default with this reading breaks a rule")
    evaluation = CudaEvaluation(devices.probe())
    evaluation.prepare(problem, "cached")
    outcome = evaluation.attempt(chosen, 3, 0.03, float("inf"))
    assert outcome.verdict.ok, outcome.verdict.why


def test_data_from_memory_are_not_faster_than_cached_ones() -> None:
    problem = one("s:nn:256x256x16")
    chosen, seconds = candidate(problem), {}
    for regime in ("memory", "cached"):
        evaluation = CudaEvaluation(devices.probe())
        sized = TUNE.sized(problem, regime, devices.probe())
        evaluation.prepare(sized, regime)
        outcome = evaluation.attempt(chosen, 9, 0.2, float("inf"))
        assert outcome.timing is not None, outcome.verdict.why
        seconds[regime] = outcome.timing.median / sized.batch
    assert seconds["cached"] < 1.05 * seconds["memory"]


# ---- candidates that go wrong

FAULTS = {
    "nothing": "",
    "address": "*(volatile int *)16 = 1;",
    "hang": "volatile int *c = (volatile int *)g.c; while (c[0] != 123456789 || c[1] != 987654321) {}",
    "guard": "((volatile int *)g.c)[-1] = 1;",
    "trap": 'asm volatile("trap;");',
}


def faulty(device: Device) -> Callable[[Any], Binary]:
    """In place of ``farm.compiler``: kernels that do harm, by the config's ``order`` and ``buffers``."""

    def handle(request: tuple[str, Problem, Config]) -> Binary:
        name, problem, config = request
        right = STENCILS[name].source(problem, config, device)
        fault = fault_of(config)
        if fault is None:
            return nvrtc.compile(right, device)
        text = (
            '#include "lib/gemm.cuh"\n'
            f'extern "C" __global__ void {right.entry}(const __grid_constant__ Gemm g)\n'
            f"{{ {FAULTS[fault]} }}\n"
        )
        binary = nvrtc.compile(Source(text, right.entry, right.headers), device)
        return replace(binary, digest=right.digest)

    return handle


def fault_of(config: Config) -> str | None:
    return [*FAULTS, None][config["order"] * 2 + config["buffers"] - 1]


def test_whatever_a_candidate_does_is_recorded_and_the_run_goes_on(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(farm, "compiler", faulty)
    problem = one("s:nn:512x512x512")
    default = STENCILS["classic"].default(problem, devices.probe())
    held = {name: value for name, value in default.items() if name not in ("order", "buffers")}

    def spaces(space: Space) -> Space:
        return space.only(HARDWARE).restricted(**held)

    result = run(
        records,
        problem,
        "cached",
        search="exhaustive",
        budget=200.0,
        spaces=spaces,
        timeout=15.0,
        tolerate=10_000,
    )
    rows = [row for row in records.all(stencil="classic") if row.protocol == timing.ALONE]
    status = {fault_of(row.config): row.status for row in rows}
    expected = {
        "nothing": "wrong",
        "address": "crashed",
        "hang": "timeout",
        "guard": "wrong",
        "trap": "crashed",
        None: "ok",
    }
    assert status == {fault: expected[fault] for fault in status}
    assert set(status) >= {"address", "hang"}
    details = {fault_of(row.config): row.detail for row in rows}
    assert "CUDA_ERROR" in details["address"]
    if None in status:
        assert result.best is not None
        assert fault_of(result.best.config) is None


def test_a_problem_without_room_says_how_many_bytes(records: Records) -> None:
    with pytest.raises(TilewrightError, match="bytes on the device"):
        CudaEvaluation(devices.probe()).prepare(one("s:nn:64x64x64@20000000"), "cached")
