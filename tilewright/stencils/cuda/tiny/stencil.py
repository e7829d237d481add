"""Large batches of very small matrices: the space, the choice and the launch of tiny.cuh.

I. Masliah et al., "Algorithms and optimization techniques for high-performance matrix-matrix
multiplications of very small matrices" (2018): every matrix passes device memory once, one block computes
all of C of several matrices, and sizes are compiled in (section 7). How fast it can be is known beforehand
(their section 3): bytes over bandwidth. So the space is about keeping bytes on their way:

    group    matrices that are copied together (their ``tba``, section 7.3)
    stages   groups in shared memory: all but the one that is multiplied are on their way
    warps    of a block; a block of one warp has no barriers
    blocks   of the whole grid, in multiples of the SMs: they stay and walk over the batch
    rows, columns   of the part of C that a thread computes (with ``mma``: a warp, by tensor cores);
             section 7.4 has several elements to a thread where matrices are large
    path     "bulk", "async" or "plain": how matrices come into shared memory, or that they do not; bulk
             copies bring padding and gaps along, of C as well, but only its columns are written back
    across, turn, pad   against several threads that ask for the same bank of shared memory
    evict    the second-level cache is told that nothing is used again

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from math import gcd
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Launch, Problem, Source
from tilewright.space import Param, Rule, Space
from tilewright.stencils.cuda.common import (
    IN_FLIGHT,
    WIDEST,
    no_gpu,
    resident,
    resident_rules,
    too_old,
    units,
)
from tilewright.stencils.cuda.source import asked, program
from tilewright.stencils.protocol import Stencil

PATHS = ("plain", "async", "bulk")
LARGEST = 64
"""Extent up to which whole matrices are kept in shared memory."""
PER_SM = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32)
LONGEST = 128 * 1024
"""Bytes from one matrix to the next up to which they are constants of the compiler."""
_COUNTS = (*range(1, 9), *(b * 2**s for s in range(1, 7) for b in (5, 6, 7, 8)))


# -- what the kernel derives, in the same words -----------------------------------------------------------
def _rounded(count: Any) -> Any:
    return -(-count // 128) * 128


def _vector(size: int, extent: int) -> int:
    """Elements of the widest word that divides a column."""
    v = WIDEST // size
    while v > 1 and extent % v:
        v //= 2
    return v


def _stored(p: Problem) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Rows and columns of A, B and C as they are stored."""
    a = (p.k, p.m) if p.turned_a else (p.m, p.k)
    b = (p.n, p.k) if p.turned_b else (p.k, p.n)
    return a, b, (p.m, p.n)


def flat(p: Problem) -> tuple[bool, bool, bool]:
    """Whether the batches of A, B and C have no gaps."""
    a, b, c = (
        ld == rows and (stride == rows * cols or p.pointers)
        for (rows, cols), ld, stride in zip(_stored(p), (p.lda, p.ldb, p.ldc), p.strides, strict=True)
    )
    return a, b, c


