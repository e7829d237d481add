"""What deterministic calls run, on the interpreter of PTX: fewer columns than a tensor map is worth."""

from __future__ import annotations

import pytest

from tests import marks
from tests.emulator.cases import H200, found_wrong, problem
from tilewright.catalog import STENCILS
from tilewright.model import Config

pytestmark = marks.COMPILED


@pytest.mark.parametrize(("stencil", "text"), [("warpgroup", "b:tn:24x1x40@1"), ("classic", "d:nn:6x3x6@1")])
def test_few_rows_are_multiplied(stencil: str, text: str) -> None:
    p = problem(text, beta="any")
    config = STENCILS[stencil].steady(p, H200)
    assert isinstance(config, Config)
    assert found_wrong(stencil, [(p, config)]) == []
