"""Large products of complex halves by warp groups with roles, on a live GPU: right with every config, layout
and conjugate."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.launched import verdict
from tilewright.model import DTYPES, Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.pairs.needs import turned
from tilewright.stencils.cuda.pairs.stencil import PairsStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

PAIRS = PairsStencil()
SQUARE = {
    "exchange": 0,
    "tile_m": 128,
    "tile_n": 128,
    "ping_pong": 0,
    "copied": 0,
    "behind": 0,
    "steps": 2,
    "cluster_m": 1,
    "cluster_n": 1,
}
SQUARE |= {"stages": 6, "outs": 2, "overlap": 0, "band": 1024, "backwards": 1, "blocks": 132, "cut": 0}
TALL = {"tile_m": 192, "steps": 1, "stages": 4}


def served() -> bool:
    return "wgmma" in devices.probe().supports


def padded(p: Problem, more: tuple[int, int, int]) -> Problem:
    """The same problem whose columns begin at multiples of 16 bytes, with so many eights of elements more."""
    rows = (p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k, p.m)
    columns = (p.m if p.transposed_a else p.k, p.k if p.transposed_b else p.n, p.n)
    leading = [-(-r // 4) * 4 + 8 * extra for r, extra in zip(rows, more, strict=True)]
    return p.with_(
        **{f"ld{x}": ld for x, ld in zip("abc", leading, strict=True)},
        **{f"stride_{x}": ld * c for x, ld, c in zip("abc", leading, columns, strict=True)},
    )


@pytest.mark.parametrize("trans", ["nn", "nt", "tn", "tt", "cj", "jc"])
def test_large_tiles_are_right_over_and_over(trans: str) -> None:
    """Few blocks, each with many tiles, so that rings, places of C and bands go round."""
    device = devices.probe()
    if not served():
        pytest.skip("the device has no products of warp groups")
    p = padded(Problem.parse(f"hc:{trans}:587x613x301", alpha="any", beta="any")[0], (0, 1, 2))
    assert PAIRS.accepts(p, device) is None
    for exchange in (0, 1):
        for fixed in (
            {"blocks": 4, "overlap": 1, "cluster_n": 2},
            TALL | {"cluster_n": 2, "outs": 3, "blocks": 6},
            {"tile_m": 64, "cluster_m": 2, "steps": 1, "stages": 2, "outs": 1, "blocks": 4},
            {"tile_n": 64, "ping_pong": 1, "stages": 8, "blocks": 5},
            {"cut": 1},
            TALL | {"cut": 3},
        ):
            config = Config(SQUARE | {"exchange": exchange} | fixed)
            # What runs across k comes in both ways that there are.
            for copied, behind in ((0, 0), (1, 0), (1, 1)) if turned(p, exchange) else ((0, 0),):
                if turned(p, exchange) and config["tile_m"] > 128 and copied == behind:
                    continue
                one = config.with_(copied=copied, behind=behind, overlap=config["overlap"] * (1 - copied))
                found = verdict(PAIRS, p, one, 1)
                assert found.ok, f"{p.key} {one}: {found.why}"


@pytest.mark.parametrize("seed", range(64))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    if not served():
        pytest.skip("the device has no products of warp groups")
    p = Problem(
        DTYPES["hc"],
        draw.randrange(16, 500),
        draw.randrange(16, 500),
        draw.randrange(16, 500),
        draw.choice("ntcj"),
        draw.choice("ntcj"),
        alpha=draw.choice(("1", "any")),
        beta=draw.choice(("0", "1", "any")),
    )
    p = padded(p, (draw.randrange(3), draw.randrange(3), draw.randrange(3)))
    assert PAIRS.accepts(p, device) is None
    (config,) = PAIRS.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    found = verdict(PAIRS, p, config.with_(blocks=draw.choice((2, 4, 10, 132))), 1, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"


def test_copies_in_a_graph_that_runs_again_and_beside_each_other() -> None:
    """What counts pieces is cleared before every run, and streams have workspaces of their own."""
    torch = pytest.importorskip("torch")
    if not served() or not torch.cuda.is_available():
        pytest.skip("no product of warp groups, or this PyTorch sees no GPU")
    import tilewright as tw

    streams = [torch.cuda.Stream() for _ in range(3)]
    sets = []
    for size, fixed in ((1536, {"cut": 1}), (640, {}), (2048, TALL | {"cluster_n": 2})):
        for exchange, stream in enumerate(streams):
            a, b, out = (torch.randn(size, size, 2, device="cuda").half() for _ in range(3))
            a, b, out = (torch.view_as_complex(x) for x in (a, b, out))
            config = SQUARE | {"copied": 1, "exchange": exchange % 2} | fixed
            config |= {"behind": int(config["tile_m"] == 128 and exchange > 0)}
            orders: dict[str, Any] = {"trans_a": "t", "trans_b": "n"}
            planned = tw.plan(a, b, out=out, **orders, stencil="pairs", config=config)
            sets.append((planned, a, b, out, stream))
    torch.cuda.synchronize()
    want = [torch.view_as_real(planned(a, b, out=out)).clone() for planned, a, b, out, _ in sets]
    torch.cuda.synchronize()
    for _ in range(5):
        for planned, a, b, out, stream in sets:
            with torch.cuda.stream(stream):
                torch.view_as_real(out).zero_()
                planned(a, b, out=out)
        torch.cuda.synchronize()
        for (*_, out, _), right in zip(sets, want, strict=True):
            assert torch.equal(torch.view_as_real(out), right)
    planned, a, b, out, _ = sets[0]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        planned(a, b, out=out)
    for _ in range(5):
        torch.view_as_real(out).zero_()
        graph.replay()
        assert torch.equal(torch.view_as_real(out), want[0])


@pytest.mark.parametrize("order", [("n", "n"), ("n", "t"), ("t", "n"), ("c", "c")])
def test_calls_are_the_same_bit_for_bit(order: tuple[str, str]) -> None:
    """No sum depends on who was faster, and calls without a record come here."""
    torch = pytest.importorskip("torch")
    if not served() or not torch.cuda.is_available():
        pytest.skip("no product of warp groups, or this PyTorch sees no GPU")
    import tilewright as tw

    a, b = (torch.randn(1536, 1536, 2, device="cuda").half() for _ in range(2))
    a, b = (torch.view_as_complex(x) for x in (a, b))
    plan = tw.plan(a, b, trans_a=order[0], trans_b=order[1])
    assert plan.plan.stencil == "pairs"

    def once() -> object:
        return torch.view_as_real(tw.gemm(a, b, trans_a=order[0], trans_b=order[1]))

    first = once()
    for _ in range(10):
        assert torch.equal(first, once())
    wide = {"n": lambda x: x, "t": lambda x: x.T, "c": lambda x: x.T.conj()}
    left, right = wide[order[0]](a.to(torch.complex64)), wide[order[1]](b.to(torch.complex64))
    want = torch.view_as_real(left @ right)
    assert float((first.float() - want).abs().max()) < 2e-3 * float(want.abs().max())
