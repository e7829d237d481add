"""Several tiny matrices at a time, across the vector lanes, in LLVM IR.

                 one group: ``group`` packed matrices
               +---------+---------+---------+---------+
      C        | m x n   | m x n   | m x n   | m x n   |  one contiguous run of reals
               +------+--+---+-----+-+-------+---------+
      vectors  |  0   |  1   |   2   |   3   |   ...      whole vectors: no store is masked
               +------+------+-------+-------+

A matrix of 2x2 or 3x3 fills no vector, but the matrices of a packed batch follow one another without
a gap, so a group of them does. A sum over k is kept for every lane: in each step the lane's A(i, k)
times its B(k, j), both constant permutations of the group's A and B: one or a few contiguous loads
and a shuffle, never a gather. The sums are laid out over the lanes

- as C lies in memory (``columns`` 0): no lane is idle, both operands are permuted; or
- some whole ``columns`` to a vector: a few lanes are idle, A mostly needs no permutation, and B is
  one value copied to all lanes where the column is alone. The sums are then closed up, by shuffles,
  to the same whole vectors of C.

Either way C is written contiguously, so that streaming stores serve every size and not only the
multiples of a vector. This is the vector form of the interleaved kernels of Masliah et al.,
"Algorithms and optimization techniques for high-performance matrix-matrix multiplications of very
small matrices" (2019), section 5, without the copy into another layout.

A transpose only changes the permutation. In complex products the swap of real and imaginary parts
and their duplication are part of the permutations too. What whole groups do not cover at the end of
the batch goes one matrix at a time, by the same code with a group of one.

Requires: packed matrices (leading dimensions and batch strides as small as they can be; A or B may
be shared by the batch), small sizes.
"""

from __future__ import annotations

import functools

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Space
from tilewright.stencils.cpu.answers import CpuStencil, written
from tilewright.stencils.cpu.bits import by_bits
from tilewright.stencils.cpu.common import from_memory, slow_type
from tilewright.stencils.cpu.ir import ENTRY, Ir, always_staged, by_length, grain, stream_or_staged
from tilewright.stencils.cpu.lanes.codegen import Lanes
from tilewright.stencils.cpu.lanes.groups import Group, smallest_group
from tilewright.stencils.cpu.lanes.reads import cost
from tilewright.stencils.cpu.lanes.space import space_of
from tilewright.stencils.cpu.tile import stencil as tile

LIMIT = 8
"""The largest m, n and k."""

PRODUCTS = {False: 512, True: 100}
"""The largest m*n*k of real and of complex problems: beyond it whole columns fill vectors on their own."""

NARROW = 4
"""The largest extent where all vectors have 128 bits: columns of more fill them, and each lane of a column
that is put together from several vectors costs a shuffle. By counts of instructions, measured nowhere."""

LENGTHS = {False: 2, True: 1}
"""The largest extent of real and of complex problems where vectors end after any lane: a column of any height
is one there, and a shuffle takes a table or a mask. By counts of instructions, measured nowhere."""

WORTH = 0.4
"""Cycles of ``tile``, by its cost model, for each instruction of a product: from so many on they are few."""


FEW_WORTH, FEW_HALVES = 0.75, {False: 1.0, True: 1.3}
"""The same with 16 registers, where a shuffle takes vectors of one operand alone and crosses their halves
slowly; of real and of complex numbers of 16 bits, whose conversions are pieces of several matrices. Products
with a k of 1 are for ``lanes`` there whatever it says, but complex ones of 16 bits."""


