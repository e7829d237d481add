"""The stencil of whole 16-bit matrices through NVRTC: no spills, no warnings, and the resident blocks fit."""

from __future__ import annotations

import pytest

from tilewright.errors import CompileError
from tilewright.model import Config, Problem
from tilewright.stencils.cuda.whole.stencil import WholeStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

WHOLE = WholeStencil()
H200 = named("h200")


@pytest.mark.parametrize(
    ("text", "beta", "align"),
    [
        ("h:nn:63x63x63", "0", 16),
        ("b:nt:47x95x61", "1", 2),
        ("h:tn:129x127x128", "any", 16),
        ("b:nn:255x255x250", "0", 16),
        ("h:tt:66x34x98", "1", 16),
        # Pairs, as runs of bytes and as boxes.
        ("hc:nn:127x127x127", "0", 16),
        ("hc:nn:80x48x96", "1", 16),
    ],
)
def test_defaults_keep_what_they_promise(text: str, beta: str, align: int) -> None:
    p = Problem.parse(f"{text}@10000", beta=beta, align=align)[0]
    config = WHOLE.default(p, H200)
    facts = dict(nvrtc.compile(WHOLE.source(p, config, H200), H200).facts)
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    per_sm, threads = config["blocks"] // H200["sms"], 32 * config["warps"] + 32
    assert per_sm * threads * -(-facts["registers"] // 8) * 8 <= H200["registers_per_sm"]


def test_a_tile_of_a_transposed_b_is_refused_by_its_name() -> None:
    p = Problem.parse("h:nt:33x65x16@9")[0]
    config = Config({**WHOLE.default(p, H200), "tile": 32})
    assert "tile-of-b" in [rule.name for rule in WHOLE.space(p, H200).why(config)]
    with pytest.raises(CompileError, match="tile-of-b"):
        nvrtc.compile(WHOLE.source(p, config, H200), H200)
