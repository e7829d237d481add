"""The stencil of columns that begin anywhere through NVRTC: no spills, no warnings, registers for all."""

from __future__ import annotations

import pytest

from tests import marks
from tilewright.errors import CompileError
from tilewright.model import Config, Problem
from tilewright.stencils.cuda.unaligned.needs import THREADS
from tilewright.stencils.cuda.unaligned.stencil import UnalignedStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = marks.COMPILED

UNALIGNED = UnalignedStencil()
H200 = named("h200")


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        # The most sums of a thread, and the widest products.
        ("b:nn", "any", {"tile_m": 192, "tile_n": 256, "stages": 3}),
        ("h:tt", "0", {"tile_m": 256, "tile_n": 128, "stages": 4}),
    ],
)
def test_configs_keep_what_they_promise(text: str, beta: str, fixed: dict[str, int]) -> None:
    p = Problem.parse(f"{text}:4095x4095x4095", beta=beta, alpha="1" if beta == "0" else "any")[0]
    config = UNALIGNED.default(p, H200).with_(**fixed)
    assert not [rule.name for rule in UNALIGNED.space(p, H200).why(config)]
    facts = dict(nvrtc.compile(UNALIGNED.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    # What the groups end with is not more than the block began with.
    assert 128 * (24 + 2 * 240) <= THREADS * facts["registers"] <= H200["registers_per_sm"]


def test_a_tile_of_no_whole_groups_is_refused_by_its_name() -> None:
    p = Problem.parse("h:4095x4095x4095")[0]
    config = Config({**UNALIGNED.default(p, H200), "tile_n": 64})
    assert "tile-n" in [rule.name for rule in UNALIGNED.space(p, H200).why(config)]
    with pytest.raises(CompileError, match="tile-n"):
        nvrtc.compile(UNALIGNED.source(p, config, H200), H200)
