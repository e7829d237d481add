"""Matrices that lie element beside element, across the vector lanes, in LLVM IR.

                     matrix   0 1 2 3 4 5 6 7 | 8 9 ...
    A (0, 0)                 [ . . . . . . . . ]              a vector is one element of neighbouring matrices
    A (0, 1)                 [ . . . . . . . . ]
    ...                              *
    B (0, 0)                 [ . . . . . . . . ]  ...         a multiply-add: A(i, k) * B(k, j) of all of them
                                     +
    C (0, 0)                 [ . . . . . . . . ]              rows x columns of sums, of ``vectors`` vectors

No lane is idle whatever the sizes, nothing is shuffled but the parts of complex numbers, and every access is
contiguous. This is the compact format of K. Kim et al., "Designing vector-friendly compact BLAS and LAPACK
kernels" (SC 2017), with any distance between rows and columns: arrays (m, n, batch) as well as packs, and
transposes at no cost. An operand that the batch shares is one value copied to all lanes. Where the matrices
of C are not interleaved, the results of a turn go through a buffer in the first-level cache.

From memory, few rows of matrices are asked for each by itself, ``prefetch`` turns ahead. There are more rows
of larger matrices than a processor has prefetchers, or pages at hand: these are gone through in blocks of
``block`` turns, one part of C after the other, while the next block is asked for row by row. Packs without
gaps are memory in one piece, of which ``prefetch`` packs are asked for ahead (``packs.py``). Rows of C that
do not lie alike to vectors are written through a buffer, a block at a time (``blocks.py``). Rows that meet in
the sets of caches, as those of a batch of a power of two, are copied by blocks of ``copies`` turns
(``copies.py``), where a call finds that they do (``conflicts.py``).

Requires: extents up to ``LIMIT``; the matrices of A and of B one element apart, or one A or one B for a
pack; C one element apart, or not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Param, Rule, Space
from tilewright.stencils.cpu.answers import CpuStencil, of_configs, outsized, written
from tilewright.stencils.cpu.common import from_memory, memory_rules
from tilewright.stencils.cpu.compact.blocks import TURNS, Blocks, buffered, turns
from tilewright.stencils.cpu.compact.codegen import STEPS, Span
from tilewright.stencils.cpu.compact.copies import Copies, copied
from tilewright.stencils.cpu.compact.entry import Entry
from tilewright.stencils.cpu.compact.packs import Packs, whole
from tilewright.stencils.cpu.ir import ENTRY, by_length, grain, ordered
from tilewright.stencils.cpu.staging import LINE_BYTES
from tilewright.stencils.protocol import CostModel

LIMIT = 32
"""The largest m, n and k."""
SIDES = tuple(range(1, 9))
"""Rows and columns of a part of C."""
SHORTEST = 4096
"""Bytes of a row of matrices that a core's share is a multiple of, so that few lines are shared by two."""


TURNING = {False: 3, True: 8}
"""Registers more that stay free where vectors have lengths, of real and of complex problems: parts of complex
numbers change places there by several instructions and a mask."""


ASKING = 2
"""Registers more, for each vector of a turn, that stay free where steps ask for lines: LLVM moves nothing
across that, so that what is between is read early."""
FEW, MANY = 32, 100
"""Rows of matrices, of A, B and C together, up to which each is asked for by itself, and up to which in short
runs of lines. Both were chosen on a Cascade Lake processor."""


TRACKED = 14
"""Rows of A and B, beside a C that lies apart, that a Zen 4 follows by itself: with more of them two turns
ahead ran 1.12 times as fast as none in 20 problems, 1.01 at least, with fewer 1.00 in 12, 0.87 at least;
where C is interleaved, too, 1.04 in 40, three below 0.97 (timed once after that was chosen, not kept)."""


AHEAD = 1
"""Packs that are asked for ahead. On one core of a Zen 4 one was as fast as two and four, in float32 1.2
times as fast, and none 0.4 to 1 of that (no file); other processors were not asked."""


RUNS, LONGEST = ((16, 256), (64, 512)), 1024
"""Bytes of a row that are copied at a time, up to so many rows of A and B, and beyond. Of a Zen 3, where half
and twice as much was 0.8 to 1 times as fast with 10, 18, 156 and 768 rows."""


WAYS = 8
"""Rows that always find room in the sets of a cache: no fewer are its ways."""


ROOM = 1 << 20
"""Bytes of a buffer on the stack: threads have some megabytes."""


