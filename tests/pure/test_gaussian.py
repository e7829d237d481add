"""What points say of others: near them nearly their own values, between them both, far from them nothing."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.planning.gaussian import ASKED, Nearest, Process

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


def test_the_nearest_say_what_all_do() -> None:
    draw = np.random.default_rng(1)
    places = draw.uniform(0, 4, (ASKED * 4, 2))
    values = np.sin(places).sum(1)
    all_of_them = np.sqrt(((places[:, None] - places) ** 2).sum(-1) * 3)
    kernel = 0.25 * (1 + all_of_them) * np.exp(-all_of_them)
    found = Nearest(places, values, (0.5, 0.05))
    for place in draw.uniform(0.5, 3.5, (5, 2)):
        away = np.sqrt(((places - place) ** 2).sum(1) * 3)
        weights = np.linalg.solve(kernel + 0.05**2 * np.eye(len(places)), 0.25 * (1 + away) * np.exp(-away))
        mean, deviation, other = found.at(place, 2 * values)
        assert mean == pytest.approx(weights @ values, abs=0.01)
        assert other == pytest.approx(2 * mean)
        assert 0.05 < deviation < 0.2


def test_far_from_all_nothing_is_said() -> None:
    found = Nearest(np.array([[0.0], [0.1]]), np.array([0.5, 0.7]), (0.4, 0.05))
    mean, deviation, _ = found.at(np.array([90.0]), np.zeros(2))
    assert mean == pytest.approx(0.0)
    assert deviation == pytest.approx((0.4**2 + 0.05**2) ** 0.5, rel=0.02)


def test_values_that_contradict_each_other_are_doubted() -> None:
    places, here = np.zeros((4, 1)), np.zeros(1)
    one = Nearest(places, np.full(4, 0.3), (0.5, 0.1)).at(here, places[:, 0])
    other = Nearest(places, np.array([-0.5, 1.1, -0.5, 1.1]), (0.5, 0.1)).at(here, places[:, 0])
    assert one[0] == pytest.approx(other[0])
    assert one[1] < 0.2
    assert other[1] > 0.8
