"""The choice without a search: a cost model of inner's kernel.

It proposes parts, slabs and rings and says how many clocks of an SM a tile of C takes with each; the rules of
the space say which of them may be. Its constants, fitted to timed configs, are in ``data/inner.json``. Sizes
are in elements, shared memory in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda.common import WIDEST, cheapest, fitted, resident, units
from tilewright.stencils.cuda.inner.needs import (
    GRAIN,
    PATHS,
    along,
    deep,
    extents,
    inside,
    long,
    registers,
    shared_bytes,
    stage_bytes,
    streams,
    team,
    tiles,
    unit_k,
    vector,
    words_of_sum,
)
from tilewright.stencils.cuda.inner.space import DEPTHS, MOST, OF_LONG, PER_SM, SPLITS, SPREADS, TILES
from tilewright.stencils.cuda.tiny.space import sides

Columns = dict[str, Any]
_RINGS = ((1, 2, 3, 4, 6, 8), (2, 3, 4, 6))
"""Warps and stages of the rings that are proposed."""
_STAGES = (1 << 10, 1 << 15)
"""Bytes of the stages that are, where k and the extents allow it."""


def best(space: Space, p: Problem, device: Device) -> Config:
    """The cheapest of many configs; where no ring keeps memory busy, of those that the hardware can run."""
    x = fitted("inner", device)
    columns = _candidates(p, device, x)
    cost = clocks(p, device, columns, x)
    found = cheapest(space, columns, cost) or cheapest(space, columns, cost, (*HARDWARE, "hard"))
    if found is None:
        raise AssertionError(f"no config of inner fits {p.key}, which it accepts")
    return found


def _parts(p: Problem, x: Mapping[str, Any]) -> Iterator[tuple[int, int, int, int]]:
    """Parts of C worth a thought, as mma, tile, rows, columns."""
    if long(p) and min(p.m, p.n) == 1:
        for tile in TILES:
            for side in (1, 2, 4, MOST):
                yield (0, tile, side, 1) if long(p) == 1 else (0, tile, 1, side)
        return
    for tile in TILES if long(p) else (0,):
        yield from _parts_of(p, tile, x)


def _parts_of(p: Problem, tile: int, x: Mapping[str, Any]) -> Iterator[tuple[int, int, int, int]]:
    """Parts of a tile of C that has several rows and columns."""
    m, n = extents(p, tile)
    if p.dtype.real_bits != 32 and min(m, n) > 1:
        for mma in (16,) if p.dtype.real_bits == 16 else (8, 16):
            high, wide = -(-m // mma), -(-n // 8)
            for down in {-(-high // pieces) for pieces in (1, 2, 4)}:
                for over in {-(-wide // pieces) for pieces in (1, 2, 4)}:
                    if down * over * mma * 8 * words_of_sum(p) <= 96 * 32:
                        yield mma, tile, down * mma, over * 8
    most = x["sums"] // words_of_sum(p)
    heights = [side for side in (OF_LONG if long(p) == 1 else sides(m)) if side <= min(m, x["side"])]
    widths = [side for side in (OF_LONG if long(p) == 2 else sides(n)) if side <= min(n, x["side"])]
    of_threads = np.array([(0, tile, r, c) for r in heights for c in widths if r * c <= most])
    found = dict(zip(("mma", "tile", "rows", "columns"), of_threads.T, strict=True))
    # Those by which a k takes a block's threads the shortest time.
    f, k = _fma(p, found), inside(p, **found) * deep(p, found["mma"], found["rows"], found["columns"])
    cost = np.maximum((f["steps"] + f["loads"] + f["arithmetic"]) / 4, f["reads"] + f["odd reads"])
    cost = cost * team(p, **found) / k
    for at in np.argsort(cost, kind="stable")[: x["parts"]]:
        yield tuple(of_threads[at])


def _candidates(p: Problem, device: Device, x: Mapping[str, Any]) -> Columns:
    part = np.array(list(dict.fromkeys(_parts(p, x))))
    paths = [path for path in PATHS if path != "bulk" or "bulk_copy" in device.supports]
    depths = [depth for depth in DEPTHS if depth * p.dtype.itemsize % WIDEST == 0]
    # Where there are fewer tiles than keep all of the device busy, several blocks may share one.
    alone = tiles(p, TILES[0]) >= 4 * device["sms"]
    splits = np.array(SPLITS if "clusters" in device.supports and not alone else (1,))
    shared_out = np.arange(1 if alone else 2)
    axes = np.arange(len(part)), np.arange(len(paths)), np.array(depths), *map(np.array, _RINGS), splits
    grid = np.meshgrid(*axes, shared_out, indexing="ij")
    which, path, depth, warps, stages, split, far = (axis.ravel() for axis in grid)
    mma, tile, rows, columns = part[which].T
    stage = stage_bytes(p, mma, tile, depth, rows, columns)
    least = depths[0] if p.dtype.real_bits != 16 else GRAIN
    enough = min(d for d in depths if d >= min(p.k, depths[-1]))
    kept = (stage >= _STAGES[0]) | (depth == enough)
    kept &= (stage <= _STAGES[1]) | (depth == least)
    kept &= (split == 1) | (depth * stages * split <= p.k)
    kept &= (depth <= enough) & (warps % team(p, mma, tile, rows, columns) == 0)
    found = {"path": np.array(paths)[path], "mma": mma, "tile": tile, "depth": depth, "rows": rows}
    found |= {"columns": columns, "warps": warps, "stages": stages, "split": split, "spread": far}
    found = {name: column[kept] for name, column in found.items()}
    # The compiler takes more registers than the loop needs, for reads ahead.
    needed = registers(p, found["mma"], found["rows"], found["columns"])
    needed = (x["registers"] * needed).astype(int) + x["registers_beside"]
    names = ("path", "mma", "tile", "depth", "rows", "columns", "warps", "stages")
    shared = shared_bytes(p, *(found[name] for name in names))
    held = np.minimum(resident(shared, needed, found["warps"], device), x["blocks"])
    found["blocks"] = np.array((0, *PER_SM))[np.searchsorted(PER_SM, held, side="right")] * device["sms"]
    # As many clusters share a tile as fill the grid, and have rings to fill.
    most = found["blocks"] * _placed(found["split"]) // (tiles(p, found["tile"]) * found["split"])
    most = np.minimum(most, p.k // (found["depth"] * found["stages"] * found["split"]))
    fitting = np.array((1, *SPREADS))[np.searchsorted(SPREADS, most, side="right")]
    left = (found["spread"] == 0) | (fitting > 1)
    found["spread"] = np.where(found["spread"] == 0, 1, fitting)
    return {name: column[left] for name, column in found.items()}


def _placed(split: Any) -> Any:
    """The part of the SMs that clusters of so many blocks have room on: parts of a GPU of 14 to 18 SMs have
    fewer whole clusters than SMs. (On an H200 16 clusters of 8 blocks, one to an SM, took two rounds.)"""
    return 1 - np.where(split > 1, 0.01 * split**1.3, 0)


def clocks(p: Problem, device: Device, columns: Columns, x: Mapping[str, Any]) -> Any:
    """Clocks of all SMs for the batch, by tensor cores and by multiply-add units."""
    found = np.full(len(columns["mma"]), np.inf)
    for mma, name in ((False, "fma"), (True, "mma")):
        some = ((columns["mma"] != 0) == mma) & (columns["blocks"] > 0)
        if some.any():
            counted = counts(p, device, {n: c[some] for n, c in columns.items()})
            found[some] = summed(counted, x[f"{name} {p.dtype.real_bits}"])
    return found


def summed(f: Mapping[str, Any], x: Mapping[str, float]) -> Any:
    """Clocks by what was counted: what moving the operands of a tile takes, and what multiplying them does,
    of which the longer counts most; and what the blocks of an SM wait, each for itself."""
    power = x["power"]
    of_turn = x["step"] * f["steps"] + x["load"] * f["loads"] + x["widen"] * f["widened"] + f["arithmetic"]
    issued = f["turns"] * of_turn + x["piece"] * f["pieces"] + x["part"] + x["sum"] * f["sums"]
    issued = (issued + x["kept"] * f["kept"]) / 4
    reads = f["turns"] * (x["reads"] * f["reads"] + x["odd"] * f["odd reads"])
    busy = (issued**power + (f["turns"] * f["pipes"]) ** power + reads**power) ** (1 / power)
    busy = f["warps"] * busy * (1 + x["few"] / f["warps of an SM"])
    busy = busy + x["run"] * f["runs"] + x["word"] * f["words"] + x["word_run"] * f["runs of words"]
    memory = f["bytes"] / np.minimum(x["bytes"] * f["spread"], x["bytes_alone"])
    waited = (
        x["latency"] * f["pieces"]
        + x["latency_byte"] * f["bytes"]
        + x["finish"]
        + x["cluster"] * f["cluster"]
    )
    of_round = (memory**power + busy**power) ** (1 / power) + waited / f["blocks of an SM"]
    return of_round * f["rounds"] + x["meeting"] * f["meeting"]


def counts(p: Problem, device: Device, columns: Columns) -> Columns:
    """What the clocks of configs of one kind are made of: of a block's part of a tile; ``rounds``: how often
    an SM has one."""
    mma, tile, depth, warps = (columns[name] for name in ("mma", "tile", "depth", "warps"))
    rows, cols, split = columns["rows"], columns["columns"], columns["split"] * columns["spread"]
    bulk, (m, n), sms = columns["path"] == "bulk", extents(p, tile), device["sms"]
    # Blocks of an SM, as many as there is work for.
    shares = tiles(p, tile) * split
    per_sm = np.clip(columns["blocks"] / sms, 1, np.maximum(1, shares / sms))
    k = -(-p.k // split)
    pieces = -(-k // depth)
    grain = np.minimum(depth, GRAIN)
    step = (k + pieces * grain - 1) // (pieces * grain) * grain
    moved = k * (m * (p.strides[0] != 0) + n * (p.strides[1] != 0)) + m * n * (1 + (p.beta != "0")) / split
    moved = moved * p.dtype.itemsize
    runs = pieces * sum(
        np.where(stream, 1, extent if is_along else step)
        for extent, is_along, stream in zip((m, n), along(p), streams(p), strict=True)
    )
    own_part = {"mma": mma, "tile": tile, "rows": rows, "columns": cols}
    groups, often = warps // team(p, **own_part), inside(p, **own_part)
    if mma.any():
        turn, of_turn = _TURN[p.dtype.letter], _tensor(p, columns)
    else:
        turn, of_turn = deep(p, mma, rows, cols) * often, _fma(p, columns)
    sums = rows * cols * words_of_sum(p) / np.where(mma == 0, 1, 32)
    return of_turn | {
        "turns": pieces * -(-step // (groups * turn)),
        "pieces": pieces,
        # Sums of lanes, then of groups of warps, and the way of C.
        "sums": sums * (1 + np.ceil(np.log2(often))),
        "kept": m * n / (32 * warps) * (4 + groups * words_of_sum(p)),
        "runs": np.where(bulk, runs, 0),
        "runs of words": np.where(bulk, 0, runs),
        "words": np.where(bulk, 0, moved / WIDEST),
        "bytes": moved,
        "spread": np.maximum(1, sms / shares),
        "cluster": columns["split"] > 1,
        # What the last blocks of a tile wait for and add, some loads at a time.
        "meeting": (columns["spread"] > 1)
        * (1 + columns["spread"] / 16 * -(-m * n // (32 * warps * columns["split"]))),
        "warps": warps,
        "warps of an SM": warps * per_sm,
        "blocks of an SM": per_sm,
        "rounds": np.ceil(shares / np.minimum(shares, per_sm * sms)) * per_sm,
    }


_TURN = {"h": 16, "b": 16, "hc": 8, "d": 4, "z": 4}
"""k of a step of tensor cores, by type."""


def _fma(p: Problem, columns: Columns) -> Columns:
    """What a warp does in a turn of its threads in k: instructions, clocks, passes of shared memory."""
    rows, cols, tile = columns["rows"], columns["columns"], columns["tile"]
    size, zero = p.dtype.itemsize, np.zeros_like(rows)
    vk, (m, n) = deep(p, zero, rows, cols), extents(p, tile)
    across, often = (-(-m // rows), -(-n // cols)), inside(p, zero, tile, rows, cols)
    loads, reads, odd = 0.0, 0.0, 0.0
    for which, (extent, part) in enumerate(((m, rows), (n, cols))):
        is_along, unit = along(p)[which], units(p)[which]
        v = vk if is_along else vector(p, unit, extent, part)
        some = part if is_along else vk * part / v
        passes = some * np.maximum(
            1.0, np.minimum(32, np.minimum(32, across[which]) * often) * v * size / 128
        )
        loads = loads + some
        reads, odd = (reads, odd + passes) if is_along and unit < WIDEST else (reads + passes, odd)
    products = vk * rows * cols * (4 if p.dtype.is_complex else 1)
    return {
        "steps": vk,
        "loads": loads,
        "widened": vk * (rows + cols) * (p.dtype.real_bits == 16) * (1 + p.dtype.is_complex),
        "arithmetic": products,
        "pipes": products * (2 if p.dtype.real_bits == 64 else 1) / 4,
        "reads": reads,
        "odd reads": odd,
    }


def _tensor(p: Problem, columns: Columns) -> Columns:
    """The same of a warp with tensor cores, for a step of them."""
    rows, cols = columns["rows"], columns["columns"]
    pairs, halves = 1 + p.dtype.is_complex, p.dtype.real_bits == 16
    loads, odd = 0.0, 0.0
    m, n = extents(p, columns["tile"])
    for which, (extent, part) in enumerate(((m, rows), (n, cols))):
        # Registers of fragments, and the loads that each of them takes.
        even = along(p)[which] and units(p)[which] % 4 == 0 and unit_k(p) % 2 == 0
        held = np.minimum(part, -(-extent // 8) * 8) / 8 * (2 if halves else 1)
        held = held * (2 if p.dtype.letter in "hb" and not even else 1)
        is_odd = along(p)[which] and units(p)[which] < WIDEST
        loads, odd = (loads, odd + held) if is_odd else (loads + held, odd)
    products = rows * cols / 128 * (pairs if halves else pairs**2)
    wide = max(1, p.dtype.itemsize / 4)
    return {
        "steps": np.ones_like(products),
        "loads": loads + odd,
        "widened": 0.0,
        "arithmetic": products * (1 if halves else np.where(columns["mma"] == 8, 2, 1)),
        "pipes": products * (2 if halves else 4),
        "reads": wide * loads,
        "odd reads": wide * odd,
    }


def cost(p: Problem, device: Device, columns: Columns) -> Any:
    """Clocks of all SMs for the batch, with the constants of the device."""
    return clocks(p, device, columns, fitted("inner", device))
