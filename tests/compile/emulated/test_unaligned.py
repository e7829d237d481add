"""Large products whose columns begin anywhere on the interpreter of PTX: orders, edges, a C that is read."""

from __future__ import annotations

import pytest

from tests import marks
from tests.emulator.cases import found_wrong, problem
from tilewright.model import Config

pytestmark = marks.COMPILED

SMALL = {"tile_m": 64, "tile_n": 128, "stages": 2, "band": 1024, "blocks": 132}


@pytest.mark.parametrize(
    ("text", "pad", "align", "fixed"),
    [
        # Both along k, whose end is inside of a slice; gaps between columns.
        ("h:tn:70x67x75", (0, 2, 1), 2, {}),
        # Both across k, two tiles along n.
        ("b:nt:67x133x37", (1, 0, 2), 16, {}),
        # One along k: B comes to registers, then A.
        ("h:nn:67x40x75", (0, 3, 1), 2, {}),
        ("b:tt:135x67x37", (2, 0, 5), 4, {"tile_m": 128, "tile_n": 64}),
    ],
)
def test_columns_begin_anywhere(
    text: str, pad: tuple[int, int, int], align: int, fixed: dict[str, int]
) -> None:
    beta = "any" if align == 2 else "1" if align == 4 else "0"
    p = problem(text, pad=pad, beta=beta, alpha="1" if beta == "0" else "any", align=align)
    assert found_wrong("unaligned", [(p, Config(SMALL | fixed))], grid_x=1) == []