@lru_cache(maxsize=256)
def spaced(p: Problem) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Leading dimension and batch stride of A, B and C as constants of the compiler: where there is padding
    in a rhythm, else (0, 0). With pointers there is no stride."""

    def known(rows: int, cols: int, ld: int, stride: int, is_flat: bool) -> tuple[int, int]:
        extent = ld * (cols - 1) + rows
        if is_flat or stride == 0 or max(extent, stride) * p.dtype.itemsize > LONGEST or ld < rows:
            return 0, 0
        if p.pointers:
            return ld, 0
        return (ld, stride) if stride >= extent else (0, 0)

    a, b, c = (
        known(rows, cols, ld or 0, stride, is_flat)
        for (rows, cols), ld, stride, is_flat in zip(
            _stored(p), (p.lda, p.ldb, p.ldc), p.strides, flat(p), strict=True
        )
    )
    return a, b, c


@lru_cache(maxsize=256)
def _steps(p: Problem) -> tuple[int, int, int]:
    """Elements from one matrix of A, B and C to the next where bulk copies bring them, 0 for shared ones."""
    a, b, c = (
        0 if stride == 0 else step or rows * cols
        for (rows, cols), stride, (_, step) in zip(_stored(p), p.strides, spaced(p), strict=True)
    )
    return a, b, c


def whole(p: Problem) -> int:
    """Fewest matrices that are a multiple of 16 bytes of each operand that is not shared."""
    return max(WIDEST // gcd(WIDEST, step * p.dtype.itemsize) for step in (*_steps(p), WIDEST) if step)


def partly(p: Problem) -> bool:
    """Whether bulk copies read a C that the product does not need, because sectors of 32 bytes are written
    in part, which memory cannot do. On an H200 this made half precision 15 % faster and float32 5 %, but
    float64, which is written by longer words, 4 to 10 % slower."""
    lead, step = spaced(p)[2]
    short = p.beta == "0" and lead > 0 and units(p)[2] <= 4
    return short and any(x * p.dtype.itemsize % 32 for x in (p.m, lead, step))


def taken(p: Problem) -> tuple[float, float, float]:
    """Bytes that one matrix of A, B and C takes from memory, which comes 64 at a time: the mean over where
    columns begin. (On an H200 columns of 32 bytes, 64 apart, come at half the speed of a copy.)"""

    def of(rows: int, cols: int, ld: int, stride: int, is_flat: bool) -> float:
        size = p.dtype.itemsize
        if is_flat:
            return float(rows * cols * size)
        # Memory is given out at multiples of 64 and more.
        unit = gcd(64, ld * size, stride * size, p.align if p.align < WIDEST else 0)
        column = sum(-(-(start + rows * size) // 64) for start in range(0, 64, unit)) * unit
        return float(min(max(stride, rows * cols) * size, cols * column))

    a, b, c = (
        of(rows, cols, ld or 0, stride, is_flat) if stride else 0.0
        for (rows, cols), ld, stride, is_flat in zip(
            _stored(p), (p.lda, p.ldb, p.ldc), p.strides, flat(p), strict=True
        )
    )
    return a, b, c


def stage_bytes(p: Problem, group: Any, pad: Any, path: Any = "async") -> Any:
    """Bytes of a stage: a group of every operand that is read and not shared, with bulk copies as it lies in
    memory."""
    sizes = _chunks(p, group, pad, path)
    return sum(
        chunk
        for chunk, stride, read in zip(sizes, p.strides, (True, True, p.beta != "0"), strict=True)
        if stride and read
    )


def _chunks(p: Problem, group: Any, pad: Any, path: Any) -> tuple[Any, Any, Any]:
    size, bulk = p.dtype.itemsize, 1 * (path == "bulk")
    a, b, c = (
        _rounded(
            (group if stride else 1)
            * (bulk * (step or rows * cols) + (1 - bulk) * (rows + pad * _vector(size, rows)) * cols)
            * size
        )
        for (rows, cols), stride, step in zip(_stored(p), p.strides, _steps(p), strict=True)
    )
    return a, b, c


def shared_bytes(p: Problem, path: Any, group: Any, stages: Any, pad: Any) -> Any:
    """Shared memory of a block: barriers, what the batch shares, the ring, results on their way out (and a C
    that nobody looks at), and with pointers the addresses of the groups to come."""
    a, b, c = _chunks(p, group, pad, path)
    once = (0 if p.strides[0] else a) + (0 if p.strides[1] else b)
    bulk, plain = path == "bulk", path == "plain"
    outs = c * ((2 + partly(p)) * bulk + (1 - bulk) * (p.beta == "0"))
    lists = (2 * stages - 1) * 24 * group * p.pointers * (1 - bulk)
    ring = stages * stage_bytes(p, group, pad, path)
    return (_rounded(8 * stages) * bulk + once + ring + outs + lists) * (1 - plain)


def tiles(p: Problem, rows: Any, columns: Any) -> Any:
    """Tiles of one C."""
    return -(-p.m // rows) * -(-p.n // columns)


def _words(p: Problem) -> int:
    """32-bit registers of a sum."""
    return max(p.dtype.real_bits // 32, 1) * (2 if p.dtype.is_complex else 1)


def registers(p: Problem, mma: Any, rows: Any, columns: Any) -> Any:
    """32-bit registers of a thread that its loop cannot do without: sums and one word of each of its rows and
    columns, or its share of a warp's, and a few for addresses."""
    words, deep = _words(p), WIDEST // p.dtype.itemsize
    along_k = _vector(p.dtype.itemsize, p.k)
    fma = rows * columns + rows * (along_k if p.turned_a else 1) + columns * (1 if p.turned_b else along_k)
    if p.dtype.real_bits == 16:
        tensor = words * rows * columns // 32 + (2 * rows + 2 * columns) // 8
        return 24 + (mma == 0) * words * fma + (mma != 0) * tensor
    tensor = rows * columns // 32 + (rows + columns) // 8 * deep
    return 24 + words * ((mma == 0) * fma + (mma != 0) * tensor)


