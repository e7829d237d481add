"""The choice without a search of experts.cuh, by the mean length of a group: the host knows no other."""

from __future__ import annotations

from tilewright.model import Config, Device, SegmentedProblem
from tilewright.space import HARDWARE, Space


def best(space: Space, p: SegmentedProblem, device: Device) -> Config:
    """The first of the choices that all rules allow, else the hardware."""
    mean = p.length / max(p.groups, 1)
    n = mean if p.axis == "n" else p.n
    tile_n = next((x for x in (16, 32, 64, 96, 128, 192) if n <= x), 256)
    choices = []
    for tile_m in (128, 64) if tile_n > 64 else (64,):
        for width in (tile_n, 128, 64, 16):
            for blocks in (3, 2, 1) if tile_n <= 64 else (1,):
                for stages in (8, 6, 5, 4, 3, 2):
                    values = {"tile_m": tile_m, "tile_n": width, "stages": stages}
                    choices.append(Config({**values, "blocks": blocks * device["sms"]}))
    for kinds in (None, (*HARDWARE, "hard")):
        for config in choices:
            if not any(kinds is None or rule.kind in kinds for rule in space.why(config)):
                return config
    raise AssertionError(f"no config for {p.key}")
