"""Large products of float32 as sums of bfloat16, on a live GPU: right with every config and layout, as exact
as the parts are, and what infinities become."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from tests.cuda.test_unaligned import padded
from tests.launched import verdict
from tilewright.model import DTYPES, EMULATED, Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.emulated.stencil import EmulatedStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

STENCIL = EmulatedStencil()
LARGE = {"tile_m": 128, "stages": 7, "band": 1024, "blocks": 132, "cut": 0}


@pytest.fixture(autouse=True)
def served() -> None:
    if devices.missing() is None and "wgmma" not in devices.probe().supports:
        pytest.skip("the device has no products of warp groups")


@pytest.mark.parametrize("text", ["s:nn", "s:nt", "s:tn", "s:tt", "c:nc", "c:jn", "c:tt"])
@pytest.mark.parametrize("way", EMULATED)
def test_large_tiles_are_right_over_and_over(way: str, text: str) -> None:
    """Few blocks, each with many tiles, so that rings and bands go round."""
    align = DTYPES[text[0]].itemsize
    p = Problem.parse(f"{text}:1099x1213x603", alpha="any", beta="any", align=align, math=way)[0]
    p = padded(p, (0, 1, 2))
    assert STENCIL.accepts(p, devices.probe()) is None
    for fixed in (
        {"blocks": 2},
        {"tile_m": 64, "stages": 9, "blocks": 5},
        {"tile_m": 192, "stages": 5},
        {"tile_m": 192, "stages": 5, "cut": 1},
    ):
        found = verdict(STENCIL, p, Config(LARGE | fixed), 1)
        assert found.ok, f"{p.key} {fixed}: {found.why}"


@pytest.mark.parametrize("seed", range(64))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    m, n, k = (round(2 ** draw.uniform(0, 10)) for _ in "mnk")
    letter = "sc"[seed // 4 % 2]
    p = Problem(
        DTYPES[letter],
        m,
        n,
        k,
        draw.choice("nt" if letter == "s" else "ntcj"),
        draw.choice("nt" if letter == "s" else "ntcj"),
        alpha=draw.choice(("1", "any")),
        beta=draw.choice(("0", "1", "any")),
        align=draw.choice((4, 8, 16) if letter == "s" else (8, 16)),
        math=draw.choice([*EMULATED]),
    )
    p = padded(p, (draw.randrange(9), draw.randrange(9), draw.randrange(9)))
    if p.align == 16:
        p = Problem.parse(p.spelling, alpha=p.alpha, beta=p.beta, math=p.math)[0]
    assert STENCIL.accepts(p, device) is None
    space = STENCIL.space(p, device).only((*HARDWARE, "hard"))
    (config,) = space.sample(1, seed)
    found = verdict(STENCIL, p, config, 1, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"


@pytest.mark.parametrize(("m", "n", "k"), [(13, 1500, 9000), (300, 40, 5000), (97, 101, 20000)])
def test_many_blocks_add_up_a_tile(m: int, n: int, k: int) -> None:
    for cut in (1, 11, 66):
        p = Problem.parse(f"s:nn:{m}x{n}x{k}", math="bf16x6")[0]
        found = verdict(STENCIL, p, Config(LARGE | {"cut": cut}), 1)
        assert found.ok, f"{p.key} {cut}: {found.why}"


def tensors() -> Any:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch sees no GPU")
    return torch


def test_sums_are_as_exact_as_those_of_the_library_or_more() -> None:
    """Numbers of one sign are the hardest: what tensor cores cut off has one sign, too."""
    torch = tensors()
    import tilewright as tw

    for k in (64, 1000, 16384):
        a, b = (torch.rand(512, k, device="cuda"), torch.rand(k, 384, device="cuda"))
        exact = a.double() @ b.double()
        off = {}
        for name, found in {
            "library": a @ b,
            **{way: tw.matmul(a, b, math=way) for way in EMULATED},
            **{f"{way} here": tw.plan(a, b, math=way, stencil="emulated")(a, b) for way in EMULATED},
        }.items():
            off[name] = float(((found.double() - exact).abs() / exact).max() * 2.0**24)
        assert off["bf16x6"] < 2 * off["library"] + 4, off
        assert off["bf16x6 here"] < 2 * off["library"] + 4, off
        assert off["bf16x3"] < 2 * off["library"] + 2.0**24 * EMULATED["bf16x3"].left_out, off
        assert off["bf16x3 here"] < 2 * off["library"] + 2.0**24 * EMULATED["bf16x3"].left_out, off


@pytest.mark.parametrize("way", EMULATED)
def test_what_is_no_finite_number_comes_out(way: str) -> None:
    torch = tensors()
    import tilewright as tw

    a, b = torch.randn(130, 70, device="cuda"), torch.randn(70, 150, device="cuda")
    a[3, 5], a[4, 6], b[7, 9] = math.inf, -math.inf, math.nan
    a[8, 1], b[1] = 3.4e38, 0.5
    found, want = tw.plan(a, b, math=way, stencil="emulated")(a, b), a @ b
    assert bool((found.isnan() == want.isnan()).all())
    assert bool((found.isinf() == want.isinf()).all())
    torch.testing.assert_close(found, want, rtol=2e-4, atol=2e-3, equal_nan=True)


def test_calls_run_it_where_it_gains_and_else_what_is_exact() -> None:
    torch = tensors()
    import tilewright as tw

    a, b = torch.randn(2048, 2048, device="cuda"), torch.randn(2048, 2048, device="cuda")
    assert tw.plan(a, b, math="bf16x6").plan.stencil == "emulated"
    torch.testing.assert_close(tw.matmul(a, b, math="bf16x6"), a @ b, rtol=1e-4, atol=1e-3)
    small, many = torch.randn(8, 8, device="cuda"), torch.randn(1000, 8, 8, device="cuda")
    for x, y in ((small, small), (many, many), (a[:, :1], b[:1])):
        assert tw.plan(x, y, math="bf16x6").plan.stencil != "emulated"
        assert torch.equal(tw.matmul(x, y, math="bf16x6"), tw.matmul(x, y))
