"""The ladder on a device: every config right on every case, and a small table."""

from __future__ import annotations

import pytest

from tilewright.model import Config
from tilewright.targets.cuda import devices, driver, modules
from tilewright.tutorial import ladder
from tilewright.tutorial.ladder import CASES, RUNGS, Rung

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=str(devices.missing())),
]

POINTS = [
    pytest.param(rung, config, id=f"{rung.number} {config!r}") for rung in RUNGS for config in rung.configs
]


@pytest.mark.parametrize(("rung", "config"), POINTS)
def test_every_config_is_right_on_every_case(rung: Rung, config: Config) -> None:
    driver.context()
    kernel = modules.load(ladder.compiled(rung, config, devices.probe()))
    found = {case: ladder.check(rung, config, kernel, case) for case in CASES}
    assert {case: error for case, error in found.items() if not error <= 1.0} == {}


def test_a_small_table() -> None:
    said: list[str] = []
    table = ladder.climb(n=500, rounds=3, listen=said.append)
    assert [row["rung"] for row in table["rows"]] == [1, 2, 3, 4, 5, 6]
    assert all(row["right"] for row in table["tried"])
    assert all(row["tflops"] > 0 for row in table["rows"])
    assert len(said) == sum(len(rung.configs) for rung in RUNGS) + 3
