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
    length,
    long,
    parts,
    registers,
    shared_bytes,
    stage_bytes,
    streams,
    team,
    vector,
    words_of_sum,
)
from tilewright.stencils.cuda.inner.space import DEPTHS, MOST, PER_SM, SPLITS, TILES, bulk_takes
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
    if long(p):
        for tile in TILES:
            for side in (1, 2, 4, MOST):
                yield (0, tile, side, 1) if long(p) == 1 else (0, tile, 1, side)
        return
    if p.dtype.real_bits != 32 and min(p.m, p.n) > 1:
        rows = (16,) if p.dtype.real_bits == 16 else (8, 16)
        for mma in rows:
            high, wide = -(-p.m // mma), -(-p.n // 8)
            for down in {-(-high // pieces) for pieces in (1, 2, 4)}:
                for over in {-(-wide // pieces) for pieces in (1, 2, 4)}:
                    if down * over * mma * 8 * words_of_sum(p) <= 96 * 32:
                        yield mma, 0, down * mma, over * 8
    most = x["sums"] // words_of_sum(p)
    heights = [side for side in sides(p.m) if side <= min(p.m, x["side"])]
    widths = [side for side in sides(p.n) if side <= min(p.n, x["side"])]
    of_threads = np.array([(0, 0, r, c) for r in heights for c in widths if r * c <= most])
    # Those of the fewest instructions for an element of C.
    found = dict(zip(("mma", "tile", "rows", "columns"), of_threads.T, strict=True)) | {
        "warps": np.full(len(of_threads), 8),
    }
    issued, reads = _fma(p, found, x["fma"])
    busy = parts(p, 0, found["rows"], found["columns"])
    lanes = np.where(busy < 32, 32 // np.minimum(busy, 32) * busy / 32, busy / (-(-busy // 32) * 32))
    cost = np.maximum(issued / 4, reads) * np.maximum(busy / 32, busy * lanes / 32) / lanes
    for at in np.argsort(cost / np.maximum(1, inside(p, 0, 0, found["rows"], found["columns"])))[: x["parts"]]:
        yield tuple(of_threads[at])


def _candidates(p: Problem, device: Device, x: Mapping[str, Any]) -> Columns:
    part = np.array(list(dict.fromkeys(_parts(p, x))))
    paths = [path for path in PATHS if path != "bulk" or ("bulk_copy" in device.supports and bulk_takes(p))]
    depths = [depth for depth in DEPTHS if depth * p.dtype.itemsize % WIDEST == 0]
    # Where there are fewer tiles than keep all of the device busy, several blocks may share one.
    alone = "clusters" not in device.supports or _tiles(p, TILES[0]) >= 4 * device["sms"]
    splits = np.array((1,) if alone else SPLITS)
    axes = np.arange(len(part)), np.arange(len(paths)), np.array(depths), *map(np.array, _RINGS), splits
    which, path, depth, warps, stages, split = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    mma, tile, rows, columns = part[which].T
    stage = stage_bytes(p, depth, tile)
    least = depths[0] if p.dtype.real_bits != 16 else GRAIN
    enough = min(d for d in depths if d >= min(p.k, depths[-1]))
    kept = (stage >= _STAGES[0]) | (depth == enough)
    kept &= (stage <= _STAGES[1]) | (depth == least)
    kept &= (split == 1) | (depth * stages * split <= p.k)
    kept &= (depth <= enough) & (warps % team(p, mma, tile, rows, columns) == 0)
    found = {"path": np.array(paths)[path], "mma": mma, "tile": tile, "depth": depth, "rows": rows}
    found |= {"columns": columns, "warps": warps, "stages": stages, "split": split}
    found = {name: column[kept] for name, column in found.items()}
    # The compiler takes more registers than the loop needs, for reads ahead.
    needed = registers(p, found["mma"], found["rows"], found["columns"])
    needed = (x["registers"] * needed).astype(int) + x["registers_beside"]
    names = ("path", "mma", "tile", "depth", "rows", "columns", "warps", "stages")
    shared = shared_bytes(p, *(found[name] for name in names))
    held = np.minimum(resident(shared, needed, found["warps"], device), x["blocks"])
    found["blocks"] = np.array((0, *PER_SM))[np.searchsorted(PER_SM, held, side="right")] * device["sms"]
    return found


def clocks(p: Problem, device: Device, columns: Columns, x: Mapping[str, Any]) -> Any:
    """Clocks of an SM for a tile of C: what moving its operands takes, and what multiplying them does, of which
    the longer counts most; and what the blocks of an SM wait, each for itself."""
    f = features(p, device, columns, x)
    power = x["power"]
    busy = (f["issued"] ** power + f["pipes"] ** power + f["reads"] ** power) ** (1 / power)
    busy = busy * (1 + x["few"] / f["warps"]) + f["copied"]
    found = ((f["memory"] ** power + busy**power) ** (1 / power) + f["waited"]) * f["turns"]
    return np.where(columns["blocks"] > 0, found, np.inf)


def _tiles(p: Problem, tile: Any) -> Any:
    """Tiles of C of the whole batch."""
    return p.batch * -(-length(p) // tile) if long(p) else p.batch


def features(p: Problem, device: Device, columns: Columns, x: Mapping[str, Any]) -> Columns:
    """What the clocks of a tile are made of."""
    mma, tile, depth, warps = (columns[name] for name in ("mma", "tile", "depth", "warps"))
    rows, cols = columns["rows"], columns["columns"]
    bulk, split = columns["path"] == "bulk", columns["split"]
    # Blocks of an SM, as many as there is work for, and how often each SM has that many.
    shares = _tiles(p, tile) * split
    per_sm = np.clip(columns["blocks"] / device["sms"], 1, np.maximum(1, shares / device["sms"]))
    turns_of_sm = np.ceil(shares / np.minimum(shares, per_sm * device["sms"])) * per_sm
    bytes_each = np.minimum(x["bytes"] * np.maximum(1, device["sms"] / shares), x["bytes_alone"])
    m, n = extents(p, tile)
    size, words = p.dtype.itemsize, words_of_sum(p)
    k = -(-p.k // split)
    pieces = -(-k // depth)
    step = -(-(-(-k // pieces)) // np.minimum(depth, GRAIN)) * np.minimum(depth, GRAIN)
    operands = k * (m * (p.strides[0] != 0) + n * (p.strides[1] != 0))
    moved = (operands + m * n * (2 if p.beta != "0" else 1) / split) * size
    every_fma, every_mma = _fma(p, columns, x["fma"]), _tensor(p, columns, x["mma"])
    groups = warps // team(p, mma, tile, rows, cols)
    deep_fma = deep(p, mma, rows, cols) * inside(p, mma, tile, rows, cols)
    deep_mma = 4 if size > 4 else (8 if p.dtype.is_complex else 16)
    turns = pieces * -(-step // (groups * np.where(mma == 0, deep_fma, deep_mma)))
    kind = {name: np.where(mma == 0, x["fma"][name], x["mma"][name]) for name in ("part", "piece")}
    issued = np.where(mma == 0, every_fma[0], every_mma[0]) * turns + kind["piece"] * pieces
    # Sums of lanes, then of groups of warps, and the way of C.
    each = rows * cols * words / np.where(mma == 0, 1, 32)
    halvings = np.ceil(np.log2(inside(p, mma, tile, rows, cols)))
    issued = issued + kind["part"] + each * (2 + 3 * halvings) + m * n / (32 * warps) * (x["kept"] + groups * words)
    pipes = turns * np.where(mma == 0, _fma_pipes(p, columns), _tensor_pipes(p, columns))
    reads = turns * np.where(mma == 0, every_fma[1], every_mma[1])
    runs = sum(
        np.where(stream, 1, step * 0 + extent if is_along else step)
        for extent, is_along, stream in zip((m, n), along(p), streams(p), strict=True)
    )
    copied = np.where(bulk, x["run"] * runs * pieces, x["word"] * moved / WIDEST + x["word_run"] * runs * pieces)
    waited = (x["latency"] * pieces + x["latency_byte"] * moved + x["finish"]) / per_sm
    waited = waited + (split > 1) * x["cluster"] / per_sm
    return {
        "memory": moved / bytes_each,
        "issued": warps * issued / 4,
        "pipes": warps * pipes,
        "reads": x["reads"] * warps * reads,
        "copied": copied,
        "waited": waited,
        "warps": warps * per_sm,
        "turns": turns_of_sm / device["sms"],
    }


def _fma(p: Problem, columns: Columns, x: Mapping[str, float]) -> tuple[Any, Any]:
    """Instructions that a warp issues for a turn of its threads in k, and clocks of shared memory."""
    rows, cols, tile = columns["rows"], columns["columns"], columns["tile"]
    size, zero = p.dtype.itemsize, np.zeros_like(rows)
    vk, (m, n) = deep(p, zero, rows, cols), extents(p, tile)
    across = -(-m // rows), -(-n // cols)
    lanes = inside(p, zero, tile, rows, cols)
    issued, reads = vk * x["step"], vk * 0.0
    for which, (extent, part) in enumerate(((m, rows), (n, cols))):
        v = vk if along(p)[which] else vector(p, units(p)[which], extent, part)
        loads = part if along(p)[which] else vk * part / v
        distinct = np.minimum(32, np.minimum(32, across[which]) * lanes) * v * size
        crowded = x["anywhere"] if along(p)[which] and units(p)[which] < WIDEST else 1
        issued = issued + loads + (vk * part * x["widen"] if p.dtype.real_bits == 16 else 0)
        reads = reads + loads * np.maximum(1.0, distinct / 128) * crowded
    return issued + vk * rows * cols * (4 if p.dtype.is_complex else 1), reads


def _fma_pipes(p: Problem, columns: Columns) -> Any:
    """Clocks of the multiply-add units of an SM for a turn of a warp."""
    rows, cols = columns["rows"], columns["columns"]
    vk = deep(p, np.zeros_like(rows), rows, cols)
    return vk * rows * cols * (4 if p.dtype.is_complex else 1) * (2 if p.dtype.real_bits == 64 else 1) / 4


def _tensor(p: Problem, columns: Columns, x: Mapping[str, float]) -> tuple[Any, Any]:
    """The same of a warp with tensor cores, for a step of them."""
    rows, cols = columns["rows"], columns["columns"]
    pairs, halves = 1 + p.dtype.is_complex, p.dtype.real_bits == 16
    # Registers of fragments, and the loads that each of them takes.
    held = (rows + cols) / 8 * (2 if halves else 1)
    loads = held * (2 if halves and not p.dtype.is_complex else 1)
    products = rows * cols / 128 * (pairs if halves else pairs**2 * np.where(columns["mma"] == 8, 2, 1))
    return x["step"] + loads * x["load"] + products, loads * max(1, p.dtype.itemsize / 4)


def _tensor_pipes(p: Problem, columns: Columns) -> Any:
    """Clocks of the tensor cores of an SM for a step of a warp."""
    pairs, halves = 1 + p.dtype.is_complex, p.dtype.real_bits == 16
    return columns["rows"] * columns["columns"] / 128 * (2 * pairs if halves else 4 * pairs**2)
