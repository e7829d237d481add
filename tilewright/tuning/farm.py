"""Farms: who compiles and who measures for a tuner. Here the child processes of one machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Protocol

from tilewright.catalog import TARGETS
from tilewright.model import Binary, Config, Device
from tilewright.runtime import build
from tilewright.task import Task
from tilewright.tuning.evaluate import Kind
from tilewright.tuning.workers import Answer, Worker

VISIBLE = "CUDA_VISIBLE_DEVICES"


class Bench(Protocol):
    """A measuring worker: ``workers.Worker``, or one of another machine (``tuning.cluster``)."""

    @property
    def busy(self) -> bool:
        """Whether it has a request."""

    @property
    def free(self) -> bool:
        """Whether it takes a request now, be it behind another."""

    @property
    def pipe(self) -> Connection | None:
        """What becomes readable when there is news of its request."""

    def prepare(self, request: Any, timeout: float | None = None) -> None:
        """What it is to be told before any other request."""

    def send(self, request: Any, timeout: float | None = None) -> None:
        """Hand it a request."""

    def receive(self) -> Answer | None:
        """The answer, if there is one."""

    def ask(self, request: Any, timeout: float | None = None) -> Answer:
        """Send and wait."""

    def stop(self) -> None:
        """Give up what it is at."""


@dataclass(slots=True)
class Farm:
    """Workers that compile, and workers that measure, each with a device of its own.

    ``refresh`` takes workers that came into the lists, and those that are gone out of them. ``more`` is asked
    when none that measures is left, and waits for one; it says whether it is worth looking again."""

    compilers: list[Any]
    benches: list[Bench]
    refresh: Callable[[], object] = field(default=lambda: None)
    more: Callable[[], bool] = field(default=lambda: False)

    def close(self) -> None:
        """End all workers."""
        for worker in (*self.compilers, *self.benches):
            worker.stop()


def compiler(device: Device) -> Callable[[Any], Binary]:
    """The handler of a compiling child: (stencil, problem, config) to a binary with its facts."""
    target = TARGETS[device.kind]

    def handle(request: tuple[str, Task, Config]) -> Binary:
        return build.compile(*request, device, target)

    return handle


def local(
    device: Device, kind: Kind, timeout: float, numbers: Sequence[int] = (), measuring: float | None = None
) -> Farm:
    """Children of this process: compilers, and one measuring child for each device of these ``numbers``,
    which are all like ``device``; without numbers for ``device`` alone. A try has ``timeout`` seconds to be
    compiled, and as many, or ``measuring``, to be measured."""
    patience = timeout if measuring is None else measuring
    builders = [Worker(compiler, (device,), timeout=timeout) for _ in range(kind.compilers(device))]
    benches: list[Bench] = [
        Worker(
            kind.factory,
            (device,),
            timeout=patience,
            environment={**kind.environment, **alone},
            room=kind.room,
        )
        for alone in ([{VISIBLE: seen(device, number)} for number in numbers] if len(numbers) else [{}])
    ]
    return Farm(builders, benches)


def seen(device: Device, number: int) -> str:
    """What makes a child see one GPU only, that of a number in this process: its own name, which does not
    depend on what this process sees."""
    return TARGETS[device.kind].probe(number).uuid or str(number)
