"""Pages of records: what won, the data in them and how small it is, no text of a record as markup, two sets
of records beside each other, and the screen of a tuning run."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tilewright.cli import main, progress, queries
from tilewright.cli.report import differences, gather, markup, packing, pages, peers, solved, sources
from tilewright.errors import ArgumentError, RecordsError
from tilewright.model import Config, Device, Problem, Record, Timing
from tilewright.planning import dispatch
from tilewright.store import copies
from tilewright.store.records import Records
from tilewright.targets.cuda import capability

pytestmark = pytest.mark.pure

BARE = Device("cuda", "A GPU", "a-gpu", {})
FREE = ("driver", "clocks", "toolchain", "device", "stencil")
EVIL = "</script><img src=x onerror=alert(1)>&\u2028'\""


def tried(spelling: str, seconds: float | None, **fields: Any) -> Record:
    """A try of a problem; without seconds one that failed. Names that no record has are the config's."""
    known = {name: fields.pop(name) for name in list(fields) if name in Record.__dataclass_fields__}
    beta, spread = fields.pop("beta", "0"), fields.pop("spread", 0.001)
    (problem,) = Problem.parse(spelling, beta=beta)
    protocol = known.get("protocol", 1)
    timing = seconds and Timing(
        (), seconds, seconds * (1 - spread), seconds * (1 + spread), "memory", problem.batch, protocol
    )
    base = {"regime": "memory", "stencil": "tile", "status": "ok" if seconds else "wrong", "device": "a-gpu"}
    base |= {"toolchain": "nvrtc 13", "config": Config(fields or {"blk": 1})}
    return Record(problem=problem, timing=timing or None, **base | known)


