"""The smallest set of kernels: against all sets, whatever the table."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from tilewright.tuning.sets import cover as module
from tilewright.tuning.sets.cover import cover, curve

pytestmark = pytest.mark.pure


def table(seed: int, kernels: int, problems: int) -> list[list[float]]:
    """Losses of which every problem has one of 0, some of them infinite."""
    draw = random.Random(seed)
    rows = [
        [draw.choice([0.01, 0.04, 0.1, 0.3, 0.5, math.inf]) for _ in range(problems)] for _ in range(kernels)
    ]
    for p in range(problems):
        rows[draw.randrange(kernels)][p] = 0.0
    return rows


def worst(rows: list[list[float]], chosen: tuple[int, ...]) -> float:
    return max(min(rows[k][p] for k in chosen) for p in range(len(rows[0])))


@pytest.mark.parametrize("seed", range(12))
def test_no_smaller_set_does(seed: int) -> None:
    rows = table(seed, 7, 9)
    sets = [c for size in range(1, 8) for c in itertools.combinations(range(7), size)]
    for within in (0.0, 0.05, 0.2, 0.5):
        found = cover(rows, within)
        fitting = [c for c in sets if worst(rows, c) <= within]
        assert found.exact
        assert len(found.kernels) == min(map(len, fitting))
        assert found.worst == worst(rows, found.kernels) <= within
        assert [rows[k][p] for p, k in enumerate(found.serving)] == [
            min(rows[k][p] for k in found.kernels) for p in range(9)
        ]
        assert set(found.serving) == set(found.kernels)
    least = {size: min(worst(rows, c) for c in sets if len(c) == size) for size in range(1, 8)}
    points = curve(rows)
    assert points[-1].worst == 0.0
    assert [len(each.kernels) for each in points] == sorted({len(each.kernels) for each in points})
    assert [(len(each.kernels), each.worst) for each in points] == [
        (size, least[size])
        for size in least
        if math.isfinite(least[size]) and all(least[size] < least[fewer] for fewer in range(1, size))
    ]


def test_of_equally_small_sets_the_faster_one() -> None:
    rows = [[0.04, 0.04, 0.0], [0.01, 0.0, 0.03], [0.0, 0.9, 0.9]]
    found = cover(rows, 0.05)
    assert (found.kernels, found.worst) == ((1,), 0.03)
    assert found.mean == pytest.approx((1.01 * 1.03) ** (1 / 3) - 1)


def test_beyond_its_steps_it_says_so_and_the_greedy_set_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[math.inf] * 6 for _ in range(3)]
    for kernel, served in enumerate(((0, 1, 2, 3), (0, 2, 4), (1, 3, 5))):
        for p in served:
            rows[kernel][p] = 0.0
    assert (cover(rows, 0.0).kernels, cover(rows, 0.0).exact) == ((1, 2), True)
    monkeypatch.setattr(module, "LOOKS", 0)
    found = cover(rows, 0.0)
    assert (found.kernels, found.worst, found.exact) == ((1, 2), 0.0, False)


def test_a_problem_that_nobody_serves() -> None:
    with pytest.raises(ValueError, match=r"without a kernel within 0\.05: 1"):
        cover([[0.0, 0.1], [0.2, 0.06]], 0.05)
