"""Products with one long extent on a live GPU: right in every layout, by every way."""

from __future__ import annotations

import random

import pytest

import tilewright as tw
from tests.launched import verdict
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.panel.stencil import PanelStencil
from tilewright.targets.cuda import devices

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

PANEL = PanelStencil()
LETTERS = tuple(DTYPES)


def layouts(p: Problem) -> list[Problem]:
    """Packed, from odd addresses, with a shared operand, with padding and gaps, and padded in C alone."""
    one = {"lda": (p.lda or 0) + 1, "ldb": (p.ldb or 0) + 1, "ldc": (p.ldc or 0) + 1}
    four = {name: (ld or 0) + 3 for name, ld in one.items()}
    return [
        p,
        p.with_(align=p.dtype.itemsize),
        p.with_(stride_a=0),
        p.with_(stride_b=0),
        p.with_(stride_c=(p.stride_c or 0) + 1),
        p.with_(m=p.m, **one),
        p.with_(m=p.m, **four),
        p.with_(m=p.m, ldc=(p.ldc or 0) + 2),
    ]


@pytest.mark.parametrize("size", ["65x1x1", "300x9x9", "515x64x7", "9x256x9", "1x1000x64", "37x71x50"])
@pytest.mark.parametrize("letter", LETTERS)
def test_the_default_is_right_in_every_layout(letter: str, size: str) -> None:
    device = devices.probe()
    trans = (("nn", "ct"), ("tn", "nn"), ("nt", "jn"), ("tt", "nc"))
    for number in range(8):
        # Each transposition meets other layouts at other sizes.
        ops = trans[(number + len(size)) % 4][DTYPES[letter].is_complex]
        beta = ("any", "0", "1")[number % 3]
        p = layouts(Problem.parse(f"{letter}:{ops}:{size}@100000", beta=beta, alpha="any")[0])[number]
        assert PANEL.accepts(p, device) is None
        config = PANEL.default(p, device)
        # Fewer tiles than blocks, and more: the ring goes round several times.
        for batch, blocks in ((1, config["blocks"]), (37, device["sms"])):
            found = verdict(PANEL, p, config.with_(blocks=blocks), batch, special=batch == 1)
            assert found.ok, f"{p.key} @{batch} {config}: {found.why}"


@pytest.mark.parametrize("movers", [2, 4])
@pytest.mark.parametrize("text", ["nt:67x40x33", "tn:300x17x9", "nt:33x95x40", "tt:9x515x64"])
@pytest.mark.parametrize("letter", LETTERS)
def test_several_warps_that_move_tiles_are_right(letter: str, text: str, movers: int) -> None:
    """Also of tiles whose panel is one run, and where the ring goes round many times."""
    device = devices.probe()
    p = Problem.parse(f"{letter}:{text}@100000", beta=("0", "any")[movers == 2], alpha="any")[0]
    space = PANEL.space(p, device).only((*HARDWARE, "hard")).restricted(path="bulk", movers=movers)
    found = space.sample(60, seed=movers)
    config = min(found, key=lambda c: abs(c["rows"] * c["columns"] - 8 * max(1, c["mma"])))
    for batch in (1, 901):
        said = verdict(PANEL, p, config.with_(blocks=device["sms"]), batch)
        assert said.ok, f"{p.key} @{batch} {config}: {said.why}"


@pytest.mark.parametrize("text", ["tt:300x21x25", "nn:67x41x33", "nt:31x95x40", "tn:9x515x64"])
@pytest.mark.parametrize("letter", ["h", "b", "hc"])
def test_small_operands_held_in_registers_are_right(letter: str, text: str) -> None:
    """By either path, where a warp has several parts of a tile."""
    device = devices.probe()
    p = Problem.parse(f"{letter}:{text}@100000", beta="any", alpha="any")[0]
    space = PANEL.space(p, device).only((*HARDWARE, "hard")).restricted(held=1)
    found = {config["path"]: config for config in space.sample(200, seed=7) if config["warps"] <= 4}
    assert found
    for config in found.values():
        for batch in (1, 301):
            said = verdict(PANEL, p, config.with_(blocks=device["sms"]), batch)
            assert said.ok, f"{p.key} @{batch} {config}: {said.why}"