class Page(HTMLParser):
    """The elements of a page with their attributes, and the text of each script."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "script" and not self.scripts[-1][1]:
            self.scripts[-1] = self.scripts[-1][0], data

    @property
    def data(self) -> Any:
        return next(json.loads(text) for attributes, text in self.scripts if attributes.get("id") == "data")


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> str:
    """A plotting library of one line, in place of megabytes."""
    text = "window.Plotly = { react() {} };"
    monkeypatch.setattr(markup, "_plotly", lambda: text)
    return text


def unpacked(data: Any, number: int, text: str) -> dict[str, Any]:
    """A config as the script of a page reads it."""
    space = data["spaces"][number]
    places = {letter: place for place, letter in enumerate(data["alphabet"])}
    return {
        name: values[places[c]] for name, values, c in zip(space["names"], space["values"], text, strict=True)
    }


def column(data: Any, name: str) -> list[Any]:
    found = data["problems"][name]
    return found if isinstance(found, list) else [found["of"][at] for at in found["at"]]


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


# ---- the page


def evil_page(tmp_path: Path, library: str) -> tuple[Path, dict[str, Any]]:
    rows = [
        tried("d:8x8x8@100", 1e-3, blk=EVIL, **dict.fromkeys(FREE, EVIL)),
        tried("d:8x8x8@100", None, blk=2, detail=EVIL, device=EVIL),
    ]
    figures = {(EVIL, rows[0].problem.key, "memory"): {EVIL: 1.0}}
    out = tmp_path / "page.html"
    return out, pages.report(out, rows, [Device("cuda", EVIL, EVIL, {})], figures)


def test_no_text_of_a_record_is_markup(tmp_path: Path, library: str) -> None:
    out, _ = evil_page(tmp_path, library)
    text = out.read_text()
    page = Page(text)
    assert EVIL not in text
    assert "<img" not in text
    assert not [tag for tag, attributes in page.elements if any(name.startswith("on") for name in attributes)]
    assert len(page.scripts) == 3
    assert page.data["devices"][0]["name"] == EVIL
    assert page.data["messages"] == [EVIL]
    assert page.data["spaces"][0]["stencil"] == EVIL
    assert column(page.data, "peers") == [{EVIL: 1.0}]


def test_a_page_runs_its_own_scripts_alone_and_reaches_nothing(tmp_path: Path, library: str) -> None:
    out, _ = evil_page(tmp_path, library)
    page = Page(out.read_text())
    policies = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    policy = str(policies[0])
    run = [text for attributes, text in page.scripts if "id" not in attributes]
    assert run[1] == library
    for text in run:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not [attributes for _, attributes in page.elements if "src" in attributes]


def test_the_library_may_lie_beside_the_page(tmp_path: Path, library: str) -> None:
    out = tmp_path / "page.html"
    rows = [tried("d:8x8x8@100", 1e-3)]
    written = pages.report(out, rows, [BARE], library="beside")
    assert (tmp_path / markup.LIBRARY).read_text() == library
    page = Page(out.read_text())
    assert [attributes["src"] for attributes, _ in page.scripts if "src" in attributes] == [markup.LIBRARY]
    assert library not in out.read_text()
    assert written["bytes"] == out.stat().st_size
    with pytest.raises(ArgumentError, match="library='cdn'; accepted: embedded, beside"):
        pages.report(out, rows, [BARE], library="cdn")
    with pytest.raises(ArgumentError, match="cannot be written"):
        pages.report(tmp_path / "no" / "page.html", rows, [BARE])


@pytest.mark.parametrize("which", ["report", "compare"])
def test_a_page_has_headings_names_and_places_for_what_its_script_draws(
    which: str, tmp_path: Path, library: str
) -> None:
    out = tmp_path / "page.html"
    rows = [tried("d:8x8x8@100", 1e-3)]
    if which == "report":
        pages.report(out, rows, [BARE])
    else:
        data = differences.compared(sources.Source("a", rows), sources.Source("b", rows))
        pages.comparison(out, data)
    page = Page(out.read_text())
    tags = [tag for tag, _ in page.elements]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert (tags.count("h1"), tags.count("main"), tags.count("nav")) == (1, 1, 1)
    assert next(a["lang"] for tag, a in page.elements if tag == "html") == "en"
    links = [a["href"] for tag, a in page.elements if tag == "a"]
    assert {link.removeprefix("#") for link in links} <= set(ids)
    named = [a["aria-labelledby"] for tag, a in page.elements if tag == "section"]
    assert set(named) <= set(ids)
    script = next(text for attributes, text in page.scripts if not attributes)
    assert set(re.findall(r'(?:fill|getElementById)\("([a-z-]+)"', script)) <= set(ids)


def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium is installed")
    pytest.importorskip("plotly")
    rows = [tried("d:8x8x8@100", 1e-3 / (1 + at), blk=at % 4, order=at % 3) for at in range(12)]
    rows += [tried("d:9x9x9@100", 1e-3, blk=EVIL), tried("d:8x8x8@100", 2e-3, stencil="vendor")]
    out = tmp_path / "page.html"
    pages.report(out, rows, [BARE])
    command = [browser, "--headless", "--no-sandbox", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--disable-gpu", "--virtual-time-budget=4000", "--dump-dom", f"{out.as_uri()}#problem-0"]
    drawn = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    assert "2 of 2 problems" in drawn
    assert "d:8x8x8 beta 0, memory" in drawn
    assert "What each parameter is worth" in drawn
    assert "All 12 tries; 12 of them timed" in drawn
    # Two plots are open: speeds, and every try of the problem; the roofline of the only device is the third.
    assert drawn.count('class="main-svg"') >= 3
    assert "<img" not in drawn


# ---- two sets of records


def beside(before: Sequence[Record], after: Sequence[Record], threshold: float = 3.0) -> Any:
    sides = sources.Source("before", [*before]), sources.Source("after", [*after])
    return differences.compared(*sides, threshold)


def test_what_became_slower_comes_first_and_only_what_is_sure_is_a_regression() -> None:
    sizes = {4: 1.0, 5: 1.02, 6: 1.5, 7: 1.1, 8: 0.5, 9: 1.3}
    before = [tried(f"d:{n}x{n}x{n}@100", 1e-3) for n in (*sizes, 30)]
    after = [tried(f"d:{n}x{n}x{n}@200", 2e-3 * ratio) for n, ratio in sizes.items()]
    # An interval that reaches below the older one's: nobody knows.
    after[-1] = tried("d:9x9x9@200", 2.6e-3, spread=0.25)
    after += [tried("d:31x31x31@100", 1e-3)]
    before += [tried("d:6x6x6@100", 4e-3, stencil="vendor")]
    after += [tried("d:6x6x6@200", 16e-3, stencil="vendor")]
    data = beside(before, after)
    assert "".join(row["label"][2] for row in data["rows"]) == "697548"
    assert [row["verdict"][0] for row in data["rows"]] == [*"rurssf"]
    assert data["rows"][0]["ratio"] == pytest.approx(1 / 1.5)
    assert data["rows"][0]["vendor_ratio"] == pytest.approx(0.5)
    assert data["counts"] == {"regression": 2, "unsure": 1, "same": 2, "faster": 1}
    assert [len(data[name]) for name in ("only_before", "only_after")] == [1, 1]
    # Figures of different protocols are not set against each other; two kinds of final rounds are.
    alone, final, later = (
        replace(row, protocol=at) for at, row in enumerate((before[2], after[2], after[2]), 1)
    )
    assert beside([alone], [final])["counts"]["unsure"] == 1
    assert beside([replace(alone, protocol=2)], [later])["counts"]["regression"] == 1
    assert beside(before, after, 60)["counts"]["regression"] == 0
    assert beside(before, after, 0)["counts"]["regression"] == 3
    for threshold in (-1, float("nan")):
        with pytest.raises(ArgumentError, match=r"threshold=(-1|nan); accepted: percent, 0 or more"):
            beside(before, after, threshold)
    with pytest.raises(ArgumentError, match=r"no problem is solved in both 'before' \(1 problems\)"):
        beside(before[:1], after[1:2])


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Records:
    made = Records(tmp_path / "records.sqlite")
    for driver, seconds in (("580.1", 1e-3), ("590.2", 1.2e-3)):
        for n in (8, 9):
            slower = seconds if n == 8 else 1e-3
            made.append(tried(f"d:{n}x{n}x{n}@100", slower, driver=driver, when=f"2026-{driver}"))
    monkeypatch.setattr(dispatch, "records", lambda: made)
    return made


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = 0
    try:
        main.main(list(words))
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_a_regression_is_an_exit_code(
    store: Records, tmp_path: Path, library: str, capsys: pytest.CaptureFixture[str]
) -> None:
    compare = ("report", "--compare", "driver=580", "driver=590")
    code, out, _ = said(capsys, *compare)
    assert code == 1
    assert "regressions: more than 3 % slower" in out
    assert "0.833" in out
    assert "2 problems: 1 regression, 0 unsure, 1 same, 0 faster; geometric mean 0.913" in out
    assert not (tmp_path / "tilewright-report.html").exists()
    code, out, _ = said(capsys, *compare, "--threshold", "25", "--json")
    assert code == 0
    assert json.loads(out)["counts"] == {"regression": 0, "unsure": 0, "same": 2, "faster": 0}
    page = tmp_path / "compare.html"
    code, out, _ = said(capsys, *compare[:1], str(page), *compare[1:])
    assert code == 1
    assert str(page) in out
    assert len(Page(page.read_text()).data["rows"]) == 2
    code, _, err = said(capsys, *compare, "--from", "x")
    assert code == 2
    assert "compare goes with no --from" in err
    code, _, err = said(capsys, "report", "--compare", "driver=580", "driver=1")
    assert code == 2
    assert "records='driver=1' names no record" in err


def test_a_part_of_the_records_is_named_in_words(store: Records, tmp_path: Path) -> None:
    lines = tmp_path / "a,b=c.jsonl"
    store.save_ceilings("a-gpu", 1, {"bandwidth.copy.1": 1e12})
    assert store.export(lines, best_only=False) == 4
    found = sources.part(str(lines), store)
    assert (len(found.rows), found.ceilings) == (4, {"a-gpu": {"bandwidth.copy.1": 1e12}})
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(lines.read_bytes())
    assert len(sources.part(f"{plain},driver=590", store).rows) == 2
    copy = tmp_path / "copy.sqlite"
    store.close()
    before = store.path.read_bytes()
    copy.write_bytes(before)
    assert len(sources.part(f"{copy}, device=a-gpu", store).rows) == 4
    assert copy.read_bytes() == before
    assert len(sources.part("a-gpu", store).rows) == 4
    # A device of which there are only the records that ship.
    assert len(sources.part("h100", store).rows) == len(store.shipped("h100")) > 0
    for text in ("nonsense", "driver=", "colour=red", "device=a-gpu,a-gpu"):
        with pytest.raises(ArgumentError, match="is not understood; accepted: a file, a device"):
            sources.part(text, store)
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(copies.SQLITE + b"x" * 100)
    with pytest.raises(RecordsError, match=r"broken\.sqlite' cannot be read"):
        sources.read(broken)
    with pytest.raises(RecordsError, match="missing' cannot be read"):
        sources.read(tmp_path / "missing")


def test_a_page_of_files(
    store: Records, tmp_path: Path, library: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, out = tmp_path / "some.jsonl", tmp_path / "page.html"
    store.export(lines, best_only=False)
    speeds = tmp_path / "bench.json"
    row = {"problem": "d:8x8x8@100", "device": "a-gpu", "gflops": 6.0, "ratios": {"torch": 2.0}}
    speeds.write_text(json.dumps([row, {"device": "a-gpu"}]))
    words = ("report", str(out), "--from", str(lines), "--peers", str(speeds), "--json")
    code, text, err = said(capsys, *words)
    assert code == 0, err
    written = json.loads(text)
    assert (written["devices"], written["problems"], written["tries"]) == (["a-gpu"], 2, 4)
    assert column(Page(out.read_text()).data, "peers") == [{"torch": 3.0}, {}]


def test_figures_of_peers_are_read_from_what_benchmarks_write(tmp_path: Path) -> None:
    folder = tmp_path / "a-gpu"
    folder.mkdir()
    file = folder / "lines.jsonl"
    base = {"regime": "memory", "beta": 0}
    rows = [
        {"kind": "run", "device": "a-gpu"},
        {"kind": "copy", "bytes_per_second": 4e12},
        base | {"problem": "d:8x8x8@5", "peer": "tilewright", "gflops": 9.0},
        base | {"problem": "d:8x8x8@5", "peer": "mkl", "gflops": 3.0, "status": "ok"},
        base | {"problem": "d:8x8x8@5", "peer": "numpy", "gflops": 3.0, "threads": 16},
        base | {"problem": "d:9x9x9@5", "peer": "mkl", "gflops": float("inf")},
        base | {"problem": "d:9x9x9@5", "cublas_tflops": 2.0, "peer": "planar cublas by torch"},
        base | {"problem": "no problem", "peer": "mkl", "gflops": 3.0},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    figures = peers.read([file], ["a-gpu"])
    keys = [Problem.parse(f"d:{n}x{n}x{n}@5")[0].key for n in (8, 9)]
    assert figures == {
        ("a-gpu", "copy", ""): {"copy": 4e12},
        ("a-gpu", keys[0], "memory"): {"mkl": 3.0},
        ("a-gpu", keys[1], "memory"): {"cuBLAS on planes": 2000.0},
    }
    assert peers.copies(figures) == {"a-gpu": {"bandwidth.copy.1": 4e12}}
    with pytest.raises(ArgumentError, match="has no figure of h100"):
        peers.read([file], ["h100"])
    file.write_text("{")
    with pytest.raises(ArgumentError, match="is not JSON"):
        peers.read([file], ["a-gpu"])


def test_winners_alone_do_not_tell_how_the_vendor_does() -> None:
    # As they are exported: the vendor's product is there where it won.
    rows = [tried(f"d:{n}x{n}x{n}@9", 1e-3) for n in range(2, 12)]
    rows.append(tried("d:2x2x2@9", 5e-4, stencil="vendor"))
    (row,) = gather.gathered(rows, [BARE])["overview"]
    assert (row["compared"], row["ratio"]) == (0, None)
    figures = {
        ("a-gpu", one.problem.key, "memory"): {"cublas": (solved.gflops(one) or 0.0) / 2}
        for one in rows[1:10]
    }
    (row,) = gather.gathered(rows, [BARE], figures)["overview"]
    assert (row["compared"], row["ahead"], row["worst"]) == (10, 9, 0.5)


# ---- the screen of a tuning run


def standing(device: str = "h200", **changes: Any) -> progress.Standing:
    statuses = {"ok": 25, "spills": 1, "compile_failed": 4}
    base = progress.Standing(device, 0, 0.5, "tiny", 30, 10.0, 12345.0, 97.0, statuses, (10**9, 676))
    return replace(base, **changes)


def board(terminal: bool) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=terminal, width=150, highlight=False), file


def test_a_line_for_each_device_and_what_became_of_its_tries() -> None:
    console, file = board(True)
    clock = iter([0.0, *[30.0] * 9])
    shown = progress.Board(["d:8", "d:9"], console, False, lambda: next(clock))
    console.print(shown)
    shown.tell(standing())
    shown.tell(standing("h100", part=0.2, percent=None, best=None, statuses={}, points=None))
    console.print(shown)
    text = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "starting"
    # Half of the first of two jobs in 30 s.
    rate, job = "1:30 left 3.0/s, best", "d:8 (1 of 2), tiny"
    assert re.sub("[^ -~]+", "-", lines[1]) == f"h200 - {rate} 12.35 TF/s (97 % of bound)  {job}"
    funnel = "1.0e9 combinations > 676 valid > 30 tried > 25 right"
    assert lines[2] == f"{funnel}; failed: 4 compile failed, 1 spills"
    assert re.sub("[^ -~]+", "-", lines[3]) == f"h100 - {rate} -  {job}"
    assert lines[4] == "30 tried > 0 right"


@pytest.mark.parametrize("terminal", [False, True])
def test_a_line_stays_for_every_job_that_ended(terminal: bool) -> None:
    for quiet in (False, True):
        console, file = board(terminal)
        with progress.board(["d:8", "d:9"], quiet, console) as tell:
            for job in (0, 0, 1):
                tell(standing(job=job, tried=10 + job))
        lines = [line for line in file.getvalue().splitlines() if "tried," in line]
        assert len(lines) == (0 if quiet else 2)
        if not quiet:
            failed = "failed: 4 compile failed, 1 spills (1 of 2)"
            assert lines[0].endswith(f"d:8: 10 tried, 1/s, best 12.35 TF/s (97 % of bound); {failed}")
            assert "(2 of 2)" in lines[1]


def test_time_that_is_left() -> None:
    now = [0.0]
    console, _ = board(True)
    shown = progress.Board(["a", "b", "c", "d"], console, True, lambda: now[0])
    shown.tell(standing(part=0.01))
    now[0] = 100.0
    assert shown.left() == "-"
    shown.tell(standing(job=1, part=0.0))
    assert shown.left() == "5:00"
    now[0] = 1300.0
    assert shown.left() == "1:05:00"
    shown.tell(standing(job=3, part=7.0))
    assert shown.left() == "0:00"


def test_spaces_are_counted_once_and_slow_ones_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    (problem,) = Problem.parse("d:8x8x8@1000")
    device = capability.named("h200")
    monkeypatch.setattr(queries, "SLOW", 60.0)
    points = queries.Points(device)
    whole = gather.STENCILS["tiny"].space(queries.sized(problem, "memory", device), device)
    assert points.of(problem, "memory", "tiny") == (whole.size, whole.count())
    monkeypatch.setattr(queries, "SLOW", -1.0)
    assert points.of(problem, "cached", "tiny") is not None
    assert points.of(Problem.parse("d:9x9x9@1000")[0], "memory", "tiny") is None
    assert points.of(problem, "memory", "tiny") == (whole.size, whole.count())
