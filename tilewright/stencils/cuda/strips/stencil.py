"""Products of groups with a short k, whose borders lie in device memory: space, choice and launch.

Element-wise weights of equivariant networks (MACE's products by element) and typed edges of graphs have a k
of 4 to 32: what is read and written sets the pace, groups are often short, and a kernel that brings tiles
through shared memory waits at each of them and fills a fraction of it. Here a lane keeps its rows of A for
all of k, and no warp waits for another one. Numbers of 16 bits are summed in float32, and multiplied by
tensor cores where that is faster, to which a lane gives its part of the rows and of the columns.

    mma      whether tensor cores multiply, which numbers of 16 bits have
    rows     rows of C of a lane, which has as many rows of A in registers
    columns  columns of C of a lane at a time
    lanes_m  lanes of a warp along m; with fewer than 32 others beside them have other columns
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
from tilewright.stencils.cuda.segments.stencil import LARGEST, struct_segments, tiles
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.stencils.cuda.strips.cost import best
from tilewright.stencils.cuda.strips.needs import LANES, few, rows_of, shared_bytes, vectors
from tilewright.stencils.cuda.strips.space import params, rules
from tilewright.targets.cuda.arguments import Argument

LONGEST = {"h": 32, "b": 32, "hc": 32, "s": 32, "c": 32, "d": 24, "z": 20}
"""Types, and a k up to which they are served. ``segments`` has tensor cores for float64, with which groups of
a k of 27 and 29 took 0.86 of the time in ``d``, of 28 and 31 in ``z`` 0.86 and 0.53; with 21 and 19 they took
1.6 and 1.2 times as long (``bench/results/h200/segments-configs.jsonl``)."""
DEEPEST = 32
"""The same of products that have no more rows of C than a warp has lanes: tiles of ``segments`` are mostly
empty then."""


class StripsStencil(CudaStencil):
    """``strips``: one product with a short k split among groups, as the five functions of the protocol."""

    name = "strips"
    segments = True

    def accepts(self, problem: SegmentedProblem, device: Device) -> str | None:
        p = problem
        if reason := other_type(p, LONGEST) or no_gpu(device):
            return reason
        if p.axis == "k":
            return "k is split, and all of a short one is kept in registers here"
        if min(p.m, p.n, p.k, p.batch, p.groups) < 1:
            return "there is nothing to compute"
        if p.k > (longest := DEEPEST if rows_of(p) <= LANES else LONGEST[p.dtype.letter]):
            return f"k={p.k} is above {longest}"
        if max(*p.extents, p.batch, p.groups) > LARGEST or tiles(p, 4, 8) > LARGEST - grids.MOST:
            return f"{p.spelling} has an extent, a batch, a number of groups or of tiles above {LARGEST}"
        return misaligned(p)

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
        most = tiles(p, c["lanes_m"] * c["rows"] * c["warps"], c["tile_n"])
        return Launch(
            grid=(grids.launched(c, most), 1, 1),
            block=(32 * c["warps"], 1, 1),
            shared=int(shared_bytes(p, c["warps"], c["tile_n"], c["mma"])),
        )
