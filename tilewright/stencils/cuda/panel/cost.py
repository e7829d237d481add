"""The choice without a search: a cost model of panel's kernel.

It proposes parts, tiles and rings and says how many clocks of an SM a row of the panel takes with each; the
rules of the space say which of them may be. Its constants, fitted to timed configs, are in
``data/panel.json``. Sizes are in elements, shared memory in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.common import WIDEST, cheapest, fitted, resident, units
from tilewright.stencils.cuda.panel.needs import (
    LIFE,
    PATHS,
    SECTOR,
    along,
    by_words,
    held_words,
    length,
    long_m,
    one_run,
    panel_run,
    parts,
    shared_bytes,
    short,
    small_along_k,
    streams,
    strides,
    tiles,
    width,
)
from tilewright.stencils.cuda.panel.space import (
    ALONG,
    PER_SM,
    PIECE,
    TILES,
    bulk_takes,
    slots,
    threads,
    tile_sizes,
)
from tilewright.stencils.cuda.tiny.needs import registers, vector, words_of_sum
from tilewright.stencils.cuda.tiny.space import sides

Columns = dict[str, Any]
_RINGS = ((1, 2, 4, 8, 12), (1, 2, 4), (2, 3, 4))
"""Warps, movers and stages of the rings that are proposed."""
_BLOCK = ("path", "direct", "warps", "movers")
_LEAVING = ("path", "direct", "tile")
"""What says how C leaves a block."""
SHARE, SMALL = 0.45, 512
"""Of a model's clocks what memory has, from which on, and elements of the small operand up to which blocks
may end."""
WRITTEN, SECTORED = 0.6, 0.92
"""Of the bytes of a tile those that are written, from which on columns leave by whole sectors, and the time
that takes then, of that by words: copies that begin within a sector take 1.03 times as long as others where
half is written, 1.16 where three quarters are and 1.29 and more beyond, and half of the columns do."""
MADE, MADE_PIECES = 1.02, 1.05
"""Of the clocks of a tile that is made for a length what others may take and are chosen still, where it has
all of a panel and where several part one: the constants were fitted to the others. (Of ten tiles of several
pieces for which the model said up to 3 % five were slower, .93 in the mean; all eight for which it said more
were faster, 1.17.)"""
TICKET_SHARE = 0.2
"""The same from which on blocks may share a counter."""
_SUMS = (8, 16, 32, 48)
"""Registers of sums up to which some smaller parts are proposed, too."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of many configs; where no ring keeps memory busy, of those that the hardware can run."""
    x = fitted("panel", device)
    # Tiles that the length divides well first, then the others, which may fit where those do not.
    for waste in (0.1, 1.0):
        columns = _candidates(p, device, x, waste)
        # What a counter gains chooses no config: where it did, configs that share one took 1.02 times as long
        # as those of before, which end, in 30 of 112 problems, 1.45 at worst; the same configs 0.96 in 31
        # (bench/results/h200/skewed-6301.jsonl).
        cost, covered, _ = _judged(p, device, columns, x)
        cost = cost * grids.hoped(p, device, columns["blocks"], tiles(p, columns["tile"]), covered)
        made = np.where(columns["tile"] >= length(p), MADE, MADE_PIECES)
        cost = cost * np.where(np.isin(columns["tile"], TILES), 1.0, made)
        found = cheapest(space, columns, cost) or cheapest(space, columns, cost, (*HARDWARE, "hard"))
        if found is not None:
            return found
    raise AssertionError(f"no config of panel fits {p.key}, which it accepts")


