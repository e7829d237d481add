"""The names of compiled kernels and the mark of what wrote them: what changes the code changes both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tilewright.catalog import STENCILS, TARGETS
from tilewright.model import Config, Device, Problem
from tilewright.runtime import build
from tilewright.targets.cuda import capability
from tilewright.tuning.tasks import toolchain

pytestmark = pytest.mark.pure

CPU = Device(
    "cpu",
    "made up",
    "made-up",
    {"vector_bits": 256, "vector_registers": 16, "masks": 0, "cores": 4, "l3": 8 << 20},
    features="x86_64/haswell +avx2,+fma",
)
GPU = capability.named("h200")
KINDS = [("tile", "d:3x4x5@10", CPU), ("classic", "d:64x64x64@10", GPU)]


def one(spelling: str, **fields: Any) -> Problem:
    return Problem.parse(spelling, **fields)[0]


@pytest.fixture(autouse=True)
def toolchains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are told apart without a compiler."""
    for target in TARGETS.values():
        monkeypatch.setattr(target, "toolchain", lambda: "compiler 1")


def name(stencil: str, problem: Problem, device: Device, config: Config) -> str:
    return build.key(stencil, problem, config, device)


@pytest.mark.parametrize("operand", "abc")
def test_whether_an_operand_is_shared_is_in_the_name(operand: str) -> None:
    """A shared operand is compiled as such, so a kernel of the one kind is wrong for the other."""
    problem = one("d:3x4x5@10")
    config = STENCILS["tile"].default(problem, CPU)
    apart = name("tile", problem, CPU, config)
    field = f"stride_{operand}"
    assert name("tile", problem.with_(**{field: 0}), CPU, config) != apart
    assert name("tile", problem.with_(**{field: 1000}), CPU, config) == apart


@pytest.mark.parametrize(("stencil", "spelling", "device"), KINDS)
def test_another_compiler_makes_another_binary(
    stencil: str, spelling: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = one(spelling)
    config = STENCILS[stencil].default(problem, device)
    before = name(stencil, problem, device, config), toolchain(device, stencil)
    assert before == (name(stencil, problem, device, config), toolchain(device, stencil))
    monkeypatch.setattr(TARGETS[device.kind], "toolchain", lambda: "compiler 2")
    after = name(stencil, problem, device, config), toolchain(device, stencil)
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_other_generators_make_another_binary_and_void_old_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = one("d:3x4x5@10")
    config = STENCILS["tile"].default(problem, CPU)
    found = []
    for text in ("0" * 64, "1" * 64):
        monkeypatch.setattr(build, "generators", lambda stencil, text=text: text)
        found.append((name("tile", problem, CPU, config), toolchain(CPU, "tile")))
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]


@pytest.mark.parametrize(("stencil", "spelling", "device"), KINDS)
def test_another_processor_makes_another_binary(stencil: str, spelling: str, device: Device) -> None:
    problem = one(spelling)
    config = STENCILS[stencil].default(problem, device)
    other = replace(device, features=f"{device.features}+more")
    assert name(stencil, problem, other, config) != name(stencil, problem, device, config)
