"""The space of the stencil of single products, its choice without a search, and what both promise."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright.stencils.cuda.single.stencil as module
from tests.spaces import assert_rules_of_many_are_those_of_each
from tilewright.model import DTYPES, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.middle.needs import TYPES
from tilewright.stencils.cuda.single.cost import clocks
from tilewright.stencils.cuda.single.needs import is_packed, shared_bytes, vectors
from tilewright.stencils.cuda.single.stencil import SingleStencil
from tilewright.stencils.cuda.source import LAUNCHED, program
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

SINGLE = SingleStencil()
A100, H200 = named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
PROBLEM = dict(program("single")[1])["lib/problem.cuh"]


def problem(text: str, **fields: object) -> Problem:
    return Problem.parse(text, **fields)[0]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any that is accepted: types, transpositions, addresses."""
    dtype = DTYPES[draw(st.sampled_from(TYPES))]
    # Two products of these fit into an SM, however they lie.
    longest = {4: 70, 8: 66, 16: 47}[dtype.itemsize]
    sizes = [draw(st.integers(least, longest)) for least in (1, 33, 33)]
    ops = "ntcj" if dtype.is_complex else "nt"
    m, n, k = draw(st.permutations(sizes))
    return Problem(
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


# -- the file and the space say the same -----------------------------------------------------------------
def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("z:ct:50x50x40@1000")
    defines = [name for name, _ in SINGLE.source(p, SINGLE.default(p, H200), H200).defines]
    known = set(re.findall(r"^#ifndef (\w+)$", KERNEL + PROBLEM, re.M)) - {"BRAIN"}
    assert sorted(defines) == sorted(known)
    names = [param.name.upper() for param in SINGLE.space(p, H200).params if param.name not in LAUNCHED]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


# -- what is accepted --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("h:64x64x64@9", {}, "type h is not one of s, d, c, z"),
        ("s:32x64x32@9", {}, "has not two extents of 33 or more"),
        ("s:161x33x33@9", {}, "one above 160"),
        ("s:64x64x64@9", {"stride_c": 0}, "written to one C"),
        ("s:64x64x64@9", {"stride_a": 0}, "products share one"),
        ("s:64x64x64@9", {"m": 64, "ldb": 65}, "a matrix has gaps"),
        ("z:64x64x64@9", {}, "no room for 2 products"),
        ("d:64x64x64@9", {"align": 4}, "not of an element's 8"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    text: str, fields: dict[str, int], reason: str
) -> None:
    p = problem(text).with_(**fields) if "m" in fields else problem(text, **fields)
    assert reason in (SINGLE.accepts(p, H200) or "")


def test_a_device_without_bulk_copies_is_refused() -> None:
    assert "no bulk copies" in (SINGLE.accepts(problem("s:48x48x48@9"), A100) or "")
    assert SINGLE.accepts(problem("s:48x48x48@9"), H200) is None


# -- the choice --------------------------------------------------------------------------------------------
@settings(max_examples=25, deadline=None)
@given(p=problems())
def test_the_default_is_a_member_that_hardware_runs(p: Problem) -> None:
    assert SINGLE.accepts(p, H200) is None
    config = SINGLE.default(p, H200)
    broken = [r.name for r in SINGLE.space(p, H200).why(config) if r.kind in (*HARDWARE, "hard")]
    assert broken == []
    launch = SINGLE.launch(p, config)
    assert launch.block[0] % 32 == 0
    assert 1 <= launch.grid[0] <= p.batch
    assert launch.grid[0] <= config["blocks"] or launch.grid[0] == -(-p.batch // config["per_block"])
    assert launch.shared <= H200["shared_per_block_optin"]


@settings(max_examples=10, deadline=None)
@given(p=problems())
def test_rules_of_many_configs_are_those_of_each(p: Problem) -> None:
    assert_rules_of_many_are_those_of_each(SINGLE.space(p, H200))


def test_the_model_counts_what_a_product_takes() -> None:
    """A longer k takes more clocks, and so does a C that is read, or fewer blocks."""

    def of(text: str, beta: str = "0", **changes: int) -> float:
        base = {"mma": 0, "rows": 8, "columns": 8, "deep": 1, "early": 0, "blocks": 792}
        config = {name: np.array([value]) for name, value in {**base, **changes}.items()}
        return float(clocks(problem(text, beta=beta), H200, config)[0])

    assert of("s:64x64x40@9999") < of("s:64x64x64@9999") < of("s:64x64x64@9999", "1")
    assert of("s:64x64x64@9999") < of("s:64x64x64@9999", blocks=132)
    # Columns of B that begin in the same bank are read one after the other.
    assert of("s:64x64x63@9999") < 0.9 * of("s:64x64x64@9999")


# -- layouts -----------------------------------------------------------------------------------------------
def test_shared_memory_of_a_product() -> None:
    """By hand: A and B of 48 x 48 float64 behind 128 bytes; with C in a place of its own where it is read or
    where it is written late; and at addresses that are multiples of 8 bytes only, 8 bytes more for each."""
    p = problem("d:48x48x48@9")
    assert int(shared_bytes(p, 16, 24)) == 128 + 2 * 48 * 48 * 8
    assert int(shared_bytes(p, 16, 24, 1)) == 128 + 3 * 48 * 48 * 8
    assert int(shared_bytes(problem("d:48x48x48@9", beta="1"), 16, 24)) == 128 + 3 * 48 * 48 * 8
    # The last part of B has 22 columns behind its 50, the last of them read as far as k, behind A; in
    # multiples of 128.
    odd = problem("d:51x50x51@9", align=8)
    a = -(-(51 * 51 * 8 + 8) // 16) * 16
    assert int(shared_bytes(odd, 16, 24)) == -(-(128 + a + (71 * 51 + 51) * 8 + 8) // 128) * 128


def test_vectors_are_as_wide_as_addresses_and_parts_allow() -> None:
    p = problem("s:40x40x40@9")
    assert vectors(p, 0, np.array([4, 6, 5])).tolist() == [4, 2, 1]
    assert int(vectors(p.with_(align=8), 0, 4)) == 2


def test_packed_means_no_gaps_and_nothing_shared() -> None:
    p = problem("s:40x40x40@9")
    assert is_packed(p)
    assert not is_packed(p.with_(stride_b=0))
    assert not is_packed(p.with_(stride_c=1601))
    assert not is_packed(p.with_(m=40, lda=41))
