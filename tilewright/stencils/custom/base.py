"""Kernels that were handed in, as a stencil: everything that is asked of it the problem itself says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tilewright.custom import spaces
from tilewright.custom.problem import KernelProblem
from tilewright.model import Config, Device, Source
from tilewright.space import Space, completed
from tilewright.stencils.protocol import Stencil


class Kernels(Stencil):
    """What kernels of all kinds of devices have in common."""

    custom: ClassVar[bool] = True
    kind: ClassVar[str]

    def accepts(self, problem: Any, device: Device) -> str | None:
        if not isinstance(problem, KernelProblem):
            return "it runs kernels that were handed in"
        if problem.made.target != device.kind:
            return (
                f"{problem.kernel} is written in {problem.made.language}, and {device.name} is a "
                f"{device.kind}"
            )
        return None

    def space(self, problem: KernelProblem, device: Device) -> Space:
        return spaces.space(problem.made, problem.all_sizes, device)

    def default(self, problem: KernelProblem, device: Device) -> Config:
        """The config that the kernel names, or the valid one nearest to it; the first one where it names
        none."""
        made, space = problem.made, self.space(problem, device)
        if made.default is None:
            spaces.check(space, idle=False)
            return space.at(0)
        named = completed(made.params, made.default)
        found = space.nearest(named)
        if found is None:
            spaces.check(space, idle=False)
            raise AssertionError("a space with a point has a nearest one")
        return found

    def starts(self, problem: KernelProblem, device: Device) -> Sequence[Config]:
        return problem.made.starts

    def source(self, problem: KernelProblem, config: Config, device: Device) -> Source:
        return problem.made.source(config, problem.all_sizes)
