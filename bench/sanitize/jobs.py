"""Everything that is launched, in order."""

from __future__ import annotations

from collections.abc import Iterator

from bench.sanitize import forms, small
from bench.sanitize.job import Job, named
from tilewright.model import Device
from tilewright.tutorial import ladder


def jobs(device: Device) -> Iterator[Job]:
    """Everything that is launched."""
    yield from forms.of_stencils(device)
    yield from small.tiny(device)
    yield from small.streams(device)
    yield from small.tensor(device)
    yield from small.lists(device)
    yield from _rungs()


def _rungs() -> Iterator[Job]:
    """All configs of the ladder."""
    for rung in ladder.RUNGS:
        for number, config in enumerate(rung.configs):
            # Row-major C = A B is column-major C' = B' A'.
            problem = forms.padded("s:nn", forms.SIZE, 1, 1, alpha="any", beta="any" if number % 2 else "0")
            launch = rung.launch(config, problem.n, problem.m)
            name = f"{rung.name}_{number}"
            yield Job(name, problem, launch, named(rung.source(config), name), rung.name, swapped=True)
