"""The stencil of long k through NVRTC: no spills, no warnings, and the resident blocks fit."""

from __future__ import annotations

import pytest

from tilewright.errors import CompileError
from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.inner.stencil import InnerStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

INNER = InnerStencil()
H200 = named("h200")


def compiled(p: Problem, config: Config, device: Device) -> dict[str, int]:
    facts = dict(nvrtc.compile(INNER.source(p, config, device), device).facts)
    assert facts["warnings"] == 0, (p.key, config)
    return facts


@pytest.mark.parametrize(
    ("text", "beta", "device"),
    [
        ("s:nn:9x9x300", "0", "h200"),
        ("d:nt:64x64x515", "1", "h200"),
        ("c:tn:37x21x1000", "any", "h200"),
        ("z:tt:60x44x70", "0", "h200"),
        ("h:nn:33x50x201", "1", "h200"),
        ("b:tn:8x16x4000", "0", "h200"),
        ("hc:nt:17x40x333", "0", "h200"),
        ("s:tt:300x1x500", "1", "h200"),
        ("h:nn:1x600x90", "0", "h200"),
        ("s:tn:64x60x400", "1", "a100"),
        ("z:nn:9x30x200", "0", "a100"),
        ("b:nt:20x64x300", "any", "a100"),
        # Products alone, which blocks share.
        ("c:nn:3x20x1000000@1", "1", "h200"),
        ("d:tn:5000x1x4000@1", "0", "a100"),
        ("d:nn:16x8192x8192@1", "0", "h200"),
    ],
)
def test_defaults_keep_what_they_promise(text: str, beta: str, device: str) -> None:
    gpu = named(device)
    p = Problem.parse(text if "@" in text else f"{text}@10000", beta=beta)[0]
    config = INNER.default(p, gpu)
    facts = compiled(p, config, gpu)
    assert (facts["spills"], facts["stack"]) == (0, 0), (config, facts)
    per_sm, threads = config["blocks"] // gpu["sms"], 32 * config["warps"]
    assert per_sm * threads * -(-facts["registers"] // 8) * 8 <= gpu["registers_per_sm"]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"warps": 3, "mma": 16, "rows": 16, "columns": 8}, "teams"),
        ({"mma": 8}, "mma-rows"),
        ({"depth": 12}, "depth"),
    ],
)
def test_what_breaks_a_hard_rule_is_refused_by_its_name(change: dict[str, int], name: str) -> None:
    # Both operands lie across k: of slabs along k that are no whole words the compiler would look for the
    # banks until it gives up, which takes seconds.
    p = Problem.parse("h:nt:20x9x333@1000")[0]
    config = INNER.default(p, H200).with_(**change)
    with pytest.raises(CompileError, match=f'"{name}: '):
        nvrtc.compile(INNER.source(p, config, H200), H200)


def test_both_kinds_of_tensor_core_products_of_float64() -> None:
    p = Problem.parse("d:tn:20x9x333@1000", alpha="any", beta="any")[0]
    for mma in (8, 16):
        space = INNER.space(p, H200).only((*HARDWARE, "hard")).restricted(mma=mma, blocks=H200["sms"])
        config = min(space.sample(20, seed=mma), key=lambda c: c["rows"] * c["columns"])
        compiled(p, config, H200)
