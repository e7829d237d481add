"""Batches of products with one long extent, m or n: the space, the choice and the launch of panel.

Many programs multiply by small matrices along something long: a rotation of the features of every edge, a
gate on the amplitudes of a register, a tensor-product operator along one axis. Such a product is a panel
times a block (K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008),
section 4), and memory sets its pace as it does for very small matrices (I. Masliah et al. (2018), section 3).

    path     "async" or "bulk": how tiles come into shared memory, by words of all threads or by bulk copies
    packed   the small operand is brought into the order in which multiply-add units read it
    held     a warp keeps its fragments of the small operand for its parts of a tile (``mma`` of 16 bits)
    direct   C leaves from registers, not through shared memory (m is long)
    tile     rows of the panel that are in a stage; its length is an argument of the kernel, not a constant,
             and some tiles are made for it
    rows, columns   of the part of C that a thread computes (with ``mma``: a warp, by tensor cores)
    warps    of a block that multiply
    movers   with bulk copies: more warps, which load, and, unless direct, as many others, which write
    sectors  columns of C of small numbers leave by whole sectors of 32 bytes, not by words of 16
    stages   tiles in shared memory: all but the one that is multiplied are on their way
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over all tiles of the batch
    per_block   or end after so many of them (``grids``)
    tickets     with bulk copies: they stay, and take the next tile from a counter that all of them share

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import args, grids
from tilewright.stencils.cuda.accepting import CudaStencil, unserved
from tilewright.stencils.cuda.common import of_configs, units
from tilewright.stencils.cuda.panel.cost import best, cost, ended
from tilewright.stencils.cuda.panel.needs import (
    LARGEST,
    PATHS,
    length,
    long_m,
    one_run,
    panel_run,
    reach,
    shared_bytes,
    short,
    streams,
    strides,
    tiles,
    width,
)
from tilewright.stencils.cuda.panel.space import TILES, params, rules, threads
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cuda.arguments import Argument

SHARING = ("path", "mma", "direct", "tile", "stages", "packed")
"""The parameters that shared memory depends on, with the width of a part."""


class PanelStencil(CudaStencil):
    """``panel``: a long operand times a small one, as the five functions of the protocol."""

    name = "panel"
    size_specific = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := unserved(p, device):
            return reason
        if max(p.k, short(p)) > LARGEST or length(p) <= LARGEST:
            return f"{p.m}x{p.n}x{p.k} has not one extent above {LARGEST} alone, m or n"
        if p.batch * -(-length(p) // TILES[0]) >= 2**30:
            return f"a batch of {p.batch} has 2^30 tiles or more"
        if reach(p) >= 2**31:
            return (
                "distances within a tile are counted in 32 bits, which a leading dimension is too large for"
            )
        if (
            int(shared_bytes(p, "async", 0, int(long_m(p)), TILES[0], 2, 0, 1))
            > device["shared_per_block_optin"]
        ):
            return f"two stages of {p.m}x{p.n}x{p.k} do not fit in shared memory"
        return None

    def compiled(self, problem: Problem) -> dict[str, Any]:
        # The long extent is an argument; what follows of it is whether one tile has all rows of C.
        return {**problem.compiled, ("m" if long_m(problem) else "n"): "long"}

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return ended(problem, device, best(self.space(problem, device), problem, device))

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        stream, stream_c = streams(p)
        defines = asked(p) | {
            "LONG_M": int(long_m(p)),
            "SHORT": short(p),
            "SIZE_K": p.k,
            "STREAM": int(stream),
            "STREAM_C": int(stream_c),
            "SHARED": int(strides(p)[1] == 0),
            "PANEL_RUN": int(panel_run(p, config["path"], config["tile"])),
            "ONE_RUN": int(one_run(p, config["path"], config["direct"], config["tile"])),
        }
        defines |= {f"UNIT_{x}": u for x, u in zip("ABC", units(p), strict=True)}
        defines |= persistent(config, device)
        defines["PATH"] = 1 + PATHS.index(config["path"])
        return written("panel", defines)

    def arguments(self, problem: Problem, config: Config) -> tuple[Argument, ...]:
        return *args.gemm(problem), *grids.counter(config)

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, {"packed": 0, "movers": 1} | dict(config)
        return Launch(
            grid=(grids.launched(c, tiles(p, c["tile"])), 1, 1),
            block=(int(threads(c["path"], c["direct"], c["warps"], c["movers"])), 1, 1),
            shared=int(shared_bytes(p, *(c[name] for name in (*SHARING, width(p))))),
        )
