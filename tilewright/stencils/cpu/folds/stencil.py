"""Few columns and a transposed A: dot products along k, whose sums are folded to vectors of C, in LLVM IR.

                    k along the lanes
               +-------------------------+
      A        | row i                   |    blk_m rows, as they lie in memory
               +-------------------------+         times
      B        | column j                |    blk_n columns, as they lie in memory
               +-------------------------+          =
      sums     | a vector for every (i, j), of which all lanes are to be added up
               +-------------------------+
      C        | i, i + 1, ... of column j: blk_m sums folded into one vector, in pairs

``tile`` keeps rows of C in its lanes, for which a transposed A has to be turned first, whatever the number
of columns. Here nothing is turned but a transposed B: the lanes of a sum are added up at the end, by two
shuffles and an addition for every element of C, however long k is.

Complex products keep two vectors of sums, of a*b and of a times b with its parts exchanged; folded as two
rows they are the real and the imaginary part, side by side.

Sums are not made in the order of k, and how they are follows from n, too: calls with ``deterministic=True``
run other stencils.

A vector may be longer: with n = 1 rows and k are any up to 4096. Then a loop along k carries the sums, and
the processor's own prefetchers follow the rows, which are few at a time and long.

Requires: x86, where part of a vector is read by one instruction; numbers of 32 and 64 bits, A transposed,
sizes up to 64, or one column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from math import log2

from tilewright.model import Config, Device, Problem, Source
from tilewright.space import HARDWARE, Param, Rule, Space
from tilewright.stencils.cpu.answers import CpuStencil, of_configs, outsized, written
from tilewright.stencils.cpu.common import from_memory, memory_rules, staged_rules
from tilewright.stencils.cpu.folds.codegen import Folds, along, deals, groups, looped
from tilewright.stencils.cpu.ir import ENTRY, staged_or_not
from tilewright.stencils.cpu.lanes.stencil import LanesStencil
from tilewright.stencils.cpu.tile import stencil as tile
from tilewright.stencils.cpu.tile.codegen import split
from tilewright.stencils.protocol import CostModel

LIMIT = 64

VECTORS = 4096
"""Rows and k of a matrix times a vector."""

FREE = 3
"""Registers that sums and values of B do not take: vectors of A, and what is folded. Two more where C is
read, which schedulers do before the last sums are made."""

TURNED = 6
"""Registers of 32 in which LLVM holds constants of a turned B over the sums; of 16 four."""

ORDERS = 8
"""Registers of the orders of lanes that put two columns of B together, others for the last steps."""

LONGEST = 2048
"""Multiply-adds in a row."""


def live(problem: Problem, device: Device, vector_bits: int, blk_m: int, blk_n: int) -> int:
    """Vector registers that a config needs at once: sums, values of B, and vectors of A; of C; the signs of
    complex products; orders of lanes that turn B, and a mask where masks are vectors."""
    p, parts = problem, 2 if problem.dtype.is_complex else 1
    many = device["vector_registers"] > 16
    most = parts * blk_n * (blk_m + 1) + FREE + 2 * (p.beta != "0") + (not device["masks"])
    # Of 16 registers signs take none: they are read from memory.
    most += 2 + 2 * ("any" in (p.alpha, p.beta)) if p.dtype.is_complex and many else 0
    if p.transposed_b and not (p.n == 1 and deals(p, vector_bits)):
        most += (ORDERS if deals(p, vector_bits) else TURNED) if many else 4
        # Beside prefetches, across which LLVM moves nothing, more is read before it is needed.
        most += 4 if p.footprint > device.knee() and device.limits.get("prefetch", 0) else 0
    # Of an A that the batch shares LLVM keeps vectors from one product to the next.
    return most + 2 * (p.stride_a == 0)


def _rules(problem: Problem, device: Device) -> Iterator[Rule]:
    p, unit = problem, 2 if problem.dtype.is_complex else 1
    real = p.dtype.sum_bits

    def masked(blk_m: int, tail: str) -> bool:
        return any(part.active < part.width for part in groups(p, blk_m, tail))

    yield Rule(
        "vector-fits",
        "queryable",
        "a vector wider than k and twice its width is never filled",
        lambda vector_bits: vector_bits == 128 or vector_bits // real < 2 * p.k * unit,
    )
    yield Rule(
        "rows-fit",
        "hard",
        "as many sums as a vector has lanes are folded to one",
        lambda vector_bits, blk_m: blk_m * unit * real <= vector_bits,
    )
    yield Rule(
        "rows-in-matrix",
        "hard",
        "more rows than the matrix has are another name of fewer",
        lambda blk_m: blk_m < 2 * p.m,
    )
    yield Rule(
        "tail-is-there",
        "hard",
        "without rows that are left over there is one way to handle none",
        lambda blk_m, tail: tail == "mask" or masked(blk_m, "mask"),
    )
    yield Rule(
        "masks",
        "queryable",
        "without mask registers a masked store is microcoded",
        lambda blk_m, tail: bool(device["masks"]) or not masked(blk_m, tail),
    )
    yield Rule(
        "equal-columns",
        "hard",
        "tiles are made equal, so this width splits the columns as a smaller one does",
        lambda blk_n: split(p.n, blk_n)[0] == blk_n,
    )
    yield Rule(
        "registers",
        "queryable",
        "sums, values of B and a vector of A must fit in the vector registers",
        lambda vector_bits, blk_m, blk_n: (
            live(p, device, vector_bits, blk_m, blk_n) <= device["vector_registers"]
        ),
    )
    yield Rule(
        "code-size",
        "soft",
        "more than 2048 multiply-adds in a row crowd the instruction caches and compile for long",
        lambda vector_bits, blk_m: (
            looped(p) or unit * blk_m * p.n * len(along(p, vector_bits // real)) <= LONGEST
        ),
    )
    yield Rule(
        "prefetch-rows",
        "soft",
        "rows that a loop runs along are long enough for the processor to ask for them ahead",
        lambda prefetch: prefetch == 0 or not looped(p),
    )
    yield from memory_rules(p, device)
    yield from staged_rules(p, device, p.m * p.n * p.dtype.itemsize)


@dataclass(frozen=True, slots=True)
class Prices:
    """What makes up the time of a product, in the cycles of ``tile.cost``. Fitted to 160 random problems on a
    Zen 5, of d, s, c and z from the caches, with up to nine configs each: a quarter off in the mean."""

    multiply: float = 1.0
    """Two multiply-adds."""
    load: float = 0.7
    """Two loads, which hide in part, and mostly cross the border of a line."""
    fold: float = 0.8
    """Two vectors of sums dealt out and added, or one to half of its lanes."""
    deal: float = 0.5
    """A load or a shuffle of those that put a column of B together."""
    turn: float = 0.67
    """What ``turning`` counts, of blocks of A; of those of B, which mostly have few real lanes, it is 1."""


PRICES = Prices()

SURE, WAITING = 0.8, 0.6
"""The part of the other stencil's cycles that have to be enough: by models that are a fifth off, and from
memory, where both mostly wait."""


def cost(problem: Problem, device: Device, config: Config) -> float:
    """Estimated cycles of one product: multiply-adds and loads on two ports each, the folding of sums, and
    what a transposed B takes to be turned."""
    p, unit = problem, 2 if problem.dtype.is_complex else 1
    width = config["vector_bits"] // p.dtype.sum_bits
    slots: float = max(1.0, config["vector_bits"] / tile.unit_bits(device))
    steps = len(along(p, width))
    turned = p.transposed_b and p.stride_b != 0 and not deals(p, config["vector_bits"])
    total = turning(p.k, p.n, unit, width) if turned else 0.0
    # Each of two columns is put together out of two vectors.
    dealt = PRICES.deal * p.n if p.n > 1 and deals(p, config["vector_bits"]) else 0.0
    for columns in split(p.n, config["blk_n"]):
        for part in groups(p, config["blk_m"], config["tail"]):
            rows = part.active // unit
            total += steps * (PRICES.multiply * unit * rows * columns + PRICES.load * (rows + columns)) / 2
            total += steps * dealt * columns
            # One vector alone takes two shuffles and an addition to be half as long, too.
            total += PRICES.fold * columns * (part.active + log2(width / part.width))
    return slots * total


def turning(rows: int, columns: int, unit: int, width: int) -> float:
    """Loads, stores and half of the shuffles by which a matrix that lies by rows is turned, in square blocks
    of vectors."""
    lanes = max(1, width // unit)
    blocks = -(-rows // lanes) * -(-columns // lanes)
    return blocks * lanes * (1.0 + log2(lanes) / 2)


def least(problem: Problem, device: Device) -> float:
    """Cycles that no config goes below: multiply-adds without an idle lane, and every sum folded."""
    p, unit = problem, 2 if problem.dtype.is_complex else 1
    vectors = p.k * unit * p.dtype.sum_bits / tile.unit_bits(device)
    return unit * p.m * p.n * (PRICES.multiply * vectors / 2 + PRICES.fold)


@lru_cache(maxsize=64)
def _default(problem: Problem, device: Device) -> Config:
    """The default, which a plan asks for twice: for what it gains, and for itself."""
    space = FoldsStencil().space(problem, device)
    plain = list(space.restricted(store="plain", prefetch=0))
    if not plain:
        # The code of many columns is long whatever the tile.
        plain = list(space.only(HARDWARE).restricted(store="plain", prefetch=0))
    best = min(plain, key=lambda config: (cost(problem, device, config), repr(config)))
    return from_memory(problem, device, space, best)


class FoldsStencil(CpuStencil):
    """``folds``: the stencil above as the five functions of the protocol."""

    name = "folds"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if not device.features.startswith("x86"):
            return "reading part of a vector takes one instruction on x86 alone"
        if p.dtype.real_bits == 16:
            return f"type {p.dtype.letter} is not of 32 or 64 bits"
        if not p.transposed_a:
            return "the rows of A are not contiguous: it is not transposed"
        if (least := live(p, device, 128, 1, 1)) > device["vector_registers"]:
            return f"one row by one column takes {least} of {device['vector_registers']} vector registers"
        return outsized(p, VECTORS if p.n == 1 else LIMIT)

    def needs_record(self, problem: Problem) -> bool:
        # Of what is longer a BLAS may be faster: who is was measured (``planning.processors``).
        return max(problem.extents) > LIMIT

    def space(self, problem: Problem, device: Device) -> Space:
        p = problem
        params = (
            Param("vector_bits", tuple(b for b in (512, 256, 128) if b <= device["vector_bits"])),
            Param("blk_m", (1, 2, 4, 8, 16)),
            Param("blk_n", tuple(range(1, min(p.n, 16) + 1))),
            Param("tail", ("mask", "binary")),
            Param("store", ("plain", "staged")),
            Param("prefetch", (0, 1, 2, 4)),
        )
        return Space(params, tuple(_rules(p, device)))

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def default(self, problem: Problem, device: Device) -> Config:
        return _default(problem, device)

    def gain(self, problem: Problem, device: Device) -> float:
        """Twice that of ``tile`` where the cost models of both say that it is faster, and ``lanes`` is not.

        Measured on a Zen 5 alone, with vectors of 256 bits, too: up to 7.5 times as fast from the caches, for
        few rows and columns and a long k. From memory s and c ran 1.0 to 1.4 times as fast, and d and z 0.6
        to 1.05: these are left to ``tile`` there.
        """
        p, other = problem, LanesStencil()
        if self.needs_record(p):
            return 1.0
        if other.accepts(p, device) is None and other.gain(p, device) >= 1.0:
            return 0.5
        far = p.footprint > device.knee()
        if far and p.dtype.real_bits == 64:
            return 0.5
        beside = tile.TileStencil().default(p, device)
        width = beside["vector_bits"] // p.dtype.sum_bits
        turned = turning(p.m, p.k, 2 if p.dtype.is_complex else 1, width) if p.stride_a != 0 else 0.0
        limit = tile.cost(p, device, beside) + PRICES.turn * turned
        limit *= WAITING if far else SURE
        if least(p, device) >= limit:
            # Most products end here, without a look at the space.
            return 0.5
        return 2.0 if cost(p, device, _default(p, device)) < limit else 0.5

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        if config["store"] == "plain":
            return written([(ENTRY, Folds(problem, config, "plain", device).function())])
        short = config.with_(prefetch=0)
        functions = [
            (f"{ENTRY}_{way}", Folds(problem, chosen, way, device).function())
            for way, chosen in (("plain", short), ("staged", config))
        ]
        return written([*functions, (ENTRY, staged_or_not(problem.dtype, problem.m * problem.n, device))])
