"""The space of inner: parameters, and the rules that prune them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda.common import IN_FLIGHT, WIDEST, resident_rules
from tilewright.stencils.cuda.inner.needs import (
    GRAIN,
    PATHS,
    inside,
    long,
    parts,
    registers,
    shared_bytes,
    stage_bytes,
    team,
    words_of_sum,
)
from tilewright.stencils.cuda.tiny.space import sides

TILES = (32, 64, 128, 256)
"""Rows or columns of a tile where C is a long vector."""
DEPTHS = (8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
PER_SM = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
SPLITS = (1, 2, 4, 8)
"""Blocks of a cluster: as many as every device with clusters runs."""
MOST = 8
"""Rows or columns of a part of a long vector."""


def params(p: Problem, device: Device) -> list[Param]:
    of_vector = tuple(2**e for e in range(MOST.bit_length()))
    return [
        Param("path", PATHS),
        Param("mma", (0, 8, 16)),
        Param("tile", TILES if long(p) else (0,)),
        Param("depth", DEPTHS),
        Param("rows", of_vector if long(p) == 1 else sides(p.m)),
        Param("columns", of_vector if long(p) == 2 else sides(p.n)),
        Param("warps", (1, 2, 3, 4, 6, 8)),
        Param("stages", (2, 3, 4, 6, 8)),
        Param("split", SPLITS),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_path(device)
    yield from _of_the_part(p, device)
    yield from _of_the_slab(p)
    yield from _of_the_sm(p, device)


def _of_the_path(device: Device) -> Iterator[Rule]:
    """How slabs come into shared memory, and of how many blocks."""
    yield Rule(
        "bulk-device",
        "tabled",
        "the device has bulk copies (9.0 and above)",
        lambda path: (path != "bulk") | ("bulk_copy" in device.supports),
    )
    yield Rule(
        "cluster",
        "tabled",
        "blocks share the k of a tile through clusters, which the device has (9.0 and above)",
        lambda split: (split == 1) | ("clusters" in device.supports),
    )


def _of_the_part(p: Problem, device: Device) -> Iterator[Rule]:
    """What tensor cores take, and how large a part of a tile a thread or a warp computes."""
    words, bits = words_of_sum(p), p.dtype.real_bits
    yield Rule(
        "mma-device",
        "tabled",
        "the device has float64 products of 16 rows (9.0 and above); all have those of 8",
        lambda mma: (mma <= 8) | ("mma_f64_m16" in device.supports) | (bits == 16),
    )
    yield Rule(
        "mma-type", "hard", "tensor cores take float64 and 16 bits", lambda mma: (mma == 0) | (bits != 32)
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
        "a part is whole tensor-core products of 8 columns",
        lambda mma, rows, columns: (mma == 0) | ((rows % (mma + (mma == 0)) == 0) & (columns % 8 == 0)),
    )
    yield Rule(
        "mma-matrix",
        "soft",
        "tensor cores multiply matrices, not vectors",
        lambda mma: (mma == 0) | (min(p.m, p.n) > 1),
    )
    yield Rule(
        "sums-fit",
        "soft",
        "a thread has 128 registers of sums at most",
        lambda mma, rows, columns: rows * columns * words <= 128 * (1 + 31 * (mma != 0)),
    )
    yield Rule(
        "registers-per-thread",
        "tabled",
        "the registers that the loop cannot do without can be addressed",
        lambda mma, rows, columns: registers(p, mma, rows, columns) <= device["registers_per_thread"],
    )
    yield Rule(
        "teams",
        "hard",
        "a block is whole teams of warps, each of which has all of a tile",
        lambda mma, tile, rows, columns, warps: warps % team(p, mma, tile, rows, columns) == 0,
    )
    yield Rule(
        "busy",
        "soft",
        "three lanes in four have a part",
        lambda mma, tile, rows, columns: (mma != 0) | (_lanes(p, mma, tile, rows, columns) >= 0.75),
    )


def _lanes(p: Problem, mma: Any, tile: Any, rows: Any, columns: Any) -> Any:
    """The part of the lanes of a team that have something to do."""
    whole = 32 * team(p, mma, tile, rows, columns)
    return parts(p, tile, rows, columns) * inside(p, mma, tile, rows, columns) / whole


def _of_the_slab(p: Problem) -> Iterator[Rule]:
    """How deep a slab is."""
    size = p.dtype.itemsize
    enough = min(depth for depth in DEPTHS if depth >= min(p.k, DEPTHS[-1]))
    yield Rule(
        "whole-words",
        "hard",
        "pieces of k are whole words of 16 bytes",
        lambda depth: (depth < GRAIN) * (depth * size % WIDEST) == 0,
    )
    yield Rule(
        "split-in-k",
        "soft",
        "every block of a cluster has slabs, as many as the ring has stages",
        lambda depth, stages, split: (split == 1) | (depth * stages * split <= p.k),
    )
    yield Rule("depth-in-k", "soft", "a slab is not deeper than k", lambda depth: depth <= enough)
    yield Rule(
        "mma-depth",
        "soft",
        "a slab has whole steps of tensor cores of 16 bits",
        lambda mma, depth: (mma == 0) | (depth % 16 == 0) | (size > 4),
    )


def _of_the_sm(p: Problem, device: Device) -> Iterator[Rule]:
    """What an SM holds, and what keeps its memory and its schedulers busy."""
    sms = device["sms"]
    shared = partial(shared_bytes, p)
    yield Rule(
        "threads-per-block",
        "queryable",
        "a block has no more threads than the device allows",
        lambda warps: 32 * warps <= device["threads_per_block"],
    )
    yield Rule(
        "shared-per-block",
        "queryable",
        "the ring and the sums fit in the shared memory that a block may ask for",
        lambda path, mma, tile, depth, rows, columns, warps, stages: (
            shared(path, mma, tile, depth, rows, columns, warps, stages) <= device["shared_per_block_optin"]
        ),
    )
    yield from resident_rules(
        device,
        lambda warps: 32 * warps,
        lambda mma, rows, columns, warps: 32 * warps * registers(p, mma, rows, columns),
        lambda path, mma, tile, depth, rows, columns, warps, stages: shared(
            path, mma, tile, depth, rows, columns, warps, stages
        ),
    )
    yield Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory",
        lambda mma, tile, depth, rows, columns, stages, blocks: (
            stage_bytes(p, mma, tile, depth, rows, columns) * (stages - 1) * (blocks // sms) >= IN_FLIGHT
        ),
    )
    yield Rule(
        "warps-enough",
        "soft",
        "an SM has a warp for each of its four schedulers",
        lambda warps, blocks: warps * (blocks // sms) >= 4,
    )
