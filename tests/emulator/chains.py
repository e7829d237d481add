"""The kernel of chains on operands of its own, as a call has it but for the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.sanitize.chains import Part, parts, right
from tests.emulator.launch import launch
from tests.emulator.machine import SCHEDULES, Schedule
from tests.emulator.memory import Fault, Memory, Segment
from tests.emulator.products import LINE, compiled
from tilewright.catalog import STENCILS
from tilewright.model import ChainProblem, Config, Device
from tilewright.targets.cuda.arguments import pack


def segment(part: Part, number: int, begin: int, written: bool) -> Segment:
    """An operand as memory of the machine, ``begin`` bytes after a line. Only its elements may be touched."""
    size, elements = part.elements.itemsize, part.elements
    data = np.zeros(-(-(begin + elements.nbytes) // LINE) * LINE, np.uint8)
    data[begin : begin + elements.nbytes] = elements.view(np.uint8)
    used = np.zeros(data.size, bool)
    used[begin : begin + elements.nbytes] = np.repeat(part.used, size)
    return Segment(f"operand {number}", (1 << 45) + (number << 32), data, used, used & written)


def chain_wrongs(
    p: ChainProblem,
    config: Config,
    device: Device,
    *,
    schedule: Schedule = SCHEDULES[0],
    grid: int = 2,
    read: list[Part] | None = None,
    wanted: Any = None,
) -> Iterator[str]:
    """What is wrong with the results of ``chain`` on a problem, whose addresses are as aligned as it says and
    no more. ``read``: its operands and C, which are else drawn; ``wanted``: what C is to be, else
    computed."""
    stencil, read = STENCILS["chain"], read or parts(p)
    begin = p.align % 16
    segments = [segment(part, i, begin, part is read[-1]) for i, part in enumerate(read)]
    argument = pack(stencil.arguments(p, config))
    argument.put([x.address + begin for x in segments])
    asked = stencil.launch(p, config)
    try:
        launch(
            compiled(stencil.source(p, config, device), device),
            (min(grid, asked.grid[0]), 1, 1),
            asked.block[0],
            asked.shared,
            bytes(argument.block),
            Memory(segments),
            schedule=schedule,
        )
    except Fault as fault:
        yield f"{p.key} {config} {schedule}: {fault}"
        return
    wanted, size = right(p, read) if wanted is None else wanted, read[-1].elements.nbytes
    got = segments[-1].data[begin : begin + size].view(wanted.dtype)
    wrong = int((got != wanted).sum())
    if wrong:
        yield f"{p.key} {config} {schedule}: {wrong} of {got.size} elements of C are wrong"
