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
    "cluster_k": 1,
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
        # Blocks of a cluster share the slices of a tile: eight of them three slices; four have those of three
        # clusters each, in tiles whose last rows and columns are not there; two have halves of a tile each.
        ("h:nn:77x72x136", "any", {"tile_n": 64, "ping_pong": 1, "cluster_k": 8}),
        ("b:tt:20x72x840", "1", {"tile_n": 64, "ping_pong": 1, "cut": 3, "cluster_k": 4}),
        ("h:nt:66x140x264", "any", {"outs": 2, "cluster_k": 2}),
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
    assert (
        found_wrong(
            "warpgroup", [(p, config)], grid_x=None if config["cut"] or config["cluster_k"] > 1 else 1
        )
        == []
    )


@pytest.mark.parametrize(
    ("text", "loose", "fixed"),
    [
        # Both operands across k and along it, or one of each; one of them by boxes; sums of other blocks.
        ("h:nn:77x39x71", (1, 1, 1), {"tile_n": 64, "ping_pong": 1}),
        ("b:tn:21x70x135", (1, 1, 0), {"tile_n": 64, "ping_pong": 1, "cluster_k": 2}),
        ("h:nt:66x33x75", (1, 1, 1), {}),
        ("h:tt:35x72x140", (0, 1, 1), {"overlap": 1, "cluster_k": 4}),
        ("b:nn:17x140x210", (0, 1, 1), {"tile_n": 64, "ping_pong": 1, "cut": 2}),
        ("h:nt:72x35x71", (0, 0, 1), {"tile_n": 64, "ping_pong": 1}),
    ],
)
def test_columns_begin_anywhere(text: str, loose: tuple[int, int, int], fixed: dict[str, int]) -> None:
    p = problem(text, beta="any", alpha="any")
    # Odd columns, or multiples of eight elements.
    pads = [
        int((ld or 0) % 2 == 0) if odd else -(ld or 0) % 8
        for ld, odd in zip((p.lda, p.ldb, p.ldc), loose, strict=True)
    ]
    p = problem(text, pad=(pads[0], pads[1], pads[2]), beta="any", alpha="any")
    config = Config(SMALL | fixed)
    whole = not config["cut"] and config["cluster_k"] == 1
    assert found_wrong("warpgroup", [(p, config)], grid_x=1 if whole else None) == []
