"""What the kernel of pairs derives from a config, in the same words: the product that it is asked for, shared
memory, tiles.

What it has in common with ``warpgroup`` (the ring of slices, tiles that are cut) is said there. Sizes are in
elements, shared memory in bytes. Functions on configs work on numbers and on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.model import Config, Problem, of_transposes
from tilewright.stencils.cuda import copies
from tilewright.stencils.cuda.warpgroup.needs import (
    BLOCK,
    GROUPS,
    LINE,
    stage_bytes,
    tiles,
    workspace_bytes,
)

SLICE = 32
"""Elements along k that come together, and rows of a box of C: a line of 128 bytes."""


def transposes(p: Problem) -> Problem:
    """The product of the transposes, op(B)^T by op(A)^T: what comes out is C^T, one after the other along
    its rows where C lies in columns."""
    trans = of_transposes(p.trans)
    return Problem(
        p.dtype,
        p.n,
        p.m,
        p.k,
        trans[0],
        trans[1],
        lda=p.ldb,
        ldb=p.lda,
        alpha=p.alpha,
        beta=p.beta,
    )


def asked_of(p: Problem, exchange: int) -> Problem:
    """The product that the kernel makes of a problem."""
    return transposes(p) if exchange else p


def turned(p: Problem, exchange: Any) -> Any:
    """Whether the operand in shared memory has to be turned, as 0 or 1."""
    return np.where(np.asarray(exchange) > 0, int(p.transposed_b), int(not p.transposed_a))


def copied_elements(p: Problem, exchange: Any, copied: Any) -> Any:
    """Elements that are copied along k."""
    return copies.elements(p.m + exchange * (p.n - p.m), 0, p.k, copied * copies.OF_A)


def group_columns(tile_n: Any, ping_pong: Any) -> Any:
    """Columns of a tile of a warp group."""
    return tile_n // np.where(np.asarray(ping_pong) > 0, 1, GROUPS)


def shared_bytes(tile_m: Any, tile_n: Any, stages: Any, outs: Any) -> Any:
    """Shared memory of a block: the ring of slices, places of results of each group, and barriers."""
    places = GROUPS * outs
    return stages * stage_bytes(tile_m, tile_n) + places * BLOCK * LINE + 8 * (3 * stages + places)


def clusters(p: Problem, exchange: Any, tile_m: Any, tile_n: Any, cluster_m: Any, cluster_n: Any) -> Any:
    """Tiles of clusters."""
    straight = tiles(p, tile_m, tile_n, cluster_m, cluster_n)
    return np.where(np.asarray(exchange) > 0, tiles(p, tile_n, tile_m, cluster_n, cluster_m), straight)


def room_for_sums(c: Config, workers: int) -> int:
    """Bytes of the workspace of so many workers: flags, and sums of re and of im."""
    blocks = workers * c["cluster_m"] * c["cluster_n"]
    return workspace_bytes(c, workers) + int(blocks * c["tile_m"] * c["tile_n"] * 4)
