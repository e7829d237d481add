"""The choice without a search for a batch along several axes whose groups bulk copies bring.

Operands that axes share make the result most of what is moved, so that the multiply-add units, their reads
from shared memory and the threads in between set the pace as often as memory does. The model counts what a
warp asks of each: instructions, and accesses to shared memory bank by bank, for the tiles of the first
threads. Its constants are in ``data/tiny.json``; times are clocks of an SM for a product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda.common import WIDEST, cheapest, resident
from tilewright.stencils.cuda.tiny.needs import (
    AT_ONCE,
    HELD_WORDS,
    PER_SM,
    SEVERAL,
    STACKED,
    asking,
    busy,
    by_along,
    eights,
    held,
    items,
    kept,
    odds,
    pairs,
    part_asked,
    pieces,
    registers,
    room,
    room_out,
    rounds,
    shared_bytes,
    shares,
    skewed,
    spread,
    stacks,
    stage_bytes,
    steps,
    tile,
    tiles,
    vector,
    words,
    words_of_sum,
)
from tilewright.stencils.cuda.tiny.space import most_turns

Columns = dict[str, Any]
_LANES, _LINE, _SECTOR = np.arange(32), 128, 32
_WARPS, _STAGES = (1, 2, 4, 6, 8), (2, 3, 4)
_SHAPES, _VARIANTS = 16, 10
"""Tiles of which the banks are counted, and whose rings are compared."""
_SUMS = 64
"""Registers of sums of a thread with several products, at most: with more some compilers spill."""
_WHOLE = 100
"""The same of one."""
_SOME = 128
"""Products of a group, about, of which the first warp's are looked at."""
_SPARED = 0.75
"""The part of A and B that blocks ask for which walk over neighbouring groups, at most, for which they do."""
_LARGE = 1024
"""Bytes of a C that is large."""
_PARTS, _PARTS_WHOLE = 1.15, 3
"""Times that a sector is written, at most, in the mean, by threads that write C themselves; and where each C
is whole sectors, which then none but the threads of one C write."""
_MOVING = 0.55
"""The part of A and B that moves, at least, for odd matrices to be read by words where this is foretold to
take a little longer."""
_LONGER = 1.075
"""Times as long, at most."""
_WARPS_ODD = 4
"""Warps of a block, at least, that does so."""
_WIDEST_ODD = 15
"""Columns of C, at most, of which a thread then has all."""


@dataclass(frozen=True)
class Work:
    """What the threads of a tile ask for, for each product: instructions beside what each thread has anyway,
    clocks of shared memory for what they read and write, and sectors of device memory that they write where
    they write C themselves."""

    rows: int
    columns: int
    several: int
    across: int
    turn: int
    instructions: float
    read: float
    written: float
    sectors: float
    mma: int = 0
    odd: int = 0

    @property
    def slots(self) -> int:
        """Threads that work on a tile together."""
        return 32 if self.mma else 1


def best(
    space: Space, p: Problem, device: Device, x: Mapping[str, Any], usual: Config | None
) -> Config | None:
    """The cheapest of a few rings for the best tiles of multiply-add units, and of tensor cores for eight
    products with one operand; what is ``usual`` for batches
    along one axis, where bulk copies bring it and nothing is foretold to be much cheaper."""
    usual = _usual_or_tile(space, p, device, x, usual)
    columns = odd_columns(p, x)
    odd = _cheapest(space, p, device, [_odd(p, columns)], x) if columns else None
    if odd is None or usual is None or usual["path"] != "bulk":
        return odd or usual
    if usual["mma"] and usual["several"] != STACKED:
        return odd  # Of tensor cores with one product this model foretells nothing.
    longer = _LONGER if _moving(p) >= _MOVING else 1.0
    ours, theirs = _foretold(p, device, (odd, usual), x)
    return odd if ours <= longer * theirs else usual


