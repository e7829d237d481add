"""Warp groups with roles on the interpreter of PTX: edges, turns of groups, and blocks that share slices."""

from __future__ import annotations

import pytest

from tests import marks
from tests.emulator.cases import found_wrong, problem
from tilewright.model import Config

pytestmark = marks.COMPILED

SMALL = {"tile_m": 64, "tile_n": 128, "ping_pong": 0, "cluster_m": 1, "cluster_n": 1, "stages": 2, "outs": 1}
SMALL |= {
    "overlap": 0,
    "band": 1024,
    "backwards": 1,
    "blocks": 132,
    "cut": 0,
    "lanes": 0,
    "copied": 0,
    "behind": 0,
}


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        ("h:nn:77x72x72", "0", {"overlap": 1}),
        # Tiles of 64 columns in turns, C is read, and three blocks share five tiles, of which two are cut.
        # B comes into registers.
        (
            "s:tt:64x320x72",
            "any",
            {"ping_pong": 1, "tile_n": 64, "outs": 2, "cut": 1, "blocks": 3, "lanes": 1},
        ),
        # A comes into registers, and rows of tensor cores are rows of C.
        ("s:nn:77x72x40", "any", {"tile_m": 128, "tile_n": 64, "outs": 2, "lanes": 2}),
        # B is copied along k, in pieces that end in words and lines, and A comes into registers.
        ("s:nt:77x70x40", "any", {"tile_m": 128, "tile_n": 64, "lanes": 2, "copied": 1}),
        # A is copied, two blocks share what comes of it, and B is turned.
        ("s:nt:66x132x68", "0", {"tile_m": 128, "cluster_n": 2, "copied": 2}),
        # Strips that tiles of a block need one after the other, while those before them are multiplied.
        ("s:tt:40x600x72", "any", {"tile_n": 64, "ping_pong": 1, "band": 128, "copied": 1, "behind": 1}),
        # Ten share one tile, most of whose columns do not come, and add the sums of three each.
        ("h:nn:40x20x600", "0", {"tile_n": 64, "ping_pong": 1, "cut": 11}),
        ("h:tt:20x72x600", "1", {"cut": 11}),
        # Both operands are turned. Two blocks share what comes of B, in slices that two clusters share.
        ("s:nt:72x40x72", "1", {"cluster_m": 2, "cut": 2}),
    ],
)
def test_tiles_come_and_go(text: str, beta: str, fixed: dict[str, int]) -> None:
    alpha = "1" if beta == "0" else "any"
    math = "tf32" if text[0] == "s" else "ieee"
    p = problem(text, beta=beta, alpha=alpha, math=math)
    pads = [-(ld or 0) % (16 // p.dtype.itemsize) for ld in (p.lda, p.ldb, p.ldc)]
    p = problem(text, pad=(pads[0], pads[1] + 24, pads[2] + 64), beta=beta, alpha=alpha, math=math)
    config = Config(SMALL | fixed)
    assert found_wrong("warpgroup", [(p, config)], grid_x=None if config["cut"] else 1) == []
