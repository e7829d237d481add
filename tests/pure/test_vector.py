"""The space of the stencil of matrices times vectors, its choice without a search, and what both promise."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.vector.stencil as module
from bench.batches.skewed import drawn
from tests.spaces import assert_rules_of_many_are_those_of_each
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.source import program
from tilewright.stencils.cuda.vector.cost import cost
from tilewright.stencils.cuda.vector.needs import (
    along,
    covered,
    held,
    is_row,
    least_lanes,
    length,
    runs,
    share,
    shared_bytes,
    strided,
    tile,
    unit,
    unit_run,
    unit_x,
)
from tilewright.stencils.cuda.vector.stencil import VectorStencil
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

VECTOR = VectorStencil()
FERMI, A100, H200 = named("fermi-s2050"), named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("vector")[1])["lib/problem.cuh"]


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any that is accepted: types, transpositions, padding, gaps, shared operands."""
    dtype = draw(st.sampled_from(list(DTYPES.values())))
    extents = draw(st.permutations((draw(st.integers(2, 5000)), draw(st.integers(65, 5000)))))
    m, n = draw(st.permutations((1, extents[0])))
    ops = "ntcj" if dtype.is_complex else "nt"
    trans = draw(st.sampled_from(ops)), draw(st.sampled_from(ops))
    beta = draw(st.sampled_from(("0", "1", "any")))
    align = draw(st.sampled_from((16, dtype.itemsize)))
    batch = draw(st.integers(1, 10**5))
    one = Problem(dtype, m, n, extents[1], *trans, batch=batch, beta=beta, align=align)
    lds = {f"ld{x}": (getattr(one, f"ld{x}") or 0) + draw(st.integers(0, 3)) for x in "abc"}
    one = one.with_(m=one.m, **lds)
    shared = draw(st.sampled_from((None, "stride_a", "stride_b")))
    return one.with_(**{shared: 0}) if shared else one


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("hc:ct:500x1x700@1000")
    defines = [name for name, _ in VECTOR.source(p, VECTOR.default(p, H200), H200).defines]
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)))
    names = {param.name.upper() for param in VECTOR.space(p, H200).params}
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert set(re.findall(r"^#ifndef (\w+)$", block, re.M)) == names | {"BLOCKS"}


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("s:nn:300x1x500@100", "s:nn:1500x1x900@20"),
        ("d:tn:301x1x501@100", "d:tn:77x1x903@20"),
        ("h:1x300x500@100", "h:1x804x908@20"),
    ],
)
def test_one_program_serves_every_size(text: str, other: str) -> None:
    """Extents are arguments: neither the text nor what it is kept under depends on them."""
    p, q = problem(text), problem(other)
    config = VECTOR.default(p, H200).with_(lanes=16, words=1)
    assert VECTOR.source(p, config, H200) == VECTOR.source(q, config, H200)
    assert VECTOR.compiled(p) == VECTOR.compiled(q)


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("s:65x2x300@9", {}, "neither operand is a vector"),
        ("s:1x1x300@9", {}, "one number"),
        ("s:64x1x64@9", {}, "tiny matrices"),
        ("s:80x1x300@9", {"stride_c": 0}, "written to one C"),
        ("d:80x1x300@9", {"align": 4}, "not of an element's 8"),
        ("s:4194304x1x80@65536", {}, "2^31 elements"),
        ("s:1x2147483647x80", {}, "2^31 or close to it"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    assert reason in (VECTOR.accepts(problem(text, **fields), H200) or "")


def test_what_it_serves() -> None:
    assert not VECTOR.pointers
    for text in ("s:65x1x2@9", "s:1x3x65@9", "h:300x1x65", "z:1x70x4000@9"):
        assert VECTOR.accepts(problem(text), H200) is None
    assert VECTOR.accepts(problem("s:90x1x300@9"), FERMI) is not None


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=60, deadline=None)
@given(p=problems(), device=st.sampled_from((A100, H200)))
def test_the_default_is_a_member_that_hardware_runs(p: Problem, device: Device) -> None:
    config = VECTOR.default(p, device)
    space = VECTOR.space(p, device)
    assert [rule.name for rule in space.why(config) if rule.kind in (*HARDWARE, "hard")] == []
    launch = VECTOR.launch(p, config)
    assert launch.block[0] == 32 * config["warps"]
    # Every element of C is in one tile.
    split = config["split"]
    of_tile = {name: value for name, value in config.items() if name != "split"}
    of_each = -(-max(p.m, p.n) // int(tile(p, **of_tile)))
    assert (launch.grid, launch.cluster) == ((p.batch * of_each, split, 1), split)
    assert split == 1 or device is H200


@settings(max_examples=8, deadline=None)
@given(p=problems())
def test_rules_of_many_configs_are_those_of_each(p: Problem) -> None:
    assert_rules_of_many_are_those_of_each(VECTOR.space(p, H200))


def test_the_model_counts_what_a_batch_takes() -> None:
    """More runs, longer ones, a C that is read and wider numbers all take more clocks."""

    def of(text: str, beta: str = "0") -> float:
        return float(cost(problem(text, beta=beta), H200, {n: np.array([v]) for n, v in BASE.items()})[0])

    for trans in ("nn", "tn"):
        assert of(f"s:{trans}:80x1x500@9000") < of(f"s:{trans}:800x1x500@9000")
        assert of(f"s:{trans}:80x1x500@9000") < of(f"s:{trans}:80x1x500@9000", "1")
        assert of(f"s:{trans}:80x1x500@9000") < of(f"s:{trans}:80x1x900@9000")
        assert of(f"s:{trans}:80x1x500@9000") < of(f"d:{trans}:80x1x500@9000")


BASE = Config({"lanes": 8, "runs": 4, "words": 2, "warps": 4, "turns": 1, "split": 1})


def test_few_long_sums_are_shared_by_clusters() -> None:
    for text in ("s:nn:300x1x9000", "s:tn:65x1x16000", "d:1x100x12000@2"):
        assert VECTOR.default(problem(text), H200)["split"] > 1
        assert VECTOR.default(problem(text), A100)["split"] == 1
    for text in ("s:nn:300x1x900@9000", "s:tn:300x1x900@9000"):
        assert VECTOR.default(problem(text), H200)["split"] == 1


# -- layouts -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "row", "sums", "count", "long"),
    [
        ("s:nn:300x1x500", False, False, 500, 300),
        ("s:tn:300x1x500", False, True, 300, 500),
        ("s:nn:1x300x500", True, True, 300, 500),
        ("s:nt:1x300x500", True, False, 500, 300),
    ],
)
def test_which_operand_is_the_matrix_and_how_its_runs_lie(
    text: str, row: bool, sums: bool, count: int, long: int
) -> None:
    p = problem(text)
    assert (is_row(p), along(p), runs(p), length(p)) == (row, sums, count, long)


