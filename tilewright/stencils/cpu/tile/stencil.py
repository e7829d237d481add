"""One matrix at a time: a register tile of C, moved over the matrix, in LLVM IR.

                 blk_n columns
               +---+---+---+---+
      blk_m    |   |   |   |   |   C: blk_m x blk_n vectors stay in registers
      vectors  |   |   |   |   |   A: reg_a vectors at a time, contiguous rows
               +---+---+---+---+   B: reg_b values at a time, each copied to all lanes

For every tile of C the sum over k runs in steps of ``blk_k`` (all of k: fully unrolled). The inner
order is ``column`` (A held, B streamed) or ``row`` (B held, A streamed), as in figure 3b of Masliah
et al., "Algorithms and optimization techniques for high-performance matrix-matrix multiplications
of very small matrices" (2019), section 5. An A that is transposed is first turned in vectors into a
buffer on the stack. Complex products keep the real and imaginary parts interleaved (``cmul``).

Requires: vectors of the real type, contiguous columns of C, sizes up to 64.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import islice, product
from typing import Any

from tilewright.model import Config, Device, Problem, Source
from tilewright.space import HARDWARE, Param, Rule, Space, completed
from tilewright.stencils.cpu.answers import CpuStencil, of_configs, written
from tilewright.stencils.cpu.bits import by_bits
from tilewright.stencils.cpu.common import from_memory, memory_rules, slow_type, staged_rules
from tilewright.stencils.cpu.ir import ENTRY, Piece, by_length, staged_or_not, stream_or_not
from tilewright.stencils.cpu.power import copy_slots, doubles, is_power, reads_both_ways
from tilewright.stencils.cpu.sets import complex_slots, multiplies_stored
from tilewright.stencils.cpu.tile.codegen import AHEAD, APART, MANY, MOVED, Tile, pieces, split
from tilewright.stencils.protocol import CostModel

LIMIT = 64

SPREAD = Param("spread", (0, 1), absent=0)
"""Whether all operands are prefetched at once, evenly, or one after another."""


WIDEN = Param("widen", ("load", "product"), absent="load")
"""Whether numbers of 16 bits are widened as they are read, or by the instructions that multiply them. A
transposed A is turned in the type of registers, and so widened before."""


COPIES = Param("copies", ("register", "memory"), absent="register")
"""Where values of B are copied to all lanes: by an instruction after the load, or by the load, from a buffer
that has each of them twice."""


EARLY = 3
"""Values of B that schedulers read before they are needed, between two prefetches."""


TURNED = 6
"""Registers that stay free of 32 where A is transposed first: for blocks that are not full LLVM makes
constants of its own, and holds them over the sum. Two more where beta is any number."""


WIDENING = 4
"""Registers of vectors of 16-bit numbers that schedulers read and widen before they are needed."""


SPARED = 20
"""Registers that stay free of 64: with fewer LLVM spilled on POWER, where instructions differ in which half
of the registers they take."""


STEPS, COMPLEX_STEPS = 60, 52
"""Registers of 64 for a step of a tile that is multiplied and the next one, which is read meanwhile: with 62
LLVM spilled on POWER9, and of complex numbers with 56 on POWER8."""


ROUNDING = 7
"""Registers of the constants that a bfloat16 is rounded with, and of what is rounded."""


CONSTANTS = 14
"""Registers of the constants that a float16 is widened and rounded with by integers (``bits``)."""


FEW = 16
"""Registers of AVX2, which a tile had better fill to the last: nothing is kept there beside its operands."""


TEXT = 256
"""Multiply-adds in the text of a program from which, with few registers, tiles of columns are a loop. Tiles
are small there, so that there are many. On one core of a Zen 3, squares of 5 to 31 of four types from the
caches, loops ran 0.99 to 1.02 times as fast as straight code of 30 to 400 multiply-adds, 1.07 of up to 600,
1.2 of up to 800 and 1.3 beyond 1200 (485 pairs of configs, not kept). How much depends on who else is there:
where the other thread of a core is idle both were alike, where it works straight code lost a third and loops
a sixth, for threads share what holds decoded instructions."""


LATENCY = 4
"""Cycles from one multiply-add of a sum to the next, of processors with few registers: 4 on Skylake and Zen 3
and those after them, 5 before."""


CROSSING = 1.3
"""How many times as long loads take there as two ports would: many cross the border of a line. With
``LATENCY`` it picks configs at 0.94 and 0.93 of the fastest of some thirty, of real and complex squares of 5
to 32 on a Zen 3; without both at 0.94 and 0.92, and then tiles of one vector, which spill."""


DOUBLING = 0.375
"""Cycles in which a value of B is written twice, by LLVM's model of POWER8."""


