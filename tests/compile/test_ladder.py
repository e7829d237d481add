"""Every kernel of the ladders through NVRTC, for two architectures, without a device."""

from __future__ import annotations

import re

import pytest

from tilewright.errors import CompileError
from tilewright.model import Config
from tilewright.targets.cuda import capability, nvrtc
from tilewright.tutorial import halves, outlines
from tilewright.tutorial.rung import Rung
from tilewright.tutorial.single import RUNGS

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

POINTS = [
    pytest.param(rung, config, device, id=f"{rung.number} {config!r} {device}")
    for device in ("h200", "a100")
    for rung in RUNGS
    # A third of them, and of the older device the first.
    for config in rung.configs[:: 3 if device == "h200" else len(rung.configs)]
]


@pytest.mark.parametrize(("rung", "config", "device"), POINTS)
def test_it_compiles_without_a_warning(rung: Rung, config: Config, device: str) -> None:
    where = capability.named(device)
    row = outlines.facts(rung, config, where, 4096)
    assert row["registers"] <= where["registers_per_thread"]
    # The blocks that a config promises do fit.
    assert row["blocks"] >= config.get("MIN_BLOCKS", 1)
    assert outlines.compiled(rung, config, where).facts["warnings"] == 0
    if device == "h200" or config == rung.configs[0]:
        assert row["spills"] == 0


HALVES = [
    pytest.param(rung, rung.configs[-1], device, id=f"{letter} {rung.number} {device}")
    for device, letters in (("h200", "hb"), ("a100", "bh"))
    for number in range(8)
    for letter in letters[number % 2]
    for rung in (halves.RUNGS[letter][number],)
    if rung.missing(capability.named(device)) is None
]
"""Both types in turns, on the older device the other one."""


@pytest.mark.parametrize(("rung", "config", "device"), HALVES)
def test_half_precision_compiles_without_a_warning(rung: Rung, config: Config, device: str) -> None:
    where = capability.named(device)
    row = outlines.facts(rung, config, where, 4096)
    assert (row["spills"], outlines.compiled(rung, config, where).facts["warnings"]) == (0, 0)
    assert row["blocks"] >= config.get("MIN_BLOCKS", 1)
    if rung.number > 5:
        # What the groups end with is not more than the block began with.
        taken = map(int, re.findall(r"registers_(?:given|taken)<(\d+)>", rung.source(config).text))
        given, most = sorted(taken)
        assert 128 * (given + 2 * most) <= row["threads"] * row["registers"] <= where["registers_per_sm"]


def test_the_table_without_a_device_has_every_rung(monkeypatch: pytest.MonkeyPatch) -> None:
    table = outlines.survey(4096, capability.named("h200"))
    assert [row["rung"] for row in table["rows"]] == [1, 2, 3, 4, 5, 6]
    assert all(row["tflops"] is None and row["registers"] > 0 for row in table["rows"])
    # Which rows there are is asked without compiling them all.
    monkeypatch.setattr(outlines, "facts", lambda rung, config, device, n: outlines.outline(rung, config, n))
    assert len(outlines.survey(4096, capability.named("h200"), every=True)["rows"]) == sum(
        len(rung.configs) for rung in RUNGS
    )


def test_a_tile_that_threads_cannot_share_is_refused_in_words() -> None:
    rung = RUNGS[5]
    with pytest.raises(CompileError, match="a warp has 32 threads"):
        nvrtc.compile(rung.source(rung.configs[0].with_(WNITER=2)), capability.named("h200"))
