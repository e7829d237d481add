"""Kernels of one's own through NVRTC, without a GPU: those of the examples in every way they are written."""

from __future__ import annotations

import random
from typing import Any

import pytest

import tilewright as tw
from bench.custom import example
from tests.emulator.kernels import kernel_wrongs
from tilewright.errors import CompileError
from tilewright.model import Config, Device
from tilewright.targets.cuda import capability, nvrtc

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(nvrtc.compiler_missing() is not None, reason=str(nvrtc.compiler_missing())),
]

CHOLESKY, TRANSPOSE = example("12_cholesky"), example("13_transpose")
H200 = capability.named("h200")
KEYS = ("a100", "h200")


def one_of_each(kernel: tw.Stencil, sizes: dict[str, int], device: Device) -> list[Config]:
    """Configs in which every value of every parameter occurs, as few as a draw finds."""
    drawn = kernel.configs(sizes, device)
    random.Random(1).shuffle(drawn)
    seen: set[tuple[str, Any]] = set()
    found = []
    for config in drawn:
        if not seen.issuperset(config.items()):
            found.append(config)
            seen.update(config.items())
    return found


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [
        (CHOLESKY.cholesky, {"batch": 1000, "N": 4}),
        (TRANSPOSE.transpose, {"rows": 100, "columns": 100}),
    ],
    ids=["cholesky", "transpose"],
)
def test_every_value_of_every_parameter_compiles_without_spills(
    kernel: tw.Stencil, sizes: dict[str, int], key: str
) -> None:
    for config in one_of_each(kernel, sizes, capability.named(key)):
        facts = kernel.facts(sizes, config=config, device=key)
        assert (facts["spills"], facts["warnings"]) == (0, 0), config


@pytest.mark.parametrize(
    ("kernel", "sizes", "lanes"),
    [
        (CHOLESKY.cholesky, {"batch": 1000, "N": 32}, 32),
        (CHOLESKY.solve, {"batch": 1000, "N": 6, "M": 3}, 8),
    ],
    ids=["cholesky", "solve"],
)
def test_large_orders_and_right_hand_sides_compile_without_spills(
    kernel: tw.Stencil, sizes: dict[str, int], lanes: int
) -> None:
    config = {"LANES": lanes, "MATRICES": 8, "BROADCAST": 1, "STAGED": 1, "WIDE": 2}
    assert kernel.facts(sizes, config=config, device="a100")["spills"] == 0


CASES = (
    (CHOLESKY.cholesky, {"batch": 9, "N": 5}, (4, 8, 0, 1, 1)),
    (CHOLESKY.cholesky, {"batch": 9, "N": 4}, (2, 16, 1, 0, 4)),
    (CHOLESKY.cholesky, {"batch": 33, "N": 4}, (1, 32, 0, 1, 2)),
    (CHOLESKY.solve, {"batch": 5, "N": 5, "M": 2}, (4, 8, 1, 1, 1)),
    (CHOLESKY.solve, {"batch": 5, "N": 4, "M": 1}, (2, 16, 0, 0, 2)),
)


@pytest.mark.parametrize(("kernel", "sizes", "values"), CASES)
def test_without_a_gpu_factors_and_solutions_are_right(
    kernel: tw.Stencil, sizes: dict[str, int], values: tuple[int, ...]
) -> None:
    names = [param.name for param in kernel.definition.params]
    config = Config(dict(zip(names, values, strict=True)))
    assert config in kernel.space(sizes, H200)
    assert list(kernel_wrongs(kernel, sizes, config, H200)) == []


def test_a_source_that_does_not_compile_says_what_the_compiler_said() -> None:
    one = tw.Stencil(
        "broken",
        'extern "C" __global__ void broken(float *y) { y[0] = nothing; }',
        {"A": [1]},
        [tw.Output("y", "float32", (1,))],
        launch={"grid": 1, "block": 1},
        language="cuda",
    )
    with pytest.raises(CompileError, match=r'NVRTC refused broken for sm_90a: .*"nothing" is undefined'):
        one.facts({}, device="h200")
    with pytest.raises(tw.ArgumentError, match=r"device=.h2000.; accepted: .*h200"):
        one.facts({}, device="h2000")
