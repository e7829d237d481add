"""Everything that is launched, in order."""

from __future__ import annotations

from collections.abc import Iterator

from bench.sanitize import chains, forms, groups, large, nests, small
from bench.sanitize.job import Job, named
from tilewright.model import Config, Device
from tilewright.tutorial import outlines
from tilewright.tutorial.rung import Rung


def jobs(device: Device) -> Iterator[Job]:
    """Everything that is launched."""
    yield from forms.of_stencils(device)
    yield from small.tiny(device)
    yield from small.streams(device)
    yield from small.panel(device)
    yield from small.whole(device)
    yield from small.boxes(device)
    yield from large.warpgroup(device)
    yield from large.dmma(device)
    yield from large.ffma(device)
    yield from large.cfma(device)
    yield from large.pairs(device)
    yield from large.emulated(device)
    yield from large.split(device)
    yield from large.unaligned(device)
    yield from small.single(device)
    yield from small.middle(device)
    yield from small.inner(device)
    yield from small.vector(device)
    yield from small.tensor(device)
    yield from small.interleaved(device)
    yield from small.lists(device)
    yield from chains.jobs(device)
    yield from groups.jobs(device)
    yield from nests.jobs(device)
    yield from _rungs(device)


def _rungs(device: Device) -> Iterator[Job]:
    """All configs of the ladders that a device can run."""
    for letter, rungs in outlines.LADDERS.items():
        for rung in rungs:
            if rung.missing(device) is None:
                for number, config in enumerate(rung.configs):
                    yield _rung(letter, rung, number, config, device)


def _rung(letter: str, rung: Rung, number: int, config: Config, device: Device) -> Job:
    """A config of a ladder: row-major C = A B is column-major C' = B' A'."""
    beta = "any" if number % 2 else "0"
    p = forms.padded(f"{letter}:nn", forms.SIZE, rung.whole, rung.unit, alpha="any", beta=beta)
    # In single precision kernels have the names of their files alone.
    name = f"{rung.name}_{number}" if letter == "s" else f"half_{letter}_{rung.name}_{number}"
    described = rung.arguments(config, p.n, p.m, p.k, (p.ldb or 0, p.lda or 0, p.ldc or 0))
    launch, source = rung.launch(config, p.n, p.m, device), named(rung.source(config), name)
    return Job(name, p, launch, source, rung.name, swapped=True, arguments=described)