def test_where_runs_begin_in_a_word() -> None:
    assert [unit(problem(f"h:tn:70x1x{k}")) for k in (304, 300, 302, 301)] == [16, 8, 4, 2]
    assert [unit_run(problem(f"s:tn:70x1x{k}")) for k in (304, 302)] == [4, 1]
    # Padding brings each run to the beginning of a word, and the last word of it is not whole.
    assert [unit_run(problem("s:tn:70x1x302", lda=304)), unit(problem("s:tn:70x1x302", lda=304))] == [2, 16]
    assert [unit_x(problem(f"s:{trans}:70x1x304@9")) for trans in ("tn", "tt", "nn")] == [16, 16, 4]
    assert [unit_x(problem("s:tn:70x1x304@9", stride_b=stride)) for stride in (306, 0)] == [4, 16]
    # A vector that is stored as a row among others is read element by element.
    found = [problem("s:tt:70x1x304@9", ldb=ld) for ld in (1, 7)] + [problem("s:1x70x304@9", lda=2)]
    assert [(strided(p), unit_x(p)) for p in found] == [(False, 16), (True, 4), (True, 4)]


def test_tiles_by_hand() -> None:
    """float32, four warps, lanes of 8: 16 teams. Two words each are 64 elements, of which the first three may
    be of another run."""
    odd, even = problem("s:nn:301x1x500"), problem("s:nn:304x1x500")
    assert (covered(odd, 8, 2), tile(odd, 8, 4, 2, 4, 1), tile(even, 8, 4, 2, 4, 1)) == (64, 61, 64)
    assert tile(problem("s:tn:301x1x500"), 8, 4, 2, 4, 2) == 16 * 4 * 2
    assert shared_bytes(odd, 8, 4, 2, 4, 1, 1) == 16 * 64 * 4
    alongside = problem("s:tn:301x1x500")
    assert [int(shared_bytes(alongside, 8, 4, 2, 4, 2, split)) for split in (1, 2)] == [0, 16 * 4 * 2 * 4]
    assert [bool(held(problem(f"s:tn:301x1x{k}"), 8, 2, 1)) for k in (64, 61, 63)] == [True, True, False]
    assert [least_lanes(problem(f"s:tn:99x1x{k}")) for k in (3, 66, 129, 900)] == [2, 32, 32, 32]


def test_shares_of_k_by_hand() -> None:
    """Along the sum whole lines, 32 numbers of float32; across it any number of runs."""
    assert [int(share(problem("s:tn:301x1x500"), split)) for split in (1, 2, 4, 8)] == [500, 256, 128, 64]
    assert [int(share(problem("s:nn:301x1x501"), split)) for split in (1, 2, 4, 8)] == [501, 251, 126, 63]
    assert bool(held(problem("s:tn:301x1x501"), 8, 2, 8)) is False
    assert bool(held(problem("s:tn:304x1x512"), 8, 2, 8)) is True


# -- what is drawn to measure it ---------------------------------------------------------------------------
def test_any_vectors_are_drawn_where_they_are_asked_for() -> None:
    found = list(drawn("s", "0", 40, 1, "w"))
    assert all(min(p.m, p.n) == 1 for p in found)
    assert any(min(p.k, max(p.m, p.n)) < 65 for p in found)
    assert all(VECTOR.accepts(p, H200) is None for p in found if max(p.extents) > 64)
