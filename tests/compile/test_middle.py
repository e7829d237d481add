"""The stencil of products of middle size through NVRTC: no spills, no warnings, and resident blocks fit."""

from __future__ import annotations

import pytest

from tilewright.errors import CompileError
from tilewright.model import Config, Device, Problem
from tilewright.stencils.cuda.middle.needs import TYPES, warps
from tilewright.stencils.cuda.middle.stencil import MiddleStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

MIDDLE = MiddleStencil()
H200 = named("h200")


def compiled(p: Problem, config: Config, device: Device) -> dict[str, int]:
    facts = dict(nvrtc.compile(MIDDLE.source(p, config, device), device).facts)
    assert facts["warnings"] == 0, (p.key, config)
    return facts


@pytest.mark.sweep
@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize(
    ("size", "trans", "beta", "device"),
    [
        ("63x63x63", "nn", "0", "h200"),
        ("100x100x100", "tt", "1", "h200"),
        ("33x2000x50", "tn", "1", "a100"),
    ],
)
def test_defaults_keep_what_they_promise(letter: str, size: str, trans: str, beta: str, device: str) -> None:
    gpu = named(device)
    p = Problem.parse(f"{letter}:{trans}:{size}@10000", beta=beta)[0]
    config = MIDDLE.default(p, gpu)
    facts = compiled(p, config, gpu)
    assert (facts["spills"], facts["stack"]) == (0, 0), (config, facts)
    block = 32 * int(warps(p, config["tile_m"], config["tile_n"], config["rows"], config["columns"]))
    threads = config["blocks"] // gpu["sms"] * block
    assert threads * -(-facts["registers"] // 8) * 8 <= gpu["registers_per_sm"]


@pytest.mark.parametrize(
    ("text", "changes", "said"),
    [
        ("s:nn:50x50x50@9", {"rows": 6}, "part: whole tensor-core products of 8 columns, or whole vectors"),
        ("d:nn:50x50x50@9", {"mma": 16, "rows": 24}, "part: whole tensor-core products of 8 columns"),
        ("d:nn:50x50x50@9", {"mma": 0}, "mma-type: float64 is multiplied by tensor cores"),
        ("z:nn:50x50x50@9", {"depth": 10}, "depth: whole tensor-core products of 4 k"),
        ("s:nn:50x50x50@9", {"tile_m": 25}, "tile: all of C, or whole vectors of 16 bytes"),
        ("c:nn:50x50x50@9", {"deep": 4}, "deep: a read is a vector of 16 bytes at most"),
        ("s:nt:50x50x50@9", {"deep": 2}, "deep-along: reads of several k are of what lies along k"),
        ("s:nn:50x50x50@9", {"stages": 1}, "ring: one stage is multiplied while others are filled"),
    ],
)
def test_what_slips_past_the_space_fails_in_the_compiler(
    text: str, changes: dict[str, int], said: str
) -> None:
    p = Problem.parse(text)[0]
    config = MIDDLE.default(p, H200).with_(**changes)
    assert MIDDLE.space(p, H200).member(config) is not None
    with pytest.raises(CompileError, match=said):
        nvrtc.compile(MIDDLE.source(p, config, H200), H200)
