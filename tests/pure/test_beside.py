"""What is kept of large products that were timed in turns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bench import beside
from tilewright.model import Problem

pytestmark = pytest.mark.pure


def kept(joules: tuple[float | None, float | None]) -> dict[str, Any]:
    """The line of one product whose kernel takes half of the library's time, at so many joules each."""
    problem = Problem.parse("h:100x100x100")[0]
    case: Any = SimpleNamespace(problem=problem, differs={"default": 0.0})
    theirs, ours = (
        [beside.Sample(seconds, "", each)] * 3 for seconds, each in zip((2e-6, 1e-6), joules, strict=True)
    )
    return dict(beside.line_of(case, "sustained", {beside.CUBLAS: theirs, "default": ours}))


def test_operations_per_joule_are_kept_and_shown_where_the_gpu_tells() -> None:
    line = kept((4e-6, 1e-6))
    assert line["default"]["ratio"] == 2
    assert (line["cublas"]["tflops_per_watt"], line["default"]["tflops_per_watt"]) == (0.5, 2.0)
    assert "x2.000 (4.000 a watt)" in beside.shown(line)


def test_a_gpu_that_tells_no_energy_has_its_speed_shown_alone() -> None:
    line = kept((None, None))
    assert "tflops_per_watt" not in line["default"]
    assert beside.shown(line).endswith("x2.000")
