"""Matrices times vectors on a live GPU: right in every layout, by every config."""

from __future__ import annotations

import random

import pytest

from tests.cuda.test_inner import layouts
from tests.launched import verdict
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.vector.stencil import VectorStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

VECTOR = VectorStencil()
LETTERS = tuple(DTYPES)


@pytest.mark.parametrize(
    "size", ["300x1x81", "1x131x777", "65x1x2", "1x3x4001", "513x1x1024", "1x640x96", "4000x1x5", "1x97x66"]
)
@pytest.mark.parametrize("letter", LETTERS)
def test_the_default_is_right_in_every_layout(letter: str, size: str) -> None:
    device = devices.probe()
    trans = (("nn", "ct"), ("tn", "nn"), ("nt", "jn"), ("tt", "nc"))
    for number in range(8):
        # Each transposition meets other layouts at other sizes.
        ops = trans[(number + len(size)) % 4][DTYPES[letter].is_complex]
        beta = ("any", "0", "1")[number % 3]
        p = layouts(Problem.parse(f"{letter}:{ops}:{size}@100000", beta=beta, alpha="any")[0])[number]
        assert VECTOR.accepts(p, device) is None
        config = VECTOR.default(p, device)
        for batch in (1, 37):
            found = verdict(VECTOR, p, config, batch, special=batch == 1)
            assert found.ok, f"{p.key} @{batch} {config}: {found.why}"


@pytest.mark.parametrize("seed", range(56))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    letter = LETTERS[seed % 7]
    ops = [draw.choice("ntcj" if DTYPES[letter].is_complex else "nt") for _ in "ab"]
    extent, k = draw.sample((draw.randrange(2, 700), draw.randrange(65, 700)), 2)
    m, n = draw.sample((1, extent), 2)
    beta = draw.choice(("0", "1", "any"))
    p = draw.choice(layouts(Problem(DTYPES[letter], m, n, k, *ops, batch=10**4, alpha="any", beta=beta)))
    for config in VECTOR.space(p, device).only((*HARDWARE, "hard")).sample(3, seed):
        found = verdict(VECTOR, p, config, draw.choice((1, 2, 33)))
        assert found.ok, f"{p.key} {config}: {found.why}"
