"""One tile of C per block, for matrices of any size: the space, the choice and the launch of classic.cuh.

The universal GEMM stencil of J. Kurzak, S. Tomov, J. Dongarra, "Autotuning GEMM kernels for the Fermi
GPU" (2012): section 6.3 is the kernel, section 6.4 its space. The first nine parameters and the rules
on them are the paper's (algorithms 5 and 6); the others are what later devices pay for, and below
compute capability 8.0 they keep the paper's values, so that a Fermi's space is the paper's.

                 n_blk              m_dim x n_dim threads compute m_blk x n_blk of C,
               +-------+            (m_blk / m_dim) x (n_blk / n_dim) each;
         k_blk |   B   |            the same threads are reshaped to m_dima x n_dima and to
      k_blk    +-------+            m_dimb x n_dimb to read the stripes of A and B as they are stored
      +---+    +-------+
m_blk | A |    |   C   |
      +---+    +-------+

Sizes are in elements, ``itemsize`` and shared memory in bytes, registers in words of 32 bits. The
functions on configs work on numbers and on NumPy arrays of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import args
from tilewright.stencils.cuda.accepting import CudaStencil, misaligned, other_type
from tilewright.stencils.cuda.classic.cost import best, cost
from tilewright.stencils.cuda.classic.needs import (
    GRID_X,
    GRID_Z,
    LARGEST,
    READS,
    Guidelines,
    guidelines,
    shared_bytes,
    winner,
)
from tilewright.stencils.cuda.classic.slow import rules_of_today
from tilewright.stencils.cuda.classic.space import general_rules, params
from tilewright.stencils.cuda.common import modern, of_configs
from tilewright.stencils.cuda.source import asked, chosen, written
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import Argument

COLUMNS = 1024
"""Columns of C for which a config is chosen that must not depend on how many there are."""


def _textures(config: Config) -> str:
    """What a config reads A and B through, "" for plain loads."""
    read: str = config["read"]
    return read if read.startswith("tex") else ""


class ClassicStencil(CudaStencil):
    """``classic``: the stencil above as the five functions of the protocol."""

    name = "classic"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := other_type(p, "sdcz"):
            return reason
        if device.kind != "cuda":
            return f"{device.name} is no CUDA device"
        if min(p.m, p.n, p.batch) < 1:
            return "there is nothing to compute"
        if max(p.m, p.n, p.k, p.batch) > LARGEST:
            return f"{p.m}x{p.n}x{p.k}@{p.batch} has a size of nearly 2^31 or more"
        if -(-p.m // 16) * -(-p.n // 16) > GRID_X:
            return f"{p.m}x{p.n} has more tiles than a grid has blocks"
        return misaligned(p)

    def needs_record(self, problem: Problem) -> bool:
        """Large single products are what libraries tune best: untuned, this one is not the better guess."""
        return problem.batch == 1

    def space(self, problem: Problem, device: Device) -> Space:
        return self.guided(problem, device, guidelines("default", problem, device))

    def guidelines(self, name: str, problem: Problem, device: Device) -> Guidelines:
        """Guidelines by name; see ``guidelines``."""
        return guidelines(name, problem, device)

    def guided(self, problem: Problem, device: Device, floors: Guidelines) -> Space:
        """The space under other guidelines than the device's own."""
        today = modern(device)
        rules = [*general_rules(problem, device, floors), *(rules_of_today(problem, device) if today else ())]
        return Space(params(problem, device), rules, elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        if not modern(device):
            return winner(problem)
        return best(problem, device)

    def steady(self, problem: Problem, device: Device) -> Config | str:
        # A thread adds up its elements in the order of k, and so do tensor cores, some k at a time. The
        # config is that of a product with so many columns, whatever this one has.
        if reason := self.accepts(problem, device) or self.runs(device):
            return reason
        return self.default(replace(problem, n=COLUMNS, batch=1, outer=()), device).with_(split=1)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        defines = asked(problem) | chosen(config)
        defines["READ"] = READS.index(config["read"])
        return written("classic", defines)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        return args.gemm(problem, _textures(config))

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        sizes = (c["k_blk"], c["n_blk"], c["m_blk"], c["vec"], c["buffers"], c["split"], c["mma"])
        return Launch(
            grid=(-(-p.m // c["m_blk"]) * -(-p.n // c["n_blk"]), c["split"], min(p.batch, GRID_Z)),
            block=(c["m_dim"] * c["n_dim"], 1, 1),
            shared=int(shared_bytes(*sizes, p.dtype.itemsize)),
            cluster=c["split"],
            reading=_textures(c),
        )
