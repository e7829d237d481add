"""The space of the stencil of columns that begin anywhere, its copies, its choice without a search."""

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
from tilewright.stencils.cuda.unaligned.needs import (
    COUNTERS,
    THREADS,
    WORDS,
    copied,
    copies,
    shared_bytes,
)
from tilewright.stencils.cuda.unaligned.stencil import ARGUED, UnalignedStencil
from tilewright.targets.cuda.arguments import Scalar, Struct, TensorMap, Workspace
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
        ("h:511x511x511", {"lda": 2**39}, "2^40"),
        ("h:33x33x40000000", {}, "more than 2^31"),
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


# -- copies --------------------------------------------------------------------------------------------------
def test_copies_lie_behind_the_counters_and_maps_are_of_them() -> None:
    """By hand: A is stored 480 x 645 with 487 from column to column, which in the workspace are 512, B 720 x
    480 with 720, which are aligned but for where B begins, and then 768."""
    p = problem("b:tt:645x720x480").with_(lda=487, align=2)
    given, a, b = UNALIGNED.arguments(p, HIGH)
    assert isinstance(given, Struct)
    values = {field.name: field.value for field in given.fields if isinstance(field, Scalar)}
    at = 128 + 2 * 512 * 645
    sizes = {"lda": 487, "ldb": 720, "ldc": 645, "m": 645, "n": 720, "k": 480, "band": 16}
    # Of 60 words of 16 bytes a column, 645 of them, and of 90 each of 480.
    copies = {"to_a": 128, "to_b": at, "parts_a": 13, "parts_b": 15, "together": 1}
    assert values == sizes | copies | {"alpha": None, "beta": None}
    (space,) = (field for field in given.fields if isinstance(field, Workspace))
    assert (space.size, space.zeros) == (at + 2 * 768 * 480, 8)
    maps = [x for x in (a, b) if isinstance(x, TensorMap)]
    assert [(x.space, x.type, x.extents, x.strides, x.box) for x in maps] == [
        (128, "bfloat16", (480, 645, 1), (1024, 1024 * 645), (64, 256, 1)),
        (at, "bfloat16", (720, 480, 1), (1536, 1536 * 480), (64, 64, 1)),
    ]


@settings(max_examples=50, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(33, 3000),) * 3),
    trans=st.sampled_from(ORDERS),
    more=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    align=st.sampled_from((2, 4, 8, 16)),
)
def test_copies_have_room_and_begin_where_maps_take_them(
    sizes: tuple[int, int, int], trans: str, more: tuple[int, int], align: int
) -> None:
    p = Problem(DTYPES["b"], *sizes, trans[0], trans[1])
    p = p.with_(lda=(p.lda or 0) + more[0], ldb=(p.ldb or 0) + more[1], align=align)
    end, made = COUNTERS, copies(p)
    for copy, moves, (length, columns) in zip(made[0], copied(p), p.stored[:2], strict=True):
        if moves:
            assert copy.at >= end
            assert copy.at % 128 == copy.leading % 64 == 0
            assert length <= copy.leading < length + 64
            assert (copy.parts - 1) * WORDS < -(-length // 8) * columns <= copy.parts * WORDS
            end = copy.at + 2 * copy.leading * columns
        else:
            assert copy.parts == 0
    assert made[1] >= end


def test_what_is_aligned_is_not_copied() -> None:
    p = problem("h:nn:645x720x480").with_(lda=648)
    given, a, b = UNALIGNED.arguments(p, HIGH)
    maps = [x for x in (a, b) if isinstance(x, TensorMap)]
    assert [(x.space, x.strides[0], x.promotion) for x in maps] == [(-1, 1296, 128), (-1, 960, 128)]
    assert isinstance(given, Struct)
    assert [x.size for x in given.fields if isinstance(x, Workspace)] == [128]
    defines = dict(UNALIGNED.source(p, HIGH, H200).defines)
    assert (defines["COPY_A"], defines["COPY_B"]) == ("0", "0")
    odd = dict(UNALIGNED.source(p.with_(ldb=481), HIGH, H200).defines)
    assert (odd["COPY_A"], odd["COPY_B"]) == ("0", "1")


def test_parts_are_those_of_the_kernel() -> None:
    said = (Path(module.__file__).parent / "copy.cuh").read_text()
    assert f"EACH = {WORDS // THREADS}, WORDS = EACH * THREADS;" in said


def test_blocks_without_a_tile_copy_too() -> None:
    p = problem("h:nn:65x65x99999")
    assert UNALIGNED.launch(p, UNALIGNED.default(p, H200)).grid == (132, 1, 1)
    assert UNALIGNED.launch(problem("h:nn:65x65x65"), HIGH).grid == (2, 1, 1)


def test_pieces_of_large_operands_are_several_parts() -> None:
    """By hand: two times 8191 columns of 1024 words of 16 bytes in parts of 3072, and eight turns of 132."""
    given, *_ = UNALIGNED.arguments(problem("h:nn:8191x8191x8191"), HIGH)
    assert isinstance(given, Struct)
    values = {field.name: field.value for field in given.fields if isinstance(field, Scalar)}
    assert (values["parts_a"], values["parts_b"], values["together"]) == (2731, 2731, 5)


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
    assert 1 <= launch.grid[0] <= 132
    assert launch.shared <= H200["shared_per_block_optin"]


@pytest.mark.parametrize("trans", ORDERS)
def test_large_products_get_large_tiles(trans: str) -> None:
    config = UNALIGNED.default(problem(f"h:{trans}:8191x8191x8191"), H200)
    assert config["tile_m"] * config["tile_n"] >= 256 * 128
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
        "tile-n": {"tile_n": 64},
        "sums": {"tile_n": 256},
        "shared-per-block": {"stages": 5},
    }.items():
        assert name in [rule.name for rule in space.why(HIGH.with_(**change))], name


# -- layouts -----------------------------------------------------------------------------------------------
def test_shared_memory_of_a_block() -> None:
    """By hand: lines of 128 bytes for 384 rows and columns, 64 columns of C of 256 + 8 halves, barriers, and
    the numbers of pieces."""
    assert shared_bytes(256, 128, 4) == 4 * 384 * 128 + 64 * 264 * 2 + 8 * 8 + 8


def test_the_model_counts_what_a_product_takes() -> None:
    """A wave more takes longer, and so does a C that is read, or an operand that is copied."""

    def of(text: str, beta: str = "0") -> float:
        config = {name: np.array([value]) for name, value in HIGH.items()}
        return float(clocks(problem(text, beta=beta), H200, config)[0])

    assert of("h:4095x4095x4095") < of("h:4095x4095x4095", "1")
    assert of("h:4095x4095x4095") < of("h:4095x4360x4095")
    assert of("h:4095x4096x4096") < of("h:4095x4095x4095")
