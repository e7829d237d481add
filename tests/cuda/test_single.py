"""Products of middle size, one to a block, on a live GPU: right at every address, by every way."""

from __future__ import annotations

import random

import pytest

from tests.launched import verdict
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.middle.needs import TYPES
from tilewright.stencils.cuda.single.stencil import SingleStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

SINGLE = SingleStencil()


@pytest.fixture(autouse=True)
def bulk_copies() -> None:
    if "bulk_copy" not in devices.probe().supports:
        pytest.skip("the device has no bulk copies")


@pytest.mark.parametrize("size", ["33x33x33", "48x48x48", "37x50x45", "50x5x70", "7x64x63", "64x65x1"])
@pytest.mark.parametrize("letter", TYPES)
def test_the_default_is_right_at_every_address(letter: str, size: str) -> None:
    device = devices.probe()
    trans = (("nn", "ct"), ("tn", "nn"), ("nt", "jn"), ("tt", "nc"))
    for number in range(6):
        # Each transposition meets other classes of beta at other sizes.
        ops = trans[(number + len(size)) % 4][DTYPES[letter].is_complex]
        beta, alpha = ("any", "0", "1")[number % 3], ("1", "any")[number % 2]
        align = (16, DTYPES[letter].itemsize)[number // 2 % 2]
        text = f"{letter}:{ops}:{size}@100000"
        p = Problem.parse(text, beta=beta, alpha=alpha, align=align)[0]
        assert SINGLE.accepts(p, device) is None
        config = SINGLE.default(p, device)
        # Fewer products than blocks, and more: places are taken again.
        for batch, blocks in ((1, config["blocks"]), (301, device["sms"])):
            found = verdict(SINGLE, p, config.with_(blocks=blocks), batch, special=batch == 1)
            assert found.ok, f"{p.key} @{batch} {config}: {found.why}"


@pytest.mark.parametrize("seed", range(32))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    letter = TYPES[seed % 4]
    ops = [draw.choice("ntcj" if DTYPES[letter].is_complex else "nt") for _ in "ab"]
    sizes = [draw.randrange(1, 70), draw.randrange(33, 70), draw.randrange(33, 70)]
    draw.shuffle(sizes)
    beta, align = draw.choice(("0", "1", "any")), draw.choice((16, DTYPES[letter].itemsize))
    p = Problem(DTYPES[letter], *sizes, *ops, batch=10**4, alpha="any", beta=beta, align=align)
    if SINGLE.accepts(p, device) is not None:
        pytest.skip("an SM has no room for two")
    for config in SINGLE.space(p, device).only((*HARDWARE, "hard")).sample(3, seed):
        found = verdict(SINGLE, p, config, draw.choice((1, 5, 301)))
        assert found.ok, f"{p.key} {config}: {found.why}"
