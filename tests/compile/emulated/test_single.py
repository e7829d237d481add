"""Whole products of middle size on the interpreter of PTX: matrices and parts that begin and end anywhere."""

from __future__ import annotations

from typing import Any

import pytest

from tests import marks
from tests.emulator.cases import H200, allowed, found_wrong, problem

pytestmark = marks.COMPILED


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        # Odd sizes, of which each product begins elsewhere in a vector of 16 bytes.
        ("s:nn:9x11x5@5", "0", {}),
        ("s:tn:9x11x5@5", "1", {}),
        ("s:nt:8x12x8@3", "any", {}),
        ("c:jn:7x9x10@3", "1", {}),
        ("s:tn:8x12x8@3", "0", {"deep": 2, "rows": 3}),
        # Tensor cores: four k that are no neighbours, and those behind them.
        ("d:nn:17x13x19@3", "0", {"mma": 16, "rows": 16}),
        ("d:tt:9x11x33@2", "1", {"mma": 8, "rows": 8, "columns": 8}),
        ("z:cn:9x9x9@2", "1", {"mma": 8}),
        ("z:nn:9x9x6@5", "0", {"early": 1}),
        ("s:nn:9x9x6@5", "0", {"early": 1}),
    ],
)
def test_single_multiplies(text: str, beta: str, fixed: dict[str, Any]) -> None:
    p = problem(text, beta=beta, alpha="1" if beta == "1" else "any")
    config = min(
        allowed("single", p, H200, 60, 1, **fixed), key=lambda c: (c["blocks"], c["rows"] * c["columns"])
    )
    # More products than blocks: their places are taken again.
    assert found_wrong("single", [(p, config)], grid_x=2) == []
