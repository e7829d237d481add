"""The space of the stencil of products of middle size, its choice without a search, and what both promise."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.middle.stencil as module
from tests.spaces import assert_rules_of_many_are_those_of_each
from tilewright.model import DTYPES, Config, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.middle.cost import clocks
from tilewright.stencils.cuda.middle.needs import TYPES, exchanged, items, shared_bytes, warps
from tilewright.stencils.cuda.middle.space import tiles
from tilewright.stencils.cuda.middle.stencil import LARGEST, MiddleStencil
from tilewright.stencils.cuda.source import LAUNCHED, program
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

MIDDLE = MiddleStencil()
FERMI, A100, H200 = named("fermi-s2050"), named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("middle")[1])["lib/problem.cuh"]


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any that is accepted: types, transpositions, padding, gaps, shared operands."""
    dtype = DTYPES[draw(st.sampled_from(TYPES))]
    sizes = [draw(st.integers(least, LARGEST)) for least in (1, 33, 33)]
    ops = "ntcj" if dtype.is_complex else "nt"
    m, n, k = draw(st.permutations(sizes))
    one = Problem(
        dtype,
        m,
        n,
        k,
        draw(st.sampled_from(ops)),
        draw(st.sampled_from(ops)),
        batch=draw(st.integers(1, 10**5)),
        beta=draw(st.sampled_from(("0", "1", "any"))),
        align=draw(st.sampled_from((16, dtype.itemsize))),
    )
    lds = {f"ld{x}": (getattr(one, f"ld{x}") or 0) + draw(st.integers(0, 3)) for x in "abc"}
    one = one.with_(m=one.m, **lds)
    shared = draw(st.sampled_from((None, "stride_a", "stride_b")))
    return one.with_(**{shared: 0}) if shared else one


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("z:ct:50x60x70@1000")
    defines = [name for name, _ in MIDDLE.source(p, MIDDLE.default(p, H200), H200).defines]
    known = set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)) - {"BRAIN"}
    assert sorted(defines) == sorted(known)
    names = [param.name.upper() for param in MIDDLE.space(p, H200).params if param.name not in LAUNCHED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("h:64x64x64@9", {}, "type h is not one of s, d, c, z"),
        ("s:32x64x32@9", {}, "has not two extents of 33 or more"),
        ("s:300x65x64@9", {}, "not alone above 64"),
        ("s:64x64x300@9", {}, "above 160 that is k"),
        ("s:64x64x64@9", {"stride_c": 0}, "written to one C"),
        ("d:64x64x64@9", {"align": 4}, "not of an element's 8"),
        ("s:64x64x64@9", {"ldc": 2**25}, "32 bits"),
        ("s:64x64x64@300000000", {}, "2^30 tiles"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (MIDDLE.accepts(problem(text, **fields), H200) or "")


def test_two_extents_of_middle_size_are_enough() -> None:
    assert not MIDDLE.pointers
    for size in ("33x33x1", "33x1x33", "1x33x33", "160x160x160", "33x4000x20", "4000x33x64"):
        assert MIDDLE.accepts(problem(f"s:{size}@9"), H200) is None
    assert MIDDLE.accepts(problem("s:64x64x64@9"), FERMI) is not None


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=20, deadline=None)
@given(p=problems(), device=st.sampled_from((A100, H200)))
def test_the_default_is_a_member_that_hardware_runs(p: Problem, device: object) -> None:
    assert MIDDLE.accepts(p, device) is None
    config = MIDDLE.default(p, device)
    broken = [r.name for r in MIDDLE.space(p, device).why(config) if r.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = MIDDLE.launch(p, config)
    assert launch.block[0] % 32 == 0
    count = int(items(p, config["tile_m"], config["tile_n"]))
    assert 1 <= launch.grid[0] <= count
    assert launch.grid[0] <= config["blocks"] or launch.grid[0] == -(-count // config["per_block"])
    assert launch.shared <= device["shared_per_block_optin"]


@settings(max_examples=10, deadline=None)
@given(p=problems())
def test_rules_of_many_configs_are_those_of_each(p: Problem) -> None:
    assert_rules_of_many_are_those_of_each(MIDDLE.space(p, H200))


def test_blocks_end_where_a_batch_lasts() -> None:
    """Not those of larger products, and not where the second-level cache holds much of the batch."""
    for text, ends in (
        ("d:tn:45x45x45@14000", True),
        ("s:nn:35x35x35@47619", True),
        ("d:tn:45x45x45@2500", False),
        ("d:tn:96x96x96@4000", False),
        ("z:nt:64x64x64@3560", False),  # one block on an SM
    ):
        p = problem(text)
        config = MIDDLE.default(p, H200)
        assert (config["per_block"] > 0) is ends, (text, config)
        assert MIDDLE.space(p, H200).member(config) is None
        stays = config.with_(per_block=0)
        assert MIDDLE.launch(p, stays).grid[0] == config["blocks"]
        model = MIDDLE.cost_model(p, H200)
        assert model is not None
        assert model([stays.with_(per_block=4)])[0] != model([stays])[0]
        if ends:
            assert MIDDLE.launch(p, config).grid[0] == -(-p.batch // config["per_block"])
            assert model([config])[0] < model([stays])[0]


def test_the_model_counts_what_a_product_takes() -> None:
    """A longer k takes more clocks, and so does a C that is read, fewer blocks, or a shorter ring."""

    def of(text: str, beta: str = "0", **changes: int) -> float:
        p = problem(text, beta=beta)
        config = {name: np.array([value]) for name, value in {**BASE, **changes}.items()}
        return float(clocks(p, H200, config)[0])

    assert of("s:64x64x40@1000") < of("s:64x64x64@1000") < of("s:64x64x64@1000", "1")
    assert of("s:64x64x64@1000") < of("s:64x64x64@1000", blocks=132)
    # A longer ring hides more of the wait for memory, and five warps take nearly as long as eight.
    assert of("s:64x64x64@1000", stages=3) < of("s:64x64x64@1000")
    five, eight = (of(f"z:64x{n}x160@1000", **TENSOR, tile_n=n) for n in (40, 64))
    assert 0.85 * eight < five < eight


BASE = Config(
    {
        "tile_m": 64,
        "tile_n": 64,
        "depth": 32,
        "mma": 0,
        "rows": 8,
        "columns": 8,
        "deep": 2,
        "stages": 2,
        "blocks": 528,
    }
)

TENSOR = {"mma": 16, "rows": 64, "columns": 8, "deep": 1, "blocks": 132}
"""A warp of tensor cores for every eight columns."""


# -- layouts -----------------------------------------------------------------------------------------------
def test_tiles_are_all_of_an_extent_or_whole_vectors() -> None:
    p = problem("s:63x100x50@9")
    assert tiles(p, 63) == [32, 63]
    assert tiles(p, 100) == [28, 36, 52, 100]
    assert tiles(problem("z:63x100x50@9"), 63) == [32, 63]


def test_shared_memory_of_a_ring() -> None:
    """By hand: float32, 63 rows and 50 columns in parts of 8 x 4, which are held as 64 and 52; 16 columns of
    68 elements and 52 columns of 20 in each of three stages, and 512 bytes for each of four warps."""
    p = problem("s:63x50x64@100")
    assert exchanged(p)
    # 8 parts of rows, and 13 of columns, which are rounded up to pairs: 112 threads.
    assert warps(p, 63, 50, 8, 4) == 4
    assert shared_bytes(p, 63, 50, 16, 8, 4, 3) == 3 * (16 * 68 + 52 * 20) * 4 + 4 * 512
    # With aligned vectors of C nothing is exchanged.
    assert shared_bytes(problem("s:64x50x64@100"), 64, 50, 16, 8, 4, 3) == 3 * (16 * 68 + 52 * 20) * 4
    # Float64, one warp for 64 x 16: eight columns of 66 elements.
    d = problem("d:63x16x64@100")
    assert shared_bytes(d, 63, 16, 16, 64, 16, 2) == 2 * (16 * 68 + 16 * 20) * 8 + 8 * 66 * 8
