"""Where caches end: the knee of a curve of bandwidth over footprint, and what is planned by it."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest

from tilewright.catalog import STENCILS
from tilewright.cli import render
from tilewright.model import Device, Problem
from tilewright.planning import dispatch
from tilewright.runtime import call_cache
from tilewright.targets.cuda import capability
from tilewright.tuning import ceilings_cpu
from tilewright.tuning.evaluate import kind_cpu

pytestmark = pytest.mark.pure

MB = 1 << 20
LIMITS = {
    "vector_bits": 512,
    "vector_registers": 32,
    "masks": 1,
    "cores": 16,
    "l1d": 48 << 10,
    "l2": 2 * MB,
    "l3": 480 * MB,
}
CLAIMS = Device("cpu", "A processor that claims much", "made-up-avx512", LIMITS, "x86_64/made-up +fma")
MEASURED = replace(CLAIMS, ceilings={"knee.1": 12.0 * MB, "knee.16": 96.0 * MB})
FOOTPRINTS = [MB << step for step in range(11)]


def curve(*speeds: float) -> list[tuple[int, float]]:
    """Speeds in GB/s at 1 MB, 2 MB, 4 MB and so on."""
    return [(size, 1e9 * speed) for size, speed in zip(FOOTPRINTS, speeds, strict=False)]


@pytest.mark.parametrize(
    ("speeds", "knee"),
    [
        # A step after 8 MB, and after 256 MB.
        ((90, 90, 90, 90, 20, 20, 20, 20, 20, 20, 20), 8),
        ((90, 90, 90, 90, 90, 90, 90, 90, 20, 20, 20), 128),
        # A gradual fall: up to 32 MB more than 4/3 of the memory's speed.
        ((90, 80, 60, 45, 35, 28, 26, 21, 20, 20, 20), 32),
        # One bandwidth for all: no cache shows, so the smallest footprint is all that is known of one.
        ((20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20), 1),
        # Little more than memory's is memory's.
        ((90, 90, 24, 24, 24, 22, 20, 20, 20, 20, 20), 2),
        # One lucky moment far out, and an unlucky one within the caches.
        ((90, 90, 90, 90, 20, 20, 20, 60, 20, 20, 20), 8),
        ((90, 25, 90, 90, 20, 20, 20, 20, 20, 20, 20), 8),
        # Two caches, of which only the first is faster by enough: and both.
        ((90, 90, 25, 25, 25, 25, 20, 20, 20, 20, 20), 2),
        ((90, 90, 40, 40, 40, 40, 20, 20, 20, 20, 20), 32),
    ],
)
def test_the_knee_of_a_curve(speeds: tuple[float, ...], knee: int) -> None:
    assert ceilings_cpu.knee(curve(*speeds)) == knee * MB
    shuffled = curve(*speeds)
    random.Random(1).shuffle(shuffled)
    assert ceilings_cpu.knee(shuffled) == knee * MB


def test_the_knee_stands_in_noise() -> None:
    for seed in range(200):
        noise = random.Random(seed)
        speeds = [(80 if size <= 8 * MB else 20) * noise.uniform(0.9, 1.1) for size in FOOTPRINTS]
        assert ceilings_cpu.knee(curve(*speeds)) == 8 * MB


def test_footprints_go_from_half_of_the_second_level_to_all_that_there_is() -> None:
    found = ceilings_cpu.footprints(2 * MB, 1024 * MB)
    assert found[0] <= 2 * MB
    assert found[-1] == 1024 * MB
    ratios = [after / before for before, after in itertools.pairwise(found)]
    assert all(1.4 < ratio < 1.43 for ratio in ratios)
    assert ceilings_cpu.footprints(8 * MB, 4 * MB) == [4 * MB]


# ---- the knee of a device


def test_a_measured_knee_is_the_devices() -> None:
    assert MEASURED.knee(1) == 12 * MB
    assert MEASURED.knee() == MEASURED.knee(16) == MEASURED.knee(64) == 96 * MB
    # Between the two no more than cores that share nothing would have, and no more than all have.
    assert MEASURED.knee(4) == 48 * MB
    assert MEASURED.knee(12) == 96 * MB


def test_a_knee_is_no_smaller_than_what_a_core_has_alone() -> None:
    low = replace(CLAIMS, ceilings={"knee.1": 1.0 * MB})
    assert low.knee(1) == 2 * MB


def test_a_knee_is_no_larger_than_what_all_caches_claim() -> None:
    """A machine whose memory is faster at one moment than at the next seems to have a cache without end."""
    high = replace(CLAIMS, ceilings={"knee.1": 1024.0 * MB, "knee.16": 65536.0 * MB})
    assert high.knee(1) == 482 * MB
    # Several groups of cores have a last cache each, and the claim is that of one.
    assert high.knee(16) == 16 * 482 * MB


def test_what_was_not_measured_is_believed_in_part() -> None:
    """A core's share of the last cache, 32 MB of it at most, beside its second level."""
    assert CLAIMS.knee(1) == (2 + 30) * MB
    assert CLAIMS.knee() == (16 * 2 + 32) * MB
    small = replace(CLAIMS, limits=LIMITS | {"cores": 2, "l2": MB, "l3": 32 * MB})
    assert (small.knee(1), small.knee()) == (17 * MB, 32 * MB)
    few = replace(CLAIMS, limits=LIMITS | {"cores": 2})
    assert few.knee(1) == 34 * MB


