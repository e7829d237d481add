"""One matrix of 16-bit numbers at a time, by the tile registers of AMX, in LLVM IR.

                         B, as columns of k         C: a register a tile of 16 rows by up to 16 columns
                      +--------------------+
        16 pairs of k | column | column |..|        A: 16 rows of pairs (k, k + 1), put beside each other
                      +--------------------+           in a buffer, 16 pairs of k to a tile
       +------------+ +--------------------+        B: columns as they lie, where they are contiguous and
    A  | pairs of A | |  C: blk_m tiles    |           end with a tile; else a copy, padded by zeros
       +------------+ |     by blk_n       |
                      +--------------------+

A tile register holds 16 rows of 64 bytes. One instruction adds to 16 x 16 sums in float32 the products of 16
rows by 32 steps of k and as many columns: ``tdpbf16ps`` for bfloat16, ``tdpfp16ps`` for float16. What lies in
memory as columns is its rows, so that op(B) is read as it lies and op(A) is what has to be rearranged. Tiles
are made equal: what an instruction takes grows with the columns of C and the steps of k of a tile. Sums go
through a buffer, where alpha, beta and the rounding to 16 bits are applied by vectors.

Tiles are read from a buffer only when what vectors wrote there is in the cache, and a product that begins
with ``tilezero`` waits for those before it. So the steps of one product do not come after one another:

      packed        multiplied       sums in memory        put into C
      product j     j - ahead        one block later       ``behind`` blocks later

Where tiles multiply no float16 (before AMX-FP16), each number is the sum of two bfloat16, without rounding,
of 8 bits and of 3. The four products of such parts are exact, too: those of first parts are summed in one
register, the others, which are smaller, in another, and both sums are added once. The second part of an
infinity is no number, nor is then the other sum, and that of the first parts is the result.

Sums are in float32 and rounded to the nearest, to even, of each product and each sum. Both instructions make
zeros of subnormal sums, which float16 never has. That of bfloat16 also takes operands below 2^-126 for zeros,
where ``tile`` keeps them: it adds to the error of an element up to 2^-126 times the sum of what such operands
are multiplied with, which the bound of every verdict counts in (``gemm.operands.reference``). With
``convert`` results below 2^-126 become zeros, too. oneDNN's products of bfloat16 are made by the same
instructions.

Requires: AMX that the system allows this process to use, vectors of AVX-512, sizes up to 64.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tilewright.model import Config, Device, Problem, Source
from tilewright.space import HARDWARE, Param, Rule, Space
from tilewright.stencils.cpu.amx.codegen import TILES, Amx, Shape, needs_copy
from tilewright.stencils.cpu.answers import CpuStencil, of_configs, outsized, written
from tilewright.stencils.cpu.ir import ENTRY
from tilewright.stencils.cpu.pairs import CONVERT, ROWS
from tilewright.stencils.protocol import CostModel
from tilewright.targets.cpu.isa import compiles_for

LIMIT = 64
LETTERS = ("b", "h")
SINGLE, BEHIND = 3, 2
"""Products that one of a single tile is packed ahead of its tile product, and blocks from sums to results, by
default."""
WORTH, SPLIT, TURNED = 512, 24, 60
"""Multiply-adds of a product of bfloat16, and the least extent of one of split float16, without and with
transposed operands, from which on it was faster than every other stencil."""
READY = 1 << 15
"""Multiply-adds of a call that are worth making tile registers ready."""
FEATURE, FLOAT16 = "amx-bf16", "amx-fp16"
"""What it needs, and what multiplies float16 as it is, by LLVM's names."""


def splits(problem: Problem, device: Device) -> bool:
    """Whether numbers of float16 are multiplied as sums of two of bfloat16."""
    return problem.dtype.letter == "h" and not compiles_for(device.features, FLOAT16)


