"""The choice without a search of the kernel of outer."""

from __future__ import annotations

from tilewright.model import Config, Device, SegmentedProblem
from tilewright.space import HARDWARE, Space
from tilewright.stencils.cuda.outer.needs import vectors


def best(space: Space, p: SegmentedProblem, device: Device) -> Config:
    """The first of the choices that all rules allow, else the hardware."""
    size = p.dtype.itemsize
    rows = max(vectors(p)[2], 16 // size)
    choices = [
        Config({"rows": r, "columns": c, "warps": w, "tile_n": t, "blocks": count * device["sms"]})
        for r in (rows, vectors(p)[2], 1)
        for count in (4, 3, 2, 1)
        for t in (64, 32, 16)
        for c in (4, 2, 1)
        for w in (4, 2)
    ]
    for kinds in (None, (*HARDWARE, "hard")):
        for config in choices:
            if not any(kinds is None or rule.kind in kinds for rule in space.why(config)):
                return config
    raise AssertionError(f"no config for {p.key}")
