"""The stencil of products of many sizes through NVRTC: no spills, no warnings, hard rules by their names."""

from __future__ import annotations

import random

import pytest

from tests import marks
from tilewright.errors import CompileError
from tilewright.model import DTYPES, Config, Device, GroupedProblem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.grouped.stencil import GroupedStencil, products
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

GROUPED = GroupedStencil()
A100, H200 = named("a100"), named("h200")


def compiled(p: GroupedProblem, config: Config, device: Device) -> dict[str, int]:
    facts = dict(nvrtc.compile(GROUPED.source(p, config, device), device).facts)
    assert facts["warnings"] == 0, (p.key, config)
    return facts


KINDS = ((64, "any", "nn"), (32, "0", "nn"), (32, "any", "tc"), (8, "1", "nt"))
# One of four, another one on the other device and of the next type.
DEFAULTS = [
    (letter, device, *KINDS[(turn + (device is A100)) % 4])
    for turn, letter in enumerate(DTYPES)
    for device in (H200, A100)
]


@pytest.mark.parametrize(("letter", "device", "top", "beta", "trans"), DEFAULTS, ids=marks.key)
def test_defaults_keep_what_they_promise(
    letter: str, device: Device, top: int, beta: str, trans: str
) -> None:
    alpha = "any" if beta == "any" else "1"
    p = products(DTYPES[letter], top, top, top, trans, 10_000, alpha=alpha, beta=beta)
    assert GROUPED.accepts(p, device) is None
    config = GROUPED.default(p, device)
    facts = compiled(p, config, device)
    assert (facts["spills"], facts["stack"]) == (0, 0), (top, config, facts)
    per_sm, threads = config["blocks"] // device["sms"], 32 * config["warps"]
    assert per_sm * threads * -(-facts["registers"] // 8) * 8 <= device["registers_per_sm"]


@pytest.mark.parametrize("seed", range(6))
def test_configs_of_all_kinds_compile(seed: int) -> None:
    draw = random.Random(seed)
    letter = draw.choice(list(DTYPES))
    trans = "".join(draw.choice("ntcj" if DTYPES[letter].is_complex else "nt") for _ in "ab")
    device = draw.choice((H200, A100))
    top = draw.choice((4, 16, 32, 48))
    p = products(DTYPES[letter], top, top, top, trans, 1000, alpha="any", beta=draw.choice(("0", "1", "any")))
    space = GROUPED.space(p, device).only(HARDWARE)
    for _ in range(300):
        config = Config({param.name: draw.choice(param.values) for param in space.params})
        if not space.why(config):
            compiled(p, config, device)
            return


def test_a_hard_rule_speaks_when_it_is_broken() -> None:
    p = products(DTYPES["d"], 32, 32, 32, "nn", 1000)
    config = GROUPED.default(p, H200)
    for changes, words in (
        ({"team": 4, "warps": 6}, "teams"),
        ({"team": 1, "warps": 2, "ring": 1024}, "ring"),
        ({"rows": 3}, "mma-tile"),
    ):
        broken = config.with_(**changes)
        assert words in [rule.name for rule in GROUPED.space(p, H200).why(broken)]
        with pytest.raises(CompileError, match=words):
            nvrtc.compile(GROUPED.source(p, broken, H200), H200)
