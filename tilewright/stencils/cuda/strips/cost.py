"""The choice without a search of the kernel of strips."""

from __future__ import annotations

from math import ceil

from tilewright.model import Config, Device, SegmentedProblem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.segments.stencil import tiles
from tilewright.stencils.cuda.strips.needs import LANES, entries, few, vectors


def best(space: Space, p: SegmentedProblem, device: Device) -> Config:
    """The first of the choices that all rules allow, else the hardware.

    Warps go on by themselves, so those without rows of the last tile along m are lost: of the numbers of
    warps the one with fewest of them.
    """
    run = vectors(p)[2]
    height = LANES * run
    least = 1 if few(p) else ceil(entries(p) / LANES)
    numbers = sorted((1, 2, 3, 4, 6, 8), key=lambda warps: (ceil(p.m / (height * warps)) * warps, warps < least, abs(warps-least)))
    choices = [
        grids.ended(
            p,
            device,
            Config({"rows": run, "columns": c, "warps": w, "tile_n": t, "blocks": resident // w * device["sms"], "per_block": 0}),
            tiles(p, height * w, t),
        )
        for w in numbers
        for resident in (16, 12, 8, 4, 3, 2, 1)
        for t in (64, 32, 16)
        for c in (4, 2, 1)
        if resident // w
    ]
    for kinds in (None, (*HARDWARE, "hard")):
        for config in choices:
            if not any(kinds is None or rule.kind in kinds for rule in space.why(config)):
                return config
    raise AssertionError(f"no config for {p.key}")
