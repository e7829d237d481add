"""The space of panel: parameters, and the rules that prune them, by topic.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import grids, limits
from tilewright.stencils.cuda.common import WIDEST
from tilewright.stencils.cuda.panel.needs import (
    LIFE,
    LONGEST,
    PATHS,
    SECTOR,
    along,
    by_words,
    held_words,
    length,
    long_m,
    odd_columns,
    parts,
    shared_bytes,
    short,
    stage_bytes,
    streams,
    tiles,
)
from tilewright.stencils.cuda.tiny.needs import registers, words_of_sum
from tilewright.stencils.cuda.tiny.space import sides

TILES = (
    *(16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 224, 256, 320, 384, 448, 512),
    *(576, 640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048),
    *(2304, 2560, 2816, 3072, 3584, LONGEST),
)
"""Rows of a tile, whatever the length of the panel is."""
PIECE = 512
"""Rows of a tile that is a piece of a panel, at most; longer ones hold all of a narrow one, as one run."""
PIECES = 8
"""Pieces of a panel up to which tiles are made for its length."""
WASTE = 0.03
"""Of the rows of a panel what ``TILES`` would add, from which on they are."""
ALONG = (1, 2, 4, 8, 16)
"""Rows along the panel of a thread."""
TALL, TALLER = (32, 64, 128), (48, 80, 96, 112)
"""More of a warp with tensor cores; and of one with those of 16 bits, where a part may so have all of a short
panel, whose instructions wait for each other less than those of one part after the other."""
MOST_HELD = 96
"""Registers of the small operand that a thread holds, at most."""
MOVERS = (1, 2, 4)
"""Warps that load, and as many that write."""
PER_SM = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)


def tile_sizes(p: Problem) -> tuple[int, ...]:
    """Rows of a tile: those of any panel, and those that part this one into a few pieces of whole sectors, or
    pairs of sectors, where the others would have more rows behind its end. (Of 198 rows two tiles of 100 have
    all but two, while 16 is the only one of the others that parts it and leaves less than a tenth empty.)"""
    rows, made = length(p), set[int]()
    for pieces in range(1, PIECES + 1):
        least, most = -(-rows // pieces), PIECE if pieces > 1 else LONGEST
        usual = min((tile for tile in TILES if tile >= least), default=0)
        for grain in (SECTOR // p.dtype.itemsize, 2 * SECTOR // p.dtype.itemsize):
            tile = -(-least // grain) * grain
            spared = (usual - tile) * pieces
            if TILES[0] <= tile <= most and -(-rows // tile) == pieces and spared > WASTE * rows:
                made.add(tile)
    return tuple(sorted(made.union(TILES)))


def params(p: Problem, device: Device) -> list[Param]:
    taller = TALLER if p.dtype.real_bits == 16 else ()
    lengthwise, other = tuple(sorted({*ALONG, *TALL, *taller})), sides(short(p))
    return [
        Param("path", PATHS),
        Param("mma", (0, 8, 16)),
        Param("packed", (0, 1), absent=0),
        Param("held", (0, 1), absent=0),
        Param("direct", (0, 1)),
        Param("tile", tile_sizes(p)),
        Param("rows", lengthwise if long_m(p) else other),
        Param("columns", other if long_m(p) else lengthwise),
        Param("warps", (1, 2, 4, 6, 8, 12, 16)),
        Param("movers", MOVERS, absent=1),
        Param("sectors", (0, 1), absent=0),
        Param("stages", (2, 3, 4, 6, 8)),
        Param("blocks", tuple(count * device["sms"] for count in PER_SM)),
        grids.param(),
        grids.tickets(),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield from _of_the_path(p, device)
    yield from _of_the_part(p, device)
    yield from _of_the_tile(p)
    yield from _of_the_sm(p, device)


def bulk_takes(p: Problem) -> bool:
    """Whether every operand is a stream, or columns along the panel, without going back in memory."""
    stream, stream_c = streams(p)
    a, b, _ = p.stored
    packed = (p.ldb == b[0]) if long_m(p) else (p.lda == a[0])
    return (along(p) or stream) and (long_m(p) or stream_c) and packed and min(p.strides) >= 0


def _of_the_path(p: Problem, device: Device) -> Iterator[Rule]:
    """How tiles come into shared memory, and how they leave."""
    takes = bulk_takes(p)
    yield limits.bulk_device(device)
    yield Rule(
        "bulk-runs",
        "hard",
        "bulk copies take streams and columns along the panel, and a small operand without padding",
        lambda path: (path == "async") | takes,
    )
    yield Rule(
        "movers",
        "hard",
        "warps that move tiles do so by bulk copies",
        lambda path, movers: (path == "bulk") | (movers == 1),
    )
    yield Rule(
        "tickets",
        "hard",
        "warps of their own ask for tiles by their numbers",
        lambda path, tickets: (path == "bulk") | (tickets == 0),
    )
    most = max(p.k if along(p) else 1, short(p) if long_m(p) else 1)
    yield Rule(
        "movers-idle",
        "soft",
        "a warp that moves tiles has four runs of them, or is the only one",
        lambda movers: (movers == 1) | (4 * movers <= most),
    )
    yield Rule(
        "sectors",
        "soft",
        "columns of small numbers leave by whole sectors, where bulk copies would begin within them",
        lambda path, direct, tile, sectors: (sectors == 0) | by_words(p, path, direct, tile),
    )
    yield Rule(
        "packed",
        "hard",
        "the small operand is packed for multiply-add units",
        lambda mma, packed: (packed == 0) | (mma == 0),
    )
    yield Rule(
        "direct",
        "hard",
        "C leaves from registers where neighbouring threads have neighbouring rows",
        lambda mma, direct: (direct == 0) | ((mma == 0) & long_m(p)),
    )


def _of_the_part(p: Problem, device: Device) -> Iterator[Rule]:
    """What tensor cores take, and how large a part of a tile a thread or a warp computes."""
    words, other, halves = words_of_sum(p), short(p), p.dtype.real_bits == 16
    yield from limits.tensor_cores(p, device)
    yield Rule(
        "part-in-c",
        "soft",
        "a part is not larger than C, but for what tensor cores ask for",
        lambda mma, rows, columns: (
            (columns if long_m(p) else rows) < other + 1 + (mma != 0) * np.maximum(mma, 8)
        ),
    )
    yield Rule(
        "part-along",
        "soft",
        "a thread has 16 rows along the panel at most",
        lambda mma, rows, columns: (mma != 0) | ((rows if long_m(p) else columns) <= ALONG[-1]),
    )
    yield Rule(
        "sums-fit",
        "soft",
        "a thread has 128 registers of sums at most",
        lambda mma, rows, columns: rows * columns * words <= 128 * ((mma == 0) + 32 * (mma != 0)),
    )
    yield Rule(
        "held",
        "hard",
        "the small operand is held by tensor cores of 16 bits, whose parts have all that is short",
        lambda mma, held, rows, columns: (
            (held == 0) | ((mma != 0) & halves & ((columns if long_m(p) else rows) >= other))
        ),
    )
    yield Rule(
        "held-odd",
        "soft",
        "an operand is held whose columns are not whole words, which is read half by half",
        lambda held: (held == 0) | odd_columns(p),
    )
    yield Rule(
        "held-fits",
        "soft",
        "a thread holds 96 registers of it at most, beside those of one product",
        lambda held, rows, columns: (held == 0) | (held_words(p, rows, columns) <= MOST_HELD),
    )
    yield limits.registers_per_thread(
        device,
        lambda mma, held, rows, columns: _registers(p, mma, held, rows, columns),
    )


def _of_the_tile(p: Problem) -> Iterator[Rule]:
    """How long a tile is, and who multiplies it."""
    least = min(tile for tile in TILES if tile >= min(length(p), TILES[-1]))
    yield Rule(
        "whole-words",
        "hard",
        "a tile is whole words of 16 bytes along the panel",
        lambda tile: tile * p.dtype.itemsize % WIDEST == 0,
    )
    usual = np.array(TILES)
    yield Rule(
        "tile-parts",
        "soft",
        "a tile that is made for a length is whole parts",
        lambda tile, rows, columns: np.isin(tile, usual) | (tile % (rows if long_m(p) else columns) == 0),
    )
    yield Rule("tile-in-panel", "soft", "a tile is not longer than the panel", lambda tile: tile <= least)
    yield Rule(
        "tile-long",
        "soft",
        "a tile of more than 512 rows holds all of the panel",
        lambda tile: (tile <= PIECE) | (tile >= length(p)),
    )
    yield Rule(
        "tile-full",
        "soft",
        "nine tenths of the tiles lie in the panel, where the panel is longer than one",
        lambda tile: (tile == least) | (0.9 * -(-length(p) // tile) * tile <= length(p)),
    )
    yield Rule(
        "busy",
        "soft",
        "three threads (or warps) in four have a part, or more",
        lambda mma, tile, rows, columns, warps: _busy(p, mma, tile, rows, columns, warps) >= 0.75,
    )
    yield Rule(
        "long-turns",
        "soft",
        "a thread has 8 parts of a tile at most, a warp with tensor cores 16",
        lambda mma, tile, rows, columns, warps: (
            parts(p, tile, rows, columns) <= (8 + 8 * (mma != 0)) * slots(mma, warps)
        ),
    )


def threads(path: Any, direct: Any, warps: Any, movers: Any) -> Any:
    """Threads of a block: with bulk copies more warps load, and as many write what does not leave from
    registers."""
    return 32 * (warps + (path == "bulk") * (2 - direct) * movers)


def slots(mma: Any, warps: Any) -> Any:
    """Threads of a block, or warps with tensor cores: who computes a part each."""
    return warps * (1 * (mma != 0) + 32 * (mma == 0))


def _registers(p: Problem, mma: Any, held: Any, rows: Any, columns: Any) -> Any:
    """Registers that the loop of a thread needs."""
    return registers(p, mma, rows, columns) + held * held_words(p, rows, columns)


def _busy(p: Problem, mma: Any, tile: Any, rows: Any, columns: Any, warps: Any) -> Any:
    items, each = parts(p, tile, rows, columns), slots(mma, warps)
    return np.where((warps == 1) & (items <= each), 1.0, items / (-(-items // each) * each))


def _of_the_sm(p: Problem, device: Device) -> Iterator[Rule]:
    """What an SM holds, and what keeps its memory and its schedulers busy."""
    yield limits.threads_per_block(
        device, lambda path, direct, warps, movers: threads(path, direct, warps, movers)
    )

    def by_columns(
        path: Any, mma: Any, direct: Any, tile: Any, stages: Any, packed: Any, columns: Any
    ) -> Any:
        return shared_bytes(p, path, mma, direct, tile, stages, packed, columns)

    def by_rows(path: Any, mma: Any, direct: Any, tile: Any, stages: Any, packed: Any, rows: Any) -> Any:
        return shared_bytes(p, path, mma, direct, tile, stages, packed, rows)

    # A rule reads what it depends on, and nothing else.
    shared = by_columns if long_m(p) else by_rows
    yield limits.shared_per_block(device, shared)
    yield from limits.resident_rules(
        device,
        lambda path, direct, warps, movers: threads(path, direct, warps, movers),
        lambda path, mma, held, direct, rows, columns, warps, movers: (
            threads(path, direct, warps, movers) * _registers(p, mma, held, rows, columns)
        ),
        shared,
    )
    # Loads wait for memory beside what is written, which waits for nobody. It was measured where m is long.
    read = p.k + short(p) * (p.beta != "0")
    share = (read + short(p)) / read if long_m(p) else 1.0
    yield grids.rule(p, device, lambda tile: tiles(p, tile), LIFE)
    yield grids.ticket_rule(p, device)
    yield limits.in_flight(
        device, lambda path, mma, tile, stages: share * stage_bytes(p, path, mma, tile) * (stages - 1)
    )
    yield limits.warps_enough(device)
