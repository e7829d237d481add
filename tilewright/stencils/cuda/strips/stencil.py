"""Products of groups with a short k, whose borders lie in device memory: space, choice and launch.

Element-wise weights of equivariant networks (MACE's products by element) have a k of 16 or so: what is
written of C sets the pace, and a kernel that brings tiles through shared memory waits at each of them. Here
a lane keeps its rows of A for all of k, and no warp waits for another one.

    rows     rows of C of a lane, which has as many rows of A in registers
    columns  columns of C at a time
    warps    warps of a block, one below the other
    tile_n   columns of a tile
    blocks   persistent blocks of the whole grid, in multiples of the SMs
    per_block   or end after so many tiles (``grids``)
    ahead    whether what later tiles read is asked of memory: of the tile that comes when all that are on
             the device are done
    once     whether C is written as what is not used again, so that it leaves the second-level cache first

Sizes are in elements, shared memory in bytes. k is compiled in, all other extents are arguments.
"""

from __future__ import annotations

from tilewright.model import AXES, Config, Device, Launch, SegmentedProblem, Source
from tilewright.space import Space
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.accepting import CudaStencil, misaligned, no_gpu, other_type
from tilewright.stencils.cuda.common import WIDEST
from tilewright.stencils.cuda.segments.stencil import LARGEST, struct_segments, tiles
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.stencils.cuda.strips.cost import best
from tilewright.stencils.cuda.strips.needs import few, shared_bytes, vectors
from tilewright.stencils.cuda.strips.space import params, rules
from tilewright.targets.cuda.arguments import Argument

LONGEST = {"s": 32, "d": 16}
"""Types, and a k up to which a lane's rows of A leave registers for two blocks of four warps. With a k of 24
groups in float64 took as long on an H200 as ``segments`` does, with one of 32 1.3 times as long."""
COLUMNS = 4
"""Columns of a group in the mean, in units of k, from which on float64 is served: where there are fewer, A is
most of what is read, and ``segments`` reads it faster. With 4.2 (k 13) groups took 0.98 of its time, with 1.6
(k 20) 1.34 times as long (``bench.segments --parts short --seed 11``). It has no tensor cores for float32,
which took 0.44 of its time with 0.36 (k 25)."""
ROWS = 128
"""The fewest rows of C, those of a warp."""


class StripsStencil(CudaStencil):
    """``strips``: one product with a short k split among groups, as the five functions of the protocol."""

    name = "strips"
    segments = True

    def accepts(self, problem: SegmentedProblem, device: Device) -> str | None:
        p = problem
        if reason := other_type(p, LONGEST) or no_gpu(device):
            return reason
        if p.axis != "n":
            return f"{p.axis} is split, and columns of C are written here"
        if min(p.m, p.n, p.k, p.batch, p.groups) < 1:
            return "there is nothing to compute"
        if p.k > (longest := LONGEST[p.dtype.letter]):
            return f"k={p.k} is above {longest}"
        if max(*p.extents, p.batch, p.groups) > LARGEST or tiles(p, 32, 8) > LARGEST - grids.MOST:
            return f"{p.spelling} has an extent, a batch, a number of groups or of tiles above {LARGEST}"
        if p.dtype.letter == "d" and p.n < COLUMNS * p.k * p.groups:
            return f"n={p.n} has fewer than {COLUMNS} columns of a group for each of k={p.k}"
        if p.m < ROWS:
            return f"m={p.m} is below {ROWS}, the rows of a warp"
        if reason := misaligned(p):
            return reason
        if vectors(p)[2] * p.dtype.itemsize < WIDEST:
            return "a column of C does not begin at a multiple of 16 bytes"
        return None

    def space(self, problem: SegmentedProblem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: SegmentedProblem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def source(self, problem: SegmentedProblem, config: Config, device: Device) -> Source:
        defines = asked(problem) | persistent(config, device)
        defines |= {"AXIS": AXES.index(problem.axis), "K": problem.k, "FEW": int(few(problem))}
        defines["AHEAD"] = config["ahead"] * config["blocks"]
        defines |= {f"VEC_{x}": count for x, count in zip("ABC", vectors(problem), strict=True)}
        return written("strips", defines)

    def arguments(self, problem: SegmentedProblem, config: Config) -> tuple[Argument, ...]:
        return (struct_segments(problem),)

    def launch(self, problem: SegmentedProblem, config: Config) -> Launch:
        p, c = problem, config
        most = tiles(p, 32 * c["rows"] * c["warps"], c["tile_n"])
        return Launch(
            grid=(grids.launched(c, most), 1, 1),
            block=(32 * c["warps"], 1, 1),
            shared=int(shared_bytes(p, c["warps"], c["tile_n"])),
        )