def _usual_or_tile(
    space: Space, p: Problem, device: Device, x: Mapping[str, Any], usual: Config | None
) -> Config | None:
    """The same of what reads no odd matrices by words."""
    chosen = _cheapest(space, p, device, _variants(space, p, x), x)
    if chosen is None or usual is None or usual["path"] != "bulk" or usual["mma"]:
        return chosen or usual
    ours, theirs = _foretold(p, device, (chosen, usual), x)
    return chosen if ours < x["nest_sure"] * theirs else usual


def _cheapest(
    space: Space, p: Problem, device: Device, found: list[Work], x: Mapping[str, Any]
) -> Config | None:
    """The cheapest ring for some tiles, if there is one."""
    columns = _rings(space, p, device, found, x) if found else {"rows": ()}
    if not len(columns["rows"]):
        return None
    ring = space.restricted(path="bulk", pad=0, evict=0)
    return cheapest(ring, columns, cost(p, device, columns, found, x))


def _foretold(p: Problem, device: Device, configs: tuple[Config, ...], x: Mapping[str, Any]) -> Any:
    """Clocks of an SM for a product by each of some configs of bulk copies."""
    names = ("mma", "rows", "columns", "several", "warps", "group", "stages", "blocks", "direct", "reuse")
    columns = {name: np.array([c[name] for c in configs]) for name in names}
    works = [work_of(p, c) for c in configs]
    return cost(p, device, columns | {"variant": np.arange(len(works))}, works, x)


def work_of(p: Problem, config: Mapping[str, Any]) -> Work:
    """What a config of bulk copies asks for, of multiply-add units or of tensor cores with eight products."""
    if config["mma"]:
        return _stacked(p)
    if config.get("odd", 0):
        return _odd(p, config["columns"])
    tile = (config[name] for name in ("rows", "columns", "several"))
    return _work(p, *tile, across=config["across"], turn=config["turn"])


def cost(p: Problem, device: Device, columns: Columns, found: list[Work], x: Mapping[str, Any]) -> Any:
    """Clocks of an SM for a product; ``variant`` says which of the tiles a config has."""
    variant, several, group = columns["variant"], columns["several"], columns["group"]
    mma, rows, cols, warps, stages = (columns[name] for name in ("mma", "rows", "columns", "warps", "stages"))
    per_sm = columns["blocks"] // device["sms"]
    each = items(p, rows, cols, group, several) * (1 + 31 * (mma != 0)) / group
    instructions, read, written, sectors = (
        np.array([getattr(work, name) for work in found])[variant]
        for name in ("instructions", "read", "written", "sectors")
    )
    # Products that a thread has room for and that are not there are computed, too.
    computed_of = items(p, rows, cols, group, several) * several / (tiles(p, rows, cols) * group)
    instructions, read = instructions * computed_of, read * computed_of
    issue = (each * x["nest_item"] + instructions) / 128
    more = np.maximum(sectors - _whole_sectors(p), 0)
    stores = np.where(columns["direct"] == 1, x["nest_sector"] * more, x["nest_store"] * written)
    near = x["nest_near"] * (read + stores)
    power = x["nest_together"]
    running = per_sm * warps
    computed = (issue**power + near**power) ** (1 / power) * (1 + x["nest_few"] / running)
    computed = computed / busy(p, mma, rows, cols, warps, group, several) ** x["nest_idle"]
    count, _ = pieces(p, group)
    edges = WIDEST * count * skewed(p)[2] * (1 - columns["direct"])
    between = x["nest_group"] + x["nest_edge"] * edges + x["nest_ask"] * asking(p, group)
    whole = rounds(p, group, "bulk") * group / p.products
    computed = computed * whole + between / group / np.minimum(per_sm, 8)
    brought = stage_bytes(p, group, 0, "bulk")
    asked = brought * np.where(columns["reuse"] == 1, part_asked(p, group), 1.0)
    made = group * p.m * p.n * p.dtype.itemsize
    wanted = x["nest_flying"] * 1024 * brought / (brought + made)
    flying = np.minimum(1.0, per_sm * stages * brought / wanted) ** x["nest_flying_power"]
    memory, cache = p.bytes / x["nest_bytes"] / flying, (asked + made) / group / x["nest_cache"] * whole
    power = x["nest_power"]
    return (computed**power + memory**power + cache**power) ** (1 / power)


