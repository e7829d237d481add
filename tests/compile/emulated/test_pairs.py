"""Complex halves by warp groups on the interpreter of PTX: edges, signs, transposes that are stored, operands
that are turned, and blocks that share slices."""

from __future__ import annotations

import pytest

from tests import marks
from tests.emulator.cases import found_wrong, problem
from tilewright.model import Config

pytestmark = marks.COMPILED

SMALL = {
    "exchange": 0,
    "tile_m": 64,
    "tile_n": 128,
    "ping_pong": 0,
    "copied": 0,
    "behind": 0,
    "steps": 2,
    "cluster_m": 1,
    "cluster_n": 1,
}
SMALL |= {"stages": 2, "outs": 1, "overlap": 0, "band": 1024, "backwards": 1, "blocks": 132, "cut": 0}


@pytest.mark.parametrize(
    ("text", "beta", "fixed"),
    [
        # C is read and stored as its transpose, and ends inside of 16 bytes.
        ("hc:jn:70x68x36", "any", {"exchange": 1, "outs": 2, "overlap": 1}),
        # Two blocks share what comes of B.
        ("hc:tj:72x36x36", "0", {"cluster_m": 2, "steps": 1}),
        # An operand is turned, and both are conjugates: tiles in turns, both of them cut.
        ("hc:jc:64x72x68", "1", {"ping_pong": 1, "tile_n": 64, "cut": 1, "blocks": 3}),
        # A is copied along k by one block, pieces of it end in words and lines; two slices.
        ("hc:jt:70x36x68", "any", {"copied": 1, "steps": 1}),
        # So is B, by three blocks, two of which share a tile along k behind another.
        ("hc:nc:36x72x132", "1", {"copied": 1, "exchange": 1, "cut": 1, "blocks": 3}),
        # Strips that tiles need one after the other, while those before them are multiplied.
        ("hc:nj:264x36x36", "any", {"copied": 1, "behind": 1, "tile_n": 64, "ping_pong": 1}),
        # Two blocks share what comes of the copy.
        ("hc:nt:68x132x36", "0", {"copied": 1, "behind": 1, "cluster_n": 2}),
    ],
)
def test_tiles_come_and_go(text: str, beta: str, fixed: dict[str, int]) -> None:
    alpha = "1" if beta == "0" else "any"
    p = problem(text, beta=beta, alpha=alpha)
    pads = [-(ld or 0) % 4 for ld in (p.lda, p.ldb, p.ldc)]
    p = problem(text, pad=(pads[0], pads[1] + 24, pads[2] + 64), beta=beta, alpha=alpha)
    config = Config(SMALL | fixed)
    assert found_wrong("pairs", [(p, config)], grid_x=None if config["cut"] else 1) == []
