"""The choice without a search: a cost model of tiny.cuh.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from math import gcd

from tilewright.model import Config, Device, Problem
from tilewright.stencils.cuda.common import IN_FLIGHT, resident
from tilewright.stencils.cuda.tiny.needs import (
    PER_SM,
    registers,
    shared_bytes,
    spaced,
    stage_bytes,
    stored,
    tiles,
    vector,
    whole,
)
from tilewright.stencils.cuda.tiny.space import bulk_pays, groups, is_crowded, most_turns, sides


def best(p: Problem, device: Device) -> Config:
    """The best of a few rings for a good tile, by how busy they keep memory and threads."""
    least, sms = whole(p), device["sms"]
    bulk = bulk_pays(p, device)
    most = max(1, p.batch // (2 * sms))
    for path in ("bulk", "async") if bulk else ("async",):
        fitting = [g for g in groups(p) if g <= most and (path == "async" or g % least == 0)]
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
                    if group and group * count <= most_turns(tile[0]) * warps * slots:
                        found += _rings(p, device, path, tile, warps, group)
        if found:
            return max(found, key=lambda pair: pair[0])[1]
    # No ring that keeps memory busy: without one.
    return _config("plain", (0, 1, 1), 4, 1, 1, 4 * sms)


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
        vector(p.dtype.itemsize, gcd(rows, lead, step))
        for (rows, _), (lead, step) in zip(stored(p)[:2], spaced(p), strict=False)
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
        for rows in sides(m)
        for columns in sides(n)
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
    few = items <= 2 * group and is_crowded(p)
    turn = int(not mma and (few or (items <= 10 * group and is_crowded(p, all))))
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