def _rules(problem: Problem, shape: Shape, device: Device) -> Iterator[Rule]:
    converts = problem.dtype.letter == "b" and compiles_for(device.features, "avx512bf16")
    split = splits(problem, device)
    yield Rule(
        "tile-registers",
        "queryable",
        "the tiles of C, A and B of a step must fit in eight tile registers",
        lambda blk_m, blk_n: (1 + split) * blk_m * blk_n + blk_m + blk_n <= TILES,
    )
    yield Rule(
        "equal-blocks",
        "hard",
        "blocks of so many tiles must cover the matrix in fewer turns than smaller ones",
        lambda blk_m, blk_n: (
            -(-shape.down // -(-shape.down // blk_m)) == blk_m
            and -(-shape.across // -(-shape.across // blk_n)) == blk_n
        ),
    )
    yield Rule(
        "columns-of-b",
        "hard",
        "a column of op(B) that is not contiguous, ends within a tile or is split has to be copied",
        lambda copy_b: copy_b == 1 or not needs_copy(problem, split),
    )
    yield Rule(
        "convert-is-there",
        "queryable",
        "the processor must have an instruction that rounds to bfloat16; for float16 each has",
        lambda convert: convert == 0 or converts,
    )
    yield Rule(
        "waiting-fits",
        "soft",
        "what waits for tile products and for its way into C is read again from the first cache",
        lambda blk_m, blk_n, copy_b, ahead, behind: (
            ahead == 0
            or _waiting(problem, shape, blk_m, blk_n, copy_b, ahead, behind) <= device["l1d"] // (1 + split)
        ),
    )
    yield Rule(
        "prefetch-from-memory",
        "soft",
        "what lies in the caches is not worth a prefetch, nor what is used at once",
        lambda ahead, prefetch: prefetch == 0 or (ahead > 0 and problem.footprint > device.knee()),
    )


def _waiting(p: Problem, shape: Shape, blk_m: int, blk_n: int, copy_b: int, ahead: int, behind: int) -> int:
    """Bytes of a product and of what is packed and summed of those around it."""
    operands = 2 * (p.m * p.k + p.k * p.n + p.m * p.n)
    packed = 4 * shape.down * shape.steps * shape.pairs * ROWS + (2 * p.n * shape.row if copy_b else 0)
    sums = 4 * blk_m * blk_n * shape.columns * ROWS
    return operands + (1 + ahead) * packed + (1 + behind) * sums


def cost(problem: Problem, config: Config) -> float:
    """Estimated cycles of one product: those of the tile products, one for each column of C, or of reading
    the tiles, of rearranging A and of putting sums into C, some a vector.

    On an Emerald Rapids a product of 16 columns took 16 cycles whatever its steps of k, a tile 8.5 to be read
    and 16 to be written (``tiles.jsonl``); the others are estimates.
    """
    p, shape = problem, Shape.of(problem)
    products = shape.down * shape.across * shape.steps
    blocks = -(-shape.down // config["blk_m"]) * -(-shape.across // config["blk_n"])
    reads = blocks * shape.steps * (config["blk_m"] + config["blk_n"])
    work = max(products * shape.columns, 8 * reads) + reads
    packed = shape.down * shape.steps * shape.pairs * (4 if p.transposed_a else 2)
    copied = p.n * shape.steps * (4 if p.transposed_b else 2) if config["copy_b"] else 0
    put = 6 if config["convert"] or p.dtype.letter == "h" else 14
    return float(work + packed + copied + put * p.n * shape.down)


class AmxStencil(CpuStencil):
    """``amx``: the stencil above as the five functions of the protocol."""

    name = "amx"

    def accepts(self, problem: Problem, device: Device) -> str | None:
        letter = problem.dtype.letter
        if letter not in LETTERS:
            return f"type {letter} is not one of {', '.join(LETTERS)}"
        if not compiles_for(device.features, FEATURE):
            return f"type {letter} needs a processor with {FEATURE}, and a system that allows it"
        if splits(problem, device) and not compiles_for(device.features, "avx512bf16"):
            return f"type {letter} needs a processor with {FLOAT16}, or with avx512bf16"
        return outsized(problem, LIMIT)

    def space(self, problem: Problem, device: Device) -> Space:
        shape = Shape.of(problem)
        params = (
            Param("blk_m", tuple(range(1, min(shape.down, 3) + 1))),
            Param("blk_n", tuple(range(1, min(shape.across, 3) + 1))),
            Param("copy_b", (0, 1)),
            CONVERT,
            Param("ahead", (0, 1, 2, 3), absent=0),
            Param("behind", (0, 1, 2, 3), absent=0),
            Param("prefetch", (0, 1), absent=0),
        )
        return Space(params, tuple(_rules(problem, shape, device)))

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(cost, problem))

    def default(self, problem: Problem, device: Device) -> Config:
        shape, split = Shape.of(problem), splits(problem, device)
        # Larger blocks read tiles less often, and what they sum fills more of the first cache: two tiles of
        # one column of them were faster at 24 to 64.
        blocks = {"blk_m": 1 if split else min(2, shape.down), "blk_n": 1}
        ahead = SINGLE if shape.down == shape.across == 1 else 1
        space = self.space(problem, device).restricted(**blocks, ahead=ahead, behind=BEHIND, prefetch=0)
        found = min(
            space.only(HARDWARE), key=lambda config: (config["copy_b"], -config["convert"], repr(config))
        )
        if problem.footprint > device.knee():
            return found.with_(prefetch=1)
        # In the caches a product that fills the first one is packed at once: with the next one packed beside
        # it those of 64 ran at 0.8 of that, those of 36 at 1.1.
        waits = _waiting(problem, shape, **blocks, copy_b=found["copy_b"], ahead=ahead, behind=BEHIND)
        return found.with_(ahead=ahead if waits <= device["l1d"] // 2 // (1 + split) else 0)

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        return written([(ENTRY, Amx(problem, config, splits(problem, device)).function())])

    def gain(self, problem: Problem, device: Device) -> float:
        """On an Emerald Rapids it was 1.3 to 1.6 times as fast as ``tile`` for bfloat16 at 8 and 3 to 9 times
        from 16 on, and for float16 1.1 to 2.1 times from 24 on and 0.8 at 16 (``halves.jsonl`` and
        ``halves-late.jsonl`` of ``emeraldrapids-avx512``); with transposed operands, as it was before, 1.2 to
        1.6 times from 60 on and no faster at 56. A call takes some 0.4 microseconds to make tile registers
        ready, which a few small products are not worth. float16 by AMX-FP16 was measured nowhere."""
        p = problem
        if p.dtype.letter == "h":
            least = TURNED if p.transposed_a or p.transposed_b else SPLIT
            worth = splits(p, device) and min(p.extents) >= least
        else:
            worth = p.m * p.n * p.k >= WORTH and p.n > 1
        return 3.0 if worth and p.products * p.m * p.n * p.k >= READY else 1.0
