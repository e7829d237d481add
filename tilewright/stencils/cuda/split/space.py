"""The space of split: parameters, and the rules that prune them.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.model import Device, Problem
from tilewright.space import Param, Rule
from tilewright.stencils.cuda import limits
from tilewright.stencils.cuda.emulated.needs import SLICE, planes_of
from tilewright.stencils.cuda.split.needs import shared_bytes, wide

TILE_M = (64, 128)
STAGES = (3, 4, 5, 6, 7, 8, 9)
BANDS = (512, 2048)


def params(p: Problem, device: Device) -> list[Param]:
    return [
        Param("tile_m", TILE_M),
        Param("stages", STAGES),
        Param("band", BANDS),
        Param("blocks", (device["sms"],)),
    ]


def rules(p: Problem, device: Device) -> Iterator[Rule]:
    yield Rule(
        "ring",
        "hard",
        "planes of a slice are there together while the next one comes",
        lambda stages: stages > planes_of(p),
    )
    yield limits.shared_per_block(device, shared_bytes, "the ring fits")
    yield Rule(
        "tile-in-m",
        "soft",
        "tiles are not higher than C, but for what tensor cores ask for",
        lambda tile_m: tile_m < p.m + SLICE,
    )
    yield Rule(
        "ring-ahead",
        "soft",
        "two slices are in the ring, one that is multiplied and one that comes",
        lambda stages: stages >= 2 * planes_of(p),
    )
    # Addresses of the rows of one operand and of the other are of one kind then, and all are kept.
    odd = not (p.dtype.is_complex or wide(p, 0) or wide(p, 1)) and p.transposed_a == p.transposed_b
    yield Rule(
        "odd-high",
        "soft",
        "where both operands come number by number, and lie alike, threads have registers for 64 rows",
        lambda tile_m: (not odd) | (tile_m <= 64),
    )
