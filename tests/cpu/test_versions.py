"""The comparison of two checkouts: this one with itself, through real workers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench.versions import __main__ as command
from bench.versions.cases import Case

pytestmark = pytest.mark.cpu

HERE = Path(command.__file__).resolve().parents[2]


def test_both_sides_time_every_case(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = ("matmul", "into", "plan", "update", "library")
    some = [Case("cpu", kind, "float32", 3, 2, 4, 5, shared=kind == "into", offset=4) for kind in kinds]
    monkeypatch.setattr(command, "wanted", lambda given: some)
    out = tmp_path / "lines.jsonl"
    arguments = ["bench.versions", "--other", str(HERE), "--rounds", "2", "--out", str(out), "--one-core"]
    monkeypatch.setattr(sys, "argv", arguments)
    command.main()
    first, *rest = [json.loads(line) for line in out.read_text().splitlines()]
    assert first["kind"] == "run"
    assert [line["case"]["kind"] for line in rest] == list(kinds)
    for line in rest:
        assert set(line["us"]) == {"ours", "other"}
        assert 0 < line["worst"] <= line["times_as_fast"]
    assert "update" in capsys.readouterr().out


def test_a_case_that_fails_is_one_line(tmp_path: Path) -> None:
    with command.Side(HERE, str(tmp_path), one_core=True) as side:
        line = command.compared(Case("cpu", "into", "no such type", 2, 2, 2), {"ours": side}, 1)
        assert "no such type" in line["error"]["ours"]
        good = command.compared(Case("cpu", "into", "float64", 2, 2, 2), {"ours": side, "other": side}, 1)
        assert good["us"]["ours"] > 0


def test_random_shapes_are_the_same_ones_each_time() -> None:
    made = list(command.cases.shapes(60, "hbsdcz"))
    assert made == list(command.cases.shapes(60, "hbsdcz"))
    assert len(made) == 120
    assert all(64 <= size < 5000 for case in made for size in (case.m, case.n, case.k))
