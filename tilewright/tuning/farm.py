"""Farms: who compiles and who measures for a tuner. Here the child processes of one machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.catalog import TARGETS
from tilewright.model import Binary, Config, Device
from tilewright.runtime import build
from tilewright.task import Task
from tilewright.tuning.evaluate import Kind
from tilewright.tuning.pipeline import Bench
from tilewright.tuning.workers import Worker

VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(slots=True)
class Farm:
    """Workers that compile, workers that measure, each with a device of its own, and what is to be done with
    all of them when tuning ends."""

    compilers: Sequence[Any]
    benches: Sequence[Bench]
    after: Callable[[], object] = field(default=lambda: None)

    def close(self) -> None:
        """End all workers."""
        for worker in (*self.compilers, *self.benches):
            worker.stop()
        self.after()


def compiler(device: Device) -> Callable[[Any], Binary]:
    """The handler of a compiling child: (stencil, problem, config) to a binary with its facts."""
    target = TARGETS[device.kind]

    def handle(request: tuple[str, Task, Config]) -> Binary:
        return build.compile(*request, device, target)

    return handle


def local(device: Device, kind: Kind, timeout: float, numbers: Sequence[int] = ()) -> Farm:
    """Children of this process: compilers, and one measuring child for each device of these ``numbers``,
    which are all like ``device``; without numbers for ``device`` alone."""
    builders = [Worker(compiler, (device,), timeout=timeout) for _ in range(kind.compilers(device))]
    benches = [
        Worker(kind.factory, (device,), timeout=timeout, environment={**kind.environment, **alone})
        for alone in ([{VISIBLE: seen(number)} for number in numbers] if len(numbers) else [{}])
    ]
    return Farm(builders, benches)


def seen(number: int, environment: Mapping[str, str] = os.environ) -> str:
    """What makes a child see one GPU only, that of a number that this process gives it."""
    named = [name.strip() for name in environment.get(VISIBLE, "").split(",") if name.strip()]
    return named[number] if number < len(named) else str(number)
