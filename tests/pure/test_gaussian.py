"""What points say of others: near them nearly their own values, between them both, far from them nothing."""

from __future__ import annotations

import pytest

from tilewright.planning.gaussian import Process

pytestmark = pytest.mark.pure


def test_points_speak_for_what_is_near() -> None:
    found = Process([(0.0, 0.0), (0.1, 0.0), (3.0, 0.0), (3.0, 0.1)], [0.5, 0.5, -0.5, -0.3], 1.0, 0.4, 0.05)
    mean, deviation = found.at((0.05, 0.0))
    assert mean == pytest.approx(0.5, abs=0.02)
    assert deviation < 0.08
    between = found.at((1.5, 0.0))
    assert -0.4 < between[0] < 0.5
    far = found.at((50.0, 0.0))
    assert far[0] == pytest.approx(0.05)
    assert far[1] == pytest.approx((0.4**2 + 0.05**2) ** 0.5)
    assert deviation < between[1] < far[1] + 1e-9


def test_values_at_one_place_are_averaged() -> None:
    found = Process([(1.0,)] * 4 + [(9.0,)], [0.1, 0.3, 0.1, 0.3, 0.2], 1.0, 0.5, 0.1)
    assert found.at((1.0,))[0] == pytest.approx(0.2, abs=0.01)


def test_far_away_no_more_is_expected_than_is_allowed() -> None:
    found = Process([(0.0,), (0.1,)], [0.5, 0.7], 0.0, 0.4, 0.05)
    assert found.at((0.0,))[0] > 0.4
    assert found.at((50.0,))[0] == pytest.approx(0.0)
