"""Products of groups with a short k, whose borders lie in device memory: space, choice and launch.

Element-wise weights of equivariant networks (MACE's products by element) have a k of 16 or so: what is
written of C sets the pace, and a kernel that brings tiles through shared memory waits at each of them. Here
a lane keeps its rows of A for all of k, and no warp waits for another one.

    rows     rows of C of a lane, which has as many rows of A in registers
    columns  columns of C at a time
    warps    warps of a block, one below the other
    tile_n   columns of a tile
    blocks   persistent blocks of the whole grid, in multiples of the SMs

Sizes are in elements, shared memory in bytes. k is compiled in, all other extents are arguments.
"""

from __future__ import annotations

from tilewright.model import AXES, Config, Device, Launch, SegmentedProblem, Source
from tilewright.space import Space
from tilewright.stencils.cuda.common import WIDEST, no_gpu, too_old
from tilewright.stencils.cuda.segments.stencil import LARGEST, struct_segments, tiles
from tilewright.stencils.cuda.source import asked, program
from tilewright.stencils.cuda.strips.cost import best
from tilewright.stencils.cuda.strips.needs import shared_bytes, vectors
from tilewright.stencils.cuda.strips.space import params, rules
from tilewright.stencils.protocol import Stencil
from tilewright.targets.cuda.arguments import Argument

LONGEST = 16
"""A k up to which a lane's rows of A leave registers for three blocks of an SM. With this k groups in
float64, and such as are split along m, took 1.4 and 1.1 times as long on an H200 as ``segments`` does; others
were not timed."""
ROWS = 128
"""The fewest rows of C, those of a warp."""


class StripsStencil(Stencil):
    """``strips``: one product with a short k split among groups, as the five functions of the protocol."""

    name = "strips"
    target = "cuda"
    segments = True

    def accepts(self, problem: SegmentedProblem, device: Device) -> str | None:
        p = problem
        if p.dtype.letter != "s":
            return f"type {p.dtype.letter} is not s"
        reason = no_gpu(device)
        if reason is not None:
            return reason
        if p.axis != "n":
            return f"{p.axis} is split, and columns of C are written here"
        if min(p.m, p.n, p.k, p.batch, p.groups) < 1:
            return "there is nothing to compute"
        if p.k > LONGEST:
            return f"k={p.k} is above {LONGEST}"
        if max(*p.extents, p.batch, p.groups) > LARGEST or tiles(p, 32, 8) > LARGEST:
            return f"{p.spelling} has an extent, a batch, a number of groups or of tiles above {LARGEST}"
        if p.m < ROWS:
            return f"m={p.m} is below {ROWS}, the rows of a warp"
        if p.align % p.dtype.itemsize:
            return f"addresses are multiples of {p.align} bytes only, not of an element's {p.dtype.itemsize}"
        if vectors(p)[2] * p.dtype.itemsize < WIDEST:
            return "a column of C does not begin at a multiple of 16 bytes"
        return None

    def runs(self, device: Device) -> str | None:
        return too_old(device)

    def space(self, problem: SegmentedProblem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: SegmentedProblem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def source(self, problem: SegmentedProblem, config: Config, device: Device) -> Source:
        defines = asked(problem) | {name.upper(): value for name, value in config.items()}
        defines |= {"AXIS": AXES.index(problem.axis), "K": problem.k}
        defines |= {f"VEC_{x}": count for x, count in zip("ABC", vectors(problem), strict=True)}
        # Registers are left for as many resident blocks.
        defines["BLOCKS"] = -(-config["blocks"] // device["sms"])
        text, headers = program("strips")
        return Source(text, "strips", headers, tuple((n, str(value)) for n, value in defines.items()))

    def arguments(self, problem: SegmentedProblem, config: Config) -> tuple[Argument, ...]:
        return (struct_segments(problem),)

    def launch(self, problem: SegmentedProblem, config: Config) -> Launch:
        p, c = problem, config
        most = tiles(p, 32 * c["rows"] * c["warps"], c["tile_n"])
        return Launch(
            grid=(min(c["blocks"], max(most, 1)), 1, 1),
            block=(32 * c["warps"], 1, 1),
            shared=int(shared_bytes(p, c["warps"], c["tile_n"])),
        )
