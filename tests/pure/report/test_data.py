"""The data of pages of records: what won, what they say, and how small they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.pure.report.reading import BARE, column, tried, unpacked
from tilewright.cli.report import gather, packing, pages, solved
from tilewright.model import Config, Problem, Record
from tilewright.store.records import Records
from tilewright.targets.cuda import capability

pytestmark = pytest.mark.pure


# ---- what won


def test_the_fastest_is_the_one_that_a_call_would_run(tmp_path: Path) -> None:
    store, rows = Records(tmp_path / "records.sqlite"), []
    for spelling in ("d:8x8x8@100", "d:9x9x9@100"):
        rows += [
            tried(spelling, 2e-3, blk=1, when="1"),
            tried(spelling, 1e-3, blk=2, when="2"),
            tried(spelling, None, blk=2, when="3"),
            tried(spelling, 3e-3, blk=4, when="4", protocol=2),
            tried(spelling, 3e-3, blk=3, when="5", protocol=2),
            tried(spelling, float("inf"), blk=5, when="6", protocol=2),
        ]
    rows.append(tried("d:9x9x9@100", None, blk=3, when="0", protocol=2))
    rows.append(tried("d:10x10x10@100", None, blk=3))
    for row in rows:
        store.append(row)
    for (key, regime), own in solved.by_problem(rows).items():
        assert solved.fastest(own) == store.best(key, regime, "a-gpu")
    assert solved.fastest(rows[:6]).config == Config({"blk": 3})
    assert solved.fastest(rows[-1:]) is None


# ---- the data of a page


def test_the_data_of_a_page_say_what_the_records_say() -> None:
    rows = [
        tried("d:8x8x8@100", 2e-3, blk=16, order="nm"),
        tried("d:8x8x8@100", None, blk=32, order="nm", detail="off by 3", status="wrong"),
        tried("d:8x8x8@100", 1e-3, other=True, stencil="lanes"),
        tried("d:8x8x8@100", 1e-3, blk=8, order="mn", protocol=2, when="2026-01-02T03:04:05"),
        tried("d:8x8x8@100", 4e-3, stencil="vendor", algo=7),
        tried("s:nt:3x4x5@10", 1e-3, beta="1"),
        tried("s:3x4x5@10", None),
    ]
    ceilings = {"bandwidth.copy.1": 1e12, "peak.d.1": 1e13}
    data = json.loads(json.dumps(gather.gathered(rows, [replace(BARE, ceilings=ceilings)])))
    assert column(data, "label") == ["s:nt:3x4x5 beta 1", "d:8x8x8 beta 0"]
    assert column(data, "class") == ["nt beta 1", "nn beta 0"]
    assert column(data, "gflops") == [pytest.approx(2 * 60 * 10 / 1e-3 / 1e9), 0.1024]
    assert column(data, "vendor") == [None, 0.0256]
    # 1024 operations in 24 bytes for each of 64 elements, which take longer than the operations.
    assert column(data, "bound") == [None, pytest.approx(1024 / (24 * 64) * 1e3, rel=1e-3)]
    assert column(data, "failed") == [{}, {"wrong": [1, 0]}]
    assert data["messages"] == ["off by 3"]
    assert (data["tries"], data["shown"]) == (5, 5)
    winner = unpacked(data, column(data, "space")[1], column(data, "config")[1])
    assert winner == {"blk": 8, "order": "mn"}
    nothing, sweep = data["sweeps"]
    assert nothing is None
    assert sweep["speeds"] == [0.0512, 0, 0.1024, 0.1024]
    assert sweep["what"] == "owoF"
    # A later protocol is of a final round, too.
    rows.append(replace(rows[2], protocol=3, when="2027", detail="tied with another"))
    later = gather.gathered(rows, [BARE])
    assert (later["sweeps"][1]["what"], column(later, "note")[1]) == ("owoFF", "tied with another")
    configs, at = [], 0
    for space, length in sweep["runs"]:
        width = len(data["spaces"][space]["names"])
        for _ in range(length):
            configs.append(unpacked(data, space, sweep["configs"][at : at + width]))
            at += width
    assert configs == [dict(row.config) for row in rows[:4]]
    overview = {row["type"]: row for row in data["overview"]}
    assert overview["d"]["ratio"] == 4
    assert (overview["d"]["ahead"], overview["s"]["compared"], overview["s"]["percent"]) == (1, 0, None)


def test_a_named_gpu_has_funnels_and_what_its_cost_model_would_choose() -> None:
    (problem,) = Problem.parse("d:8x8x8@200000")
    device = capability.named("h200")
    default = gather.STENCILS["tiny"].default(problem, device)
    other = default.with_(warps=next(w for w in (2, 4, 8) if w != default["warps"]))
    base = {"device": "h200", "stencil": "tiny"}
    rows = [tried("d:8x8x8@200000", s, **base, config=c) for s, c in ((2e-3, default), (1e-3, other))]
    data = gather.gathered(rows, [device])
    assert column(data, "outside") == [""]
    large = gather.gathered([tried("d:8x8x8@200000", 1e-3, **base, config=default.with_(stages=9))], [device])
    assert column(large, "outside")[0].startswith("says stages=9; accepted: ")
    space, text = column(data, "default")[0]
    assert unpacked(data, space, text) == dict(default)
    (funnel,) = data["funnels"]
    assert funnel["stencil"] == "tiny"
    first, last = funnel["steps"][0], funnel["steps"][-1]
    space_of = gather.STENCILS["tiny"].space(problem, device)
    assert (first[3], last[3]) == (space_of.size, space_of.count())
    assert all(step[2] > 0 and step[4] for step in funnel["steps"][1:])


def test_long_sweeps_are_thinned_out_and_keep_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    speeds = [1, 2, 2, 5, 1, 1, 1, 1, 1, 1, 6, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    rows = [tried("d:8x8x8@100", 1e-3 / speed, blk=at) for at, speed in enumerate(speeds)]
    rows[15] = replace(rows[15], protocol=2)
    which = packing.kept(rows, 9)
    assert {0, 1, 3, 10, 15} <= set(which)
    assert len(which) == 9
    assert packing.kept(rows, 20) == list(range(20))
    # However few are wanted, improvements and finals stay.
    assert packing.kept(rows, 2) == [0, 1, 3, 10, 15]
    assert packing.shares([100, 3, 100], 103) == 50
    assert packing.shares([3, 4], 100) == 4
    monkeypatch.setattr(gather, "ROOM", 9 * (1 + gather.BESIDE))
    data = gather.gathered(rows, [BARE])
    assert data["sweeps"][0]["at"] == which
    assert (data["sweeps"][0]["n"], data["tries"], data["shown"]) == (20, 20, 9)
    assert "at" not in gather.gathered(rows, [BARE], every=True)["sweeps"][0]


def test_the_alphabet_has_no_character_that_a_page_spells_in_another_way() -> None:
    text = packing.ALPHABET[:3000]
    assert len(set(text)) == len(text)
    assert not set(text) & set("<>&\"'\\ \n")
    assert json.dumps(text[:80]) == f'"{text[:80]}"'


def test_a_thousand_problems_are_less_than_a_megabyte_and_a_half(tmp_path: Path, library: str) -> None:
    # More tries than there is room for, the same list for each problem: making them would take longer.
    shapes = [(m, n, k) for m in range(2, 12) for n in range(2, 12) for k in range(2, 12)]
    rows, own = [], _sweep_of(60)
    for m, n, k in shapes:
        (problem,) = Problem.parse(f"d:{m}x{n}x{k}@{10**9 // (m * n * k)}")
        rows += [replace(row, problem=problem) for row in own]
    out = tmp_path / "page.html"
    written = pages.report(out, rows, [BARE])
    assert (written["problems"], written["tries"]) == (1000, 60_000)
    assert 30_000 <= written["shown"] < 60_000
    assert written["bytes"] == len(out.read_bytes()) - len(library) < 1_500_000


def _sweep_of(count: int) -> list[Record]:
    """Tries of twelve parameters, as a search leaves them."""
    found = []
    for at in range(count):
        values = {f"parameter_{p}": (at * (p + 3) // 5) % (2 + p) for p in range(12)}
        seconds = 1e-3 * (1 + (at * 7919 % 1009) / 503) if at % 9 else None
        found.append(tried("d:8x8x8@100", seconds, config=Config(values), detail="3 spills" * (not at % 9)))
    return found
