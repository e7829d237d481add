"""Two sets of records beside each other: what became slower, and what is sure of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.commands import said
from tests.pure.report.reading import BARE, Page, column, tried
from tilewright.cli.report import differences, gather, peers, solved, sources
from tilewright.errors import ArgumentError, RecordsError
from tilewright.model import Problem, Record
from tilewright.planning import dispatch
from tilewright.store import copies
from tilewright.store.records import Records

pytestmark = pytest.mark.pure


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