@pytest.mark.parametrize("seed", range(56))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    letter = LETTERS[seed % 7]
    ops = [draw.choice("ntcj" if DTYPES[letter].is_complex else "nt") for _ in "ab"]
    sizes = {name: draw.randrange(1, 65) for name in "mnk"} | {draw.choice("mn"): draw.randrange(65, 700)}
    beta = draw.choice(("0", "1", "any"))
    p = Problem(DTYPES[letter], sizes["m"], sizes["n"], sizes["k"], *ops, batch=10**4, alpha="any", beta=beta)
    p = draw.choice(layouts(p))
    for config in PANEL.space(p, device).only((*HARDWARE, "hard")).sample(400, seed):
        # Parts of any size are right, and those that are too large are slow to compile.
        if config["mma"] or config["rows"] * config["columns"] <= 64:
            found = verdict(PANEL, p, config, draw.choice((1, 5, 301)))
            assert found.ok, f"{p.key} {config}: {found.why}"
            return
    pytest.fail(f"no config of modest parts for {p.key}")


@pytest.mark.parametrize("text", ["nn:1000x9x7", "tt:9x1000x7", "nt:300x40x33"])
@pytest.mark.parametrize("letter", LETTERS)
def test_tiles_from_a_counter_are_right(letter: str, text: str) -> None:
    """Of fewer tiles than blocks and of many times as many, launch after launch."""
    device = devices.probe()
    p = Problem.parse(f"{letter}:{text}@100000", beta="any", alpha="any")[0]
    space = PANEL.space(p, device).only((*HARDWARE, "hard"))
    if "bulk_copy" not in device.supports:
        assert space.restricted(tickets=1).count() == 0
        return
    found = space.restricted(path="bulk", tickets=1).sample(60, seed=3)
    config = min(found, key=lambda c: abs(c["rows"] * c["columns"] - 8 * max(1, c["mma"])))
    for batch in (1, 901, 37):
        said = verdict(PANEL, p, config.with_(blocks=device["sms"]), batch)
        assert said.ok, f"{p.key} @{batch} {config}: {said.why}"


def test_a_counter_is_of_one_launch_on_streams_and_in_graphs() -> None:
    """Launches on two streams meet in no counter, and a graph runs again and again; bits are those of blocks
    that share none."""
    torch, device = pytest.importorskip("torch"), devices.probe()
    if "bulk_copy" not in device.supports or not torch.cuda.is_available():
        pytest.skip("no bulk copies, or this PyTorch sees no GPU")
    a, b = (torch.randn(6000, *shape, device="cuda") for shape in ((7, 9), (300, 7)))
    right = torch.empty(6000, 300, 9, device="cuda")
    sharing = {"path": "bulk", "tickets": 1, "per_block": 0}
    plain = tw.plan(b, a, out=right, stencil="panel", config={**sharing, "tickets": 0})
    plain(b, a, out=right)
    outs = [torch.empty_like(right) for _ in range(2)]
    plans = [tw.plan(b, a, out=out, stencil="panel", config=sharing) for out in outs]
    streams = [torch.cuda.Stream() for _ in outs]
    torch.cuda.synchronize()
    for _ in range(20):
        for plan, out, stream in zip(plans, outs, streams, strict=True):
            with torch.cuda.stream(stream):
                out.zero_()
                plan(b, a, out=out)
    torch.cuda.synchronize()
    assert all(torch.equal(out, right) for out in outs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for plan, out in zip(plans, outs, strict=True):
            plan(b, a, out=out)
    for _ in range(3):
        for out in outs:
            out.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert all(torch.equal(out, right) for out in outs)
