"""The stencil of float64 on tensor cores through NVRTC: no spills, no warnings, registers for all warps."""

from __future__ import annotations

import pytest

from tests import marks
from tilewright.errors import CompileError
from tilewright.model import Config, Problem
from tilewright.stencils.cuda.dmma.needs import THREADS, loose
from tilewright.stencils.cuda.dmma.stencil import DmmaStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = marks.COMPILED

DMMA = DmmaStencil()
H200 = named("h200")


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        ("d:nn", "0", {}),
        # Numbers of both operands come one by one, beside as many sums.
        ("d:nn odd", "any", {}),
        ("d:tn odd", "0", {"depth": 32, "stages": 3}),
        ("d:nt odd", "any", {}),
        # The most boxes, which a warp with few registers asks for.
        ("z:nt odd", "0", {}),
        # The most registers of fragments beside as many sums as there may be, and C is read.
        ("z:ct", "any", {"tile_m": 128, "tile_n": 64, "warps_m": 4, "mma_k": 16, "depth": 16, "stages": 4}),
    ],
)
def test_configs_keep_what_they_promise(text: str, beta: str, fixed: dict[str, int]) -> None:
    text, _, odd = text.partition(" ")
    size = "4095x4093x4097" if odd else "4096x4096x4096"
    p = Problem.parse(f"{text}:{size}", beta=beta, alpha="1" if beta == "0" else "any")[0]
    config = DMMA.default(p, H200).with_(**fixed)
    assert not [rule.name for rule in DMMA.space(p, H200).why(config)]
    facts = dict(nvrtc.compile(DMMA.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    # What the warps end with is not more than the block began with.
    assert (
        128 * ((40 + 2 * 232) if any(loose(p)[:2]) else (24 + 2 * 240))
        <= THREADS * facts["registers"]
        <= H200["registers_per_sm"]
    )


@pytest.mark.parametrize("text", ["z:nt:3504x64x15792", "d:tt:332x103x15513"])
def test_defaults_of_cut_tiles_do_not_spill(text: str) -> None:
    """Before rules knew of them, their tiles did."""
    p = Problem.parse(text)[0]
    config = DMMA.default(p, H200)
    assert config["cut"] > 0
    assert nvrtc.compile(DMMA.source(p, config, H200), H200).facts["spills"] == 0


def test_a_slice_of_one_product_along_k_is_refused_by_its_name() -> None:
    p = Problem.parse("d:4096x4096x4096")[0]
    config = Config({**DMMA.default(p, H200), "mma_k": 16, "depth": 16})
    assert "steps" in [rule.name for rule in DMMA.space(p, H200).why(config)]
    with pytest.raises(CompileError, match="steps"):
        nvrtc.compile(DMMA.source(p, config, H200), H200)
