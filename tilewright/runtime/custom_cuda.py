"""Kernels of a GPU that were handed in, bound to their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.catalog import STENCILS
from tilewright.custom.problem import KernelProblem
from tilewright.custom.spaces import too_much
from tilewright.errors import ArgumentError
from tilewright.model import Config, Device, Kernel
from tilewright.targets.cuda.binding import Binding

NAME = "custom-cuda"


def bound(kernel: Kernel, problem: KernelProblem, config: Config, given: Mapping[str, Any]) -> Binding:
    """A kernel with its launch and these scalars by name; ``Binding.put`` gives it the addresses of its
    arrays.

    Raises as ``Binding``.
    """
    stencil = STENCILS[NAME]
    return Binding(kernel, stencil.launch(problem, config), stencil.arguments(problem, config), given)


def check(problem: KernelProblem, config: Config, device: Device) -> None:
    """Raises ``ArgumentError`` for a launch that the device cannot hold."""
    why = too_much(STENCILS[NAME].launch(problem, config), device)
    if why is not None:
        raise ArgumentError(f"{problem.spelling} with {config}: {why}; accepted: a config of its space")
