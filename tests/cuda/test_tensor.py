"""Products on tensor cores on a live GPU: right in every layout, type and shape."""

from __future__ import annotations

import functools
import random

import pytest

from tests import launched
from tilewright.model import DTYPES, Config, Problem
from tilewright.runtime import launch
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda.common import units
from tilewright.stencils.cuda.tensor.needs import SHAPES
from tilewright.stencils.cuda.tensor.stencil import TensorStencil
from tilewright.targets.cuda import devices, driver, modules, nvrtc

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

TENSOR = TensorStencil()
LETTERS = ("h", "b", "hc", "d", "z")


verdict = functools.partial(launched.verdict, TENSOR)


def layouts(p: Problem) -> list[Problem]:
    lda, ldb, ldc = ((ld or 0) + 1 for ld in (p.lda, p.ldb, p.ldc))
    cols_a, cols_b = (p.m if p.transposed_a else p.k), (p.k if p.transposed_b else p.n)
    gaps = {"stride_a": lda * cols_a + 1, "stride_b": ldb * cols_b + 2, "stride_c": ldc * p.n + 3}
    eights = {name: -(-(ld or 1) // 8) * 8 for name, ld in (("lda", p.lda), ("ldb", p.ldb), ("ldc", p.ldc))}
    whole = {"stride_a": eights["lda"] * cols_a, "stride_b": eights["ldb"] * cols_b}
    return [
        p,
        p.with_(align=p.dtype.itemsize),
        p.with_(stride_a=0),
        p.with_(stride_b=0),
        p.with_(stride_c=(p.stride_c or 0) + 1),
        p.with_(lda=lda, ldb=ldb, ldc=ldc, **gaps),
        p.with_(**eights, **whole, stride_c=eights["ldc"] * p.n),
    ]


@pytest.mark.parametrize("trans", ["nn", "tn", "nt", "tt", "cj"])
@pytest.mark.parametrize(
    "size", ["1x1x1", "8x8x8", "16x16x16", "17x33x9", "64x64x64", "67x45x37", "130x120x70", "24x200x8"]
)
@pytest.mark.parametrize("letter", LETTERS)
def test_the_default_is_right_in_every_layout(letter: str, size: str, trans: str) -> None:
    device = devices.probe()
    for number, p in enumerate(
        layouts(Problem.parse(f"{letter}:{trans}:{size}@20000", beta="any", alpha="any")[0])
    ):
        config = TENSOR.default(p, device)
        found = verdict(p, config, (1, 5, 33)[number % 3])
        assert found.ok, f"{p.key} {config}: {found.why}"


@pytest.mark.parametrize("beta", ["0", "1", "any"])
@pytest.mark.parametrize("letter", LETTERS)
def test_special_values_stay_where_they_belong(letter: str, beta: str) -> None:
    device = devices.probe()
    for size in ("13x21x7", "64x64x64", "100x72x40"):
        p = Problem.parse(f"{letter}:{size}@20000", beta=beta)[0]
        config = TENSOR.default(p, device)
        found = verdict(p, config, 7, special=True)
        assert found.ok, f"{p.key} {config}: {found.why}"


@pytest.mark.parametrize("letter", LETTERS)
def test_blocks_walk_over_more_than_a_grid_holds(letter: str) -> None:
    device = devices.probe()
    # More products than 65,535, and nothing along k.
    for size, batch in (("5x6x4", 70_001), ("9x5x0", 3)):
        p = Problem.parse(f"{letter}:{size}@{batch}", beta="any")[0]
        found = verdict(p, TENSOR.default(p, device), batch)
        assert found.ok, f"{p.key}: {found.why}"


@pytest.mark.parametrize("seed", range(80))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    letter = draw.choice(LETTERS)
    turn_a, turn_b = (draw.choice("ntcj" if letter in ("hc", "z") else "nt") for _ in "ab")
    m, n, k = (draw.choice((draw.randrange(1, 200), 8 * draw.randrange(1, 20))) for _ in range(3))
    p = Problem(
        DTYPES[letter], m, n, k, turn_a, turn_b, batch=10**4, alpha="any", beta=draw.choice(("0", "1", "any"))
    )
    p = draw.choice(layouts(p))
    space = TENSOR.space(p, device)
    for _ in range(5000):
        config = drawn(p, space, draw)
        if not any(rule.kind in HARDWARE for rule in space.why(config)):
            found = verdict(p, config, draw.choice((1, config["group"] + 1, 41)))
            assert found.ok, f"{p.key} {config}: {found.why}"
            return
    pytest.fail(f"{p.key} has no config")


@pytest.mark.parametrize(
    ("tile", "stages"),
    [
        *(((64, 64, 4, 1), stages) for stages in (3, 6)),
        *(((128, 128, 8, 1), stages) for stages in (3, 6)),
        *(((128, 96, 4, 2), stages) for stages in (3, 6)),
        ((64, 256, 4, 2), 3),
        *(((64, 32, 4, 1), stages) for stages in (3, 6)),
    ],
)
@pytest.mark.parametrize("kind", ["h:nn", "b:tn", "hc:nn", "hc:cj", "hc:tn", "hc:nj"])
def test_warp_groups_are_right(kind: str, tile: tuple[int, int, int, int], stages: int) -> None:
    device = devices.probe()
    if "wgmma" not in device.supports:
        pytest.skip("warp groups multiply on compute capability 9.0 alone")
    blk_m, blk_n, warps_m, warps_n = tile
    betas, ran = ("0", "1", "any"), 0
    for number, size in enumerate(("64x64x64", "67x45x37", "200x136x72", "24x200x8", "130x70x300")):
        p = Problem.parse(f"{kind}:{size}@20000", beta=betas[number % 3], alpha="any")[0]
        p = layouts(p)[-1]
        wide = 16 // p.dtype.itemsize
        config = Config(
            {"tc": "64x8x16", "split": "registers" if p.dtype.is_complex else "none", "stages": stages}
            | {"ahead": 0, "early_c": int(number in (2, 4)), "vec": wide, "vec_c": wide, "blk_k": 8 * wide}
            | {"blk_m": blk_m, "blk_n": blk_n, "dim_x": 8, "dim_y": 4 * warps_m * warps_n, "group": 1}
            | {"warps_m": warps_m, "blocks": device["sms"]}
        )
        broken = [rule.name for rule in TENSOR.space(p, device).why(config) if rule.kind in HARDWARE]
        # Early C, and what halves are gathered in, do not fit beside six stages of the largest tiles.
        assert set(broken) <= {"shared-per-block", "resident-shared"}, f"{config} breaks {broken}"
        if not broken:
            found = verdict(p, config, (1, 5, 150)[number % 3])
            assert found.ok, f"{p.key} {config}: {found.why}"
            ran += 1
    assert ran >= 3


@pytest.mark.parametrize("stages", [2, 4])
@pytest.mark.parametrize("kind", ["h:nn", "h:tt", "b:nt", "hc:nn", "hc:tc", "d:nn", "z:tn"])
def test_c_that_comes_early_is_the_c_that_was_there(kind: str, stages: int) -> None:
    # Fewer steps than stages, as many and more; parts of words at the end of columns; none along k.
    device, ran = devices.probe(), 0
    for number, size in enumerate(("64x48x8", "33x41x64", "100x72x256", "8x8x0", "19x200x40")):
        beta = ("1", "any")[number % 2]
        for p in layouts(Problem.parse(f"{kind}:{size}@20000", beta=beta, alpha="any")[0])[::3]:
            config = TENSOR.default(p, device).with_(early_c=1, stages=stages, ahead=0, blocks=device["sms"])
            broken = [rule.name for rule in TENSOR.space(p, device).why(config) if rule.kind in HARDWARE]
            if broken:
                # Words of two bytes cannot be copied.
                assert set(broken) <= {"copy-width", "early-width"}, f"{config} breaks {broken}"
                continue
            found = verdict(p, config, (1, 5, 300)[number % 3])
            assert found.ok, f"{p.key} {config}: {found.why}"
            ran += 1
    assert ran >= 11


def drawn(p: Problem, space: Space, draw: random.Random) -> Config:
    """Any values, but for threads that come in warps, tiles that they can share, and aligned accesses."""
    values = {param.name: draw.choice(param.values) for param in space.params}
    unit_a, unit_b, unit_c = (unit // p.dtype.itemsize for unit in units(p))
    values["vec"] = draw.choice([w for w in (1, 2, 4, 8) if w <= min(unit_a, unit_b)])
    values["vec_c"] = draw.choice([w for w in (1, 2, 4, 8) if w <= unit_c])
    group, warps_m, warps_n = (
        draw.choice(counts) for counts in ((1, 1, 2, 4), (1, 1, 2, 3, 4), (1, 1, 2, 4))
    )
    m, n, _ = SHAPES[values["tc"]]
    for name, unit in (("blk_m", m * warps_m), ("blk_n", n * warps_n)):
        wanted = [size for size in (8, 16, 32, 48, 64, 96, 128) if size % unit == 0]
        values[name] = draw.choice(wanted or [128])
    threads = 32 * group * warps_m * warps_n
    dim_x = draw.choice([x for x in (1, 2, 4, 8, 16, 32) if threads // x <= 256])
    return Config(values | {"group": group, "warps_m": warps_m, "dim_x": dim_x, "dim_y": threads // dim_x})


def test_a_batch_of_complex_halves_is_faster_than_other_units_could() -> None:
    device = devices.probe()
    if device.rates.get("mma.d", 0) < 128:
        pytest.skip("the rate is that of compute capability 9.0")
    driver.context()
    p = Problem.parse("hc:128x128x128@4000")[0]
    config = TENSOR.default(p, device)
    kernel = modules.load(nvrtc.compile(TENSOR.source(p, config, device), device))
    memory = [driver.allocate(p.batch * 65536) for _ in range(3)]
    for part in memory:
        driver.fill(part.address, p.batch * 65536, 60)
    a, b, c = (part.address for part in memory)
    run = launch.bind(TENSOR, kernel, p, config, (1, 0), (a, b, c))
    watch = driver.Stopwatch()
    watch.time(run, 3)
    rate = 5 * p.batch * p.flops / min(watch.time(run, 5) for _ in range(5))
    # Multiply-add units of this device reach 67 TFLOP/s in single precision at the most.
    assert rate > 1e14
