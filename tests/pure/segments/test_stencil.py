"""The stencil ``segments``: its space, its kernel's names, what it refuses."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import tilewright.stencils.cuda.segments.stencil as module
from tests.pure.segments.pretence import A100, FERMI, H200, SEGMENTS
from tilewright.catalog import STENCILS
from tilewright.model import DTYPES, Problem, SegmentedProblem
from tilewright.stencils.cuda.segments.needs import aligned
from tilewright.stencils.cuda.segments.stencil import LARGEST, struct_segments, tiles
from tilewright.stencils.cuda.source import program
from tilewright.stencils.protocol import refused
from tilewright.targets.cuda.arguments import Pointer, Scalar

pytestmark = pytest.mark.pure

KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()


def some(
    letter: str,
    axis: str = "n",
    trans: str = "nn",
    size: tuple[int, int, int] = (256, 512, 128),
    **fields: Any,
):
    m, n, k = size
    lda, ldb = (k if trans[0] in "tc" else m), (n if trans[1] in "tc" else k)
    fields = {"groups": 16} | fields
    return SegmentedProblem(DTYPES[letter], axis, m, n, k, trans_a=trans[0], trans_b=trans[1],
                            lda=lda, ldb=ldb, ldc=m, **fields)  # fmt: skip


def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    shared = dict(program("segments")[1])["lib/problem.cuh"]
    for letter in "zb":
        p = some(letter)
        defines = [name for name, _ in SEGMENTS.source(p, SEGMENTS.default(p, H200), H200).defines]
        there = set(re.findall(r"^#ifndef (\w+)$", KERNEL + shared, re.M)) - (
            {"BRAIN"} if letter == "z" else set()
        )
        assert sorted(defines) == sorted(there)
    names = [param.name.upper() for param in SEGMENTS.space(some("s"), H200).params]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(names) == sorted(re.findall(r"^#ifndef (\w+)$", block, re.M))


def test_hard_rules_are_asserted_by_their_names() -> None:
    hard = {rule.name for rule in SEGMENTS.space(some("d"), H200).rules if rule.kind == "hard"}
    assert hard - {"aligned", "aligned-c"} <= set(re.findall(r'"([a-z-]+): ', KERNEL))


@pytest.mark.parametrize("letter", list(DTYPES))
def test_the_default_obeys_the_hardware_wherever_it_is_asked(letter: str) -> None:
    draw = random.Random(letter)
    for _ in range(40):
        size = tuple(draw.choice((1, 3, 8, 20, 64, 128, 777, 4096)) for _ in range(3))
        trans = draw.choice(("nn", "nt", "tn", "tt"))
        p = some(
            letter, draw.choice("mnk"), trans, size, groups=draw.choice((1, 7, 64)), batch=draw.choice((1, 5))
        )
        for device in (H200, A100):
            space, config = SEGMENTS.space(p, device), SEGMENTS.default(p, device)
            assert not [rule.name for rule in space.why(config) if rule.kind != "soft"], (p.key, config)
            launch = SEGMENTS.launch(p, config)
            assert launch.shared <= device["shared_per_block_optin"]
            assert 1 <= launch.grid[0] <= tiles(p, config["blk_m"], config["blk_n"])


def test_a_split_axis_that_lies_along_memory_is_read_element_by_element() -> None:
    assert aligned(some("s", "n", "nn")) == (16, 16, 16)
    assert aligned(some("s", "n", "nt")) == (16, 4, 16)
    assert aligned(some("s", "m", "nn")) == (4, 16, 4)
    assert aligned(some("h", "k", "nn")) == (16, 2, 16)
    assert aligned(some("h", "k", "nt")) == (16, 16, 16)


def test_groups_are_for_the_stencil_of_groups_alone() -> None:
    for name, stencil in STENCILS.items():
        if stencil.target == "cuda":
            assert (refused(stencil, some("d"), H200) is None) == (name == "segments")
    assert "tw.segment_matmul" in (refused(SEGMENTS, Problem.parse("d:8x8x8")[0], H200) or "")


def test_what_is_refused() -> None:
    assert SEGMENTS.accepts(some("s"), H200) is None
    assert "2.0" in (SEGMENTS.accepts(some("s"), FERMI) or "")
    assert "nothing" in (SEGMENTS.accepts(some("s", size=(0, 4, 4)), H200) or "")
    assert "above" in (SEGMENTS.accepts(some("s", size=(2**31, 4, 4)), H200) or "")
    assert f"more than {LARGEST} tiles" in (SEGMENTS.accepts(some("s", size=(2**20, 2**20, 4)), H200) or "")
    assert "multiples of 4 bytes" in (SEGMENTS.accepts(some("d", align=4), H200) or "")


def test_one_binary_serves_all_borders_and_most_sizes() -> None:
    p = some("s")
    config = SEGMENTS.default(p, H200)
    for other in (
        p.with_(groups=3),
        p.with_(n=700, batch=4),
        p.with_(first=True, wide=True),
        p.with_(sizes=True),
    ):
        assert SEGMENTS.source(other, config, H200).digest == SEGMENTS.source(p, config, H200).digest
    assert "2048 bytes" not in p.spelling
    assert all(isinstance(field, Pointer | Scalar) for field in struct_segments(p).fields)
