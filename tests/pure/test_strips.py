"""The space of the stencil of strips, its choice without a search, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright.stencils.cuda.strips.stencil as module
from bench.sanitize.groups import problem
from tilewright.space import HARDWARE
from tilewright.stencils.cuda.source import program
from tilewright.stencils.cuda.strips.stencil import LONGEST, StripsStencil
from tilewright.targets.cuda.capability import named

pytestmark = pytest.mark.pure

STRIPS = StripsStencil()
H200, FERMI = named("h200"), named("fermi-s2050")
KERNEL = Path(module.__file__).with_name("kernel.cuh").read_text()
SHARED = dict(program("strips")[1])["lib/problem.cuh"]


def test_every_name_of_the_kernel_is_defined_and_no_other() -> None:
    p = problem("s:nn", "n", (64, 128, 8), 4)
    defines = [name for name, _ in STRIPS.source(p, STRIPS.default(p, H200), H200).defines]
    known = set(re.findall(r"^#ifndef (\w+)$", KERNEL + SHARED, re.M))
    assert sorted(defines) == sorted(known - {"BRAIN"})
    names = [param.name.upper() for param in STRIPS.space(p, H200).params]
    block = KERNEL[KERNEL.index("the parameters of the space") : KERNEL.index("what follows from them")]
    assert sorted(re.findall(r"^#ifndef (\w+)$", block, re.M)) == sorted(names)


@pytest.mark.parametrize(
    ("spelling", "axis", "fields", "reason"),
    [
        ("h:nn", "n", {}, "type h"),
        ("d:nn", "n", {}, "type d"),
        ("s:nt", "k", {}, "k is split"),
        ("s:nn", "m", {}, "m is split"),
        ("s:nn", "n", {"m": 96}, "m=96"),
        ("s:nn", "n", {"k": LONGEST + 1}, f"k={LONGEST + 1}"),
        ("s:nn", "n", {"k": 0}, "nothing to compute"),
        ("s:nn", "n", {"align": 2}, "not of an element's 4"),
        ("s:nn", "n", {"ldc": 129}, "multiple of 16 bytes"),
        ("s:nn", "n", {"n": 2**31}, "above"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(
    spelling: str, axis: str, fields: dict[str, object], reason: str
) -> None:
    p = problem(spelling, axis, (128, 64, 8), 4).with_(**fields)
    assert reason in (STRIPS.accepts(p, H200) or "")


def test_it_needs_a_gpu_with_asynchronous_copies() -> None:
    assert STRIPS.accepts(problem("s:nn", "n", (128, 64, 8), 4), FERMI) is not None


@pytest.mark.parametrize(("m", "warps"), [(128, 1), (768, 3), (1024, 4), (300, 3)])
def test_the_choice_leaves_few_warps_without_rows(m: int, warps: int) -> None:
    for k in (1, LONGEST):
        p = problem("s:nn", "n", (m, 3424, k), 10, batch=4)
        config = STRIPS.default(p, H200)
        broken = [rule.name for rule in STRIPS.space(p, H200).why(config) if rule.kind in HARDWARE]
        assert not broken, (p.key, config, broken)
        assert (config["warps"], config["blocks"] // H200["sms"]) == (warps, 12 // warps)
