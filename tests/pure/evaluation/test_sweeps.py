"""Whole runs of the tuner on a GPU, without one, in child processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.pure.evaluation.pretence import DEVICE, FAULTS, FakeDriver, Pretence, compiled, one, pretend
from tilewright.catalog import STENCILS
from tilewright.errors import TilewrightError
from tilewright.model import Binary, Config, Device, Problem
from tilewright.space import Space
from tilewright.store.records import Records
from tilewright.tuning import farm, tuner
from tilewright.tuning import timing as measure
from tilewright.tuning.baselines import cublas
from tilewright.tuning.evaluate import cuda, kind_cuda

pytestmark = pytest.mark.pure


def fake_factory(device: Device) -> Callable[[Any], Any]:
    """The timing child of these tests."""
    pretend(FakeDriver(), setattr)
    return cuda.handler(device)


def fake_compiler(device: Device) -> Callable[[Any], Binary]:
    """The compiling children of these tests."""

    def handle(request: tuple[str, Problem, Config]) -> Binary:
        _, problem, config = request
        return compiled(problem, **config).binary

    return handle


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = tuner
    monkeypatch.setitem(STENCILS, "pretence", Pretence())
    kind = replace(kind_cuda.KIND, factory=fake_factory, compilers=lambda device: 2, driver=lambda: "580.1")
    monkeypatch.setitem(module.EVALUATIONS, "cuda", kind)
    monkeypatch.setattr(farm, "compiler", fake_compiler)
    monkeypatch.setattr(module, "toolchain", lambda device, stencil: "nvrtc 13.0.88 stencils 12345678")
    records = Records(tmp_path / "records.sqlite")
    yield module, records
    records.close()


def test_a_sweep_records_every_try_and_survives_all_faults(tuned: Any) -> None:
    module, records = tuned
    problem = one("d:320x312x304")
    options: dict[str, Any] = {"search": "exhaustive", "budget": 120.0, "stencils": ["pretence"]}

    def spaces(space: Space) -> Space:
        return space.restricted(read="global", split=1, wide=1)

    def run() -> Any:
        # No fault hangs: what does not return is waited for in tests/cpu/test_tune.py.
        with module.Tuner(DEVICE, records) as tuner:
            return tuner.tune(problem, "memory", spaces=spaces, **options)

    result = run()
    rows = records.all(stencil="pretence")
    first = {row.config["fault"]: row for row in rows if row.protocol == measure.ALONE}
    assert len(first) == len(FAULTS) == result.tried
    expected = {
        "": "ok",
        "remainder": "wrong",
        "guard": "wrong",
        "reads c": "wrong",
        "conjugates": "ok",  # of real numbers
        "wide": "wrong",
        "batch": "wrong",
        "short k": "wrong",
        "large": "ok",
        "launch": "crashed",
        "lost": "crashed",
        "slow": "ok",
        "exit": "crashed",
        "compile": "compile_failed",
        "spills": "spills",
    }
    assert {fault: row.status for fault, row in first.items()} == expected
    assert "ILLEGAL_ADDRESS" in first["lost"].detail
    assert first["slow"].detail == "one sample: stopped early"
    last = {row.config["fault"]: row for row in rows if row.protocol >= measure.INTERLEAVED}
    assert {fault: row.status for fault, row in last.items()} == {
        "": "ok",
        "conjugates": "ok",
        "large": "wrong",
        "slow": "ok",
    }
    for row in (first[""], last[""]):
        assert row.driver == "580.1"
        assert row.clocks == "1980 MHz"
    assert result.best is not None
    assert result.best.config["fault"] in ("", "conjugates")
    assert result.vendor is not None
    assert result.vendor.toolchain == "vendor 1"
    assert result.missing == ""
    assert result.device_seconds > 0
    assert result.waited >= 0
    # What is wrong on the timed problem is nobody's best, though its first try was right.
    best = records.best(problem.key, "memory", DEVICE.key, without="vendor")
    assert best is not None
    assert best.config["fault"] in ("", "conjugates")
    # And the same again tries nothing anew.
    count = len([row for row in rows if row.protocol == measure.ALONE])
    assert run().tried == count
    assert len([r for r in records.all(stencil="pretence") if r.protocol == measure.ALONE]) == count
    # Unless what spills is let through.
    with module.Tuner(DEVICE, records) as tuner:
        tuner.tune(problem, "memory", spaces=spaces, tolerate=64, **options)
    again = [r for r in records.all(stencil="pretence") if r.config["fault"] == "spills"]
    assert [row.status for row in again][:2] == ["spills", "ok"]


def broken_factory(device: Device) -> Callable[[Any], Any]:
    """A timing child whose vendor takes it down."""
    handle = fake_factory(device)

    def vendor(*_: Any) -> Any:
        os._exit(9)

    cublas.vendor = vendor  # type: ignore[assignment]
    return handle


def test_finals_that_fail_by_themselves_are_nobodys_fault(
    tuned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, records = tuned
    monkeypatch.setitem(
        module.EVALUATIONS, "cuda", replace(module.EVALUATIONS["cuda"], factory=broken_factory)
    )
    problem = one("d:128x128x128@2")
    with module.Tuner(DEVICE, records, timeout=20.0) as tuner:
        result = tuner.tune(
            problem,
            "cached",
            search="exhaustive",
            budget=20,
            stencils=["pretence"],
            spaces=lambda space: space.restricted(read="global", split=1, wide=1, fault=""),
        )
    assert "exit code 9" in result.missing
    assert result.vendor is None
    assert result.best is not None
    assert result.best.protocol == measure.ALONE
    assert [row.status for row in records.all(stencil="pretence")] == ["ok"]


def test_a_spent_budget_ends_a_sweep(tuned: Any) -> None:
    module, records = tuned
    problem = one("d:128x128x128@2")
    with module.Tuner(DEVICE, records, timeout=20.0) as tuner:
        for expected in (1, 2):
            result = tuner.tune(
                problem,
                "cached",
                search="exhaustive",
                budget=0.0,
                stencils=["pretence"],
                spaces=lambda space: space.restricted(read="global", split=1, fault=""),
            )
            assert 1 <= result.tried <= expected
            assert not any(worker.busy for worker in tuner.compilers)
    assert result.best is not None


def test_a_problem_without_room_is_an_error_of_the_run(tuned: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module, records = tuned
    with (
        module.Tuner(DEVICE, records, timeout=10.0) as tuner,
        pytest.raises(TilewrightError, match=r"d:nn:2048x2048x2048@1.* 100663296 bytes"),
    ):
        tuner.tune(one("d:2048x2048x2048"), "memory", search="exhaustive", budget=1, stencils=["pretence"])
