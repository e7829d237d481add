"""The stencil of strips through NVRTC, and its code run without a GPU: borders, edges, rows that are left."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.segments import problem, segments_wrongs
from tilewright.errors import CompileError
from tilewright.model import Device, SegmentedProblem
from tilewright.stencils.cuda.strips.stencil import StripsStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

STRIPS = StripsStencil()
A100, H200 = named("a100"), named("h200")


@pytest.mark.parametrize(
    ("spelling", "axis", "k", "device"),
    [
        ("s:nn", "n", 16, H200),
        ("s:tt", "n", 15, A100),
        ("s:nt", "n", 9, H200),
    ],
    ids=lambda value: getattr(value, "key", str(value)),
)
def test_defaults_spill_nothing(spelling: str, axis: str, k: int, device: Device) -> None:
    p = problem(spelling, axis, (768, 3424, k), 10, batch=3)
    facts = nvrtc.compile(STRIPS.source(p, STRIPS.default(p, device), device), device).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), (p.key, device.key)


def test_a_hard_rule_speaks_when_it_is_broken() -> None:
    p = problem("s:nn", "n", (256, 256, 8), 4)
    broken = STRIPS.default(p, H200).with_(tile_n=8, columns=16)
    with pytest.raises(CompileError, match="columns-whole"):
        nvrtc.compile(STRIPS.source(p, broken, H200), H200)


CASES: list[tuple[SegmentedProblem, list[int], dict[str, Any]]] = [
    # A group of nothing, columns that are no group's, and a warp without rows of the second tile.
    (problem("s:nn", "n", (300, 21, 5), 3, batch=2), [9, 9, 18], {"warps": 2}),
    # Sizes of groups, more than the axis has.
    (problem("s:tt", "n", (132, 11, 4), 3, sizes=True), [9, 0, 99], {}),
    (problem("s:nt", "n", (128, 10, 7), 3, first=True, wide=True), [1, 3, 5, 8], {"columns": 2}),
]


@pytest.mark.parametrize(("p", "offsets", "fixed"), CASES, ids=lambda value: getattr(value, "key", ""))
def test_the_code_finds_groups_and_writes_nothing_else(
    p: SegmentedProblem, offsets: list[int], fixed: dict[str, Any]
) -> None:
    assert STRIPS.accepts(p, H200) is None
    config = STRIPS.default(p, H200).with_(**({"warps": 1, "tile_n": 8} | fixed))
    assert list(segments_wrongs(p, offsets, config, H200, stencil="strips")) == []
