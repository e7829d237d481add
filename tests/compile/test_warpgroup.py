"""The stencil of warp groups with roles through NVRTC: no spills, no warnings, registers for all groups."""

from __future__ import annotations

import pytest

from tests import marks
from tilewright.errors import CompileError
from tilewright.model import Config, Problem
from tilewright.stencils.cuda.warpgroup.needs import THREADS
from tilewright.stencils.cuda.warpgroup.stencil import WarpGroupStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = marks.COMPILED

WARPGROUP = WarpGroupStencil()
H200 = named("h200")
PLAIN = {"tile_m": 256, "tile_n": 128, "cluster_m": 1, "cluster_n": 1, "stages": 4, "outs": 2, "ping_pong": 0}
PLAIN |= {"cut": 0, "lanes": 0, "copied": 0, "behind": 0, "overlap": 0, "cluster_k": 1}


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        # The most sums of a thread, and an operand that two blocks share.
        ("b:tt", "any", {"tile_m": 192, "tile_n": 256, "cluster_m": 2, "stages": 3, "outs": 3, "cut": 1}),
        ("h:nt", "1", {"tile_m": 192, "ping_pong": 1, "cut": 3}),
        # B or A as fragments in registers, which leave less for sums.
        ("s:nt", "1", {"tile_m": 128, "tile_n": 256, "lanes": 1}),
        ("s:nn", "any", {"tile_m": 128, "tile_n": 256, "lanes": 2, "cut": 1}),
        # One that is copied beside the most sums, and warps that turn the other one; and beside fragments of
        # the other one.
        ("s:nt", "any", {"tile_m": 192, "tile_n": 256, "stages": 3, "copied": 1, "cut": 1}),
        ("s:nt", "1", {"tile_m": 128, "tile_n": 256, "lanes": 2, "copied": 1, "behind": 1, "cut": 1}),
        # Blocks that share slices, with all sums that these may have, and clusters that share tiles.
        (
            "h:nn:128x64x8192",
            "any",
            {"tile_m": 128, "tile_n": 64, "ping_pong": 1, "stages": 5, "cluster_k": 2, "cut": 3},
        ),
        ("b:tt:64x64x65536", "any", {"tile_m": 64, "tile_n": 64, "ping_pong": 1, "cluster_k": 8, "cut": 11}),
        # Columns that begin anywhere: as many lines as warps that load may hold.
        (
            "h:nt:255x127x1023",
            "any",
            {"tile_m": 128, "tile_n": 64, "ping_pong": 1, "stages": 5, "cut": 3},
        ),
        ("b:tn:63x127x1023", "any", {"tile_m": 64, "tile_n": 128, "cluster_k": 8}),
        # Warps that turn both operands, with 40 registers.
        ("s:nt", "any", {"tile_m": 192, "tile_n": 256, "cluster_m": 2, "stages": 3, "outs": 3, "cut": 1}),
    ],
)
def test_configs_keep_what_they_promise(text: str, beta: str, fixed: dict[str, int]) -> None:
    alpha, math = ("1" if beta == "0" else "any"), ("tf32" if text[0] == "s" else "ieee")
    size = "" if "x" in text else ":4096x4096x4096"
    p = Problem.parse(f"{text}{size}", beta=beta, alpha=alpha, math=math)[0]
    config = WARPGROUP.default(p, H200).with_(**(PLAIN | fixed))
    assert not [rule.name for rule in WARPGROUP.space(p, H200).why(config)]
    facts = dict(nvrtc.compile(WARPGROUP.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    # What the groups end with is not more than the block began with.
    assert 128 * max(24 + 2 * 240, 40 + 2 * 232) <= THREADS * facts["registers"] <= H200["registers_per_sm"]


def test_a_tile_of_no_whole_groups_is_refused_by_its_name() -> None:
    p = Problem.parse("h:4096x4096x4096")[0]
    config = Config({**WARPGROUP.default(p, H200), "tile_m": 64, "tile_n": 64, "ping_pong": 0})
    assert "rows" in [rule.name for rule in WARPGROUP.space(p, H200).why(config)]
    with pytest.raises(CompileError, match="rows"):
        nvrtc.compile(WARPGROUP.source(p, config, H200), H200)
