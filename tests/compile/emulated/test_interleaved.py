"""Interleaved matrices on the interpreter of PTX: vectors, parts of C, copies in flight, and packs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import marks
from tests.emulator.cases import H200, found_wrong
from tests.emulator.machine import SCHEDULES
from tests.emulator.packs import packs_wrongs
from tests.emulator.products import wrongs
from tilewright.catalog import STENCILS
from tilewright.model import Config, Problem
from tilewright.space import HARDWARE

pytestmark = marks.COMPILED


@pytest.mark.parametrize(
    ("text", "fields", "config"),
    [
        ("s:3x3x3@70/all", {"align": 8}, {}),
        ("z:jn:2x3x2@5/all", {"alpha": "any", "beta": "1"}, {}),
        ("d:3x2x4@70/all", {"alpha": "any", "beta": "any"}, {"stages": 3, "depth": 2, "unroll_k": 1}),
        ("h:5x3x3@34/all", {"align": 4}, {"rows": 3, "columns": 2, "team": 2, "ahead": 1, "stages": 0}),
        ("s:4x5x3@41/all", {"align": 4, "stride_c": 20}, {"rows": 2, "columns": 3, "team": 4, "lanes": 1}),
        (
            "s:4x5x3@41/all",
            {"align": 4, "stride_c": 21, "stride_a": 0},
            {"rows": 2, "columns": 3, "team": 3, "lanes": 1, "stages": 2, "unroll_k": 1},
        ),
        ("b:4x4x3@64/all", {"stride_b": 0, "stride_c": 16}, {"stages": 2, "depth": 2, "unroll_k": 1}),
        ("hc:nj:2x5x3@41/all", {"align": 4, "stride_c": 10}, {"lanes": 1, "staged": 0}),
    ],
)
def test_interleaved_multiplies(text: str, fields: dict[str, Any], config: dict[str, int]) -> None:
    """Vectors and what is left of them, parts of C in turns, copies in flight, and a C that lies apart."""
    p = Problem.parse(text, **fields)[0]
    # One with the extents named again is packed around what is shared.
    p = p.with_(m=p.m, stride_c=fields.get("stride_c", 1))
    stencil = STENCILS["interleaved"]
    chosen = stencil.default(p, H200).with_(**{"strided": 0, "warps": 1, "members": 0, **config})
    assert stencil.space(p, H200).only((*HARDWARE, "hard")).member(chosen) is None
    assert found_wrong("interleaved", [(p, chosen)]) == []
    if chosen["stages"]:
        assert list(wrongs("interleaved", p, chosen, H200, schedules=[SCHEDULES[2]])) == []


STRIDED = {
    "strided": 1,
    "unroll_k": 1,
    "ahead": 0,
    "stages": 0,
    "depth": 1,
    "bulk": 0,
    "group": 0,
    "padded": 0,
}
STRIDED |= {"members": 0, "blocks": 0, "staged": 0, "team": 1, "warps": 1}
ROWS = {"bulk": 1, "blocks": H200["sms"]}


@pytest.mark.parametrize(
    ("text", "fields", "config"),
    [
        ("s:3x3x3@70/all", {"align": 4}, {"lanes": 2, "rows": 3, "columns": 3, "unroll_k": 2}),
        (
            "d:3x2x4@301/all",
            {"align": 8, "alpha": "any", "beta": "any"},
            {"lanes": 4, "rows": 3, "columns": 2, "warps": 2},
        ),
        (
            "s:4x5x3@199/all",
            {"align": 4, "stride_c": 20},
            {"lanes": 2, "rows": 2, "columns": 3, "team": 4, "staged": 1},
        ),
        # A C whose matrices lie apart, with and without gaps, by one bulk copy of the first blocks.
        (
            "s:4x5x3@199/all",
            {"align": 4, "stride_c": 20},
            {"lanes": 2, "rows": 2, "columns": 3, "team": 4, "staged": 2},
        ),
        (
            "d:3x3x5@196/all",
            {"align": 16, "stride_c": 10},
            {"strided": 0, "lanes": 1, "rows": 3, "columns": 3, "staged": 2, "stages": 2, "depth": 2},
        ),
        # Two blocks by bulk copies, the last of which is not full, of rows that begin anywhere; the batch
        # ends so near after the first that what lies beyond this one's whole vectors is copied by elements.
        (
            "s:4x5x5@203/all",
            {"align": 4},
            ROWS | {"lanes": 2, "rows": 2, "columns": 3, "team": 4, "stages": 2, "depth": 2},
        ),
        # Results that leave by bulk copies of rows, and what is beside whole vectors by elements.
        (
            "s:4x5x5@203/all",
            {"align": 4},
            ROWS | {"lanes": 2, "rows": 2, "columns": 3, "team": 4, "stages": 2, "depth": 2, "staged": 2},
        ),
        (
            "h:3x3x3@331/all",
            {"align": 2},
            ROWS | {"lanes": 4, "rows": 3, "columns": 3, "stages": 3, "staged": 2},
        ),
        ("z:3x2x3@131/all", {}, ROWS | {"lanes": 2, "rows": 3, "columns": 2, "stages": 3, "staged": 2}),
        ("h:3x3x3@131/all", {"align": 2}, ROWS | {"lanes": 4, "rows": 3, "columns": 3, "stages": 3}),
        (
            "c:jn:3x2x5@197/all",
            {"align": 8, "stride_c": 6},
            ROWS | {"lanes": 2, "rows": 3, "columns": 2, "stages": 2, "depth": 4, "staged": 1},
        ),
        (
            "s:4x4x5@64/all",
            {"align": 4, "stride_a": 0},
            ROWS | {"lanes": 2, "rows": 4, "columns": 4, "stages": 2, "depth": 2},
        ),
    ],
)
def test_matrices_of_a_thread_lie_apart(text: str, fields: dict[str, Any], config: dict[str, int]) -> None:
    """Matrices 32 apart, in registers and through bulk copies that bring more than a row."""
    p = Problem.parse(text, **fields)[0]
    p = p.with_(m=p.m, stride_c=fields.get("stride_c", 1))
    chosen = Config(STRIDED | config)
    assert STENCILS["interleaved"].space(p, H200).only((*HARDWARE, "hard")).member(chosen) is None
    for schedule in SCHEDULES[:3]:
        assert list(wrongs("interleaved", p, chosen, H200, schedules=[schedule])) == []


@pytest.mark.parametrize(
    ("text", "fields", "config"),
    [
        ("s:2x1x2@296/all", {"align": 4, "stride_c": 2}, {"staged": 2}),
        ("s:2x1x2@297/all", {"align": 4}, {}),
        ("s:2x1x2@297/all", {"align": 4}, {"staged": 2}),
    ],
)
def test_blocks_multiply_several_groups(text: str, fields: dict[str, Any], config: dict[str, int]) -> None:
    """Two blocks, five groups of 64 matrices: the next is written after the last has been read."""
    p = Problem.parse(text, **fields)[0]
    p = p.with_(m=p.m, stride_c=fields.get("stride_c", 1))
    chosen = Config(STRIDED | ROWS | {"lanes": 2, "rows": 2, "columns": 1, "stages": 2} | config)
    assert STENCILS["interleaved"].space(p, H200).only((*HARDWARE, "hard")).member(chosen) is None
    assert STENCILS["interleaved"].launch(p, chosen).grid[0] == 5
    assert list(wrongs("interleaved", p, chosen, H200, schedules=SCHEDULES[:3], grid_x=2)) == []


MEMBERS = {
    "strided": 0,
    "rows": 1,
    "columns": 1,
    "team": 1,
    "unroll_k": 1,
    "staged": 0,
    "ahead": 0,
    "depth": 1,
    "bulk": 0,
}
MEMBERS |= {"group": 0, "padded": 0, "blocks": H200["sms"]}


@pytest.mark.parametrize(
    ("text", "fields", "config"),
    [
        ("h:16x16x16@72/all", {"alpha": "any"}, {"lanes": 4, "warps": 4, "members": 32, "stages": 2}),
        # Rows that begin anywhere, few rows, and k that end within 8.
        ("b:5x4x3@67/all", {"align": 2}, {"lanes": 4, "warps": 2, "members": 16, "stages": 3}),
        ("h:7x13x10@70/all", {"align": 2}, {"lanes": 8, "warps": 1, "members": 32, "stages": 2}),
        # An odd k within the second eight, and columns beyond the first.
        ("h:13x9x11@128/all", {"alpha": "any"}, {"lanes": 4, "warps": 2, "members": 16, "stages": 3}),
        (
            "b:13x9x11@71/all",
            {"alpha": "any", "align": 2},
            {"lanes": 2, "warps": 2, "members": 16, "stages": 3},
        ),
        # Two strips, of C and of its transpose, which lies apart, with and without gaps.
        (
            "h:3x17x9@41/all",
            {"align": 2, "stride_c": 51},
            {"lanes": 2, "warps": 2, "members": 16, "stages": 2},
        ),
        ("b:18x5x18@40/all", {"stride_c": 93}, {"lanes": 8, "warps": 2, "members": 16, "stages": 2}),
    ],
)
def test_tensor_cores_multiply_neighbours(text: str, fields: dict[str, Any], config: dict[str, int]) -> None:
    """Blocks that walk over groups, the last of which is not full."""
    p = Problem.parse(text, **fields)[0]
    p = p.with_(m=p.m, stride_c=fields.get("stride_c", 1))
    chosen = Config(MEMBERS | config)
    assert STENCILS["interleaved"].space(p, H200).only((*HARDWARE, "hard")).member(chosen) is None
    for schedule in SCHEDULES[1:3]:
        assert list(wrongs("interleaved", p, chosen, H200, schedules=[schedule])) == []


@pytest.mark.parametrize(("text", "align"), [("h:5x4x6@40/all", 16), ("b:11x9x3@41/all", 2)])
def test_tensor_cores_multiply_views(text: str, align: int) -> None:
    """A and C by columns, and gaps between the rows of B and the columns of C."""
    p = Problem.parse(text, align=align)[0]
    count, layout = p.batch, p.interleaved
    assert layout is not None
    rows = (count, p.n * (count + 8) + 16, count)
    p = replace(
        p, interleaved=replace(layout, rows=rows), lda=p.m * count, ldb=count + 8, ldc=p.m * count + 24
    )
    chosen = Config(MEMBERS | {"lanes": 4, "warps": 2, "members": 16, "stages": 2})
    assert STENCILS["interleaved"].space(p, H200).only((*HARDWARE, "hard")).member(chosen) is None
    assert list(wrongs("interleaved", p, chosen, H200, schedules=[SCHEDULES[1]])) == []


def test_tensor_cores_multiply_packs() -> None:
    p = Problem.parse("h:4x9x3@72/8")[0]
    chosen = Config(MEMBERS | {"lanes": 4, "warps": 2, "members": 16, "stages": 2})
    assert STENCILS["interleaved"].space(p, H200).only((*HARDWARE, "hard")).member(chosen) is None
    for schedule in SCHEDULES[:2]:
        assert list(packs_wrongs(p, chosen, H200, schedule=schedule)) == []


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
    fixed = {
        "warps": 1,
        "team": 1,
        "stages": 2,
        "depth": 1,
        "staged": 0,
        "group": 2,
        "blocks": H200["sms"],
        "members": 0,
    }
    config = STENCILS["interleaved"].default(p, H200).with_(**fixed, **changes)
    assert STENCILS["interleaved"].space(p, H200).only((*HARDWARE, "hard")).member(config) is None
    for schedule in SCHEDULES[:2]:
        assert list(packs_wrongs(p, config, H200, schedule=schedule)) == []
