"""Complex float32 without tensor cores on the interpreter of PTX: edges, signs of conjugates, rows of lanes,
columns that begin anywhere, tiles that are cut; and no two lanes that read together want one bank."""

from __future__ import annotations

import pytest

from tests import marks
from tests.compile.emulated.test_dmma import conflicts
from tests.emulator.cases import found_wrong, problem
from tilewright.model import Config

pytestmark = marks.COMPILED

SMALL = {"rows": 4, "columns": 4, "lanes_m": 8, "warps_m": 2, "stages": 2, "band": 1024, "blocks": 132}
SMALL |= {"cut": 0, "overlap": 0}


@pytest.mark.parametrize(
    ("text", "beta", "pad", "fixed"),
    [
        # A across k and B along it, and the reverse; odd edges, two tiles of a block.
        ("c:nn:35x29x19", "any", (1, 1, 1), {}),
        ("c:tt:70x66x33", "0", (1, 0, 0), {"lanes_m": 4, "overlap": 1}),
        # The most sums of a thread, eight rows or columns along k and across it.
        ("c:tn:34x130x19", "any", (1, 1, 0), {"rows": 8, "lanes_m": 4}),
        ("c:nt:130x34x20", "1", (0, 0, 0), {"rows": 8, "lanes_m": 8, "warps_m": 2}),
        ("c:nn:20x140x20", "any", (0, 0, 0), {"columns": 8, "lanes_m": 8, "warps_m": 1}),
        ("c:tt:36x68x36", "any", (0, 0, 0), {"columns": 8, "lanes_m": 4, "warps_m": 4}),
        # Signs of conjugates.
        ("c:jn:18x38x18", "0", (0, 0, 0), {"warps_m": 1}),
        ("c:nc:18x38x18", "0", (0, 0, 0), {"warps_m": 1}),
        ("c:cj:18x38x18", "any", (0, 0, 0), {"rows": 8, "warps_m": 1, "lanes_m": 4}),
        # Three blocks share five tiles, of which two are cut; eleven share one.
        ("c:nn:136x60x34", "any", (0, 0, 0), {"lanes_m": 4, "warps_m": 2, "cut": 1, "blocks": 3}),
        ("c:tn:24x60x180", "1", (0, 0, 0), {"cut": 11, "warps_m": 1}),
    ],
)
def test_products_are_right_and_no_bank_is_asked_twice(
    text: str, beta: str, pad: tuple[int, int, int], fixed: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = conflicts(monkeypatch)
    p = problem(text, pad=pad, beta=beta, alpha="1" if beta == "0" else "any")
    assert all((ld or 0) % 2 == 0 for ld in (p.lda, p.ldb, p.ldc))
    assert found_wrong("cfma", [(p, Config(SMALL | fixed))], grid_x=None if "cut" in fixed else 1) == []
    assert set(asked) == {1}


@pytest.mark.parametrize(
    ("text", "loose", "fixed"),
    [
        # Both across k or along it, or one of each; one operand by boxes; three share a tile that is cut.
        ("c:nn:35x29x19", (1, 1, 1), {}),
        ("c:tn:37x70x37", (1, 1, 0), {"lanes_m": 4}),
        ("c:nt:35x33x21", (1, 1, 1), {"warps_m": 4}),
        ("c:tt:35x29x19", (0, 1, 0), {"overlap": 1}),
        ("c:nn:17x60x140", (0, 1, 1), {"cut": 3}),
        ("c:tn:17x60x45", (1, 0, 0), {"blocks": 2, "rows": 8, "lanes_m": 4, "warps_m": 4}),
    ],
)
def test_columns_that_begin_anywhere_come_number_by_number(
    text: str, loose: tuple[int, int, int], fixed: dict[str, int]
) -> None:
    p = problem(text, beta="any", alpha="any")
    # Odd columns, or even ones.
    pads = [int(((ld or 0) % 2 == 1) != odd) for ld, odd in zip((p.lda, p.ldb, p.ldc), loose, strict=True)]
    p = problem(text, pad=(pads[0], pads[1], pads[2]), beta="any", alpha="any")
    assert tuple(x % 2 for x in (p.lda or 0, p.ldb or 0, p.ldc or 0)) == loose
    assert found_wrong("cfma", [(p, Config(SMALL | fixed))], grid_x=None if "cut" in fixed else 1) == []
