"""The space of tiny.cuh: parameters, and the rules that prune them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import grids, limits
from tilewright.stencils.cuda.common import IN_FLIGHT, WIDEST, units
from tilewright.stencils.cuda.tiny.needs import (
    ASKING,
    COUNTS,
    LARGEST,
    LONG,
    PATHS,
    PER_SM,
    PIECES,
    RUN,
    SEVERAL,
    STACKED,
    Tile,
    asking,
    busy,
    eights,
    flat,
    flying_bytes,
    items,
    odds,
    pairs,
    part_asked,
    registers,
    shared_bytes,
    shares,
    spaced,
    steps,
    taken,
    tile,
    tiles,
    turning,
    whole,
    words_of_sum,
)

MOST = 32 * 1024
"""Bytes of the largest operand in a stage, at most."""
MANY = (640, 768, 1024, 1280, 1536)
"""Products of a stage beside those of larger matrices, where they are tiny."""


@cache
def sides(extent: int) -> tuple[int, ...]:
    """Rows or columns of a tile: equal parts of a matrix, and what tensor cores take."""
    parts = {-(-extent // count) for count in range(1, extent + 1)}
    units = {unit * i for unit in (8, 16) for i in range(1, -(-extent // unit) + 1)}
    return tuple(sorted({s for s in parts if s <= 17} | units))


def groups(p: Problem) -> tuple[int, ...]:
    """Matrices of a stage: some and many, whole for bulk copies; at most 32 KB of the largest operand."""
    largest = max(rows * cols for rows, cols in p.stored)
    largest = max(largest, *steps(p)) * p.dtype.itemsize
    found = _groups_of(largest, whole(p))
    if not p.outer:
        return found
    run, tiled = p.batch, tile(p)
    if pairs(p):
        # Two of a thread at a time, and what is between two groups counts.
        found = tuple(sorted({*found, *(group for group in MANY if group * largest <= MOST)}))
    if tiled is not None:
        # Tiles that fill their axes, too.
        side, unit = (run, tiled.along) if tiled.along else (tiled.extent, run)
        fitting = {-(-side // -(-side // piece)) * unit for piece in (*COUNTS, side)}
        return tuple(sorted({*found, *(group for group in fitting if group * largest <= MOST)}))
    # Whole runs, too.
    several = {run * count for count in range(1, PIECES + 1) if run * count * largest <= MOST}
    return tuple(sorted({*found, *several}))


@cache
def _groups_of(largest: int, least: int) -> tuple[int, ...]:
    values = {1} | {least * count for count in COUNTS}
    return tuple(sorted(g for g in values if g in (1, least) or g * largest <= MOST))


def params(p: Problem, device: Device) -> list[Param]:
    return [
        Param("path", PATHS),
        Param("mma", (0, 8, 16)),
        Param("rows", sides(p.m)),
        Param("columns", sides(p.n)),
        Param("warps", (1, 2, 3, 4, 5, 6, 8)),
        Param("group", groups(p)),
        Param("stages", (1, 2, 3, 4, 6, 8)),
        Param("several", _several(p), absent=1),
        Param("direct", (0, 1) if p.outer else (0,), absent=0),
        Param("reuse", (0, 1) if p.outer else (0,), absent=0),
        Param("odd", (0, 1) if odds(p) else (0,), absent=0),
        Param("across", (0, 1)),
        Param("turn", (0, 1)),
        Param("pad", (0, 1)),
        Param("evict", (0, 1)),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
        grids.param() if not p.outer else Param("per_block", (0,), absent=0),
    ]


def _several(p: Problem) -> tuple[int, ...]:
    """How many products a thread or a warp may have."""
    if shares(p):
        return (*SEVERAL, STACKED) if eights(p) else SEVERAL
    return (1, 2) if pairs(p) else (1,)


def is_stream(p: Problem) -> bool:
    """Whether every operand is one stream of bytes, padding included, or one matrix for the whole batch.
    Along several axes: whether each run along the innermost one is one, or one matrix."""
    if p.outer:
        return _streams_in_runs(p)
    streams = all(
        is_flat or stride == 0 or step > 0
        for is_flat, stride, (_, step) in zip(flat(p), p.strides, spaced(p), strict=True)
    )
    return streams and p.strides[2] != 0 and not p.pointers


def _streams_in_runs(p: Problem) -> bool:
    """Whether runs have no gaps, or one matrix, along the innermost axis or another one."""
    return tile(p) is not None or all(
        not moves or (ld == rows and step in (0, rows * cols))
        for (rows, cols), step, ld, moves in zip(
            p.stored, p.strides, (p.lda, p.ldb, p.ldc), p.moves, strict=True
        )
    )


def are_long(p: Problem) -> bool:
    """Whether runs along the innermost of several batch axes are worth bulk copies. Tiles are."""
    return not p.outer or tile(p) is not None or p.batch * sum(steps(p)) * p.dtype.itemsize >= RUN


def is_dense(p: Problem) -> bool:
    """Whether most of the bytes that bulk copies bring must come anyway. Words of 16 bytes are quick; shorter
    ones are worth more padding."""
    count = 2 if p.beta == "0" else 3
    limit = 1.2 if min(units(p)) == WIDEST else 1.6
    return sum(steps(p)[:count]) * p.dtype.itemsize <= limit * sum(taken(p)[:count])


def bulk_pays(p: Problem, device: Device) -> bool:
    """Whether bulk copies are worth it: a batch with less than two groups for each SM is read by words, and
    so are short runs."""
    worth = p.products >= 2 * whole(p) * device["sms"] and are_long(p)
    aligned = p.align == WIDEST or bool(p.outer)
    return worth and is_stream(p) and is_dense(p) and aligned and "bulk_copy" in device.supports


def streams_long(p: Problem, device: Device) -> bool:
    """Whether bulk copies bring matrices of which one extent is longer than words are worth: two blocks of an
    SM have room for two stages. (On an H200 tiles of one matrix, as ``panel`` has, came at 0.98 of the speed
    in the median of 69 such shapes, least 0.20, and nowhere faster than 1.07 times.)"""
    fewest, (_, middle, longest) = whole(p), sorted(p.extents)
    return (
        middle <= LARGEST
        and longest <= LONG
        and is_stream(p)
        and is_dense(p)
        and not p.outer
        and p.align == WIDEST
        and "bulk_copy" in device.supports
        and fewest * max(rows * cols for rows, cols in p.stored) * p.dtype.itemsize <= MOST
        and 2 * int(shared_bytes(p, "bulk", fewest, 2, 0)) <= device["shared_per_sm"]
    )


def is_crowded(p: Problem, which: Callable[[Iterable[bool]], bool] = any) -> bool:
    """Whether matrices of A or B (``all``: of both) begin in few different banks (of 128 bytes in all)."""
    return which(
        (step or rows * cols) * p.dtype.itemsize % 64 == 0
        for (rows, cols), step in zip(p.stored[:2], steps(p), strict=False)
    )


def most_turns(mma: Any) -> Any:
    """Most tiles of a group of a thread, or of a warp with tensor cores: with more, copies wait."""
    return 8 + 8 * (mma != 0)


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_path(p, device)
    yield from _of_the_tile(p, device)
    yield from _of_the_group(p, device)
    yield from _of_the_banks(p, device)
    yield from _of_the_sm(p, device)


def _of_the_path(p: Problem, device: Device) -> Iterator[Rule]:
    """How matrices come into shared memory."""
    streams, dense = is_stream(p), is_dense(p)
    yield limits.bulk_device(device)
    yield Rule(
        "bulk-flat",
        "hard",
        "bulk copies take operands without gaps, or with such as are known to the compiler",
        lambda path: (path != "bulk") | streams,
    )
    yield Rule(
        "bulk-dense",
        "soft",
        "most of what bulk copies bring must come anyway, as memory comes 64 bytes at a time",
        lambda path: (path != "bulk") | dense,
    )
    yield Rule(
        "bulk-stream",
        "hard",
        "what lies where an array says is no stream",
        lambda path: (path != "bulk") | (not p.pointers),
    )
    yield Rule(
        "bulk-aligned",
        "hard",
        "bulk copies begin at multiples of 16 bytes",
        lambda path: (path != "bulk") | (p.align == WIDEST) | bool(p.outer),
    )
    tiled = tile(p)
    if tiled is not None:
        yield from _of_tiles(p, tiled)
    elif p.outer:
        run = p.batch
        yield Rule(
            "bulk-run",
            "soft",
            f"bulk copies bring runs of {RUN} bytes or more",
            lambda path: (path != "bulk") | are_long(p),
        )
        yield Rule(
            "bulk-rest",
            "soft",
            "the last group of a run, or the last run of a group, is nearly whole",
            lambda path, group: (
                (path != "bulk")
                | ((group <= run) & (-(-run // group) * group <= 1.125 * run))
                | ((group > run) & (group // run * run >= 0.9 * group))
            ),
        )
        yield Rule(
            "bulk-pieces",
            "hard",
            f"threads ask for the runs of a group: {PIECES} at most",
            lambda path, group: (path != "bulk") | (group // run <= PIECES),
        )
    yield Rule(
        "staged",
        "soft",
        "matrices that pass through shared memory are read in longer rows",
        lambda path: path != "plain",
    )


def _of_tiles(p: Problem, tiled: Tile) -> Iterator[Rule]:
    """How many products a tile of two batch axes has."""
    unit = tiled.along or p.batch

    def filled(path: Any, group: Any) -> Any:
        along, piece = tiled.sides(group)
        rounded = -(-p.batch // piece) * piece, -(-tiled.extent // along) * along
        return (path != "bulk") | (rounded[0] * rounded[1] <= 1.25 * p.batch * tiled.extent)

    yield Rule(
        "bulk-tile",
        "hard",
        "a group is a whole tile of two axes",
        lambda path, group: (path != "bulk") | (group % unit == 0),
    )
    yield Rule("bulk-rest", "soft", "the last tiles along both axes are nearly whole", filled)
    yield Rule(
        "bulk-pieces",
        "hard",
        f"threads ask for the runs of a tile: {ASKING} at most",
        lambda path, group: (path != "bulk") | (asking(p, group) <= ASKING),
    )


def _of_the_tile(p: Problem, device: Device) -> Iterator[Rule]:
    """What tensor cores take, and how large a part of C a thread or a warp computes."""
    words = words_of_sum(p)
    yield from limits.tensor_cores(p, device)
    yield Rule(
        "mma-staged",
        "hard",
        "tensor cores read what passed through shared memory",
        lambda path, mma: (mma == 0) | (path != "plain"),
    )
    yield Rule(
        "tile-in-c",
        "soft",
        "a tile is not larger than C, but for what tensor cores ask for",
        lambda mma, rows, columns: (
            ((mma != 0) & (rows < p.m + np.maximum(mma, 8)) & (columns < p.n + 8))
            | ((mma == 0) & (rows <= p.m) & (columns <= p.n))
        ),
    )
    yield Rule(
        "tile-full",
        "soft",
        "little of the tiles lies outside C, or tensor cores have time for it",
        lambda mma, rows, columns: (
            -(-p.m // rows) * rows * -(-p.n // columns) * columns
            <= (1.3 * (mma == 0) + 4.5 * (mma != 0)) * p.m * p.n + 1
        ),
    )
    yield Rule(
        "sums-fit",
        "soft",
        "a thread has 128 registers of sums at most",
        lambda mma, rows, columns, several: (
            rows * columns * several * words <= 128 * ((mma == 0) + 32 * (mma != 0))
        ),
    )
    yield limits.registers_per_thread(
        device,
        lambda mma, rows, columns, several, odd: registers(p, mma, rows, columns, several, odd),
    )
    yield Rule(
        "reuse",
        "soft",
        "in matrices of 12 and more, every element loaded is multiplied twice or more",
        lambda mma, rows, columns: (
            (mma != 0) | (min(p.m, p.n) < 12) | (rows * columns >= 2 * (rows + columns))
        ),
    )


def _of_the_group(p: Problem, device: Device) -> Iterator[Rule]:
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
        "three threads (or warps) in four have a tile, or more",
        lambda mma, rows, columns, warps, group, several: (
            (busy(p, mma, rows, columns, warps, group, several) >= 0.75)
            | ((warps == 1) & (items(p, rows, columns, group, several) <= 32))
        ),
    )
    yield Rule(
        "long-turns",
        "soft",
        "a thread has 8 tiles of a group at most, a warp with tensor cores 16",
        lambda mma, rows, columns, warps, group, several: (
            items(p, rows, columns, group, several)
            <= most_turns(mma) * warps * (1 * (mma != 0) + 32 * (mma == 0))
        ),
    )
    yield Rule(
        "several",
        "hard",
        "bulk copies of runs or tiles, where a thread finds products with one operand, or pairs of tiny ones",
        lambda path, several, turn: (several == 1) | ((path == "bulk") & (turn == 0)),
    )
    yield Rule(
        "several-mma",
        "hard",
        f"with tensor cores a warp has {STACKED} products, else a thread fewer",
        lambda mma, several: (several == 1) | ((mma == 0) == (several < STACKED)),
    )
    yield Rule(
        "paired",
        "hard",
        "a thread has all of both C of a pair",
        lambda rows, columns, several: (several != 2) | (not pairs(p)) | (tiles(p, rows, columns) == 1),
    )
    yield Rule(
        "odd",
        "hard",
        "threads with one product and all rows of columns that divide C read odd matrices by words",
        lambda path, mma, rows, columns, several, turn, pad, odd: (
            (odd == 0)
            | (
                ((path != "plain") & (mma == 0) & (several == 1) & (turn == 0) & (pad == 0))
                & ((rows == p.m) & (-(-p.n // columns) * columns == p.n))
            )
        ),
    )
    stacked = eights(p)
    yield Rule(
        "stacked",
        "hard",
        f"{STACKED} products of a warp are neighbours with one operand, real halves, and it has all their C",
        lambda rows, columns, several: (several < STACKED) | (stacked & (tiles(p, rows, columns) == 1)),
    )
    yield Rule(
        "direct",
        "hard",
        "bulk copies of runs or tiles have a C that threads can write",
        lambda path, direct: (direct == 0) | (path == "bulk"),
    )
    yield Rule(
        "reuse-bulk",
        "hard",
        "bulk copies of runs or tiles are spared",
        lambda path, reuse: (reuse == 0) | (path == "bulk"),
    )
    if p.outer:
        yield Rule(
            "reuse-pays",
            "soft",
            "neighbouring groups have a tenth of what they read in common, or more",
            lambda path, group, reuse: (
                (reuse == 0) | (part_asked(p, np.where(path == "bulk", group, 1)) <= 0.9)
            ),
        )
    yield Rule(
        "ring",
        "hard",
        "one stage is multiplied while others are filled",
        lambda path, stages: (path == "plain") | (stages >= 2),
    )
    yield Rule(
        "no-ring",
        "hard",
        "what is not staged has no stages",
        lambda path, stages: (path != "plain") | (stages == 1),
    )


def _of_the_banks(p: Problem, device: Device) -> Iterator[Rule]:
    """Remedies for threads that ask for the same bank of shared memory, and hints to the cache."""
    crowded = is_crowded(p)
    yield Rule(
        "across",
        "hard",
        "threads that work on neighbouring matrices read shared memory",
        lambda path, mma, across: (across == 0) | ((path != "plain") & (mma == 0)),
    )
    yield Rule(
        "across-many",
        "soft",
        "there are several matrices with several tiles to tell apart",
        lambda rows, columns, group, across: (across == 0) | ((group >= 4) & (tiles(p, rows, columns) > 1)),
    )
    yield Rule(
        "turn",
        "hard",
        "threads that begin at different places read shared memory",
        lambda path, mma, turn: (turn == 0) | ((path != "plain") & ((mma == 0) | (p.dtype.real_bits == 64))),
    )
    yield Rule(
        "turn-needed",
        "soft",
        "matrices, or with tensor cores columns, of other sizes begin in different banks anyway",
        lambda mma, rows, columns, turn, pad: (
            (turn == 0)
            | ((mma == 0) & crowded & (tiles(p, rows, columns) <= 16))
            | ((mma != 0) & (pad == 0) & turning(p, rows, columns))
        ),
    )
    yield Rule(
        "pad",
        "hard",
        "only copies by words can leave gaps",
        lambda path, pad: (pad == 0) | (path == "async"),
    )
    yield Rule(
        "words-for-gaps",
        "soft",
        "what bulk copies can read is read by words only to lie with gaps in shared memory",
        lambda path, pad: (
            (path != "async") | (pad == 1) | (not (bulk_pays(p, device) and max(p.m, p.n, p.k) <= 32))
        ),
    )
    yield Rule(
        "evict",
        "hard",
        "bulk copies take hints",
        lambda path, evict: (evict == 0) | (path == "bulk"),
    )


def _of_the_sm(p: Problem, device: Device) -> Iterator[Rule]:
    """What an SM holds, and what keeps its memory and its schedulers busy."""
    sms = device["sms"]

    def shared(path: Any, group: Any, stages: Any, pad: Any, direct: Any) -> Any:
        return shared_bytes(p, path, group, stages, pad, direct)

    yield limits.shared_per_block(device, shared)
    yield from limits.resident_rules(
        device,
        lambda warps: 32 * warps,
        lambda mma, rows, columns, warps, several, odd: (
            32 * warps * registers(p, mma, rows, columns, several, odd)
        ),
        shared,
    )
    yield limits.mma_registers(p, device)
    yield Rule(
        "in-flight",
        "soft",
        f"an SM has {IN_FLIGHT // 1024} KB on their way, to hide the latency of memory",
        lambda path, group, stages, pad, blocks: (
            (path == "plain") | (flying_bytes(p, group, pad, path) * stages * (blocks // sms) >= IN_FLIGHT)
        ),
    )
    yield Rule(
        "warps-enough",
        "soft",
        "an SM has a warp for each of its four schedulers",
        lambda path, warps, blocks: warps * (blocks // sms) >= np.where(path == "plain", 16, 4),
    )
    yield grids.rule(p, device, lambda group: -(-p.products // group))
    yield Rule(
        "ends-of-groups",
        "soft",
        "blocks end after groups from shared memory",
        lambda path, per_block: (per_block == 0) | (path != "plain"),
    )
