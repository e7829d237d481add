"""Panels on the interpreter of PTX: streams that begin anywhere, their rests, and who takes which tile."""

from __future__ import annotations

from typing import Any

import pytest

from tests import marks
from tests.emulator import products
from tests.emulator.cases import H200, allowed, found_wrong, problem
from tests.emulator.machine import SCHEDULES
from tilewright.stencils.cuda import grids
from tilewright.targets.cuda.arguments import Struct, workspaces

pytestmark = marks.COMPILED


@pytest.mark.parametrize(
    ("text", "layout", "fixed"),
    [
        # Columns along the panel that begin anywhere in a word, and C from registers.
        ("s:nn:67x3x4@2", "dense", {"path": "bulk", "direct": 1}),
        ("c:nt:3x66x3@2", "shared", {"path": "bulk", "packed": 1}),
        # Streams that do, with a rest of a tile, and columns that are counted one by one.
        ("d:tn:67x5x3@2", "dense", {"path": "bulk", "direct": 0, "rows": 4, "columns": 2}),
        ("s:nn:3x67x5@2", "dense", {"path": "bulk", "packed": 1, "rows": 1, "columns": 4}),
        ("c:cj:66x4x3@2", "padded", {"path": "async", "direct": 0, "packed": 1}),
        ("z:jn:5x66x2@2", "padded", {"path": "async", "rows": 1, "columns": 4}),
        ("h:tt:70x5x6@2", "dense", {"path": "async", "direct": 1, "rows": 4, "columns": 1}),
        # Columns of C that are one run, with rows of the tile behind them.
        ("c:tn:65x2x3@2", "dense", {"path": "bulk", "direct": 0, "tile": 80, "packed": 1}),
        ("h:nn:65x5x9@2", "dense", {"path": "bulk", "mma": 16, "tile": 80}),
        # Columns of the panel that are one run, read one by one, by vectors of two, and by tensor cores.
        ("s:nt:67x5x3@3", "dense", {"path": "bulk", "tile": 80, "direct": 0}),
        ("c:nt:4x67x3@3", "dense", {"path": "bulk", "tile": 80, "packed": 1}),
        ("s:nn:66x5x3@3", "dense", {"path": "bulk", "tile": 80, "rows": 2, "columns": 5}),
        ("h:nt:5x69x9@3", "shared", {"path": "bulk", "tile": 80, "mma": 16}),
        # Several warps that load, and as many that write: more of either than there are runs, and fewer.
        ("s:nn:67x3x9@2", "dense", {"path": "bulk", "movers": 4}),
        ("h:tt:69x40x3@2", "dense", {"path": "bulk", "movers": 2, "direct": 0}),
        ("z:nt:3x66x37@2", "shared", {"path": "bulk", "movers": 4, "packed": 1}),
        # Tiles from a counter: the ring goes round, of one warp that loads and of several.
        ("s:nn:67x3x4@5", "dense", {"path": "bulk", "direct": 1, "tile": 16, "tickets": 1}),
        ("z:nt:3x66x7@3", "shared", {"path": "bulk", "packed": 1, "tile": 16, "tickets": 1}),
        ("h:tt:69x9x8@4", "dense", {"path": "bulk", "movers": 2, "direct": 0, "tickets": 1}),
        ("d:nn:67x9x6@4", "dense", {"path": "bulk", "mma": 8, "tile": 16, "stages": 3, "tickets": 1}),
        # Elements of 16 bytes, in runs that begin in the middle of a sector of 32.
        ("z:nt:3x67x5@3", "dense", {"path": "bulk", "packed": 1}),
        ("z:nn:67x3x5@3", "dense", {"path": "bulk", "direct": 0}),
        # Columns of small numbers by whole sectors: their ends are pieces of all sizes, and some lie in one.
        ("s:nn:69x9x3@2", "dense", {"path": "bulk", "direct": 0, "sectors": 1}),
        ("h:tt:71x40x3@2", "dense", {"path": "bulk", "direct": 0, "sectors": 1, "movers": 2, "tile": 16}),
        ("hc:nn:67x5x3@2", "dense", {"path": "bulk", "mma": 16, "sectors": 1}),
        ("b:nn:68x9x5@3", "dense", {"path": "bulk", "mma": 16, "sectors": 1}),
        # Tiles that are made for the length.
        ("c:nn:3x198x5@2", "dense", {"path": "bulk", "packed": 1, "tile": 100, "rows": 3, "columns": 2}),
        ("s:tn:73x5x3@2", "dense", {"path": "bulk", "direct": 0, "tile": 40, "rows": 2, "columns": 5}),
        # Parts of tensor cores that have all of a tile.
        ("h:nn:89x14x8@2", "shared", {"path": "bulk", "mma": 16, "tile": 96, "rows": 96}),
        ("b:nt:14x77x9@2", "dense", {"path": "bulk", "mma": 16, "tile": 80, "columns": 80}),
        # Tensor cores.
        ("h:nn:69x6x9@2", "dense", {"path": "bulk", "mma": 16}),
        # Parts that divide a tile and parts that do not, of columns that begin anywhere.
        ("b:nt:67x6x17@2", "dense", {"path": "bulk", "mma": 16, "tile": 64, "rows": 32}),
        ("b:nt:67x6x17@2", "dense", {"path": "bulk", "mma": 16, "tile": 80, "rows": 32}),
        ("hc:nt:5x67x9@2", "shared", {"path": "bulk", "mma": 16}),
        # The small operand held, with odd columns and a rest of k: one part of a tile after the other.
        ("h:tt:69x21x25@2", "dense", {"path": "bulk", "mma": 16, "held": 1, "rows": 16, "tile": 80}),
        ("b:nn:21x69x18@2", "dense", {"path": "bulk", "mma": 16, "held": 1, "columns": 8, "tile": 64}),
        ("hc:tc:5x67x9@2", "shared", {"path": "async", "mma": 16, "held": 1, "columns": 16}),
        ("d:nn:67x9x6@2", "dense", {"path": "bulk", "mma": 8}),
        ("z:nt:9x66x3@2", "padded", {"path": "async", "mma": 16}),
    ],
)
def test_panel_multiplies(text: str, layout: str, fixed: dict[str, Any]) -> None:
    p = problem(text, (1, 0, 1), (0, 0, 2), beta="0") if layout == "padded" else problem(text, beta="any")
    if layout == "shared":
        p = p.with_(**{"stride_b" if p.m > p.n else "stride_a": 0})
    few = {"mma": 0, "packed": 0, "held": 0, "movers": 1, "warps": 2, "stages": 2, "blocks": 132, "tile": 32}
    found = allowed("panel", p, H200, 60, 1, **({"sectors": 0} | few | fixed))
    config = min(found, key=lambda c: abs(c["rows"] * c["columns"] - 8 * max(1, c["mma"])))
    # Warps that move tiles may come in any order, also before the one that makes their barriers.
    again = len(SCHEDULES) if config["movers"] > 1 else 1
    assert found_wrong("panel", [(p, config)] * again, grid_x=2) == []


def test_a_counter_that_blocks_share_is_whole_again_when_a_graph_runs_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The workspace holds what the launch before has left, and the stamp is the same."""
    p = problem("s:nn:67x3x4@5", beta="0")
    fixed = {"path": "bulk", "mma": 0, "packed": 0, "movers": 1, "warps": 2, "stages": 2, "blocks": 132}
    config = allowed("panel", p, H200, 60, 1, tile=16, tickets=1, **fixed)[0]
    (argument,) = grids.counter(config)
    assert isinstance(argument, Struct)
    (space,) = workspaces((argument,))
    same = products.workspace(space)
    monkeypatch.setattr(products, "workspace", lambda field: same)
    # Blocks that have no ticket, that have some, and one that has all.
    for blocks in (1, 3, 30, 1):
        assert found_wrong("panel", [(p, config)], grid_x=blocks) == []
        assert not same.data[:16].any()
