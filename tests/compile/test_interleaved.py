"""The stencil of interleaved matrices through NVRTC: no spills, no warnings, hard rules in the same words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.compile.test_arguments import assertions, structure_of
from tilewright.errors import CompileError
from tilewright.model import DTYPES, Config, Device, Problem
from tilewright.stencils.cuda.interleaved.stencil import InterleavedStencil
from tilewright.targets.cuda import nvrtc
from tilewright.targets.cuda.capability import named

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

STENCIL = InterleavedStencil()
A100, H200 = named("a100"), named("h200")

PLAIN = {"lanes": 1, "strided": 0, "rows": 3, "columns": 3, "team": 1, "unroll_k": 1}
PLAIN |= {"staged": 0, "stages": 0, "depth": 1, "bulk": 0, "members": 0, "blocks": 0}
"""Single matrices in registers."""


def problem(text: str, **fields: object) -> Problem:
    found = Problem.parse(text, **fields)[0]
    return found.with_(m=found.m) if fields.keys() & {"stride_a", "stride_b", "stride_c"} else found


def compiled(p: Problem, config: Config, device: Device) -> None:
    facts = nvrtc.compile(STENCIL.source(p, config, device), device).facts
    assert (facts["warnings"], facts["spills"], facts["stack"]) == (0, 0, 0), (p.key, config, dict(facts))
    assert facts["registers"] * STENCIL.launch(p, config).block[0] <= device["registers_per_sm"]


@pytest.mark.sweep
@pytest.mark.parametrize(("size", "beta"), [("3x3x3", "any"), ("5x4x6", "1")])
@pytest.mark.parametrize("device", [A100, H200], ids=["sm_80", "sm_90a"])
@pytest.mark.parametrize("letter", tuple(DTYPES))
def test_defaults_keep_their_sums_in_registers(letter: str, device: Device, size: str, beta: str) -> None:
    p = problem(f"{letter}:{size}@300000/all", beta=beta, alpha="any" if beta == "any" else "1")
    compiled(p, STENCIL.default(p, device), device)


@pytest.mark.parametrize("letter", ["d", "h"])
def test_defaults_of_larger_matrices_keep_their_sums_in_registers(letter: str) -> None:
    p = problem(f"{letter}:16x16x16@300000/all", beta="0")
    compiled(p, STENCIL.default(p, H200), H200)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("d:4x4x4@300000/all", {"stride_c": 16}),
        ("h:6x8x4@300000/all", {"stride_c": 48}),
        ("z:jn:3x2x5@300000/all", {"stride_a": 0, "stride_c": 6}),
        ("s:6x6x6@300000/8", {"stride_b": 0}),
        ("b:5x5x7@300000/all", {"align": 2}),
    ],
)
def test_other_layouts(text: str, fields: dict[str, object]) -> None:
    p = problem(text, **fields)
    config = STENCIL.default(p, H200)
    # To count all of a space takes longer than to compile both.
    space = STENCIL.space(p, H200).restricted(warps=config["warps"], blocks=config["blocks"])
    (other,) = space.sample(1, 1)
    assert other != config
    compiled(p, config, H200)
    compiled(p, other, H200)


def test_each_parameter_keeps_its_sums_in_registers() -> None:
    """Values of every parameter that may be, each at the edge of what the rules allow."""
    p = problem("s:4x6x4@300000/all", stride_c=24)
    space, seen = STENCIL.space(p, A100), set()
    for config in space.sample(400, 6):
        new = {(name, value) for name, value in config.items() if (name, value) not in seen}
        if len(new) > 2:
            seen |= new
            compiled(p, config, A100)
    assert {name for name, _ in seen} == {param.name for param in space.params}
    assert {value for name, value in seen if name == "stages"} >= {0, 2, 3}


def test_python_packs_what_the_kernel_takes() -> None:
    p = problem("d:3x3x3@1000/all")
    config = STENCIL.default(p, H200)
    source = STENCIL.source(p, config, H200)
    checks = assertions(structure_of(STENCIL.arguments(p, config)))
    nvrtc.compile(replace(source, text=f"{source.text}\n{checks}"), H200)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lanes": 4}, "lanes-aligned"),
        ({"team": 2}, "team-tiles"),
        ({"staged": 1}, "staged"),
        ({"rows": 1, "columns": 1, "team": 9, "warps": 8}, "threads"),
    ],
)
def test_a_rule_speaks_when_it_is_broken(changes: dict[str, int], words: str) -> None:
    p = problem("d:3x3x3@100000/all")
    broken = STENCIL.default(p, H200).with_(**PLAIN | changes)
    assert words in [rule.name for rule in STENCIL.space(p, H200).why(broken)]
    with pytest.raises(CompileError, match=words):
        nvrtc.compile(STENCIL.source(p, broken, H200), H200)


def test_a_ring_needs_aligned_runs() -> None:
    p = problem("h:3x3x3@100000/all", align=2)
    broken = STENCIL.default(p, H200).with_(**PLAIN | {"stages": 2})
    assert "ring-aligned" in [rule.name for rule in STENCIL.space(p, H200).why(broken)]
    with pytest.raises(CompileError, match="ring-aligned"):
        nvrtc.compile(STENCIL.source(p, broken, H200), H200)
