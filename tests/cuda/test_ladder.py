"""The ladders on a device: every config right on every case, and small tables."""

from __future__ import annotations

import pytest

from tilewright.model import Config
from tilewright.targets.cuda import devices, driver, modules
from tilewright.tutorial import checks, ladder, outlines
from tilewright.tutorial.checks import CASES
from tilewright.tutorial.outlines import LADDERS
from tilewright.tutorial.rung import Rung

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=str(devices.missing())),
]

POINTS = [
    pytest.param(rung, config, id=f"{letter} {rung.number} {config!r}")
    for letter, rungs in LADDERS.items()
    for rung in rungs
    for config in rung.configs
]


@pytest.mark.parametrize(("rung", "config"), POINTS)
def test_every_config_is_right_on_every_case(rung: Rung, config: Config) -> None:
    driver.context()
    device = devices.probe()
    if (reason := rung.missing(device)) is not None:
        pytest.skip(reason)
    kernel = modules.load(outlines.compiled(rung, config, device))
    found = {case: checks.check(rung, config, kernel, case, device) for case in CASES}
    assert {case: error for case, error in found.items() if not error <= 1.0} == {}


@pytest.mark.parametrize(("letter", "n"), [("s", 500), ("h", 528), ("b", 272)])
def test_a_small_table(letter: str, n: int) -> None:
    said: list[str] = []
    table = ladder.climb(n=n, rounds=3, listen=said.append, letter=letter)
    device = devices.probe()
    able = [rung for rung in LADDERS[letter] if rung.missing(device) is None]
    assert [row["rung"] for row in table["rows"]] == [rung.number for rung in able]
    assert all(row["right"] for row in table["tried"])
    assert all(row["tflops"] > 0 for row in table["rows"])
    assert len(said) == sum(len(rung.configs) for rung in able) + 4
