"""Everything that is launched, in order."""

from __future__ import annotations

from collections.abc import Iterator

from bench.sanitize import chains, forms, groups, nests, small
from bench.sanitize.job import Job, named
from tilewright.model import Device
from tilewright.tutorial import ladder


def jobs(device: Device) -> Iterator[Job]:
    """Everything that is launched."""
    yield from forms.of_stencils(device)
    yield from small.tiny(device)
    yield from small.streams(device)
    yield from small.panel(device)
    yield from small.whole(device)
    yield from small.boxes(device)
    yield from small.warpgroup(device)
    yield from small.unaligned(device)
    yield from small.single(device)
    yield from small.middle(device)
    yield from small.inner(device)
    yield from small.tensor(device)
    yield from small.interleaved(device)
    yield from small.lists(device)
    yield from chains.jobs(device)
    yield from groups.jobs(device)
    yield from nests.jobs(device)
    yield from _rungs()


def _rungs() -> Iterator[Job]:
    """All configs of the ladder."""
    for rung in ladder.RUNGS:
        for number, config in enumerate(rung.configs):
            # Row-major C = A B is column-major C' = B' A'.
            problem = forms.padded("s:nn", forms.SIZE, 1, 1, alpha="any", beta="any" if number % 2 else "0")
            launch = rung.launch(config, problem.n, problem.m)
            name, p = f"{rung.name}_{number}", problem
            pitches = p.ldb or 0, p.lda or 0, p.ldc or 0
            described = ladder.arguments(p.n, p.m, p.k, pitches)
            source = named(rung.source(config), name)
            yield Job(name, problem, launch, source, rung.name, swapped=True, arguments=described)
