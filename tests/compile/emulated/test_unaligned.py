"""Large products whose columns begin anywhere on the interpreter of PTX: orders, edges, a C that is read."""

from __future__ import annotations

import pytest

from tests import marks
from tests.emulator.cases import found_wrong, problem
from tilewright.model import Config
from tilewright.tuning.gemm.verify import Case

pytestmark = marks.COMPILED

SMALL = {"tile_m": 64, "tile_n": 128, "stages": 2, "band": 1024, "blocks": 132}


@pytest.mark.parametrize(
    ("text", "pad", "align", "blocks"),
    [
        # Both operands are copied, B in three pieces; k ends inside of a slice, C inside of a tile.
        ("h:tn:40x255x201", (0, 2, 1), 2, 1),
        # One of two blocks finds nothing left to copy; two tiles along n.
        ("b:nt:67x133x37", (1, 0, 2), 16, 2),
        # Columns of A begin at multiples of 16 bytes, and are not copied; then those of both, but not of C.
        ("h:nn:72x40x75", (0, 3, 1), 16, 1),
        ("b:tt:67x72x40", (0, 0, 2), 16, 1),
    ],
)
def test_columns_begin_anywhere(text: str, pad: tuple[int, int, int], align: int, blocks: int) -> None:
    beta = "any" if align == 2 else "1" if blocks == 2 else "0"
    p = problem(text, pad=pad, beta=beta, alpha="1" if beta == "0" else "any", align=align)
    config = Config(SMALL | {"tile_n": 128 if p.n < 200 else 256})
    case = Case(1, offset=3 if align == 2 else 0)
    assert found_wrong("unaligned", [(p, config)], grid_x=blocks, case=case) == []