def _whole_sectors(p: Problem) -> float:
    """Sectors of device memory that a C has."""
    return p.m * p.n * p.dtype.itemsize / _SECTOR


def most_parts(p: Problem) -> float:
    """Times that a sector may be written, in the mean, by threads that write C themselves."""
    return _PARTS_WHOLE if _whole_sectors(p) % 1 == 0 else _PARTS


def _clocks(p: Problem, work: Work, x: Mapping[str, Any]) -> float:
    """The same of a tile by itself, in full warps."""
    each = tiles(p, work.rows, work.columns) / work.several * work.slots
    issue = (each * x["nest_item"] + work.instructions) / 128
    near = x["nest_near"] * (work.read + x["nest_store"] * work.written)
    power = x["nest_together"]
    return float((issue**power + near**power) ** (1 / power))


# -- tiles -------------------------------------------------------------------------------------------------
def _variants(space: Space, p: Problem, x: Mapping[str, Any]) -> list[Work]:
    """Tiles that the rules take, with one product and with several of an operand: of those with the least to
    issue and to read the ones whose threads meet in few banks, in any order of tiles."""
    known = {param.name: param.values for param in space.params}
    sums, part = words_of_sum(p), space.part(("mma", "rows", "columns"))
    rows, columns = (
        np.array([side for side in known[name] if side <= extent])
        for name, extent in (("rows", p.m), ("columns", p.n))
    )
    rows, columns = rows.repeat(len(columns)), np.tile(columns, len(rows))
    allowed = part.allowed({"mma": 0 * rows, "rows": rows, "columns": columns})
    shapes = [
        (height, width, several)
        for height, width in zip(rows[allowed].tolist(), columns[allowed].tolist(), strict=True)
        for several in (SEVERAL if shares(p) else (1, 2) if pairs(p) else (1,))
        if several != 2 or not pairs(p) or (height, width) == (p.m, p.n)
        if sums * height * width * several <= (_SUMS if several > 1 else _WHOLE)
    ]
    # Without a look at banks.
    shapes = sorted(shapes, key=lambda shape: _clocks(p, _work(p, *shape, banks=(1, 1, 1, 1)), x))[:_SHAPES]
    works = [
        _work(p, *shape, across=across, turn=turn)
        for shape in shapes
        for across in ((0, 1) if tiles(p, *shape[:2]) > 1 else (0,))
        for turn in ((0, 1) if shape[2] == 1 else (0,))
    ]
    if stacks(p) and eights(p):
        works.append(_stacked(p))
    return sorted(works, key=lambda work: _clocks(p, work, x))[:_VARIANTS]


