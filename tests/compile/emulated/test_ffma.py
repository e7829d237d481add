"""Float32 by warps with roles on the interpreter of PTX: edges inside of words, signs of conjugates."""

from __future__ import annotations

import pytest

from tests import marks
from tests.emulator.cases import found_wrong, problem
from tilewright.model import Config

pytestmark = marks.COMPILED

TURNED = {"columns": 8, "depth": 32, "turned": 1}
SMALL = {"rows": 8, "columns": 4, "lanes_m": 8, "warps_m": 1, "depth": 8, "stages": 2}
SMALL |= {"band": 1024, "blocks": 132, "cut": 0, "a_first": 1, "products": 1, "overlap": 0, "turned": 0}


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        # Two tiles of a block, edges inside of words.
        ("s:nt:66x33x19", "any", {}),
        # Three blocks share five tiles along k.
        ("s:nt:66x33x35", "1", {"rows": 4, "lanes_m": 4, "cut": 1, "blocks": 3}),
        # Nine share one, and add the sums of two each.
        ("s:nt:30x33x70", "0", {"cut": 11}),
        # Planes of complex numbers, of operands that are turned and that are not; two blocks.
        (
            "c:nc:34x35x21",
            "any",
            {"rows": 4, "columns": 8, "warps_m": 4, "stages": 8, "depth": 16, "products": 4},
        ),
        (
            "c:cj:66x18x33",
            "1",
            {"rows": 4, "columns": 8, "warps_m": 4, "stages": 8, "depth": 16, "products": 3},
        ),
        # Operands that are turned, in pieces that end in tiles and slices; two blocks.
        ("s:nn:66x35x37", "0", {"rows": 4, "columns": 8, "warps_m": 4, "stages": 8, "depth": 16}),
        ("s:tn:34x35x70", "any", {"rows": 4, "columns": 8, "warps_m": 4, "stages": 8, "depth": 16, "cut": 2}),
        # Turned in shared memory: one operand; both, in slices that are written out in parts; cut.
        ("s:nn:66x70x37", "0", TURNED | {"rows": 4, "overlap": 1}),
        ("s:tn:34x35x70", "any", TURNED | {"columns": 16, "warps_m": 4}),
        ("s:tt:66x33x67", "1", TURNED | {"lanes_m": 4, "warps_m": 2, "cut": 1, "blocks": 3}),
        # With 64 sums of a thread warps that turn have more registers; three blocks share two tiles.
        ("s:nn:34x300x70", "any", TURNED | {"cut": 1, "blocks": 3}),
    ],
)
def test_products_are_right(text: str, beta: str, fixed: dict[str, int]) -> None:
    alpha = "1" if beta == "0" else "any"
    p = problem(text, beta=beta, alpha=alpha)
    unit = 16 // p.dtype.itemsize
    pads = [-(ld or 0) % unit for ld in (p.lda, p.ldb, p.ldc)]
    p = problem(text, pad=(pads[0], pads[1] + unit, pads[2] + 2 * unit), beta=beta, alpha=alpha)
    assert found_wrong("ffma", [(p, Config(SMALL | fixed))], grid_x=None if "cut" in fixed else 1) == []


@pytest.mark.parametrize(
    ("text", "shared", "beta", "fixed"),
    [
        ("s:nt:66x33x19@3", "a", "1", {}),
        # Operands that are turned in shared memory, one of them for all products.
        ("s:tn:34x35x33@3", "b", "any", TURNED | {"columns": 16, "warps_m": 4}),
    ],
)
def test_tiles_of_a_batch_stand_side_by_side(
    text: str, shared: str, beta: str, fixed: dict[str, int]
) -> None:
    p = problem(text, beta=beta)
    pads = [-(ld or 0) % 4 for ld in (p.lda, p.ldb, p.ldc)]
    p = problem(text, (pads[0], pads[1], pads[2] + 4), (4, 0, 8), beta=beta)
    p = p.with_(**{f"stride_{name}": 0 for name in shared})
    assert found_wrong("ffma", [(p, Config(SMALL | {"blocks": 2} | fixed))]) == []
