"""Very small matrices on a live GPU: right in every layout, and at the speed of memory."""

from __future__ import annotations

import functools
import random

import pytest

from tests import launched
from tilewright.model import DTYPES, Config, Problem
from tilewright.runtime import launch
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.tiny.stencil import TinyStencil
from tilewright.targets.cuda import devices, driver, modules, nvrtc

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(devices.missing() is not None, reason=devices.missing() or ""),
]

TINY = TinyStencil()
LETTERS = tuple(DTYPES)
STRIDES = ("stride_a", "stride_b", "stride_c")


verdict = functools.partial(launched.verdict, TINY)


def layouts(p: Problem) -> list[Problem]:
    lda, ldb, ldc = ((ld or 0) + 1 for ld in (p.lda, p.ldb, p.ldc))
    cols_a, cols_b = (p.m if p.transposed_a else p.k), (p.k if p.transposed_b else p.n)
    even = {"stride_a": lda * cols_a, "stride_b": ldb * cols_b, "stride_c": ldc * p.n}
    gaps = {"stride_a": lda * cols_a + 1, "stride_b": ldb * cols_b + 2, "stride_c": ldc * p.n + 3}
    more = {"stride_a": (lda + 1) * cols_a, "stride_b": (ldb + 1) * cols_b, "stride_c": (ldc + 1) * p.n}
    return [
        p,
        p.with_(align=p.dtype.itemsize),
        p.with_(stride_a=0),
        p.with_(stride_b=0),
        p.with_(stride_c=(p.stride_c or 0) + 1),
        p.with_(lda=lda, ldb=ldb, ldc=ldc, **gaps),
        p.with_(lda=lda, ldb=ldb, ldc=ldc, **even),
        p.with_(lda=lda + 1, ldb=ldb + 1, ldc=ldc + 1, **more),
        p.with_(ldc=ldc, stride_c=even["stride_c"]),
        p.with_(lda=lda, ldb=ldb, **(even | {"stride_b": 0, "stride_c": p.stride_c})),
        p.with_(lda=lda, ldb=ldb, ldc=ldc, **even, align=p.dtype.itemsize),
        p.with_(pointers=True),
        p.with_(lda=lda, ldb=ldb, ldc=ldc, **gaps, align=p.dtype.itemsize, pointers=True),
    ]


@pytest.mark.parametrize(
    "size",
    [
        *("1x1x1", "2x2x2", "3x5x4", "8x8x8", "17x17x17", "32x32x32", "13x31x6", "24x40x33", "64x48x16"),
        *("81x10x9", "3x130x4", "7x5x200"),
    ],
)
@pytest.mark.parametrize("letter", LETTERS)
def test_the_default_is_right_in_every_layout(letter: str, size: str) -> None:
    device = devices.probe()
    for number in range(len(layouts(Problem.parse("s:1x1x1")[0]))):
        # Each transposition meets other layouts at other sizes.
        trans = ("nn", "tn", "nt", "ct")[(number + len(size) + ord(size[0])) % 4]
        p = layouts(Problem.parse(f"{letter}:{trans}:{size}@100000", beta="any", alpha="any")[0])[number]
        if TINY.accepts(p, device) is None:
            config = TINY.default(p, device)
            # One group for each block and more, and what is left over.
            batch = (1, config["group"], 3 * config["group"] + 1, 2001)[number % 4]
            found = verdict(p, config, batch)
            assert found.ok, f"{p.key} @{batch} {config}: {found.why}"


@pytest.mark.parametrize("beta", ["0", "1", "any"])
@pytest.mark.parametrize(
    "spelling",
    [
        "s:5x5x5",
        "d:8x8x8",
        "c:4x4x4",
        "z:16x16x16",
        "d:24x24x24",
        "h:5x5x5",
        "h:16x16x16",
        "b:17x17x17",
        "hc:13x13x13",
    ],
)
@pytest.mark.parametrize("layout", ["packed", "padded", "pointers"])
def test_more_groups_than_blocks_and_special_values(spelling: str, beta: str, layout: str) -> None:
    device = devices.probe()
    p = Problem.parse(f"{spelling}@3000000", beta=beta)[0]
    if layout == "padded":
        p = p.with_(lda=p.m + 1, ldb=p.m + 1, ldc=p.m + 1, **dict.fromkeys(STRIDES, (p.m + 1) * p.m))
    p = p.with_(pointers=layout == "pointers")
    config = TINY.default(p, device)
    # The ring goes round several times.
    found = verdict(
        p, config.with_(blocks=device["sms"]), 12 * device["sms"] * config["group"] + 1, special=True
    )
    assert found.ok, f"{config}: {found.why}"


@pytest.mark.parametrize("seed", range(70))
def test_random_configs_are_right(seed: int) -> None:
    device, draw = devices.probe(), random.Random(seed)
    letter = LETTERS[seed % 7]
    turn_a, turn_b = (draw.choice("ntcj" if DTYPES[letter].is_complex else "nt") for _ in "ab")
    m, n, k = (draw.randrange(1, 33) for _ in range(3))
    p = Problem(
        DTYPES[letter], m, n, k, turn_a, turn_b, batch=10**6, alpha="any", beta=draw.choice(("0", "1", "any"))
    )
    p = draw.choice(layouts(p))
    space = TINY.space(p, device).only(HARDWARE)
    for _ in range(200):
        config = Config({param.name: draw.choice(param.values) for param in space.params})
        if (config["mma"] or config["rows"] * config["columns"] <= 64) and not space.why(config):
            found = verdict(p, config, draw.choice((1, config["group"] + 1, 3001)))
            assert found.ok, f"{p.key} {config}: {found.why}"
            return


@pytest.mark.parametrize("spelling", ["d:8x8x8@650000", "h:24x24x24@400000"])
@pytest.mark.parametrize("ld", [0, 1])
def test_a_batch_goes_at_the_speed_of_memory(spelling: str, ld: int) -> None:
    device = devices.probe()
    if "bulk_copy" not in device.supports:
        pytest.skip("bulk copies came with compute capability 9.0")
    driver.context()
    p = Problem.parse(spelling)[0]
    ld += p.m
    p = p.with_(lda=ld, ldb=ld, ldc=ld, **dict.fromkeys(STRIDES, ld * p.m))
    config = TINY.default(p, device)
    kernel = modules.load(nvrtc.compile(TINY.source(p, config, device), device))
    size = p.batch * p.strides[0] * p.dtype.itemsize
    memory = [driver.allocate(size) for _ in range(3)]
    for part in memory:
        driver.fill(part.address, size, 48)
    a, b, c = (part.address for part in memory)
    run = launch.bind(TINY, kernel, p, config, (1, 0), (a, b, c))
    watch = driver.Stopwatch()
    watch.time(run, 3)
    rate = 5 * p.batch * p.bytes / min(watch.time(run, 5) for _ in range(5))
    # Far above what a library that treats each matrix alone reaches, far below what the device can do.
    assert rate > 1.5e12
