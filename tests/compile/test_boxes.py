"""The stencil of boxes through NVRTC: no spills, no warnings, and the resident blocks fit."""

from __future__ import annotations

import pytest

from tilewright.errors import CompileError
from tilewright.model import Config, Problem
from tilewright.stencils.cuda.boxes.stencil import BoxesStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

BOXES = BoxesStencil()
H200 = named("h200")


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        ("h:nn:64x64x64", "0", {}),
        ("b:nt:128x128x128", "1", {}),
        ("h:tn:192x160x64", "any", {}),
        # The most sums of a thread, and the most threads.
        ("b:tt:256x128x256", "any", {"tile_m": 256, "tile_n": 128, "stages": 3, "kept": 1}),
        ("h:nn:128x256x256", "1", {"tile_m": 128, "tile_n": 256, "stages": 3, "kept": 1}),
    ],
)
def test_configs_keep_what_they_promise(text: str, beta: str, fixed: dict[str, int]) -> None:
    p = Problem.parse(f"{text}@10000", beta=beta, alpha="1" if beta == "0" else "any")[0]
    config = BOXES.default(p, H200).with_(**fixed, **({"blocks": H200["sms"]} if fixed else {}))
    facts = dict(nvrtc.compile(BOXES.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    per_sm, threads = config["blocks"] // H200["sms"], BOXES.launch(p, config).block[0]
    assert per_sm * threads * -(-facts["registers"] // 8) * 8 <= H200["registers_per_sm"]


def test_a_tile_that_is_no_whole_boxes_is_refused_by_its_name() -> None:
    p = Problem.parse("h:192x64x64@9")[0]
    config = Config({**BOXES.default(p, H200), "tile_m": 112})
    assert "tile-box" in [rule.name for rule in BOXES.space(p, H200).why(config)]
    with pytest.raises(CompileError, match="tile-box"):
        nvrtc.compile(BOXES.source(p, config, H200), H200)
