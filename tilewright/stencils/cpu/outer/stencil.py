"""One matrix at a time by outer products: POWER10's matrix unit (MMA), in LLVM IR.

                       4 columns of B(k, :)
                      +---+---+---+---+
      a vector of     |   |   |   |   |   an accumulator: four registers, one to a column of C;
      rows of A(:, k) |   |   |   |   |   one instruction adds the outer product of both
                      +---+---+---+---+

A tile of C is ``blk_m`` vectors by ``blk_n`` fours of columns, eight accumulators at most, and the sum over k
runs in turns of ``blk_k``. A vector has four rows of float32, two of float64; numbers of 16 bits come in
pairs of steps of k, and their products are added in float32. What does not lie along the rows of A, or along
the columns of B, is transposed in registers into a buffer on the stack first, and so is what comes in pairs.

"Power ISA Version 3.1B" (OpenPOWER Foundation, 2021), chapter 7, has the instructions. Rounding of float32
and float64 is that of a fused multiply-add each.

Requires: real types, a processor that supports ``mma``, and so many rows and columns that it takes fewer
instructions than ``tile``; sizes up to 64.
"""

from __future__ import annotations

from functools import partial

from tilewright.model import Config, Device, Problem, Source
from tilewright.space import Param, Rule, Space
from tilewright.stencils.cpu.answers import CpuStencil, of_configs, outsized, written
from tilewright.stencils.cpu.ir import ENTRY
from tilewright.stencils.cpu.outer.codegen import INSTRUCTIONS, SIDE, Outer, Side
from tilewright.stencils.cpu.tile.codegen import split
from tilewright.stencils.protocol import CostModel

LIMIT = 64
ACCUMULATORS = 8
MARGIN = 4
"""Instructions of loops and addresses that it has more of than vectors: of small products they count."""
TILE = 4
"""Vectors and columns of a tile of the ``tile`` stencil on such a processor."""


def packing(side: Side) -> int:
    """Instructions that put an operand into a buffer: a load, a store, and what is between, by vectors."""
    if not side.packed:
        return 0
    return side.vectors * side.steps * (2 + (side.lanes // 2 if side.along else 1))


def instructions(p: Problem, config: Config) -> int:
    """Instructions of a product, loops and addresses left out."""
    a, b = Side.both(p)
    blocks = -(-p.n // SIDE)
    strips, rows = len(split(blocks, config["blk_n"])), len(split(a.vectors, config["blk_m"]))
    loads = a.vectors * strips + blocks * (SIDE // b.lanes if not b.packed else 1) * rows
    turns = (a.steps - 1) // config["blk_k"] if 2 * config["blk_k"] < a.steps else 0
    # A loop costs its counter, both addresses and the branch, and it begins with accumulators set to zero.
    loop = strips * rows * 4 * turns + (a.vectors * blocks if turns else 0)
    update = a.vectors * (p.n * (1 + 2 * (p.beta != "0") + (p.alpha == "any")) + blocks)
    return a.steps * (a.vectors * blocks + loads) + loop + update + packing(a) + packing(b)


def instructions_of_tile(p: Problem) -> int:
    """The same of the ``tile`` stencil: each value of B is read into all lanes of a vector."""
    lanes = 16 // (p.dtype.sum_bits // 8)
    vectors = -(-p.m // lanes)
    reads = vectors * -(-p.n // TILE) + p.n * -(-vectors // TILE)
    update = vectors * p.n * (1 + 2 * (p.beta != "0") + (p.alpha == "any"))
    turned = packing(Side.both(p)[0]) if p.transposed_a else 0
    # Numbers of 16 bits are widened as they are read, those of B before.
    widened = vectors * p.k + 3 * p.k * p.n // lanes if p.dtype.real_bits == 16 else 0
    return p.k * (vectors * p.n + reads) + update + turned + widened


class OuterStencil(CpuStencil):
    """``outer``: the stencil above as the five functions of the protocol."""

    name = "outer"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if "mma" not in device.supports:
            return "the processor has no unit for outer products"
        if p.dtype.letter not in INSTRUCTIONS:
            return f"type {p.dtype.letter} is not one of {', '.join(INSTRUCTIONS)}"
        if reason := outsized(p, LIMIT):
            return reason
        # Float16 has instructions here, where ``tile`` converts it by some thirty for whole numbers.
        least = instructions(p, self.default(p, device)) + MARGIN
        if p.dtype.letter != "h" and least > instructions_of_tile(p):
            return f"{p.m}x{p.n}x{p.k} takes no fewer instructions than by vectors"
        return None

    def space(self, problem: Problem, device: Device) -> Space:
        p = problem
        a = Side.both(p)[0]
        blocks = -(-p.n // SIDE)
        params = (
            Param("blk_m", tuple(range(1, min(a.vectors, ACCUMULATORS) + 1))),
            Param("blk_n", tuple(range(1, min(blocks, ACCUMULATORS) + 1))),
            Param("blk_k", tuple(dict.fromkeys((*(b for b in (1, 2, 4, 8) if b < a.steps), a.steps)))),
        )
        rules = (
            Rule(
                "accumulators",
                "queryable",
                "a tile of C lies in the eight accumulators",
                lambda blk_m, blk_n: blk_m * blk_n <= ACCUMULATORS,
            ),
            Rule(
                "equal-tiles",
                "hard",
                "tiles are made equal, so this side splits C as a smaller one does",
                lambda blk_m, blk_n: split(a.vectors, blk_m)[0] == blk_m and split(blocks, blk_n)[0] == blk_n,
            ),
            Rule(
                "k-loop-turns",
                "hard",
                "a loop over k that runs once is the unrolled code by another name",
                lambda blk_k: blk_k >= a.steps or 2 * blk_k < a.steps,
            ),
            Rule(
                "unroll",
                "soft",
                "a long sum is a loop, or the code crowds the instruction caches",
                lambda blk_k: blk_k <= 16,
            ),
        )
        return Space(params, rules)

    def default(self, problem: Problem, device: Device) -> Config:
        a = Side.both(problem)[0]
        blocks = -(-problem.n // SIDE)
        blk_k = next(b for b in (a.steps, 8, 4, 2, 1) if b <= 8 and (b == a.steps or 2 * b < a.steps))
        found = [
            Config({"blk_m": rows, "blk_n": columns, "blk_k": blk_k})
            for rows in sorted({split(a.vectors, most)[0] for most in range(1, ACCUMULATORS + 1)})
            for columns in sorted({split(blocks, most)[0] for most in range(1, ACCUMULATORS + 1)})
            if rows * columns <= ACCUMULATORS
        ]
        # Of equal counts the one with more sums under way, for they do not wait for one another; then the one
        # with fewer loads, of which a step of B takes two where numbers have 64 bits.
        wide = a.lanes == 2

        def order(config: Config) -> tuple[int, int, int]:
            rows, columns = config["blk_m"], config["blk_n"]
            return instructions(problem, config), -rows * columns, columns if wide else rows

        return min(found, key=order)

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(instructions, problem))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        return written([(ENTRY, Outer(problem, config).function())])
