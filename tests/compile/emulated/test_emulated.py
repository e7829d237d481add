"""Large products of float32 as sums of bfloat16 on the interpreter of PTX: orders, edges, a C that is read,
and tiles that are cut."""

from __future__ import annotations

import pytest

from tests import marks
from tests.emulator.cases import found_wrong, problem
from tilewright.model import Config
from tilewright.tuning.gemm.verify import Case

pytestmark = marks.COMPILED

SMALL = {"tile_m": 64, "stages": 4, "band": 1024, "blocks": 132, "cut": 0}


@pytest.mark.parametrize(
    ("text", "math", "pad", "align", "blocks", "more"),
    [
        # Columns begin anywhere; k ends inside of a slice, C inside of a tile.
        ("s:tn:40x135x201", "bf16x6", (0, 2, 1), 4, 1, {}),
        # One of two blocks finds nothing left to split; two tiles along n.
        ("s:nt:67x133x37", "bf16x3", (1, 0, 2), 4, 2, {"stages": 3}),
        # Words of 16 bytes, and results in pairs; then the ring goes round in another place than a slice.
        ("s:nn:72x40x76", "bf16x6", (0, 0, 0), 16, 1, {}),
        ("s:tt:67x72x140", "bf16x6", (0, 0, 1), 16, 1, {"stages": 5, "tile_m": 128}),
        # So short a sum that its bound is not met by fewer products of parts.
        ("s:nt:33x35x3", "bf16x6", (0, 1, 0), 4, 1, {}),
        # Complex numbers, in every order, conjugated or not.
        ("c:nn:40x70x37", "bf16x6", (0, 0, 0), 16, 1, {}),
        ("c:cn:37x35x41", "bf16x3", (1, 0, 2), 8, 2, {}),
        ("c:tj:66x67x20", "bf16x6", (0, 1, 0), 8, 1, {}),
        ("c:jt:68x36x36", "bf16x6", (0, 0, 0), 16, 1, {"stages": 5, "tile_m": 128}),
        # Parts of a tile meet; then so many that blocks add up those of a team before they give.
        ("s:tn:35x40x700", "bf16x3", (0, 0, 0), 16, 11, {"cut": 11, "blocks": 11, "stages": 3}),
        ("s:nn:60x100x600", "bf16x6", (0, 0, 0), 16, 3, {"cut": 3, "blocks": 3}),
        # As many sums of a thread as are added in turns, and the most there are.
        ("s:nt:100x70x450", "bf16x6", (0, 0, 0), 16, 3, {"cut": 3, "blocks": 3, "tile_m": 128}),
        ("s:tt:150x70x450", "bf16x6", (0, 0, 0), 16, 3, {"cut": 3, "blocks": 3, "tile_m": 192}),
    ],
)
def test_float32_is_a_sum(
    text: str, math: str, pad: tuple[int, int, int], align: int, blocks: int, more: dict[str, int]
) -> None:
    beta = "any" if align < 16 else "1" if blocks == 3 else "0"
    p = problem(text, pad=pad, beta=beta, alpha="1" if beta == "0" else "any", align=align, math=math)
    case = Case(1, offset=3 if align < 16 else 0)
    assert found_wrong("emulated", [(p, Config(SMALL | more))], grid_x=blocks, case=case) == []
