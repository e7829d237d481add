"""Records of lists of products, and what is planned by them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.pure.groups.lists import H200, MIX, RANGES, listed
from tilewright import api
from tilewright.calls import settings
from tilewright.cli.commands import arguments
from tilewright.errors import ArgumentError, RecordsError
from tilewright.model import (
    Config,
    GroupedProblem,
    Problem,
    Record,
    Timing,
)
from tilewright.planning import roofline
from tilewright.planning.dispatch import plan
from tilewright.store.jsonl import decode, encode
from tilewright.store.records import Records
from tilewright.tuning import timing as measure

pytestmark = pytest.mark.pure


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
