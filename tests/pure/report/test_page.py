"""Pages of records: no text of a record is markup, and what a browser draws."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.pure.report.reading import BARE, EVIL, FREE, Page, column, tried
from tilewright.cli.report import differences, markup, pages, sources
from tilewright.errors import ArgumentError
from tilewright.model import Device

pytestmark = pytest.mark.pure


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
