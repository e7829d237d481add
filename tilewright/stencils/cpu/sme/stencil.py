"""One matrix at a time by outer products in streaming mode: ARM's matrix unit (SME), in LLVM IR.

                       a vector of columns of B(k, :)
                      +---+---+---+---+
      a vector of     |   |   |   |   |   a tile: a square of as many rows and columns as a vector has lanes;
      rows of A(:, k) |   |   |   |   |   one instruction adds the outer product of both
                      +---+---+---+---+

There are four tiles of float32, eight of float64, and C is covered by ``blk_m`` by ``blk_n`` of them at a
time; the sum over k runs in turns of ``blk_k``. What does not lie along the rows of A, or along the columns
of B, is turned into a buffer on the stack first: a tile is written by rows and read by columns. Between tiles
and memory numbers go straight, or through vector registers (``via``). The mode is entered once a call.

Complex numbers are taken apart as they are read, and a square of C is two tiles, of real and of imaginary
parts: four outer products for a step, of which those with a minus sign are subtracted. They are put together
again as they are written.

Numbers of 16 bits are widened as they are read, multiplied as float32 and rounded once. The outer products of
pairs of them are not used: those of bfloat16 make zeros of subnormal numbers and round otherwise.

"Arm Architecture Reference Manual for A-profile architecture" (DDI 0487), chapter B1.4, has the mode and the
tiles. Rounding is that of a fused multiply-add each.

Requires: all types but complex halves, a processor that supports ``sme`` and whose vectors in streaming mode
are as long as the instruction set says, and so many rows and columns that it takes fewer instructions than
``tile``; sizes up to 64.
"""

from __future__ import annotations

from functools import partial

from tilewright.model import Config, Device, Problem, Source
from tilewright.space import Param, Rule, Space
from tilewright.stencils.cpu.answers import CpuStencil, of_configs, outsized, written
from tilewright.stencils.cpu.ir import ENTRY
from tilewright.stencils.cpu.sme.codegen import Products, Side
from tilewright.stencils.cpu.tile.codegen import split
from tilewright.stencils.protocol import CostModel

LIMIT = 64
LETTERS = ("s", "d", "c", "z", "h", "b")
MARGIN = 4
"""Instructions of loops and addresses that it has more of than vectors: of small products they count."""
ENTERED = 60
"""Instructions of a call, whatever its batch, that it has more of than ``tile``: into the mode and out of it
(counted under QEMU)."""
TILE = 4
"""Vectors and columns of a tile of the ``tile`` stencil on such a processor."""
ROUNDED = {"h": 1, "b": 8}
"""Instructions that round a vector of sums to 16 bits."""


