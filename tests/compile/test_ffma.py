"""The stencil of float32 by warps with roles through NVRTC: no spills, no warnings, enough registers."""

from __future__ import annotations

from tests import marks
from tilewright.model import Config, Problem
from tilewright.stencils.cuda.ffma.needs import THREADS
from tilewright.stencils.cuda.ffma.stencil import FfmaStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = marks.COMPILED

FFMA = FfmaStencil()
H200 = named("h200")


def test_the_most_sums_keep_what_they_promise() -> None:
    p = Problem.parse("s:nt:4096x4096x4096")[0]
    config = Config({**FFMA.default(p, H200), "rows": 8, "columns": 16, "depth": 8, "stages": 6})
    assert not [rule.name for rule in FFMA.space(p, H200).why(config)]
    facts = dict(nvrtc.compile(FFMA.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    # What the warps end with is not more than the block began with.
    assert 128 * (24 + 2 * 240) <= THREADS * facts["registers"] <= H200["registers_per_sm"]
