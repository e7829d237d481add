"""Large products in float64 by warps with roles, on a live GPU: right with every config and layout."""

from __future__ import annotations

import random

import pytest

from tests.launched import verdict
from tilewright.model import DTYPES, Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.dmma.stencil import DmmaStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

DMMA = DmmaStencil()


def served() -> bool:
    return "wgmma" in devices.probe().supports


def padded(p: Problem, more: tuple[int, int, int]) -> Problem:
    """The same problem whose columns begin at multiples of 16 bytes, with so many of these between them."""
    unit = 16 // p.dtype.itemsize
    rows = (p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k, p.m)
    columns = (p.m if p.transposed_a else p.k, p.k if p.transposed_b else p.n, p.n)
    leading = [-(-r // unit) * unit + unit * extra for r, extra in zip(rows, more, strict=True)]
    return p.with_(
        **{f"ld{x}": ld for x, ld in zip("abc", leading, strict=True)},
        **{f"stride_{x}": ld * c for x, ld, c in zip("abc", leading, columns, strict=True)},
    )


@pytest.mark.parametrize("text", ["d:nn", "d:nt", "d:tn", "d:tt", "z:nn", "z:ct", "z:tj", "z:jc"])
def test_large_tiles_are_right_over_and_over(text: str) -> None:
    """Few blocks, each with many tiles, so that rings and bands go round."""
    device = devices.probe()
    if not served():
        pytest.skip("the device has no float64 products of warps with registers to give")
    p = padded(Problem.parse(f"{text}:597x811x403", alpha="any", beta="any")[0], (0, 1, 2))
    assert DMMA.accepts(p, device) is None
    line = 128 // p.dtype.itemsize
    large = DMMA.default(Problem.parse(f"{text}:4096x4096x4096")[0], device).with_(band=1024, cut=0)
    for fixed in (
        {"blocks": 4, "cluster_m": 1, "cluster_n": 2},
        {"blocks": 6, "cluster_m": 2, "cluster_n": 1, "mma_k": 16, "depth": 2 * line, "stages": 3},
        {"blocks": 5, "cluster_m": 1, "cluster_n": 1, "mma_k": 8, "depth": line, "backwards": 0},
    ):
        config = Config({**large, **fixed})
        if [rule for rule in DMMA.space(p, device).why(config) if rule.kind != "soft"]:
            config = config.with_(tile_m=64, tile_n=64, warps_m=2)
        found = verdict(DMMA, p, config, 1)
        assert found.ok, f"{p.key} {config}: {found.why}"


@pytest.mark.parametrize("seed", range(64))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    if not served():
        pytest.skip("the device has no float64 products of warps with registers to give")
    letter = "dz"[seed % 2]
    m, n, k = (draw.randrange(17, 400) for _ in "mnk")
    p = Problem(
        DTYPES[letter],
        m,
        n,
        k,
        draw.choice("nt" if letter == "d" else "ntcj"),
        draw.choice("nt" if letter == "d" else "ntcj"),
        alpha=draw.choice(("1", "any")),
        beta=draw.choice(("0", "1", "any")),
    )
    p = padded(p, (draw.randrange(3), draw.randrange(3), draw.randrange(3)))
    assert DMMA.accepts(p, device) is None
    (config,) = DMMA.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    found = verdict(DMMA, p, config.with_(blocks=draw.choice((2, 4, 10, 132))), 1, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"


@pytest.mark.parametrize("seed", range(48))
def test_columns_that_begin_anywhere_are_right(seed: int) -> None:
    """Numbers that come one by one, of one operand or both, and a C that begins anywhere."""
    device, draw = devices.probe(), random.Random(seed)
    if not served():
        pytest.skip("the device has no float64 products of warps with registers to give")
    size = "x".join(str(draw.randrange(17, 400)) for _ in "mnk")
    text = f"d:{draw.choice('nt')}{draw.choice('nt')}:{size}"
    beta = draw.choice(("0", "any"))
    p = padded(Problem.parse(text, alpha="any", beta=beta)[0], (0, 0, 0))
    odd = [draw.randrange(2) for _ in "abc"]
    columns = (p.m if p.transposed_a else p.k, p.k if p.transposed_b else p.n, p.n)
    leading = [(ld or 0) + more for ld, more in zip((p.lda, p.ldb, p.ldc), odd, strict=True)]
    p = p.with_(
        **{f"ld{x}": ld for x, ld in zip("abc", leading, strict=True)},
        **{f"stride_{x}": ld * c for x, ld, c in zip("abc", leading, columns, strict=True)},
    )
    assert DMMA.accepts(p, device) is None
    (config,) = DMMA.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    found = verdict(DMMA, p, config.with_(blocks=draw.choice((2, 4, 10, 132))), 1, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"


def test_runs_are_equal_bit_for_bit() -> None:
    """No sum depends on who was faster: the same product twice, with all blocks."""
    torch = pytest.importorskip("torch")
    if not served() or not torch.cuda.is_available():
        pytest.skip("no such product, or this PyTorch sees no GPU")
    import tilewright as tw

    a, b = (torch.randn(1536, 1536, device="cuda", dtype=torch.float64) for _ in range(2))
    once, again = (tw.plan(a, b, stencil="dmma")(a, b) for _ in range(2))
    assert torch.equal(once, again)
