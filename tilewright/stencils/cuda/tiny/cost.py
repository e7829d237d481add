"""The choice without a search: a cost model of tiny.cuh.

It proposes tiles and rings and says what each costs; the rules of the space say which of them may be. Its
constants are in ``data/tiny.json``. Sizes are in elements, shared memory in bytes. Functions on configs work
on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import Space
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.common import cheapest, fitted, resident
from tilewright.stencils.cuda.tiny import nest_cost
from tilewright.stencils.cuda.tiny.needs import (
    LARGEST,
    PER_SM,
    busy,
    eights,
    meeting,
    moved_bytes,
    registers,
    rounds,
    shared_bytes,
    spaced,
    stacks,
    steps,
    tiles,
    turning,
    vector,
    whole,
)
from tilewright.stencils.cuda.tiny.space import bulk_pays, groups, is_crowded, sides

Columns = dict[str, Any]
_TILE = ("mma", "rows", "columns")
# The better way into shared memory first.
_PATHS = ("bulk", "async")
_WARPS = np.array((1, 2, 4, 6, 8))
_STAGES = np.array((2, 3, 4))
# Tiles of a group that a thread has, or a warp with tensor cores.
_TURNS, _TURNS_MMA = np.array((1, 2, 4, 8)), np.array((1, 2, 3, 4, 8, 16))
_UNCHOSEN = {"several": 1, "direct": 0, "reuse": 0, "odd": 0, "pad": 0, "evict": 0}


def best(space: Space, p: Problem, device: Device) -> Config:
    """The best of a few rings for a good tile, by how busy they keep memory and threads; with bulk copies
    where there is one."""
    x = fitted("tiny", device)
    usual = _usual(space, p, device, x)
    if p.outer and bulk_pays(p, device) and not _tensor_first(p, x):
        usual = nest_cost.best(space, p, device, x, usual)
    if usual is not None and p.outer and usual["path"] == "bulk":
        return Config({**usual, "reuse": int(nest_cost.reuses(p, usual["group"]))})
    if usual is not None:
        return usual
    # No ring that keeps memory busy: without one.
    plain = {"path": "plain", "mma": 0, "rows": 1, "columns": 1, "warps": 4, "group": 1, "stages": 1}
    plain |= {"across": 0, "turn": 0, "blocks": 4 * device["sms"]}
    return Config(plain | _UNCHOSEN)


def ended(p: Problem, device: Device, config: Config) -> Config:
    """A config with the groups of a block, where blocks had better end. (Along several batch axes they were
    0.976 times as fast in the mean of 56 batches on an H200.)"""
    if p.outer or config["path"] == "plain":
        return Config({**config, "per_block": 0})
    least = _least(p, device, config, fitted("tiny", device))
    return grids.ended(p, device, config, rounds(p, config["group"], config["path"]), int(least))


def _usual(space: Space, p: Problem, device: Device, x: Mapping[str, Any]) -> Config | None:
    """A good tile and its best ring, in the better way into shared memory that there is."""
    tile, known = _tiles(space, p, x), _groups(space, p, device)
    # Along several axes the other model has these.
    alone = not p.outer and not tile["mma"][0] and bulk_pays(p, device)
    odd = nest_cost.odd_columns(p, x) if alone else 0
    if odd:
        words = {"mma": np.array([0]), "rows": np.array([p.m]), "columns": np.array([odd])}
        found = _ring(space, p, device, x, words, known, 1)
        if found is not None:
            return found
    return _ring(space, p, device, x, tile, known, 0)


def _ring(
    space: Space,
    p: Problem,
    device: Device,
    x: Mapping[str, Any],
    tile: Columns,
    known: Mapping[str, Any],
    odd: int,
) -> Config | None:
    """The best ring for some tiles, by the first of the ways into shared memory that have one."""
    for path in _PATHS:
        if len(known[path]):
            direct = int(path == "bulk" and bool(tile["mma"][0]) and _by_hand(p))
            ring = space.restricted(path=path, **(_UNCHOSEN | {"direct": direct, "odd": odd}))
            columns = _rings(p, device, path, tile, known[path], x, direct, odd)
            columns["across"] = _across(p, columns)
            score = _score(p, device, path, columns, x)
            if not p.outer:
                count, least = rounds(p, columns["group"], path), _least(p, device, columns, x)
                score = score / grids.hoped(p, device, columns["blocks"], count, least)
            found = cheapest(ring, columns, -score)
            if found is not None:
                return found
    return None


# -- tiles -------------------------------------------------------------------------------------------------
def _tiles(space: Space, p: Problem, x: Mapping[str, Any]) -> Columns:
    """A few tiles: much work for each load, little of it wasted. Tensor cores where they pay and may be."""
    part = space.part(_TILE)
    for some in _tensor_tiles(p, x):
        columns = dict(zip(_TILE, np.array(some).T, strict=True))
        left = part.allowed(columns)
        if left.any():
            return {name: column[left] for name, column in columns.items()}
    return _thread_tiles(part, p, x)


def _tensor_tiles(p: Problem, x: Mapping[str, Any]) -> Iterator[list[tuple[int, int, int]]]:
    """Tiles of tensor cores, the better ones first; none where arithmetic units are the better choice."""
    size, halves = p.dtype.itemsize, p.dtype.real_bits == 16
    # Multiply-adds for each element that is moved: what tensor cores save must outweigh their padding, and
    # reads of single halves where k is odd.
    dense = p.m * p.n * p.k / (p.m * p.k + p.k * p.n + p.m * p.n)
    padding = -(-p.m // 8) * 8 * -(-p.n // 8) * 8 / (p.m * p.n)
    if halves:
        pays = (min(p.m, p.n, p.k) >= x["halves"] or dense >= x["halves_dense"]) and (
            dense >= x["halves_single"] or p.k * size % 4 == 0
        )
    else:
        pays = min(p.m, p.n) >= x["doubles"] or (
            dense >= x["doubles_dense"] and padding <= x["doubles_padding"]
        )
    if not pays or p.dtype.real_bits == 32:
        return
    longest = x["longest"] if size <= 8 else x["longest_pairs"]
    columns = min(-(-p.n // 8) * 8, longest)
    # Products of 16 rows where they are as full as those of 8.
    full = halves or -(-p.m // 16) * 2 == -(-p.m // 8)
    if p.outer:
        yield [_tensor_tile(p, x)]
    for mma in (16, 8) if full else (8,):
        rows = min(-(-p.m // mma) * mma, x["longest"])
        yield [(mma, rows, columns), (mma, rows, -(-columns // 16) * 8)]
        # Where too much of these lies outside C.
        yield [(mma, rows, 8)]


def _tensor_tile(p: Problem, x: Mapping[str, Any]) -> tuple[int, int, int]:
    """The tile of a batch along several axes: all of C by one warp, or half of one that takes too many
    registers."""
    rows, columns = -(-p.m // 16) * 16, min(-(-p.n // 8) * 8, x["longest"])
    if p.dtype.real_bits == 16:
        return 16, min(rows, x["longest"]), columns
    # Lanes that would meet in banks ask for four fragments of A in as many orders.
    if meeting(p)[0] and rows % 32 == 0:
        if p.dtype.letter == "d":
            return 16, 32, columns
        if columns % 16 == 0:
            return 16, 32, x["longest_pairs"]
    return 16, 16, columns


def _tensor_first(p: Problem, x: Mapping[str, Any]) -> bool:
    """Whether tensor cores with one product are the better choice for a batch along several axes: not for odd
    matrices of 16 bits, of which they take eight at a time, and in float64 not for small matrices, where
    little but C is moved, unless lanes take turns that would meet in banks. (On an H200 threads with several
    products were 1.2 times as fast with 16 rows as lanes that did meet.)"""
    if stacks(p) and eights(p):
        return False
    small = p.dtype.letter == "d" and p.m * p.n <= x["nest_doubles"] and _writes(p) and not any(meeting(p))
    return not small and any(True for _ in _tensor_tiles(p, x))


def _by_hand(p: Problem) -> bool:
    """Whether the warps of tensor cores write the C of a batch along several axes themselves: where little
    else is moved, or C is large. (On an H200 this was 1.05 to 1.3 times as fast.)"""
    return bool(p.outer) and (_writes(p) or (p.dtype.real_bits == 64 and p.m * p.n > 256))


def _writes(p: Problem) -> bool:
    """Whether most of what a batch moves is C."""
    return p.m * p.n * p.dtype.itemsize >= 0.8 * p.bytes


def _thread_tiles(part: Space, p: Problem, x: Mapping[str, Any]) -> Columns:
    """Tiles of a thread: those of the least work, and smaller ones."""
    m, n, size = p.m, p.n, p.dtype.itemsize
    # Whole matrices while they are few numbers; else as many sums as hide the loads.
    words = max(size // 4, 1)
    most = x["sums_whole"] if m * n * words <= x["sums"] else x["sums"]
    rows, columns = (
        np.array([side for side in sides(extent) if side <= x["side"]], int) for extent in (m, n)
    )
    rows, columns = rows.repeat(len(columns)), np.tile(columns, len(rows))
    left = part.allowed({"mma": 0, "rows": rows, "columns": columns}) & (rows * columns * words <= most)
    rows, columns = rows[left], columns[left]
    cost = -(-m // rows) * rows * -(-n // columns) * columns * (1.0 + _reads(p, rows, columns))
    by_cost = np.argsort(cost, kind="stable")
    shapes = [(int(rows[at]), int(columns[at])) for at in by_cost]
    # More threads for each matrix, where few matrices fit.
    areas = (rows * columns)[by_cost]
    small = [shapes[int(at[0])] for part in (2, 4) if len(at := np.flatnonzero(part * areas <= areas[0]))]
    known = x["few_conflicts"].get(str(size), {}).get(str(m)) if m == n else None
    chosen = dict.fromkeys([*([tuple(known)] if known else shapes[:2]), *small])
    return dict(zip(_TILE, np.array([(0, *shape) for shape in chosen] or [(0, 1, 1)]).T, strict=True))


def _deep(p: Problem) -> tuple[int, int]:
    """Elements of the widest words along the stored columns of A and B in shared memory, padding included."""
    deep = (
        vector(p.dtype.itemsize, gcd(rows, lead, step))
        for (rows, _), (lead, step) in zip(p.stored[:2], spaced(p), strict=False)
    )
    return next(deep), next(deep)


def _reads(p: Problem, rows: Any, columns: Any) -> Any:
    """Reads from shared memory for each multiply-add of a tile, by instructions and by width."""
    deep_m, deep_k = _deep(p)
    wide = 1 if p.transposed_a else np.minimum(deep_m, rows & -rows)
    return 2.0 / columns / wide + 2.0 / rows / deep_k


def _across(p: Problem, columns: Columns) -> Any:
    """1 where neighbouring threads work on neighbouring matrices: of batches along several axes, of which so
    little is read that reads from shared memory count, and where neighbours begin in different banks. (On an
    H200 this made products of 9 rows in ``c``, ``d`` and ``z`` 1.17 to 1.27 times as fast; of four bytes or
    two, and where matrices begin in the same banks, it gained nothing.)"""
    apart = all(step % 2 for step in steps(p)[:2] if step)
    several = (tiles(p, columns["rows"], columns["columns"]) > 1) & (columns["group"] >= 4)
    return (several & (columns["mma"] == 0) & bool(p.outer and apart and p.dtype.itemsize >= 8)).astype(int)


# -- rings -------------------------------------------------------------------------------------------------
def _groups(space: Space, p: Problem, device: Device) -> dict[str, Any]:
    """By the way into shared memory: the groups of which there are two or more for each SM. With less to
    move, one matrix after the other, by words; long ones as few as bulk copies take."""
    known = np.array(groups(p))
    columns = {"path": np.repeat(_PATHS, len(known)), "group": np.tile(known, len(_PATHS))}
    left = space.part(("path", "group")).allowed(columns).reshape(len(_PATHS), len(known))
    many = known * 2 * device["sms"] <= p.products
    long = max(p.extents) > LARGEST
    single = {"bulk": long & (known == whole(p)), "async": known == 1}
    return {path: known[some & (many | single[path])] for path, some in zip(_PATHS, left, strict=True)}


def _rings(
    p: Problem,
    device: Device,
    path: str,
    tile: Columns,
    known: Any,
    x: Mapping[str, Any],
    direct: int,
    odd: int,
) -> Columns:
    """Rings for each tile: most matrices that give every thread (or warp) so many tiles, or fewest, in as
    many blocks as an SM holds. ``known`` are the groups there are."""
    tensor = bool(tile["mma"][0])
    count = tiles(p, tile["rows"], tile["columns"])
    slots = _WARPS * (1 if tensor else 32)
    turns = _TURNS_MMA if tensor else _TURNS
    room = slots[None, :, None] * turns // count[:, None, None]
    place = np.searchsorted(known, room, side="right") - 1
    # The fewest come first, and no number of them twice.
    place = np.concatenate([np.zeros_like(place[..., :1]), place], axis=2)
    new = np.diff(place, axis=2, prepend=-1) > 0
    which, warps, _ = (axis.repeat(len(_STAGES)) for axis in new.nonzero())
    group, warps = known[place[new]].repeat(len(_STAGES)), _WARPS[warps]
    columns = {name: column[which] for name, column in tile.items()} | {"warps": warps, "group": group}
    columns["stages"] = np.tile(_STAGES, len(which) // len(_STAGES))
    # The compiler takes more registers than the loop needs, for reads ahead.
    needed = registers(p, columns["mma"], columns["rows"], columns["columns"], odd=odd)
    needed = (x["registers"] * needed).astype(int) + x["registers_beside"]
    shared = shared_bytes(p, path, group, columns["stages"], 0, direct)
    held = np.minimum(resident(shared, needed, warps, device), x["blocks"])
    columns["blocks"] = np.array((0, *PER_SM))[np.searchsorted(PER_SM, held, side="right")] * device["sms"]
    # Threads of different matrices begin in the same bank, where matrices are multiples of all banks: the
    # more matrices a warp works on, the worse. Lanes of tensor cores meet where columns begin in the same.
    turned = (count <= x["turn"]) & is_crowded(p) | (count <= x["turn_both"]) & is_crowded(p, all)
    apart = turning(p, tile["rows"], tile["columns"])
    columns["turn"] = (np.where(tile["mma"] == 0, turned, apart) & (odd == 0)).astype(int)[which]
    return columns


def _score(p: Problem, device: Device, path: str, columns: Columns, x: Mapping[str, Any]) -> Any:
    """How near rings come to the speed of memory: 1 is best.

    What the best of some 8,000 configs had in common on an H200: long copies, 100 KB on their way, few blocks
    on an SM. One block alone has nobody to multiply while it waits, which costs where multiplying takes as
    long as moving.
    """
    group, warps = columns["group"], columns["warps"]
    tile = columns["mma"], columns["rows"], columns["columns"]
    per_sm = np.maximum(columns["blocks"] // device["sms"], 1)
    stage = moved_bytes(p, group, 0, path)
    # Where words are moved by all threads, they take part in it.
    movers = x["movers_bulk"] if path == "bulk" and not spaced(p)[2][0] else x["movers"]
    flying = np.minimum(1.0, per_sm * columns["stages"] * stage / (x["flying"] * 1024))
    running = np.minimum(1.0, per_sm * warps / movers)
    used = busy(p, *tile, warps, group)
    long = np.minimum(stage, x["long"] * 1024)
    # The last round leaves part of the SMs idle.
    rounds = p.products / (group * per_sm * device["sms"])
    alone = np.where(per_sm == 1, x["lone"], 1 - x["crowd"] * (per_sm - 2))
    shape = long / (long + x["start"]) * rounds / (rounds + x["last"]) * alone
    powers = flying ** x["flying_power"] * running ** x["running_power"] * used ** x["used_power"]
    return powers * shape * _pace(p, tile, x)


def _pace(p: Problem, tile: tuple[Any, Any, Any], x: Mapping[str, Any]) -> Any:
    """How much of the speed of memory multiply-add units and reads from shared memory leave, by a tile."""
    mma, rows, columns = tile
    reads = _reads(p, rows, columns) + (1 / rows + 1 / columns) * max(1.0, p.dtype.itemsize / 8)
    each = (4 if p.dtype.is_complex else 1) * (2 if p.dtype.real_bits == 64 else 1)
    work = tiles(p, rows, columns) * rows * columns * p.k * each * (1 + reads)
    # Clocks of an SM, of arithmetic and of memory.
    slower = x["slow"] * work / x["units"] * x["bytes"] / p.bytes
    return np.where(mma != 0, 1.0, (1 + slower**2) ** -0.5)


def _least(p: Problem, device: Device, columns: Mapping[str, Any], x: Mapping[str, Any]) -> Any:
    """Blocks on an SM from which on they may end: two, but none where multiplying takes twice as long as
    moving."""
    mma, rows, cols = (columns[name] for name in _TILE)
    slow = _pace(p, (mma, rows, cols), x) ** 2 < 0.2
    return np.where(slow, device["blocks_per_sm"] + 1, grids.FEWEST)


def cost(p: Problem, device: Device, columns: Columns) -> Any:
    """The reciprocal of ``_score`` for any configs. It knows neither padding nor the order of tiles."""
    x, found = fitted("tiny", device), np.empty(len(columns["path"]))
    for path in dict.fromkeys(columns["path"].tolist()):
        some = columns["path"] == path
        part = {name: column[some] for name, column in columns.items()}
        found[some] = 1 / _score(p, device, path, part, x)
        least = _least(p, device, part, x)
        found[some] *= grids.slower(p, device, part, rounds(p, part["group"], path), least)
    return found
