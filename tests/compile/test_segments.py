"""The stencil of groups through NVRTC, and its own code run without a GPU: borders, edges, chunks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compile.test_arguments import assertions
from tests.emulator.machine import SCHEDULES
from tests.emulator.segments import problem, segments_wrongs
from tilewright.errors import CompileError
from tilewright.model import Device, SegmentedProblem, Source
from tilewright.stencils.cuda.segments.stencil import SegmentsStencil, struct_segments
from tilewright.stencils.cuda.source import program
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

SEGMENTS = SegmentsStencil()
A100, H200 = named("a100"), named("h200")
SMALL = {"blk_m": 32, "blk_n": 16, "blk_k": 8, "warps_m": 1, "warps_n": 1, "stages": 2}
"""One warp, so that more groups than it has lanes are more than a block looks at together."""
DEEP = SMALL | {"blk_k": 16}


@pytest.mark.parametrize(
    ("spelling", "axis", "n", "device"),
    [
        ("h:nn", "n", 4096, H200),
        ("b:nn", "n", 100, A100),
        ("s:nn", "n", 4096, H200),
        ("d:nt", "k", 4096, A100),
        ("c:cn", "n", 4096, H200),
        ("z:nn", "m", 100, H200),
        ("hc:jt", "k", 4096, A100),
    ],
    ids=lambda value: getattr(value, "key", str(value)),
)
def test_defaults_spill_nothing(spelling: str, axis: str, n: int, device: Device) -> None:
    _spills_nothing(problem(spelling, axis, (512, n, 512), 16), device)


@pytest.mark.parametrize(("letter", "device"), [("s", A100), ("d", H200)], ids=("s", "d"))
def test_defaults_of_few_rows_are_no_higher_and_spill_nothing(letter: str, device: Device) -> None:
    p = problem(f"{letter}:nn", "n", (16, 3425, 768), 10)
    config = SEGMENTS.default(p, device)
    assert (config["blk_m"], config["blk_n"]) == (16, 64)
    _spills_nothing(p, device)


def _spills_nothing(p: SegmentedProblem, device: Device) -> None:
    facts = nvrtc.compile(SEGMENTS.source(p, SEGMENTS.default(p, device), device), device).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), (p.key, device.key)


def test_python_packs_what_the_kernel_takes() -> None:
    header = dict(program("segments")[1])["segments/argument.cuh"].replace("#pragma once", "")
    checks = assertions(struct_segments(problem("s:nn", "n", (1, 1, 1), 1)))
    text = f'{header}\n{checks}\nextern "C" __global__ void nothing() {{}}\n'
    nvrtc.compile(Source(text, "nothing", (), ()), H200)


def test_a_hard_rule_speaks_when_it_is_broken() -> None:
    p = problem("h:nn", "n", (256, 256, 256), 4)
    config = SEGMENTS.default(p, H200).with_(tc="16x8x16", blk_m=64, blk_n=64, blk_k=32, warps_m=2, warps_n=2)
    for changes, words in (
        ({"stages": 1, "ahead": 1}, "ahead-copies"),
        ({"blk_m": 16}, "tile-dealt-m"),
        ({"vec": 1, "stages": 3}, "copy-width"),
        ({"tc": "64x8x16", "stages": 3}, "wgmma-group"),
    ):
        broken = config.with_(**changes)
        assert words in [rule.name for rule in SEGMENTS.space(p, H200).why(broken)]
        with pytest.raises(CompileError, match=words):
            nvrtc.compile(SEGMENTS.source(p, broken, H200), H200)


CASES: list[tuple[SegmentedProblem, list[int], dict[str, Any]]] = [
    # More groups than a block looks at together, some that run backwards, and columns that are no group's.
    (problem("s:nn", "n", (20, 40, 9), 40, pad=1, batch=2), [7 * i % 50 - 3 for i in range(40)], SMALL),
    # The first border is where the first group begins; the last is behind the end.
    (
        problem("c:ct", "m", (37, 18, 5), 3, first=True, wide=True),
        [4, 3, 30, 99],
        SMALL | {"lanes_m": 32, "blk_n": 8},
    ),
    (problem("h:tn", "k", (20, 9, 21), 4, pad=1, gap=1), [3, 3, 17, 18], DEEP | {"stages": 1}),
    (
        problem("b:nn", "n", (40, 35, 40), 3, sizes=True),
        [3, -1, 30],
        DEEP | {"tc": "64x8x16", "blk_m": 64, "blk_k": 64, "warps_m": 4, "stages": 3},
    ),
    (problem("d:nt", "k", (18, 20, 23), 3, batch=2), [9, 4, 23], SMALL | {"ahead": 1, "tc": "16x8x8"}),
    (problem("z:jn", "m", (20, 18, 7), 2), [9, 14], SMALL | {"tc": "8x8x4"}),
    (problem("hc:cn", "n", (40, 20, 16), 2), [9, 20], DEEP | {"stages": 3}),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_groups_are_multiplied_wherever_they_end(number: int) -> None:
    p, offsets, changes = CASES[number]
    device = A100 if p.dtype.letter == "z" else H200
    config = SEGMENTS.default(p, device).with_(**changes)
    assert not [rule.name for rule in SEGMENTS.space(p, device).why(config) if rule.kind != "soft"]
    schedule = SCHEDULES[number % len(SCHEDULES)]
    assert list(segments_wrongs(p, offsets, config, device, schedule=schedule)) == []
