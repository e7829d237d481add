"""What the kernel of warpgroup derives from a config, in the same words: slices, shared memory, tiles.

Sizes are in elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Problem

SLICE = 64
"""Elements along k that come together, and rows and columns of a box: 128 bytes of halves, a swizzle."""
LINE = 128
"""Bytes of a swizzle."""
GROUPS = 2
"""Warp groups that multiply; one more loads."""
THREADS = 128 * (GROUPS + 1)
MOST_SUMS = 192
"""Accumulators of a thread, which leave 48 of its 240 registers."""


def group_columns(tile_n: Any, ping_pong: Any) -> Any:
    """Columns of C of a warp group."""
    return tile_n // np.where(np.asarray(ping_pong) > 0, 1, GROUPS)


def stage_bytes(tile_m: Any, tile_n: Any) -> Any:
    """Bytes of a slice of A and of B."""
    return (tile_m + tile_n) * LINE


def shared_bytes(tile_m: Any, tile_n: Any, stages: Any, outs: Any) -> Any:
    """Shared memory of a block: the ring of slices, boxes of C of each group, and barriers of 8 bytes."""
    boxes = GROUPS * outs
    return stages * stage_bytes(tile_m, tile_n) + boxes * SLICE * LINE + 8 * (2 * stages + boxes)


def tiles(p: Problem, tile_m: Any, tile_n: Any, cluster_m: Any = 1, cluster_n: Any = 1) -> Any:
    """Tiles of C, or of clusters."""
    return -(-p.m // (tile_m * cluster_m)) * -(-p.n // (tile_n * cluster_n))
