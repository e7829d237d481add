"""The space of chain.cuh: parameters, and the rules that prune them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from tilewright.model import ChainProblem, Device
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.chain.needs import (
    PATHS,
    busy,
    is_stream,
    items,
    placed,
    registers,
    shared_bytes,
    stage_bytes,
    whole,
    words_of_sum,
    work,
)
from tilewright.stencils.cuda.common import WIDEST

PER_SM = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32)
_COUNTS = (*range(1, 9), *(b * 2**s for s in range(1, 7) for b in (5, 6, 7, 8)))
_WIDE = 16
"""Most rows and columns of a tile."""


@cache
def sides(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Rows or columns of a tile: equal parts of the products' matrices."""
    parts = {-(-extent // count) for extent in extents for count in range(1, extent + 1)}
    return tuple(sorted(side for side in parts if side <= _WIDE))


def groups(p: ChainProblem) -> tuple[int, ...]:
    """Matrices of a stage: some and many, whole for bulk copies; at most 32 KB of the largest operand."""
    largest = max(x.size for x in (*p.operands, p.out)) * p.dtype.itemsize
    least = whole(p)
    values = {1} | {least * count for count in _COUNTS}
    return tuple(sorted(g for g in values if g in (1, least) or g * largest <= 32 * 1024))


def params(p: ChainProblem, device: Device) -> list[Param]:
    return [
        Param("path", PATHS),
        Param("mma", (0, 8, 16, 32)),
        Param("rows", sides(tuple(m for m, _, _ in p.products))),
        Param("columns", sides(tuple(n for _, n, _ in p.products))),
        Param("warps", (1, 2, 3, 4, 5, 6, 8)),
        Param("group", groups(p)),
        Param("stages", (2, 3, 4, 6)),
        Param("in_place", (0, 1)),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
    ]


def rules(p: ChainProblem, device: Device) -> Iterator[Rule]:
    yield from _of_the_path(p, device)
    yield from _of_the_tile(p, device)
    yield from _of_the_group(p, device)
    yield from _of_the_sm(p, device)


def _of_the_path(p: ChainProblem, device: Device) -> Iterator[Rule]:
    """How matrices come into shared memory."""
    streams = is_stream(p)
    yield limits.bulk_device(device)
    yield Rule(
        "bulk-packed",
        "hard",
        "bulk copies take operands without gaps",
        lambda path: (path != "bulk") | streams,
    )
    yield Rule(
        "bulk-aligned",
        "hard",
        "bulk copies begin at multiples of 16 bytes",
        lambda path: (path != "bulk") | (p.align == WIDEST),
    )


def _of_the_tile(p: ChainProblem, device: Device) -> Iterator[Rule]:
    """How large a part of a product a thread computes."""
    words, least = words_of_sum(p), sum(m * n * k for m, n, k in p.products)
    bits = p.dtype.real_bits
    yield Rule(
        "mma-type",
        "hard",
        "tensor cores multiply float64 and real numbers of 16 bits",
        lambda mma: (mma == 0) | (bits == 64) | ((bits == 16) & (not p.dtype.is_complex)),
    )
    yield Rule(
        "mma-rows",
        "hard",
        "strips of 8 or 16 rows, of 16 bits 16 or 32",
        lambda mma: (mma == 0) | (mma == 16) | (mma == (8 if bits == 64 else 32)),
    )
    yield Rule(
        "mma-alone",
        "soft",
        "with tensor cores threads have no tiles, so that other tiles make the same program",
        lambda mma, rows, columns: (mma == 0) | ((rows == 1) & (columns == 1)),
    )
    yield Rule(
        "sums-fit",
        "soft",
        "a thread has 128 registers of sums at most",
        lambda mma, rows, columns: rows * columns * words * (mma == 0) <= 128,
    )
    yield limits.registers_per_thread(device, lambda mma, rows, columns: registers(p, mma, rows, columns))
    yield Rule(
        "tile-full",
        "soft",
        "little of the tiles lies outside the products",
        lambda rows, columns: work(p, rows, columns) <= 1.3 * least + max(k for _, _, k in p.products),
    )


def _of_the_group(p: ChainProblem, device: Device) -> Iterator[Rule]:
    """How many matrices a block holds, and who multiplies them."""
    least = whole(p)
    yield limits.threads_per_block(device)
    yield Rule(
        "bulk-whole",
        "hard",
        "a group is a multiple of 16 bytes",
        lambda path, group: (path != "bulk") | (group % least == 0),
    )
    yield Rule(
        "busy",
        "soft",
        "half of the threads have a tile, or more, and half of the warps a strip",
        lambda mma, rows, columns, warps, group: busy(p, mma, rows, columns, warps, group) >= 0.5,
    )
    yield Rule(
        "long-turns",
        "soft",
        "a thread has 8 tiles of a group at most, a warp 16 strips",
        lambda mma, rows, columns, warps, group: (
            np.maximum.reduce(np.broadcast_arrays(*items(p, mma, rows, columns, warps, group)))
            <= 8 + 8 * (mma > 0)
        ),
    )
    here = placed(p)
    yield Rule(
        "in-place",
        "hard",
        "a Q of its own for every C, and as C lies",
        lambda in_place: (in_place == 0) | here,
    )
    yield Rule(
        "ring",
        "hard",
        "one stage is multiplied while others are filled",
        lambda stages: stages >= 2,
    )


def _of_the_sm(p: ChainProblem, device: Device) -> Iterator[Rule]:
    """What an SM holds, and what keeps its memory and its schedulers busy."""

    def shared(path: Any, mma: Any, group: Any, stages: Any, in_place: Any) -> Any:
        return shared_bytes(p, path, mma, group, stages, in_place)

    yield limits.shared_per_block(device, shared)
    yield from limits.resident_rules(
        device,
        lambda warps: 32 * warps,
        lambda mma, rows, columns, warps: 32 * warps * registers(p, mma, rows, columns),
        shared,
    )
    yield limits.in_flight(device, lambda group, stages: stage_bytes(p, group) * stages)
    yield limits.warps_enough(device)
