"""The stencil of panels through NVRTC: no spills, no warnings, and the resident blocks fit."""

from __future__ import annotations

from typing import Any

import pytest

from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.panel.stencil import PanelStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

PANEL = PanelStencil()
H200 = named("h200")


def compiled(p: Problem, config: Config, device: Device) -> dict[str, int]:
    facts = dict(nvrtc.compile(PANEL.source(p, config, device), device).facts)
    assert facts["warnings"] == 0, (p.key, config)
    return facts


SHAPES = [
    ("256x9x9", "nn", "0", "h200"),
    ("197x37x21", "nt", "1", "h200"),
    ("9x1000x30", "tn", "any", "h200"),
    ("60x515x3", "nt", "0", "h200"),
    ("300x12x16", "tn", "1", "a100"),
    ("5x201x48", "nt", "0", "a100"),
]
# Every other shape of a type, the others of the next type.
PAIRED = [(letter, *shape) for turn, letter in enumerate(DTYPES) for shape in SHAPES[turn % 2 :: 2]]


@pytest.mark.sweep
@pytest.mark.parametrize(("letter", "size", "trans", "beta", "device"), PAIRED)
def test_defaults_keep_what_they_promise(letter: str, size: str, trans: str, beta: str, device: str) -> None:
    gpu = named(device)
    p = Problem.parse(f"{letter}:{trans}:{size}@10000", beta=beta)[0]
    config = PANEL.default(p, gpu)
    facts = compiled(p, config, gpu)
    assert (facts["spills"], facts["stack"]) == (0, 0), (config, facts)
    per_sm, threads = config["blocks"] // gpu["sms"], PANEL.launch(p, config).block[0]
    assert per_sm * threads * -(-facts["registers"] // 8) * 8 <= gpu["registers_per_sm"]


@pytest.mark.parametrize(
    ("text", "beta"),
    [
        # Tiles that are made for a length, whole sectors, tall parts, and parts that are partly outside of C.
        ("c:nn:19x198x41@5328", "1"),
        ("h:tn:397x6x21@32272", "0"),
        ("s:nn:2377x41x6@1562", "0"),
        ("h:nn:262x27x4@22869", "1"),
        ("hc:nn:3079x50x2@557", "1"),
        ("h:tt:1739x41x7@2257", "1"),
    ],
)
def test_skewed_products_spill_nothing(text: str, beta: str) -> None:
    p = Problem.parse(text, beta=beta)[0]
    config = PANEL.default(p, H200)
    facts = compiled(p, config, H200)
    assert (facts["spills"], facts["stack"]) == (0, 0), (config, facts)
    per_sm, threads = config["blocks"] // H200["sms"], PANEL.launch(p, config).block[0]
    # A warp stays with one of four schedulers, which has a quarter of the registers.
    of_scheduler = -(-per_sm * threads // 128)
    taken = of_scheduler * 32 * -(-facts["registers"] // 8) * 8
    assert taken <= H200["registers_per_sm"] // 4, (config, facts)


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("s:tt:70x6x7", {"path": "async", "packed": 1}),
        ("hc:cn:81x17x18", {"path": "bulk"}),
        ("z:jt:6x70x11", {"path": "bulk", "packed": 1}),
        ("z:jt:6x70x11", {"path": "async", "packed": 0}),
    ],
)
def test_every_path(text: str, fixed: dict[str, Any]) -> None:
    p = Problem.parse(f"{text}@1000", alpha="any", beta="any")[0]
    space = PANEL.space(p, H200).only((*HARDWARE, "hard")).restricted(**fixed, blocks=H200["sms"])
    # Parts of any size are right, and those that are too large are slow.
    config = min(space.sample(20, seed=len(text)), key=lambda c: c["rows"] * c["columns"])
    compiled(p, config, H200)
