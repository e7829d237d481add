"""What ``bench.order`` draws and says, without a GPU."""

from __future__ import annotations

import pytest

from bench import order
from bench.batches.problems import forced

pytestmark = pytest.mark.pure


def test_draws_are_the_same_for_a_seed_and_move_as_much_as_is_asked() -> None:
    drawn = list(order.drawn("d", "1", 2, 1e8, 3))
    assert drawn == list(order.drawn("d", "1", 2, 1e8, 3))
    assert drawn != list(order.drawn("d", "1", 2, 1e8, 4))
    apart = [p for p in drawn if p.interleaved is None]
    assert len(apart) == 8
    assert len(drawn) == 10
    for p in apart:
        assert 0.9e8 < forced(p) * p.batch <= 1e8
        assert p.beta == "1"


def test_shares_are_of_a_copy() -> None:
    found = order.shares({"copy": 2.0, "0": 4.0, "8": 1.0})
    assert found == {"copy": 2.0, "of_copy": {"0": 0.5, "8": 2.0}}


def test_the_summary_compares_defaults_with_blocks_that_stay() -> None:
    lines = [
        {"stencil": "panel", "default": "8", "of_copy": {"0": 0.5, "4": 1.0, "8": 1.0}},
        {"stencil": "panel", "default": "8", "of_copy": {"0": 0.5, "4": 1.0, "8": 0.25}},
        {"stencil": "panel", "default": "0", "of_copy": {"0": 0.5, "4": 0.25, "8": 0.25}},
    ]
    (said,) = order.summary(lines)
    assert said.startswith("panel       3 defaults: 1.000 times blocks that stay, least 0.50, 1 below 0.98")
    assert said.endswith("the best number 1.587")
