"""The space of the stencil of columns that begin anywhere, its maps, its choice without a search."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.unaligned.stencil as module
from tilewright.model import DTYPES, Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.source import program
from tilewright.stencils.cuda.unaligned.cost import clocks
from tilewright.stencils.cuda.unaligned.needs import shared_bytes, tiles
from tilewright.stencils.cuda.unaligned.stencil import ARGUED, UnalignedStencil
from tilewright.targets.cuda.arguments import Scalar, Struct, TensorMap
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

UNALIGNED = UnalignedStencil()
A100, H200 = named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("unaligned")[1])["lib/problem.cuh"]
HIGH = Config({"tile_m": 256, "tile_n": 128, "stages": 4, "band": 2048, "blocks": 132})
ORDERS = ("nn", "nt", "tn", "tt")


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("b:nt:511x1023x81")
    defines = [name for name, _ in UNALIGNED.source(p, UNALIGNED.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    names = [param.name.upper() for param in UNALIGNED.space(p, H200).params if param.name not in ARGUED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


def test_hard_rules_are_said_in_the_same_words() -> None:
    said = dict(re.findall(r'static_assert\(.*, "([\w-]+): (.*)"\);', KERNEL))
    for rule in UNALIGNED.space(problem("h:4095x4095x4095"), H200).rules:
        if rule.kind == "hard":
            assert said[rule.name] == rule.why


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("s:511x511x511", {}, "type s"),
        ("hc:511x511x511", {}, "type hc"),
        ("h:511x511x511@2", {}, "a batch of 2"),
        ("h:511x32x511", {}, "not from 33"),
        ("h:512x512x512", {}, "all columns begin at multiples of 16 bytes"),
        ("h:511x511x511", {"align": 1}, "not of an element's 2"),
        ("h:511x511x511", {"lda": 2**27}, "2^27"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (UNALIGNED.accepts(problem(text).with_(**fields), H200) or "")


def test_it_needs_warp_groups_and_takes_any_operand_that_begins_anywhere() -> None:
    assert "warp groups" in (UNALIGNED.accepts(problem("h:511x511x511"), A100) or "")
    for fields in ({"lda": 513}, {"ldb": 516}, {"ldc": 520, "align": 8}, {"align": 2}):
        assert UNALIGNED.accepts(problem("h:512x512x512").with_(**fields), H200) is None


def test_where_nothing_was_measured_the_library_is_the_better_guess() -> None:
    assert UNALIGNED.needs_record(problem("h:511x511x511"))


# -- tensor maps -------------------------------------------------------------------------------------------
def test_maps_are_of_eight_columns_each() -> None:
    """By hand: A is stored 480 x 645 with 487 from column to column, B 720 x 480 with 720."""
    p = problem("b:tt:645x720x480").with_(lda=487, align=2)
    given, a, b = UNALIGNED.arguments(p, HIGH.with_(tile_m=128, tile_n=256))
    assert isinstance(given, Struct)
    values = {field.name: field.value for field in given.fields if isinstance(field, Scalar)}
    sizes = {"lda": 487, "ldb": 720, "ldc": 645, "m": 645, "n": 720, "k": 480, "band": 8}
    assert values == sizes | {"alpha": None, "beta": None}
    assert isinstance(a, Struct)
    assert isinstance(b, Struct)
    maps = [x for x in (*a.fields, *b.fields) if isinstance(x, TensorMap)]
    assert len(maps) == 8
    assert all(x.rounded and x.type == "bfloat16" and x.swizzle == 128 for x in maps)
    assert [(x.name, x.extents, x.strides[0], x.box) for x in maps] == [
        # 80 times eight columns: the last ends at 7 * 487 + 480 = 3889, which is in word 487.
        ("whole_0", (3896, 80, 1), 7792, (64, 16, 1)),
        ("whole_1", (3904, 80, 1), 7792, (64, 16, 1)),
        # And five more, the last of which ends at 4 * 487 + 480 = 2428.
        ("all_0", (2432, 81, 1), 7792, (64, 16, 1)),
        ("all_1", (2440, 81, 1), 7792, (64, 16, 1)),
        # Across k eight lines of a slice of 64 come at once.
        *((name, (more + 5760, 60, 1), 11520, (64, 8, 1))
          for name, more in (("whole_0", 0), ("whole_1", 8), ("all_0", 0), ("all_1", 8))),
    ]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    length=st.integers(33, 200),
    columns=st.integers(33, 200),
    gap=st.integers(0, 20),
    before=st.integers(0, 7),
)
def test_boxes_reach_every_element_and_no_other_word(
    length: int, columns: int, gap: int, before: int
) -> None:
    """What the kernel computes of its maps: box r of a map brings element i of column 8 q + r, and no word
    of 16 bytes behind that of the last element."""
    p = problem(f"h:{length}x40x{columns}").with_(lda=length + gap, align=2)
    (_, maps, _) = UNALIGNED.arguments(p, HIGH)
    assert isinstance(maps, Struct)
    named_maps = {x.name: x for x in maps.fields if isinstance(x, TensorMap)}
    last, over, ld = (columns - 1) * (length + gap) + length, columns % 8, length + gap
    for r in range(8):
        pair, end = ("all", over) if r < over else ("whole", 8)
        reach = (end - 1) * ld + length
        chosen = named_maps[f"{pair}_{int(before + reach > -(-reach // 8) * 8)}"]
        extent, count, _ = chosen.extents
        # All columns that are there, from first to last element.
        assert [q for q in range(30) if 8 * q + r < columns] == list(range(count))
        assert before + r * ld + length <= extent
        # The farthest element that a box may bring lies in the word of 16 bytes of the last one.
        farthest = (count - 1) * 8 * ld + extent - 1
        assert farthest // 8 <= (before + last - 1) // 8


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=20, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(33, 9000),) * 3),
    trans=st.sampled_from(ORDERS),
    beta=st.sampled_from(("0", "1", "any")),
)
def test_the_default_is_a_member_that_hardware_runs(
    sizes: tuple[int, int, int], trans: str, beta: str
) -> None:
    p = Problem(DTYPES["h"], *sizes, trans[0], trans[1], beta=beta, align=2)
    assert UNALIGNED.accepts(p, H200) is None
    config = UNALIGNED.default(p, H200)
    broken = [rule.name for rule in UNALIGNED.space(p, H200).why(config) if rule.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = UNALIGNED.launch(p, config)
    assert launch.block[0] == 384
    assert 1 <= launch.grid[0] <= min(tiles(p, config["tile_m"], config["tile_n"]), 132)
    assert launch.shared <= H200["shared_per_block_optin"]


@pytest.mark.parametrize("trans", ORDERS)
def test_large_products_get_large_tiles(trans: str) -> None:
    config = UNALIGNED.default(problem(f"h:{trans}:8191x8191x8191"), H200)
    assert config["tile_m"] * config["tile_n"] == 256 * 128
    small = UNALIGNED.default(problem(f"h:{trans}:1023x1023x1023"), H200)
    assert small["tile_m"] * small["tile_n"] <= 128 * 128


def test_a_search_is_told_what_the_default_goes_by() -> None:
    p = problem("b:4095x4095x4095")
    costs, default = UNALIGNED.cost_model(p, H200), UNALIGNED.default(p, H200)
    sampled = costs(UNALIGNED.space(p, H200).sample(48, 1))
    assert (sampled > 0).all()
    assert costs([default])[0] <= sampled.min()


def test_every_hard_rule_removes_what_it_names() -> None:
    space = UNALIGNED.space(problem("h:4095x4095x4095"), H200)
    assert space.why(HIGH) == []
    for name, change in {
        "rows": {"tile_n": 192},
        "sums": {"tile_n": 256},
        "shared-per-block": {"stages": 5},
    }.items():
        assert name in [rule.name for rule in space.why(HIGH.with_(**change))], name


# -- layouts -----------------------------------------------------------------------------------------------
def test_shared_memory_of_a_block() -> None:
    """By hand: lines of 128 bytes for 384 rows and columns, barriers, and columns of C: 64 columns of 256 + 8
    halves, or where both operands are transposed two times 64 of 64 + 8."""
    assert shared_bytes(problem("h:nn:511x511x511"), 256, 128, 4) == 4 * 384 * 128 + 64 * 264 * 2 + 8 * 8
    assert shared_bytes(problem("h:tt:511x511x511"), 128, 256, 4) == 4 * 384 * 128 + 128 * 72 * 2 + 8 * 8


def test_the_model_counts_what_a_product_takes() -> None:
    """A wave more takes longer, and so does a C that is read."""

    def of(text: str, beta: str = "0") -> float:
        config = {name: np.array([value]) for name, value in HIGH.items()}
        return float(clocks(problem(text, beta=beta), H200, config)[0])

    assert of("h:4095x4095x4095") < of("h:4095x4095x4095", "1")
    assert of("h:4095x4095x4095") < of("h:4095x4360x4095")
