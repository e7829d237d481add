"""Kernels of one's own on operands of their own, as a call has them but for the GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tests.emulator.launch import launch
from tests.emulator.machine import SCHEDULES, Schedule
from tests.emulator.memory import Fault, Memory, Segment
from tests.emulator.products import LINE, compiled
from tilewright.catalog import STENCILS
from tilewright.kernels.stencil import Stencil
from tilewright.model import Config, Device
from tilewright.targets.cuda.arguments import pack
from tilewright.tuning.evaluate.kernels import answered, compared, drawn


def kernel_wrongs(
    kernel: Stencil,
    sizes: Mapping[str, int],
    config: Config,
    device: Device,
    *,
    schedule: Schedule = SCHEDULES[0],
) -> Iterator[str]:
    """What is wrong with what a kernel, whose blocks have one axis, makes of inputs that are drawn."""
    problem, made = kernel.problem(sizes), kernel.definition
    values = drawn(made, sizes, 1)
    right = answered(made, values, sizes)
    segments = []
    for number, array in enumerate(made.arrays):
        content = values.get(array.name, np.full(array.extents(sizes), np.nan, array.numpy))
        data = np.zeros(-(-content.nbytes // LINE) * LINE, np.uint8)
        data[: content.nbytes] = content.reshape(-1).view(np.uint8)
        used = np.arange(data.size) < content.nbytes
        begin = (1 << 45) + (number << 32)
        segments.append(Segment(array.name, begin, data, used, used & array.writes))
    stencil = STENCILS["custom-cuda"]
    argument = pack(stencil.arguments(problem, config))
    argument.put([segment.address for segment in segments])
    asked = stencil.launch(problem, config)
    assert asked.block[1:] == (1, 1)
    try:
        launch(
            compiled(stencil.source(problem, config, device), device),
            asked.grid,
            asked.block[0],
            asked.shared,
            bytes(argument.block),
            Memory(segments),
            schedule=schedule,
        )
    except Fault as fault:
        yield f"{problem.spelling} {config} {schedule}: {fault}"
        return
    for array, segment in zip(made.arrays, segments, strict=True):
        if array.writes:
            extents = array.extents(sizes)
            size = int(np.prod(extents)) * array.numpy.itemsize
            verdict = compared(
                made, array, segment.data[:size].view(array.numpy).reshape(extents), right[array.name]
            )
            if not verdict.ok:
                yield f"{problem.spelling} {config} {schedule}: {verdict.why}"
