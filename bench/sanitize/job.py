"""A job: a kernel under its own name, and the product that it is launched on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tilewright.model import ChainProblem, Config, Device, Gemm, Launch, SegmentedProblem, Source
from tilewright.space import HARDWARE
from tilewright.targets.cuda.arguments import Argument


@dataclass(frozen=True, slots=True)
class Job:
    """A kernel under its own name, and the product that it is launched on."""

    name: str
    problem: Any
    """A ``Problem``, the ``GroupedProblem`` of a list, a ``ChainProblem``, or a ``SegmentedProblem``."""
    launch: Launch
    source: Source
    stencil: str
    """Whose kernel it is: a stencil's name, or a rung of the ladder."""
    swapped: bool = False
    """Row-major, as the ladder's: A and B, and m and n, change places in the arguments."""
    shift: int = 0
    """Bytes by which operands begin after a multiple of 256."""
    arguments: tuple[Argument, ...] = ()


def named(source: Source, name: str) -> Source:
    """The same program with another name for its kernel."""
    return replace(source, entry=name, defines=(*source.defines, (source.entry, name)))


def defined(job: Job, name: str, value: str) -> Job:
    """The same job with one more definition in its program."""
    source = replace(job.source, defines=(*job.source.defines, (name, value)))
    return replace(job, source=source)


def made(
    stencil: Any,
    problem: Gemm | ChainProblem | SegmentedProblem,
    config: Config,
    name: str,
    device: Device,
    shift: int = 0,
) -> Job:
    """The job of a stencil's config for a problem that it accepts."""
    source = named(stencil.source(problem, config, device), name)
    launch, arguments = stencil.launch(problem, config), stencil.arguments(problem, config)
    return Job(name, problem, launch, source, stencil.name, shift=shift, arguments=arguments)


def fits(stencil: Any, problem: Gemm, config: Config, device: Device) -> bool:
    """Whether no limit of the hardware forbids a config."""
    return not any(rule.kind in HARDWARE for rule in stencil.space(problem, device).why(config))
