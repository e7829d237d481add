"""The stencil of matrices times vectors through NVRTC: no spills, no warnings, and resident blocks fit."""

from __future__ import annotations

import pytest

from tests import marks
from tilewright.model import Config, Device, Problem
from tilewright.stencils.cuda.vector.needs import resident_blocks
from tilewright.stencils.cuda.vector.stencil import VectorStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = marks.COMPILED

VECTOR = VectorStencil()
H200 = named("h200")


def compiled(p: Problem, config: Config, device: Device) -> dict[str, int]:
    facts = dict(nvrtc.compile(VECTOR.source(p, config, device), device).facts)
    assert facts["warnings"] == 0, (p.key, config)
    return facts


@pytest.mark.parametrize(
    ("text", "beta", "device"),
    [
        # Runs along the sum, which begin anywhere or with a word, and such that are kept by their lanes.
        ("h:tn:300x1x1501", "0", "h200"),
        ("b:nn:1x900x203", "1", "h200"),
        ("s:tt:301x1x65", "any", "h200"),
        ("d:nn:1x300x704", "0", "h200"),
        ("z:ct:600x1x77", "1", "h200"),
        ("hc:tn:90x1x333", "0", "h200"),
        ("c:tn:70x1x4000", "0", "a100"),
        # Across it.
        ("h:nn:301x1x500", "1", "h200"),
        ("b:nt:1x77x2000", "0", "a100"),
        ("s:nt:3000x1x66", "0", "h200"),
        ("d:nn:999x1x70", "any", "a100"),
        ("c:nj:1x501x80", "1", "h200"),
        ("z:nn:70x1x2000", "0", "h200"),
        ("hc:nt:89x1x75", "any", "h200"),
        # One alone, whose sums blocks of a cluster share.
        ("h:tn:70x1x16001@1", "0", "h200"),
        ("s:nt:1x300x9000@1", "1", "h200"),
        ("d:tn:66x1x9000@1", "any", "h200"),
        ("z:nn:300x1x8001@1", "0", "h200"),
    ],
)
def test_defaults_keep_what_they_promise(text: str, beta: str, device: str) -> None:
    gpu = named(device)
    p = Problem.parse(text if "@" in text else f"{text}@3000", beta=beta)[0]
    config = VECTOR.default(p, gpu)
    assert (config["split"] > 1) == ("@" in text)
    facts = compiled(p, config, gpu)
    assert (facts["spills"], facts["stack"]) == (0, 0), (config, facts)
    blocks = int(resident_blocks(p, gpu, **config))
    assert blocks * 32 * config["warps"] * -(-facts["registers"] // 8) * 8 <= gpu["registers_per_sm"]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"lanes": 12}, "lanes"),
        ({"lanes": 32, "warps": 4}, "classes"),
        ({"runs": 3}, "runs"),
        ({"turns": 2}, "turns-once"),
    ],
)
def test_what_breaks_a_hard_rule_is_refused_by_its_name(change: dict[str, int], name: str) -> None:
    p = Problem.parse("h:nn:301x1x333@1000")[0]
    config = VECTOR.default(p, H200).with_(**{"lanes": 8, "warps": 2, **change})
    with pytest.raises(Exception, match=name):
        compiled(p, config, H200)
