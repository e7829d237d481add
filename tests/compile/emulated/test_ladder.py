"""Steps of the ladder in half precision on the interpreter: edges, rings that turn, roles, and clusters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import marks
from tests.emulator.cases import H200, problem
from tests.emulator.machine import SCHEDULES
from tests.emulator.rungs import rung_wrong
from tilewright.model import Config
from tilewright.tutorial.halves import RUNGS

pytestmark = marks.COMPILED


@pytest.mark.parametrize(
    ("number", "letter", "values", "size", "beta"),
    [
        (1, "h", "2 1", "16x32x32", "any"),
        (2, "b", "32 16 16 32 16 1", "13x29x21", "0"),
        (3, "h", "16 64 16 32 1", "59x13x75", "any"),
        (4, "b", "16 64 16 32 2 1", "59x13x139", "0"),
        (5, "h", "64 64 2 1", "11x70x139", "any"),
        (6, "b", "128 64 2", "11x70x139", "0"),
        # Two tiles of one block, and in turns of two blocks that share what comes.
        (7, "h", "128 64 2 0", "70x11x75", "0"),
        (8, "b", "64 64 2 1", "75x70x75", "any"),
    ],
)
def test_a_step_is_right(number: int, letter: str, values: str, size: str, beta: str) -> None:
    rung = RUNGS[letter][number - 1]
    config = Config(dict(zip(rung.configs[0], map(int, values.split()), strict=True)))
    p = problem(f"{letter}:nn:{size}", beta=beta, alpha="any")
    pads = [-(ld or 0) % rung.unit for ld in (p.lda, p.ldb, p.ldc)]
    p = problem(p.spelling, pad=(pads[0] + rung.unit, pads[1], pads[2] + rung.unit), beta=beta, alpha="any")
    # Blocks that stay have more than one tile.
    device = replace(H200, limits={**H200.limits, "sms": 2 if number == 8 else 1})
    assert rung_wrong(rung, config, p, device, SCHEDULES[number % len(SCHEDULES)]) == ""
