"""The stencil of float32 by warps with roles through NVRTC: no spills, no warnings, enough registers."""

from __future__ import annotations

import pytest

from tests import marks
from tilewright.model import Problem
from tilewright.stencils.cuda.ffma.needs import THREADS
from tilewright.stencils.cuda.ffma.stencil import FfmaStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = marks.COMPILED

FFMA = FfmaStencil()
H200 = named("h200")


def test_the_most_sums_keep_what_they_promise() -> None:
    """Operands that are turned, planes, and a C that is read."""
    p = Problem.parse("c:tj:4096x4096x4096", alpha="any", beta="any")[0]
    config = FFMA.default(p, H200).with_(products=3, depth=8)
    assert config["rows"] * config["columns"] == 128
    assert [rule.name for rule in FFMA.space(p, H200).why(config)] == ["three"]
    facts = dict(nvrtc.compile(FFMA.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    # What the warps end with is not more than the block began with.
    assert 128 * (24 + 2 * 240) <= THREADS * facts["registers"] <= H200["registers_per_sm"]


@pytest.mark.parametrize("text", ["s:nn:64x8192x8192", "s:nn:8192x64x8192", "s:tn:64x8192x8192"])
def test_warps_that_turn_slices_of_cut_tiles_have_room_to_count_them(text: str) -> None:
    """Beside 64 sums of a thread they had too few registers, and the default spilled."""
    p = Problem.parse(text)[0]
    config = FFMA.default(p, H200)
    assert (config["rows"] * config["columns"], config["cut"], config["turned"]) == (64, 1, 1)
    facts = dict(nvrtc.compile(FFMA.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    # What the warps end with is not more than the block began with.
    assert 128 * (88 + 2 * 208) <= THREADS * facts["registers"] <= H200["registers_per_sm"]
