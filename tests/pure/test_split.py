"""The stencil of batches of float32 as sums of bfloat16: its space, its arguments, its choice without a
search, and what calls run by what was measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.split.stencil as module
from tilewright.model import DTYPES, EMULATED, Config, Problem
from tilewright.planning import dispatch, neighbours
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.source import program
from tilewright.stencils.cuda.split.needs import GROUPS, SPLITTERS, THREADS, wide
from tilewright.stencils.cuda.split.stencil import ARGUED, SplitStencil
from tilewright.targets.cuda.arguments import Scalar, Struct
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

STENCIL = SplitStencil()
A100, H200 = named("a100"), named("h200")
FOLDER = Path(module.__file__).parent
KERNEL = (FOLDER / "kernel.cuh").read_text()
PROBLEM = dict(program("split")[1])["lib/problem.cuh"]
HIGH = Config({"tile_m": 128, "stages": 6, "band": 2048, "blocks": 132})


def problem(text: str, math: str = "bf16x6", **fields: Any) -> Problem:
    return Problem.parse(text, math=math, **fields)[0]


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("s:nt:51x103x81@9")
    defines = [name for name, _ in STENCIL.source(p, STENCIL.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    names = [param.name.upper() for param in STENCIL.space(p, H200).params if param.name not in ARGUED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


def test_hard_rules_are_said_in_the_same_words() -> None:
    said = dict(re.findall(r'static_assert\(.*, "([\w-]+): (.*)"\);', KERNEL))
    rules = [rule for rule in STENCIL.space(problem("s:95x95x95@9"), H200).rules if rule.kind == "hard"]
    assert [rule.name for rule in rules] == ["ring"]
    assert said["ring"] == rules[0].why


def test_threads_and_their_registers_are_those_of_the_kernel() -> None:
    layout = (FOLDER / "layout.cuh").read_text()
    assert f"GROUPS = {GROUPS}, WARPS = 4 * GROUPS, SPLITTERS = {SPLITTERS}," in layout
    given_, taken = (int(re.search(rf"registers_{x}<(\d+)>", KERNEL)[1]) for x in ("given", "taken"))  # type: ignore[index]
    assert given_ * SPLITTERS + taken * 128 * GROUPS == THREADS * (H200["registers_per_sm"] // THREADS)


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "math", "fields", "reason"),
    [
        ("d:51x51x51@9", "bf16x6", {}, "type d"),
        ("s:51x51x51@9", "ieee", {}, "products in ieee are not made of bfloat16; bf16x3 and bf16x6 are"),
        ("s:51x51x51@9", "tf32", {}, "products in tf32"),
        ("s:51x51x51", "bf16x3", {}, "one product; this is for batches, and emulated"),
        ("s:51x51x51@9", "bf16x3", {"align": 2}, "not of an element's 4"),
        ("s:51x51x51@9", "bf16x3", {"stride_c": 0}, "written to one C"),
        ("s:5x5x5@9000000", "bf16x6", {}, "9000000 products of 5x5x5 side by side"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, math: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (STENCIL.accepts(problem(text, math).with_(**fields), H200) or "")


def test_it_needs_warp_groups_and_takes_columns_that_begin_anywhere() -> None:
    assert "warp groups" in (STENCIL.accepts(problem("s:51x51x51@9"), A100) or "")
    for text in ("s:1x1x1@2", "c:cj:5x7x9@9", "s:tt:97x4099x33@9"):
        assert STENCIL.accepts(problem(text), H200) is None


# -- arguments --------------------------------------------------------------------------------------------
def test_tiles_of_a_batch_are_those_of_one_matrix() -> None:
    p = problem("c:nt:65x70x80@9").with_(lda=67, stride_a=67 * 80, stride_b=0)
    product, _ = STENCIL.arguments(p, HIGH)
    assert isinstance(product, Struct)
    values = {field.name: field.value for field in product.fields if isinstance(field, Scalar)}
    # 140 columns of real numbers are two tiles, of nine products.
    assert values == {
        "lda": 67,
        "ldb": 70,
        "ldc": 65,
        "stride_a": 67 * 80,
        "stride_b": 0,
        "stride_c": 65 * 70,
        "m": 65,
        "n": 9 * 256,
        "k": 160,
        "band": 16,
        "columns": 140,
        "across": 256,
        "alpha": None,
        "beta": None,
    }
    assert STENCIL.launch(p, HIGH).grid == (18, 1, 1)
    assert STENCIL.launch(p, HIGH.with_(tile_m=64)).grid == (36, 1, 1)


@pytest.mark.parametrize(
    ("text", "fields", "words"),
    [
        ("s:nn:64x64x64@9", {}, (True, True)),
        ("s:nn:66x64x62@9", {}, (False, False)),
        ("s:tn:66x62x64@9", {}, (True, True)),
        ("s:nn:64x64x64@9", {"lda": 66}, (False, True)),
        ("s:nn:64x64x64@9", {"stride_b": 4098}, (True, False)),
        ("s:nn:64x64x64@9", {"align": 8}, (False, False)),
        # Words of 16 bytes would be read beyond the last row.
        ("s:nn:66x64x64@9", {"lda": 68, "stride_a": 68 * 64}, (False, True)),
        ("c:nn:66x64x63@9", {}, (True, False)),
    ],
)
def test_words_are_read_where_columns_are_whole_ones(
    text: str, fields: dict[str, int], words: tuple[bool, bool]
) -> None:
    p = problem(text).with_(m=problem(text).m, **fields)
    assert (wide(p, 0), wide(p, 1)) == words


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=20, deadline=None)
@given(
    letter=st.sampled_from("sc"),
    sizes=st.tuples(*(st.integers(1, 900),) * 3),
    batch=st.integers(2, 5000),
    trans=st.sampled_from(("nn", "nt", "tn", "tt")),
    beta=st.sampled_from(("0", "1", "any")),
    way=st.sampled_from([*EMULATED]),
)
def test_the_default_is_a_member_that_hardware_runs(
    letter: str, sizes: tuple[int, int, int], batch: int, trans: str, beta: str, way: str
) -> None:
    p = Problem(DTYPES[letter], *sizes, trans[0], trans[1], batch=batch, beta=beta, math=way)
    assert STENCIL.accepts(p, H200) is None
    config = STENCIL.default(p, H200)
    broken = [rule.name for rule in STENCIL.space(p, H200).why(config) if rule.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = STENCIL.launch(p, config)
    assert launch.block[0] == THREADS
    assert 1 <= launch.grid[0] <= 132
    assert launch.shared <= H200["shared_per_block_optin"]


def test_higher_tiles_are_for_more_rows() -> None:
    assert STENCIL.default(problem("s:64x64x64@9999"), H200)["tile_m"] == 64
    assert STENCIL.default(problem("s:256x256x256@99"), H200)["tile_m"] == 128
    # Where both operands come number by number threads have no registers for them.
    assert STENCIL.default(problem("s:255x255x255@99"), H200)["tile_m"] == 64
    assert STENCIL.default(problem("s:nt:255x255x255@99"), H200)["tile_m"] == 128


def test_a_search_is_told_what_the_default_goes_by() -> None:
    p = problem("s:95x95x95@4000")
    costs, default = STENCIL.cost_model(p, H200), STENCIL.default(p, H200)
    assert costs is not None
    sampled = costs(STENCIL.space(p, H200).sample(20, 1))
    assert (sampled > 0).all()
    assert costs([default])[0] <= sampled.min()


# -- what calls run ------------------------------------------------------------------------------------
def test_calls_run_it_where_it_was_measured_to_gain() -> None:
    for text, way, runs in (
        ("s:256x256x256@600", "bf16x6", True),
        ("c:128x128x128@1000", "bf16x3", True),
        ("s:8x8x8@100000", "bf16x3", False),
        ("s:33x33x33@20000", "bf16x6", False),
    ):
        p = problem(text, way)
        assert (dispatch.plan(p, H200).stencil == "split") == runs, text
        if not runs:
            assert dispatch.allowed(p, H200) == dispatch.plan(p.with_(math="ieee"), H200)


def test_points_are_of_a_math() -> None:
    """Three products of parts gain where six do not."""
    gains = {
        way: neighbours.standing("split", problem("s:100x100x100@4000", way), "memory", H200)
        for way in EMULATED
    }
    assert gains["bf16x3"] is not None
    assert gains["bf16x6"] is not None
    assert gains["bf16x3"][1] > gains["bf16x6"][1]
    assert neighbours.standing("split", problem("s:100x100x100@4000", "ieee"), "memory", H200) == (False, 0.0)
