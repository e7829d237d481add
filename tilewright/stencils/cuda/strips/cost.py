"""The choice without a search of the kernel of strips."""

from __future__ import annotations

from math import ceil

from tilewright.model import Config, Device, SegmentedProblem
from tilewright.space import HARDWARE, Space

OF_A_WARP = 128
"""Rows of C of a warp whose lanes have 4 each."""


def best(space: Space, p: SegmentedProblem, device: Device) -> Config:
    """The first of the choices that all rules allow, else the hardware.

    Warps go on by themselves, so those without rows of the last tile along m are lost: of the numbers of
    warps the one with fewest of them, and the largest of equals.
    """
    by_waste = sorted((4, 3, 2, 1), key=lambda warps: ceil(p.m / (OF_A_WARP * warps)) * warps)
    choices = [
        Config({"mma": 0, "lines": 0, "per_block": 0, "rows": 4 if p.dtype.letter == "s" else 2, "columns": c, "warps": w, "tile_n": t, "blocks": 12 // w * device["sms"] // part})
        for w in by_waste
        for part in (1, 2, 4)
        for t in (64, 32, 16)
        for c in (4, 2, 1)
        if 12 // w % part == 0
    ]
    for kinds in (None, (*HARDWARE, "hard")):
        for config in choices:
            if not any(kinds is None or rule.kind in kinds for rule in space.why(config)):
                return config
    raise AssertionError(f"no config for {p.key}")
