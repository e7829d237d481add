"""Kernels of a GPU that were handed in, each launched as its rule says."""

from __future__ import annotations

from typing import ClassVar

from tilewright.custom.definition import FORMATS, Array
from tilewright.custom.problem import KernelProblem
from tilewright.model import Config, Launch
from tilewright.stencils.custom.base import Kernels
from tilewright.targets.cuda.arguments import Argument, Pointer, Scalar


class CudaKernels(Kernels):
    """The kernel's parameters are its arguments in their order: addresses, and numbers by value."""

    name: ClassVar[str] = "custom-cuda"
    target: ClassVar[str] = "cuda"

    def launch(self, problem: KernelProblem, config: Config) -> Launch:
        return problem.made.launched(config, problem.all_sizes)

    def arguments(self, problem: KernelProblem, config: Config) -> tuple[Argument, ...]:
        made, sizes = problem.made, problem.all_sizes
        operands = {array.name: number for number, array in enumerate(made.arrays)}
        found: list[Argument] = []
        for each in made.arguments:
            if isinstance(each, Array):
                found.append(Pointer(each.name, operands[each.name]))
            else:
                value = None if each.value is None else made.scalar(each, sizes, {})
                found.append(Scalar(each.name, FORMATS[each.dtype], value))
        return tuple(found)
