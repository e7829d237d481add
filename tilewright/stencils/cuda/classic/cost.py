"""The choice without a search: a cost model of classic.cuh, over candidates that the rules allow.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import product
from typing import Any

import numpy as np

from tilewright.model import Config, Device, Problem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda.classic.needs import NONE, registers, resident, shared_bytes, widest, words
from tilewright.stencils.cuda.classic.slow import of_idle_sms
from tilewright.stencils.cuda.classic.space import general_rules, params
from tilewright.stencils.cuda.common import fitted

# For elements of 4, 8 and 16 bytes: threads along m and n, the step of k, rows and columns of the tile of C.
_TILES: dict[int, tuple[tuple[int, int, int, int, int], ...]] = {
    4: (
        (16, 16, 8, 128, 128),
        (16, 16, 16, 128, 128),
        (16, 16, 8, 256, 128),
        (16, 16, 8, 128, 256),
        (16, 8, 16, 128, 64),
        (8, 16, 16, 64, 128),
        (8, 8, 16, 64, 64),
        (16, 16, 16, 64, 64),
        (16, 8, 16, 64, 32),
        (8, 16, 16, 32, 64),
        (8, 8, 32, 32, 32),
        (32, 8, 8, 256, 32),
        (8, 32, 8, 32, 256),
        (32, 4, 16, 128, 16),
        (4, 32, 16, 16, 128),
        (8, 8, 32, 16, 16),
    ),
    8: (
        (16, 16, 8, 128, 128),
        (16, 16, 16, 64, 64),
        (16, 16, 8, 64, 64),
        (16, 16, 8, 128, 64),
        (16, 16, 8, 64, 128),
        (8, 8, 16, 32, 32),
        (16, 8, 16, 64, 32),
        (8, 16, 16, 32, 64),
        (32, 4, 16, 128, 16),
        (4, 32, 16, 16, 128),
        (8, 8, 32, 16, 16),
    ),
    16: (
        (16, 16, 8, 64, 64),
        (16, 8, 8, 64, 32),
        (8, 16, 8, 32, 64),
        (8, 8, 16, 32, 32),
        (32, 4, 8, 64, 16),
        (4, 32, 8, 16, 64),
        (8, 8, 16, 16, 16),
    ),
}


_SPLITS = (1, 2, 4, 8)
# All else that a config may have, in the order in which it is tried: reads as wide as they can be, warps as
# high as wide, tensor cores, two stripes in shared memory, and room for a second block.
_ELSE = {
    "wide": (4, 2, 1),
    "vec": (4, 2, 1),
    "lanes": (8, 4),
    "mma": (1, 0),
    "buffers": (2, 1),
    "room": (1, 0),
}
_LARGE = 8192


def best(p: Problem, device: Device) -> Config:
    """The cheapest of a few good tiles by estimated time, each also shared where C has few tiles.

    Held against the rules of the hardware, and against those that say when a tile is worth sharing. The other
    soft ones are not asked, for the model says itself what they stand for: how much of a tile is outside C,
    how much of a step is outside k, and what the shape of a tile makes of its reads.
    """
    columns, blocks = _candidates(_kind(p), device)
    sharing = [rule.test(**{name: columns[name] for name in rule.reads}) for rule in of_idle_sms(p, device)]
    clocks = np.where(np.logical_and.reduce(sharing), _clocks(p, columns, blocks, device), np.inf)
    at = int(np.argmin(clocks))
    return Config({name: values[at].item() for name, values in columns.items()})


def _kind(p: Problem) -> Problem:
    """A large problem that is to the rules of the hardware as this one is: of its type and transpositions,
    and aligned as it is. They ask for nothing else where no texture is read."""
    align = widest(p) * p.dtype.itemsize
    return Problem(p.dtype, _LARGE, _LARGE, _LARGE, p.trans_a, p.trans_b, align=align)


@cache
def _proposed(itemsize: int) -> dict[str, Any]:
    """Columns of proposals for a size of elements: tiles times blocks that share one times all else."""
    names = ("m_dim", "n_dim", "k_blk", "m_blk", "n_blk", "split", *_ELSE)
    rest = product(_SPLITS, *_ELSE.values())
    rows = [(*tile, *others) for tile, others in product(_TILES[itemsize], rest)]
    return dict(zip(names, np.array(rows).T, strict=True))


@lru_cache(maxsize=256)
def _candidates(kind: Problem, device: Device) -> tuple[dict[str, Any], Any]:
    """Columns of candidates: of every tile and number of blocks that share it the first proposal that the
    rules of the hardware allow. And how many of their blocks an SM holds."""
    c, size, x = dict(_proposed(kind.dtype.itemsize)), kind.dtype.itemsize, fitted("classic", device)
    threads = c["m_dim"] * c["n_dim"]
    k_blk, n_blk, m_blk = c["k_blk"], c["n_blk"], c["m_blk"]
    a = (k_blk, m_blk) if kind.transposed_a else (m_blk, k_blk)
    b = (n_blk, k_blk) if kind.transposed_b else (k_blk, n_blk)
    c["m_dima"], c["n_dima"] = _grid(threads, c["wide"], *a)
    c["m_dimb"], c["n_dimb"] = _grid(threads, c["wide"], *b)
    # Two blocks of 256 threads have to be resident, or a thread takes more than half of all registers.
    needed = registers(c["n_dim"], c["m_dim"], k_blk, n_blk, m_blk, words(kind.dtype))
    two_resident = (threads == 256) & (needed < x["kept"] * device["registers_per_sm"]) & (c.pop("room") == 1)
    c |= {
        "min_blocks": 1 + two_resident,
        "read": np.array("global"),
        "order": np.array(1),
        "early": np.array(0),
    }
    space = Space(params(kind, device), list(general_rules(kind, device, NONE)), elementwise=True)
    allowed = space.allowed(c, HARDWARE).reshape(-1, len(threads) // (len(_TILES[size]) * len(_SPLITS)))
    first = np.arange(len(allowed)) * allowed.shape[1] + allowed.argmax(axis=1)
    chosen = first[allowed.any(axis=1)]
    columns = {q.name: np.broadcast_to(c[q.name], len(threads))[chosen] for q in space.params}

    return columns, _resident(kind, device, columns)


def _resident(p: Problem, device: Device, columns: dict[str, Any]) -> Any:
    """How many blocks of each config an SM holds: one at least."""
    c, x = columns, fitted("classic", device)
    threads = c["m_dim"] * c["n_dim"]
    needed = registers(c["n_dim"], c["m_dim"], c["k_blk"], c["n_blk"], c["m_blk"], words(p.dtype))
    taken = np.clip(x["taken"] + x["taken_each"] * needed // threads, x["taken_least"], 255)
    # Blocks that have to be resident are given no more registers than that leaves.
    dealt = device["registers_per_sm"] // (threads * c["min_blocks"])
    taken = np.where(c["min_blocks"] > 1, dealt, taken).astype(int)
    own = {name: c[name] for name in ("k_blk", "n_blk", "m_blk", "vec", "buffers", "split", "mma")}
    shared = shared_bytes(**own, itemsize=p.dtype.itemsize) + device["shared_reserved"]
    by_registers = resident(device["registers_per_sm"], taken * threads, threads, device)
    by_shared = resident(device["shared_per_sm"], shared, threads, device)
    return np.maximum(np.minimum(by_registers, by_shared), 1)


def cost(p: Problem, device: Device, columns: dict[str, Any]) -> Any:
    """Estimated clocks of a product for any configs; the model knows neither textures nor grids that read."""
    return _clocks(p, columns, _resident(p, device, columns), device)


def _grid(threads: Any, wide: Any, along: Any, across: Any) -> tuple[Any, Any]:
    """The grid that reads a stripe: its rows are as long as the stripe or a warp, longer only if the stripe
    has fewer columns than that leaves rows."""
    m_dim = np.maximum(np.clip(along // wide, 1, 32), threads // across)
    return m_dim, threads // m_dim


def _clocks(p: Problem, columns: dict[str, Any], blocks: Any, device: Device) -> Any:
    """Estimated clocks of a product: the tiles of the busiest SM, each step of which takes as long as its
    multiply-adds or its reads, or as the latency of memory that the other blocks there do not hide. The
    constants are in ``data/classic.json``."""
    c, size, x = columns, p.dtype.itemsize, fitted("classic", device)
    m_blk, n_blk, k_blk, split = c["m_blk"], c["n_blk"], c["k_blk"], c["split"]
    threads, steps = c["m_dim"] * c["n_dim"], -(-p.k // (k_blk * split))
    tiles = -(-p.m // m_blk) * -(-p.n // n_blk) * p.batch
    deep = -(-tiles * split // device["sms"])
    together = np.minimum(blocks, deep)
    units = device.rates["fma.d"] * (1 + c["mma"]) if p.dtype.real_bits == 64 else device.rates["fma.s"]
    sums = m_blk * n_blk * (4 if p.dtype.is_complex else 1) / units
    # Of what a warp reads from shared memory it holds every value twice or more.
    shared = threads * (m_blk // c["m_dim"] + n_blk // c["n_dim"]) * size / x["shared"]
    memory = (m_blk + n_blk) * size / x["memory"]
    # Few threads leave the latencies of multiply-adds and shared memory in the open.
    busy = np.minimum(1.0, together * threads / x["threads"])
    longest = np.maximum(np.maximum(sums, shared), memory)
    work = k_blk * (longest + x["over_shared"] * shared + x["over_memory"] * memory) / busy
    step = np.maximum(work, x["latency"] / together) + x["step"] / together
    stores = m_blk * n_blk * size / x["memory"]
    exchange = np.where(split > 1, x["exchange"] + stores, 0.0)
    return deep * (steps * step + stores) + -(-deep // blocks) * (x["start"] + exchange)
