"""The stencil of complex float32 through NVRTC: no spills, no warnings, registers for all warps."""

from __future__ import annotations

import pytest

from tests import marks
from tilewright.model import Config, Problem
from tilewright.stencils.cuda.cfma.needs import THREADS
from tilewright.stencils.cuda.cfma.stencil import CfmaStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = marks.COMPILED

CFMA = CfmaStencil()
H200 = named("h200")
MOST = {"rows": 8, "columns": 4, "lanes_m": 4, "warps_m": 2, "stages": 6, "cut": 1}


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        # The most sums, by boxes and number by number, where C is read and where not.
        ("c:nn:4096x4096x4096", "any", MOST),
        ("c:tt:4095x4093x4097", "any", MOST),
        ("c:nt:4095x4093x4097", "0", MOST | {"cut": 0}),
        ("c:cn:4096x4096x4096", "any", MOST),
        # Both along k, of which eight rows, or columns, take the most registers of addresses.
        ("c:tn:4095x4093x4097", "any", MOST),
        ("c:tn:4096x4096x4096", "any", MOST | {"rows": 4, "columns": 8, "warps_m": 8}),
        ("c:jt:300x200x4096", "any", {}),
        # Neither along k: of four rows and eight columns some would spill.
        ("c:nt:4096x4096x4096", "any", {}),
    ],
)
def test_configs_keep_what_they_promise(text: str, beta: str, fixed: dict[str, int]) -> None:
    p = Problem.parse(text, beta=beta, alpha="1" if beta == "0" else "any")[0]
    config = CFMA.default(p, H200).with_(**fixed)
    assert not [rule.name for rule in CFMA.space(p, H200).why(config) if rule.kind != "soft"]
    facts = dict(nvrtc.compile(CFMA.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    # What the warps end with is not more than the block began with.
    ended = 128 * ((40 + 2 * 232) if p.m % 2 else (24 + 2 * 240))
    assert ended <= THREADS * facts["registers"] <= H200["registers_per_sm"]


def test_a_tile_wider_than_a_box_is_refused_by_its_name() -> None:
    p = Problem.parse("c:4096x4096x4096")[0]
    config = Config({**CFMA.default(p, H200), "rows": 8, "columns": 4, "lanes_m": 8, "warps_m": 8})
    assert "box" in [rule.name for rule in CFMA.space(p, H200).why(config)]
