"""The stencil of float32 as sums of bfloat16 through NVRTC: no spills, no warnings, registers for all."""

from __future__ import annotations

import pytest

from tests import marks
from tilewright.errors import CompileError
from tilewright.model import Config, Problem
from tilewright.stencils.cuda.emulated.needs import THREADS
from tilewright.stencils.cuda.emulated.stencil import EmulatedStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = marks.COMPILED

STENCIL = EmulatedStencil()
H200 = named("h200")


@pytest.mark.parametrize(
    ("text", "math", "beta", "fixed"),
    [
        # The most sums of a thread, and as many blocks as meet at once of fewer.
        ("s:nn", "bf16x6", "any", {"tile_m": 192, "stages": 5, "cut": 1}),
        ("s:tt", "bf16x6", "0", {"tile_m": 64, "stages": 9, "cut": 1}),
        ("s:nt", "bf16x6", "any", {"tile_m": 128, "stages": 7, "cut": 1}),
        ("s:tn", "bf16x3", "1", {"tile_m": 128, "stages": 7}),
        ("c:nc", "bf16x6", "any", {"tile_m": 192, "stages": 5, "cut": 1}),
        ("c:jn", "bf16x3", "0", {"tile_m": 128, "stages": 7, "cut": 1}),
    ],
)
def test_configs_keep_what_they_promise(text: str, math: str, beta: str, fixed: dict[str, int]) -> None:
    p = Problem.parse(f"{text}:4095x4095x4095", beta=beta, alpha="1" if beta == "0" else "any", math=math)[0]
    config = STENCIL.default(p, H200).with_(**({"cut": 0} | fixed))
    assert not [rule.name for rule in STENCIL.space(p, H200).why(config)]
    facts = dict(nvrtc.compile(STENCIL.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    # What the groups end with is not more than the block began with.
    assert 128 * (24 + 2 * 240) <= THREADS * facts["registers"] <= H200["registers_per_sm"]


def test_a_ring_of_too_few_slots_is_refused_by_its_name() -> None:
    p = Problem.parse("s:4095x4095x4095", math="bf16x6")[0]
    config = Config({**STENCIL.default(p, H200), "stages": 3})
    assert "ring" in [rule.name for rule in STENCIL.space(p, H200).why(config)]
    with pytest.raises(CompileError, match="ring"):
        nvrtc.compile(STENCIL.source(p, config, H200), H200)
