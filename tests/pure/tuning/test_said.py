"""What is said of tuning: speeds of plans, funnels and remarks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.pure.tuning.children import DEVICE, one, record
from tilewright.calls import explain
from tilewright.catalog import STENCILS
from tilewright.cli import render
from tilewright.model import Timing
from tilewright.planning import dispatch
from tilewright.runtime import call_cache
from tilewright.store.records import Records

pytestmark = pytest.mark.pure


def test_the_speed_of_a_tuned_plan_is_of_all_its_products(
    store: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = one("d:16x16x16@1000")
    ceilings = {"peak.d.1": 100e9, "knee.1": 2.0**40, "price_unit_bits": 256.0}
    device = replace(DEVICE, ceilings=ceilings)
    config = STENCILS["tile"].default(problem, device)
    timing = Timing((2e-3,), 2e-3, 2e-3, 2e-3, "cached", 4000, 2)
    store.append(replace(record(problem, config, "cached"), timing=timing))
    call_cache.clear()
    monkeypatch.setattr(dispatch, "records", lambda: store)
    monkeypatch.setattr(dispatch.records, "cache_clear", lambda: None, raising=False)
    try:
        lines = explain.explain_plan(dispatch.plan(problem, device)).splitlines()
    finally:
        call_cache.clear()
    # 4000 products of 8192 operations in 2 ms.
    assert lines[1].startswith("  runs   tuned: tile, ")
    assert lines[-2:] == [
        "  bound  100.0 GF/s on one core, by peak",
        "  speed  16.4 GF/s when it was tuned, 16 % of the bound",
    ]


@pytest.mark.parametrize(
    ("batch", "grain", "cores", "used"),
    [
        (100, 50, 8, 2),
        (99, 50, 8, 1),
        (149, 50, 8, 2),
        (1000, 50, 8, 8),
        (3, 50, 8, 1),
        (0, 1, 8, 1),
        (5, 0, 8, 5),
    ],
)
def test_every_core_gets_its_grain(batch: int, grain: int, cores: int, used: int) -> None:
    assert dispatch.threads(one(f"d:8x8x8@{batch}"), grain, cores) == used


def test_a_funnel_says_what_was_removed_and_what_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = {"rule": "registers", "kind": "hard", "removed": 40, "left": 60, "why": "there are no more"}
    data = {"problem": "d:nn:8x8x8@1", "beta": "0", "regime": "memory", "stencil": "tile", "device": "x"}
    render.spaces([data | {"all": 100, "left": 60, "funnel": [step], "tried": {"ok": 3}}])
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["rule", "kind", "removed", "left"] in [line[:4] for line in words]
    assert ["registers", "hard", "40", "60"] in [line[:4] for line in words]


@pytest.mark.parametrize(
    ("percent", "remark"), [(100.0, False), (105.0, False), (105.1, True), (None, False)]
)
def test_a_remark_says_that_a_bound_is_too_low(
    percent: float | None, remark: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "problem": "d:nn:8x8x8@1",
        "beta": "0",
        "regime": "memory",
        "kind": "cpu",
        "cores": 1,
        "gflops": 1.0,
        "percent_of_bound": percent,
        "ratios": {"numpy": 2.0},
        "origin": "tuned",
        "stencil": "tile",
        "missing": [],
    }
    render.comparison([row])
    assert ("measured in a slower moment" in capsys.readouterr().out) == remark