class LanesStencil(CpuStencil):
    """``lanes``: the stencil above as the five functions of the protocol."""

    name = "lanes"
    packed_only = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if reason := slow_type(p, device):
            return reason
        if p.dtype.letter in ("h", "hc") and by_bits(device):
            return f"type {p.dtype.letter} is converted by integers, which needs the registers"
        if min(p.m, p.n, p.k) < 1:
            return "there is nothing to compute"
        most = PRODUCTS[p.dtype.is_complex]
        if max(p.m, p.n, p.k) > LIMIT or p.m * p.n * p.k > most:
            return f"{p.m}x{p.n}x{p.k} is larger than {LIMIT} in some direction or than {most} in all"
        if shuffle_bits(device) == 128 and max(p.m, p.n, p.k) > NARROW:
            return f"{p.m}x{p.n}x{p.k} is larger than {NARROW} in some direction: its columns fill 128 bits"
        least = LENGTHS[p.dtype.is_complex]
        if by_length(device) and max(p.m, p.n, p.k) > least:
            return f"{p.m}x{p.n}x{p.k} is larger than {least} in some direction: a column is a vector there"
        packed = Problem(p.dtype, p.m, p.n, p.k, p.trans_a, p.trans_b)
        if (p.lda, p.ldb, p.ldc) != (packed.lda, packed.ldb, packed.ldc):
            return "columns are padded: lanes can only run on over packed matrices"
        a, b, c = packed.strides
        if p.stride_a not in (0, a) or p.stride_b not in (0, b) or p.stride_c != c:
            return "matrices lie apart: lanes can only run on over packed matrices"
        return None

    def space(self, problem: Problem, device: Device) -> Space:
        return space_of(problem, device, shuffle_bits(device))

    def default(self, problem: Problem, device: Device) -> Config:
        return _default(problem, device)

    def gain(self, problem: Problem, device: Device) -> float:
        """Less than that of ``tile`` where shuffles take longer than its idle lanes.

        Above all a transposed A is put together lane by lane. Of 88 random problems on a Zen 5, of d, s, c
        and z in all transpositions, where 80 others had chosen ``WORTH``, what this picks ran at 0.99 of the
        faster stencil from the caches and 0.97 from memory; ``lanes`` alone at 0.77 and 0.87, at worst at
        0.13. With 16 registers, on a Zen 3, where 134 others had chosen ``FEW_WORTH``, it ran at 0.98 of the
        faster one in 101 problems from the caches, and by ``WORTH`` at 0.88; of 16 bits at 0.95 in 72, where
        95 others had chosen the limits, and ``lanes`` alone at 0.78. Other processors of x86 were not timed.
        With more registers ``tile`` itself says it of numbers of 16 bits.
        """
        p, few = problem, device["vector_registers"] <= tile.FEW
        halves, complex_ = p.dtype.real_bits == 16, p.dtype.is_complex
        if not device.features.startswith("x86") or (halves and not few):
            return 1.0
        if few and p.k == 1 and not (halves and complex_):
            return 1.0
        other = tile.cost(p, device, tile.TileStencil().default(p, device))
        worth = (FEW_HALVES[complex_] if halves else FEW_WORTH) if few else WORTH
        return 1.0 if other >= worth * instructions(p, _default(p, device), device) else 0.5

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        def lanes(store: str) -> Ir:
            return Lanes(problem, config, device, store).function()

        store = config["store"]
        if store == "plain":
            functions = [(ENTRY, lanes("plain"))]
        elif problem.dtype.real_bits == 16:
            # LLVM streams no vectors of these numbers with AVX-512; lines leave the buffer as others.
            functions = [
                (f"{ENTRY}_staged", lanes("staged")),
                (ENTRY, always_staged(problem.dtype, device)),
            ]
        else:
            # Results run on from one matrix to the next: where C begins within a vector they are staged.
            entry = stream_or_staged(problem.dtype, config["vector_bits"] // 8, device)
            functions = [*((f"{ENTRY}_{way}", lanes(way)) for way in ("stream", "staged")), (ENTRY, entry)]
        return written(functions)

    def launch(self, problem: Problem, config: Config) -> Launch:
        return Launch(grain=grain(problem), unit=config["group"])


def shuffle_bits(device: Device) -> int:
    """The widest vectors whose lanes can be put in any order: of SVE those of NEON, for lanes of two longer
    ones LLVM puts together in memory. 0 where a device does not say how wide its vectors are."""
    return 128 if "sve" in device.supports else device.limits.get("vector_bits", 0)


def instructions(problem: Problem, config: Config, device: Device) -> float:
    """Loads, shuffles, stores, and half of the multiply-adds of one product, of which two come at a time."""
    p, width = problem, config["vector_bits"] // problem.dtype.sum_bits
    group = Group(p, config["group"], width, config["columns"], bool(device["masks"]))
    found = len(group.runs()) * p.k * group.unit / 2
    for operand in "ab":
        whole = config[f"window_{operand}"] == "whole"
        found += sum(cost(read, whole) for read in group.reads(operand, config["cmul"], whole))
    closed = group.closed()
    found += sum(cost(read, True) for _, _, read in closed) if config["columns"] else 0
    return (found + len(closed)) / group.size


def roomy(problem: Problem, config: Config, device: Device) -> bool:
    """Whether the constants of the shuffles leave nine registers for sums, operands and what is shuffled."""
    width = config["vector_bits"] // problem.dtype.sum_bits
    least = smallest_group(problem, config["vector_bits"])
    group = Group(problem, least, width, config["columns"], bool(device["masks"]))
    whole_a, whole_b = (config[name] == "whole" for name in ("window_a", "window_b"))
    return group.constants(config["cmul"], whole_a, whole_b) <= device["vector_registers"] - 9


@functools.lru_cache(maxsize=64)
def _default(problem: Problem, device: Device) -> Config:
    """The default, which a plan asks for twice: for what it gains, and for itself."""
    p, space = problem, LanesStencil().space(problem, device)
    values = {param.name: param.values for param in space.params}
    height = p.m * (2 if p.dtype.is_complex else 1)
    # A column alone in the narrowest vector that holds it, if most of that is filled; else no idle lane.
    first = min(values["vector_bits"], key=lambda b: (b < 256, b // p.dtype.sum_bits < height, b))
    lanes = first // p.dtype.sum_bits
    alone = int(lanes < 2 * height < 2 * lanes)
    if not alone and lanes % height:
        first = values["vector_bits"][0]
    # The narrowest vectors need no constants for their shuffles, so the last of these is always valid.
    shapes = ((first, alone), (256, 1), (256, 0), (first, 1), (128, 1), (128, 0))
    for bits, columns in shapes:
        if bits not in values["vector_bits"] or columns not in values["columns"]:
            continue
        least = smallest_group(p, bits)
        common = {"vector_bits": bits, "columns": columns, "cmul": values["cmul"][0], "window_a": "near"}
        choices = [
            Config({**common, "group": group, "window_b": window, "store": "plain", "prefetch": 0})
            for group in (least, 2 * least, 4 * least)
            for window in ("whole", "near")
        ]
        valid = [choice for choice in choices if not space.why(choice) and roomy(p, choice, device)]
        if valid:
            break
    # Four vectors to a turn of the loop are enough to hide the loop itself.
    size = p.n * height * p.dtype.sum_bits
    best = next((choice for choice in valid if choice["group"] * size >= 4 * bits), valid[-1])
    chosen = from_memory(p, device, space, best)
    # Some processors see by themselves that packed batches are read from end to end.
    return chosen if device.limits.get("prefetch_runs", 1) else chosen.with_(prefetch=0)
