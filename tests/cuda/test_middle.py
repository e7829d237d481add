"""Products of middle size on a live GPU: right in every layout, by every way."""

from __future__ import annotations

import random

import pytest

from tests.launched import verdict
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.middle.needs import TYPES
from tilewright.stencils.cuda.middle.stencil import MiddleStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

MIDDLE = MiddleStencil()


def layouts(p: Problem) -> list[Problem]:
    """Packed, from odd addresses, with a shared operand, with padding and gaps, and padded in C alone."""
    one = {"lda": (p.lda or 0) + 1, "ldb": (p.ldb or 0) + 1, "ldc": (p.ldc or 0) + 1}
    return [
        p,
        p.with_(align=p.dtype.itemsize),
        p.with_(stride_a=0),
        p.with_(stride_b=0),
        p.with_(stride_c=(p.stride_c or 0) + 1),
        p.with_(m=p.m, **one),
        p.with_(m=p.m, **{name: (ld or 0) + 3 for name, ld in one.items()}),
        p.with_(m=p.m, ldc=(p.ldc or 0) + 2),
    ]


@pytest.mark.parametrize(
    "size",
    ["33x33x33", "64x64x64", "63x65x37", "128x100x5", "7x130x160", "160x33x160", "401x9x64", "39x333x20"],
)
@pytest.mark.parametrize("letter", TYPES)
def test_the_default_is_right_in_every_layout(letter: str, size: str) -> None:
    device = devices.probe()
    trans = (("nn", "ct"), ("tn", "nn"), ("nt", "jn"), ("tt", "nc"))
    for number in range(8):
        # Each transposition meets other layouts at other sizes.
        ops = trans[(number + len(size)) % 4][DTYPES[letter].is_complex]
        beta = ("any", "0", "1")[number % 3]
        # With an alpha of 1 sums begin with C, with others C is read when they are complete.
        alpha = ("1", "any")[number % 2]
        p = layouts(Problem.parse(f"{letter}:{ops}:{size}@100000", beta=beta, alpha=alpha)[0])[number]
        assert MIDDLE.accepts(p, device) is None
        config = MIDDLE.default(p, device)
        # Fewer tiles than blocks, and more: the ring goes round several times.
        for batch, blocks, per_block in (
            (1, config["blocks"], 0),
            (301, device["sms"], 0),
            (301, device["sms"], 2),
        ):
            made = config.with_(blocks=blocks, per_block=per_block)
            found = verdict(MIDDLE, p, made, batch, special=batch == 1)
            assert found.ok, f"{p.key} @{batch} {config}: {found.why}"


@pytest.mark.parametrize("seed", range(48))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    letter = TYPES[seed % 4]
    ops = [draw.choice("ntcj" if DTYPES[letter].is_complex else "nt") for _ in "ab"]
    sizes = [draw.randrange(1, 161), draw.randrange(33, 161), draw.randrange(33, 161)]
    draw.shuffle(sizes)
    m, n, k = sizes
    beta = draw.choice(("0", "1", "any"))
    p = Problem(DTYPES[letter], m, n, k, *ops, batch=10**4, alpha=draw.choice(("1", "any")), beta=beta)
    p = draw.choice(layouts(p))
    for config in MIDDLE.space(p, device).only((*HARDWARE, "hard")).sample(2, seed):
        found = verdict(MIDDLE, p, config, draw.choice((1, 5, 301)))
        assert found.ok, f"{p.key} {config}: {found.why}"
