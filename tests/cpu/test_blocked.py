"""The ``blocked`` stencil: random long problems under random configs are right, defaults do not spill."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright as tw
from tests.cpu.tile.pretence import AVX2, AVX512, pretended, walk
from tilewright.catalog import STENCILS
from tilewright.errors import ArgumentError
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.space import HARDWARE
from tilewright.stencils.cpu.blocked.codegen import row_tiles, runs
from tilewright.stencils.cpu.tile.codegen import pieces, split
from tilewright.targets.cpu import llvm, processor
from tilewright.tuning.gemm.verify import Verifier

pytestmark = pytest.mark.cpu

BLOCKED = STENCILS["blocked"]
GOLDEN = Path(__file__).parent.parent / "golden"
LETTERS = [
    letter
    for letter, dtype in DTYPES.items()
    if BLOCKED.accepts(Problem(dtype, 65, 4, 4), processor.probe()) is None
]
"""The types of this processor: an old one has no instructions for float16."""


def check(problem: Problem, config: Config, seed: int = 0) -> None:
    """Compile, load, and verify under every condition of the verifier."""
    device = processor.probe()
    kernel = llvm.load(llvm.compile(BLOCKED.source(problem, config, device), device))
    call = llvm.PROTOTYPE(kernel.address)
    verdict = Verifier(problem, seed).check(lambda made: call(*made.arguments))
    assert verdict.ok, f"{problem.key}, {config}: {verdict.why}"


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """One long extent, or two, each with any layout, what is shared, and classes of alpha and beta."""
    short, long = st.integers(1, 21), st.integers(65, 150)
    extents = [draw(long), draw(st.one_of(short, short, st.integers(65, 80))), draw(st.integers(0, 12))]
    m, n, k = draw(st.permutations(extents))
    letter = st.sampled_from("ntcj")
    p = Problem(DTYPES[draw(st.sampled_from(LETTERS))], max(m, 1), max(n, 1), k, draw(letter), draw(letter))
    pad = st.sampled_from([0, 0, 1, 3, 8])
    changed: dict[str, Any] = {f"ld{x}": getattr(p, f"ld{x}") + draw(pad) for x in "abc"}
    shared = draw(st.sampled_from(["", "", "a", "b", "ab"]))
    changed |= {
        "alpha": draw(st.sampled_from(["1", "any"])),
        "beta": draw(st.sampled_from(["0", "1", "any"])),
    }
    changed |= {f"stride_{x}": 0 if x in shared else None for x in "abc"}
    return p.with_(**changed)


@settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
@given(problems(), st.integers(0, 10**6), st.booleans())
def test_random_configs_are_right(problem: Problem, seed: int, default: bool) -> None:
    device = processor.probe()
    assert BLOCKED.accepts(problem, device) is None
    space = BLOCKED.space(problem, device)
    config = None if default else walk(space.only(HARDWARE), seed)
    config = config or BLOCKED.default(problem, device)
    assert not [rule for rule in space.why(config) if rule.kind in HARDWARE]
    check(problem, config, seed)


@pytest.mark.parametrize("trans", ["nn", "tt"])
def test_slices_add_up(trans: str) -> None:
    """Three slices of 64 and one of 5, of which the first alone sees to beta."""
    problem = Problem(DTYPES["d"], 21, 10, 197, *trans, alpha="any", beta="any")
    config = BLOCKED.default(problem, processor.probe())
    for order in ("nm", "mn"):
        check(problem, config.with_(slice=64, blk_k=4, order=order, pack_a=1, pack_b=1, blk_n=4))


# ---- tiles


def test_tiles_of_a_column_are_those_of_the_list() -> None:
    """The same vectors, at the same rows, as when all are listed and split, however long the column."""
    draw = random.Random(1)
    for _ in range(300):
        rows, width = draw.randint(1, 400), draw.choice((2, 4, 8, 16))
        tail, most = draw.choice(("mask", "narrow", "binary")), draw.randint(1, 8)
        found, sizes, start = [], [], 0
        for kind in row_tiles(rows, width, tail, most):
            for _ in range(kind.times):
                found += [replace(piece, start=start + piece.start) for piece in kind.vectors]
                sizes.append(len(kind.vectors))
                start += kind.height
        assert found == pieces(rows, width, tail)
        assert sizes == split(len(found), most)
        assert [size for size, times in runs(rows, most) for _ in range(times)] == split(rows, most)


def test_a_long_extent_makes_no_more_code() -> None:
    device = processor.probe()
    sizes = []
    for m in (1000, 1_000_000):
        (problem,) = Problem.parse(f"d:{m}x9x9")
        sizes.append(len(BLOCKED.source(problem, BLOCKED.default(problem, device), device).text))
    assert sizes[1] < 1.1 * sizes[0]


@pytest.mark.parametrize(
    ("letter", "size", "why"),
    [
        ("d", (64, 64, 64), "written out by tile"),
        ("d", (129, 129, 129), "larger than 128 in every direction"),
        ("h", (8, 8, 513), "rounded to 16 bits"),
        ("d", (0, 65, 65), "nothing to compute"),
    ],
)
def test_what_is_not_accepted(letter: str, size: tuple[int, int, int], why: str) -> None:
    assert why in str(BLOCKED.accepts(Problem(DTYPES[letter], *size), AVX512))


def test_configs_that_would_be_wrong_are_named() -> None:
    (problem,) = Problem.parse("d:tn:65x8x600")
    config = BLOCKED.default(problem, AVX512)
    space = BLOCKED.space(problem, AVX512)
    assert "vectors-of-a" in {rule.name for rule in space.why(config.with_(pack_a=0))}
    (half,) = Problem.parse("h:65x8x100")
    config, space = BLOCKED.default(half, AVX512), BLOCKED.space(half, AVX512)
    assert "values-of-b" in {rule.name for rule in space.why(config.with_(pack_b=0))}
    assert "whole-sums" in {rule.name for rule in space.why(config.with_(slice=64))}
    a = np.zeros((8, 600))
    with pytest.raises(ArgumentError, match="vectors-of-a"):
        tw.plan(a, np.zeros((65, 600)).T, stencil="blocked", config={"pack_a": 0})


@pytest.mark.parametrize("text", ["d:tn:2000x1000x100", "z:tn:4000x3000x120", "c:ct:3000x2000x128"])
def test_an_operand_that_is_too_large_to_be_packed_as_a_whole_is_packed_by_tiles(text: str) -> None:
    (problem,) = Problem.parse(text)
    config = BLOCKED.default(problem, AVX512)
    assert (config["order"], config["pack_a"]) == ("mn", 1)
    assert not BLOCKED.space(problem, AVX512).only(HARDWARE).why(config)


# ---- the code


CASES = {
    "sapphirerapids": ("d:256x9x9", "s:tn:19x100x25", "c:33x70x11", "z:nt:9x9x300"),
    "znver4": ("d:100x100x100", "s:31x5x1000", "c:tt:20x65x20", "z:70x12x8"),
    "haswell": ("d:9x256x9", "s:100x100x100", "c:81x10x9", "d:tn:80x70x65"),
}


@pytest.mark.parametrize("name", CASES)
def test_defaults_do_not_spill(name: str) -> None:
    device = pretended(name)
    for spelling, beta in zip(CASES[name], "0101", strict=True):
        (problem,) = Problem.parse(spelling, beta=beta)
        config = BLOCKED.default(problem, device)
        assert not BLOCKED.space(problem, device).only(HARDWARE).why(config)
        facts = llvm.facts(BLOCKED.source(problem, config, device), device)
        assert facts["fma"] == facts["fma_expected"] > 0, f"{problem.key}, {config}"
        assert facts["spills"] == 0, f"{problem.key}, {config}"


@pytest.mark.parametrize("device", [AVX512, AVX2], ids=lambda d: d.key)
def test_the_program_is_as_it_was(device: Device, request: pytest.FixtureRequest) -> None:
    """What is written for a small kernel, to be read in a review (``--update-golden``)."""
    (problem,) = Problem.parse("d:72x2x3", beta="1")
    config = BLOCKED.default(problem, device).with_(blk_m=2, blk_n=2, order="nm", pack_a=1)
    text = f"; {problem.key} {device.key}\n; {config}\n{BLOCKED.source(problem, config, device).text}"
    path = GOLDEN / f"blocked-d-72x2x3.{device.key}.ll"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; if it should, run pytest --update-golden"
    llvm.parse(text)
