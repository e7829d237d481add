"""Boxes of memory on the interpreter of PTX: tensor maps, tiles that reach out of C, what is kept."""

from __future__ import annotations

import pytest

from tests import marks
from tests.emulator.cases import found_wrong, problem
from tilewright.model import Config

pytestmark = marks.COMPILED


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        ("h:nn:40x33x72@3", "0", {}),
        ("b:tt:40x33x72@2", "any", {"kept": 2, "stages": 3}),
        # Tiles in both directions, of which the last ones reach out of C.
        ("h:nt:72x72x40@2", "1", {"tile_m": 64, "tile_n": 64}),
    ],
)
def test_boxes_come_and_go(text: str, beta: str, fixed: dict[str, int]) -> None:
    # Columns begin at multiples of 128 bytes, or of 16, and matrices of 16, with room between them.
    p = problem(text, beta=beta, alpha="any")
    pads = [-(ld or 0) % 8 for ld in (p.lda, p.ldb, p.ldc)]
    p = problem(text, pad=(pads[0], pads[1] + 24, pads[2] + 64), gap=(8, 0, 16), beta=beta, alpha="any")
    few = {"tile_m": 48, "tile_n": 64, "stages": 2, "kept": 1, "blocks": 132}
    assert found_wrong("boxes", [(p, Config(few | fixed))], grid_x=2) == []
