"""The stencil of strips through NVRTC, and its code run without a GPU: borders, edges, rows that are left."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from tests.emulator.segments import problem, segments_wrongs
from tilewright.errors import CompileError
from tilewright.model import DTYPES, Device, SegmentedProblem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.strips.stencil import LONGEST, StripsStencil
from tilewright.targets.cuda import disassemble, nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

STRIPS = StripsStencil()
A100, H200 = named("a100"), named("h200")


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("spelling", "k", "groups", "device"),
    [
        ("s:nn", 16, 10, H200),
        ("s:tt", 15, 10, A100),
        ("s:nt", 9, 10, H200),
        ("s:tn", 32, 40, H200),
        ("s:nn", 32, 10, A100),
        ("d:nn", 16, 10, H200),
        ("d:tn", 16, 40, H200),
        ("d:nt", 13, 10, A100),
        ("d:nn", 16, 40, A100),
        ("d:tt", LONGEST["d"], 10, H200),
        ("z:nn", LONGEST["z"], 10, H200),
        ("z:tn", LONGEST["z"], 40, A100),
        ("c:nt", 32, 10, H200),
        ("c:tn", 21, 10, A100),
        ("hc:nn", 32, 10, A100),
        ("hc:tt", 12, 40, H200),
        ("h:nn", 31, 10, H200),
        ("b:tn", 32, 10, A100),
    ],
    ids=lambda value: getattr(value, "key", str(value)),
)
def test_defaults_spill_nothing(spelling: str, k: int, groups: int, device: Device) -> None:
    p = problem(spelling, "n", (768, 3424, k), groups, batch=3)
    facts = nvrtc.compile(STRIPS.source(p, STRIPS.default(p, device), device), device).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), (p.key, device.key)


@pytest.mark.sweep
@pytest.mark.parametrize("device", [A100, H200], ids=lambda device: device.key)
@pytest.mark.parametrize(
    ("spelling", "m", "k"),
    [("h:nn", 4, 8), ("b:nt", 9, 32), ("hc:tn", 23, 16), ("s:nn", 61, 31), ("d:tt", 90, 24), ("c:nn", 17, 32),
     ("z:tn", 6, 20), ("z:nn", 32, 32)],
)  # fmt: skip
def test_defaults_of_few_rows_spill_nothing(spelling: str, m: int, k: int, device: Device) -> None:
    size = DTYPES[spelling.split(":")[0]].itemsize
    p = problem(spelling, "n", (m, 3424, k), 40, batch=300, pad=1, align=size)
    facts = nvrtc.compile(STRIPS.source(p, STRIPS.default(p, device), device), device).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), (p.key, device.key)


@pytest.mark.parametrize("device", [A100, H200], ids=lambda device: device.key)
def test_what_is_asked_for_early_and_written_once_is_in_the_code(device: Device) -> None:
    p = problem("s:nn", "n", (768, 3424, 16), 10, batch=32)
    config = STRIPS.default(p, device)
    for value in (0, 1):
        source = STRIPS.source(p, config.with_(ahead=value, once=value), device)
        text = disassemble.ptx(source, device)
        assert ("prefetch.global.L2" in text, "st.global.cs.v4" in text) == (bool(value), bool(value))
        facts = nvrtc.compile(source, device).facts
        assert (facts["spills"], facts["warnings"]) == (0, 0)


@pytest.mark.sweep
@pytest.mark.parametrize("device", [A100, H200], ids=lambda device: device.key)
@pytest.mark.parametrize(
    ("spelling", "m", "k", "n", "groups", "pad", "align"),
    [
        # Words of B of two numbers, and numbers that are no part of one word.
        ("h:nn", 24, 18, 600, 4, 0, 16),
        ("b:nn", 24, 29, 600, 4, 0, 16),
        ("h:nn", 22, 29, 200, 23, 0, 16),
        ("h:nn", 1000, 32, 4000, 8, 0, 16),
        ("b:tn", 112, 31, 4000, 40, 0, 16),
        ("h:nt", 64, 32, 4000, 8, 0, 16),
        ("b:tt", 47, 27, 900, 60, 1, 2),
        ("hc:nn", 8, 32, 600, 4, 0, 16),
        ("hc:cn", 256, 32, 4000, 8, 0, 16),
        ("hc:tc", 33, 17, 900, 60, 1, 4),
    ],
)  # fmt: skip
def test_tensor_cores_take_the_registers_that_they_are_given(
    spelling: str, m: int, k: int, n: int, groups: int, pad: int, align: int, device: Device
) -> None:
    p = problem(spelling, "n", (m, n, k), groups, batch=100, pad=pad, align=align)
    config = STRIPS.default(p, device)
    assert config["mma"] == 1
    source = STRIPS.source(p, config, device)
    if device is H200:  # The program for the other one differs in its sizes alone.
        assert "mma.sync.aligned.m16n8k16.row.col" in disassemble.ptx(source, device)
    facts = nvrtc.compile(source, device).facts
    assert (facts["spills"], facts["stack"], facts["warnings"]) == (0, 0, 0), (p.key, device.key)
    warps = config["warps"] * config["blocks"] // device["sms"]
    assert warps >= 12
    assert facts["registers"] * 32 * warps <= device["registers_per_sm"]


def test_a_hard_rule_speaks_when_it_is_broken() -> None:
    p = problem("h:nn", "n", (256, 256, 8), 4)
    for rule, broken in (
        ("columns-whole", {"tile_n": 8, "columns": 16}),
        ("mma-lanes", {"lanes_m": 8}),
        ("mma-lanes", {"rows": 1}),
    ):
        config = STRIPS.default(p, H200).with_(**broken)
        with pytest.raises(CompileError, match=rule):
            nvrtc.compile(STRIPS.source(p, config, H200), H200)


BOTH = {"ahead": 1, "once": 1}
PLAIN = {"mma": 0, "lanes_m": 32, "rows": 1, "columns": 2}


def mma(rows: int, columns: int, tile_n: int, **others: int) -> dict[str, int]:
    return {"mma": 1, "lanes_m": 4, "rows": rows, "columns": columns, "tile_n": tile_n} | others


CASES: list[tuple[SegmentedProblem, list[int], dict[str, Any]]] = [
    # A group of nothing, columns that are no group's, and a warp without rows of the second tile.
    (problem("s:nn", "n", (300, 21, 5), 3, batch=2), [9, 9, 18], {"warps": 2}),
    # Sizes of groups, more than the axis has.
    (problem("s:tt", "n", (132, 11, 4), 3, sizes=True), [9, 0, 99], BOTH),
    (problem("s:nt", "n", (128, 10, 7), 3, first=True, wide=True), [1, 3, 5, 8], {"columns": 2}),
    # Numbers that no border can be, and sizes whose sum no 32 bits hold.
    (problem("d:nn", "n", (130, 41, 3), 3, batch=2), [-7, 2**31 - 1, 3], {"per_block": 1, **BOTH}),
    (problem("d:tn", "n", (128, 26, 2), 3, sizes=True), [2**31 - 1, 2**31 - 1, 5], {}),
    # As many borders as a warp has lanes, and one more.
    (problem("s:nn", "n", (128, 70, 2), 31), [2 * i for i in range(31)], {"per_block": 1}),
    (problem("s:nn", "n", (128, 70, 2), 32), [2 * i for i in range(32)], BOTH),
    (problem("s:tn", "n", (132, 70, 3), 30, first=True), [i * i // 10 for i in range(31)], BOTH),
    # Other types, whose columns begin anywhere: vectors of which some rows are there, and lanes side by side.
    (
        problem("h:nn", "n", (7, 41, 9), 3, batch=2, pad=1),
        [9, 9, 38],
        PLAIN | {"rows": 4, "lanes_m": 4, "tile_n": 16},
    ),
    (problem("b:tt", "n", (13, 30, 5), 3, pad=3), [1, 20, 21], PLAIN | {"lanes_m": 16, "tile_n": 16}),
    (problem("hc:tn", "n", (6, 33, 7), 3, sizes=True), [5, 19, 3], PLAIN | {"lanes_m": 8, "tile_n": 16}),
    (problem("c:nt", "n", (21, 26, 4), 3, batch=2), [4, 11, 25], {"lanes_m": 8, "rows": 2}),
    (problem("z:cn", "n", (3, 50, 2), 33), [2 * i for i in range(33)], {"tile_n": 16, "columns": 2}),
    # Rows that are split among groups.
    (problem("s:tn", "m", (190, 37, 5), 3), [9, 9, 150], {"columns": 4}),
    (problem("s:nt", "m", (70, 41, 3), 33, first=True), [2 * i for i in range(34)], {"tile_n": 16}),
    (problem("d:nn", "m", (300, 9, 6), 3, batch=2), [-5, 7, 999], {"rows": 2, "lanes_m": 16}),
    (problem("h:tn", "m", (41, 20, 4), 3, sizes=True), [30, 1, 9], {"tile_n": 32}),
    (problem("s:nn", "n", (9, 29, 6), 3, pad=3), [9, 9, 28], {"rows": 4, "lanes_m": 4, "columns": 1}),
    # Tensor cores: whole strips of rows and what is left, a group of nothing, columns that are no group's.
    (problem("h:nn", "n", (32, 41, 32), 3, batch=2), [9, 9, 38], mma(8, 4, 32)),
    (problem("h:nn", "n", (24, 41, 29), 3, batch=2), [9, 9, 38], mma(8, 2, 16, **BOTH)),
    (
        problem("b:nn", "n", (72, 70, 18), 32),
        [2 * i for i in range(32)],
        mma(16, 2, 16, warps=2, per_block=1),
    ),
    # Several turns of a tile, vectors of A of which the first rows are there, columns that k does not fill.
    (problem("h:nn", "n", (20, 120, 12), 3, pad=12), [3, 90, 101], mma(8, 2, 64)),
    # A along k, B across k, and columns that begin anywhere.
    (problem("b:tn", "n", (31, 33, 31), 3, align=2), [1, 20, 40], mma(4, 4, 32)),
    (problem("h:nt", "n", (9, 41, 5), 3, sizes=True, align=2), [5, 19, 3], mma(2, 8, 64)),
    (problem("b:tt", "n", (13, 30, 17), 3, pad=3), [20, 1, 25], mma(4, 2, 16)),
    # Conjugates, whose pairs are two rows of a product.
    (problem("hc:nn", "n", (6, 33, 32), 3), [5, 19, 30], mma(2, 2, 16)),
    (problem("hc:cn", "n", (18, 33, 7), 3, batch=2), [5, 19, 30], mma(4, 2, 32)),
    (problem("hc:tc", "n", (5, 40, 9), 3, pad=1, align=4), [5, 19, 30], mma(1, 4, 32)),
    (problem("hc:cc", "n", (8, 20, 4), 3), [5, 6, 20], mma(2, 2, 16)),
    # Rows that are split, B in words across k.
    (problem("h:tn", "m", (41, 20, 4), 3, sizes=True), [30, 1, 9], mma(4, 2, 16)),
    (problem("b:nt", "m", (70, 24, 19), 33, first=True), [2 * i for i in range(34)], mma(2, 4, 32)),
    (problem("h:tt", "m", (50, 22, 16), 3, pad=2), [7, 7, 49], mma(8, 2, 16, warps=2)),
]


@pytest.mark.parametrize(("p", "offsets", "fixed"), CASES, ids=lambda value: getattr(value, "key", ""))
def test_the_code_finds_groups_and_writes_nothing_else(
    p: SegmentedProblem, offsets: list[int], fixed: dict[str, Any]
) -> None:
    assert STRIPS.accepts(p, H200) is None
    config = STRIPS.default(p, H200).with_(**({"warps": 1, "tile_n": 8} | fixed))
    assert list(segments_wrongs(p, offsets, config, H200, stencil="strips")) == []


@pytest.mark.sweep
@pytest.mark.parametrize(("axis", "letter"), list(product("mn", DTYPES)))
def test_random_configs_of_random_groups_are_right(axis: str, letter: str) -> None:
    """Each type with rows and with columns that are split, borders in any order among them."""
    seed = 7 * "mn".index(axis) + list(DTYPES).index(letter)
    draw, letters = random.Random(seed), "ntc" if DTYPES[letter].is_complex else "nt"
    size = draw.choice((1, 3, 6, 13, 31, 45)), draw.randint(1, 50), draw.randint(1, 9)
    size = (size[1], size[0], size[2]) if axis == "m" else size
    groups, size_of = draw.choice((1, 4, 33)), DTYPES[letter].itemsize
    p = problem(
        f"{letter}:{draw.choice(letters)}{draw.choice(letters)}",
        axis,
        size,
        groups,
        batch=draw.randint(1, 2),
        pad=draw.choice((0, 1, 8)),
        **draw.choice(({}, {"align": size_of}, {"sizes": True}, {"wide": True})),
    )
    most = p.m if axis == "m" else p.n
    offsets = [draw.randint(-2, most + 2) for _ in range(groups)]
    space = STRIPS.space(p, H200).only((*HARDWARE, "hard"))
    (config,) = space.sample(1, seed=seed)
    assert list(segments_wrongs(p, offsets, config, H200, stencil="strips")) == []
