"""Batches of float32 as sums of bfloat16, on a live GPU: right with every config and layout, as exact as the
parts are, and what infinities become."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from tests.cuda.test_emulated import tensors
from tests.emulator.cases import problem
from tests.launched import verdict
from tilewright.model import EMULATED, Config
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.split.stencil import SplitStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

STENCIL = SplitStencil()


@pytest.fixture(autouse=True)
def served() -> None:
    if devices.missing() is None and "wgmma" not in devices.probe().supports:
        pytest.skip("the device has no products of warp groups")


@pytest.mark.parametrize("text", ["s:nn", "s:nt", "s:tn", "s:tt", "c:nc", "c:jn", "c:tt"])
@pytest.mark.parametrize("way", EMULATED)
def test_few_blocks_have_many_tiles(way: str, text: str) -> None:
    for size, fixed in (
        ("299x313x203@7", {"tile_m": 128, "stages": 6, "blocks": 2}),
        ("131x64x130@60", {"tile_m": 64, "stages": 9, "blocks": 5}),
        ("47x45x49@900", {"tile_m": 64, "stages": 6, "blocks": 132}),
    ):
        align = 8 if text[0] == "c" else 4
        p = problem(f"{text}:{size}", (0, 1, 2), (3, 0, 1), alpha="any", beta="any", align=align, math=way)
        assert STENCIL.accepts(p, devices.probe()) is None
        found = verdict(STENCIL, p, Config({"band": 2048} | fixed), p.batch)
        assert found.ok, f"{p.key} {fixed}: {found.why}"


@pytest.mark.parametrize("seed", range(48))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    m, n, k = (round(2 ** draw.uniform(0, 8)) for _ in "mnk")
    letter = "sc"[seed // 4 % 2]
    ops = "nt" if letter == "s" else "ntcj"
    align = draw.choice((4, 8, 16) if letter == "s" else (8, 16))
    pad = (0, 0, 0) if align == 16 else (draw.randrange(9), draw.randrange(9), draw.randrange(9))
    p = problem(
        f"{letter}:{draw.choice(ops)}{draw.choice(ops)}:{m}x{n}x{k}@{draw.randint(2, 300)}",
        pad,
        alpha=draw.choice(("1", "any")),
        beta=draw.choice(("0", "1", "any")),
        align=align,
        math=draw.choice([*EMULATED]),
    )
    if seed % 5 == 0:
        p = p.with_(**{f"stride_{draw.choice('ab')}": 0})
    assert STENCIL.accepts(p, device) is None
    space = STENCIL.space(p, device).only((*HARDWARE, "hard"))
    (config,) = space.sample(1, seed)
    found = verdict(STENCIL, p, config, p.batch, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"


def here(way: str, a: Any, b: Any) -> Any:
    """A product by this stencil."""
    import tilewright as tw

    return tw.plan(a, b, math=way, stencil="split")(a, b)


def test_sums_are_as_exact_as_those_of_the_library_or_more() -> None:
    """Numbers of one sign are the hardest: what tensor cores cut off has one sign, too."""
    torch = tensors()
    for k in (64, 1000):
        a, b = (torch.rand(12, 200, k, device="cuda"), torch.rand(12, k, 150, device="cuda"))
        exact = a.double() @ b.double()
        off = {
            name: float(((found.double() - exact).abs() / exact).max() * 2.0**24)
            for name, found in {"library": a @ b, **{way: here(way, a, b) for way in EMULATED}}.items()
        }
        assert off["bf16x6"] < 2 * off["library"] + 4, off
        assert off["bf16x3"] < 2 * off["library"] + 2.0**24 * EMULATED["bf16x3"].left_out, off


@pytest.mark.parametrize("way", EMULATED)
def test_what_is_no_finite_number_comes_out(way: str) -> None:
    torch = tensors()
    a, b = torch.randn(5, 130, 70, device="cuda"), torch.randn(5, 70, 150, device="cuda")
    a[0, 3, 5], a[1, 4, 6], b[2, 7, 9] = math.inf, -math.inf, math.nan
    a[3, 8, 1], b[3, 1] = 3.4e38, 0.5
    found, want = here(way, a, b), a @ b
    assert bool((found.isnan() == want.isnan()).all())
    assert bool((found.isinf() == want.isinf()).all())
    torch.testing.assert_close(found, want, rtol=2e-4, atol=2e-3, equal_nan=True)


def test_calls_run_it_where_it_gains_and_else_what_is_exact() -> None:
    torch = tensors()
    import tilewright as tw

    a, b = torch.randn(400, 256, 256, device="cuda"), torch.randn(400, 256, 256, device="cuda")
    assert tw.plan(a, b, math="bf16x6").plan.stencil == "split"
    torch.testing.assert_close(tw.matmul(a, b, math="bf16x6"), a @ b, rtol=1e-4, atol=1e-3)
    many = torch.randn(1000, 8, 8, device="cuda")
    assert tw.plan(many, many, math="bf16x6").plan.stencil != "split"
    assert torch.equal(tw.matmul(many, many, math="bf16x6"), tw.matmul(many, many))