def _work(
    p: Problem,
    rows: int,
    columns: int,
    several: int,
    *,
    across: int = 0,
    turn: int = 0,
    banks: tuple[int, int, int, int] | None = None,
) -> Work:
    """What a tile asks for. ``banks``: clocks of a read of A, one of B and a write of C, and sectors, where
    they are not to be found out."""
    if pairs(p) and several == 2:
        return _pair(p, banks)
    size = p.dtype.itemsize
    wide_a, wide_b, wide_c = _at_once(p)
    along_m = _fitting(min(wide_a if not p.transposed_a else WIDEST, wide_c), size, p.m, rows)
    along_k = min(
        _fitting(wide_a, size, p.k, p.k) if p.transposed_a else WIDEST // size,
        _fitting(wide_b, size, p.k, p.k) if not p.transposed_b else WIDEST // size,
    )
    along_k = 1 if p.transposed_b and not p.transposed_a else along_k
    along_n = _fitting(wide_b, size, p.n, columns) if p.transposed_b else 1
    one_a, one_b = _one(p, bool(by_along(p, 1)))
    many_a, many_b = (1 if one_a else several), (1 if one_b else several)
    vector_a, vector_b = (along_k if p.transposed_a else along_m), (along_n if p.transposed_b else along_k)
    loads_a, loads_b = p.k * rows * many_a / vector_a, p.k * columns * many_b / vector_b
    stores = rows * columns * several / along_m
    each = tiles(p, rows, columns) / several
    real = (4 if p.dtype.is_complex else 1) * (2 if p.dtype.real_bits == 64 else 1)
    count = loads_a + loads_b + stores + rows * columns * several * p.k * real
    if p.dtype.real_bits == 16:
        count += p.k * (rows * many_a + columns * many_b) + rows * columns * several
    banks = banks or _banks(p, rows, columns, several, across, turn, (along_m, along_k, along_n))
    return Work(
        *(rows, columns, several, across, turn),
        instructions=each * count,
        read=each / 32 * (loads_a * banks[0] + loads_b * banks[1]),
        written=each / 32 * stores * banks[2],
        sectors=each / 32 * stores * banks[3],
    )


