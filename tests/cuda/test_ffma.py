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
        draw.choice("nt" if letter == "s" else "ntcj"),
        draw.choice("nt" if letter == "s" else "ntcj"),
        alpha=draw.choice(("1", "any")),
        beta=draw.choice(("0", "1", "any")),
    )
    unit = 16 // p.dtype.itemsize
    stored = (k, m) if p.transposed_a else (m, k), (n, k) if p.transposed_b else (k, n), (m, n)
    leading = [unit * (-(-rows // unit) + draw.randrange(3)) for rows, _ in stored]
    strides = (ld * columns for ld, (_, columns) in zip(leading, stored, strict=True))
    p = p.with_(
        **dict(zip(("lda", "ldb", "ldc"), leading, strict=True)),
        **dict(zip(("stride_a", "stride_b", "stride_c"), strides, strict=True)),
    )
    assert FFMA.accepts(p, device) is None
    (config,) = FFMA.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    found = verdict(FFMA, p, config.with_(blocks=draw.choice((2, 5, 132))), 1, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"
