"""Matrices times vectors, one or a batch: the space, the choice and the launch of vector.

A matrix is read once, so memory sets the pace, as it does for very small ones (I. Masliah et al. (2018),
section 3), but nothing of it is used twice: it needs no shared memory. Words of 16 bytes of it are read
wherever its columns begin, as those that lie a few columns apart begin at the same place in a word.

    lanes    of a team, which read a run (a stored column of the matrix) side by side
    runs     that a team reads at a time
    words    of 16 bytes of each of them that a lane reads at a time
    warps    of a block
    turns    how often a team takes so many runs, where they lie along the sum
    split    blocks of a cluster that share the k of a tile, where there are few of them

A block has one tile of C, or a share of its k, and ends. Sums are added in an order that config and sizes
alone decide, so results do not vary from run to run.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import args
from tilewright.stencils.cuda.accepting import CudaStencil, unserved
from tilewright.stencils.cuda.common import of_configs
from tilewright.stencils.cuda.source import asked, chosen, written
from tilewright.stencils.cuda.vector.cost import best, cost
from tilewright.stencils.cuda.vector.needs import (
    held,
    is_row,
    resident_blocks,
    strided,
    tiles,
    unit,
    unit_run,
    unit_x,
)
from tilewright.stencils.cuda.vector.space import LANES, RUNS, WARPS, params, rules
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import Argument

SMALL = 64
"""Extents of a matrix up to which blocks are too short: of 14 such problems on an H200 the stencil of tiny
matrices was faster in all (1.02 to 1.06 of a copy, and 0.03 to 1.02)."""


class VectorStencil(CudaStencil):
    """``vector``: matrices times vectors, as the five functions of the protocol."""

    name = "vector"
    size_specific = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := unserved(p, device):
            return reason
        if min(p.m, p.n) > 1:
            return f"{p.m}x{p.n}: neither operand is a vector"
        if max(p.m, p.n) == 1:
            return "C is one number"
        if max(p.extents) <= SMALL:
            return f"{p.m}x{p.n}x{p.k} is for the stencil of tiny matrices, which moves several together"
        if p.batch * max(p.m, p.n) >= 2**31:
            return f"a batch of {p.batch} has 2^31 elements of C or more"
        if max(p.extents) + WARPS[-1] * LANES[-1] * RUNS[-1] * 16 >= 2**31:
            return "an extent is 2^31 or close to it"
        return None

    def needs_record(self, problem: Problem) -> bool:
        """Where nothing was measured the library is the better guess."""
        return True

    def compiled(self, problem: Problem) -> dict[str, Any]:
        # Extents and leading dimensions are arguments.
        p = problem
        fixed = {name: value for name, value in p.compiled.items() if name not in ("m", "n", "k")}
        fixed |= {"lda": 0, "ldb": 0, "ldc": 0, "row": is_row(p), "unit": unit(p)}
        return fixed | {"unit_run": unit_run(p), "unit_x": unit_x(p), "strided": strided(p)}

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        defines = asked(p) | {"ROW": int(is_row(p)), "UNIT": unit(p), "UNIT_RUN": unit_run(p)}
        defines |= {"UNIT_X": unit_x(p), "STRIDED": int(strided(p))}
        defines |= {"HELD": int(held(p, *(config[name] for name in ("lanes", "words", "split"))))}
        defines["BLOCKS"] = max(1, int(resident_blocks(p, device, **config)))
        return written("vector", defines | chosen(config))

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        return args.gemm(problem)

    def launch(self, problem: Problem, config: Config) -> Launch:
        split = config["split"]
        sizes = {name: value for name, value in config.items() if name != "split"}
        return Launch(
            grid=(int(tiles(problem, **sizes)), split, 1),
            block=(32 * config["warps"], 1, 1),
            shared=0,
            cluster=split,
        )
