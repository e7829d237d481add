"""The choice without a search: a cost model of classic.cuh.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from functools import cache

from tilewright.model import Config, Device, DType, Problem
from tilewright.stencils.cuda.classic.needs import (
    MEMORY_LATENCY,
    UNROLLED,
    registers,
    resident,
    shared_bytes,
    widest,
    words,
)
from tilewright.stencils.cuda.common import WIDEST

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


def best(p: Problem, device: Device) -> Config:
    """The cheapest of a few good tiles by estimated time, each with clusters where C has few tiles."""
    shapes = _candidates(p.dtype, p.turned_a, p.turned_b, widest(p), device)
    fitting = [
        shape
        for shape in shapes
        if (split := shape[0]["split"]) == 1
        or (p.k >= 4 * shape[0]["k_blk"] * split and _tiles(p, shape[0]) * split <= 2 * device["sms"])
    ]
    return min(fitting, key=lambda shape: _clocks(p, shape[0], shape[1], device))[0]


def _tiles(p: Problem, config: Config) -> int:
    """Tiles of all C of a batch."""
    m_blk, n_blk = int(config["m_blk"]), int(config["n_blk"])
    return -(-p.m // m_blk) * -(-p.n // n_blk) * p.batch


@cache
def _candidates(
    dtype: DType, turned_a: bool, turned_b: bool, most: int, device: Device
) -> tuple[tuple[Config, int], ...]:
    """Good tiles with all else chosen for them, and how many of their blocks an SM holds."""
    found = []
    size = dtype.itemsize
    fma = 4 if dtype.is_complex else 1
    for m_dim, n_dim, k_blk, m_blk, n_blk in _TILES[size]:
        threads = m_dim * n_dim
        sums = m_blk * n_blk // threads
        if sums * k_blk * fma > UNROLLED:
            continue
        grids = (
            (
                wide,
                _grid(threads, wide, turned_a, m_blk, k_blk),
                _grid(threads, wide, not turned_b, n_blk, k_blk),
            )
            for wide in (4, 2, 1)
            if wide <= most and wide * size <= WIDEST
        )
        wide, a, b = next((wide, a, b) for wide, a, b in grids if a and b)
        vec = next(
            v
            for v in (4, 2, 1)
            if v * size <= WIDEST and m_blk % (m_dim * v) == 0 and n_blk % (n_dim * v) == 0
        )
        lanes = next(x for x in (8, 16, 4, 32) if m_dim % x == 0 and n_dim % (32 // x) == 0)
        # Tensor cores double what float64 can do, wherever their 16 x 8 x 4 products fill the tile.
        mma = (
            "mma_f64_m16" in device.supports
            and dtype.real_bits == 64
            and lanes == 8
            and vec * size == WIDEST
            and k_blk % 4 == 0
            and m_blk // m_dim % 2 == 0
            and n_blk // n_dim % (2 if dtype.is_complex else 4) == 0
        )
        needed = int(registers(n_dim, m_dim, k_blk, n_blk, m_blk, words(dtype)))
        # Two blocks of 256 threads have to be promised, or a thread takes more than half of all; the
        # compiler keeps that without spilling up to some 90 registers by the estimate.
        promised = threads == 256 and 8 * needed < 3 * device["registers_per_sm"]
        taken = 128 if promised else min(255, max(104, 32 + 5 * needed // (4 * threads)))
        for split in (1, 2, 4, 8) if "clusters" in device.supports else (1,):
            for buffers in (2, 1):
                shared = int(shared_bytes(k_blk, n_blk, m_blk, vec, buffers, split, int(mma), size))
                if shared <= device["shared_per_block_optin"]:
                    break
            else:
                continue
            blocks = min(
                int(resident(device["registers_per_sm"], taken * threads, threads, device)),
                int(resident(device["shared_per_sm"], shared + device["shared_reserved"], threads, device)),
            )
            values = {
                "n_dim": n_dim,
                "m_dim": m_dim,
                "k_blk": k_blk,
                "n_blk": n_blk,
                "m_blk": m_blk,
                "m_dima": a[0],
                "n_dima": a[1],
                "m_dimb": b[0],
                "n_dimb": b[1],
                "read": "global",
                "wide": wide,
                "vec": vec,
                "lanes": lanes,
                "buffers": buffers,
                "order": 1,
                "split": split,
                "early": 0,
                "mma": int(mma),
                "min_blocks": 2 if promised else 1,
            }
            found.append((Config(values), max(blocks, 1)))
    return tuple(found)


def _grid(threads: int, wide: int, k_along: bool, free: int, k_blk: int) -> tuple[int, int] | None:
    """The read grid of a stripe with the longest rows, no longer than a warp; None where none overlays it."""
    along, across = (k_blk, free) if k_along else (free, k_blk)
    shapes = [(m, threads // m) for m in (1, 2, 4, 8, 16, 32, 64, 128, 256) if threads % m == 0]
    fitting = [(m, n) for m, n in shapes if along % (m * wide) == 0 and across % n == 0]
    short = [shape for shape in fitting if shape[0] <= 32]
    return max(short, default=min(fitting, default=None))


def _clocks(p: Problem, config: Config, blocks: int, device: Device) -> float:
    """Estimated clocks of a product: the tiles of the busiest SM, each step of which takes as long as its
    multiply-adds or its reads, or as the latency of memory that the other blocks there do not hide."""
    c, size = config, p.dtype.itemsize
    m_blk, n_blk, k_blk, split = c["m_blk"], c["n_blk"], c["k_blk"], c["split"]
    threads, steps = c["m_dim"] * c["n_dim"], -(-p.k // (k_blk * split))
    deep = -(-_tiles(p, c) * split // device["sms"])
    together = min(blocks, deep)
    units = device.rates["fma.d"] * (1 + c["mma"]) if p.dtype.real_bits == 64 else device.rates["fma.s"]
    sums = m_blk * n_blk * (4 if p.dtype.is_complex else 1) / units
    # A warp's reads from shared memory hold every value twice or more: half of 128 bytes a clock.
    shared = threads * (m_blk // c["m_dim"] + n_blk // c["n_dim"]) * size / 256
    memory = (m_blk + n_blk) * size / 32
    # Fewer than 256 threads leave the latencies of multiply-adds and shared memory in the open.
    busy = min(1.0, together * threads / 256)
    work = k_blk * (max(sums, shared, memory) + shared / 8 + memory / 4) / busy
    step = max(work, MEMORY_LATENCY / together) + 60 / together
    stores = m_blk * n_blk * size / 32
    exchange = 1500 + stores if split > 1 else 0.0
    clocks: float = deep * (steps * step + stores) + -(-deep // blocks) * (1500 + exchange)
    return clocks
