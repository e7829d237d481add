"""The kernel of groups on the device, run on groups of any borders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bench.sanitize.groups import Drawn, drawn, problem
from tests.emulator import boxes
from tests.emulator.launch import launch
from tests.emulator.machine import SCHEDULES, Schedule
from tests.emulator.memory import Fault, Memory, Segment
from tests.emulator.products import compiled, numbers
from tilewright.catalog import STENCILS
from tilewright.model import Config, Device, SegmentedProblem
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda.arguments import pack

__all__ = ["problem", "segments_wrongs"]


def _operands(made: Drawn) -> list[Segment]:
    """A, B and C as memory of the machine, of which only elements of C may be written."""
    parts = []
    for at, values in enumerate(made.values):
        part = numbers(values, "operand")
        part.name, part.address = "ABC"[at], part.address + (1 << 44) * at
        parts.append(part)
    element = np.zeros(made.values[2].size, bool)
    element[made.elements] = True
    parts[2].writable = np.zeros(parts[2].data.size, bool)
    parts[2].writable[: made.values[2].nbytes] = np.repeat(element, made.problem.dtype.itemsize)
    return parts


def _wrong(made: Drawn, part: Segment) -> int:
    """How many numbers a launch left wrong in the memory of C."""
    return made.wrong(part.data[: made.values[2].nbytes].view(made.problem.dtype.numpy))


def _launched(
    p: SegmentedProblem,
    config: Config,
    device: Device,
    addresses: list[int],
    memory: list[Segment],
    grid: int,
    schedule: Schedule,
    stencil: Stencil,
) -> None:
    """One launch of at most ``grid`` blocks. Raises ``Fault``."""
    block, asked = pack(stencil.arguments(p, config)), stencil.launch(p, config)
    block.put(addresses, boxes.words)
    launch(
        compiled(stencil.source(p, config, device), device),
        (min(grid, asked.grid[0]), 1, 1),
        asked.block[0],
        asked.shared,
        bytes(block.block),
        Memory(memory),
        schedule=schedule,
    )


def segments_wrongs(
    p: SegmentedProblem,
    offsets: Sequence[int],
    config: Config,
    device: Device,
    *,
    schedule: Schedule = SCHEDULES[0],
    grid: int = 2,
    stencil: str = "segments",
) -> Iterator[str]:
    """What is wrong with the results of groups with such borders: faults, elements that differ, and elements
    beside them that were written."""
    made = drawn(p, offsets)
    parts, where = _operands(made), numbers(made.offsets, "where")
    addresses = [part.address for part in (*parts, where)]
    try:
        _launched(p, config, device, addresses, [*parts, where], grid, schedule, STENCILS[stencil])
    except Fault as fault:
        yield f"{p.key} {offsets} {config} {schedule}: {fault}"
        return
    if wrong := _wrong(made, parts[2]):
        yield f"{p.key} {offsets} {config} {schedule}: {wrong} elements"
