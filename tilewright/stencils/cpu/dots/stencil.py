"""One matrix of bfloat16 at a time, by dot products of pairs (``vdpbf16ps``), in LLVM IR.

                  blk_n columns
               +---+---+---+---+      C: blk_m vectors of 16 sums in float32, by blk_n columns, in registers
      blk_m    |   |   |   |   |      A: 16 rows of pairs (k, k + 1) to a vector, put beside each other in a
      vectors  |   |   |   |   |         buffer, once a matrix
               +---+---+---+---+      B: a pair (k, k + 1) of a column, copied to all lanes as it is read;
                                         from a copy where columns are not contiguous, or k is odd

An instruction adds two products to each of 16 sums, where ``tile`` widens both operands and adds one.

Sums are in float32 and rounded to the nearest, to even, of each product and each sum. The instruction makes
zeros of subnormal sums, and takes operands below 2^-126 for zeros, where ``tile`` keeps them: it adds to the
error of an element up to 2^-126 times the sum of what such operands are multiplied with. With ``convert``
results below 2^-126 become zeros, too. It is the default where the instruction is as fast as a multiply-add
(``gain``): on an Emerald Rapids, where it takes two cycles of two units, it was no faster than ``tile``.

Requires: AVX512-BF16, sizes up to 64.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tilewright.model import Config, Device, Problem, Source
from tilewright.space import Param, Rule, Space, completed
from tilewright.stencils.cpu.answers import CpuStencil, of_configs, outsized, written
from tilewright.stencils.cpu.common import asked_early, prefetch_rule
from tilewright.stencils.cpu.dots.codegen import Dots
from tilewright.stencils.cpu.ir import ENTRY
from tilewright.stencils.cpu.pairs import CONVERT, ROWS
from tilewright.stencils.cpu.tile.codegen import split
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cpu.isa import compiles_for

LIMIT = 64
FEATURE = "avx512bf16"
"""What it needs, by LLVM's name."""
FREE, ROUNDING = 3, 7
"""Registers that neither sums nor A take: pairs of B, two of them read ahead, and the constants that a
bfloat16 is rounded with, which LLVM holds over the sum."""


TINY = 100
"""Multiply-adds of a product up to which packing takes longer than is gained."""


PREFETCH = Param("prefetch", (0, 1, 2, 4), absent=0)
"""Products ahead of which operands are asked for."""


def _rules(problem: Problem, device: Device) -> Iterator[Rule]:
    p, down, deep = problem, -(-problem.m // ROWS), -(-problem.k // 2)
    free = FREE + (p.alpha == "any") + (p.beta == "any")
    yield Rule(
        "registers",
        "queryable",
        "the tile of C, its vectors of A, pairs of B and what rounds sums must fit in the vector registers",
        lambda blk_m, blk_n, convert: (
            blk_m * (blk_n + 1) + free + (0 if convert else ROUNDING) <= device["vector_registers"]
        ),
    )
    yield Rule(
        "equal-tiles",
        "hard",
        "tiles are made equal, so this size splits the matrix as a smaller one does",
        lambda blk_m, blk_n: split(down, blk_m)[0] == blk_m and split(p.n, blk_n)[0] == blk_n,
    )
    yield Rule(
        "k-loop-turns",
        "hard",
        "a loop over k that runs once is the unrolled code by another name",
        lambda blk_k: blk_k >= deep or 2 * blk_k <= deep,
    )
    yield Rule(
        "columns-of-b",
        "hard",
        "a column of op(B) that is not contiguous, or ends within a pair, has to be copied",
        lambda copy_b: copy_b == 1 or not (p.transposed_b or p.k % 2),
    )
    yield Rule(
        "occupancy",
        "soft",
        "too few running sums leave the units waiting",
        lambda blk_m, blk_n: blk_m * blk_n >= min(8, down * p.n),
    )
    yield Rule(
        "code-size",
        "soft",
        "more than 2048 dot products in a row crowd the instruction caches and compile for long",
        lambda blk_k: down * p.n * min(blk_k, deep) <= 2048,
    )
    yield prefetch_rule(p, device)


def cost(problem: Problem, config: Config) -> float:
    """Estimated instructions of one product: dot products, and reads of A and of pairs of B for each tile,
    what packing takes, and 4 or 12 to put a vector of sums into C."""
    p, down, deep = problem, -(-problem.m // ROWS), -(-problem.k // 2)
    total = 0.0
    for columns in split(p.n, config["blk_n"]):
        for vectors in split(down, config["blk_m"]):
            # A pair of B is part of the instruction where only one vector is multiplied with it.
            reads = vectors + (columns if vectors > 1 else 0)
            waits = max(1.0, 8 / (vectors * columns))
            total += deep * (vectors * columns * waits + reads)
            total += 4 * deep / config["blk_k"] if config["blk_k"] < deep else 0
    packed = down * deep * (7 if p.transposed_a else 5)
    copied = p.n * -(-p.k // 32) * (8 if p.transposed_b else 2) if config["copy_b"] else 0
    return total + packed + copied + (4 if config["convert"] else 12) * down * p.n


class DotsStencil(CpuStencil):
    """``dots``: the stencil above as the five functions of the protocol."""

    name = "dots"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        letter = problem.dtype.letter
        if letter != "b":
            return f"type {letter} is not b"
        if not compiles_for(device.features, FEATURE):
            return f"type b needs a processor with {FEATURE}"
        return outsized(problem, LIMIT)

    def space(self, problem: Problem, device: Device) -> Space:
        down, deep = -(-problem.m // ROWS), -(-problem.k // 2)
        params = (
            Param("blk_m", tuple(range(1, down + 1))),
            Param("blk_n", tuple(range(1, min(problem.n, 28) + 1))),
            Param("blk_k", (*(b for b in (1, 2, 4, 8) if b < deep), deep)),
            Param("copy_b", (0, 1)),
            CONVERT,
            PREFETCH,
        )
        return Space(params, tuple(_rules(problem, device)))

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem))

    def default(self, problem: Problem, device: Device) -> Config:
        space = self.space(problem, device)
        plain = space.restricted(prefetch=0)
        best = min(plain, key=lambda config: (cost(problem, config), repr(config)))
        return asked_early(problem, device, space, best)

    def gain(self, problem: Problem, device: Device) -> float:
        """On a Zen 5 it was 1.2 to 3 times as fast as ``tile`` and ``lanes``, from caches and from memory,
        but where a product is tiny, one row or two columns (``znver5-avx512/halves.jsonl``)."""
        p = problem
        worth = p.m > 1 and p.n > 2 and p.k > 1 and p.m * p.n * p.k > TINY
        return 3.0 if worth and device.limits.get("pairs", 0) else 1.0

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        return written([(ENTRY, Dots(problem, completed((PREFETCH,), config)).function())])