def test_a_gpu_has_its_second_level_unless_measured() -> None:
    h200 = capability.named("h200")
    assert h200.knee() == h200["l2"]
    assert replace(h200, ceilings={"knee.1": 30.0 * MB}).knee() == 30 * MB


def test_a_device_of_fewer_cores_has_their_knee() -> None:
    assert MEASURED.with_cores(16) is MEASURED
    one = MEASURED.with_cores(1)
    assert (one["cores"], one.key, one.knee()) == (1, MEASURED.key, 12 * MB)
    assert MEASURED.with_cores(4).knee() == 48 * MB
    assert CLAIMS.with_cores(1).knee() == CLAIMS.knee(1)


# ---- what is planned by it


class Nothing:
    """Records that know nothing."""

    def best(self, *_: Any, **__: Any) -> None:
        return None

    def predicted(self, *_: Any) -> None:
        return None

    def near(self, *_: Any, **__: Any) -> list[Any]:
        return []

    def devices(self) -> list[str]:
        return []


@pytest.fixture
def untuned(monkeypatch: pytest.MonkeyPatch) -> Any:
    call_cache.clear()
    monkeypatch.setattr(dispatch, "records", Nothing)
    monkeypatch.setattr(dispatch.records, "cache_clear", lambda: None, raising=False)
    yield
    call_cache.clear()


def of_bytes(size: int) -> Problem:
    """A batch of products of order 16 that occupies so many bytes, or a little less."""
    return Problem.parse(f"d:16x16x16@{size // (3 * 8 * 256)}")[0]


@pytest.mark.parametrize(
    ("device", "size", "cores", "kind"),
    [
        (CLAIMS, 400 * MB, 1, "memory"),
        (CLAIMS, 400 * MB, None, "memory"),
        (CLAIMS, 30 * MB, 1, "cached"),
        (CLAIMS, 40 * MB, 1, "memory"),
        (CLAIMS, 40 * MB, None, "cached"),
        (MEASURED, 11 * MB, 1, "cached"),
        (MEASURED, 13 * MB, 1, "memory"),
        (MEASURED, 13 * MB, None, "cached"),
        (MEASURED, 97 * MB, None, "memory"),
    ],
)
def test_the_regime_follows_the_knee(
    untuned: None, device: Device, size: int, cores: int | None, kind: str
) -> None:
    problem = of_bytes(size)
    assert dispatch.regime(problem, device, cores) == kind
    plan = dispatch.plan(problem, device, cores=cores)
    assert plan.regime == kind
    assert (plan.origin, plan.device) == ("default", device)
    # The kernel is of the same opinion as the plan.
    assert plan.config is not None
    assert (plan.config["store"] == "plain") == (kind == "cached")


def test_an_empty_batch_is_cached() -> None:
    assert dispatch.regime(Problem.parse("d:16x16x16@0")[0], CLAIMS) == "cached"


@pytest.mark.parametrize(
    "device", [CLAIMS, MEASURED, replace(CLAIMS, ceilings={"knee.1": 1.0, "knee.16": 1.0})]
)
@pytest.mark.parametrize("regime", ["memory", "cached"])
@pytest.mark.parametrize("spelling", ["d:2", "s:16", "z:64"])
def test_the_tuners_batches_are_what_calls_take_them_for(device: Device, regime: str, spelling: str) -> None:
    problem = kind_cpu.sized(Problem.parse(spelling)[0], regime, device)
    for cores in (1, None):
        assert dispatch.regime(problem, device, cores) == regime
    # Twice what the caches hold, and not twice what is claimed.
    if regime == "memory":
        assert problem.footprint + problem.footprint // problem.batch >= 128 * MB
        assert problem.footprint <= max(128 * MB, 2 * device.knee())
    for name in ("lanes", "tile"):
        stencil = STENCILS[name]
        if stencil.accepts(problem, device) is None:
            assert (stencil.default(problem, device)["store"] == "plain") == (regime == "cached")


def test_doctor_says_where_the_caches_end(capsys: pytest.CaptureFixture[str]) -> None:
    data: dict[str, Any] = {
        "name": "A processor",
        "key": "made-up-avx512",
        "limits": LIMITS,
        "ceilings": dict(MEASURED.ceilings),
        "knees": [(1, 12 * MB), (16, 96 * MB)],
        "nodes": [],
        "threads": "Python's own",
        "calls": "fast",
        "toolchain": "llvm",
        "records": "none",
        "shipped_records": 0,
        "missing": [],
        "gpus": [],
        "gpu_missing": None,
    }
    render.doctor(data)
    said = " ".join(capsys.readouterr().out.split())
    assert "knee 12.0 MB for 1 core, 96.0 MB for 16 cores: where bandwidth falls to that of memory" in said
    render.doctor(data | {"ceilings": {}})
    assert "96.0 MB for 16 cores: a guess until it is measured" in " ".join(capsys.readouterr().out.split())
