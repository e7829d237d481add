"""The stencil of batches of float32 as sums of bfloat16 through NVRTC: no spills, no warnings, registers for
all."""

from __future__ import annotations

import pytest

from tests import marks
from tilewright.errors import CompileError
from tilewright.model import Config, Problem
from tilewright.stencils.cuda.split.needs import THREADS
from tilewright.stencils.cuda.split.stencil import SplitStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = marks.COMPILED

STENCIL = SplitStencil()
H200 = named("h200")


@pytest.mark.parametrize(
    ("text", "math", "beta", "fixed"),
    [
        # Words of 16 bytes, or numbers one by one, of the most rows that a tile has.
        ("s:nn:400x400x400", "bf16x6", "any", {"tile_m": 128}),
        ("s:nn:401x401x401", "bf16x6", "any", {"tile_m": 64}),
        ("s:nt:401x401x401", "bf16x3", "0", {"tile_m": 128}),
        ("s:tn:401x401x401", "bf16x6", "1", {"tile_m": 128}),
        ("s:tt:401x401x401", "bf16x6", "any", {"tile_m": 64}),
        ("c:nc:401x401x401", "bf16x6", "any", {"tile_m": 128}),
        ("c:jn:400x400x400", "bf16x3", "0", {"tile_m": 128}),
        ("c:tt:401x401x401", "bf16x6", "1", {"tile_m": 64}),
    ],
)
def test_configs_keep_what_they_promise(text: str, math: str, beta: str, fixed: dict[str, int]) -> None:
    p = Problem.parse(f"{text}@9", beta=beta, alpha="1" if beta == "0" else "any", math=math)[0]
    config = STENCIL.default(p, H200).with_(**fixed, stages=6)
    assert not [rule.name for rule in STENCIL.space(p, H200).why(config)]
    facts = dict(nvrtc.compile(STENCIL.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    # What the groups end with is not more than the block began with.
    assert 256 * (112 + 144) <= THREADS * facts["registers"] <= H200["registers_per_sm"]


def test_a_ring_of_too_few_slots_is_refused_by_its_name() -> None:
    p = Problem.parse("s:100x100x100@9", math="bf16x6")[0]
    config = Config({**STENCIL.default(p, H200), "stages": 3})
    assert "ring" in [rule.name for rule in STENCIL.space(p, H200).why(config)]
    with pytest.raises(CompileError, match="ring"):
        nvrtc.compile(STENCIL.source(p, config, H200), H200)
