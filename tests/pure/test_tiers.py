"""Every test is in the folder of its tier, for these are what the Makefile runs, and has its mark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.pure

ROOT = Path(__file__).resolve().parents[2]
TIERS = ("pure", "cpu", "compile", "cuda")
FILES = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))


def test_every_test_is_in_the_folder_of_a_tier() -> None:
    assert {path.parts[1] for path in FILES} == set(TIERS)
    run = re.findall(r"tests/\w+", (ROOT / "Makefile").read_text().partition("\ntest:")[2])
    assert set(run) == {f"tests/{tier}" for tier in TIERS}


def test_every_test_has_the_mark_of_its_tier() -> None:
    for path in FILES:
        text, tier = (ROOT / path).read_text(), path.parts[1]
        # Those that need NVRTC share a list of marks.
        marked = rf"^pytestmark = .*mark\.{tier}\b|^pytestmark = \[\s*pytest\.mark\.{tier}\b"
        if tier == "compile":
            marked += r"|^pytestmark = marks\.COMPILED|^@pytest\.mark\.compile"
        assert re.search(marked, text, re.MULTILINE), path


def test_what_shares_the_cores_is_there() -> None:
    shared = re.search(r"^SHARED := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert shared is not None
    names = shared[1].replace("\\\n", " ").split()
    assert names == sorted(set(names))
    assert [name for name in names if not (ROOT / f"tests/cpu/test_{name}.py").is_file()] == []
