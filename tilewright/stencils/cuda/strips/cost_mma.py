"""The choice without a search of the kernel of strips where tensor cores multiply."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from tilewright.model import Config, Device, SegmentedProblem
from tilewright.stencils.cuda.strips.endings import ending
from tilewright.stencils.cuda.strips.needs import (
    LANES,
    MMA_LANES,
    WORD,
    columns_of,
    depth,
    few,
    halves,
    registers,
    rows_of,
    singles,
    vectors,
)

RESIDENT = (32, 24, 20, 16, 12, 8)
"""Warps of an SM."""
FOR_ROWS, FOR_COLUMNS = 16, 12
"""Warps of an SM for which registers are left when rows and when columns of a lane are chosen."""
SPARE, TABLE = 18, 8
"""Registers beyond the ones that are counted with which nothing is spilled: always, and where borders lie in
a table."""
COLUMNS = (8, 4, 2)
"""Of a lane. On an H200 kernels with 8 took 0.66 to 1.04 of the time of those with 4 but where ``SHORT`` and
``TALL`` say otherwise, and those with 4 0.59 to 1.10 of those with 2, though fewer warps have registers."""
SHORT = 16
"""Columns of a group, in the mean, up to which 4 of a lane are as fast as 8 or faster: 0.86 to 1.02 of the
time."""
TALL, SECTOR = 16, 32
"""Rows of a lane, and bytes: where columns of C are no multiple of these, 4 columns of such a lane took 0.85
to 0.95 of the time of 8; where they are one, 0.98 to 1.10."""
TOGETHER = 4
"""Warps of a block, at most, which read the same columns of B."""
SIDE = LANES // MMA_LANES
"""Lanes of a warp along n."""


def wanted(p: SegmentedProblem) -> bool:
    """Whether tensor cores multiply: numbers of 16 bits whose columns are split.

    Halves that are written one by one cost more than multiply-add units where these have several rows of a
    lane for each number of B; but not where a group has so few columns that A, which is read one by one, too,
    is read for about as many numbers as are written. With 51 to 153 rows and 3.7 or more times k columns of a
    group tensor cores took 1.46 to 1.62 of the time; with 25 rows 0.62, with 155 rows and k columns 0.70.
    Rows that are split are written so as well: there they took 1.2 to 3.2 of the time.
    """
    if not halves(p) or p.axis != "n":
        return False
    return vectors(p)[2] * p.dtype.itemsize >= WORD or rows_of(p) <= LANES or columns_of(p) <= 2 * p.k


def choices(p: SegmentedProblem, device: Device) -> Iterator[Config]:
    """Tiles of one turn for which least is read, as many warps as registers allow, and blocks of warps that
    read the same columns of B."""
    rows, columns = _tile(p, device)
    warps = _warps(p, rows)
    tile = {"mma": 1, "rows": rows, "columns": columns, "lanes_m": MMA_LANES, "warps": warps}
    tile["tile_n"] = SIDE * columns
    for resident in RESIDENT:
        if warps <= resident and _needed(p, rows, columns) <= _left(device, resident):
            yield from ending(p, device, tile, resident // warps)


def _tile(p: SegmentedProblem, device: Device) -> tuple[int, int]:
    """Rows and columns of C of a lane: of those that registers allow the rows for which least of A and of B
    is read for a number of C, and of equals those with the fewest registers; then as many columns as pay."""
    least = WORD // p.dtype.itemsize
    # Single numbers of B that lie across k take too many registers for more.
    widest = 2 if p.transposed_b and not p.dtype.is_complex else COLUMNS[0]
    tiles = [(r, c) for r in (16, 8, 4, 2, 1) for c in COLUMNS if r >= least and c <= widest]
    fitting = [tile for tile in tiles if _needed(p, *tile) <= _left(device, FOR_ROWS)]

    def read(tile: tuple[int, int]) -> tuple[float, int]:
        # Once by a warp, and once by a block, whose warps find columns of B in the first-level cache.
        of_b = sum(_share(rows_of(p), MMA_LANES * tile[0] * warps) for warps in (1, _warps(p, tile[0])))
        return 2 * _share(columns_of(p), SIDE * tile[1]) + of_b, _needed(p, *tile)

    rows, columns = min(fitting or [(least, COLUMNS[-1])], key=read)
    if columns_of(p) <= SHORT or (rows >= TALL and p.ldc * p.dtype.itemsize % SECTOR):
        widest = min(widest, 4)
    paying = [c for c in COLUMNS if c <= widest and _needed(p, rows, c) <= _left(device, FOR_COLUMNS)]
    return rows, max(paying, default=columns)


def _warps(p: SegmentedProblem, rows: int) -> int:
    """Warps of a block, one below the other: of those that leave fewest without rows the most."""
    strips = ceil(rows_of(p) / (MMA_LANES * rows))
    return min(range(1, TOGETHER + 1), key=lambda count: (ceil(strips / count) * count, -count))


def _share(extent: float, side: int) -> float:
    """One over the part of an extent that a tile with such a side has, in the mean."""
    return ceil(extent / side) / extent


def _left(device: Device, warps: int) -> int:
    """Registers of a thread with so many warps of an SM."""
    return int(device["registers_per_sm"]) // (LANES * warps) // 8 * 8


def _needed(p: SegmentedProblem, rows: int, columns: int) -> int:
    """Registers of a thread with which nothing is spilled."""
    deep, blocks = depth(p), rows * p.dtype.itemsize // WORD
    single_a, single_b = singles(p)
    single = (single_a and deep * blocks + TABLE) + (single_b and 2 * deep)
    return int(registers(p, rows, columns, 1)) + SPARE + TABLE * (not few(p)) + single
