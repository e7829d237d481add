"""The choice without a search of the kernel of strips."""

from __future__ import annotations

from math import ceil

from tilewright.model import Config, Device, SegmentedProblem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda.strips import cost_mma
from tilewright.stencils.cuda.strips.endings import ending
from tilewright.stencils.cuda.strips.needs import (
    FILLED,
    LANES,
    LANES_M,
    MOST_ROWS,
    columns_of,
    entries,
    rows_of,
    words,
)

WARPS = (1, 2, 3, 4, 6, 8)
RESIDENT = (12, 8, 4, 3, 2, 1)
"""Warps of an SM. 16 of them have registers for two columns at a time: as fast in float64, and 106 in place
of 104 us in float32, on an H200 and MACE's products by element (once, not kept)."""

LIGHT, LIGHT_WORDS = 100, 140
"""Registers for a lane's rows of A and their sums, of numbers that take several and of those that take one:
with 104 (``c``, a k of 22) and with 144 (``h``, a k of 32) groups took 1.9 and 1.56 times as long as with
fewer rows, with 132 (``s``, a k of 29) 0.86 (``bench/results/h200/segments-configs.jsonl``)."""
COLUMNS = 16
"""Columns of a group from which on four rows of a lane are worth it where a third of the lanes has none."""


def best(space: Space, p: SegmentedProblem, device: Device) -> Config:
    """The first of the choices that all rules allow, else the hardware.

    Warps go on by themselves, so those without rows of the last tile along m are lost: of the numbers of
    warps the one with fewest of them, and of equals the fewest warps that see all borders at once, for small
    blocks begin in turns.
    """
    m = rows_of(p)
    rows, lanes_m = _lanes(p, m)
    height, seeing = lanes_m * rows, ceil(entries(p) / LANES)

    def lost(warps: int) -> tuple[int, bool, int]:
        return ceil(m / (height * warps)) * warps, warps < seeing, abs(warps - seeing)

    shape = {"mma": 0, "rows": rows, "lanes_m": lanes_m}
    # Short tiles are mostly those of short groups, whose last turn is seldom a whole one.
    turns = (2, 1) if max(m, height) < FILLED else (4, 2, 1)
    choices = [*cost_mma.choices(p, device)] if cost_mma.wanted(p) else []
    choices += [
        choice
        for w in sorted(WARPS, key=lost)
        for resident in RESIDENT
        for t in (64, 32, 16)
        for c in turns
        if resident >= w
        for choice in ending(p, device, shape | {"columns": c, "warps": w, "tile_n": t}, resident // w)
    ]
    for kinds in (None, (*HARDWARE, "hard")):
        for config in choices:
            if not any(kinds is None or rule.kind in kinds for rule in space.why(config)):
                return config
    raise AssertionError(f"no config for {p.key}")


def _lanes(p: SegmentedProblem, m: int) -> tuple[int, int]:
    """Rows of a lane and lanes along ``m`` rows: four rows, or as many as lanes have in one strip of few, and
    no more than leave registers for a dozen warps; fewer lanes where these have no rows at all."""
    if m <= LANES:
        return 1, max(LANES_M[-1], _power(m))
    most = min(MOST_ROWS, _power(ceil(m / LANES)))
    rows = next(count for count in (4, 2, 1) if count <= most and (count == 1 or _light(p, count)))
    # One strip of whose lanes a third may have no rows is worth it where groups have columns for it.
    if words(p) > 1 and FILLED // 2 < m < FILLED and (rows < MOST_ROWS or columns_of(p) < COLUMNS):
        rows = 1
    return rows, LANES


def _power(count: int) -> int:
    """The power of two from a number on."""
    return 1 << (count - 1).bit_length()


def _light(p: SegmentedProblem, rows: int) -> bool:
    """Whether a lane's numbers of A, and four columns of sums, leave room for others."""
    return words(p) * rows * (p.k + 4) <= (LIGHT if words(p) > 1 else LIGHT_WORDS)
