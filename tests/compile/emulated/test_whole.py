"""Whole 16-bit matrices on the interpreter of PTX: columns that begin anywhere, tiles and turns."""

from __future__ import annotations

from typing import Any

import pytest

from tests import marks
from tests.emulator.cases import found_wrong, problem
from tilewright.model import Config

pytestmark = marks.COMPILED


@pytest.mark.parametrize(
    ("text", "beta", "align", "fixed"),
    [
        # Both columns at odd halves, the pieces of a product one after the other, C in place of A and B.
        ("h:nn:33x9x17@3", "0", 16, {}),
        ("b:nt:17x35x9@3", "1", 2, {"stages": 1}),
        ("h:tt:34x18x33@2", "0", 2, {"rows": 48, "columns": 24, "warps": 1}),
        # Columns at multiples of 8 and of 4 bytes.
        ("h:nn:36x10x18@2", "0", 16, {}),
        # Tiles of C, the last one narrower, and several turns.
        ("b:tn:20x45x17@3", "any", 2, {"tile": 32, "rows": 16, "columns": 8}),
        # One long extent: tiles of few columns below a long m, and of a long n, where k is part of a product.
        ("h:tn:67x9x2@3", "0", 2, {"tile": 8, "columns": 8}),
        ("b:nn:5x69x3@3", "1", 2, {"tile": 32, "rows": 16}),
        # All columns at multiples of 16 bytes, multiplied from where they come; parts that reach out of C.
        ("b:nn:24x11x40@3", "any", 16, {"piece": 2048, "columns": 24}),
        # The same as boxes: columns of even numbers of such words, all of them, or those of A alone.
        ("h:nn:32x11x16@3", "1", 16, {"piece": 2048}),
        ("b:tn:24x11x32@3", "0", 16, {"piece": 2048}),
        # Pairs, at odd ones and at words of 16 bytes.
        ("hc:nn:17x9x21@2", "1", 16, {}),
        ("hc:nn:12x9x20@2", "0", 16, {"piece": 2048}),
    ],
)
def test_whole_multiplies(text: str, beta: str, align: int, fixed: dict[str, Any]) -> None:
    p = problem(text, beta=beta, alpha="any", align=align)
    few = {"tile": 64, "rows": 32, "columns": 16, "warps": 2, "piece": 512, "stages": 2, "blocks": 132}
    assert found_wrong("whole", [(p, Config(few | fixed))], grid_x=2) == []