def _parts(p: Problem, x: Mapping[str, Any]) -> Iterator[tuple[int, int, int]]:
    """Parts of C worth a thought, as mma, rows, columns: long ones along the panel, even ones across."""
    other = short(p)

    def made(mma: int, lengthwise: int, across: int) -> tuple[int, int, int]:
        return (mma, lengthwise, across) if long_m(p) else (mma, across, lengthwise)

    if p.dtype.real_bits != 32:
        unit, unit_across = (16, 8) if long_m(p) else (8, 16)
        whole = -(-other // unit_across)
        for count in {-(-whole // pieces) for pieces in (1, 2, 3)}:
            for times in (1, 2, 3, 4, 5, 6) if p.dtype.real_bits == 16 else (1, 2, 4):
                yield made(16, unit * times, unit_across * count)
    most = x["sums"] // words_of_sum(p)
    of_threads = [
        made(0, lengthwise, across)
        for across in (side for side in sides(other) if side <= min(other, x["side"]))
        for lengthwise in ALONG
        if lengthwise * across <= most
    ]
    # Those of the fewest instructions for an element of C.
    mma, rows, columns = np.array(of_threads).T
    found = {"mma": mma, "rows": rows, "columns": columns, "direct": np.ones_like(mma)}
    found |= {"packed": np.ones_like(mma), "path": np.full(len(mma), "bulk")}
    issued, _, reads = _fma(p, found, x[f"fma {p.dtype.real_bits}"])
    each = columns if long_m(p) else rows
    cost = np.maximum(issued / 4, reads) / (rows * columns) * (-(-other // each) * each / other)
    order = np.argsort(cost, kind="stable")
    yield from (of_threads[at] for at in order[: x["parts"]])
    # Smaller ones leave room for more warps, which is worth more where little is summed.
    held = (rows * columns * words_of_sum(p))[order]
    for fewer in _SUMS:
        yield from (of_threads[at] for at in order[held <= fewer][:1])


def _candidates(p: Problem, device: Device, x: Mapping[str, Any], waste: float) -> Columns:
    part = np.array(list(dict.fromkeys(_parts(p, x))))
    fitting = [t for t in tile_sizes(p) if t * p.dtype.itemsize % WIDEST == 0]
    longest = min([t for t in fitting if t >= length(p) and t in TILES] or fitting[-1:])
    fitting = [t for t in fitting if t <= PIECE or t >= length(p)]
    full = {t: length(p) / (-(-length(p) // t) * t) for t in fitting if t <= longest}
    fullest = max(full[t] for t in full if t in TILES)
    tiles = [t for t in full if full[t] >= (1 - waste) * fullest]
    paths = [path for path in PATHS if path == "async" or ("bulk_copy" in device.supports and bulk_takes(p))]
    directly = np.arange(1 + long_m(p))
    axes = (
        np.arange(len(part)),
        np.arange(len(paths)),
        directly,
        np.arange(2),
        np.arange(1 + (p.dtype.real_bits == 16)),
        np.array(tiles),
        *map(np.array, _RINGS),
    )
    which, path, direct, packed, held, tile, warps, movers, stages = (
        axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")
    )
    mma, rows, columns = part[which].T
    left = ((direct == 0) & (packed == 0)) | (mma == 0)
    left &= (movers == 1) | (np.array(paths)[path] == "bulk")
    left &= (held == 0) | ((mma != 0) & ((columns if long_m(p) else rows) >= short(p)))
    found = {
        "path": np.array(paths)[path],
        "mma": mma,
        "held": held,
        "direct": direct,
        "tile": tile,
        "rows": rows,
        "packed": packed,
    }
    found |= {"columns": columns, "warps": warps, "movers": movers, "stages": stages}
    found = {name: column[left] for name, column in found.items()}
    of_block = threads(*(found[name] for name in _BLOCK)) // 32
    # The compiler takes more registers than the loop needs, for reads ahead.
    needed = np.zeros(len(found["mma"]), int)
    for some, kind in _kinds(p, found):
        loop = registers(p, *(found[name][some] for name in ("mma", "rows", "columns")))
        loop = loop + found["held"][some] * held_words(p, found["rows"][some], found["columns"][some])
        needed[some] = x[kind]["registers"] * loop + x[kind]["registers_beside"]
    needed += x["registers_more"] * (of_block > 8)
    shared = shared_bytes(
        p,
        *(found[name] for name in ("path", "mma", "direct", "tile", "stages", "packed", width(p))),
    )
    # Each of four schedulers has its own registers, and as many warps as the others, or one fewer.
    quarter = device["registers_per_sm"] // 4 // (32 * -(-needed // 8) * 8)
    held = np.minimum(resident(shared, needed, of_block, device), x["blocks"])
    held = np.minimum(held, 4 * quarter // of_block)
    found["blocks"] = np.array((0, *PER_SM))[np.searchsorted(PER_SM, held, side="right")] * device["sms"]
    return found


def _kinds(p: Problem, columns: Columns) -> Iterator[tuple[Any, str]]:
    """Which configs multiply by multiply-add units and which by tensor cores, with what their constants are
    called."""
    with_mma = columns["mma"] != 0
    for some, name in ((~with_mma, "fma"), (with_mma, "mma")):
        if some.any():
            yield some, f"{name} {p.dtype.real_bits}"


def clocks(p: Problem, device: Device, columns: Columns, x: Mapping[str, Any]) -> Any:
    """Clocks of an SM for a row of the panel, by tensor cores and by multiply-add units."""
    return _judged(p, device, columns, x)[0]


def ended(p: Problem, device: Device, config: Config) -> Config:
    """A config with the tiles of a block, where blocks had better end, or else with a counter, where that
    gains; and with whole sectors, where most of what is moved is written."""
    columns = {name: np.array([value]) for name, value in config.items()}
    _, least, shares = _judged(p, device, columns, fitted("panel", device))
    found = grids.ended(p, device, config, tiles(p, config["tile"]), int(least[0]), LIFE)
    whole = by_words(p, *(config[name] for name in _LEAVING)) and _written(p) >= WRITTEN
    shared = shares[0] and found["per_block"] == 0
    return Config({**found, "sectors": int(whole), "tickets": int(shared)})


def _written(p: Problem) -> float:
    """Part of the bytes of a tile that is written."""
    return short(p) / (p.k + short(p) * (1 + (p.beta != "0")))


def _judged(p: Problem, device: Device, columns: Columns, x: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """The clocks; the blocks on an SM from which on they may end (on an H200, in 123 defaults); and whether
    they gain by a counter. In 32 and 64 bits blocks do not end where multiplying takes as long as moving:
    seven were 0.79 to 1.01 times as fast then, others 0.93 and more. Tensor cores of 16 bits not with a large
    small operand, which each block reads by halves first: five of seven were slower then, seven of 33 else.
    A counter asks for less of memory, as rings stay full, but two of three were slower where it has next to
    no part in the clocks."""
    none, count = device["blocks_per_sm"] + 1, len(columns["mma"])
    found, least, shares = np.full(count, np.inf), np.full(count, none), np.zeros(count, bool)
    for kind, name in _kinds(p, columns):
        some = kind & (columns["blocks"] > 0)
        if some.any():
            found[some], memory = _clocks(p, device, {n: c[some] for n, c in columns.items()}, x[name])
            pays = {"mma 16": p.k * short(p) <= SMALL, "fma 16": True}.get(name, memory > SHARE)
            least[some] = np.where(pays, grids.LEAST, none)
            shares[some] = name.endswith(" 16") | (memory > TICKET_SHARE)
    shares &= (columns["path"] == "bulk") & grids.ticketed(p, device, columns["blocks"])
    return found, least, shares


def _clocks(p: Problem, device: Device, columns: Columns, x: Mapping[str, float]) -> tuple[Any, Any]:
    """The clocks of configs of one kind, and the part that memory has in them. A tile takes what is longest
    of five things that go on at once, and a little of the others: memory; the issue of instructions and the
    units of an SM; what one block waits for itself while it multiplies a tile, and its warps that move tiles,
    which the blocks of an SM share; and the latency of memory, which the tiles on their way share."""
    tile, bulk = columns["tile"], columns["path"] != "async"
    per_sm, turns = columns["blocks"] // device["sms"], -(-length(p) // tile)
    count, updates, size = length(p) / turns, p.beta != "0", p.dtype.itemsize
    small = p.k * short(p) * (strides(p)[1] != 0)
    memory = (count * (p.k + short(p) * (1 + updates)) + small) * size / x["bytes"]
    memory = memory + x["partial"] * _partial(p, columns, count)
    rounds = -(
        -parts(p, tile, columns["rows"], columns["columns"]) // slots(columns["mma"], columns["warps"])
    )
    of_part, units_busy, reads = (_tensor if columns["mma"].any() else _fma)(p, columns, x)
    # Device memory takes whole words more readily than what is narrower.
    narrow = columns["direct"] * (_vector_of_c(p, columns) * size < 4)
    keeping = x["kept"] * _stores(p, columns) * (1 + updates) * (1 + x["narrow"] * narrow)
    of_part = of_part + keeping
    # What all threads of a block do beside their parts, and what the warps that move tiles do.
    words, halves = _copies(p, columns, count)
    moved = (
        np.where(bulk, 0, x["word"] * words + x["half"] * halves) + x["packed"] * columns["packed"] * small
    )
    columns_of_panel = np.where(panel_run(p, columns["path"], tile), 1, p.k if along(p) else 1)
    loads = columns_of_panel + (small > 0) + updates * _runs(p, columns)
    stores = (columns["direct"] == 0) * _runs(p, columns)
    edges = stores * (long_m(p) and units(p)[2] < WIDEST)
    loading, storing = bulk * x["run"] * loads, bulk * (x["run"] * stores + x["edge"] * edges)
    issued = (columns["warps"] * rounds * of_part + moved + loading + storing) / 4
    power = x["power"]
    units_of_all = columns["warps"] * rounds * np.maximum(units_busy, reads)
    # Instructions that keep a part need not wait for each other.
    chain = of_part - (1 - x["waits"]) * keeping
    waited = x["latency"] + x["alone"] * (rounds * chain + moved / columns["warps"])
    # Warps that move tiles have whole runs each.
    shares = [-(-runs // columns["movers"]) / runs for runs in (loads, np.maximum(stores, 1))]
    serving = x["serve"] * np.maximum(loading * shares[0], storing * shares[1])
    flight = x["flight"] / (columns["stages"] - 1 + bulk * 1)
    longest = sum(each**power for each in (memory, issued, units_of_all, waited / per_sm))
    longest = longest + (serving / per_sm) ** power + (flight / per_sm) ** power
    share = memory**power / longest
    # What is held of the small operand is read once for all parts that a warp has of a tile.
    kept = np.where((columns["held"] == 1) & (rounds > 1), x["held"], 1.0)
    return kept * longest ** (1 / power) * turns / length(p), share


def _vector_of_c(p: Problem, columns: Columns) -> Any:
    """Elements of C that an instruction keeps."""
    rows, size = columns["rows"], p.dtype.itemsize
    unit = units(p)[2] if long_m(p) else min(units(p)[2], short(p) * size & -(short(p) * size))
    elsewhere = units(p)[0] if long_m(p) and along(p) else WIDEST
    return np.maximum(1, np.minimum(min(unit, elsewhere) // size, rows & -rows))


def _stores(p: Problem, columns: Columns) -> Any:
    """Instructions that keep what a thread has of a part."""
    elements = columns["rows"] * columns["columns"] / _lanes(columns)
    if columns["mma"].any():
        return elements
    return elements / _vector_of_c(p, columns)


def _runs(p: Problem, columns: Columns) -> Any:
    """Runs of C that a tile leaves shared memory by: one where its columns follow each other."""
    one = one_run(p, columns["path"], columns["direct"], columns["tile"])
    return np.where(one | (not long_m(p)), 1, short(p))


def _partial(p: Problem, columns: Columns, count: Any) -> Any:
    """Sectors that are written in part, for a tile of ``count`` rows, where m is long and columns of C begin
    anywhere: the first and last of a run, or of what a warp writes with one instruction."""
    if not long_m(p):
        return np.zeros(columns["tile"].shape)
    size = p.dtype.itemsize
    whole = gcd(SECTOR, (p.ldc or 0) * size, p.strides[2] * size)
    word = np.where(columns["direct"] == 1, _vector_of_c(p, columns) * size, units(p)[2])
    of_warps = short(p) * np.maximum(count * size / (32 * word), 1)
    bulk = (columns["path"] != "async") & (columns["direct"] == 0)
    return 2 * (1 - whole / SECTOR) * np.where(bulk, _runs(p, columns), of_warps)


def _copies(p: Problem, columns: Columns, count: Any) -> tuple[Any, Any]:
    """Words that all threads copy for a tile of ``count`` rows: those of 4 bytes and more, which go by
    themselves, and halves that begin at odd ones, which pass through a register."""
    size, tile, (stream, stream_c) = p.dtype.itemsize, columns["tile"], streams(p)
    of_panel, of_small = (0, 1) if long_m(p) else (1, 0)
    other, small = short(p), (p.k if small_along_k(p) else short(p))

    def word(which: int, column: Any, streaming: bool) -> Any:
        if streaming and column * size % 32:
            return np.full_like(tile, WIDEST)
        whole = column * size + 0 * tile
        return np.minimum(np.minimum(units(p)[which], whole & -whole), WIDEST)

    staged = 1 - columns["direct"] + (p.beta != "0")
    moved = (
        (count * p.k, word(of_panel, tile if along(p) else p.k, stream)),
        (p.k * other * (strides(p)[1] != 0), word(of_small, small, False)),
        (count * other * staged, word(2, tile if long_m(p) else other, stream_c)),
    )
    words = sum(elements * size / each * (each > 2) for elements, each in moved)
    return words, sum(elements * (each == 2) for elements, each in moved)


def _lanes(columns: Columns) -> Any:
    return np.where(columns["mma"] != 0, 32, 1)


def _fma(p: Problem, columns: Columns, x: Mapping[str, float]) -> tuple[Any, Any, Any]:
    """Instructions that a warp issues for a part of each of its threads, clocks of the multiply-add units,
    and of shared memory."""
    rows, cols, size = columns["rows"], columns["columns"], p.dtype.itemsize
    lengthwise, across = (rows, cols) if long_m(p) else (cols, rows)
    element, halves = max(size, 8 if p.dtype.letter == "hc" else 4), p.dtype.real_bits == 16
    packed = columns["packed"]
    # Elements of the vectors that are read: along the panel, or along k of both operands.
    unit = units(p)[0 if long_m(p) else 1]
    deep = vector(size, p.k)
    if along(p):
        wide = np.maximum(1, np.minimum(unit // size, lengthwise & -lengthwise))
    else:
        wide = max(1, min(unit // size, deep))
    of_panel = lengthwise / wide
    plain = across / (deep if small_along_k(p) else np.minimum(WIDEST // size, across & -across))
    of_small = np.where(packed == 1, -(-across * element // WIDEST), plain)
    sums = lengthwise * across * (4 if p.dtype.is_complex else 1)
    widened = halves * (1 + p.dtype.is_complex) * (lengthwise + np.where(packed == 1, 0, across))
    anywhere = along(p) * (unit < WIDEST)
    issued = x["part"] + p.k * (of_panel + of_small + sums + widened + x["step"] + x["anywhere"] * anywhere)
    pipes = p.k * sums * (2 if p.dtype.real_bits == 64 else 1) / 4
    words = max(size / 4, 0.5)
    passes = lengthwise * words
    # A bank serves those that ask for it at once one after the other, however well other reads overlap.
    again = 0 if along(p) else p.k * passes * (_conflicts(p, columns, wide) - 1)
    staged = 2 * (1 - columns["direct"]) * lengthwise * across * words
    # Lanes read the same of the small operand, but for two neighbouring parts of it that is not packed.
    several = np.where(
        (packed == 1) | long_m(p) | (not small_along_k(p)), 1, np.minimum(2, -(-short(p) // rows))
    )
    met = np.minimum(several, _met(p, p.k * size, deep))
    reads = x["reads"] * (p.k * (passes + of_small * met) + staged)
    return issued, pipes, reads + max(1.0, x["reads"]) * again


def _conflicts(p: Problem, columns: Columns, wide: Any) -> Any:
    """How often a bank of shared memory is asked for at once, where neighbouring lanes read a panel that lies
    across."""
    own = p.k * p.dtype.itemsize
    return _met(p, own + np.where((columns["path"] == "async") & (own % 32 == 0), WIDEST, 0), wide)


def _met(p: Problem, apart: Any, wide: Any) -> Any:
    """How often a bank is asked for at once by lanes that read vectors so many bytes apart."""
    size = p.dtype.itemsize
    return np.maximum(1, np.gcd(apart // min(size, 4), 128 // min(size, 4)) * min(size, 4) / (wide * size))


def _tensor(p: Problem, columns: Columns, x: Mapping[str, float]) -> tuple[Any, Any, Any]:
    """The same by tensor cores, for a part of a warp."""
    rows, cols = columns["rows"], columns["columns"]
    halves, pairs = p.dtype.real_bits == 16, 1 + p.dtype.is_complex
    steps = -(-p.k * (pairs if halves else 1) // (16 if halves else 4))
    # Instructions of 16 x 8 products: two for a complex number of 16 bits, four for one of float64.
    products = rows * cols / 128 * (pairs if halves else pairs**2)
    fragments = (rows + cols) / 8 * (2 if halves else 1) * pairs
    panel = (rows if long_m(p) else cols) / 8 * (2 if halves else 1) * pairs
    anywhere = units(p)[0 if long_m(p) else 1] < WIDEST
    issued = fragments * x["step"] + x["anywhere"] * panel * anywhere + products * (1 if halves else 2)
    pipes = steps * products * (2 if halves else 4)
    passes = p.k * (rows + cols) * max(p.dtype.itemsize / 4, 0.5) / 32
    # Where parts do not divide a tile each row is asked whether it lies inside, again of what is read of C.
    lengthwise = rows if long_m(p) else cols
    asked = 1 + x["ragged"] * (columns["tile"] % lengthwise != 0) * (1 + (p.beta != "0"))
    return asked * (x["part"] + steps * issued), pipes, x["reads"] * passes


def cost(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of an SM for a row of the panel, with the constants of the device."""
    found, least, shares = _judged(p, device, columns, fitted("panel", device))
    found = found * grids.slower(p, device, columns, tiles(p, columns["tile"]), least, LIFE)
    gains = by_words(p, *(columns[name] for name in _LEAVING)) & (_written(p) >= WRITTEN)
    found = found * np.where(columns.get("sectors", 0) == 0, 1.0, np.where(gains, SECTORED, 1.01))
    return found * np.where(columns.get("tickets", 0) == 0, 1.0, np.where(shares, grids.GAIN, 1.02))
