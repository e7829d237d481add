"""Cases for kernels on the interpreter: problems with padding and gaps, and configs that are soon run.

Everything is checked as the tuner checks a candidate, on odd sizes, and under schedules that make what is not
waited for go wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.emulator.machine import SCHEDULES
from tests.emulator.products import wrongs
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE
from tilewright.targets.cuda.capability import named

H200 = named("h200")


def problem(
    text: str, pad: tuple[int, int, int] = (0, 0, 0), gap: tuple[int, int, int] = (0, 0, 0), **fields: Any
) -> Problem:
    """A problem with so many elements of padding in each column, and so many between matrices."""
    p = Problem.parse(text, **fields)[0]
    rows = (p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k, p.m)
    columns = (p.m if p.transposed_a else p.k, p.k if p.transposed_b else p.n, p.n)
    for name, r, c, more, apart in zip("abc", rows, columns, pad, gap, strict=True):
        p = p.with_(**{f"ld{name}": r + more, f"stride_{name}": (r + more) * c + apart})
    return p


def allowed(stencil: str, p: Problem, device: Device, count: int, seed: int, **fixed: Any) -> list[Config]:
    """Configs that the hardware can run, drawn at random from those with some values."""
    space = STENCILS[stencil].space(p, device).only((*HARDWARE, "hard")).restricted(**fixed)
    found = space.sample(count, seed)
    assert found, (stencil, p.key, fixed)
    return found


def smallest(p: Problem, seed: int, **fixed: Any) -> Config:
    """Of configs of tiny, one with few matrices in a group, two if it can be, and small tiles."""
    found = allowed("tiny", p, H200, 500, seed, blocks=132, **fixed)
    return min(
        found, key=lambda c: (abs(c["group"] - 2) + 4 * (c["group"] < 2), c["rows"] * c["columns"] > 16)
    )


def found_wrong(
    stencil: str,
    points: Iterator[tuple[Problem, Config]] | list[tuple[Problem, Config]],
    device: Device = H200,
    **more: Any,
) -> list[str]:
    """What is wrong with any of them, each under one schedule, all schedules in turns."""
    return [
        wrong
        for number, (p, config) in enumerate(points)
        for wrong in wrongs(
            stencil, p, config, device, schedules=[SCHEDULES[number % len(SCHEDULES)]], **more
        )
    ]