def busy(p: Problem, mma: Any, rows: Any, columns: Any, warps: Any, group: Any) -> Any:
    """The part of the threads (or warps) that have a tile while a group is multiplied."""
    slots = warps * (1 * (mma != 0) + 32 * (mma == 0))
    items = group * tiles(p, rows, columns)
    return items / (-(-items // slots) * slots)


# -- the stencil -------------------------------------------------------------------------------------------
class TinyStencil(Stencil):
    """``tiny``: whole matrices in shared memory, as the five functions of the protocol."""

    name = "tiny"
    target = "cuda"
    # Of 30 mixed shapes of each of four types, in batches of 130 MB, those with a neighbour's config moved
    # 0.79 to 0.84 of a copy in the median, and those with the cost model's 0.85 to 0.90 (H200).
    size_specific = True
    pointers = True

    def accepts(self, problem: Problem, device: Device) -> str | None:
        p = problem
        reason = no_gpu(device)
        if reason is not None:
            return reason
        if min(p.m, p.n, p.k, p.batch) < 1:
            return "there is nothing to multiply"
        if max(p.m, p.n, p.k) > LARGEST:
            return f"{p.m}x{p.n}x{p.k} has an extent above {LARGEST}"
        if p.batch >= 2**31 - 2**16:
            return f"a batch of {p.batch} is 2^31 or close to it"
        if p.batch > 1 and p.strides[2] == 0 and not p.pointers:
            return "all products would be written to one C"
        if max(p.lda or 0, p.ldb or 0, p.ldc or 0, *map(abs, p.strides)) >= 2**31:
            return "a leading dimension or batch stride is 2^31 or more"
        if p.align % p.dtype.itemsize:
            return f"addresses are multiples of {p.align} bytes only, not of an element's {p.dtype.itemsize}"
        if int(shared_bytes(p, "async", 1, 2, 0)) > device["shared_per_block_optin"]:
            return f"two stages of {p.m}x{p.n}x{p.k} do not fit in shared memory"
        return None

    def runs(self, device: Device) -> str | None:
        return too_old(device)

    def needs_record(self, problem: Problem) -> bool:
        """Padded columns that no word of 16 bytes divides, and that are no stream for bulk copies, take so
        many short copies that cuBLAS was faster on an H200, from 16 rows on in 16 bits and from 24 on in
        others."""
        from_rows = 16 if problem.dtype.real_bits == 16 else 24
        streams = _streams(problem) and _dense(problem)
        packed = streams and not any(lead for lead, _ in spaced(problem))
        short = min(units(problem)) < WIDEST and not (packed or (streams and problem.align == WIDEST))
        return short and max(problem.m, problem.n, problem.k) >= from_rows

    def space(self, problem: Problem, device: Device) -> Space:
        return Space(_params(problem, device), list(_rules(problem, device)), elementwise=True)

    def default(self, problem: Problem, device: Device) -> Config:
        return _best(problem, device)

    def source(self, problem: Problem, config: Config, device: Device) -> Source:
        p = problem
        defines = asked(p) | {
            "SIZE_M": p.m,
            "SIZE_N": p.n,
            "SIZE_K": p.k,
            "ALIGN": p.align,
            "SHARED_A": int(p.strides[0] == 0),
            "SHARED_B": int(p.strides[1] == 0),
            "POINTERS": int(p.pointers),
        }
        defines |= {f"FLAT_{x}": int(f) for x, f in zip("ABC", flat(p), strict=True)}
        defines |= {f"UNIT_{x}": u for x, u in zip("ABC", units(p), strict=True)}
        # What is not staged needs no constants, and one program serves all leading dimensions.
        known = spaced(p) if config["path"] != "plain" else ((0, 0),) * 3
        defines |= {f"LEAD_{x}": lead for x, (lead, _) in zip("ABC", known, strict=True)}
        defines |= {f"NEXT_{x}": step for x, (_, step) in zip("ABC", known, strict=True)}
        defines |= {name.upper(): value for name, value in config.items()}
        defines["PATH"] = PATHS.index(config["path"])
        # Registers are promised to as many blocks as are to stay on an SM.
        defines["BLOCKS"] = -(-config["blocks"] // device["sms"])
        text, headers = program("tiny")
        return Source(text, "tiny", headers, tuple((n, str(value)) for n, value in defines.items()))

    def launch(self, problem: Problem, config: Config) -> Launch:
        p, c = problem, config
        threads = 32 * c["warps"]
        # What is left over for single elements has at most a group's.
        left_over = -(-min(p.batch, c["group"]) * p.m * p.n // threads) if c["path"] == "bulk" else 1
        return Launch(
            grid=(min(c["blocks"], max(-(-p.batch // c["group"]), left_over)), 1, 1),
            block=(threads, 1, 1),
            shared=int(shared_bytes(p, c["path"], c["group"], c["stages"], c["pad"])),
        )


# -- the space ---------------------------------------------------------------------------------------------
@cache
def _sides(extent: int) -> tuple[int, ...]:
    """Rows or columns of a tile: equal parts of a matrix, and what tensor cores take."""
    parts = {-(-extent // count) for count in range(1, extent + 1)}
    units = {unit * i for unit in (8, 16) for i in range(1, -(-extent // unit) + 1)}
    return tuple(sorted({s for s in parts if s <= 17} | units))


def _groups(p: Problem) -> tuple[int, ...]:
    """Matrices of a stage: some and many, whole for bulk copies; at most 32 KB of the largest operand."""
    largest = max(rows * cols for rows, cols in _stored(p))
    largest = max(largest, *_steps(p)) * p.dtype.itemsize
    return _groups_of(largest, whole(p))


@cache
def _groups_of(largest: int, least: int) -> tuple[int, ...]:
    values = {1} | {least * count for count in _COUNTS}
    return tuple(sorted(g for g in values if g in (1, least) or g * largest <= 32 * 1024))


def _params(p: Problem, device: Device) -> list[Param]:
    return [
        Param("path", PATHS),
        Param("mma", (0, 8, 16)),
        Param("rows", _sides(p.m)),
        Param("columns", _sides(p.n)),
        Param("warps", (1, 2, 3, 4, 5, 6, 8)),
        Param("group", _groups(p)),
        Param("stages", (1, 2, 3, 4, 6, 8)),
        Param("across", (0, 1)),
        Param("turn", (0, 1)),
        Param("pad", (0, 1)),
        Param("evict", (0, 1)),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
    ]


def _streams(p: Problem) -> bool:
    """Whether every operand is one stream of bytes, padding included, or one matrix for the whole batch."""
    streams = all(
        is_flat or stride == 0 or step > 0
        for is_flat, stride, (_, step) in zip(flat(p), p.strides, spaced(p), strict=True)
    )
    return streams and p.strides[2] != 0 and not p.pointers


def _dense(p: Problem) -> bool:
    """Whether most of the bytes that bulk copies bring must come anyway. Words of 16 bytes are quick; shorter
    ones are worth more padding."""
    count = 2 if p.beta == "0" else 3
    limit = 1.2 if min(units(p)) == WIDEST else 1.6
    return sum(_steps(p)[:count]) * p.dtype.itemsize <= limit * sum(taken(p)[:count])


def _bulk(p: Problem, device: Device) -> bool:
    """Whether bulk copies are worth it: a batch with less than two groups for each SM is read by words."""
    worth = p.batch >= 2 * whole(p) * device["sms"]
    return worth and _streams(p) and _dense(p) and p.align == WIDEST and "bulk_copy" in device.supports


def _crowded(p: Problem, which: Callable[[Iterable[bool]], bool] = any) -> bool:
    """Whether matrices of A or B (``all``: of both) begin in few different banks (of 128 bytes in all)."""
    return which(
        (step or rows * cols) * p.dtype.itemsize % 64 == 0
        for (rows, cols), step in zip(_stored(p)[:2], _steps(p), strict=False)
    )


def _rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_path(p, device)
    yield from _of_the_tile(p, device)
    yield from _of_the_group(p, device)
    yield from _of_the_banks(p, device)
    yield from _of_the_sm(p, device)


def _of_the_path(p: Problem, device: Device) -> Iterator[Rule]:
    """How matrices come into shared memory."""
    streams, dense = _streams(p), _dense(p)
    yield Rule(
        "bulk-device",
        "tabled",
        "the device has bulk copies (9.0 and above)",
        lambda path: (path != "bulk") | ("bulk_copy" in device.supports),
    )
    yield Rule(
        "bulk-flat",
        "hard",
        "bulk copies take operands without gaps, or with such as are known to the compiler",
        lambda path: (path != "bulk") | streams,
    )
    yield Rule(
        "bulk-dense",
        "soft",
        "most of what bulk copies bring must come anyway, as memory comes 64 bytes at a time",
        lambda path: (path != "bulk") | dense,
    )
    yield Rule(
        "bulk-stream",
        "hard",
        "what lies where an array says is no stream",
        lambda path: (path != "bulk") | (not p.pointers),
    )
    yield Rule(
        "bulk-aligned",
        "hard",
        "bulk copies begin at multiples of 16 bytes",
        lambda path: (path != "bulk") | (p.align == WIDEST),
    )
    yield Rule(
        "staged",
        "soft",
        "matrices that pass through shared memory are read in longer rows",
        lambda path: path != "plain",
    )


def _of_the_tile(p: Problem, device: Device) -> Iterator[Rule]:
    """What tensor cores take, and how large a part of C a thread or a warp computes."""
    words, bits = _words(p), p.dtype.real_bits
    yield Rule(
        "mma-device",
        "tabled",
        "the device has float64 products of 16 rows (9.0 and above); all have those of 8",
        lambda mma: (mma <= 8) | ("mma_f64_m16" in device.supports) | (bits == 16),
    )
    yield Rule(
        "mma-type",
        "hard",
        "tensor cores take float64 and 16 bits from shared memory",
        lambda path, mma: (mma == 0) | ((path != "plain") & (bits != 32)),
    )
    yield Rule(
        "mma-rows",
        "hard",
        "a tensor-core product has 16 rows, or 8 of float64",
        lambda mma: (mma != 8) | (bits == 64),
    )
    yield Rule(
        "mma-tile",
        "hard",
        "a tile is whole tensor-core products of 8 columns",
        lambda mma, rows, columns: (mma == 0) | ((rows % np.maximum(mma, 1) == 0) & (columns % 8 == 0)),
    )
    yield Rule(
        "tile-in-c",
        "soft",
        "a tile is not larger than C, but for what tensor cores ask for",
        lambda mma, rows, columns: (
            ((mma != 0) & (rows < p.m + np.maximum(mma, 8)) & (columns < p.n + 8))
            | ((mma == 0) & (rows <= p.m) & (columns <= p.n))
        ),
    )
    yield Rule(
        "tile-full",
        "soft",
        "little of the tiles lies outside C, or tensor cores have time for it",
        lambda mma, rows, columns: (
            -(-p.m // rows) * rows * -(-p.n // columns) * columns
            <= (1.3 * (mma == 0) + 4.5 * (mma != 0)) * p.m * p.n + 1
        ),
    )
    yield Rule(
        "sums-fit",
        "soft",
        "a thread has 128 registers of sums at most",
        lambda mma, rows, columns: rows * columns * words <= 128 * ((mma == 0) + 32 * (mma != 0)),
    )
    yield Rule(
        "registers-per-thread",
        "tabled",
        "the registers that the loop cannot do without can be addressed",
        lambda mma, rows, columns: registers(p, mma, rows, columns) <= device["registers_per_thread"],
    )
    yield Rule(
        "reuse",
        "soft",
        "in matrices of 12 and more, every element loaded is multiplied twice or more",
        lambda mma, rows, columns: (
            (mma != 0) | (min(p.m, p.n) < 12) | (rows * columns >= 2 * (rows + columns))
        ),
    )


def _of_the_group(p: Problem, device: Device) -> Iterator[Rule]:
    """How many matrices a block holds, and who multiplies them."""
    least = whole(p)
    yield Rule(
        "threads-per-block",
        "queryable",
        "a block has no more threads than the device allows",
        lambda warps: 32 * warps <= device["threads_per_block"],
    )
    yield Rule(
        "bulk-whole",
        "hard",
        "a group is a multiple of 16 bytes",
        lambda path, group: (path != "bulk") | (group % least == 0),
    )
    yield Rule(
        "busy",
        "soft",
        "three threads (or warps) in four have a tile, or more",
        lambda mma, rows, columns, warps, group: (
            (busy(p, mma, rows, columns, warps, group) >= 0.75)
            | ((warps == 1) & (group * tiles(p, rows, columns) <= 32))
        ),
    )
    yield Rule(
        "long-turns",
        "soft",
        "a thread has 8 tiles of a group at most, a warp with tensor cores 16",
        lambda mma, rows, columns, warps, group: (
            group * tiles(p, rows, columns) <= _turns(mma) * warps * (1 * (mma != 0) + 32 * (mma == 0))
        ),
    )
    yield Rule(
        "ring",
        "hard",
        "one stage is multiplied while others are filled",
        lambda path, stages: (path == "plain") | (stages >= 2),
    )
    yield Rule(
        "no-ring",
        "hard",
        "what is not staged has no stages",
        lambda path, stages: (path != "plain") | (stages == 1),
    )


def _of_the_banks(p: Problem, device: Device) -> Iterator[Rule]:
    """Remedies for threads that ask for the same bank of shared memory, and hints to the cache."""
    crowded = _crowded(p)
    yield Rule(
        "across",
        "hard",
        "threads that work on neighbouring matrices read shared memory",
        lambda path, mma, across: (across == 0) | ((path != "plain") & (mma == 0)),
    )
    yield Rule(
        "across-many",
        "soft",
        "there are several matrices with several tiles to tell apart",
        lambda rows, columns, group, across: (across == 0) | ((group >= 4) & (tiles(p, rows, columns) > 1)),
    )
    yield Rule(
        "turn",
        "hard",
        "threads that begin at different places read shared memory",
        lambda path, mma, turn: (turn == 0) | ((path != "plain") & (mma == 0)),
    )
    yield Rule(
        "turn-needed",
        "soft",
        "matrices of other sizes begin in different banks anyway",
        lambda rows, columns, turn: (turn == 0) | (crowded & (tiles(p, rows, columns) <= 16)),
    )
    yield Rule(
        "pad",
        "hard",
        "only copies by words can leave gaps",
        lambda path, pad: (pad == 0) | (path == "async"),
    )
    yield Rule(
        "words-for-gaps",
        "soft",
        "what bulk copies can read is read by words only to lie with gaps in shared memory",
        lambda path, pad: (
            (path != "async") | (pad == 1) | (not (_bulk(p, device) and max(p.m, p.n, p.k) <= 32))
        ),
    )
    yield Rule(
        "evict",
        "hard",
        "bulk copies take hints",
        lambda path, evict: (evict == 0) | (path == "bulk"),
    )


def _of_the_sm(p: Problem, device: Device) -> Iterator[Rule]:
    """What an SM holds, and what keeps its memory and its schedulers busy."""
    sms = device["sms"]
    yield Rule(
        "shared-per-block",
        "queryable",
        "the ring fits in the shared memory that a block may ask for",
        lambda path, group, stages, pad: (
            shared_bytes(p, path, group, stages, pad) <= device["shared_per_block_optin"]
        ),
    )
    yield from resident_rules(
        device,
        lambda warps: 32 * warps,
        lambda mma, rows, columns, warps: 32 * warps * registers(p, mma, rows, columns),
        lambda path, group, stages, pad: shared_bytes(p, path, group, stages, pad),
    )
    yield Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory",
        lambda path, group, stages, pad, blocks: (
            (path == "plain") | (stage_bytes(p, group, pad, path) * stages * (blocks // sms) >= IN_FLIGHT)
        ),
    )
    yield Rule(
        "warps-enough",
        "soft",
        "an SM has a warp for each of its four schedulers",
        lambda path, warps, blocks: warps * (blocks // sms) >= np.where(path == "plain", 16, 4),
    )


# -- the choice without a search ---------------------------------------------------------------------------
def _best(p: Problem, device: Device) -> Config:
    """The best of a few rings for a good tile, by how busy they keep memory and threads."""
    least, sms = whole(p), device["sms"]
    bulk = _bulk(p, device)
    most = max(1, p.batch // (2 * sms))
    for path in ("bulk", "async") if bulk else ("async",):
        fitting = [g for g in _groups(p) if g <= most and (path == "async" or g % least == 0)]
        found: list[tuple[float, Config]] = []
        for tile in _tiles(p, device):
            count, slots = int(tiles(p, *tile[1:])), 1 if tile[0] else 32
            for warps in (1, 2, 4, 6, 8):
                # Most matrices that give every thread (or warp) so many tiles.
                near = {
                    max((g for g in fitting if g * count <= warps * slots * turns), default=0)
                    for turns in ((1, 2, 3, 4, 8, 16) if tile[0] else (1, 2, 4, 8))
                }
                for group in near | {fitting[0]}:
                    if group and group * count <= _turns(tile[0]) * warps * slots:
                        found += _rings(p, device, path, tile, warps, group)
        if found:
            return max(found, key=lambda pair: pair[0])[1]
    # No ring that keeps memory busy: without one.
    return _config("plain", (0, 1, 1), 4, 1, 1, 4 * sms)


def _turns(mma: Any) -> Any:
    """Most tiles of a group of a thread, or of a warp with tensor cores: with more, copies wait."""
    return 8 + 8 * (mma != 0)


def _config(
    path: str, tile: tuple[int, int, int], warps: int, group: int, stages: int, blocks: int, turn: int = 0
) -> Config:
    mma, rows, columns = tile
    values = {"path": path, "mma": mma, "rows": rows, "columns": columns, "warps": warps, "group": group}
    return Config(
        values | {"stages": stages, "across": 0, "turn": turn, "pad": 0, "evict": 0, "blocks": blocks}
    )


def _tiles(p: Problem, device: Device) -> tuple[tuple[int, int, int], ...]:
    """Tensor cores or not, rows and columns of a few tiles: much work for each load, little of it wasted."""
    size = p.dtype.itemsize
    # Multiply-adds for each element that is moved: what tensor cores save must outweigh their padding, and
    # reads of single halves where k is odd.
    dense = p.m * p.n * p.k / (p.m * p.k + p.k * p.n + p.m * p.n)
    halves = p.dtype.real_bits == 16
    if halves and (min(p.m, p.n, p.k) >= 8 or dense >= 8 / 3) and (dense >= 4 or p.k * size % 4 == 0):
        rows = min(-(-p.m // 16) * 16, 32)
        columns = min(-(-p.n // 8) * 8, 32)
        return (16, rows, columns), (16, rows, -(-columns // 16) * 8)
    padding = -(-p.m // 8) * 8 * -(-p.n // 8) * 8 / (p.m * p.n)
    if p.dtype.real_bits == 64 and (min(p.m, p.n) >= 12 or (dense >= 2.9 and padding <= 1.75)):
        tall = "mma_f64_m16" in device.supports and -(-p.m // 16) * 2 == -(-p.m // 8)
        step = 16 if tall else 8
        rows = min(-(-p.m // step) * step, 32)
        columns = min(-(-p.n // 8) * 8, 32 if size == 8 else 16)
        return (step, rows, columns), (step, rows, -(-columns // 16) * 8)
    return _thread_tiles(p.m, p.n, size, p.turned_a, *_deep(p))


def _deep(p: Problem) -> tuple[int, int]:
    """Elements of the widest words along the stored columns of A and B in shared memory, padding included."""
    deep = (
        _vector(p.dtype.itemsize, gcd(rows, lead, step))
        for (rows, _), (lead, step) in zip(_stored(p)[:2], spaced(p), strict=False)
    )
    return next(deep), next(deep)


def _reads(size: int, rows: int, columns: int, turned_a: bool, deep_m: int, deep_k: int) -> float:
    """Reads from shared memory for each multiply-add of a tile, by instructions and by width."""
    wide = 1 if turned_a else min(deep_m, rows & -rows)
    return 2.0 / columns / wide + 2.0 / rows / deep_k


@lru_cache(maxsize=256)
def _pace(p: Problem, tile: tuple[int, int, int]) -> float:
    """How much of the speed of memory multiply-add units and reads from shared memory leave, by a tile."""
    mma, rows, columns = tile
    if mma:
        return 1.0
    size, deep_m, deep_k = p.dtype.itemsize, *_deep(p)
    reads = _reads(size, rows, columns, p.turned_a, deep_m, deep_k)
    reads += (1 / rows + 1 / columns) * max(1.0, size / 8)
    each = (4 if p.dtype.is_complex else 1) * (2 if p.dtype.real_bits == 64 else 1)
    work = int(tiles(p, rows, columns)) * rows * columns * p.k * each * (1 + reads)
    # Clocks of an SM: 128 float32 units, a third of the time at their best; 17.5 bytes.
    return float((1 + (3 * work / 128 * 17.5 / p.bytes) ** 2) ** -0.5)


# Tiles of square matrices whose reads from shared memory meet in fewest banks, counted access by access, for
# elements of 4 and of 8 bytes.
_FEW_CONFLICTS: dict[int, dict[int, tuple[int, int]]] = {
    4: {3: (3, 3), 5: (5, 5), 6: (6, 3), 7: (7, 7), 8: (4, 2), 10: (5, 5), 14: (7, 7), 16: (4, 8), 17: (9, 5)}
    | {20: (5, 5), 24: (6, 6), 28: (7, 7), 32: (4, 8)},
    8: {3: (3, 3), 4: (4, 2), 5: (5, 5), 6: (6, 3), 7: (4, 7), 8: (2, 4), 10: (5, 5), 12: (6, 3), 14: (4, 7)}
    | {16: (4, 8), 17: (4, 6), 20: (5, 5), 24: (6, 6), 28: (7, 4), 32: (4, 8)},
}


@cache
def _thread_tiles(
    m: int, n: int, size: int, turned_a: bool, deep_m: int, deep_k: int
) -> tuple[tuple[int, int, int], ...]:
    # Whole matrices while they are few numbers; else as many sums as hide the loads.
    words = max(size // 4, 1)
    most = 32 if m * n * words <= 64 else 64
    shapes = [
        (rows, columns)
        for rows in _sides(m)
        for columns in _sides(n)
        if rows <= min(m, 8)
        and columns <= min(n, 8)
        and rows * columns * words <= most
        and -(-m // rows) * rows * -(-n // columns) * columns <= 1.3 * m * n + 1
        and (min(m, n) < 12 or rows * columns >= 2 * (rows + columns))
    ]

    def cost(shape: tuple[int, int]) -> float:
        rows, columns = shape
        work = -(-m // rows) * rows * -(-n // columns) * columns
        return work * (1.0 + _reads(size, rows, columns, turned_a, deep_m, deep_k))

    by_cost = sorted(shapes, key=cost)
    # More threads for each matrix, where few matrices fit.
    small = [
        next(
            (shape for shape in by_cost if part * shape[0] * shape[1] <= by_cost[0][0] * by_cost[0][1]), None
        )
        for part in (2, 4)
    ]
    known = _FEW_CONFLICTS.get(size, {}).get(m) if m == n else None
    shapes = ([known] if known else by_cost[:2]) + [shape for shape in small if shape]
    return tuple((0, *shape) for shape in dict.fromkeys(shapes))


def _rings(
    p: Problem, device: Device, path: str, tile: tuple[int, int, int], warps: int, group: int
) -> Iterator[tuple[float, Config]]:
    """Rings of 2 to 4 stages with the blocks that an SM holds of them, each with its score (1 is best)."""
    mma, rows, columns = tile
    # The compiler takes more, for reads ahead.
    needed = int(1.3 * registers(p, mma, rows, columns)) + 8
    slots = warps * (1 if mma else 32)
    items = group * int(tiles(p, rows, columns))
    used = items / (-(-items // slots) * slots)
    if used < 0.75 and not (warps == 1 and items <= 32):
        return
    stage = int(stage_bytes(p, group, 0, path))
    # Threads of different matrices begin in the same bank, where matrices are multiples of all banks: the
    # more matrices a warp works on, the worse.
    few = items <= 2 * group and _crowded(p)
    turn = int(not mma and (few or (items <= 10 * group and _crowded(p, all))))
    # Where words are moved by all threads, they take part in it.
    movers = 12 if path == "bulk" and not spaced(p)[2][0] else 16
    pace = _pace(p, tile)
    for stages in (2, 3, 4):
        shared = int(shared_bytes(p, path, group, stages, 0))
        if shared > device["shared_per_block_optin"]:
            return
        per_sm = min(int(resident(shared, needed, warps, device)), 16)
        per_sm = max((count for count in PER_SM if count <= per_sm), default=0)
        if per_sm * warps < 4 or per_sm * stages * stage < IN_FLIGHT:
            continue
        # What the best of some 8,000 configs had in common on an H200: long copies, 100 KB on their way, few
        # blocks on an SM. One block alone has nobody to multiply while it waits, which costs where
        # multiplying takes as long as moving.
        flying = min(1.0, per_sm * stages * stage / (96 * 1024))
        running = min(1.0, per_sm * warps / movers)
        long = min(stage, 24 * 1024)
        # The last round leaves part of the SMs idle.
        rounds = p.batch / (group * per_sm * device["sms"])
        alone = 0.92 if per_sm == 1 else 1 - 0.01 * (per_sm - 2)
        shape = long / (long + 3072) * rounds / (rounds + 0.5) * alone
        score = flying**0.5 * running**0.3 * used**0.7 * shape * pace
        yield score, _config(path, tile, warps, group, stages, per_sm * device["sms"], turn)