@lru_cache(maxsize=1024)
def row_tiles(rows: int, width: int, tail: str, blk_m: int) -> tuple[tuple[Piece, ...], ...]:
    """The vectors of a column, tile by tile."""
    parts, tiles, first = pieces(rows, width, tail), [], 0
    for size in split(len(parts), blk_m):
        tiles.append(tuple(parts[first : first + size]))
        first += size
    return tuple(tiles)


def cost(problem: Problem, device: Device, config: Config) -> float:
    """Estimated cycles of one product: what the multiply-add units, the loads and the latency ask for.

    A step of a tile of v vectors by c columns issues v*c multiply-adds, each worth the vector's width
    in units of ``unit_bits``, and v loads and c broadcasts on two ports; fewer than 8 running sums wait for
    the latency. With ``FEW`` registers every step takes as long as that at least, and loads take longer.
    Predicates of SVE cost nothing, but a value of B is copied for each width of vectors by itself, as it is
    on POWER, where a copy may take the place of a multiply-add.
    """
    p = problem
    predicates = "sve" in device.supports
    apart = predicates or is_power(device)
    memory = config.get("copies", "register") == "memory"
    slots = 0 if memory else copy_slots(p.dtype, device)
    complex_ = p.dtype.is_complex
    rows = p.m * (2 if complex_ else 1)
    width = config["vector_bits"] // p.dtype.sum_bits
    unit = unit_bits(device) // p.dtype.sum_bits
    few = device["vector_registers"] <= FEW
    total = DOUBLING * p.k * p.n * (2 if complex_ else 1) if memory and p.stride_b != 0 else 0.0
    for tile in row_tiles(rows, width, config["tail"], config["blk_m"]):
        size = len(tile)
        for columns, times in Counter(split(p.n, config["blk_n"])).items():
            work = sum(max(1, piece.width // unit) for piece in tile) * columns / 2
            copies = len({piece.width for piece in tile}) if apart else 1
            work += 0 if config["cmul"] == "cross" else slots * columns / 2
            loads = sum(max(1, piece.width // unit) for piece in tile) / 2 + copies * columns / 2
            if complex_:
                fused = config["cmul"] == "fcmla"
                work *= 2 * (complex_slots(device) if fused else 1)
                loads += 0 if fused else copies * columns / 2
                if config["cmul"] == "rotate":
                    work += size
            sums = size * columns * (2 if config["cmul"] in APART else 1)
            waits = 4 / min(sums, 8) * sums / 2 if sums < 8 else 0.0
            if few:
                # A sum waits for itself at every step, and the next tile is too far to fill the time.
                waits = LATENCY * (2 if config["cmul"] == "rotate" else 1)
                loads *= CROSSING
            masked = (
                0 if predicates or by_length(device) else sum(piece.active < piece.width for piece in tile)
            )
            steps = p.k if config["blk_k"] >= p.k else p.k + p.k / config["blk_k"]
            # Loads that hide behind the arithmetic are not quite free.
            # What belongs to one part of C is put side by side, once for each sum.
            ends = size * columns / 2 if config["cmul"] == "cross" else 0.0
            total += times * (
                (max(work, loads, waits) + loads / 8) * steps + (size + masked) * columns + ends
            )
    return total


def past_caches(problem: Problem, device: Device, config: Config) -> tuple[str, ...]:
    """How results that are larger than the caches leave, the best way first; none for ordinary stores.

    Those that fill lines are streamed, where ``Device.limits["staged"]`` says what was measured; a caller's
    results that do not begin at a line go through the buffer all the same.
    """
    most = device.limits.get("staged", 0)
    if not most:
        return ("staged", "stream")
    hidden = 1000 * cost(problem, device, config) > most * problem.bytes
    return ("stream",) if hidden else ("stream", "staged")


def unit_bits(device: Device) -> int:
    """Bits that a multiply-add unit takes at once: a whole vector of SVE, half or all of an AVX-512 one."""
    known = device.limits.get("fma_bits", 256)
    return max(known, device["vector_bits"]) if "sve" in device.supports else known


def live(problem: Problem, config: Mapping[str, Any], kept: bool = True, early: bool = False) -> int:
    """Vector registers that a config needs at once.

    In the loop over k these are the sums of a tile, the vectors of A, and one value of B, copied for every
    width of vector in the tile; where B is held (``inner`` is ``row``), one vector of A and all values of B.
    With ``kept`` what serves all tiles counts as well: alpha, beta, the signs of complex products, and what a
    transpose of A leaves behind. ``early`` is for programs that prefetch: LLVM moves nothing across a
    prefetch, and between two of them schedulers read vectors of A and values of B for the next step of k
    while those of this one are in use.

    Without ``kept`` there are few registers. A step of a tile that is one vector high is over before the next
    vector of A can come, and schedulers read those of up to four of the ``blk_k`` steps at once.
    """
    p = problem
    parts = 2 if p.dtype.is_complex else 1
    width = config["vector_bits"] // p.dtype.sum_bits
    tiles = row_tiles(p.m * parts, width, config["tail"], config["blk_m"])
    columns = split(p.n, config["blk_n"])[0]
    sums = columns * (2 if config["cmul"] in APART else 1)
    held = 2 if config["cmul"] == "rotate" else 1
    values = 1 if config["cmul"] == "fcmla" else parts
    rowwise = config.get("inner") == "row"
    most = max(
        len(tile) * sums
        + (1 if rowwise else len(tile)) * held
        + (columns if rowwise else 1) * values * len({piece.width for piece in tile})
        for tile in tiles
    )
    if p.dtype.is_complex and p.beta != "0":
        # A masked load of C cannot be part of an addition, and schedulers read a whole row of it early.
        most += split(p.n, config["blk_n"])[0] if tiles[-1][-1].active < tiles[-1][-1].width else 0
    # Complex multiples of sums are made beside them, of some by schedulers before the last ones are stored.
    most += 2 if config["cmul"] == "fcmla" and p.alpha == "any" else 0
    most += max(map(len, tiles)) + EARLY if early else 0
    most += WIDENING if p.dtype.real_bits == 16 and config.get("widen", "load") == "load" else 0
    if not kept and max(map(len, tiles)) == 1:
        most += min(config["blk_k"], 4) - 1
    scalars = parts * ((p.alpha == "any") + (p.beta == "any"))
    scalars += ROUNDING if p.dtype.letter == "b" else 0
    if kept:
        widths = {piece.width for tile in tiles for piece in tile}
        made = (signs(p, config["cmul"]) + scalars) * len(widths)
        return most + made + (TURNED + 2 * (p.beta == "any") if p.transposed_a else 0)
    # What is not kept is there at the end of a tile: beside the sums, a vector of C, and a transpose's mask.
    made = scalars + (1 if config["cmul"] in APART else signs(p, config["cmul"]))
    return max(most, max(map(len, tiles)) * sums + made + 1) + int(p.transposed_a)


def loose(problem: Problem, shape: Mapping[str, Any]) -> int:
    """Of few vector registers, those that stay free so that LLVM has room to order instructions.

    None for sums that are stored, or added to C, as they are, if A is held. Some where sums are multiplied by
    alpha or C by beta, A is turned first, or B is held for vectors of several widths or all of a short k at
    once, and most for tiles of one vector, of which schedulers read several steps early. By the spills of
    some 600 random problems on two processors.
    """
    complex_ = problem.dtype.is_complex
    width = shape["vector_bits"] // problem.dtype.sum_bits
    tiles = row_tiles(problem.m * (2 if complex_ else 1), width, shape["tail"], shape["blk_m"])
    several = len({piece.width for tile in tiles for piece in tile}) > 1
    scaled = "any" in (problem.alpha, problem.beta)
    if max(map(len, tiles)) == 1:
        return (6 if several and scaled else 4) if complex_ else 3
    rowwise = shape["inner"] == "row"
    spared = 0
    if scaled or problem.transposed_a:
        spared = 3 if complex_ or rowwise else 2
    if rowwise and (several or shape["blk_k"] >= problem.k):
        spared = max(spared, 2)
    return spared


def of_steps(problem: Problem, device: Device, config: Mapping[str, Any]) -> int:
    """Vector registers that a config needs where a step is read during the one before (``Tile.step_ahead``):
    sums, two times the vectors of A and ``AHEAD`` values of B, and alpha and beta; 0 where none is."""
    p = problem
    if p.dtype.real_bits != p.dtype.sum_bits or device["vector_registers"] < MANY:
        return 0
    parts, cmul = 2 if p.dtype.is_complex else 1, config["cmul"]
    tiles = row_tiles(p.m * parts, config["vector_bits"] // p.dtype.sum_bits, config["tail"], config["blk_m"])
    columns = split(p.n, config["blk_n"])[0]
    scalars = ((p.alpha == "any") + (p.beta == "any")) * parts + signs(p, cmul)
    values = 2 * min(AHEAD, columns * parts) + scalars
    return max(
        len(tile) * (columns * sums(cmul) + 2 * held(cmul)) + values * len({piece.width for piece in tile})
        for tile in tiles
    )


def signs(problem: Problem, cmul: str) -> int:
    """Different patterns of signs that a complex product puts on its parts; a real one has none.

    ``split`` makes do with one, but where registers are many the tiles that this would allow were slower.
    ``fcmla`` needs one where both operands are conjugated.
    """
    p = problem
    if not p.dtype.is_complex or cmul == "fcmla":
        return int(p.conj_a and p.conj_b)
    a, b = (-1 if conj else 1 for conj in (p.conj_a, p.conj_b))
    used = {(-a * b, b), (1, a)} | ({(-1, 1)} if "any" in (p.alpha, p.beta) else set())
    return len(used - {(1, 1)})


def long_text(problem: Problem, device: Device, shape: Mapping[str, Any], blk_k: int) -> bool:
    """Whether all tiles of columns one after another make a program that is too long."""
    if device["vector_registers"] > FEW:
        return problem.n >= 32
    parts = 2 if problem.dtype.is_complex else 1
    width = shape["vector_bits"] // problem.dtype.sum_bits
    vectors = len(pieces(problem.m * parts, width, shape["tail"]))
    return vectors * problem.n * min(blk_k, problem.k) * parts > TEXT


@dataclass(frozen=True)
class Columns:
    """The columns of C of a problem as real numbers, and how vectors of so many bits cover them."""

    problem: Problem
    bits: tuple[int, ...]
    """The widths of vectors that the device has, the widest first."""

    @cached_property
    def real(self) -> int:
        """Bytes of a real number in a register."""
        return self.problem.dtype.sum_bits // 8

    @cached_property
    def stored(self) -> int:
        """Bytes of a column of C in memory."""
        return self.problem.m * self.problem.dtype.itemsize

    @cached_property
    def rows(self) -> int:
        """Real numbers of a column."""
        return self.problem.m * (2 if self.problem.dtype.is_complex else 1)

    def vectors(self, vector_bits: int) -> int:
        """Vectors of a column, the last of which may not be full."""
        return -(-self.rows * self.real * 8 // vector_bits)

    def lanes(self, vector_bits: int) -> int:
        """Real numbers of a vector."""
        return vector_bits // (8 * self.real)

    def rest(self, vector_bits: int) -> int:
        """Real numbers of a column that fill no vector."""
        return self.rows % self.lanes(vector_bits)

    def moved(self, vector_bits: int, tail: str) -> int:
        """Lanes of the vector that is moved up over rows already covered, for the ways of ``MOVED``."""
        rest = self.rest(vector_bits)
        return self.lanes(vector_bits) if tail == "whole" else 1 << (rest - 1).bit_length()

    def count(self, vector_bits: int, tail: str) -> int:
        """Vectors of a column, of whatever width ``tail`` makes the last ones."""
        return len(pieces(self.rows, self.lanes(vector_bits), tail))


def sums(cmul: str) -> int:
    """Registers of a sum."""
    return 2 if cmul in APART else 1


def held(cmul: str) -> int:
    """Registers of a vector of A."""
    return 2 if cmul == "rotate" else 1


def _params(x: Columns, device: Device) -> tuple[Param, ...]:
    p, most_columns = x.problem, min(x.problem.n, 28)
    ways = ("split", "rotate", *(("fcmla",) if "fcma" in device.supports else ()))
    ways += ("cross",) if reads_both_ways(p.dtype, device) else ()
    return (
        Param("vector_bits", x.bits),
        Param("tail", ("mask", "narrow", "binary", "overlap", *(("whole",) if is_power(device) else ()))),
        Param("store", ("plain", "stream", "staged")),
        Param("cmul", ways if p.dtype.is_complex else ("none",)),
        Param("blk_m", tuple(range(1, min(x.vectors(x.bits[-1]), 8) + 1))),
        Param("blk_n", tuple(range(1, most_columns + 1))),
        Param("blk_k", tuple(dict.fromkeys((*(b for b in (1, 2, 4, 8, 16) if b < p.k), max(p.k, 1))))),
        Param("inner", ("column", "row")),
        Param("reg_a", (1, 2, 3, 4, 5, 6, 7, 8)),
        Param("reg_b", tuple(dict.fromkeys((1, 2, 4, *range(1, most_columns + 1))))),
        Param("order", ("nm", "mn")),
        Param("roll", (0, 1)),
        Param("prefetch", (0, 1, 2, 4)),
        Param("level", (1, 2)),
        SPREAD,
        *((WIDEN,) if multiplies_stored(p.dtype, device) and not p.transposed_a else ()),
        *((COPIES,) if doubles(p.dtype, device) else ()),
    )


def _rules(x: Columns, device: Device) -> Iterator[Rule]:
    yield from _of_vectors(x, device)
    yield from _of_tiles(x)
    yield from _of_registers(x, device)
    yield from _of_loops(x)
    yield from _of_speed(x)
    yield from _of_prefetches(x)


def _of_vectors(x: Columns, device: Device) -> Iterator[Rule]:
    """How columns are cut into vectors, and how these are written."""
    p = x.problem
    masks = bool(device["masks"])
    yield Rule(
        "vector-fits",
        "queryable",
        "a vector wider than the column and twice its width is never filled",
        lambda vector_bits: vector_bits == x.bits[-1] or x.lanes(vector_bits) < 2 * x.rows,
    )
    yield Rule(
        "k-loop-turns",
        "hard",
        "a loop over k that runs once is the unrolled code by another name",
        lambda blk_k: blk_k >= p.k or 2 * blk_k <= p.k,
    )
    yield Rule(
        "tail-is-there",
        "hard",
        "without a remainder there is one way to handle none",
        lambda vector_bits, tail: tail == "mask" or x.rest(vector_bits) > 0,
    )
    yield Rule(
        "overlap-has-room",
        "hard",
        "a vector moved up must not start before the column",
        lambda vector_bits, tail: tail not in MOVED or x.moved(vector_bits, tail) <= x.rows,
    )
    if is_power(device):
        yield Rule(
            "whole-is-wider",
            "hard",
            "a full vector moved up is another name of the narrowest one where that is full",
            lambda vector_bits, tail: (
                tail != "whole" or x.moved(vector_bits, "overlap") < x.lanes(vector_bits)
            ),
        )
    yield Rule(
        "masks",
        "queryable",
        "without mask registers a masked store is microcoded",
        lambda vector_bits, tail: (
            masks
            or x.rest(vector_bits) == 0
            or all(q.active == q.width for q in pieces(x.rows, x.lanes(vector_bits), tail))
        ),
    )
    yield Rule(
        "stream-aligned",
        "hard",
        "a streaming store writes whole aligned vectors that nobody reads",
        lambda store, vector_bits: (
            store != "stream"
            or (
                p.beta == "0"
                and x.rest(vector_bits) == 0
                and (p.ldc * p.dtype.itemsize * 8) % vector_bits == 0  # type: ignore[operator]
            )
        ),
    )
    yield from memory_rules(p, device)
    yield from staged_rules(p, device, x.stored * p.n)
    yield Rule(
        "stream-whole-lines",
        "soft",
        "a streaming store of part of a cache line is combined slowly or not at all",
        lambda store, vector_bits: store != "stream" or vector_bits == 512 or x.stored % 64 == 0,
    )


def _of_tiles(x: Columns) -> Iterator[Rule]:
    """Which tiles there are, each under one name."""
    p = x.problem
    yield Rule(
        "tile-in-matrix",
        "hard",
        "a tile higher than the matrix is another name of a smaller one",
        lambda blk_m, vector_bits, tail: blk_m <= x.count(vector_bits, tail),
    )
    yield Rule(
        "overlap-one-tile",
        "hard",
        "rows covered twice must be read before either is written",
        lambda blk_m, vector_bits, tail: (
            tail not in MOVED or p.beta == "0" or blk_m == x.count(vector_bits, tail)
        ),
    )
    yield Rule(
        "equal-rows",
        "hard",
        "tiles are made equal, so this height splits the rows as a smaller one does",
        lambda blk_m, vector_bits, tail: split(x.count(vector_bits, tail), blk_m)[0] == blk_m,
    )
    yield Rule(
        "equal-columns",
        "hard",
        "tiles are made equal, so this width splits the columns as a smaller one does",
        lambda blk_n: split(p.n, blk_n)[0] == blk_n,
    )


def _of_registers(x: Columns, device: Device) -> Iterator[Rule]:
    """What lies in registers."""
    p = x.problem
    registers = device["vector_registers"]
    yield Rule(
        "registers-of-c",
        "queryable",
        "the tile of C and one vector of A must fit in the vector registers",
        lambda blk_m, blk_n, cmul: blk_m * blk_n * sums(cmul) + held(cmul) <= registers,
    )
    yield Rule(
        "reg-a-in-tile",
        "hard",
        "more registers for A than the tile has vectors stay unused",
        lambda reg_a, blk_m: reg_a <= blk_m,
    )
    yield Rule(
        "reg-b-in-tile",
        "hard",
        "more registers for B than the tile has columns stay unused",
        lambda reg_b, blk_n: reg_b <= blk_n,
    )
    yield Rule(
        "registers",
        "queryable",
        "C, A and B together must fit in the vector registers",
        lambda blk_m, blk_n, cmul, reg_a, reg_b: (
            blk_m * blk_n * sums(cmul) + reg_a * held(cmul) + reg_b * (2 if p.dtype.is_complex else 1)
            <= registers
        ),
    )


def _of_loops(x: Columns) -> Iterator[Rule]:
    """In which order tiles and steps are computed."""
    p = x.problem
    yield Rule(
        "order-matters",
        "hard",
        "with tiles in one direction only, both orders are one",
        lambda order, blk_m, blk_n, vector_bits, tail: (
            order == "nm" or (blk_m < x.count(vector_bits, tail) and blk_n < p.n)
        ),
    )
    yield Rule(
        "roll-repeats",
        "hard",
        "a loop over column tiles needs two of one width, and columns outside",
        lambda roll, order, blk_n: roll == 0 or (order == "nm" and split(p.n, blk_n).count(blk_n) > 1),
    )
    yield Rule(
        "inner-matters",
        "hard",
        "with one column, both inner orders are one",
        lambda inner, blk_n: inner == "column" or blk_n > 1,
    )


def _of_speed(x: Columns) -> Iterator[Rule]:
    """What is slow."""
    p = x.problem
    yield Rule(
        "one-vector-per-line",
        "soft",
        "narrow vectors cost more instructions for the same bytes",
        lambda vector_bits: vector_bits >= min(256, x.bits[0]) or x.rows * x.real <= 16,
    )
    yield Rule(
        "reuse",
        "soft",
        "the held side is loaded once a step, or registers do nothing for reuse",
        lambda inner, reg_a, reg_b, blk_m, blk_n: reg_a == blk_m if inner == "column" else reg_b == blk_n,
    )
    yield Rule(
        "streamed-few",
        "soft",
        "the streamed side needs one or two registers; the rest belong to C",
        lambda inner, reg_a, reg_b: (reg_b if inner == "column" else reg_a) <= 2,
    )
    yield Rule(
        "occupancy",
        "soft",
        "too few running sums leave the multiply-add units waiting",
        lambda blk_m, blk_n, cmul, vector_bits, tail: (
            blk_m * blk_n * sums(cmul) >= min(8, x.count(vector_bits, tail) * p.n * sums(cmul))
        ),
    )
    yield Rule(
        "code-size",
        "soft",
        "more than 2048 multiply-adds in a row crowd the instruction caches and compile for long",
        lambda blk_k, blk_n, vector_bits, tail, roll: (
            x.count(vector_bits, tail)
            * (min(2 * blk_n, p.n) if roll else p.n)
            * (2 if p.dtype.is_complex else 1)
            * min(blk_k, p.k)
            <= 2048
        ),
    )
    yield Rule(
        "unroll",
        "soft",
        "a short sum is unrolled whole, and a loop of single steps only counts",
        lambda blk_k: blk_k >= p.k or (p.k > 12 and blk_k >= 2),
    )


def _of_prefetches(x: Columns) -> Iterator[Rule]:
    """What is asked for early."""
    p = x.problem
    lines = 64 // p.dtype.itemsize
    yield Rule(
        "level-of-prefetch",
        "hard",
        "without a prefetch there is no level to choose",
        lambda level, prefetch: level == 1 or prefetch > 0,
    )
    yield Rule(
        "spread-of-prefetch",
        "hard",
        "without a prefetch there is nothing to spread",
        lambda spread, prefetch: spread == 0 or prefetch > 0,
    )
    yield Rule(
        "prefetch-some",
        "soft",
        "a prefetch of less than two lines ahead comes too late",
        lambda prefetch: prefetch == 0 or prefetch * max(p.m * p.k, p.k * p.n) >= 2 * lines,
    )


class TileStencil(CpuStencil):
    """``tile``: the stencil above as the five functions of the protocol."""

    name = "tile"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        if reason := slow_type(problem, device):
            return reason
        if max(problem.m, problem.n, problem.k) > LIMIT:
            return f"{problem.m}x{problem.n}x{problem.k} is larger than {LIMIT} in some direction"
        if min(problem.m, problem.n) < 1:
            return "there is nothing to compute"
        return None

    def space(self, problem: Problem, device: Device) -> Space:
        columns = Columns(problem, tuple(b for b in (512, 256, 128) if b <= device["vector_bits"]))
        return Space(_params(columns, device), tuple(_rules(columns, device)))

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem, device))

    def default(self, problem: Problem, device: Device) -> Config:
        return self._best(problem, device, None)

    def steady(self, problem: Problem, device: Device) -> Config | str:
        # Every element is summed in the order of k. Complex products are made in one of several orders.
        way = "rotate" if problem.dtype.is_complex else None
        return self.accepts(problem, device) or self._best(problem, device, way)

    def _best(self, problem: Problem, device: Device, way: str | None) -> Config:
        """The cheapest config of a few tiles; ``way``: the one way of complex products that is allowed."""
        space = self.space(problem, device)
        params = {param.name: param.values for param in space.params}
        ways = params["cmul"] if way is None else (way,)
        unit = 2 if problem.dtype.is_complex else 1
        widths = sorted({split(problem.n, most)[0] for most in params["blk_n"]})
        # A sum of up to 8 steps (half as many where each is a complex one) is worth unrolling whole.
        deep = next(
            b for b in (problem.k, 4, 2, 1) if b <= 8 // unit and (b == problem.k or 2 * b <= problem.k)
        )
        found: list[tuple[float, str, Config]] = []
        fitting = [
            bits
            for bits in params["vector_bits"]
            if bits // problem.dtype.sum_bits < 2 * problem.m * unit or bits == params["vector_bits"][-1]
        ]
        # Some of many stay free: schedulers read what comes next before they store what is done.
        registers = device["vector_registers"]
        few = registers <= FEW
        room = registers - (0 if few else 1 + 2 * unit if registers <= 32 else SPARED)
        room -= CONSTANTS if by_bits(device) and problem.dtype.letter in ("h", "hc") else 0
        if by_length(device) and problem.m * unit == 1:
            # Sums are in the registers that values of B are in.
            room -= AHEAD
        early = not few and problem.footprint > device.knee() and device.limits.get("prefetch", 0) > 0
        # Of few registers none can be kept: what is used once a tile is as well read from memory there.
        kept = not few

        widen = {"widen": "product"} if "widen" in params else {}
        places = [{"copies": place} for place in params["copies"]] if "copies" in params else [{}]

        steps = COMPLEX_STEPS if problem.dtype.is_complex else STEPS

        def fits(shape: Mapping[str, Any]) -> bool:
            spared = loose(problem, shape) if few else 0
            within = live(problem, shape, kept, early) <= room - spared
            return within and of_steps(problem, device, shape) <= steps

        # A loop over k may turn at every step, so that nothing is read ahead in it.
        least = problem.k if deep == problem.k else 1
        for bits in fitting[:2]:
            rest = problem.m * unit % (bits // problem.dtype.sum_bits)
            tails = params["tail"] if rest else ("mask",)
            if by_length(device) and rest > 1:
                # Vectors of two widths have the length set anew for each of them.
                tails = ("mask",)
            if problem.dtype.letter == "b" and registers > 32:
                # Rounded all at once, as rows that are written twice allow, results took more than POWER has.
                tails = tuple(tail for tail in tails if tail not in MOVED)
            # Four vectors by three columns fill 16 registers if B is held, three by four if A is.
            inners = params["inner"] if few else ("column",)
            shapes = product(tails, ways, params["blk_m"], inners, places)
            for tail, cmul, blk_m, inner, place in shapes:
                shape = {"vector_bits": bits, "tail": tail, "cmul": cmul, "blk_m": blk_m, "inner": inner}
                shape |= widen | place
                # Of the widths that the registers allow, the two largest are worth a look.
                allowed = (w for w in reversed(widths) if fits({**shape, "blk_n": w, "blk_k": least}))
                for blk_n in islice(allowed, 2):
                    config = self._config(problem, device, shape, blk_n, deep)
                    found.append((cost(problem, device, config), repr(config), config))
        hardware = space.only(HARDWARE)
        ranked = (config for _, _, config in sorted(found, key=lambda f: f[:2]))
        best = next((config for config in ranked if not hardware.why(config)), None)
        if best is not None and not fits(best):
            best = best.with_(blk_k=least)
        if best is None:
            # What alpha, beta and signs take of 16 registers leaves no tile: the smallest one, in vectors
            # that need no remainder if there are such.
            narrow = {
                "vector_bits": params["vector_bits"][-1],
                "cmul": ways[-1],
                "blk_m": 1,
                "inner": "column",
                **widen,
                **places[0],
            }
            narrowed = ({**narrow, "tail": tail} for tail in params["tail"])
            small = (self._config(problem, device, shape, 1, deep) for shape in narrowed)
            best = next(config for config in small if not hardware.why(config))
        return from_memory(problem, device, space, best, past_caches(problem, device, best))

    @staticmethod
    def _config(problem: Problem, device: Device, shape: Mapping[str, Any], blk_n: int, blk_k: int) -> Config:
        """A tile in an order that needs few registers: one operand held, the other's values one by one."""
        by_column = shape["inner"] == "column"
        return Config(
            {
                "vector_bits": shape["vector_bits"],
                "tail": shape["tail"],
                "store": "plain",
                "cmul": shape["cmul"],
                "blk_m": shape["blk_m"],
                "blk_n": blk_n,
                "blk_k": blk_k,
                "inner": shape["inner"],
                "reg_a": shape["blk_m"] if by_column else 1,
                "reg_b": 1 if by_column else blk_n,
                "order": "nm",
                "roll": int(
                    long_text(problem, device, shape, blk_k) and split(problem.n, blk_n).count(blk_n) > 1
                ),
                "prefetch": 0,
                "level": 1,
                "spread": 0,
                **{name: shape[name] for name in ("widen", "copies") if name in shape},
            }
        )

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        config = completed((SPREAD,), config)
        store = config["store"]
        if store == "plain":
            functions = [(ENTRY, Tile(problem, config, "plain", device).function())]
        else:
            # Outputs that are not as they must be are rare: their code is kept short.
            short = config.with_(
                blk_k=min(config["blk_k"], 4 if problem.k >= 8 else problem.k),
                roll=int(
                    config["order"] == "nm" and split(problem.n, config["blk_n"]).count(config["blk_n"]) > 1
                ),
                prefetch=0,
                level=1,
                spread=0,
            )
            functions = [(f"{ENTRY}_plain", Tile(problem, short, "plain", device).function())]
            # Columns without gaps may leave through the buffer, wherever they begin.
            stageable = problem.ldc == problem.m and problem.beta == "0"
            if stageable:
                functions += [(f"{ENTRY}_staged", Tile(problem, config, "staged", device).function())]
            if store == "stream":
                other = "unaligned" if stageable else "plain"
                functions += [(f"{ENTRY}_stream", Tile(problem, config, "stream", device).function())]
                functions += [
                    (ENTRY, stream_or_not(problem.dtype, config["vector_bits"] // 8, device, other))
                ]
            if stageable:
                packed = staged_or_not(problem.dtype, problem.m * problem.n, device)
                functions += [(f"{ENTRY}_unaligned" if store == "stream" else ENTRY, packed)]
        return written(functions)

    def gain(self, problem: Problem, device: Device) -> float:
        """How many times as fast as ``lanes`` it is expected to be for numbers of 16 bits on x86 with
        AVX-512.

        Conversions of whole columns are one instruction, and those of pieces of several matrices many: on a
        Cascade Lake, from the caches, ``lanes`` took up to 11 times as long
        (``cascadelake-avx512/halves.jsonl``). The borders are where that began; 2 stands for what was 1.3 to
        11. Elsewhere nothing was measured.
        """
        p = problem
        if p.dtype.real_bits != 16 or device["vector_bits"] != 512 or not device.features.startswith("x86"):
            return 1.0
        volume = p.m * p.n * p.k
        wins = {
            "h": p.m >= 5 or (p.m == 4 and volume > 64),
            "b": p.m >= 4 and volume > (64 if p.transposed_a else 216),
            "hc": volume > 8,
        }
        return 2.0 if wins[p.dtype.letter] else 1.0
