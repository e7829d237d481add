"""Complex halves by warp groups through NVRTC: no spills, no warnings, registers for all groups."""

from __future__ import annotations

import pytest

from tests import marks
from tilewright.errors import CompileError
from tilewright.model import Config, Problem
from tilewright.stencils.cuda.pairs.stencil import PairsStencil
from tilewright.stencils.cuda.warpgroup.needs import THREADS
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = marks.COMPILED

PAIRS = PairsStencil()
H200 = named("h200")
PLAIN = {
    "exchange": 0,
    "tile_m": 128,
    "tile_n": 128,
    "ping_pong": 0,
    "copied": 0,
    "behind": 0,
    "steps": 2,
    "cluster_m": 1,
    "cluster_n": 1,
}
PLAIN |= {"stages": 6, "outs": 2, "cut": 0}


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        # The most sums of a thread, and an operand that two blocks share.
        ("hc:cj", "any", {"tile_m": 192, "steps": 1, "cluster_m": 2, "stages": 4, "cut": 1}),
        # C stored as its transpose, by groups in turns.
        ("hc:nn", "1", {"exchange": 1, "tile_n": 64, "ping_pong": 1, "stages": 8}),
        # The same most sums beside an operand that is copied before.
        ("hc:nt", "any", {"copied": 1, "exchange": 1, "tile_m": 192, "steps": 1, "stages": 4, "cut": 1}),
        # Warps that copy an operand while others multiply, with 72.
        ("hc:nt", "any", {"copied": 1, "behind": 1, "cluster_n": 2, "cut": 3}),
        # Warps that turn an operand, with 56 registers.
        ("hc:nt", "any", {"cluster_n": 2, "cut": 3}),
    ],
)
def test_configs_keep_what_they_promise(text: str, beta: str, fixed: dict[str, int]) -> None:
    p = Problem.parse(f"{text}:4096x4096x4096", beta=beta, alpha="any")[0]
    config = PAIRS.default(p, H200).with_(**(PLAIN | fixed))
    assert not [rule.name for rule in PAIRS.space(p, H200).why(config) if rule.kind != "soft"]
    facts = dict(nvrtc.compile(PAIRS.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    # What the groups end with is not more than the block began with.
    assert (
        128 * max(24 + 2 * 240, 56 + 2 * 224, 72 + 2 * 216)
        <= THREADS * facts["registers"]
        <= H200["registers_per_sm"]
    )


def test_fragments_beside_the_most_sums_are_refused_by_their_name() -> None:
    p = Problem.parse("hc:tn:4096x4096x4096")[0]
    config = Config({**PAIRS.default(p, H200), "tile_m": 192, "steps": 2})
    assert "steps-sums" in [rule.name for rule in PAIRS.space(p, H200).why(config)]
    with pytest.raises(CompileError, match="steps-sums"):
        nvrtc.compile(PAIRS.source(p, config, H200), H200)
