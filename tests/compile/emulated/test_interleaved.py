"""Interleaved matrices on the interpreter of PTX: vectors, parts of C, copies in flight, and packs."""

from __future__ import annotations

from typing import Any

import pytest

from tests import marks
from tests.emulator.cases import H200, found_wrong
from tests.emulator.machine import SCHEDULES
from tests.emulator.packs import packs_wrongs
from tests.emulator.products import wrongs
from tilewright.catalog import STENCILS
from tilewright.model import Problem
from tilewright.space import HARDWARE

pytestmark = marks.COMPILED


@pytest.mark.parametrize(
    ("text", "fields", "config"),
    [
        ("s:3x3x3@70/all", {"align": 8}, {}),
        ("z:jn:2x3x2@5/all", {"alpha": "any", "beta": "1"}, {}),
        ("d:3x2x4@70/all", {"alpha": "any", "beta": "any"}, {"stages": 3, "depth": 2, "unroll_k": 1}),
        ("h:5x3x3@34/all", {"align": 4}, {"rows": 3, "columns": 2, "team": 2, "ahead": 1}),
        ("s:4x5x3@41/all", {"align": 4, "stride_c": 20}, {"rows": 2, "columns": 3, "team": 4, "lanes": 1}),
        (
            "s:4x5x3@41/all",
            {"align": 4, "stride_c": 21, "stride_a": 0},
            {"rows": 2, "columns": 3, "team": 3, "lanes": 1, "stages": 2, "unroll_k": 1},
        ),
        ("b:4x4x3@64/all", {"stride_b": 0, "stride_c": 16}, {"stages": 2, "depth": 2, "unroll_k": 1}),
        ("hc:nj:2x5x3@41/all", {"align": 4, "stride_c": 10}, {"staged": 0}),
    ],
)
def test_interleaved_multiplies(text: str, fields: dict[str, Any], config: dict[str, int]) -> None:
    """Vectors and what is left of them, parts of C in turns, copies in flight, and a C that lies apart."""
    p = Problem.parse(text, **fields)[0]
    # One with the extents named again is packed around what is shared.
    p = p.with_(m=p.m, stride_c=fields.get("stride_c", 1))
    stencil = STENCILS["interleaved"]
    chosen = stencil.default(p, H200).with_(**{"warps": 1, **config})
    assert stencil.space(p, H200).only((*HARDWARE, "hard")).member(chosen) is None
    assert found_wrong("interleaved", [(p, chosen)]) == []
    if chosen["stages"]:
        assert list(wrongs("interleaved", p, chosen, H200, schedules=[SCHEDULES[2]])) == []


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("h:4x4x3@72/8", {"lanes": 2, "rows": 2, "columns": 2, "padded": 1}),
        ("c:nj:3x2x4@40/8", {"lanes": 2, "rows": 3, "columns": 1, "padded": 0}),
    ],
)
def test_interleaved_packs_come_and_go_whole(text: str, changes: dict[str, int]) -> None:
    """Two blocks through groups of two packs, the last of which is not full."""
    p = Problem.parse(text)[0]
    fixed = {"warps": 1, "team": 1, "stages": 2, "depth": 1, "staged": 0, "group": 2, "blocks": H200["sms"]}
    config = STENCILS["interleaved"].default(p, H200).with_(**fixed, **changes)
    assert STENCILS["interleaved"].space(p, H200).only((*HARDWARE, "hard")).member(config) is None
    for schedule in SCHEDULES[:2]:
        assert list(packs_wrongs(p, config, H200, schedule=schedule)) == []
