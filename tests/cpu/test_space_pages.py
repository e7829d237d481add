"""The pages of docs/space say what is searched: every parameter and rule of a stencil, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright
from tilewright.catalog import STENCILS
from tilewright.model import Device, Problem
from tilewright.targets.cpu import named
from tilewright.targets.cuda import capability

pytestmark = pytest.mark.cpu

ROOT = Path(tilewright.__file__).parent
PAGES = ROOT.parent / "docs" / "space"
NAMES = [name for name, row in STENCILS.items() if not row.custom]
# Those of other nouns than one product or a batch.
OTHERS = ("chain", "segments", "experts", "strips")
# Problems that stencils have the most parameters and rules for.
CPU = ("z:4x4x4", "d:17x17x17", "s:tn:2x3x40", "d:300x9x9", "s:9x9x9@1000")
GPU = (
    *("d:17x17x17", "h:24x24x24", "h:97x97x97@1000", "b:128x128x128@1000", "z:40x40x40@1000"),
    *("d:4096x8x8@1000", "s:8x8x4096@1000", "s:4096x4096x4096", "d:4096x4096x4096", "h:4096x4096x4096"),
    *("hc:4096x4096x4096", "b:4095x4095x4095", "c:1024x1024x1024", "h:4096x16x4096"),
)
ROW = re.compile(r"\| (`[\w-]+`(?:, `[\w-]+`)*) \| (?:(\w+) \| )?.*\|")


def said(stencil: str) -> dict[str, set[str]]:
    """The names in a page's tables of parameters and rules, with the kinds of rules that it gives them."""
    found: dict[str, set[str]] = {}
    inside = False
    for line in (PAGES / f"{stencil}.md").read_text().splitlines():
        if not line.startswith("|"):
            inside = False
        elif line.startswith(("| parameter |", "| rule |")):
            inside = True
        elif inside and (row := ROW.fullmatch(line)):
            for name in re.findall(r"[\w-]+", row[1]):
                found.setdefault(name, set()).add(row[2] or "")
    return found


def devices(stencil: str) -> list[Device]:
    """Devices that stencils of its target are for."""
    if STENCILS[stencil].target == "cuda":
        return [capability.named("h200")]
    return [device for device in named.devices().values() if device.limits.get("vector_bits")]


@pytest.mark.parametrize("stencil", [name for name in NAMES if name not in OTHERS])
def test_a_page_names_every_parameter_and_rule_and_its_kind(stencil: str) -> None:
    page = said(stencil)
    assert page, "a page without tables"
    for text in GPU if STENCILS[stencil].target == "cuda" else CPU:
        for device in devices(stencil):
            (problem,) = Problem.parse(text)
            if STENCILS[stencil].accepts(problem, device) is not None:
                continue
            space = STENCILS[stencil].space(problem, device)
            unsaid = [p.name for p in space.params if p.name not in page]
            unsaid += [rule.name for rule in space.rules if rule.kind not in page.get(rule.name, ())]
            assert not unsaid, f"docs/space/{stencil}.md does not say what {', '.join(unsaid)} is"


@pytest.mark.parametrize("stencil", NAMES)
def test_a_page_names_nothing_that_is_gone(stencil: str) -> None:
    folder = ROOT / "stencils" / STENCILS[stencil].target
    text = "".join(path.read_text() for path in [*folder.glob("*.py"), *folder.rglob(f"{stencil}/*.py")])
    # What a stencil takes from another one is in the words of that one.
    others = re.findall(rf"stencils\.{STENCILS[stencil].target}\.(\w+)\.", text)
    text += "".join(path.read_text() for name in set(others) for path in (folder / name).glob("*.py"))
    gone = [name for name in said(stencil) if f'"{name}"' not in text]
    assert not gone, f"docs/space/{stencil}.md still names {', '.join(gone)}"


def test_every_page_is_of_a_stencil() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == {*NAMES, "index", "kurzak"}
