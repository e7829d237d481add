"""Batches of float32 as sums of bfloat16 on the interpreter of PTX: orders, edges, gaps, what products share,
a C that is read, and infinities."""

from __future__ import annotations

import pytest

from tests import marks
from tests.emulator.cases import found_wrong, problem
from tilewright.model import Config
from tilewright.tuning.gemm.verify import Case

pytestmark = marks.COMPILED

SMALL = {"tile_m": 64, "stages": 4, "band": 2048, "blocks": 132}


@pytest.mark.parametrize(
    ("text", "math", "pad", "gap", "align", "more"),
    [
        # Columns begin anywhere; k ends inside of a slice, C inside of a tile; one group has nothing to do.
        ("s:tn:40x35x81@3", "bf16x6", (0, 2, 1), (1, 0, 3), 4, {}),
        ("s:nt:37x41x37@3", "bf16x3", (1, 0, 2), (0, 0, 0), 4, {"stages": 3}),
        # Tiles of several products along n; then along m, and the ring goes round in another place.
        ("s:nn:36x133x40@2", "bf16x6", (0, 0, 0), (0, 0, 0), 16, {}),
        ("s:tt:132x36x68@2", "bf16x3", (0, 0, 0), (0, 4, 0), 16, {"stages": 5, "tile_m": 128}),
        # So short a sum that its bound is not met by fewer products of parts.
        ("s:nt:33x35x3@2", "bf16x6", (0, 1, 0), (0, 0, 0), 4, {}),
        # Complex numbers, in every order, conjugated or not.
        ("c:nn:34x36x37@2", "bf16x6", (0, 0, 0), (0, 0, 0), 16, {}),
        ("c:cn:37x35x41@2", "bf16x3", (1, 0, 2), (0, 0, 0), 8, {}),
        ("c:tj:35x33x20@2", "bf16x6", (0, 1, 0), (0, 0, 1), 8, {}),
        ("c:jt:68x36x36@2", "bf16x3", (0, 0, 0), (0, 0, 0), 16, {"stages": 5, "tile_m": 128}),
    ],
)
def test_float32_is_a_sum(
    text: str,
    math: str,
    pad: tuple[int, int, int],
    gap: tuple[int, int, int],
    align: int,
    more: dict[str, int],
) -> None:
    beta = "any" if align < 16 else "0"
    p = problem(
        text, pad=pad, gap=gap, beta=beta, alpha="1" if beta == "0" else "any", align=align, math=math
    )
    case = Case(1, offset=3 if align < 16 else 0)
    assert found_wrong("split", [(p, Config(SMALL | more))], grid_x=1, case=case) == []


@pytest.mark.parametrize("shared", "ab")
def test_products_share_an_operand(shared: str) -> None:
    p = problem("s:nn:36x40x44@3", math="bf16x3", align=16).with_(**{f"stride_{shared}": 0})
    assert found_wrong("split", [(p, Config(SMALL | {"stages": 3}))], grid_x=2) == []


@pytest.mark.parametrize("text", ["s:nt:35x36x70@2", "c:cn:34x35x33@2"])
def test_infinities_and_the_largest_numbers_come_out(text: str) -> None:
    p = problem(text, math="bf16x6", align=8)
    assert found_wrong("split", [(p, Config(SMALL))], grid_x=1, case=Case(1, special=True)) == []
