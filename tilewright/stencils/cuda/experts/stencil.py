"""Products of groups of 16-bit numbers, or of complex halves, whose borders lie in device memory, by tensor
maps and warp groups.

It does what ``segments`` does, for mixtures of experts on compute capability 9.0: groups with many rows are
to be multiplied at the rate of tensor cores, and with few rows each group's matrix is a stream that has to be
read at the speed of memory. Copies that pass no register do for both. Complex halves are multiplied as in
``pairs``: A comes into registers, and B is read along k from shared memory, where it is turned if it lies
across. Groups of columns with a short k are left to ``strips``.

    tile_m, tile_n   of C; a warp group has 64 rows of it
    stages   slices of 128 bytes along k in shared memory
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over the tiles

Sizes are in elements, shared memory in bytes. Sizes of the problem are arguments: one binary serves them all.
"""

from __future__ import annotations

from tilewright.model import AXES, Config, Device, Launch, SegmentedProblem, Source
from tilewright.space import Space
from tilewright.stencils.cuda.accepting import CudaStencil, no_gpu, no_warp_groups, other_type
from tilewright.stencils.cuda.common import WIDEST
from tilewright.stencils.cuda.experts.cost import best
from tilewright.stencils.cuda.experts.needs import columns_on_their_way, shared_bytes, slice_of, threads
from tilewright.stencils.cuda.experts.space import params, rules
from tilewright.stencils.cuda.segments.stencil import LARGEST, struct_segments, tiles
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.stencils.cuda.strips.stencil import LONGEST
from tilewright.targets.cuda.arguments import A, Argument, B, C, TensorMap

FAR = 2**40
"""Bytes from one matrix to the next that no tensor map has."""


class ExpertsStencil(CudaStencil):
    """``experts``: one product split among groups, as the five functions of the protocol."""

    name = "experts"
    segments = True

    def accepts(self, problem: SegmentedProblem, device: Device) -> str | None:
        p = problem
        if reason := other_type(p, ("h", "b", "hc")) or no_gpu(device) or no_warp_groups(device):
            return reason
        if min(p.m, p.n, p.k, p.groups) < 1:
            return "there is nothing to compute"
        if p.batch != 1:
            return f"groups have {p.batch} matrices, and tensor maps here know one"
        if max(*p.extents, p.groups) > LARGEST or tiles(p, 64, 16) > LARGEST:
            return f"{p.spelling} has an extent, a number of groups or of tiles above {LARGEST}"
        if p.axis == "k" and (p.transposed_a or not p.transposed_b):
            return "k is split, and lines of A or of B lie along it"
        if (p.axis == "m" and not p.transposed_a) or (p.axis == "n" and p.transposed_b):
            return "what is split lies along stored columns, and boxes begin at multiples of 16 bytes"
        if p.axis == "n" and p.k <= (short := LONGEST[p.dtype.letter]):
            return f"k={p.k} is {short} at most, too little of a slice: `strips` is faster"
        size = p.dtype.itemsize
        if p.axis != "m" and p.m * size % WIDEST:
            return "columns of C end inside words of 16 bytes, and boxes are written whole"
        steps = (p.lda, p.ldb, p.ldc, *p.steps)
        if p.align % WIDEST or any(step * size % WIDEST for step in steps):
            return "a column or a group does not begin at a multiple of 16 bytes"
        if min(p.lda, p.ldb, p.ldc) < 1 or min(steps) < 0 or max(steps) * size >= FAR:
            return "groups go backwards, or lie 2^40 bytes apart"
        return None

    def space(self, problem: SegmentedProblem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: SegmentedProblem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def source(self, problem: SegmentedProblem, config: Config, device: Device) -> Source:
        defines = asked(problem) | persistent(config, device)
        defines["AXIS"] = AXES.index(problem.axis)
        # Rows that are split begin anywhere.
        defines["VEC_C"] = 1 if problem.axis == "m" else WIDEST // problem.dtype.itemsize
        return written("experts", defines)

    def arguments(self, problem: SegmentedProblem, config: Config) -> tuple[Argument, ...]:
        p, unit = problem, slice_of(problem)
        a, b, _ = p.stored
        return (
            struct_segments(p),
            _map(p, A, a, config["tile_m"] if p.transposed_a else unit),
            _map(p, B, b, unit if p.transposed_b else config["tile_n"]),
            _map(p, C, (p.m, p.n), int(columns_on_their_way(p, config["tile_n"]))),
        )

    def launch(self, problem: SegmentedProblem, config: Config) -> Launch:
        p, c = problem, config
        return Launch(
            grid=(min(c["blocks"], max(tiles(p, c["tile_m"], c["tile_n"]), 1)), 1, 1),
            block=(threads(p, c["tile_m"]), 1, 1),
            shared=int(shared_bytes(p, c["tile_m"], c["tile_n"], c["stages"])),
        )


def _map(p: SegmentedProblem, operand: int, stored: tuple[int, int], columns: int) -> TensorMap:
    """All groups' matrices of an operand as one tensor, in boxes of 128 bytes of rows and so many columns."""
    rows, cols = stored
    size, step, leading = p.dtype.itemsize, p.steps[operand], (p.lda, p.ldb, p.ldc)[operand]
    return TensorMap(
        f"map_{'abc'[operand]}",
        operand,
        # Boxes are copied bit by bit, and tensors have no pairs of halves.
        "float32" if p.dtype.is_complex else p.dtype.name,
        (rows, cols, p.groups if step else 1),
        (leading * size, (step or leading * cols) * size),
        (slice_of(p), columns, 1),
        swizzle=128,
        promotion=256,
    )
