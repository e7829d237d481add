"""Products of 16-bit matrices by boxes of tensors, on a live GPU: right in every accepted layout."""

from __future__ import annotations

import random

import pytest

from tests.launched import verdict
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.boxes.stencil import BoxesStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

BOXES = BoxesStencil()


def layouts(p: Problem) -> list[Problem]:
    """Dense, with padded columns, with a shared operand, and with gaps between matrices."""
    padded = {"m": p.m, "lda": (p.lda or 0) + 64, "ldb": (p.ldb or 0) + 16, "ldc": (p.ldc or 0) + 32}
    gaps = {f"stride_{x}": stride + 8 for x, stride in zip("abc", p.strides, strict=True)}
    return [p, p.with_(**padded), p.with_(stride_a=0), p.with_(stride_b=0), p.with_(**gaps)]


def served() -> bool:
    return "wgmma" in devices.probe().supports


@pytest.mark.parametrize("size", ["64x64x64", "192x128x64", "128x64x192", "256x256x256", "80x96x112"])
@pytest.mark.parametrize("letter", ["h", "b"])
def test_the_default_is_right_in_every_layout(letter: str, size: str) -> None:
    device = devices.probe()
    if not served():
        pytest.skip("the device has no products of warp groups")
    for number in range(5):
        ops, beta = ("nn", "tn", "nt", "tt")[(number + len(size)) % 4], ("any", "0", "1")[number % 3]
        p = layouts(Problem.parse(f"{letter}:{ops}:{size}@100000", beta=beta, alpha="any")[0])[number]
        assert BOXES.accepts(p, device) is None
        config = BOXES.default(p, device)
        # Fewer tiles than blocks, and more: the ring goes round several times.
        for batch, blocks in ((1, config["blocks"]), (301, device["sms"])):
            found = verdict(BOXES, p, config.with_(blocks=blocks), batch, special=batch == 1)
            assert found.ok, f"{p.key} @{batch} {config}: {found.why}"


@pytest.mark.parametrize("seed", range(48))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    if not served():
        pytest.skip("the device has no products of warp groups")
    # Extents that are contiguous somewhere are whole words of 16 bytes; the others may be anything. Columns
    # begin at whole sectors of 32 bytes, but for those of one matrix.
    ops = [draw.choice("nt") for _ in "ab"]
    words = {"m", "k" if ops[0] == "t" else "m", "n" if ops[1] == "t" else "k"}
    sizes = {x: draw.randrange(5, 33) * 8 if x in words else draw.randrange(33, 257) for x in "mnk"}
    loose, contiguous = (
        draw.choice("abc"),
        ("k" if ops[0] == "t" else "m", "n" if ops[1] == "t" else "k", "m"),
    )
    lead = {
        f"ld{x}": sizes[e] + 8 * draw.randrange(3)
        if x == loose
        else (-(-sizes[e] // 16) + draw.randrange(2)) * 16
        for x, e in zip("abc", contiguous, strict=True)
    }
    beta = draw.choice(("0", "1", "any"))
    p = Problem(
        DTYPES["hb"[seed % 2]],
        **sizes,
        **lead,
        trans_a=ops[0],
        trans_b=ops[1],
        batch=10**4,
        alpha="any",
        beta=beta,
    )
    # An operand whose matrices would begin anywhere has them at whole words.
    p = p.with_(**{f"stride_{x}": -(-s // 8) * 8 for x, s in zip("abc", p.strides, strict=True)})
    p = draw.choice(layouts(p))
    assert BOXES.accepts(p, device) is None
    (config,) = BOXES.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    found = verdict(BOXES, p, config, draw.choice((1, 5, 301)))
    assert found.ok, f"{p.key} {config}: {found.why}"
