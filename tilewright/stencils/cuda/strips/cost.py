"""The choice without a search of the kernel of strips."""

from __future__ import annotations

from math import ceil

from tilewright.model import Config, Device, SegmentedProblem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.segments.stencil import tiles
from tilewright.stencils.cuda.strips.needs import LANES, entries, vectors

WARPS = (1, 2, 3, 4, 6, 8)
RESIDENT = (12, 8, 4, 3, 2, 1)
"""Warps of an SM. 16 of them have registers for two columns at a time: as fast in float64, and 106 in place
of 104 us in float32, on an H200 and MACE's products by element (once, not kept)."""


def best(space: Space, p: SegmentedProblem, device: Device) -> Config:
    """The first of the choices that all rules allow, else the hardware.

    Warps go on by themselves, so those without rows of the last tile along m are lost: of the numbers of
    warps the one with fewest of them, and of equals the fewest warps that see all borders at once, for small
    blocks begin in turns.
    """
    run = vectors(p)[2]
    height, seeing = LANES * run, ceil(entries(p) / LANES)

    def lost(warps: int) -> tuple[int, bool, int]:
        return ceil(p.m / (height * warps)) * warps, warps < seeing, abs(warps - seeing)

    choices = [
        _config(p, device, {"rows": run, "columns": c, "warps": w, "tile_n": t}, resident // w)
        for w in sorted(WARPS, key=lost)
        for resident in RESIDENT
        for t in (64, 32, 16)
        for c in (4, 2, 1)
        if resident >= w
    ]
    for kinds in (None, (*HARDWARE, "hard")):
        for config in choices:
            if not any(kinds is None or rule.kind in kinds for rule in space.why(config)):
                return config
    raise AssertionError(f"no config for {p.key}")


def _config(p: SegmentedProblem, device: Device, tile: dict[str, int], per_sm: int) -> Config:
    """So many blocks on an SM, which end where that pays."""
    config = Config({**tile, "blocks": per_sm * device["sms"], "per_block": 0, "ahead": 0, "once": 1})
    count = tiles(p, LANES * tile["rows"] * tile["warps"], tile["tile_n"])
    return grids.ended(p, device, config, count)
