"""Grids of blocks that stay and of blocks that end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.emulator.cases import H200, problem
from tilewright.catalog import STENCILS
from tilewright.model import Config
from tilewright.stencils.cuda import grids
from tilewright.stencils.cuda.source import LAUNCHED
from tilewright.targets.cuda.arguments import Stamp, Struct, Workspace

pytestmark = pytest.mark.pure


@given(
    tiles=st.integers(1, 2**31 - 1),
    blocks=st.integers(1, 4224),
    per_block=st.sampled_from(grids.PER_BLOCK),
)
def test_a_grid_has_a_block_for_every_few_tiles_and_none_without(
    tiles: int, blocks: int, per_block: int
) -> None:
    found = grids.launched({"blocks": blocks, "per_block": per_block}, tiles)
    assert 1 <= found <= tiles
    assert found >= min(blocks, tiles)
    if per_block:
        # Threads of all blocks, of 1,024 at most, are counted in 32 bits.
        assert found <= max(blocks, 2**20)
        assert found * per_block >= tiles or found in (tiles, blocks, 2**20)
    else:
        assert found == min(blocks, tiles)


def test_records_without_the_parameter_have_blocks_that_stay() -> None:
    assert grids.launched({"blocks": 264}, 10**6) == 264
    assert grids.param().absent == 0


@pytest.mark.parametrize(
    "text", ["d:8x8x8@400000", "h:16x16x16@400000", "s:2x1500x3@40000", "c:40x40x40@30000"]
)
def test_lives_of_blocks_are_as_long_as_others_cover(text: str) -> None:
    """The kernel is the same, and its blocks live for half to twice as many bytes as were the best."""
    p = problem(text)
    ended = 0
    for stencil in (STENCILS[name] for name in ("tiny", "panel", "single", "middle", "tensor")):
        if stencil.accepts(p, H200) is not None:
            continue
        config = stencil.default(p, H200)
        stays = grids.staying(config)
        same = stencil.source(p, config, H200).digest == stencil.source(p, stays, H200).digest
        assert same is not bool(config.get("tickets"))
        assert not set(LAUNCHED) & {name.lower() for name, _ in stencil.source(p, config, H200).defines}
        if not config["per_block"]:
            continue
        ended += 1
        blocks = stencil.launch(p, config).grid[0]
        assert blocks > stencil.launch(p, stays).grid[0]
        life = (p.footprint + p.updated) / blocks * config["blocks"] / H200["sms"]
        assert grids.MOVED / 2 <= life <= 3 * grids.MOVED
    assert ended


def test_blocks_stay_where_little_is_moved_and_where_nobody_covers_their_beginning() -> None:
    few, many = problem("d:8x8x8@20000"), problem("d:8x8x8@400000")

    def per_block(p: Any, per_sm: int) -> int:
        made = Config({"blocks": per_sm * H200["sms"]})
        return int(grids.ended(p, H200, made, p.batch // 24)["per_block"])

    assert per_block(few, 4) == 0
    assert per_block(many, 2) == 0
    assert per_block(many, 3) > 0


def test_what_ends_at_the_best_time_costs_least() -> None:
    p, stay = problem("d:8x8x8@400000"), 4 * H200["sms"]
    columns = {"blocks": np.full(len(grids.PER_BLOCK), stay), "per_block": np.array(grids.PER_BLOCK)}
    cost = grids.slower(p, H200, columns, p.batch // 24)
    best = grids.ended(p, H200, Config({"blocks": stay}), p.batch // 24)["per_block"]
    assert grids.PER_BLOCK[int(np.argmin(cost))] == best
    assert cost[0] == 1.0
    assert min(cost) >= grids.hoped(p, H200, columns["blocks"], p.batch // 24)[0] == grids.GAIN


def test_a_counter_is_an_argument_of_kernels_that_share_one_and_of_no_others() -> None:
    """Nothing has to be cleared for it, and blocks that stay without one have the plain argument."""
    assert grids.counter({"blocks": 264}) == grids.counter({"blocks": 264, "tickets": 0}) == ()
    (tickets,) = grids.counter({"blocks": 264, "tickets": 1})
    assert isinstance(tickets, Struct)
    assert tickets.fields == (Workspace("counter", 24), Stamp("stamp"))
    assert grids.tickets().absent == 0
    plain = grids.staying(Config({"blocks": 264, "tickets": 1, "per_block": 4, "tile": 64}))
    assert plain == Config({"blocks": 264, "tickets": 0, "per_block": 0, "tile": 64})
    assert grids.staying(Config({"blocks": 264})) == Config({"blocks": 264})


def test_blocks_share_a_counter_where_they_stay_and_move_much() -> None:
    few, many = problem("d:300x8x8@100"), problem("d:300x8x8@20000")
    for p, per_block, allowed in ((many, 0, True), (many, 8, False), (few, 0, False)):
        rule = grids.ticket_rule(p, H200)
        assert bool(rule.test(tickets=1, per_block=per_block)) is allowed
        assert rule.test(tickets=0, per_block=per_block)
    sms = H200["sms"]
    assert grids.ticketed(many, H200, np.array([1, 2, 4, 5, 16]) * sms).tolist() == [True] * 3 + [False] * 2
    assert not grids.ticketed(few, H200, sms)
