"""Kernels of a processor that were handed in: C functions, called with addresses and numbers."""

from __future__ import annotations

from typing import ClassVar

from tilewright.custom.problem import KernelProblem
from tilewright.model import Config, Launch
from tilewright.stencils.custom.base import Kernels


class CpuKernels(Kernels):
    """Nothing is launched: the function does all of the work on the thread that calls it."""

    name: ClassVar[str] = "custom-cpu"
    target: ClassVar[str] = "cpu"

    def launch(self, problem: KernelProblem, config: Config) -> Launch:
        return Launch()
