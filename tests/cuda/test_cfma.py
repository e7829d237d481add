"""Large products in complex float32 by warps with roles, on a live GPU: right in every config and layout."""

from __future__ import annotations

import random

import pytest

from tests.launched import verdict
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.cfma.stencil import CfmaStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

CFMA = CfmaStencil()


@pytest.mark.parametrize("seed", range(32))
def test_random_configs_are_right(seed: int) -> None:
    """Mostly few blocks, each with many tiles, so that rings go round; columns that begin at even numbers or
    anywhere."""
    device, draw = devices.probe(), random.Random(seed)
    if "wgmma" not in device.supports:
        pytest.skip("the device has no tensor maps for warps with registers to give")
    m, n, k = (draw.randrange(16, 600) for _ in "mnk")
    p = Problem(
        DTYPES["c"],
        m,
        n,
        k,
        draw.choice("ntcj"),
        draw.choice("ntcj"),
        alpha=draw.choice(("1", "any")),
        beta=draw.choice(("0", "1", "any")),
    )
    stored = (k, m) if p.transposed_a else (m, k), (n, k) if p.transposed_b else (k, n), (m, n)
    units = [draw.choice((1, 2)) for _ in "abc"]
    leading = [
        unit * (-(-rows // unit) + draw.randrange(3)) for unit, (rows, _) in zip(units, stored, strict=True)
    ]
    strides = (ld * columns for ld, (_, columns) in zip(leading, stored, strict=True))
    p = p.with_(
        **dict(zip(("lda", "ldb", "ldc"), leading, strict=True)),
        **dict(zip(("stride_a", "stride_b", "stride_c"), strides, strict=True)),
    )
    assert CFMA.accepts(p, device) is None
    (config,) = CFMA.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    found = verdict(CFMA, p, config.with_(blocks=draw.choice((2, 5, 132))), 1, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"
