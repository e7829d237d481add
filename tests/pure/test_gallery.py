"""The pictures of the gallery are what was measured, and readable by what draws SVG."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import gallery

pytestmark = pytest.mark.pure

LINE = {
    "kind": "gallery",
    "script": "links",
    "piece": "one <contraction>",
    "work": "a lattice, complex128",
    "seconds": {"as it was": 2e-2, "ours & theirs": 1e-3, "a copy": 9e-4},
    "beside": ["a copy"],
}
NAMES = "{http://www.w3.org/2000/svg}"


def test_bars_are_as_long_as_what_they_show_took() -> None:
    drawn = ElementTree.fromstring(gallery.picture(LINE))
    bars = {bar.get("class"): float(bar.get("width", "")) for bar in drawn.iter(f"{NAMES}rect")}
    assert bars["before"] == pytest.approx(20 * bars["ours"], rel=0.01)
    assert bars["ours"] == pytest.approx(bars["beside"] / 0.9, rel=0.01)
    words = [text.text for text in drawn.iter(f"{NAMES}text")]
    assert words[:2] == ["one <contraction>", "a lattice, complex128"]
    assert words[2:] == ["as it was", "20 ms", "ours & theirs", "1 ms, 20 times", "a copy", "900 us"]


def test_the_last_of_several_runs_is_drawn(tmp_path: Path) -> None:
    lines = [{"kind": "run"}, LINE, LINE | {"seconds": {"as it was": 1.5, "ours": 0.5}}]
    (tmp_path / "gallery.jsonl").write_text("\n".join(map(json.dumps, lines)))
    made = gallery.drawn([tmp_path / "gallery.jsonl"], tmp_path / "pictures")
    assert [path.name for path in made] == ["links-one-contraction-complex128.svg"]
    assert ", 3 times" in made[0].read_text()
