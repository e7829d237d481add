"""What several stencils of a processor answer alike, and in the same words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.model import Config, Launch, Problem, Source
from tilewright.stencils.cpu.ir import ENTRY, Ir, grain, module
from tilewright.stencils.protocol import CostModel, Stencil


class CpuStencil(Stencil):
    """A stencil whose kernels go through a batch one product after the other."""

    target = "cpu"

    def launch(self, problem: Problem, config: Config) -> Launch:
        return Launch(grain=grain(problem))


def outsized(p: Problem, most: int) -> str | None:
    """Why a product has not extents from 1 to ``most``; None if it has."""
    if max(p.extents) > most:
        return f"{p.m}x{p.n}x{p.k} is larger than {most} in some direction"
    return "there is nothing to compute" if min(p.extents) < 1 else None


def of_configs(cost: Callable[[Config], float]) -> CostModel:
    """A cost model that is asked about many configs, of one that is asked about each."""
    return lambda configs: np.array([cost(config) for config in configs], float)


def written(functions: Sequence[tuple[str, Ir]]) -> Source:
    """The program of these functions, one of which is the entry, and how many multiply-adds it has."""
    count = sum(ir.fma_count for _, ir in functions)
    return Source(module(functions), ENTRY, expect=(("fma", count),))
