"""The kernels' own code, run without a GPU: indices, edges, conjugates, scalars, copies and barriers.

Everything is checked as the tuner checks a candidate, on odd sizes with padding and gaps, and under schedules
that make what is not waited for go wrong; see ``tests.emulator``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bench.sanitize import chains
from bench.sanitize.lists import stored
from tests.emulator.chains import chain_wrongs
from tests.emulator.machine import SCHEDULES, Schedule
from tests.emulator.packs import packs_wrongs
from tests.emulator.products import grouped_wrongs, wrongs
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, ChainProblem, Config, Device, Factor, Problem, Stored
from tilewright.space import HARDWARE, Rule, Space
from tilewright.stencils.cuda.grouped.stencil import products
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

A100, H200 = named("a100"), named("h200")


def problem(
    text: str, pad: tuple[int, int, int] = (0, 0, 0), gap: tuple[int, int, int] = (0, 0, 0), **fields: Any
) -> Problem:
    """A problem with so many elements of padding in each column, and so many between matrices."""
    p = Problem.parse(text, **fields)[0]
    rows = (p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k, p.m)
    columns = (p.m if p.transposed_a else p.k, p.k if p.transposed_b else p.n, p.n)
    for name, r, c, more, apart in zip("abc", rows, columns, pad, gap, strict=True):
        p = p.with_(**{f"ld{name}": r + more, f"stride_{name}": (r + more) * c + apart})
    return p


def allowed(stencil: str, p: Problem, device: Device, count: int, seed: int, **fixed: Any) -> list[Config]:
    """Configs that the hardware can run, drawn at random from those with some values."""
    space = STENCILS[stencil].space(p, device).only((*HARDWARE, "hard")).restricted(**fixed)
    found = space.sample(count, seed)
    assert found, (stencil, p.key, fixed)
    return found


def smallest(p: Problem, seed: int, **fixed: Any) -> Config:
    """Of configs of tiny, one with few matrices in a group, two if it can be, and small tiles."""
    found = allowed("tiny", p, H200, 500, seed, blocks=132, **fixed)
    return min(
        found, key=lambda c: (abs(c["group"] - 2) + 4 * (c["group"] < 2), c["rows"] * c["columns"] > 16)
    )


def found_wrong(
    stencil: str,
    points: Iterator[tuple[Problem, Config]] | list[tuple[Problem, Config]],
    device: Device = H200,
    **more: Any,
) -> list[str]:
    """What is wrong with any of them, each under one schedule, all schedules in turns."""
    return [
        wrong
        for number, (p, config) in enumerate(points)
        for wrong in wrongs(
            stencil, p, config, device, schedules=[SCHEDULES[number % len(SCHEDULES)]], **more
        )
    ]


# ---- classic

SMALL = {"n_dim": 8, "m_dim": 8, "n_blk": 16, "m_blk": 16, "k_blk": 8, "min_blocks": 1, "split": 1}
"""Tiles of 16 x 16 by 64 threads: two warps, so that barriers matter."""


@pytest.mark.parametrize("trans", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("letter", "sdcz")
def test_classic_multiplies(letter: str, trans: str) -> None:
    if letter in "cz":
        trans = trans.replace("t", "c") if letter == "c" else trans.replace("n", "j")
    odd = problem(f"{letter}:{trans}:18x17x21@2", (1, 2, 3), (1, 3, 5), alpha="any", beta="any")
    even = problem(f"{letter}:{trans}:16x20x28", (4, 8, 1), beta="01"[trans == "nn"])
    points = []
    for number, p in enumerate((odd, even)):
        points += [(p, config) for config in allowed("classic", p, H200, 1, number, read="global", **SMALL)]
    assert found_wrong("classic", points) == []


@pytest.mark.parametrize(
    "fixed",
    [
        {"read": "ldg"},
        {"read": "tex1d"},
        {"read": "tex2d"},
        {"split": 2},
        {"split": 4, "vec": 1},
        {"early": 1},
        {"mma": 1, "lanes": 8, "n_blk": 32},
        {"mma": 1, "lanes": 8, "n_blk": 32, "split": 2},
        {"buffers": 1},
        {"order": 0, "lanes": 4},
        {"order": 2, "lanes": 4},
    ],
    ids=lambda fixed: "-".join(f"{name}-{value}" for name, value in fixed.items()),
)
def test_classic_in_all_its_ways(fixed: dict[str, Any]) -> None:
    points = []
    # Textures ask for leading dimensions that are multiples of 32 bytes.
    for number, (text, pad) in enumerate((("d:nt:19x35x21", (1, 1, 3)), ("z:cn:18x17x23", (1, 1, 3)))):
        p = problem(text, pad, beta="any", alpha="any")
        points += [(p, config) for config in allowed("classic", p, H200, 1, number, **SMALL | fixed)]
    assert found_wrong("classic", points) == []


def test_classic_takes_its_turns_with_what_it_shares() -> None:
    """Several matrices of a block, by warps that do not wait for each other longer than they must."""
    p = problem("s:nn:16x16x20@3", beta="1")
    for buffers, split in ((1, 1), (2, 1), (1, 2)):
        fixed = SMALL | {"buffers": buffers, "split": split, "read": "global", "mma": 0}
        (config,) = allowed("classic", p, H200, 1, 0, **fixed)
        assert list(wrongs("classic", p, config, H200, grid_z=1)) == []


@pytest.mark.parametrize("text", ["s:0x0x0", "d:5x1x0", "c:1x33x1"])
def test_classic_at_the_smallest_sizes(text: str) -> None:
    p = Problem.parse(text, beta="any", alpha="any")[0]
    if STENCILS["classic"].accepts(p, H200) is None:
        config = allowed("classic", p, H200, 1, 0, read="global", **SMALL)[0]
        assert list(wrongs("classic", p, config, H200)) == []


# ---- tiny

FORMS = ["s:5x6x7", "d:nt:9x7x6", "c:ct:6x3x5", "z:nj:5x4x3", "h:tn:9x11x7", "b:nt:8x10x12", "hc:cn:7x9x8"]


@pytest.mark.parametrize(("number", "path"), list(enumerate(("plain", "async", "bulk"))))
@pytest.mark.parametrize("text", FORMS)
def test_tiny_multiplies(text: str, number: int, path: str) -> None:
    dense = problem(f"{text}@11", alpha="any", beta="any")
    padded = problem(f"{text}@11", (1, 2, 1), (0, 1, 3), beta="0")
    # Every form both ways, and every path with the halves of the forms.
    turn = number + FORMS.index(text)
    p = (dense, padded)[turn % 2]
    config = smallest(p, 0, path=path, mma=0, warps=2)
    assert list(wrongs("tiny", p, config, H200, schedules=[SCHEDULES[turn % 4]], grid_x=2)) == []


@pytest.mark.parametrize(
    ("text", "mma", "path"),
    [
        ("d:9x17x7", 8, "async"),
        ("d:9x17x7", 16, "bulk"),
        ("d:tt:16x8x12", 16, "async"),
        ("z:ct:8x9x6", 8, "bulk"),
        ("z:nn:8x8x4", 16, "async"),
        ("h:17x9x10", 16, "bulk"),
        ("b:tn:16x16x16", 16, "bulk"),
        ("h:nt:16x24x40", 16, "async"),
        ("hc:nc:9x8x12", 16, "bulk"),
        ("hc:jt:16x8x16", 16, "async"),
    ],
)
def test_tiny_multiplies_on_tensor_cores(text: str, mma: int, path: str) -> None:
    p = problem(f"{text}@5", alpha="any", beta="any")
    config = smallest(p, 3, path=path, mma=mma, warps=2)
    assert list(wrongs("tiny", p, config, H200, schedules=SCHEDULES[1:2], grid_x=1)) == []


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("path", ["async", "bulk"])
def test_tiny_waits_for_its_ring(path: str, stages: int) -> None:
    """One block through more groups than it has stages, so that each is filled again, by three warps."""
    p = problem("d:8x8x7@11", beta="1")
    config = smallest(p, 1, path=path, mma=0, warps=3, stages=stages, rows=1, columns=2)
    assert list(wrongs("tiny", p, config, H200, grid_x=1)) == []


@pytest.mark.parametrize("padded", ["a", "b", "c"])
def test_tiny_copies_nothing_behind_the_last_column(padded: str) -> None:
    """Whole groups, of which the last one has padding behind its last column that belongs to nobody."""
    pad = tuple(2 * (name == padded) for name in "abc")
    p = problem("d:4x4x4@12", pad, beta="1")
    config = smallest(p, 0, path="bulk", mma=0, warps=2)
    assert 12 % config["group"] == 0
    assert found_wrong("tiny", [(p, config)], grid_x=2) == []


@pytest.mark.parametrize("rows", [3, 5, 7])
def test_tiny_writes_what_vectors_leave_of_a_column(rows: int) -> None:
    """Columns of C that begin at multiples of 16 bytes and end in 6, 10 or 14: vectors of 8, 4 and 2."""
    p = problem(f"h:{rows}x4x8@13", (8 - rows, 0, 8 - rows))
    config = smallest(p, 0, path="bulk", mma=0, warps=2)
    assert found_wrong("tiny", [(p, config)], grid_x=2) == []


@pytest.mark.parametrize("path", ["plain", "async", "bulk"])
@pytest.mark.parametrize("which", ["a", "b"])
def test_tiny_shares_an_operand(which: str, path: str) -> None:
    p = problem("s:4x6x4@9").with_(**{f"stride_{which}": 0})
    assert found_wrong("tiny", [(p, smallest(p, 0, path=path, mma=0, warps=2))], grid_x=2) == []


@pytest.mark.parametrize("text", ["s:nn:70x2x3@5", "d:tt:2x66x2@3"])
def test_tiny_multiplies_with_one_long_extent(text: str) -> None:
    p = problem(text, beta="any")
    assert found_wrong("tiny", [(p, smallest(p, 0, path="bulk", mma=0, warps=2))], grid_x=2) == []


@pytest.mark.parametrize("path", ["plain", "async"])
def test_tiny_multiplies_matrices_by_their_addresses(path: str) -> None:
    p = problem("d:5x3x4@9", (1, 2, 3), (1, 2, 3), pointers=True, beta="any", align=8)
    assert list(wrongs("tiny", p, smallest(p, 0, path=path, mma=0, warps=2), H200, grid_x=2)) == []


# ---- panel


@pytest.mark.parametrize(
    ("text", "layout", "fixed"),
    [
        # Columns along the panel that begin anywhere in a word, and C from registers.
        ("s:nn:67x3x4@2", "dense", {"path": "bulk", "direct": 1}),
        ("c:nt:3x66x3@2", "shared", {"path": "bulk"}),
        # Streams that do, with a rest of a tile, and columns that are counted one by one.
        ("d:tn:67x5x3@2", "dense", {"path": "bulk", "direct": 0}),
        ("s:nn:3x67x5@2", "shared", {"path": "bulk"}),
        ("c:cj:66x4x3@2", "padded", {"path": "async", "direct": 0}),
        ("z:jn:5x66x2@2", "padded", {"path": "async"}),
        ("h:tt:70x5x6@2", "dense", {"path": "async", "direct": 1}),
        # Tensor cores.
        ("h:nn:69x6x9@2", "dense", {"path": "bulk", "mma": 16}),
        ("hc:nt:5x67x9@2", "shared", {"path": "bulk", "mma": 16}),
        ("d:nn:67x9x6@2", "dense", {"path": "bulk", "mma": 8}),
        ("z:nt:9x66x3@2", "padded", {"path": "async", "mma": 16}),
    ],
)
def test_panel_multiplies(text: str, layout: str, fixed: dict[str, Any]) -> None:
    p = problem(text, (1, 0, 1), (0, 0, 2), beta="0") if layout == "padded" else problem(text, beta="any")
    if layout == "shared":
        p = p.with_(**{"stride_b" if p.m > p.n else "stride_a": 0})
    few = {"mma": 0, "warps": 2, "stages": 2, "blocks": 132, "tile": 32} | fixed
    found = allowed("panel", p, H200, 60, 1, **few)
    config = min(found, key=lambda c: abs(c["rows"] * c["columns"] - 8 * max(1, c["mma"])))
    assert found_wrong("panel", [(p, config)], grid_x=2) == []


# ---- inner


@pytest.mark.parametrize(
    ("text", "layout", "fixed"),
    [
        # Slabs as streams that begin anywhere in a word, and rows and columns along k that do.
        ("s:nt:5x6x70@3", "dense", {"path": "bulk"}),
        ("c:ct:3x6x67@2", "padded", {"path": "bulk"}),
        ("s:tn:6x5x71@2", "padded", {"path": "async"}),
        ("hc:cn:7x9x81@1", "padded", {"path": "async", "mma": 16}),
        # Vectors, in tiles of which the last is not whole.
        ("d:tn:70x1x67@1", "dense", {"path": "bulk", "tile": 32}),
        ("z:1x67x66@1", "padded", {"path": "async", "tile": 32}),
        # Tensor cores, and warps that share k, in one block and in several.
        ("h:nn:20x11x77@1", "dense", {"path": "bulk", "mma": 16, "warps": 2}),
        ("d:nt:9x7x66@1", "shared", {"path": "bulk", "mma": 8, "warps": 2}),
        ("z:nj:5x4x65@1", "dense", {"path": "async", "mma": 16, "warps": 2}),
        # Blocks that share a tile: of one cluster, and of several clusters, of which some have no k.
        ("b:nn:6x6x70@2", "shared", {"path": "bulk", "split": 2, "spread": 3}),
        ("c:tn:3x5x99@1", "padded", {"path": "async", "spread": 8}),
        # Operands that go back in memory.
        ("s:tn:5x6x71@3", "back", {"path": "bulk"}),
        ("h:nn:5x6x70@3", "back", {"path": "async"}),
    ],
)
def test_inner_multiplies(text: str, layout: str, fixed: dict[str, Any]) -> None:
    p = problem(text, (1, 0, 1), (0, 0, 2), beta="0") if layout == "padded" else problem(text, beta="any")
    p = p.with_(stride_a=0) if layout == "shared" else p
    if layout == "back":
        p = p.with_(stride_a=-(p.stride_a or 0), stride_b=-(p.stride_b or 0) - 3)
    few = {"mma": 0, "warps": 1, "stages": 2, "blocks": 132, "depth": 16, "split": 1, "spread": 1} | fixed
    found = allowed("inner", p, H200, 60, 1, **few)
    config = min(found, key=lambda c: abs(c["rows"] * c["columns"] - 8 * max(1, c["mma"])))
    assert found_wrong("inner", [(p, config)]) == []


# ---- whole


@pytest.mark.parametrize(
    ("text", "beta", "align", "fixed"),
    [
        # Both columns at odd halves, the pieces of a product one after the other, C in place of A and B.
        ("h:nn:33x9x17@3", "0", 16, {}),
        ("b:nt:17x35x9@3", "1", 2, {"stages": 1}),
        ("h:tt:34x18x33@2", "0", 2, {"rows": 48, "columns": 24, "warps": 1}),
        # Columns at multiples of 8 and of 4 bytes.
        ("h:nn:36x10x18@2", "0", 16, {}),
        # Tiles of C, the last one narrower, and several turns.
        ("b:tn:20x45x17@3", "any", 2, {"tile": 32, "rows": 16, "columns": 8}),
    ],
)
def test_whole_multiplies(text: str, beta: str, align: int, fixed: dict[str, Any]) -> None:
    p = problem(text, beta=beta, alpha="any", align=align)
    few = {"tile": 64, "rows": 32, "columns": 16, "warps": 2, "piece": 512, "stages": 2, "blocks": 132}
    assert found_wrong("whole", [(p, Config(few | fixed))], grid_x=2) == []


# ---- middle


@pytest.mark.parametrize(
    ("text", "layout", "fixed"),
    [
        # Vectors of C that warps exchange, of tiles that end anywhere; and aligned ones.
        ("s:nt:9x38x5@2", "dense", {"tile_m": 9, "tile_n": 20, "rows": 4, "columns": 8}),
        ("s:tn:8x12x9@3", "dense", {"tile_m": 8, "tile_n": 12, "rows": 8, "columns": 4}),
        ("c:jc:7x9x10@3", "padded", {"tile_m": 7, "tile_n": 9, "rows": 2, "columns": 4}),
        ("c:nn:34x5x6@2", "dense", {"tile_m": 18, "tile_n": 5, "rows": 8, "columns": 2}),
        # Tensor cores, and zeros behind the last k.
        ("d:tn:17x13x7@3", "dense", {"mma": 16, "rows": 16}),
        ("d:nt:13x9x9@2", "padded", {"mma": 8, "rows": 8}),
        ("z:cn:17x9x6@2", "padded", {"mma": 16, "rows": 32}),
        ("z:nj:9x10x5@2", "dense", {"mma": 8, "rows": 16}),
    ],
)
def test_middle_multiplies(text: str, layout: str, fixed: dict[str, Any]) -> None:
    pad = layout == "padded"
    p = problem(text, (1, 2, 3), (1, 0, 2), beta="any", alpha="any") if pad else problem(text)
    # Slices that k is no multiple of, and a ring that goes round several times.
    few = {"tile_m": p.m, "tile_n": p.n, "stages": 2, "blocks": 132}
    found = allowed("middle", p, H200, 60, 1, **(few | fixed))
    config = min(found, key=lambda c: (c["depth"], c["rows"] * c["columns"]))
    assert found_wrong("middle", [(p, config)], grid_x=2) == []


# ---- tensor

SHAPES = [(letter, tc) for letter in ("h", "b", "hc") for tc in ("16x16x16", "32x8x16", "8x32x16", "16x8x16")]
SHAPES += [(letter, tc) for letter in "dz" for tc in ("8x8x4", "16x8x4", "16x8x8", "16x8x16")]


FEW = (
    Rule("few-threads", "soft", "four warps at most", lambda dim_x, dim_y: dim_x * dim_y <= 128),
    Rule("small-tile", "soft", "1,024 elements at most", lambda blk_m, blk_n: blk_m * blk_n <= 1024),
    Rule("short-tile", "soft", "no long k-tile", lambda blk_k: blk_k <= 32),
)
"""What leaves few instructions to be run, as rules: a space is then small before it is drawn from."""


def modest(p: Problem, device: Device, seed: int, **fixed: Any) -> Config:
    """A config of at most four warps, two if it can be, and the smallest tile."""
    space = STENCILS["tensor"].space(p, device).only((*HARDWARE, "hard"))
    space = Space(space.params, (*FEW, *space.rules), elementwise=True)
    found = space.restricted(blocks=device["sms"], **fixed).sample(500, seed)
    assert found, (p.key, fixed)
    return min(
        found,
        key=lambda config: (
            config["blk_m"] * config["blk_n"] * config["blk_k"]
            + 100 * (config["dim_x"] * config["dim_y"] < 64)
        ),
    )


@pytest.mark.parametrize(("letter", "tc"), SHAPES)
def test_tensor_multiplies(letter: str, tc: str) -> None:
    """Each type with all shapes of its products and all transpositions, and other pairs of them than the
    next type has."""
    number = SHAPES.index((letter, tc))
    at = (number + number // 4) % 4
    trans = (("nn", "nt", "tt", "tn") if letter in "hbd" else ("jc", "nt", "jj", "cn"))[at]
    p = problem(
        f"{letter}:{trans}:19x21x23@3", (1, 2, 3), (0, 2, 4), alpha="any", beta=("any", "0", "1", "any")[at]
    )
    config = modest(p, H200, at, tc=tc)
    # Three blocks for all tiles of all matrices, so that each goes from one to others.
    assert found_wrong("tensor", [(p, config)], grid_x=3) == []


@pytest.mark.parametrize(
    ("letter", "tc", "beta", "columns"),
    [("h", "16x16x16", "0", 32), ("b", "16x8x16", "1", 32), ("h", "16x8x16", "0", 64)],
)
def test_tensor_stages_columns_after_columns(letter: str, tc: str, beta: str, columns: int) -> None:
    """A warp with more columns of C than it stages together, so that those before have to be read first, and
    whole vectors beside single rows."""
    p = problem(f"{letter}:nn:19x{columns + 3}x16", (1, 2, 5), beta=beta)
    fixed = {"blk_m": 16, "blk_n": columns, "warps_m": 1, "group": 1, "split": "none"}
    found = [c for c in allowed("tensor", p, H200, 500, 0, tc=tc, **fixed) if c["dim_x"] * c["dim_y"] == 32]
    config = min(found, key=lambda c: (c["blk_k"], -c["vec_c"]))
    assert found_wrong("tensor", [(p, config)]) == []


@pytest.mark.parametrize(
    ("letter", "trans", "beta", "early_c"),
    [("h", "nn", "any", 0), ("b", "tn", "0", 0), ("hc", "cj", "any", 1)],
)
def test_warp_groups_multiply(letter: str, trans: str, beta: str, early_c: int) -> None:
    p = problem(f"{letter}:{trans}:70x31x72@2", (2, 0, 2), alpha="any", beta=beta)
    wide = 16 // p.dtype.itemsize
    p = p.with_(lda=96, ldb=96, stride_a=96 * 80, stride_b=96 * 80)
    config = STENCILS["tensor"].default(p, H200).with_(
        tc="64x8x16", split="registers" if letter == "hc" else "none", stages=3, ahead=0, early_c=early_c,
        vec=wide, vec_c=2, blk_k=8 * wide, blk_m=64, blk_n=32, dim_x=8, dim_y=16, group=1, warps_m=4,
        blocks=H200["sms"],
    )  # fmt: skip
    assert not any(rule.kind in (*HARDWARE, "hard") for rule in STENCILS["tensor"].space(p, H200).why(config))
    assert found_wrong("tensor", [(p, config)]) == []


# ---- grouped

LISTED = [(5, 6, 7), (16, 8, 16), (1, 1, 1), (13, 2, 9), (8, 16, 4), (3, 11, 16), (16, 16, 0), (7, 5, 12)]


@pytest.mark.parametrize("bulk", [0, 1])
@pytest.mark.parametrize(
    ("letter", "trans"),
    [("s", "nt"), ("d", "tn"), ("c", "cn"), ("z", "nj"), ("h", "nn"), ("b", "tt"), ("hc", "ct")],
)
def test_grouped_multiplies(letter: str, trans: str, bulk: int) -> None:
    p = products(DTYPES[letter], 16, 16, 16, trans, len(LISTED), alpha="any", beta="any")
    space = STENCILS["grouped"].space(p, H200).only((*HARDWARE, "hard"))
    number = 2 * "sdczhb".find(letter) + bulk
    mma = int(letter in "dhb") if bulk else int(letter in ("z", "hc"))
    fixed = {"bulk": bulk, "warps": 2, "team": 1 + number % 2, "mma": mma, "blocks": H200["sms"]}
    # One form of tile after the other takes long to compile.
    fixed |= {"fine": 0, "rows": 2, "columns": 4, "deep": 1 + number % 2}
    # One program for both, which a compiler takes longer for than the lists take.
    config = space.restricted(**fixed, depth=(2, 4)[number // 2 % 2]).sample(1, number)[0]
    for pads, own in (((0, 0, 0), True), ((1, 2, 3), False)):
        found = grouped_wrongs(
            letter,
            trans,
            LISTED,
            config,
            H200,
            pads=pads,
            own=own,
            beta="any",
            schedule=SCHEDULES[number % 4],
        )
        assert list(found) == []


@pytest.mark.parametrize("schedule", SCHEDULES[:2])
def test_grouped_copies_next_to_each_other_in_different_ways(schedule: Schedule) -> None:
    """Bulk copies to where threads have just copied by words: a ring without room to spare, of one team."""
    sizes = [(16, 16, 16), (7, 5, 12), (16, 14, 16)] * 3
    p = products(DTYPES["d"], 16, 16, 16, "nn", len(sizes), alpha="any", beta="any")
    space = STENCILS["grouped"].space(p, H200).only((*HARDWARE, "hard"))
    fixed = {"bulk": 1, "warps": 1, "team": 1, "mma": 0, "fine": 0, "rows": 2, "columns": 4, "deep": 1}
    found = space.restricted(**fixed, depth=2, blocks=H200["sms"]).sample(100, 0)
    config = min(found, key=lambda config: config["ring"])
    wrong = grouped_wrongs("d", "nn", sizes, config, H200, pads=(2, 2, 2), every=2, grid=1, schedule=schedule)
    assert list(wrong) == []


# ---- chain


@pytest.mark.parametrize("path", ["async", "bulk"])
@pytest.mark.parametrize("letter", list(DTYPES))
def test_chain_multiplies(letter: str, path: str) -> None:
    """Two groups and a part of one for two blocks, of odd shapes, their operands packed or with gaps."""
    turn = 2 * list(DTYPES).index(letter) + (path == "bulk")
    sizes = ((5, 3, 6, 4), (6, 3, 6), (4, 4, 4, 4))[turn % 3]
    p = chains.chain(DTYPES[letter], sizes, int(path == "async"), turn).with_(batch=19)
    fixed = {"path": path, "mma": 0, "rows": 2, "columns": 2, "warps": 2, "group": 8, "blocks": H200["sms"]}
    config = Config(fixed | {"stages": 2 + turn % 2})
    assert list(chain_wrongs(p, config, H200, schedule=SCHEDULES[turn % len(SCHEDULES)])) == []


@pytest.mark.parametrize("path", ["async", "bulk"])
def test_chain_waits_for_its_ring(path: str) -> None:
    """One block through more groups than it has stages, so that each is filled again, by three warps."""
    p = chains.chain(DTYPES["d"], (4, 4, 4, 4), 0, 1).with_(batch=15)
    config = Config(
        {"path": path, "mma": 0, "rows": 1, "columns": 2, "warps": 3, "group": 2, "stages": 2, "blocks": 132}
    )
    for schedule in SCHEDULES[1:3]:
        assert list(chain_wrongs(p, config, H200, schedule=schedule, grid=1)) == []


@pytest.mark.parametrize(
    ("letter", "mma", "sizes", "first", "turn"),
    [
        ("h", 16, (17, 18, 7, 11), 0, 1),
        ("b", 16, (5, 3, 20, 4), 1, 2),
        ("h", 16, (6, 8, 6), 0, 3),
        ("d", 16, (17, 4, 9, 8), 1, 0),
        ("z", 8, (9, 5, 8, 3), 0, 3),
        ("z", 16, (6, 3, 6), 0, 2),
    ],
)
def test_chain_on_tensor_cores(letter: str, mma: int, sizes: tuple[int, ...], first: int, turn: int) -> None:
    """Several strips of C and of its transpose, with rows, columns and k beyond their ends."""
    p = chains.chain(DTYPES[letter], sizes, 0, turn).with_(batch=9, first=first)
    fixed = {
        "path": "bulk",
        "mma": mma,
        "rows": 1,
        "columns": 1,
        "warps": 2,
        "group": 8,
        "blocks": H200["sms"],
    }
    config = Config(fixed | {"stages": 2})
    assert list(chain_wrongs(p, config, H200, grid=1)) == []


@pytest.mark.parametrize("letter", ["h", "b"])
@pytest.mark.parametrize("first", [0, 1])
def test_sums_between_keep_more_bits_than_16_bit_types_have(letter: str, first: int) -> None:
    """(64 1) (32 32, 1 0) (1 -1)^T is 2049 - 2048, and the same from the other side; infinity stays one,
    whether it is in between or comes after."""
    dtype, row, column = DTYPES[letter], Stored(1, 2, 1, 2), Stored(2, 1, 2, 2)
    operands, factors = (row, Stored(2, 2, 2, 4), column), (Factor(0), Factor(1), Factor(2))
    p = ChainProblem(dtype, operands, factors, Stored(1, 1, 1, 1), 1, first=first)
    numbers = [(1, -1), (32, 32, 1, 0), (64, 1)] if first else [(64, 1), (32, 1, 32, 0), (1, -1)]
    config = {"path": "async", "mma": 16, "rows": 1, "columns": 1, "warps": 1, "group": 1, "stages": 2}
    many, few, ones = (np.inf, np.inf), (1, 1), (1, 1, 1, 1)
    for result, given in ((1, numbers), (np.inf, [many, ones, few]), (np.inf, [few, ones, many])):
        read = chains.parts(p)
        for part, values in zip(read, given, strict=False):
            part.elements[: len(values)] = stored(np.array(values, np.complex128), dtype)
        wanted = stored(np.array([result], np.complex128), dtype)
        assert list(chain_wrongs(p, Config(config | {"blocks": 132}), H200, read=read, wanted=wanted)) == []


# ---- interleaved


@pytest.mark.parametrize(
    ("text", "fields", "config"),
    [
        ("s:3x3x3@70/all", {"align": 8}, {}),
        ("z:jn:2x3x2@5/all", {"alpha": "any", "beta": "1"}, {}),
        ("d:3x2x4@70/all", {"alpha": "any", "beta": "any"}, {"stages": 3, "depth": 2, "unroll_k": 1}),
        ("h:5x3x3@34/all", {"align": 4}, {"rows": 3, "columns": 2, "team": 2, "ahead": 1}),
        ("s:4x5x3@41/all", {"align": 4, "stride_c": 20}, {"rows": 2, "columns": 3, "team": 4, "lanes": 1}),
        (
            "s:4x5x3@41/all",
            {"align": 4, "stride_c": 21, "stride_a": 0},
            {"rows": 2, "columns": 3, "team": 3, "lanes": 1, "stages": 2, "unroll_k": 1},
        ),
        ("b:4x4x3@64/all", {"stride_b": 0, "stride_c": 16}, {"stages": 2, "depth": 2, "unroll_k": 1}),
        ("hc:nj:2x5x3@41/all", {"align": 4, "stride_c": 10}, {"staged": 0}),
    ],
)
def test_interleaved_multiplies(text: str, fields: dict[str, Any], config: dict[str, int]) -> None:
    """Vectors and what is left of them, parts of C in turns, copies in flight, and a C that lies apart."""
    p = Problem.parse(text, **fields)[0]
    # One with the extents named again is packed around what is shared.
    p = p.with_(m=p.m, stride_c=fields.get("stride_c", 1))
    stencil = STENCILS["interleaved"]
    chosen = stencil.default(p, H200).with_(**{"warps": 1, **config})
    assert stencil.space(p, H200).only((*HARDWARE, "hard")).member(chosen) is None
    assert found_wrong("interleaved", [(p, chosen)]) == []
    if chosen["stages"]:
        assert list(wrongs("interleaved", p, chosen, H200, schedules=[SCHEDULES[2]])) == []


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("h:4x4x3@72/8", {"lanes": 2, "rows": 2, "columns": 2, "padded": 1}),
        ("c:nj:3x2x4@40/8", {"lanes": 2, "rows": 3, "columns": 1, "padded": 0}),
    ],
)
def test_interleaved_packs_come_and_go_whole(text: str, changes: dict[str, int]) -> None:
    """Two blocks through groups of two packs, the last of which is not full."""
    p = Problem.parse(text)[0]
    fixed = {"warps": 1, "team": 1, "stages": 2, "depth": 1, "staged": 0, "group": 2, "blocks": H200["sms"]}
    config = STENCILS["interleaved"].default(p, H200).with_(**fixed, **changes)
    assert STENCILS["interleaved"].space(p, H200).only((*HARDWARE, "hard")).member(config) is None
    for schedule in SCHEDULES[:2]:
        assert list(packs_wrongs(p, config, H200, schedule=schedule)) == []
