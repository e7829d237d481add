"""Products with a long k, and matrices times vectors, on a live GPU: right in every layout, by every way."""

from __future__ import annotations

import random

import pytest

import tilewright as tw
from tests.launched import verdict
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.inner.stencil import InnerStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

INNER = InnerStencil()
LETTERS = tuple(DTYPES)


def layouts(p: Problem) -> list[Problem]:
    """Packed, from odd addresses, with a shared operand, with padding and gaps, and padded in C alone."""
    leads = {f"ld{x}": getattr(p, f"ld{x}") or 0 for x in "abc"}
    return [
        p,
        p.with_(align=p.dtype.itemsize),
        p.with_(stride_a=0),
        p.with_(stride_b=0),
        p.with_(stride_c=(p.stride_c or 0) + 1),
        p.with_(m=p.m, **{name: ld + 1 for name, ld in leads.items()}),
        p.with_(m=p.m, **{name: -(-ld // 8) * 8 for name, ld in leads.items()}),
        p.with_(m=p.m, ldc=(p.ldc or 0) + 2),
    ]


@pytest.mark.parametrize(
    "size", ["1x1x65", "9x9x300", "64x64x515", "7x60x1000", "2x3x4001", "33x17x130", "300x1x81", "1x131x777"]
)
@pytest.mark.parametrize("letter", LETTERS)
def test_the_default_is_right_in_every_layout(letter: str, size: str) -> None:
    device = devices.probe()
    trans = (("nn", "ct"), ("tn", "nn"), ("nt", "jn"), ("tt", "nc"))
    for number in range(8):
        # Each transposition meets other layouts at other sizes.
        ops = trans[(number + len(size)) % 4][DTYPES[letter].is_complex]
        beta = ("any", "0", "1")[number % 3]
        p = layouts(Problem.parse(f"{letter}:{ops}:{size}@100000", beta=beta, alpha="any")[0])[number]
        assert INNER.accepts(p, device) is None
        config = INNER.default(p, device)
        # Fewer products than blocks, and more: the ring goes on from one to the next.
        few = p.m * p.n * p.k < 10**5
        for batch in (1, device["sms"] + 19 if few else 37):
            found = verdict(INNER, p, config.with_(blocks=device["sms"]), batch, special=batch == 1)
            assert found.ok, f"{p.key} @{batch} {config}: {found.why}"


@pytest.mark.parametrize("seed", range(21))
def test_matrices_times_a_few_vectors_are_right(seed: int) -> None:
    """A long C of several columns, or rows, alone: the default and a config at random."""
    device, draw = devices.probe(), random.Random(seed)
    letter = LETTERS[seed % 7]
    ops = [draw.choice("ntcj" if DTYPES[letter].is_complex else "nt") for _ in "ab"]
    m, n = draw.sample((draw.randrange(2, 65), draw.randrange(65, 3000)), 2)
    p = Problem(DTYPES[letter], m, n, draw.randrange(65, 3000), *ops, beta=draw.choice(("0", "1", "any")))
    p = draw.choice([q for q in layouts(p) if q.stride_a and q.stride_b])
    some = INNER.space(p, device).only((*HARDWARE, "hard")).sample(400, seed)
    modest = (config for config in some if config["mma"] or config["rows"] * config["columns"] <= 64)
    for config in (INNER.default(p, device), next(modest)):
        found = verdict(INNER, p, config, 1)
        assert found.ok, f"{p.key} {config}: {found.why}"


@pytest.mark.parametrize("seed", range(56))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    letter = LETTERS[seed % 7]
    ops = [draw.choice("ntcj" if DTYPES[letter].is_complex else "nt") for _ in "ab"]
    m, n, k = draw.randrange(1, 65), draw.randrange(1, 65), draw.randrange(65, 700)
    if seed % 5 == 0:
        m, n = draw.sample((1, draw.randrange(65, 400)), 2)
    beta = draw.choice(("0", "1", "any"))
    p = Problem(DTYPES[letter], m, n, k, *ops, batch=10**4, alpha="any", beta=beta)
    p = draw.choice(layouts(p))
    for config in INNER.space(p, device).only((*HARDWARE, "hard")).sample(400, seed):
        # Parts of any size are right, and those that are too large are slow to compile.
        if config["mma"] or config["rows"] * config["columns"] <= 64:
            found = verdict(INNER, p, config, draw.choice((1, 5, 301)))
            assert found.ok, f"{p.key} {config}: {found.why}"
            return
    pytest.fail(f"no config of modest parts for {p.key}")


@pytest.mark.parametrize("letter", LETTERS)
def test_one_product_of_a_long_k_is_shared_by_many_blocks(letter: str) -> None:
    device = devices.probe()
    sizes = ("1x1x200003", "3x3x400000", "20x33x20000", "64x64x7001", "5000x1x3001", "1x300x50001")
    for number, size in enumerate(sizes):
        beta = ("0", "1", "any")[number % 3]
        p = Problem.parse(f"{letter}:{('tn', 'nt', 'nn', 'tt')[number % 4]}:{size}", beta=beta)[0]
        config = INNER.default(p, device)
        assert max(p.m, p.n) > 64 or config["spread"] > 1
        found = verdict(INNER, p, config, 1)
        assert found.ok, f"{p.key} {config}: {found.why}"


def test_sums_of_many_blocks_are_the_same_from_run_to_run() -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.randn(3, 3_000_001, device="cuda"), torch.randn(3_000_001, 5, device="cuda")
    first = tw.matmul(a, b)
    assert all(torch.equal(tw.matmul(a, b), first) for _ in range(20))


def test_launches_of_several_streams_and_graphs_do_not_meet() -> None:
    torch = pytest.importorskip("torch")
    shapes = ((4, 400_000), (400_000, 4))
    made = [tuple(torch.randn(*shape, device="cuda") for shape in shapes) for _ in range(6)]
    plans = [tw.plan(a, b, stencil="inner") for a, b in made]
    assert plans[0].plan.config["spread"] > 1
    wanted = [(a.double() @ b.double()).float() for a, b in made]
    streams = [torch.cuda.Stream() for _ in made]
    outs = [torch.empty(4, 4, device="cuda") for _ in made]
    torch.cuda.synchronize()
    for _ in range(20):
        for plan, stream, (a, b), out in zip(plans, streams, made, outs, strict=True):
            with torch.cuda.stream(stream):
                plan(a, b, out=out)
    torch.cuda.synchronize()
    for out, want in zip(outs, wanted, strict=True):
        torch.testing.assert_close(out, want, atol=0.02, rtol=1e-4)
    graph, out = torch.cuda.CUDAGraph(), torch.empty(4, 4, device="cuda")
    with torch.cuda.graph(graph):
        plans[0](*made[0], out=out)
    for (a, b), want in zip(made, wanted, strict=True):
        made[0][0].copy_(a)
        made[0][1].copy_(b)
        out.fill_(float("nan"))
        graph.replay()
        torch.testing.assert_close(out, want, atol=0.02, rtol=1e-4)
