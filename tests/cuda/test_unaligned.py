"""Large products whose columns begin anywhere, on a live GPU: right with every config and layout."""

from __future__ import annotations

import random

import pytest

from tests.launched import verdict
from tilewright.model import DTYPES, Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.unaligned.stencil import UnalignedStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

UNALIGNED = UnalignedStencil()
LARGE = {"tile_m": 256, "tile_n": 128, "stages": 4, "band": 1024, "blocks": 132}


def served() -> bool:
    return "wgmma" in devices.probe().supports


def padded(p: Problem, more: tuple[int, int, int]) -> Problem:
    """The same problem with so many elements between its columns."""
    rows = (p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k, p.m)
    columns = (p.m if p.transposed_a else p.k, p.k if p.transposed_b else p.n, p.n)
    leading = [r + extra for r, extra in zip(rows, more, strict=True)]
    return p.with_(
        **{f"ld{x}": ld for x, ld in zip("abc", leading, strict=True)},
        **{f"stride_{x}": ld * c for x, ld, c in zip("abc", leading, columns, strict=True)},
    )


@pytest.mark.parametrize("trans", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("letter", ["h", "b"])
def test_large_tiles_are_right_over_and_over(letter: str, trans: str) -> None:
    """Few blocks, each with many tiles, so that rings and bands go round."""
    device = devices.probe()
    if not served():
        pytest.skip("the device has no products of warp groups")
    p = padded(
        Problem.parse(f"{letter}:{trans}:1099x1213x603", alpha="any", beta="any", align=2)[0], (0, 1, 2)
    )
    assert UNALIGNED.accepts(p, device) is None
    for fixed in (
        {"blocks": 2},
        {"tile_m": 128, "stages": 5, "blocks": 5},
        {"tile_m": 192, "tile_n": 256, "stages": 3},
    ):
        found = verdict(UNALIGNED, p, Config(LARGE | fixed), 1)
        assert found.ok, f"{p.key} {fixed}: {found.why}"


@pytest.mark.parametrize("seed", range(64))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    if not served():
        pytest.skip("the device has no products of warp groups")
    p = Problem(
        DTYPES["hb"[seed % 2]],
        draw.randrange(33, 700),
        draw.randrange(33, 700),
        draw.randrange(33, 700),
        draw.choice("nt"),
        draw.choice("nt"),
        alpha=draw.choice(("1", "any")),
        beta=draw.choice(("0", "1", "any")),
        align=draw.choice((2, 4, 8)),
    )
    p = padded(p, (draw.randrange(9), draw.randrange(9), draw.randrange(9)))
    assert UNALIGNED.accepts(p, device) is None
    (config,) = UNALIGNED.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    found = verdict(UNALIGNED, p, config.with_(blocks=draw.choice((2, 4, 10, 132))), 1, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"


def test_views_that_begin_anywhere_are_called_again_at_other_addresses() -> None:
    """One plan on views of one shape: where they begin in words of 16 bytes differs from call to call."""
    torch = pytest.importorskip("torch")
    if not served() or not torch.cuda.is_available():
        pytest.skip("no product of warp groups, or this PyTorch sees no GPU")
    import tilewright as tw

    x, y = (torch.randn(700, 715, device="cuda", dtype=torch.float16) for _ in range(2))
    out = torch.empty(600, 601, device="cuda", dtype=torch.float16)
    for turn in range(9):
        a, b = x[turn : 600 + turn, turn : 509 + turn], y[:509, 9 - turn : 610 - turn]
        plan = tw.plan(a, b, stencil="unaligned")
        assert torch.equal(plan(a, b), plan(a, b, out=out))
        torch.testing.assert_close(out, a @ b, rtol=2e-3, atol=5e-2)
