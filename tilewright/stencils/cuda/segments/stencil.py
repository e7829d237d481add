"""Products of groups whose borders lie in device memory: space, choice and launch of segments.cuh.

Rows, columns or the sum of a product are split among groups, as mixtures of experts, message passing on
graphs and element-wise weights of equivariant networks ask for (`torch._grouped_mm`, DGL's `segment_mm`,
PyG's `segment_matmul`). The borders are known to the device alone, so the grid is fixed: persistent blocks
read the borders, and find their tiles by a scan. What multiplies is that of ``tensor``, and for float32 and
complex64 multiply-add units. Parameters are named as there:

    tc       what multiplies: "16x8x16", "16x8x4", "16x8x8", "8x8x4" by mma, "64x8x16" by wgmma (four warps
             together), "fma" by multiply-add units
    blk_m, blk_n, blk_k   the tile of C of a block and the depth of a k-tile
    warps_m, warps_n      warps along m and n
    lanes_m  lanes of a warp along m, for "fma": 32 write whole lines of C element by element
    dim_x    threads along the stored columns while operands are read, or the most that divides them
    stages   k-tiles in shared memory, all but one on their way; 1: the next waits in registers
    ahead    fragment prefetch: whether fragments of the next product are loaded before this one is multiplied
    vec, vec_c   elements of one access to A and B, and to C
    blocks   persistent blocks of the whole grid, in multiples of the SMs

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from tilewright.model import AXES, Config, Device, Launch, SegmentedProblem, Source
from tilewright.space import Space
from tilewright.stencils.cuda.accepting import CudaStencil, misaligned, no_gpu
from tilewright.stencils.cuda.segments.cost import best
from tilewright.stencils.cuda.segments.needs import UNITS, shared_bytes
from tilewright.stencils.cuda.segments.space import params, rules
from tilewright.stencils.cuda.source import asked, persistent, written
from tilewright.targets.cuda.arguments import A, Argument, B, C, Pointer, Scalar, Struct

OFFSETS = 3
"""Which of the addresses of a launch that of the borders is."""
LARGEST = 2**31 - 2**16
"""Extents, groups and tiles up to which 32 bits count them."""


class SegmentsStencil(CudaStencil):
    """``segments``: one product split among groups, as the five functions of the protocol."""

    name = "segments"
    segments = True

    def accepts(self, problem: SegmentedProblem, device: Device) -> str | None:
        p = problem
        if reason := no_gpu(device):
            return reason
        if min(p.m, p.n, p.batch, p.groups) < 1:
            return "there is nothing to compute"
        if max(*p.extents, p.batch, p.groups) > LARGEST:
            return f"{p.spelling} has an extent, a batch or a number of groups above {LARGEST}"
        # Tiles of the smallest size.
        if tiles(p, 8, 8) > LARGEST:
            return f"{p.spelling} has more than {LARGEST} tiles"
        return misaligned(p)

    def space(self, problem: SegmentedProblem, device: Device) -> Space:
        return Space(params(problem, device), list(rules(problem, device)), elementwise=True)

    def default(self, problem: SegmentedProblem, device: Device) -> Config:
        return best(self.space(problem, device), problem, device)

    def source(self, problem: SegmentedProblem, config: Config, device: Device) -> Source:
        defines = asked(problem) | persistent(config, device)
        defines["AXIS"] = AXES.index(problem.axis)
        defines["TC"] = UNITS[config["tc"]][0]
        return written("segments", defines)

    def arguments(self, problem: SegmentedProblem, config: Config) -> tuple[Argument, ...]:
        return (struct_segments(problem),)

    def launch(self, problem: SegmentedProblem, config: Config) -> Launch:
        c = config
        warps = c["warps_m"], c["warps_n"]
        blk = c["blk_m"], c["blk_n"], c["blk_k"]
        most = tiles(problem, c["blk_m"], c["blk_n"])
        return Launch(
            grid=(min(c["blocks"], max(most, 1)), 1, 1),
            block=(32 * warps[0] * warps[1], 1, 1),
            shared=int(shared_bytes(problem, c["tc"], c["stages"], blk, warps)),
        )


def tiles(p: SegmentedProblem, blk_m: int, blk_n: int) -> int:
    """The most tiles that groups can make, however the axis is split; what is no group's has some, too."""
    along_m, along_n = -(-p.m // blk_m), -(-p.n // blk_n)
    if p.axis == "k":
        return along_m * along_n * p.groups * p.batch
    borders = p.groups + 2
    return (
        (along_m + borders) * along_n * p.batch if p.axis == "m" else along_m * (along_n + borders) * p.batch
    )


def struct_segments(p: SegmentedProblem) -> Struct:
    """The description of ``struct Segments``: all but the four addresses is constant."""
    leading, extents = (p.lda, p.ldb, p.ldc), (p.m, p.n, p.k, p.batch, p.groups)
    return Struct(
        "Segments",
        (
            *(Pointer(name, operand) for name, operand in (("a", A), ("b", B), ("c", C))),
            Pointer("offsets", OFFSETS),
            *(Scalar(f"ld{name}", "q", ld) for name, ld in zip("abc", leading, strict=True)),
            *(Scalar(f"stride_{name}", "q", step) for name, step in zip("abc", p.strides, strict=True)),
            *(Scalar(f"group_{name}", "q", step) for name, step in zip("abc", p.steps, strict=True)),
            *(
                Scalar(name, "i", x)
                for name, x in zip(("m", "n", "k", "batch", "groups"), extents, strict=True)
            ),
            *(Scalar(name, "i", int(getattr(p, name))) for name in ("wide", "first", "sizes")),
        ),
    )
