"""The kernel of interleaved matrices on packs of its own: the tuner's operands are of one pack alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.sanitize.lists import stored, wide
from tests.emulator.launch import launch
from tests.emulator.machine import SCHEDULES, Schedule
from tests.emulator.memory import Fault, Memory, Segment
from tests.emulator.products import LINE, compiled
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, Problem
from tilewright.targets.cuda.arguments import pack


def packs_wrongs(
    p: Problem, config: Config, device: Device, *, schedule: Schedule = SCHEDULES[0], grid: int = 2
) -> Iterator[str]:
    """What is wrong with the product of packs (batch / P, rows, columns, P) of -1, 0 and 1, whose sums are
    exact in every type."""
    stencil, lying = STENCILS["interleaved"], p.interleaved
    assert lying is not None
    shapes = [(p.batch // lying.pack, *side, lying.pack) for side in ((p.m, p.k), (p.k, p.n), (p.m, p.n))]
    draw, numbers, segments = np.random.default_rng(1), [], []
    for number, shape in enumerate(shapes):
        real, imaginary = draw.integers(-1, 2, (2, *shape))
        numbers.append(stored((real + 1j * imaginary * p.dtype.is_complex).ravel(), p.dtype))
        size = numbers[-1].nbytes
        data = np.zeros(-(-size // LINE) * LINE, np.uint8)
        data[:size] = numbers[-1].view(np.uint8)
        used = np.arange(data.size) < size
        segments.append(Segment("ABC"[number], (1 << 45) + (number << 32), data, used, used & (number == 2)))
    argument = pack(stencil.arguments(p, config), {"alpha": 1, "beta": 0})
    argument.put([x.address for x in segments])
    asked = stencil.launch(p, config)
    program = compiled(stencil.source(p, config, device), device)
    block = bytes(argument.block)
    try:
        launch(
            program, (min(grid, asked.grid[0]), 1, 1), asked.block[0], asked.shared, block, Memory(segments),
            schedule=schedule,
        )  # fmt: skip
    except Fault as fault:
        yield f"{p.key} {config} {schedule}: {fault}"
        return
    a, b = (wide(x, p.dtype).reshape(shape) for x, shape in zip(numbers[:2], shapes, strict=False))
    a, b = (x.conj() if letter == "j" else x for x, letter in zip((a, b), p.trans, strict=True))
    wanted = stored(np.einsum("pikb,pkjb->pijb", a, b).ravel(), p.dtype)
    wrong = int((segments[2].data[: wanted.nbytes].view(wanted.dtype) != wanted).sum())
    if wrong:
        yield f"{p.key} {config} {schedule}: {wrong} of {wanted.size} elements of C are wrong"
