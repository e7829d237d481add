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


def test_maps_cover_the_groups_that_are_stacked_and_no_others() -> None:
    p = problem("h:tn", "m", (104, 72, 64), 5, gap=8)
    _, a, b, c = EXPERTS.arguments(p, EXPERTS.default(p, H200))
    assert isinstance(a, TensorMap)
    assert isinstance(b, TensorMap)
    assert isinstance(c, TensorMap)
    assert (a.extents, a.strides) == ((64, 104, 1), (128, 104 * 128))
    assert (b.extents, b.strides) == ((64, 72, 5), (128, (64 * 72 + 8) * 2))
    assert (c.extents, c.strides) == ((104, 72, 1), (208, 208 * 72))