def rows_of(p: Problem) -> tuple[int, int, int]:
    """Rows of matrices of A, B and C: as many as a matrix has elements; 1 for an operand that is shared."""
    return p.m * p.k if p.stride_a else 1, p.k * p.n if p.stride_b else 1, p.m * p.n


def held(p: Problem, rows: int, columns: int, vectors: int) -> int:
    """Vector registers that a part of C takes: sums, a column of A, what of B it is multiplied with, the
    scalars, and the signs that complex products turn by."""
    parts = 2 if p.dtype.is_complex else 1
    scalars = parts * ((p.alpha == "any") + (p.beta == "any"))
    return vectors * (rows * columns + parts * rows + parts) + scalars + (parts - 1) * (1 + p.conj_b)


def _rules(p: Problem, device: Device) -> Iterator[Rule]:
    scattered = p.stride_c != 1
    pack = p.interleaved.pack if p.interleaved is not None else 0
    spared = 3 + (TURNING[p.dtype.is_complex] if by_length(device) else 0)
    yield from memory_rules(p, device)
    yield Rule(
        "registers",
        "tabled",
        "the sums of a part of C and what is multiplied fit in the vector registers",
        lambda rows, columns, vectors, block: (
            held(p, rows, columns, vectors) + (ASKING * vectors if block else 0)
            <= device["vector_registers"] - spared
        ),
    )
    yield Rule(
        "sides",
        "soft",
        "parts of C of unequal size are narrower than they could be",
        lambda rows, columns: _even(p.m, rows) and _even(p.n, columns),
    )
    yield Rule(
        "stream-unread",
        "hard",
        "a streaming store is for a C that nobody reads, and that is written by vectors",
        lambda store: store == "plain" or (p.beta == "0" and (store == "staged" or not scattered)),
    )
    yield Rule(
        "staged-whole",
        "hard",
        "results leave through a buffer by packs that turns end with, by blocks, or by vectors of a matrix",
        lambda store, vector_bits, vectors: (
            store != "staged"
            or (
                lanes_of(p, vector_bits) <= p.m * p.n and not pack
                if scattered
                else not pack or whole(p, _matrices(p, vector_bits, vectors))
            )
        ),
    )
    yield Rule(
        "staged-fits",
        "soft",
        "packs of results that take more than half of the first cache push the operands out of it",
        lambda store: store != "staged" or 2 * p.m * p.n * pack * p.dtype.itemsize <= device["l1d"],
    )

    def on_stack(store: str, vector_bits: int, vectors: int, block: int) -> int:
        """Bytes of the buffer of a block's results."""
        lanes = vector_bits // p.dtype.real_bits * vectors
        return buffered(p, block or TURNS, lanes) if store == "staged" and not (pack or scattered) else 0

    yield Rule(
        "staged-stack",
        "hard",
        f"results of blocks lie on the stack, {ROOM >> 10} KiB of them at most",
        lambda store, vector_bits, vectors, block: on_stack(store, vector_bits, vectors, block) <= ROOM,
    )
    yield Rule(
        "copies-apart",
        "hard",
        "rows of packs are too short to be copied by blocks",
        lambda copies, vector_bits, vectors: (
            copies == 0 or not pack or copies * _matrices(p, vector_bits, vectors) <= pack
        ),
    )
    yield Rule(
        "copies-stack",
        "hard",
        f"what is copied lies on the stack, {ROOM >> 10} KiB of it at most",
        lambda vector_bits, vectors, copies: (
            copies == 0 or copied(p, copies, vector_bits // p.dtype.real_bits * vectors) <= ROOM
        ),
    )
    yield Rule(
        "staged-second",
        "soft",
        "the results of a block leave half of the second cache for what is multiplied and asked for",
        lambda store, vector_bits, vectors, block: (
            2 * on_stack(store, vector_bits, vectors, block) <= device["l2"]
        ),
    )
    yield Rule(
        "prefetch-few",
        "soft",
        "lines asked for too far ahead are gone when they are needed",
        lambda vector_bits, vectors, prefetch, block: (
            max(prefetch, block) * vectors * vector_bits // 8 * sum(rows_of(p)) <= device["l2"] // 2
        ),
    )
    yield Rule(
        "block-or-prefetch",
        "hard",
        "lines are asked for by blocks or by turns, not twice",
        lambda prefetch, block: prefetch == 0 or block == 0,
    )
    yield Rule(
        "block-from-memory",
        "soft",
        "what lies in the caches is not worth a prefetch",
        lambda block: block == 0 or p.footprint > device.knee(),
    )


def _of(p: Problem, config: Config) -> int:
    """Matrices of a turn of a config."""
    return _matrices(p, config["vector_bits"], config["vectors"])


def _matrices(p: Problem, vector_bits: int, vectors: int) -> int:
    return lanes_of(p, vector_bits) * vectors


def lanes_of(p: Problem, vector_bits: int) -> int:
    """Matrices of a vector."""
    return vector_bits // p.dtype.real_bits // (2 if p.dtype.is_complex else 1)


def _copies(p: Problem, matrices: int) -> Iterator[int]:
    """Turns of a block that is copied, most wanted first, where turns have so many matrices. Short runs of
    few rows stay in the first level; of many, long ones are worth what it takes to begin with a row."""
    assert p.interleaved is not None
    a, b, c = (size * (stride == 1) for size, stride in zip(rows_of(p), p.strides, strict=True))
    # Short packs are read as they follow one another.
    if a + b + c <= WAYS or 0 < p.interleaved.pack * p.dtype.itemsize < LONGEST:
        return
    run = next((run for rows, run in RUNS if a + b <= rows), LONGEST)
    turns = run // (matrices * p.dtype.itemsize)
    while turns > 1:
        yield turns
        turns //= 2


def _even(extent: int, side: int) -> bool:
    """Whether no part of an extent is smaller than it must be for so many parts."""
    return side == -(-extent // -(-extent // side))


class CompactStencil(CpuStencil):
    """``compact``: the stencil above as the five functions of the protocol."""

    name = "compact"
    interleaved = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        if p.dtype.letter not in "sdcz":
            return f"type {p.dtype.letter} is not one of s, d, c, z"
        if reason := outsized(p, LIMIT):
            return reason
        if set(p.trans) & set("tc"):
            return f"op is {p.trans}; a transpose of interleaved matrices is another pair of strides, and n"
        if p.stride_a not in (0, 1) or p.stride_b not in (0, 1) or p.stride_a == p.stride_b == 0:
            return (
                f"the matrices of A and B are {p.stride_a} and {p.stride_b} elements apart, and not 1 (or 0)"
            )
        if p.stride_c != 1 and (p.beta != "0" or p.stride_c == 0):
            return "the matrices of C lie apart, and are read, or are one"
        return None

    def space(self, problem: Problem, device: Device) -> Space:
        p = problem
        bits = tuple(b for b in (512, 256, 128) if b <= device["vector_bits"])
        params = (
            Param("vector_bits", bits),
            Param("rows", tuple(side for side in SIDES if side <= p.m)),
            Param("columns", tuple(side for side in SIDES if side <= p.n)),
            Param("vectors", (1, 2, 4)),
            Param("store", ("plain", "stream", "staged")),
            Param("prefetch", (0, 1, 2, 4, 8, 16)),
            Param("block", (0, 2, 4, 8, 16, 32)),
            Param("copies", (0, 2, 4, 8, 16, 32)),
        )
        return Space(params, tuple(_rules(p, device)))

    def default(self, problem: Problem, device: Device) -> Config:
        space = self.space(problem, device)
        config = self._multiplied(problem, device, space)
        if not device.features.startswith("x86"):
            return config
        for copies in _copies(problem, _of(problem, config)):
            if not space.why(config.with_(copies=copies)):
                return config.with_(copies=copies)
        return config

    def _multiplied(self, problem: Problem, device: Device, space: Space) -> Config:
        """The default where no rows conflict."""
        p = problem
        values = {param.name: param.values for param in space.params}
        assert p.interleaved is not None
        pack = p.interleaved.pack
        widths = values["vector_bits"] if pack else values["vector_bits"][:1]
        plain: dict[str, Any] = {"store": "plain", "prefetch": 0, "block": 0, "copies": 0}
        found = [
            Config({**plain, "vector_bits": bits, "rows": rows, "columns": columns, "vectors": vectors})
            for bits in widths
            for rows in values["rows"]
            for columns in values["columns"]
            for vectors in (1, 2)
        ]
        valid = [config for config in found if not space.why(config)]
        if pack:
            # What does not fill a pack goes under masks, so turns end with it.
            even = [config for config in valid if whole(p, _of(p, config))]
            best = min(even or valid, key=lambda config: (-config["vector_bits"], self._cost(p, config)))
            if not even or p.footprint <= device.knee():
                return best
            ways = [best.with_(prefetch=AHEAD, store=store) for store in ("staged", "plain")]
            return next((config for config in ways if not space.why(config)), best)
        valid.sort(key=lambda config: self._cost(p, config))
        # Code that keeps an order has no registers to turn matrices and to ask for lines meanwhile.
        apart = p.stride_c != 1 and bool(ordered(device))
        past: tuple[str, ...] = () if apart else ("staged", "stream")
        chosen = from_memory(p, device, space, valid[0], past)
        if p.footprint <= device.knee() or apart:
            return chosen
        if sum(rows_of(p)) <= FEW:
            turns = device.limits.get("prefetch_turns", 0)
            asking = chosen.with_(prefetch=turns) if turns else chosen
            tracked = p.stride_c != 1 and sum(rows_of(p)[:2]) <= TRACKED
            return chosen if tracked or space.why(asking) else asking
        # Whole runs of lines from each row, as many as the second level has room for twice, by the best parts
        # of C that leave registers for asking.
        run = 8 if sum(rows_of(p)) <= MANY else 16
        for best in valid:
            written_so = from_memory(p, device, space, best, past)
            lines = max(1, best["vectors"] * best["vector_bits"] // 512)
            for part in (run, run // 2, 4, 2):
                config = written_so.with_(prefetch=0, block=max(2, part // lines))
                if not space.why(config):
                    return config
        return chosen

    def cost_model(self, problem: Problem, device: Device) -> CostModel:
        return of_configs(partial(self._cost, problem))

    @staticmethod
    def _cost(p: Problem, config: Config) -> float:
        """Accesses to the first-level cache for a vector of matrices, offsets among them; few sums at a time
        leave the multiply-adds waiting for one another."""
        rows, columns, vectors = config["rows"], config["columns"], config["vectors"]
        parts = -(-p.m // rows) * -(-p.n // columns)
        reads = parts * p.k * (rows + columns) + p.m * p.n
        waiting = max(1.0, 8 / (rows * columns * vectors))
        return float(reads * (1 + 1 / vectors) + p.m * p.n * p.k * waiting)

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        unit = 2 if p.dtype.is_complex else 1
        width, vectors = config["vector_bits"] // p.dtype.real_bits, config["vectors"]
        masks, store = bool(device["masks"]), config["store"]
        staged = store == "staged"
        # Without masks what is left over goes one matrix at a time.
        narrow = width if masks else unit
        # Nothing keeps schedulers from reading operands of all steps early, and these take many instructions.
        steps = 0 if by_length(device) and unit == 2 else STEPS
        scattered = p.stride_c != 1
        past = staged and scattered
        spans = {
            "main": Span(p, config, device, width, vectors, whole=True, stream=past, steps=steps),
            "rest": Span(p, config, device, narrow, 1, whole=False, steps=steps),
        }
        packs = whole(p, _of(p, config))
        blocks = staged and not packs and not scattered
        # Turns that write less than a line of a row leave it in two halves.
        if store == "stream" or (blocks and vectors * config["vector_bits"] % (8 * LINE_BYTES) == 0):
            spans["stream"] = Span(p, config, device, width, vectors, whole=True, stream=True, steps=steps)
        if packs:
            spans["packs"] = Packs(p, config, device, width, vectors, whole=True, steps=steps)
        elif blocks:
            spans["blocks"] = Blocks(p, config, device, width, vectors, whole=True, stream=True, steps=steps)
        if config["copies"]:
            past = store != "plain"
            spans["copies"] = Copies(p, config, device, width, vectors, whole=True, stream=past, steps=steps)
        functions = [(f"{ENTRY}_{name}", span.function()) for name, span in spans.items()]
        entry = Entry(
            p,
            device,
            width,
            vectors,
            stream="stream" in spans,
            packs=packs,
            staged=staged,
            block=turns(config) if blocks else 0,
            copies=config["copies"],
        )
        functions.append((ENTRY, entry.function()))
        return written(functions)

    def launch(self, problem: Problem, config: Config) -> Launch:
        p = problem
        assert p.interleaved is not None
        if p.interleaved.pack:
            return Launch(grain=grain(p), unit=1)
        return Launch(grain=grain(p), unit=SHORTEST // p.dtype.itemsize)