def _pair(p: Problem, banks: tuple[int, int, int, int] | None) -> Work:
    """What a pair of tiny products asks for, which a thread reads and writes by words."""
    found, words = tile(p), []
    turned = found.turned if found is not None else (False, False, False)
    once = _one(p, False)
    for count, one, apart in zip((p.m * p.k, p.k * p.n), once, turned, strict=False):
        words.append(count // 2 + 1 if one else 2 * (count // 2 + 1) if apart else count + 1)
    a, b, made = *words, p.m * p.n
    read = [p.m * p.k * (2 - once[0]), p.k * p.n * (2 - once[1])]
    # Every word is shifted and every number of it widened; results are rounded and shifted by twos.
    count = 2 * (a + b) + sum(read) + 2 * made * p.k + 3 * made
    banks = banks or _banks_of_pairs(p)
    return Work(
        *(p.m, p.n, 2, 0, 0),
        instructions=count / 2,
        read=(a * banks[0] + b * banks[1]) / 64,
        written=made * banks[2] / 64,
        sectors=made * banks[3] / 64,
    )


def odd_columns(p: Problem, x: Mapping[str, Any]) -> int:
    """The columns of C of a thread that may read odd matrices of 16 bits by words; 0 where it had better not:
    for small ones, which along several axes none under order 9 was timed of. All of C, so that operands are
    read once for each product; but where both move, and A fills the registers, threads wait less with fewer.
    (On an H200 odd matrices of order 5 to 9 along one axis were so 0.99 to 1.4 times as fast.)"""
    if not odds(p) or p.m * p.k < x["nest_odd" if p.outer else "odd"]:
        return 0
    if _moving(p) == 1 and p.m * p.k == HELD_WORDS and p.n % AT_ONCE == 0:
        return AT_ONCE
    return p.n if p.n <= _WIDEST_ODD else 0


def _moving(p: Problem) -> float:
    """The part of A and B that moves, of what the products read."""
    written = (1 if p.beta == "0" else 2) * p.m * p.n * p.dtype.itemsize
    return (p.bytes - written) / ((p.m + p.n) * p.k * p.dtype.itemsize)


def _odd(p: Problem, columns: int) -> Work:
    """What one product of odd matrices asks for, of which a thread reads all of A, and then a few of its
    columns of B at a time, by words."""
    several = AT_ONCE if columns % AT_ONCE == 0 else 1
    count, each = p.n // columns, columns // several
    a, b, c = (-(-halves // 2) for halves in (p.m * p.k, p.k * several, p.m * several))
    loads_b, stores = each * b, each * (c + 1)
    # Every word is shifted and every number of it widened; results are rounded and shifted by twos.
    instructions = 2 * a + p.m * p.k + 2 * loads_b + p.k * columns + p.m * columns * p.k + 4 * stores
    along, piece = (int(side) for side in pieces(p, _usual(p)))
    item = np.resize(_LANES[: along * piece * count], 32)
    unit, part = item // count, item % count * columns
    begin = _begins(p, unit % piece, unit // piece, along, piece)
    size = p.dtype.itemsize
    at_a, at_b, at_c = (
        (at + 0 * unit) // 4 * 4
        for at in (begin[0], begin[1] + part * p.k * size, begin[2] + part * p.m * size)
    )
    return Work(
        *(p.m, columns, 1, 0, 0),
        instructions=float(count * instructions),
        read=count / 32 * (a * _wavefronts(at_a, 4) + loads_b * _wavefronts(at_b, 4)),
        written=count / 32 * stores * _wavefronts(at_c, 4),
        sectors=count / 32 * stores * len(np.unique(at_c // _SECTOR)),
        odd=1,
    )


def _stacked(p: Problem) -> Work:
    """What eight products of one operand ask for on tensor cores."""
    size, one_a = p.dtype.itemsize, _one(p, False)[0]
    fixed, free = (p.m, p.n) if one_a else (p.n, p.m)
    # Fragments of eight lines of one product, and of one line of each.
    whole = 0 if one_a else free // 8
    left = free - 8 * whole
    along, piece = (int(side) for side in pieces(p, _usual(p)))
    r, q = _LANES // 4, _LANES % 4

    def begins(product: Any, which: int) -> Any:
        return _begins(p, product, 0 * _LANES, along, piece)[which]

    lda, ldb = p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k
    line_a, deep_a = (lda, 1) if p.transposed_a else (1, lda)
    line_b, deep_b = (1, ldb) if p.transposed_b else (ldb, 1)
    line, deep = (line_b, deep_b) if one_a else (line_a, deep_a)
    across, down = (1, p.m) if one_a else (p.m, 1)
    row, k, moving = np.minimum(r, fixed - 1), np.minimum(q, p.k - 1), 1 if one_a else 0
    other = r % 2 * (STACKED // 2) + r // 2
    reads = whole and _wavefronts(begins(0 * r, moving) + (r * line + k * deep) * size, size)
    writes = whole and _wavefronts(begins(0 * r, 2) + (row * across + 2 * q * down) * size, size)
    reads_left = left and _wavefronts(begins(other, moving) + k * deep * size, size)
    writes_left = left and _wavefronts(begins(q, 2) + row * across * size, size)
    # Of the last product of k perhaps one half; the last row of nine is written for eight lines at once.
    fragments, halves = -(-fixed // 16), 4 * -(-p.k // 16) - 2 * (0 < p.k % 16 <= 8) - (p.k % 8 == 1)
    stores = 2 * -(-fixed // 8) - (fixed % 16 == 9) * 2 * (1 - 1 / STACKED)
    count = STACKED * whole + left
    each = count * (1.5 * halves + 2 * fragments * -(-p.k // 16) + 2 * stores) + 8 * fragments * halves
    return Work(
        *(-(-p.m // 16) * 16, -(-p.n // 8) * 8, STACKED, 0, 0),
        instructions=32 * each / STACKED,
        read=(halves * (STACKED * whole * reads + left * reads_left) + 4 * fragments * halves) / STACKED,
        written=stores * (STACKED * whole * writes + left * writes_left) / STACKED,
        sectors=float("inf"),
        mma=16,
    )


def _fitting(unit: int, size: int, extent: int, part: int) -> int:
    """Elements of the widest vector that divides an address, an extent and a part of it."""
    return min(vector(size, extent), vector(size, part), max(unit // size, 1))


def _at_once(p: Problem) -> tuple[int, int, int]:
    """Bytes that divide the addresses of stored columns in shared memory."""
    leads = (p.k if p.transposed_a else p.m, p.n if p.transposed_b else p.k, p.m)
    found = []
    for lead, odd, stays, word, step in zip(leads, skewed(p), kept(p), words(p), steps(p), strict=True):
        apart = word if odd and not stays else step * p.dtype.itemsize
        found.append(int(np.gcd.reduce((WIDEST, lead * p.dtype.itemsize, apart))))
    return found[0], found[1], found[2]


def _one(p: Problem, along: bool) -> tuple[bool, bool]:
    """Whether the products of a thread have one A, and one B; ``along``: where they lie along the second axis
    of a tile."""
    found = tile(p)
    if found is None:
        once = held(p)
        return once[0] or not p.moves[0], once[1] or not p.moves[1]
    goes = found.outer if along else found.inner
    return not goes[0], not goes[1]


def _banks(
    p: Problem, rows: int, columns: int, several: int, across: int, turn: int, vectors: tuple[int, int, int]
) -> tuple[int, int, int, int]:
    """Clocks of shared memory that a read of A, one of B and a write of C take, by the first warp, and the
    sectors that the write touches."""
    size, (along_m, along_k, along_n) = p.dtype.itemsize, vectors
    across_m, across_n = -(-p.m // rows), -(-p.n // columns)
    along, piece = (int(side) for side in pieces(p, _usual(p)))
    units_in = piece if by_along(p, 1) else -(-piece // several)
    units_out = -(-along // several) if by_along(p, 1) else along
    units, count = units_in * units_out, across_m * across_n
    item = np.resize(_LANES[: units * count], 32)
    unit, part = (item % units, item // units) if across else (item // count, item % count)
    part_m, part_n = part % across_m, part // across_m
    begin = _begins(p, unit % units_in, unit // units_in, along, piece)
    k = unit % max(p.k // along_k, 1) * along_k * turn
    row, column = np.minimum(part_m * along_m, p.m - along_m), np.minimum(part_n * along_n, p.n - along_n)
    at_a = row * p.k + k if p.transposed_a else row + k * p.m
    at_b = column + k * p.n if p.transposed_b else column * p.k + k
    wide_a, wide_b = (along_k if p.transposed_a else along_m), (along_n if p.transposed_b else along_k)
    at_c = begin[2] + (row + column * p.m) * size
    return (
        _wavefronts(begin[0] + at_a * size, wide_a * size),
        _wavefronts(begin[1] + at_b * size, wide_b * size),
        _wavefronts(at_c, along_m * size),
        len(np.unique(at_c // _SECTOR)),
    )


def _banks_of_pairs(p: Problem) -> tuple[int, int, int, int]:
    """The same of pairs of tiny products, by words."""
    along, piece = (int(side) for side in pieces(p, _usual(p)))
    units = -(-piece // 2)
    unit = np.resize(_LANES[: units * along], 32)
    begin = [np.asarray(at) for at in _begins(p, unit % units * 2, unit // units, along, piece)]
    a, b, c = (_wavefronts(at + 0 * unit, 4) for at in begin)
    return a, b, c, len(np.unique(begin[2] // _SECTOR))


def _usual(p: Problem) -> int:
    """Products of a group that has enough for a warp, where there are so many."""
    found = tile(p)
    if found is None:
        return min(p.batch, _SOME)
    if found.along:
        return found.along * min(p.batch, -(-_SOME // found.along))
    return min(found.extent, -(-_SOME // p.batch)) * p.batch


def _begins(p: Problem, inner: Any, outer: Any, along: int, piece: int) -> list[Any]:
    """Bytes from the stage to the matrices of products at these positions of a group."""
    size, odd, found, out = p.dtype.itemsize, skewed(p), tile(p), []

    def has(which: int, size: Any) -> Any:
        return room_out(p, size) if which == 2 else room(size, odd[which])

    for which, elements in enumerate((p.m * p.k, p.k * p.n, p.m * p.n)):
        matrix = elements * size
        if found is None:
            goes_in = bool(p.strides[which])
            out.append((inner * goes_in + outer * (piece if goes_in else 1)) * matrix * p.moves[which])
        elif found.turned[which]:
            run = spread(has(which, along * matrix))
            out.append(inner * found.inner[which] * run + outer * found.outer[which] * matrix)
        else:
            run = spread(has(which, (piece if found.inner[which] else 1) * matrix))
            out.append(inner * found.inner[which] * matrix + outer * found.outer[which] * run)
    return out


def _wavefronts(at: NDArray[Any], wide: int) -> int:
    """Clocks of shared memory for an access of so many bytes by each thread of a warp."""
    together, found = 32 if wide <= 4 else _LINE // wide, 0
    for first in range(0, 32, together):
        some = at[first : first + together, None] + np.arange(0, wide, min(wide, 4))
        found += int(np.bincount(np.unique(some // 4) % 32).max())
    return found


def reuses(p: Problem, group: Any) -> Any:
    """Whether blocks had better walk over neighbouring groups: of small matrices that have much in common.
    (On an H200 this made such batches 0.95 to 1.37 times as fast, 1.09 in the mean, and those of larger
    matrices and of most in 16 bits, whose pace others set, 0.83 to 1.09 times.)"""
    small = p.m * p.n * p.dtype.itemsize < _LARGE and (p.dtype.real_bits > 16 or pairs(p))
    return ((part_asked(p, group) <= _SPARED) & small).astype(int)


# -- rings -------------------------------------------------------------------------------------------------
def _rings(space: Space, p: Problem, device: Device, found: list[Work], x: Mapping[str, Any]) -> Columns:
    """All rings of some tiles, in as many blocks as an SM holds, and in half of them."""
    known = {param.name: param.values for param in space.params}
    tiled = tile(p)
    unit = 1 if tiled is None else tiled.along or p.batch
    groups = np.array([group for group in known["group"] if group % unit == 0], int)
    axes = (np.arange(len(found)), np.array(_WARPS), groups, np.array(_STAGES), np.array((0, 1)))
    variant, warps, group, stages, direct = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    names = ("mma", "rows", "columns", "several", "odd", "across", "turn")
    columns = {name: np.array([getattr(work, name) for work in found])[variant] for name in names}
    tensor = columns["mma"] != 0
    turns = items(p, columns["rows"], columns["columns"], group, columns["several"]) / (
        warps * np.where(tensor, 1, 32)
    )
    left = (turns <= most_turns(columns["mma"])) & ((turns > 0.5) | (warps == 1))
    left &= (columns["odd"] == 0) | (warps >= _WARPS_ODD)
    # Sectors that are written in parts pass the second-level cache as often. (On an H200 this made matrices
    # of order 3 up to ten times as slow, of order 9 in complex 1.1 to 3.3 times; of order 4, each C of which
    # is whole sectors, it was 0.97 to 1.3 times as fast as what writes none in parts.)
    sectors = np.array([work.sectors for work in found])[variant]
    left &= (direct == 0) | (sectors <= most_parts(p) * _whole_sectors(p))
    columns |= {"variant": variant, "warps": warps, "group": group, "stages": stages, "direct": direct}
    columns = {name: column[left] for name, column in columns.items()}
    needed = registers(p, *(columns[name] for name in ("mma", "rows", "columns", "several", "odd")))
    needed = (x["registers"] * needed).astype(int) + x["registers_beside"]
    shared = shared_bytes(p, "bulk", columns["group"], columns["stages"], 0, columns["direct"])
    most = np.minimum(resident(shared, needed, columns["warps"], device), x["blocks"])
    columns["blocks"] = np.array((0, *PER_SM))[np.searchsorted(PER_SM, most, side="right")] * device["sms"]
    columns["reuse"] = reuses(p, columns["group"])
    fits = columns["blocks"] > 0
    return {name: column[fits] for name, column in columns.items()}
