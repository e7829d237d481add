"""What the kernel of boxes derives from a config, in the same words: slices, tiles of C, shared memory.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

from tilewright.model import Problem

SLICE = 64
"""Elements along k that come together, and rows and columns of a box: 128 bytes of halves, a swizzle."""
LINE = 128
"""Bytes of a swizzle."""


def tiles(p: Problem, tile_m: Any, tile_n: Any) -> Any:
    """Tiles of C of one product."""
    return -(-p.m // tile_m) * -(-p.n // tile_n)


def stage_bytes(p: Problem, tile_m: Any, tile_n: Any) -> Any:
    """Bytes of a slice of A and of B. Boxes that lie along m are whole."""
    of_a = tile_m if p.transposed_a else -(-tile_m // SLICE) * SLICE
    return (of_a + tile_n) * LINE


def result_bytes(tile_m: Any, tile_n: Any) -> Any:
    """Bytes of a tile of C."""
    return -(-tile_m // SLICE) * tile_n * LINE


def shared_bytes(p: Problem, tile_m: Any, tile_n: Any, stages: Any, kept: Any) -> Any:
    """Shared memory of a block: the ring of slices, tiles of C, and barriers of 8 bytes."""
    ring = stages * stage_bytes(p, tile_m, tile_n)
    return ring + kept * result_bytes(tile_m, tile_n) + 16 * (stages + kept)


def threads(tile_n: Any) -> Any:
    """Threads of a block: a warp group for 64 columns, a warp that loads and one that stores."""
    return 2 * tile_n + 64


def registers(tile_m: Any) -> Any:
    """32-bit registers of a thread: sums, and some for addresses."""
    return 32 + tile_m // 2
