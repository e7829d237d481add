"""Products of middle size on the interpreter of PTX: slices in a ring, and parts that end anywhere."""

from __future__ import annotations

from typing import Any

import pytest

from tests import marks
from tests.emulator.cases import H200, allowed, found_wrong, problem

pytestmark = marks.COMPILED


@pytest.mark.parametrize(
    ("text", "layout", "fixed"),
    [
        # Vectors of C that warps exchange, of tiles that end anywhere; and aligned ones.
        ("s:nt:9x38x5@2", "updated", {"tile_m": 9, "tile_n": 20, "rows": 4, "columns": 8}),
        ("s:tn:8x12x9@3", "dense", {"tile_m": 8, "tile_n": 12, "rows": 8, "columns": 4}),
        ("c:jc:7x9x10@3", "padded", {"tile_m": 7, "tile_n": 9, "rows": 2, "columns": 4}),
        ("c:nn:34x5x6@2", "updated", {"tile_m": 18, "tile_n": 5, "rows": 8, "columns": 2}),
        # Tensor cores, and zeros behind the last k.
        ("d:tn:17x13x7@3", "updated", {"mma": 16, "rows": 16}),
        ("d:nt:13x9x9@2", "padded", {"mma": 8, "rows": 8}),
        # More zeros than warps have runs left.
        ("d:nt:17x18x5@2", "updated", {"mma": 16, "rows": 32, "columns": 8}),
        ("z:cn:17x9x6@2", "padded", {"mma": 16, "rows": 32}),
        ("z:nj:9x10x5@2", "updated", {"mma": 8, "rows": 16}),
    ],
)
def test_middle_multiplies(text: str, layout: str, fixed: dict[str, Any]) -> None:
    p = problem(text, beta="1" if layout == "updated" else "0")
    if layout == "padded":
        p = problem(text, (1, 2, 3), (1, 0, 2), beta="any", alpha="any")
    # Slices that k is no multiple of, and a ring that goes round several times.
    few = {"tile_m": p.m, "tile_n": p.n, "stages": 2, "blocks": 132}
    found = allowed("middle", p, H200, 60, 1, **(few | fixed))
    config = min(found, key=lambda c: (c["depth"], c["rows"] * c["columns"]))
    assert found_wrong("middle", [(p, config)], grid_x=2) == []
