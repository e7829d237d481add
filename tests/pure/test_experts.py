"""The space of the stencil of experts, its choice without a search, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright.stencils.cuda.experts.stencil as module
from bench.sanitize.groups import problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.experts.stencil import ExpertsStencil
from tilewright.stencils.cuda.source import program
from tilewright.targets.cuda.arguments import TensorMap
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

EXPERTS = ExpertsStencil()
A100, H200 = named("a100"), named("h200")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
SHARED = dict(program("experts")[1])["lib/problem.cuh"]


def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("b:nn", "n", (64, 128, 80), 4)
    defines = [name for name, _ in EXPERTS.source(p, EXPERTS.default(p, H200), H200).defines]
    other = problem("hc:nn", "n", (64, 128, 80), 4)
    found = [name for name, _ in EXPERTS.source(other, EXPERTS.default(other, H200), H200).defines]
    assert sorted(defines) == sorted(found)
    assert sorted(defines) == sorted(set(re.findall(r"^#ifndef (\w+)$", KERNEL + SHARED, re.M)))
    names = [param.name.upper() for param in EXPERTS.space(p, H200).params]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


@pytest.mark.parametrize(
    ("spelling", "axis", "fields", "reason"),
    [
        ("s:nn", "n", {}, "type s"),
        ("c:nn", "n", {}, "type c"),
        ("hc:nn", "n", {"m": 62}, "written whole"),
        ("hc:nn", "n", {"lda": 66}, "16 bytes"),
        ("h:nn", "n", {"batch": 2}, "2 matrices"),
        ("h:nn", "n", {"align": 8}, "16 bytes"),
        ("h:nn", "n", {"lda": 68}, "16 bytes"),
        ("h:nn", "n", {"m": 60}, "written whole"),
        ("h:nn", "n", {"steps": (68 * 64 + 4, 0, 0)}, "16 bytes"),
        ("h:nn", "n", {"steps": (-64 * 64, 0, 0)}, "backwards"),
        ("h:nn", "n", {"steps": (2**39, 0, 0)}, "2^40"),
        ("h:nn", "n", {"k": 32}, "k=32 is 32 at most"),
        ("h:nn", "m", {}, "what is split lies along"),
        ("h:nt", "n", {}, "what is split lies along"),
        ("h:nn", "k", {}, "lines of A or of B lie along it"),
        ("h:tt", "k", {}, "lines of A or of B lie along it"),
        ("h:nn", "n", {"groups": 0}, "nothing to compute"),
        ("h:nn", "n", {"n": 2**31}, "above"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    spelling: str, axis: str, fields: dict[str, object], reason: str
) -> None:
    p = problem(spelling, axis, (64, 64, 64), 4).with_(**fields)
    assert reason in (EXPERTS.accepts(p, H200) or "")


def test_it_needs_warp_groups() -> None:
    p = problem("h:nt", "k", (64, 64, 64), 4)
    assert EXPERTS.accepts(p, H200) is None
    assert "warp groups" in (EXPERTS.accepts(p, A100) or "")


@pytest.mark.parametrize("axis", ["m", "n"])
@pytest.mark.parametrize("rows", [1, 20, 120, 4000])
def test_the_choice_is_one_that_the_hardware_can_run(axis: str, rows: int) -> None:
    size = (2048, 16 * rows, 1408) if axis == "n" else (16 * rows, 2048, 1408)
    p = problem("b:tn", axis, size, 16).with_(lda=1408)
    config = EXPERTS.default(p, H200)
    assert not [rule.name for rule in EXPERTS.space(p, H200).why(config) if rule.kind in HARDWARE]
    assert EXPERTS.launch(p, config).grid[0] % H200["sms"] == 0


@pytest.mark.parametrize(("trans", "axis"), [("nn", "n"), ("cn", "n"), ("nc", "k"), ("tn", "m"), ("tt", "m")])
@pytest.mark.parametrize("rows", [1, 20, 120, 500, 4000])
def test_complex_halves_have_a_choice_that_obeys_all_but_what_is_soft(
    trans: str, axis: str, rows: int
) -> None:
    size = {"m": (16 * rows, 2048, 1408), "n": (2048, 16 * rows, 1408), "k": (2048, 1408, 16 * rows)}[axis]
    p = problem(f"hc:{trans}", axis, size, 16).with_(align=16)
    if axis == "m":
        p = p.with_(ldc=16 * rows + -16 * rows % 4, ldb=2048)
    assert EXPERTS.accepts(p, H200) is None
    config = EXPERTS.default(p, H200)
    assert not [rule.name for rule in EXPERTS.space(p, H200).why(config) if rule.kind != "soft"]
    # A warp group for each 64 rows, and one that loads and turns.
    assert EXPERTS.launch(p, config).block == (2 * config["tile_m"] + 128, 1, 1)


def test_boxes_of_complex_halves_are_lines_of_32() -> None:
    p = problem("hc:nc", "k", (104, 72, 64), 5)
    _, a, b, c = EXPERTS.arguments(p, EXPERTS.default(p, H200).with_(tile_n=64))
    assert isinstance(a, TensorMap)
    assert isinstance(b, TensorMap)
    assert isinstance(c, TensorMap)
    assert [x.type for x in (a, b, c)] == ["float32"] * 3
    assert (a.extents, a.box) == ((104, 64, 1), (32, 32, 1))
    assert (b.extents, b.box) == ((72, 64, 1), (32, 32, 1))
    assert (c.extents, c.box) == ((104, 72, 5), (32, 32, 1))


def test_warps_that_turn_leave_registers_for_fewer_sums() -> None:
    fixed = {"tile_m": 128, "tile_n": 160, "stages": 2, "blocks": H200["sms"]}
    for trans, axis, broken in (("nn", "n", set()), ("nc", "k", {"turned-sums"})):
        p = problem(f"hc:{trans}", axis, (2048, 4096, 4096), 8)
        found = EXPERTS.space(p, H200).why(EXPERTS.default(p, H200).with_(**fixed))
        assert {rule.name for rule in found if rule.kind == "hard"} == broken
    p = problem("hc:nn", "n", (2048, 4096, 4096), 8)
    crowded = EXPERTS.default(p, H200).with_(
        **(fixed | {"tile_m": 64, "tile_n": 64, "blocks": 3 * H200["sms"]})
    )
    assert "sums" in {rule.name for rule in EXPERTS.space(p, H200).why(crowded)}


def test_maps_cover_the_groups_that_are_stacked_and_no_others() -> None:
    p = problem("h:tn", "m", (104, 72, 64), 5, gap=8)
    _, a, b, c = EXPERTS.arguments(p, EXPERTS.default(p, H200))
    assert isinstance(a, TensorMap)
    assert isinstance(b, TensorMap)
    assert isinstance(c, TensorMap)
    assert (a.extents, a.strides) == ((64, 104, 1), (128, 104 * 128))
    assert (b.extents, b.strides) == ((64, 72, 5), (128, (64 * 72 + 8) * 2))
    assert (c.extents, c.strides) == ((104, 72, 1), (208, 208 * 72))
