"""The stencil of single products through NVRTC: no spills, no warnings, and resident blocks fit."""

from __future__ import annotations

import pytest

from tilewright.errors import CompileError
from tilewright.model import Problem
from tilewright.stencils.cuda.middle.needs import TYPES
from tilewright.stencils.cuda.single.needs import warps
from tilewright.stencils.cuda.single.stencil import SingleStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

SINGLE = SingleStencil()
H200 = named("h200")


@pytest.mark.sweep
@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize(("size", "trans", "beta"), [("53x53x53", "nn", "0"), ("48x50x40", "tt", "1")])
def test_defaults_keep_what_they_promise(letter: str, size: str, trans: str, beta: str) -> None:
    p = Problem.parse(f"{letter}:{trans}:{size}@10000", beta=beta)[0]
    config = SINGLE.default(p, H200)
    facts = nvrtc.compile(SINGLE.source(p, config, H200), H200).facts
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (config, facts)
    threads = config["blocks"] // H200["sms"] * 32 * int(warps(p, config["rows"], config["columns"]))
    assert threads * -(-facts["registers"] // 8) * 8 <= H200["registers_per_sm"]


@pytest.mark.parametrize(
    ("text", "changes", "said"),
    [
        ("d:nn:50x50x50@9", {"mma": 16, "rows": 24}, "part: whole tensor-core products of 8 columns"),
        ("d:nn:50x50x50@9", {"mma": 0}, "mma-type: float64 is multiplied by tensor cores"),
        ("c:nn:50x50x50@9", {"deep": 4}, "deep: a read is a vector of 16 bytes at most"),
        ("s:nt:50x50x50@9", {"deep": 2}, "deep-along: reads of several k are of what lies along k"),
        ("s:nn:50x50x51@9", {"deep": 2}, "deep-aligned: a read of several k is an aligned vector"),
    ],
)
def test_what_slips_past_the_space_fails_in_the_compiler(
    text: str, changes: dict[str, int], said: str
) -> None:
    p = Problem.parse(text)[0]
    config = SINGLE.default(p, H200).with_(**changes)
    assert SINGLE.space(p, H200).member(config) is not None
    with pytest.raises(CompileError, match=said):
        nvrtc.compile(SINGLE.source(p, config, H200), H200)
