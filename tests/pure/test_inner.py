"""The space of the stencil of long k, its choice without a search, and what both promise."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.inner.stencil as module
from bench.batches.skewed import drawn
from tests.spaces import assert_rules_of_many_are_those_of_each
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.common import fitted
from tilewright.stencils.cuda.inner.cost import clocks
from tilewright.stencils.cuda.inner.needs import inside, shared_bytes, streams, team, tiles, unit_k
from tilewright.stencils.cuda.inner.stencil import InnerStencil
from tilewright.stencils.cuda.source import program
from tilewright.targets.cuda.arguments import Workspace
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

INNER = InnerStencil()
FERMI, A100, H200 = named("fermi-s2050"), named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("inner")[1])["lib/problem.cuh"]


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any that is accepted: types, transpositions, padding, gaps, shared operands, vectors."""
    dtype = draw(st.sampled_from(list(DTYPES.values())))
    m, n, k = draw(st.integers(1, 64)), draw(st.integers(1, 64)), draw(st.integers(65, 5000))
    batch = draw(st.integers(1, 10**5))
    if draw(st.booleans()):
        few = draw(st.sampled_from((1, 1, 3, 12, 40)))
        m, n = draw(st.permutations((few, draw(st.integers(65, 3000)))))
        batch = batch if few == 1 else 1
    ops = "ntcj" if dtype.is_complex else "nt"
    trans = draw(st.sampled_from(ops)), draw(st.sampled_from(ops))
    beta = draw(st.sampled_from(("0", "1", "any")))
    align = draw(st.sampled_from((16, dtype.itemsize)))
    one = Problem(dtype, m, n, k, *trans, batch=batch, beta=beta, align=align)
    lds = {f"ld{x}": (getattr(one, f"ld{x}") or 0) + draw(st.integers(0, 3)) for x in "abc"}
    one = one.with_(m=one.m, **lds)
    shared = draw(st.sampled_from((None, "stride_a", "stride_b")))
    return one.with_(**{shared: 0}) if shared else one


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("hc:ct:5x6x700@1000")
    defines = [name for name, _ in INNER.source(p, INNER.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    names = {param.name.upper() for param in INNER.space(p, H200).params} - {"TILE"}
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert set(re.findall(r"^#ifndef (\w+)$", block, re.M)) == names


@pytest.mark.parametrize(
    ("text", "other"), [("s:9x7x300@100", "s:9x7x1500@20"), ("d:5x6x260@100", "d:5x6x2600@10")]
)
def test_one_program_serves_every_k(text: str, other: str) -> None:
    """The long extent is an argument: neither the text nor what it is kept under depends on it."""
    p, q = problem(text), problem(other)
    config = INNER.default(p, H200)
    assert INNER.source(p, config, H200) == INNER.source(q, config, H200)
    assert {name for name in INNER.compiled(p) if INNER.compiled(p)[name] != INNER.compiled(q)[name]} <= {
        "lda",
        "ldb",
    }


def test_one_program_serves_matrices_of_any_rows_times_a_vector() -> None:
    p, q = problem("s:tn:300x1x500@100"), problem("s:tn:1500x1x900@20")
    config = INNER.default(p, H200)
    assert INNER.source(p, config, H200) == INNER.source(q, config, H200)
    assert INNER.compiled(p)["m"] == INNER.compiled(q)["m"] == "long"


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("s:64x64x64@9", {}, "k = 64"),
        ("s:65x8x300@9", {}, "nor a vector"),
        ("s:65x70x300", {}, "both extents above 64"),
        ("s:300x1x64@9", {}, "k = 64"),
        ("s:8x8x300@9", {"stride_c": 0}, "written to one C"),
        ("d:8x8x300@9", {"align": 4}, "not of an element's 8"),
        ("s:8x8x300@9", {"ldb": 2**29}, "2^31 bytes apart"),
        ("s:4194304x1x80@65536", {}, "2^30 tiles"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (INNER.accepts(problem(text, **fields), H200) or "")


def test_what_it_serves() -> None:
    assert not INNER.pointers
    for text in ("s:64x64x65@9", "s:1x1x65@9", "h:300x1x65@9", "z:1x70x4000@9", "d:9000x64x80"):
        assert INNER.accepts(problem(text), H200) is None
    assert INNER.accepts(problem("s:9x9x300@9"), FERMI) is not None


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=60, deadline=None)
@given(p=problems(), device=st.sampled_from((A100, H200)))
def test_the_default_is_a_member_that_hardware_runs(p: Problem, device: Device) -> None:
    config = INNER.default(p, device)
    space = INNER.space(p, device)
    assert [rule.name for rule in space.why(config) if rule.kind in (*HARDWARE, "hard")] == []
    launch = INNER.launch(p, config)
    assert launch.block[0] == 32 * config["warps"]
    assert 1 <= launch.grid[0] <= config["blocks"]
    assert launch.shared <= device["shared_per_block_optin"]


@settings(max_examples=8, deadline=None)
@given(p=problems())
def test_rules_of_many_configs_are_those_of_each(p: Problem) -> None:
    assert_rules_of_many_are_those_of_each(INNER.space(p, H200))


def test_the_model_counts_what_a_tile_takes() -> None:
    """More rows, a longer k, a C that is read and wider numbers all take more clocks."""
    x = fitted("inner", H200)

    def of(text: str, beta: str = "0") -> float:
        found = clocks(problem(text, beta=beta), H200, {n: np.array([v]) for n, v in BASE.items()}, x)
        return float(found[0])

    assert of("s:8x8x500@1000") < of("s:16x8x500@1000") < of("s:16x8x500@1000", "1")
    assert of("s:8x8x500@1000") < of("s:8x8x900@1000")
    assert of("s:8x8x500@1000") < of("d:8x8x500@1000")


SIZES = {"tile": 0, "depth": 64, "rows": 4, "columns": 4, "warps": 2, "stages": 3, "blocks": 132}
BASE = Config({"path": "async", "mma": 0, "split": 1, "spread": 1} | SIZES)


@pytest.mark.parametrize(
    "text", ["s:tn:1x1x3000000", "z:nt:20x33x100000", "h:nn:5000x1x9000", "d:nn:8x8x50000@9"]
)
@pytest.mark.parametrize("device", [H200, A100])
def test_few_products_are_shared_by_blocks_that_fill_the_device(text: str, device: Device) -> None:
    p = problem(text)
    config = INNER.default(p, device)
    parts = int(tiles(p, config["tile"])) * config["split"] * config["spread"]
    assert device["sms"] / 2 <= parts <= config["blocks"]
    assert INNER.launch(p, config).grid[1] == config["split"] * config["spread"] > 1
    # A batch that fills the device needs no workspace.
    many = p.with_(batch=10**5)
    assert INNER.default(many, device)["spread"] == 1
    assert len(INNER.arguments(many, INNER.default(many, device))) == 1


def test_the_workspace_has_a_counter_for_each_rank_and_sums_of_each_cluster() -> None:
    """By hand: two products of 3 x 5, three clusters of 2 blocks; counters are whole words of 16 bytes."""
    p = problem("z:nn:3x5x900@2")
    config = INNER.default(p, H200).with_(split=2, spread=3)
    assert INNER.arguments(p, config)[1] == Workspace("workspace", 16 + 2 * 3 * 15 * 16, 16)


# -- layouts -----------------------------------------------------------------------------------------------
def test_slabs_without_padding() -> None:
    assert streams(problem("s:nt:9x8x300")) == (True, True)
    assert streams(problem("s:tn:9x8x300")) == (False, False)
    assert streams(problem("s:nt:9x8x300", lda=10)) == (False, True)
    # Of a long vector's matrix a tile is not all of a column.
    assert streams(problem("s:nt:300x1x300")) == (False, True)
    assert [unit_k(problem(f"s:tn:9x8x{k}")) for k in (300, 302, 301)] == [4, 2, 1]
    assert unit_k(problem("s:nt:9x8x300")) == 1


def test_teams_and_shared_memory() -> None:
    """By hand: float32, 9 x 8 of C in parts of 3 x 4: six of them, five times in a warp. Runs along k are 8
    words of 4 bytes apart, modulo 32."""
    p = problem("s:tt:9x8x301@100")
    assert (int(team(p, 0, 0, 3, 4)), int(inside(p, 0, 0, 3, 4))) == (1, 5)
    assert (int(team(p, 0, 0, 1, 1)), int(inside(p, 0, 0, 1, 1))) == (3, 1)
    along, stream = 9 * (64 + 8) * 4, (8 * 64 + 4) * 4
    stage = -(-along // 128) * 128 + -(-stream // 128) * 128
    assert shared_bytes(p, "bulk", 0, 0, 64, 3, 4, 2, 3) == 128 + 3 * stage + 2 * 72 * 4 + 16
    assert shared_bytes(p, "async", 0, 0, 64, 3, 4, 1, 3) == 3 * stage + 72 * 4 + 16


# -- what is drawn to measure it ---------------------------------------------------------------------------
def test_vectors_are_drawn_beside_long_extents() -> None:
    found = list(drawn("s", "0", 20, 1, "v"))
    assert all(min(p.m, p.n) == 1 and sorted((p.m, p.n, p.k))[1] > 64 for p in found)
    assert all(INNER.accepts(p, H200) is None for p in found)
    assert all(max(p.m, p.n) <= 64 < p.k for p in drawn("s", "0", 20, 1, "k"))
