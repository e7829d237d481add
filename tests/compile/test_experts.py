"""The stencil of experts through NVRTC, and its code run without a GPU: borders, boxes that reach out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.segments import problem, segments_wrongs
from tilewright.errors import CompileError
from tilewright.model import SegmentedProblem
from tilewright.stencils.cuda.experts.stencil import ExpertsStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

EXPERTS = ExpertsStencil()
H200 = named("h200")
FEW = {"tile_m": 64, "tile_n": 16, "stages": 2, "blocks": H200["sms"]}


@pytest.mark.parametrize(
    ("spelling", "axis", "rows"),
    [("b:nn", "n", 4), ("h:nt", "k", 120), ("b:nt", "k", 16), ("h:tt", "m", 500), ("b:nn", "n", 500)],
)
def test_defaults_spill_nothing(spelling: str, axis: str, rows: int) -> None:
    size = {"m": (8 * rows, 1024, 512), "n": (1024, 8 * rows, 512), "k": (1024, 512, 8 * rows)}[axis]
    p = problem(spelling, axis, size, 8)
    facts = nvrtc.compile(EXPERTS.source(p, EXPERTS.default(p, H200), H200), H200).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), p.key


def test_a_hard_rule_speaks_when_it_is_broken() -> None:
    p = problem("h:nn", "n", (64, 64, 64), 4)
    broken = EXPERTS.default(p, H200).with_(tile_n=24)
    assert "tile_n" in (EXPERTS.space(p, H200).member(broken) or "")
    with pytest.raises(CompileError, match="tile-n"):
        nvrtc.compile(EXPERTS.source(p, broken, H200), H200)


CASES: list[tuple[SegmentedProblem, list[int], dict[str, Any]]] = [
    # A group of nothing, columns that are no group's, and boxes that reach into the next group.
    (problem("h:nn", "n", (72, 40, 72), 3, gap=8), [9, 9, 30], {}),
    # Rows that are split are written one by one; borders that run backwards and past the end.
    (problem("b:tt", "m", (40, 24, 72), 2, wide=True), [33, 99], {"tile_n": 32}),
    # What is behind the end of a split k is set to zero.
    (problem("h:nt", "k", (64, 16, 72), 3), [9, 9, 70], {}),
]


@pytest.mark.parametrize(("p", "offsets", "fixed"), CASES, ids=lambda value: getattr(value, "key", ""))
def test_the_code_finds_groups_and_writes_nothing_else(
    p: SegmentedProblem, offsets: list[int], fixed: dict[str, Any]
) -> None:
    assert EXPERTS.accepts(p, H200) is None
    config = EXPERTS.default(p, H200).with_(**(FEW | fixed))
    assert list(segments_wrongs(p, offsets, config, H200, stencil="experts")) == []
