"""The kernels of ``bench.order``, which compute nothing, compile without spills."""

from __future__ import annotations

import pytest

from bench import order
from tests import marks
from tests.emulator.cases import H200
from tilewright.model import Source
from tilewright.targets.cuda import nvrtc

pytestmark = marks.COMPILED


@pytest.mark.parametrize("entry", list(order.TILES))
def test_what_computes_nothing_spills_nothing(entry: str) -> None:
    facts = nvrtc.compile(Source(order.NOTHING.read_text(), entry), H200).facts
    assert facts["spills"] == 0
    assert facts["registers"] <= 64
