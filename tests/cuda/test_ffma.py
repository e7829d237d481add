"""Large products in float32 by warps with roles, on a live GPU: right with every config and layout."""

from __future__ import annotations

import random

import pytest

from tests.launched import verdict
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.ffma.stencil import FfmaStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

FFMA = FfmaStencil()


@pytest.mark.parametrize("seed", range(48))
def test_random_configs_are_right(seed: int) -> None:
    """Mostly few blocks, each with many tiles, so that rings go round."""
    device, draw = devices.probe(), random.Random(seed)
    if "wgmma" not in device.supports:
        pytest.skip("the device has no tensor maps for warps with registers to give")
    letter = "sc"[seed % 2]
    m, n, k = (draw.randrange(17, 700) for _ in "mnk")
    p = Problem(
        DTYPES[letter],
        m,
        n,
        k,
        "n" if letter == "s" else draw.choice("nj"),
        "t" if letter == "s" else draw.choice("tc"),
        alpha=draw.choice(("1", "any")),
        beta=draw.choice(("0", "1", "any")),
    )
    unit = 16 // p.dtype.itemsize
    lda, ldb, ldc = (unit * (-(-rows // unit) + draw.randrange(3)) for rows in (m, n, m))
    p = p.with_(lda=lda, ldb=ldb, ldc=ldc, stride_a=lda * k, stride_b=ldb * k, stride_c=ldc * n)
    assert FFMA.accepts(p, device) is None
    (config,) = FFMA.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    found = verdict(FFMA, p, config.with_(blocks=draw.choice((2, 5, 132))), 1, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"
