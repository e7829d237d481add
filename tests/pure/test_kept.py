"""``bench.kept``: which records of a processor stay, by lines of several runs."""

from __future__ import annotations

import json

import pytest

from bench.kept import Known, settled
from tilewright.model import VENDOR, Config, Problem, Record

pytestmark = pytest.mark.pure

KEY = Problem.parse("d:8x8x8")[0].key


def record(stencil: str, name: str) -> Record:
    problem = Problem.parse("d:8x8x8@100")[0]
    return Record(problem, "memory", stencil, Config({"name": name}), "ok", "here", "llvm")


def line(**ratios: float) -> str:
    found = {name: {"ratio": ratio} for name, ratio in ratios.items()}
    return json.dumps({"kind": "kept", "problem": KEY, "regime": "memory", **found})


@pytest.mark.parametrize(
    ("runs", "stays"),
    [
        ([{"shipped": 1.1}, {"shipped": 1.05}], "shipped"),
        ([{"shipped": 1.3}, {"shipped": 0.99}], None),
        ([{"shipped": 1.02, "tuned": 1.1}, {"shipped": 1.3, "tuned": 1.1}], "shipped"),
        ([{"shipped": 0.9, "tuned": 1.04}, {"shipped": 1.3, "tuned": 1.02}], "tuned"),
        # What one of the runs does not know has not been seen twice.
        ([{"shipped": 1.01, "tuned": 1.5}, {"shipped": 1.01}], "shipped"),
        ([], "shipped"),
    ],
)
def test_what_is_faster_than_no_record_in_every_run_stays(
    runs: list[dict[str, float]], stays: str | None
) -> None:
    held: Known = {(KEY, "memory"): {name: record("tile", name) for name in ("shipped", "tuned")}}
    stay = settled(held, [line(**run) + "\n" for run in runs], 1.0)
    assert [each.config["name"] for each in stay] == ([stays] if stays else [])


def test_the_library_s_row_and_other_regimes_stay() -> None:
    held: Known = {
        (KEY, "memory"): {VENDOR: record(VENDOR, "library"), "shipped": record("tile", "slow")},
        (KEY, "cached"): {"shipped": record("tile", "cached")},
    }
    stay = settled(held, [line(shipped=0.5), json.dumps({"kind": "run"})], 1.0)
    assert [each.config["name"] for each in stay] == ["library", "cached"]
