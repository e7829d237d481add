"""Batches of large products, on a live GPU: right with every config and layout, of all stencils whose tiles
are those of products side by side."""

from __future__ import annotations

import random
from typing import Any

import pytest

import tilewright as tw
from tests.emulator.cases import problem
from tests.launched import verdict
from tilewright.catalog import STENCILS
from tilewright.space import HARDWARE
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

OF = {"s": "ffma", "d": "dmma", "z": "dmma"}
"""The stencil of each type."""


@pytest.fixture(autouse=True)
def served() -> None:
    if devices.missing() is None and "wgmma" not in devices.probe().supports:
        pytest.skip("the device has no warps that hand over registers")


def aligned(text: str, pad: tuple[int, int, int], gap: tuple[int, int, int], **fields: Any) -> Any:
    """A problem whose columns and matrices begin at multiples of 16 bytes, so many of them apart."""
    plain = problem(text, **fields)
    unit = 16 // plain.dtype.itemsize
    short = (-(ld or 0) % unit for ld in (plain.lda, plain.ldb, plain.ldc))
    a, b, c = (less + unit * more for less, more in zip(short, pad, strict=True))
    return problem(text, (a, b, c), (gap[0] * unit, gap[1] * unit, gap[2] * unit), **fields)


@pytest.mark.parametrize("seed", range(96))
def test_random_configs_are_right(seed: int) -> None:
    """Few blocks, so that each has many tiles of many products, or all of them."""
    device, draw = devices.probe(), random.Random(seed)
    letter = "sdz"[seed % 3]
    stencil = STENCILS[OF[letter]]
    ops = "ntcj" if letter == "z" else "nt"
    sides = [draw.randrange(65, 300), draw.randrange(33, 300)]
    draw.shuffle(sides)
    size = "x".join(map(str, (*sides, draw.randrange(17, 300))))
    text = f"{letter}:{draw.choice(ops)}{draw.choice(ops)}:{size}@{draw.randrange(2, 8)}"
    fields = {"alpha": draw.choice(("1", "any")), "beta": draw.choice(("0", "1", "any"))}
    pad, gap = (tuple(draw.randrange(3) for _ in "abc") for _ in range(2))
    p = aligned(text, pad, gap, **fields)  # type: ignore[arg-type]
    if letter == "d" and seed % 2:
        # Numbers that come one by one, for no column begins at more than 8 bytes.
        p = problem(text, pad, gap, align=8, **fields)  # type: ignore[arg-type]
    if seed % 5 == 0:
        p = p.with_(**{f"stride_{draw.choice('ab')}": 0})
    assert stencil.accepts(p, device) is None
    (config,) = stencil.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    config = config.with_(blocks=draw.choice((2, 4, 10, 132)))
    found = verdict(stencil, p, config, p.batch, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"


@pytest.mark.parametrize("letter", "sdz")
def test_the_default_of_many_small_ones_is_right(letter: str) -> None:
    device, stencil = devices.probe(), STENCILS[OF[letter]]
    for size in ("66x64x64@1000", "97x33x65@501", "128x128x128@264"):
        p = problem(f"{letter}:nn:{size}", align=8 if letter == "d" else 16)
        if stencil.accepts(p, device) is None:
            found = verdict(stencil, p, stencil.default(p, device), p.batch)
            assert found.ok, f"{p.key}: {found.why}"


@pytest.mark.parametrize("letter", "sdz")
def test_calls_are_right_whatever_is_shared_or_turned(letter: str) -> None:
    torch = pytest.importorskip("torch")
    kind = {"s": "float32", "d": "float64", "z": "complex128"}[letter]
    torch.manual_seed(3)
    a, b = (torch.randn(6, 132, 132, dtype=getattr(torch, kind), device="cuda") for _ in range(2))
    for left, right in ((a, b), (a.mT, b[0]), (a[::2], b[1::2]), (a[1], b.mH)):
        plan = tw.plan(left, right, stencil=OF[letter])
        assert plan.plan.problem.batch > 1
        want = left.to(torch.complex128) @ right.to(torch.complex128)
        error = float((plan(left, right).to(torch.complex128) - want).abs().max())
        assert error <= 4000 * float(torch.finfo(a.dtype).eps), (letter, error)
