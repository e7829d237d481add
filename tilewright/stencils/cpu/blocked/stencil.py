"""Matrices too long or too large for straight code: register tiles in loops, and operands packed for them.

                        n, in tiles of blk_n columns
                     +-----+-----+-----+--
      m, in tiles    |     |     |     |        C: a tile of it stays in registers
      of blk_m       +-----+-----+-----+--      A: a tile is blk_m vectors by the steps of a slice
      vectors        |     |     |     |        B: a tile is the steps of a slice by blk_n columns
                     +-----+-----+-----+--
                       k, in slices

``tile`` writes out every tile of a matrix; here one tile of each shape is written, a few heights by two
widths, and loops move it, so that code is no longer for longer extents. ``order`` says which loop is the
outer one (``nm``: the columns): its tiles are read once, and those of the inner one in each of its turns,
from the caches. Packed, the operand of the inner loop lies in a buffer as a whole, and of the other one a
tile at a time: A tile after tile in the order in which it is read, at addresses that are aligned, B with its
columns where they do not push each other out of the cache. That is the packing of K. Goto and R. van de
Geijn, "Anatomy of high-performance matrix multiplication" (2008), without the blocks for caches beyond the
second: one extent at least is short. A sum over a long k is cut into slices, and C is added to.

Requires: vectors of the real type, contiguous columns of C, an extent over 64 and one of at most 128.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import islice, product
from typing import Any

from tilewright.model import Config, Device, Problem, Source
from tilewright.space import HARDWARE, Param, Rule, Space
from tilewright.stencils.cpu.answers import CpuStencil, of_configs, written
from tilewright.stencils.cpu.blocked.codegen import (
    Blocked,
    Rows,
    reals_packed,
    row_tiles,
    runs,
    tile_config,
)
from tilewright.stencils.cpu.common import slow_type
from tilewright.stencils.cpu.ir import ENTRY
from tilewright.stencils.cpu.tile.stencil import COMPLEX_STEPS, LIMIT, SPARED, cost, live, of_steps
from tilewright.stencils.protocol import CostModel

SHORT = 128
"""The most that the shortest extent may be: beyond, blocks for the last cache pay, which a BLAS has."""

ROOM = 1 << 20
"""Bytes of a buffer on the stack: threads have some megabytes."""

DEPTHS = (64, 128, 256, 512)
"""Steps of a slice that are tried."""

DEEP = 16
"""Steps of a sum that is unrolled whole."""

STEADY = 256
"""Steps of a slice where its length must follow from k alone."""

WAYS = 8
"""Columns of B that a tile reads side by side: where they are a power of two apart, one line of each has room
in the first cache, which is 8 to 12 ways wide."""

FAR = 2048
"""Bytes between columns of A that are far apart."""


class Shape:
    """What follows from a problem and the parameters of its tiles."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.unit = 2 if problem.dtype.is_complex else 1
        self.rows = problem.m * self.unit

    def lanes(self, vector_bits: int) -> int:
        """Real numbers of a vector."""
        return int(vector_bits // self.problem.dtype.sum_bits)

    def rest(self, vector_bits: int) -> int:
        """Real numbers of a column that fill no vector."""
        return self.rows % self.lanes(vector_bits)

    def tiles(self, vector_bits: int, tail: str, blk_m: int) -> tuple[Rows, ...]:
        """The tiles of a column."""
        return row_tiles(self.rows, self.lanes(vector_bits), tail, blk_m)

    def parts(self, config: Mapping[str, Any]) -> Iterator[tuple[Problem, int]]:
        """Tiles of C, one of each shape, as problems of their own, and how many there are."""
        for rows in self.tiles(config["vector_bits"], config["tail"], config["blk_m"]):
            for size, times in runs(self.problem.n, config["blk_n"]):
                yield part(self.problem, rows.height // self.unit, size), rows.times * times


@lru_cache(maxsize=4096)
def part(problem: Problem, m: int, n: int) -> Problem:
    """A tile of C as a problem of its own, with its A as it is when it is read."""
    p = problem
    return Problem(p.dtype, m, n, p.k, "j" if p.conj_a else "n", p.trans_b, alpha=p.alpha, beta=p.beta)


def _params(shape: Shape, device: Device) -> tuple[Param, ...]:
    p = shape.problem
    bits = tuple(b for b in (512, 256, 128) if b <= device["vector_bits"])
    vectors = -(-shape.rows // shape.lanes(bits[-1]))
    deep = tuple(b for b in (1, 2, 4, 8) if b < p.k)
    ways = ("split", "rotate", *(("fcmla",) if "fcma" in device.supports else ()))
    return (
        Param("vector_bits", bits),
        Param("tail", ("mask", "narrow", "binary")),
        Param("cmul", ways if p.dtype.is_complex else ("none",)),
        Param("blk_m", tuple(range(1, min(vectors, 8) + 1))),
        Param("blk_n", tuple(range(1, min(p.n, 28) + 1))),
        Param("slice", (*(depth for depth in DEPTHS if depth < p.k), max(p.k, 1))),
        Param("blk_k", (*deep, p.k) if 0 < p.k <= DEEP else deep or (1,)),
        Param("order", ("nm", "mn")),
        Param("pack_a", (0, 1)),
        Param("pack_b", (0, 1)),
    )


def _rules(shape: Shape, device: Device) -> Iterator[Rule]:
    p = shape.problem
    yield Rule(
        "vector-fits",
        "queryable",
        "a vector wider than the column and twice its width is never filled",
        lambda vector_bits: vector_bits == 128 or shape.lanes(vector_bits) < 2 * shape.rows,
    )
    yield Rule(
        "tail-is-there",
        "hard",
        "without a remainder there is one way to handle none",
        lambda vector_bits, tail: tail == "mask" or shape.rest(vector_bits) > 0,
    )
    yield Rule(
        "masks",
        "queryable",
        "without mask registers a masked store is microcoded",
        lambda vector_bits, tail: bool(device["masks"]) or tail == "binary" or not shape.rest(vector_bits),
    )
    yield Rule(
        "tile-in-matrix",
        "hard",
        "tiles are made equal, so this height splits the rows as a smaller one does, or is more than all",
        lambda vector_bits, tail, blk_m: len(shape.tiles(vector_bits, tail, blk_m)[0].vectors) == blk_m,
    )
    yield Rule(
        "equal-columns",
        "hard",
        "tiles are made equal, so this width splits the columns as a smaller one does",
        lambda blk_n: runs(p.n, blk_n)[0][0] == blk_n,
    )
    yield Rule(
        "registers",
        "queryable",
        "C, a vector of A for each row of it and a value of B must fit in the vector registers",
        lambda vector_bits, tail, cmul, blk_m, blk_n: (
            needed(shape, locals(), kept=False) <= device["vector_registers"]
        ),
    )
    yield Rule(
        "k-loop-turns",
        "hard",
        "a loop over k that runs once is the unrolled code by another name",
        lambda slice, blk_k: min(slice, p.k) >= 2 * blk_k or blk_k >= p.k,
    )
    yield from _of_packing(shape)


def _of_packing(shape: Shape) -> Iterator[Rule]:
    """What is packed, and what it is packed into."""
    p = shape.problem
    halves = p.dtype.real_bits == 16
    yield Rule(
        "whole-sums",
        "hard",
        "C is added to by the later slices, and would be rounded to 16 bits in between",
        lambda slice: not halves or slice >= p.k,
    )
    yield Rule(
        "vectors-of-a",
        "hard",
        "rows of A that are not neighbours in memory are made so by packing",
        lambda pack_a: bool(pack_a) or not p.transposed_a,
    )
    yield Rule(
        "values-of-b",
        "hard",
        "values of B are used one by one, and those of 16 bits are widened a vector at a time before",
        lambda pack_b: bool(pack_b) or not halves,
    )
    yield Rule(
        "room",
        "queryable",
        f"what is packed lies on the stack, {ROOM >> 10} KiB of it at most",
        lambda vector_bits, tail, blk_m, blk_n, slice, order, pack_a, pack_b: (
            sum(reals_packed(p, locals())) * p.dtype.sum_bits <= 8 * ROOM
        ),
    )
    yield Rule(
        "long-outside",
        "soft",
        "the inner loop reads its operand again in every turn of the outer one, so it is the shorter one",
        lambda order: order == ("nm" if p.n > p.m else "mn") or max(p.m, p.n) < 2 * min(p.m, p.n),
    )
    yield Rule(
        "unroll",
        "soft",
        "a short sum is unrolled whole, and a loop of single steps only counts",
        lambda blk_k: blk_k >= p.k or (blk_k >= 2 and p.k > 8),
    )


def needed(shape: Shape, config: Mapping[str, Any], kept: bool) -> int:
    """Vector registers that the tiles of a config need (``tile.stencil.live``); what packing takes is free
    again before a sum begins."""
    whole = {"blk_k": 1, **config}
    return max(live(tile, whole, kept) for tile, _ in shape.parts(whole))


def ahead(shape: Shape, device: Device, config: Mapping[str, Any]) -> int:
    """The same where a step is read during the one before (``tile.stencil.of_steps``)."""
    whole = {"blk_k": 1, **config}
    return max(of_steps(tile, device, whole) for tile, _ in shape.parts(whole))


class BlockedStencil(CpuStencil):
    """``blocked``: the stencil above as the five functions of the protocol."""

    name = "blocked"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if max(p.extents) > LIMIT and min(p.extents) > SHORT:
            return f"{p.m}x{p.n}x{p.k} is larger than {SHORT} in every direction"
        return self._refused(p, device)

    @staticmethod
    def _refused(problem: Problem, device: Device) -> str | None:
        """Why the code cannot be written, however long it would run."""
        if reason := slow_type(problem, device):
            return reason
        p = problem
        if min(p.m, p.n) < 1:
            return "there is nothing to compute"
        if max(p.extents) <= LIMIT:
            return f"{p.m}x{p.n}x{p.k} is written out by tile, up to {LIMIT} in every direction"
        if p.dtype.real_bits == 16 and p.k > DEPTHS[-1]:
            return f"sums of {p.k} steps are cut into slices, and C would be rounded to 16 bits in between"
        return None

    def needs_record(self, problem: Problem) -> bool:
        # A BLAS packs as well: who is faster was measured (``planning.processors``).
        return True

    def space(self, problem: Problem, device: Device) -> Space:
        shape = Shape(problem)
        return Space(_params(shape, device), tuple(_rules(shape, device)))

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(_cost, Shape(problem), device))

    def default(self, problem: Problem, device: Device) -> Config:
        def made(tile: Mapping[str, Any]) -> Iterator[Config]:
            yield self._config(problem, device, tile)

        found = self._best(problem, device, None, made)
        assert found is not None
        return found

    def steady(self, problem: Problem, device: Device) -> Config | str:
        # Every element is summed in the order of k, slice by slice, so that slices alone must not depend on
        # more than k. Complex products are made in one of two orders.
        p = problem
        reason = self._refused(p, device)
        if reason is not None:
            return reason
        depth = p.k if p.dtype.real_bits == 16 or p.k <= STEADY else STEADY

        def made(tile: Mapping[str, Any]) -> Iterator[Config]:
            config = self._config(p, device, tile).with_(slice=max(depth, 1))
            yield config
            yield config.with_(order="mn" if config["order"] == "nm" else "nm")

        found = self._best(p, device, "rotate" if p.dtype.is_complex else None, made)
        return found or f"what is packed of {p.m}x{p.n}x{p.k} does not fit on the stack"

    def _best(
        self,
        problem: Problem,
        device: Device,
        way: str | None,
        made: Callable[[Mapping[str, Any]], Iterator[Config]],
    ) -> Config | None:
        """The cheapest config of a few tiles, which ``made`` makes configs of, None where none is allowed;
        ``way``: the one way of complex products that may be taken."""
        shape, p = Shape(problem), problem
        space = self.space(p, device)
        params = {param.name: param.values for param in space.params}
        ways = params["cmul"] if way is None else (way,)
        registers = device["vector_registers"]
        room = registers - (2 if registers <= 16 else 1 + 2 * shape.unit if registers <= 32 else SPARED)
        kept = registers > 16
        blk_k = p.k if 0 < p.k <= DEEP // shape.unit else max(b for b in params["blk_k"] if b <= 4)
        # Columns of B that are read side by side are as many lines of the first cache.
        side = [n for n in params["blk_n"] if n <= WAYS or p.transposed_b]
        widths = sorted({runs(p.n, most)[0][0] for most in side}, reverse=True)
        found: list[tuple[float, str, Config]] = []

        def fits(tile: Mapping[str, Any]) -> bool:
            return needed(shape, tile, kept) <= room and (
                shape.unit == 1 or ahead(shape, device, tile) <= COMPLEX_STEPS
            )

        fitting = [
            bits for bits in params["vector_bits"] if bits == 128 or shape.lanes(bits) < 2 * shape.rows
        ]
        for bits in fitting[:2]:
            tails = params["tail"] if shape.rest(bits) else ("mask",)
            for tail, cmul, blk_m in product(tails, ways, params["blk_m"]):
                tile = {"vector_bits": bits, "tail": tail, "cmul": cmul, "blk_m": blk_m, "blk_k": blk_k}
                allowed = (n for n in widths if fits({**tile, "blk_n": n}))
                for blk_n in islice(allowed, 2):
                    for config in made({**tile, "blk_n": blk_n}):
                        found.append((_cost(shape, device, config), repr(config), config))
        hardware = space.only(HARDWARE)
        ranked = (config for _, _, config in sorted(found, key=lambda f: f[:2]))
        best = next((config for config in ranked if not hardware.why(config)), None)
        if best is None:
            # What alpha, beta and signs take of 16 registers leaves no tile: the smallest one, in vectors
            # that need no remainder if there are such.
            small = {"vector_bits": params["vector_bits"][-1], "cmul": ways[-1]}
            tiles = ({**small, "tail": tail, "blk_m": 1, "blk_n": 1, "blk_k": 1} for tail in params["tail"])
            configs = (config for tile in tiles for config in made(tile))
            best = next((config for config in configs if not hardware.why(config)), None)
        return best

    @staticmethod
    def _config(problem: Problem, device: Device, tile: Mapping[str, Any]) -> Config:
        """A tile with loops and packing as the shape of the problem asks for, by measurements on a Xeon."""
        p, unit = problem, 2 if problem.dtype.is_complex else 1
        order = "nm" if 2 * p.n >= p.m else "mn"
        halves, size = p.dtype.real_bits == 16, p.dtype.sum_bits // 8 * unit
        # A sum of one tile needs no slices, for nothing is read twice.
        alone = p.m * size * 8 <= tile["blk_m"] * tile["vector_bits"] and p.n <= tile["blk_n"]
        # Steps of columns that are far apart are as many pages.
        far = not p.transposed_a and p.lda * p.dtype.itemsize >= FAR  # type: ignore[operator]
        most = 64 if far else 256
        depth = p.k if alone or halves or p.k <= (1.5 if far else 2) * most else most
        # Packing A reads and writes it once, which many columns are worth, and fewer where it is far apart.
        pack_a = p.transposed_a or p.n >= (12 if far and p.k > DEEP else 64)
        if pack_a and p.m * depth * size > ROOM:
            order = "mn"
        away = p.footprint > device.knee() or 2 * p.m * p.k * p.dtype.itemsize > device["l2"]
        if far and away and 17 * p.m * depth * size <= 16 * ROOM:
            # Tile by tile memory is read in pieces, but packed as a whole it is read in order.
            order, pack_a = "nm", True
        return Config(
            {
                "vector_bits": tile["vector_bits"],
                "tail": tile["tail"],
                "cmul": tile["cmul"],
                "blk_m": tile["blk_m"],
                "blk_n": tile["blk_n"],
                "slice": max(depth, 1),
                "blk_k": tile["blk_k"],
                "order": order,
                "pack_a": int(pack_a),
                "pack_b": int(halves),
            }
        )

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        return written([(ENTRY, Blocked(problem, config, device).function())])


def _cost(shape: Shape, device: Device, config: Mapping[str, Any]) -> float:
    """Estimated cycles of one product: those of its tiles (``tile.stencil.cost``)."""
    tile = tile_config(config)
    return sum(times * cost(one, device, tile) for one, times in shape.parts(config))