def sides(p: Problem, device: Device) -> tuple[Side, Side]:
    """A and B as vectors of a device in streaming mode."""
    return Side.both(p, device["streaming_bits"] // p.dtype.sum_bits)


def squares(p: Problem) -> int:
    """Squares of C that the tiles hold."""
    return p.dtype.sum_bits // (16 if p.dtype.is_complex else 8)


def packing(side: Side, short: bool, via: bool) -> int:
    """Instructions that turn an operand into its buffer: rows are read and steps are written, each with an
    address, and ``via`` a vector register, where ``short`` numbers are widened."""
    if not side.along:
        return 0
    reads, writes = side.rows * -(-side.k // side.lanes), side.k * side.vectors * side.unit
    # Of complex numbers both parts are in registers first.
    read = 4 if side.unit > 1 else 2 + short + (short or via)
    return read * reads + (2 + via) * writes


def instructions(p: Problem, device: Device, config: Config) -> int:
    """Instructions of a product, with addresses, and without the loop over the batch."""
    a, b = sides(p, device)
    strips, rows = len(split(b.vectors, config["blk_n"])), len(split(a.vectors, config["blk_m"]))
    short, via = p.dtype.letter in ROUNDED, config["via"] == "vector"
    times = ((a, strips), (b, rows))
    unit = a.unit
    loads = sum(
        (2 + (short and not side.along)) * side.vectors * often * (unit if side.along else 1)
        for side, often in times
    )
    turns = p.k // config["blk_k"] if config["blk_k"] < p.k else 0
    loop = strips * rows * (1 + 4 * turns)
    more = (3 + short) * (p.beta != "0") + (p.alpha == "any") + ROUNDED.get(p.dtype.letter, 0)
    if unit > 1:
        # The second part of a column, and what a complex multiple is beside a real one.
        more += 2 + (p.beta != "0") + 4 * (p.alpha == "any") + 4 * (p.beta == "any")
    update = a.vectors * p.n * (2 + more + (short or (via and unit == 1)))
    turned = sum(packing(side, short, via) for side in (a, b))
    return p.k * (a.vectors * b.vectors * unit**2 + loads) + loop + update + turned


def instructions_of_tile(p: Problem) -> int:
    """The same of the ``tile`` stencil by NEON: each value of B is read by itself. A complex multiply-add is
    two instructions."""
    unit = 2 if p.dtype.is_complex else 1
    lanes = 128 // p.dtype.sum_bits
    vectors = -(-p.m * unit // lanes)
    reads = vectors * -(-p.n // TILE) + p.n * -(-vectors // TILE)
    short = p.dtype.letter in ROUNDED
    more = (2 + short) * (p.beta != "0") + unit * (p.alpha == "any") + ROUNDED.get(p.dtype.letter, 0)
    more += unit > 1 and p.beta == "any"
    turned = vectors * p.k * (2 + lanes // 2) if p.transposed_a else 0
    # Numbers of 16 bits are widened as they are read, those of B before.
    widened = short * (vectors * p.k + 3 * p.k * p.n // lanes)
    return p.k * (vectors * p.n * unit + reads) + vectors * p.n * (1 + more) + turned + widened


class SmeStencil(CpuStencil):
    """``sme``: the stencil above as the five functions of the protocol."""

    name = "sme"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if "sme" not in device.supports or not device.limits.get("streaming_bits", 0):
            return "the processor has no unit for outer products in streaming mode"
        if p.dtype.letter not in LETTERS:
            return f"type {p.dtype.letter} is not one of {', '.join(LETTERS)}"
        if reason := outsized(p, LIMIT):
            return reason
        least = instructions(p, device, self.default(p, device)) + MARGIN
        if least > instructions_of_tile(p):
            return f"{p.m}x{p.n}x{p.k} takes no fewer instructions than by vectors"
        return None

    def space(self, problem: Problem, device: Device) -> Space:
        p, tiles = problem, squares(problem)
        a, b = sides(p, device)
        # Complex numbers go through registers anyway, but for what is turned.
        ways = ("slice", "vector") if a.unit == 1 or a.along or b.along else ("slice",)
        params = (
            Param("blk_m", tuple(range(1, min(a.vectors, tiles) + 1))),
            Param("blk_n", tuple(range(1, min(b.vectors, tiles) + 1))),
            Param("blk_k", tuple(dict.fromkeys((*(each for each in (1, 2, 4, 8, 16) if each < p.k), p.k)))),
            Param("via", ways),
        )
        rules = (
            Rule(
                "tiles",
                "queryable",
                "what is summed at a time lies in the tiles that there are",
                lambda blk_m, blk_n: blk_m * blk_n <= tiles,
            ),
            Rule(
                "equal-tiles",
                "hard",
                "C is split into equal parts, so this side splits it as a smaller one does",
                lambda blk_m, blk_n: (
                    split(a.vectors, blk_m)[0] == blk_m and split(b.vectors, blk_n)[0] == blk_n
                ),
            ),
            Rule(
                "k-loop-turns",
                "hard",
                "a loop over k that runs once is the unrolled code by another name",
                lambda blk_k: blk_k >= p.k or 2 * blk_k <= p.k,
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
        p, tiles = problem, squares(problem)
        a, b = sides(p, device)
        blk_k = next(each for each in (p.k, 8, 4, 2, 1) if each <= 16 and (each == p.k or 2 * each <= p.k))
        found = [
            Config({"blk_m": rows, "blk_n": columns, "blk_k": blk_k, "via": "slice"})
            for rows in sorted({split(a.vectors, most)[0] for most in range(1, tiles + 1)})
            for columns in sorted({split(b.vectors, most)[0] for most in range(1, tiles + 1)})
            if rows * columns <= tiles
        ]
        # Of equal counts the one with more sums under way, for they do not wait for one another.
        return min(found, key=lambda c: (instructions(p, device, c), -c["blk_m"] * c["blk_n"]))

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(instructions, problem, device))

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        return written([(ENTRY, Products(problem, config, device["streaming_bits"]).function())])

    def gain(self, problem: Problem, device: Device) -> float:
        """Below 1, so that another stencil serves it, where a call has too few products for what it takes to
        enter the mode. By counts of instructions, measured nowhere."""
        p = problem
        saved = instructions_of_tile(p) - instructions(p, device, self.default(p, device))
        return 1.0 if p.products * saved > ENTERED else 0.5
