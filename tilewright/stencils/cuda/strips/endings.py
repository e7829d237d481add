"""How long blocks of strips live, where a config is chosen without a search."""

from __future__ import annotations

from tilewright.model import Config, Device, SegmentedProblem
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.segments.stencil import tiles


def ending(p: SegmentedProblem, device: Device, tile: dict[str, int], per_sm: int) -> tuple[Config, Config]:
    """So many blocks on an SM, which end where that pays, and those that stay."""
    config = Config({**tile, "blocks": per_sm * device["sms"], "per_block": 0, "ahead": 0, "once": 1})
    count = tiles(p, tile["lanes_m"] * tile["rows"] * tile["warps"], tile["tile_n"])
    return grids.ended(p, device, config, count), config
