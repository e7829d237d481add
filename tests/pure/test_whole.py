"""The space of the stencil of whole 16-bit matrices, its choice without a search, and what both promise."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.whole.stencil as module
from tests.spaces import assert_rules_of_many_are_those_of_each
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.common import fitted
from tilewright.stencils.cuda.source import LAUNCHED, program
from tilewright.stencils.cuda.whole.cost import clocks
from tilewright.stencils.cuda.whole.needs import boxed, parts, pieces, shared_bytes, turns
from tilewright.stencils.cuda.whole.stencil import WholeStencil
from tilewright.targets.cuda.arguments import Struct, TensorMap
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

WHOLE = WholeStencil()
FERMI, A100, H200 = named("fermi-s2050"), named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("whole")[1])["lib/problem.cuh"]


REFUSED = "shared memory|even halves|even numbers|computed together|no room"


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Most are accepted: both types, transpositions, gaps and shared operands, odd addresses."""
    if draw(st.booleans()):
        sizes = {name: draw(st.integers(65, 200)) for name in "mnk"}
        sizes[draw(st.sampled_from("mnk"))] = draw(st.integers(33, 130))
    else:
        # One long extent.
        sizes = {name: draw(st.integers(2, 64)) for name in "mnk"}
        sizes[draw(st.sampled_from("mnk"))] = draw(st.integers(65, 4096))
    p = Problem(
        DTYPES[draw(st.sampled_from("hb"))],
        sizes["m"],
        sizes["n"],
        sizes["k"],
        draw(st.sampled_from("nt")),
        draw(st.sampled_from("nt")),
        batch=draw(st.integers(1, 10**5)),
        beta=draw(st.sampled_from(("0", "1", "any"))),
        align=draw(st.sampled_from((16, 2))),
    )
    strides = {f"stride_{x}": s + draw(st.integers(0, 3)) for x, s in zip("abc", p.strides, strict=True)}
    shared = draw(st.sampled_from(({}, {"stride_a": 0}, {"stride_b": 0})))
    return p.with_(**strides | shared)


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("b:nt:37x60x47@1000")
    defines = [name for name, _ in WHOLE.source(p, WHOLE.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    names = [param.name.upper() for param in WHOLE.space(p, H200).params if param.name not in LAUNCHED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("s:67x67x67@9", {}, "type s"),
        ("c:67x67x67@9", {}, "type c"),
        ("hc:tn:67x67x67@9", {}, "complex operands are transposed"),
        ("hc:nn:67x67x67@9", {"beta": "any"}, "beta is neither"),
        ("h:257x99x67@9", {}, "not from 33 to 256"),
        ("h:75x99x32@9", {}, "not from 33 to 256"),
        ("h:75x64x1@9", {}, "not from 33 to 256"),
        ("h:4097x64x2@9", {}, "not from 33 to 256"),
        ("hc:nn:75x20x20@9", {}, "not from 33 to 256"),
        ("h:nt:9x1100x9@9", {}, "not computed together"),
        ("h:nt:4000x33x3@9", {}, "shared memory"),
        ("h:255x99x255@9", {}, "no room"),
        ("h:67x67x67@9", {"lda": 68}, "padding"),
        ("h:67x67x67@9", {"stride_b": -67 * 67}, "backwards"),
        ("h:72x72x72@9", {"stride_b": 2**39}, "2^40"),
        ("h:67x67x67@9", {"stride_c": 67 * 67 - 1}, "over each other"),
        ("h:nt:201x255x201@9", {}, "shared memory"),
        ("hc:nn:128x80x80@9", {}, "which has 256 at most"),
        ("h:50x50x50@9", {}, "tiny matrices"),
        ("hc:nn:50x50x50@9", {}, "tiny matrices"),
        ("h:72x72x80@9", {}, "even numbers of words"),
        ("h:72x72x72@9", {"lda": 80}, "padding"),
        ("h:200x200x200@9", {}, "shared memory"),
        ("h:126x126x126@9", {}, "even halves"),
        ("h:67x67x67@9", {"align": 1}, "not of an element's 2"),
        ("h:67x67x67@1073741825", {}, "over 2^30"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (WHOLE.accepts(problem(text).with_(**fields), H200) or "")


def test_it_needs_bulk_copies() -> None:
    p = problem("h:67x67x67@9")
    assert WHOLE.accepts(p, H200) is None
    assert "bulk copies" in (WHOLE.accepts(p, A100) or "")
    assert WHOLE.accepts(p, FERMI) is not None


# -- the choice --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text", ["h:nt:9x25x1777@9", "b:nn:9x29x2955@9", "h:tn:11x43x4075@9", "b:tn:3x36x3972@9"]
)
def test_a_long_k_that_leaves_little_room_is_refused_or_has_a_default(text: str) -> None:
    for beta, align in itertools.product("01", (2, 16)):
        p = problem(text, beta=beta, align=align)
        if "shared memory" not in (WHOLE.accepts(p, H200) or ""):
            config = WHOLE.default(p, H200)
            assert WHOLE.launch(p, config).shared <= H200["shared_per_block_optin"]


@settings(max_examples=15, deadline=None)
@given(p=problems())
def test_the_default_is_a_member_that_hardware_runs(p: Problem) -> None:
    if WHOLE.accepts(p, H200) is not None:
        assert re.search(REFUSED, WHOLE.accepts(p, H200) or "")
        return
    config = WHOLE.default(p, H200)
    broken = [rule.name for rule in WHOLE.space(p, H200).why(config) if rule.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = WHOLE.launch(p, config)
    assert launch.block[0] == 32 * config["warps"] + 32
    assert 1 <= launch.grid[0] <= p.batch
    assert launch.shared <= H200["shared_per_block_optin"]


@settings(max_examples=6, deadline=None)
@given(p=problems())
def test_rules_of_many_configs_are_those_of_each(p: Problem) -> None:
    assert_rules_of_many_are_those_of_each(WHOLE.space(p, H200), 10)


# -- layouts -----------------------------------------------------------------------------------------------
def test_parts_turns_and_pieces() -> None:
    p = problem("h:63x65x47@9")
    assert parts(p, 256, 32, 24) == 2 * 3
    assert parts(p, 32, 32, 24) == 2 * 2
    assert turns(p, 256, 32, 24, 4) == 2
    # Columns of 126 bytes: 16 of them in 2 KB, and one where not even that has room.
    assert pieces((63, 47), 2048) == 3
    assert pieces((63, 47), 100) == 47


def test_complex_numbers_are_pairs_of_rows() -> None:
    """By hand: 40 x 44 complex are 80 x 44 numbers, ten words of 16 bytes high; B has 88, eleven words."""
    p = problem("hc:nn:40x68x44@9")
    assert WHOLE.accepts(p, H200) is None
    assert boxed(p) == (True, False, True)
    gemm, a, b, c = WHOLE.arguments(p, WHOLE.default(p, H200))
    assert isinstance(gemm, Struct)
    values = {field.name: getattr(field, "value", None) for field in gemm.fields}
    assert [values[name] for name in ("m", "n", "k", "lda", "ldb", "ldc", "stride_a")] == [
        *(80, 68, 44, 80, 88, 80, 80 * 44)
    ]
    maps = [x for x in (a, b, c) if isinstance(x, TensorMap)]
    assert [(x.type, x.extents, x.box) for x in maps] == [
        ("float16", (80, 44, 9), (88, 44, 1)),
        ("float16", (88, 68, 9), (88, 68, 1)),
        ("float16", (80, 68, 9), (88, 68, 1)),
    ]
    padded = p.with_(ldb=48, stride_b=48 * 68)
    assert boxed(padded) == (True, True, True)
    assert WHOLE.accepts(padded, H200) is None
    defines = dict(WHOLE.source(p, WHOLE.default(p, H200), H200).defines)
    assert (defines["PAIRS"], defines["COMPLEX"], defines["SIZE_M"], defines["SIZE_K"]) == (
        "1",
        "0",
        "80",
        "44",
    )


def test_shared_memory_of_a_product() -> None:
    """By hand: columns of 63 rows at 72 elements, 47 of which tensor cores read 48; C instead of A and B."""
    p = problem("h:63x63x47@9")
    a = -(-48 * 72 * 2 // 128) * 128
    b = -(-64 * 56 * 2 // 128) * 128
    slot = -(-(63 * 16 * 2 + 32) // 128) * 128
    c = -(-(63 * 63 * 2 + 32) // 128) * 128
    assert shared_bytes(p, 64, 32, 32, 4, 2, 2048) == 128 + 2 * slot + a + b
    # Two turns read A and B again, and what is updated comes first.
    assert shared_bytes(p, 64, 32, 32, 2, 2, 2048) == 128 + 2 * slot + a + b + c
    assert shared_bytes(p.with_(beta="1"), 64, 32, 32, 4, 2, 2048) == 128 + 2 * slot + a + b + c


def test_the_model_counts_what_a_product_takes() -> None:
    """A C that is read takes longer, and so do columns at odd halves, more blocks take less."""
    x = fitted("whole", H200)
    base = {"tile": 128, "rows": 32, "columns": 32, "warps": 4, "piece": 8192, "stages": 2, "blocks": 132}

    def of(text: str, beta: str = "0", **changes: int) -> float:
        config = {name: np.array([value]) for name, value in (base | changes).items()}
        return float(clocks(problem(text, beta=beta), H200, config, x)[0])

    assert of("h:96x96x95@9") < of("h:96x96x95@9", "1")
    assert of("h:64x64x48@9") < of("h:63x63x47@9") < of("h:95x95x95@9")
    assert of("h:63x63x47@9", blocks=264) < of("h:63x63x47@9")
