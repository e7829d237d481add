"""The space of the stencil of boxes, its choice without a search, and what both promise."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.boxes.stencil as module
from tilewright.model import DTYPES, Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.boxes.cost import clocks
from tilewright.stencils.cuda.boxes.needs import result_bytes, shared_bytes, stage_bytes, tiles
from tilewright.stencils.cuda.boxes.stencil import BoxesStencil
from tilewright.stencils.cuda.common import fitted
from tilewright.stencils.cuda.source import program
from tilewright.targets.cuda.arguments import Struct, TensorMap
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

BOXES = BoxesStencil()
A100, H200 = named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("boxes")[1])["lib/problem.cuh"]


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("b:nt:64x128x80@1000")
    defines = [name for name, _ in BOXES.source(p, BOXES.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    names = [param.name.upper() for param in BOXES.space(p, H200).params]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("s:64x64x64@9", {}, "type s"),
        ("hc:64x64x64@9", {}, "type hc"),
        ("h:264x64x64@9", {}, "not from 33 to 256"),
        ("h:64x64x32@9", {}, "not from 33 to 256"),
        ("h:68x64x64@9", {}, "multiple of 16 bytes"),
        ("h:72x72x72@9", {}, "inside sectors"),
        ("h:60x64x64@9", {"lda": 64, "ldc": 64, "stride_a": 4096, "stride_c": 4096}, "written whole"),
        ("h:64x64x64@9", {"align": 8}, "multiple of 16 bytes"),
        ("h:64x64x64@9", {"stride_b": 64 * 64 + 4}, "multiple of 16 bytes"),
        ("h:64x64x64@9", {"stride_b": -64 * 64}, "backwards"),
        ("h:64x64x64@9", {"stride_a": 2**39}, "2^40"),
        ("h:64x64x64@9", {"stride_c": 64 * 63}, "over each other"),
        ("h:64x64x64@9", {"align": 1}, "not of an element's 2"),
        ("h:256x256x256@100000000", {}, "2^30 tiles"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (BOXES.accepts(problem(text).with_(**fields), H200) or "")


def test_it_needs_warp_groups() -> None:
    p = problem("h:64x64x64@9")
    assert BOXES.accepts(p, H200) is None
    assert "warp groups" in (BOXES.accepts(p, A100) or "")


def test_extents_that_are_contiguous_nowhere_may_be_any() -> None:
    assert BOXES.accepts(problem("h:nn:64x33x128@9"), H200) is None
    assert "16 bytes" in (BOXES.accepts(problem("h:nt:64x33x128@9"), H200) or "")


# -- tensor maps -------------------------------------------------------------------------------------------
def test_maps_are_of_what_is_stored() -> None:
    """By hand: A is stored 48 x 64 and B 72 x 48, with padding; C is 64 x 72; B is shared."""
    p = problem("b:tt:64x72x48@9").with_(lda=56, ldb=80, ldc=64, stride_a=56 * 64, stride_b=0)
    config = Config({"tile_m": 64, "tile_n": 128, "stages": 2, "kept": 1, "blocks": 132})
    given, a, b, c = BOXES.arguments(p, config)
    assert isinstance(given, Struct)
    values = [(field.name, field.value) for field in given.fields]  # type: ignore[union-attr]
    sizes = [("m", 64), ("n", 72), ("k", 48), ("batch", 9)]
    assert values == [*sizes, ("step_a", 1), ("step_b", 0), ("alpha", None), ("beta", None)]
    maps = [x for x in (a, b, c) if isinstance(x, TensorMap)]
    assert [(x.operand, x.type, x.extents, x.strides, x.box) for x in maps] == [
        (0, "bfloat16", (48, 64, 9), (112, 112 * 64), (64, 64, 1)),
        (1, "bfloat16", (72, 48, 1), (160, 160 * 48), (64, 64, 1)),
        (2, "bfloat16", (64, 72, 9), (128, 128 * 72), (64, 128, 1)),
    ]
    plain = BOXES.arguments(p.with_(m=64, trans_a="n", trans_b="n"), config.with_(tile_m=112))
    assert [x.box for x in plain if isinstance(x, TensorMap)] == [(64, 64, 1), (64, 128, 1), (64, 128, 1)]
    assert BOXES.arguments(p, config.with_(tile_m=112))[1].box == (64, 112, 1)  # type: ignore[union-attr]


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=20, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(1, 4),) * 3),
    trans=st.sampled_from(("nn", "nt", "tn", "tt")),
    letter=st.sampled_from("hb"),
    beta=st.sampled_from(("0", "1", "any")),
    batch=st.integers(1, 10**5),
)
def test_the_default_is_a_member_that_hardware_runs(
    sizes: tuple[int, int, int], trans: str, letter: str, beta: str, batch: int
) -> None:
    m, n, k = (64 * x for x in sizes)
    p = Problem(DTYPES[letter], m, n, k, trans[0], trans[1], batch=batch, beta=beta)
    assert BOXES.accepts(p, H200) is None
    config = BOXES.default(p, H200)
    broken = [rule.name for rule in BOXES.space(p, H200).why(config) if rule.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = BOXES.launch(p, config)
    assert launch.block[0] == 2 * config["tile_n"] + 64
    assert 1 <= launch.grid[0] <= batch * tiles(p, config["tile_m"], config["tile_n"])
    assert launch.shared <= H200["shared_per_block_optin"]


def test_a_tile_that_others_follow_is_whole_boxes() -> None:
    p = problem("h:200x64x64@9")
    config = BOXES.default(p, H200)
    for tile_m, fits in ((208, True), (128, True), (112, False), (64, True)):
        broken = [rule.name for rule in BOXES.space(p, H200).why(config.with_(tile_m=tile_m))]
        assert ("tile-box" not in broken) == fits, tile_m


# -- layouts -----------------------------------------------------------------------------------------------
def test_shared_memory_of_a_block() -> None:
    """By hand: boxes of 64 x 64 are 8 KB; A that lies along m comes in whole ones."""
    p = problem("h:nn:144x128x64@9")
    assert stage_bytes(p, 144, 128) == 5 * 8192
    assert stage_bytes(problem("h:tn:144x128x64@9"), 144, 128) == 144 * 128 + 2 * 8192
    assert result_bytes(144, 128) == 3 * 2 * 8192
    assert shared_bytes(p, 144, 128, 3, 2) == 15 * 8192 + 12 * 8192 + 8 * (6 + 4)


def test_the_model_counts_what_a_product_takes() -> None:
    """A C that is read takes longer, and so do more tiles; more on its way takes less."""
    x = fitted("boxes", H200)
    base = {"tile_m": 128, "tile_n": 128, "stages": 2, "kept": 1, "blocks": 132}

    def of(text: str, beta: str = "0", **changes: int) -> float:
        config = {name: np.array([value]) for name, value in (base | changes).items()}
        return float(clocks(problem(text, beta=beta), H200, config, x)[0])

    assert of("h:128x128x128@9") < of("h:128x128x128@9", "1")
    assert of("h:128x128x128@9") < of("h:136x128x128@9")
    assert of("h:128x128x128@9", stages=4) < of("h:128x128x128@9")
