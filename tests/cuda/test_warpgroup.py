"""Large products of 16 bits and of tf32 by warp groups with roles, on a live GPU: right with every config
and layout."""

from __future__ import annotations

import random

import pytest

from tests.launched import verdict
from tilewright.model import DTYPES, Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.warpgroup.stencil import WarpGroupStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

WARPGROUP = WarpGroupStencil()
LARGE = {"tile_m": 256, "tile_n": 128, "ping_pong": 0, "cluster_m": 1, "cluster_n": 2, "stages": 4, "outs": 2}
LARGE |= {
    "band": 1024,
    "overlap": 0,
    "backwards": 1,
    "blocks": 132,
    "cut": 0,
    "cluster_k": 1,
    "lanes": 0,
    "copied": 0,
    "behind": 0,
}


def served() -> bool:
    return "wgmma" in devices.probe().supports


def padded(p: Problem, more: tuple[int, int, int]) -> Problem:
    """The same problem whose columns begin at multiples of 16 bytes, with so many eights of elements more."""
    rows = (p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k, p.m)
    columns = (p.m if p.transposed_a else p.k, p.k if p.transposed_b else p.n, p.n)
    word = 16 // p.dtype.itemsize
    leading = [-(-r // word) * word + 8 * extra for r, extra in zip(rows, more, strict=True)]
    return p.with_(
        **{f"ld{x}": ld for x, ld in zip("abc", leading, strict=True)},
        **{f"stride_{x}": ld * c for x, ld, c in zip("abc", leading, columns, strict=True)},
    )


@pytest.mark.parametrize("trans", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("letter", ["h", "b", "s"])
def test_large_tiles_are_right_over_and_over(letter: str, trans: str) -> None:
    """Few blocks, each with many tiles, so that rings, places of C and bands go round."""
    device = devices.probe()
    if not served():
        pytest.skip("the device has no products of warp groups")
    math = "tf32" if letter == "s" else "ieee"
    p = Problem.parse(f"{letter}:{trans}:1099x1213x603", alpha="any", beta="any", math=math)[0]
    p = padded(p, (0, 1, 2))
    of_a, of_b = (p.math == "tf32" and across for across in (not p.transposed_a, p.transposed_b))
    assert WARPGROUP.accepts(p, device) is None
    for fixed in (
        {"blocks": 4, "overlap": 1},
        {"tile_m": 192, "tile_n": 256, "stages": 3, "cluster_m": 2, "cluster_n": 1, "outs": 3, "blocks": 6},
        {"tile_m": 128, "ping_pong": 1, "stages": 5, "cluster_n": 1, "blocks": 5},
        {"cut": 1},
        {"tile_m": 128, "ping_pong": 1, "stages": 5, "cut": 1, "blocks": 22},
        {"tile_m": 192, "tile_n": 256, "stages": 3, "cluster_n": 1, "cut": 3},
        *([{"lanes": 1, "cut": 1}, {"tile_m": 128, "tile_n": 256, "lanes": 1, "blocks": 6}] * of_b),
        *([{"lanes": 2, "cut": 1}, {"tile_m": 128, "tile_n": 256, "lanes": 2, "blocks": 6}] * of_a),
        *([{"copied": 1, "blocks": 4}, {"copied": 1, "cut": 1}] * of_b),
        *([{"copied": 2, "blocks": 4}, {"copied": 2, "cut": 1}] * of_a),
        *([{"lanes": 1, "copied": 2, "behind": 1, "cut": 1}] * (of_a and of_b)),
        *([{"lanes": 2, "copied": 1, "behind": 1, "blocks": 6}] * (of_a and of_b)),
    ):
        found = verdict(WARPGROUP, p, Config(LARGE | fixed), 1)
        assert found.ok, f"{p.key} {fixed}: {found.why}"


@pytest.mark.parametrize("seed", range(96))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    if not served():
        pytest.skip("the device has no products of warp groups")
    beta = draw.choice(("0", "1", "any"))
    p = Problem(
        DTYPES["hbs"[seed % 3]],
        draw.randrange(16, 700),
        draw.randrange(16, 700),
        draw.randrange(16, 700),
        draw.choice("nt"),
        draw.choice("nt"),
        alpha=draw.choice(("1", "any")),
        beta=beta,
        math="tf32" if seed % 3 == 2 else "ieee",
    )
    p = padded(p, (draw.randrange(3), draw.randrange(3), draw.randrange(3)))
    assert WARPGROUP.accepts(p, device) is None
    (config,) = WARPGROUP.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    # Clusters whose blocks share slices have one tile each, at most.
    blocks = 132 if config["cluster_k"] > 1 else draw.choice((2, 4, 10, 132))
    found = verdict(WARPGROUP, p, config.with_(blocks=blocks), 1, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"


@pytest.mark.parametrize("trans", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("letter", ["h", "b"])
def test_blocks_that_share_slices_add_their_sums(letter: str, trans: str) -> None:
    """All numbers of blocks, some of which have no slices, and clusters whose sums meet in device memory."""
    if not served():
        pytest.skip("the device has no products of warp groups")
    small = {"tile_m": 64, "tile_n": 64, "ping_pong": 1, "cluster_n": 1, "stages": 8}
    wide = {"tile_m": 64, "tile_n": 128, "cluster_n": 1, "stages": 5}
    for size, more in (
        ("77x139x1003", {"cluster_k": 8}),
        ("77x139x1003", {"cluster_k": 4, "cut": 5}),
        ("20x19x2000", {"cluster_k": 8, "cut": 16, "overlap": 1}),
        ("300x139x150", {"cluster_k": 2}),
        ("64x64x130", {"cluster_k": 8}),
    ):
        p = Problem.parse(f"{letter}:{trans}:{size}", alpha="any", beta="any")[0]
        for tiles in (small, wide):
            found = verdict(WARPGROUP, padded(p, (0, 1, 2)), Config(LARGE | tiles | more), 1)
            assert found.ok, f"{p.key} {tiles} {more}: {found.why}"


@pytest.mark.parametrize("seed", range(48))
def test_columns_that_begin_anywhere_are_right(seed: int) -> None:
    """Of few rows or columns: operands whose words are shifted, boxes of others, and a C by threads."""
    device, draw = devices.probe(), random.Random(seed)
    if not served():
        pytest.skip("the device has no products of warp groups")
    m, n, k = draw.randrange(16, 256), draw.randrange(16, 700), draw.randrange(16, 700)
    size = f"{m}x{n}x{k}" if seed % 2 else f"{n}x{m}x{k}"
    text = f"{'hb'[seed // 2 % 2]}:{draw.choice('nt')}{draw.choice('nt')}:{size}"
    p = padded(Problem.parse(text, alpha="any", beta=draw.choice(("0", "any")))[0], (0, 0, 0))
    columns = (p.m if p.transposed_a else p.k, p.k if p.transposed_b else p.n, p.n)
    leading = [(ld or 0) + draw.choice((0, 1, 2, 5)) for ld in (p.lda, p.ldb, p.ldc)]
    p = p.with_(
        **{f"ld{x}": ld for x, ld in zip("abc", leading, strict=True)},
        **{f"stride_{x}": ld * c for x, ld, c in zip("abc", leading, columns, strict=True)},
    )
    assert WARPGROUP.accepts(p, device) is None
    (config,) = WARPGROUP.space(p, device).only((*HARDWARE, "hard")).sample(1, seed)
    blocks = 132 if config["cluster_k"] > 1 else draw.choice((2, 4, 10, 132))
    found = verdict(WARPGROUP, p, config.with_(blocks=blocks), 1, special=seed % 4 == 0)
    assert found.ok, f"{p.key} {config}: {found.why}"


@pytest.mark.parametrize("cut", [0, 1, 4])
def test_runs_are_equal_bit_for_bit(cut: int) -> None:
    """No sum depends on who was faster: the same product again and again, with all blocks."""
    torch = pytest.importorskip("torch")
    if not served() or not torch.cuda.is_available():
        pytest.skip("no product of warp groups, or this PyTorch sees no GPU")
    import tilewright as tw

    a, b = (torch.randn(1536, 1536, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    planned = tw.plan(a, b, stencil="warpgroup", config=LARGE | {"cut": cut})
    once = planned(a, b)
    assert torch.equal(once, a @ b) or torch.allclose(once.float(), (a @ b).float(), rtol=2e-2, atol=0.5)
    for _ in range(20):
        assert torch.equal(once, planned(a, b))


def test_cut_tiles_in_a_graph_that_runs_again() -> None:
    """The stamp of its workspace is the same in every run."""
    torch = pytest.importorskip("torch")
    if not served() or not torch.cuda.is_available():
        pytest.skip("no product of warp groups, or this PyTorch sees no GPU")
    import tilewright as tw

    a, b = (torch.randn(1536, 1536, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty(1536, 1536, device="cuda", dtype=torch.bfloat16)
    planned = tw.plan(a, b, out=out, stencil="warpgroup", config=LARGE | {"cut": 1})
    want = planned(a, b, out=out).clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        planned(a, b, out=out)
    for _ in range(5):
        out.zero_()
        graph.replay()
        assert torch.equal(out, want)


def test_cut_tiles_of_several_streams_do_not_meet() -> None:
    """Each stream has a workspace of its own, also when it has to be larger, and kernels that begin early."""
    torch = pytest.importorskip("torch")
    if not served() or not torch.cuda.is_available():
        pytest.skip("no product of warp groups, or this PyTorch sees no GPU")
    import tilewright as tw

    streams = [torch.cuda.Stream() for _ in range(3)]
    sets = []
    for size, cut in ((512, 2), (1536, 1), (1024, 1), (2048, 1)):
        for _ in streams:
            a, b, out = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(3))
            config = LARGE | {"cut": cut, "overlap": 1}
            sets.append((tw.plan(a, b, out=out, stencil="warpgroup", config=config), a, b, out))
    want = [planned(a, b, out=out).clone() for planned, a, b, out in sets]
    torch.cuda.synchronize()
    for _ in range(5):
        for number, (planned, a, b, out) in enumerate(sets):
            with torch.cuda.stream(streams[number % len(streams)]):
                out.zero_()
                planned(a, b, out=out)
        torch.cuda.synchronize()
        assert all(torch.equal(found[3], right) for found, right in zip(sets, want, strict=True))


@pytest.mark.parametrize(("trans_a", "trans_b"), [("n", "n"), ("n", "t"), ("t", "n"), ("t", "t")])
def test_calls_in_tf32(trans_a: str, trans_b: str) -> None:
    """Within the bound of tf32 of what float64 says, and not by the library."""
    torch = pytest.importorskip("torch")
    if not served() or not torch.cuda.is_available():
        pytest.skip("no product of warp groups, or this PyTorch sees no GPU")
    import tilewright as tw

    a, b = (torch.randn(512, 512, device="cuda") for _ in range(2))
    found = tw.gemm(a, b, trans_a=trans_a, trans_b=trans_b, math="tf32")
    left, right = (a.T if trans_a == "t" else a).double(), (b.T if trans_b == "t" else b).double()
    error = (found.double() - left @ right).abs() / (left.abs() @ right.abs())
    assert 2.0**-24 < float(error.max()) < 2.0**-9 * 1.01
